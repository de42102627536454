//! Helpers that test binaries share.

#![allow(dead_code)] // each binary uses some of them
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

pub(crate) mod child;
#[cfg(feature = "cli")]
pub(crate) mod cli;
pub(crate) mod fake_model_server;
#[cfg(feature = "serve")]
pub(crate) mod loom_server;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(all(unix, feature = "cli"))]
pub(crate) mod pty;
pub(crate) mod rounds;
pub(crate) mod sample_tree;
pub(crate) mod skip;
pub(crate) mod store;
