//! The screen, without a terminal: keys in, cells out.

#![cfg(feature = "tui")]
// What fails here fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "../support/play.rs"]
mod play;
#[path = "../support/mod.rs"]
mod support;

mod ahead;
mod delegated;
mod growing;
mod keys;
mod lists;
mod live;
mod mouse;
mod outline;
mod random;
mod reading;
mod stage;
mod walks;
mod writing;
