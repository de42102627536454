//! Skips tests whose requirements a machine lacks, with one line that names the reason.

#![allow(dead_code)] // no file of tests needs all of it

use std::io::Write as _;

/// Skips a test because a program is missing. With `LOOM_TEST_ALL` set, as in `.ci/run`, this is a failure.
#[track_caller]
pub(crate) fn missing(program: &str) {
    assert!(std::env::var_os("LOOM_TEST_ALL").is_none(), "LOOM_TEST_ALL is set, and there is no {program}");
    because(&format!("there is no {program} here"));
}

/// Skips a test because permissions or data are missing. The harness hides output of passing tests, so the line
/// bypasses it.
pub(crate) fn because(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // A closed standard error is ignored.
    let _ = std::io::stderr().write_all(format!("skipped {test}: {why}\n").as_bytes());
}

/// True if a program can be started.
pub(crate) fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}
