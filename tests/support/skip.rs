//! Tests that need what a machine may not have: they end with one line that says why.

#![allow(dead_code)] // no file of tests needs all of it

use std::io::Write as _;

/// Skips for want of a program that can be installed. Where `LOOM_TEST_ALL` is set, as `.ci/run` does, that is a failure.
#[track_caller]
pub(crate) fn missing(program: &str) {
    assert!(std::env::var_os("LOOM_TEST_ALL").is_none(), "LOOM_TEST_ALL is set, and there is no {program}");
    because(&format!("there is no {program} here"));
}

/// Skips for want of rights or data. The harness shows nothing of tests that pass, so the line goes past it.
pub(crate) fn because(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // One who does not listen does not need to know.
    let _ = std::io::stderr().write_all(format!("skipped {test}: {why}\n").as_bytes());
}

/// Whether a program can be started.
pub(crate) fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}
