//! Helpers that test binaries share.

#![allow(dead_code, unused_imports)] // each binary uses some of them

pub(crate) mod child;
#[cfg(feature = "cli")]
pub(crate) mod cli;
#[cfg(unix)]
pub(crate) mod pty;
pub(crate) mod sample_tree;
pub(crate) mod skip;
pub(crate) mod sse;
pub(crate) mod store;
