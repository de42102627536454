//! Terminal interface without a terminal: keys in, cells out.

#![cfg(feature = "tui")]
// A panic fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use support::sample_tree as play;
#[path = "../support/mod.rs"]
mod support;

mod delegation;
mod generation;
mod harness;
mod keys;
mod lists;
mod live;
mod mouse;
mod navigation;
mod outline;
mod random;
mod reading;
mod type_ahead;
mod writing;
