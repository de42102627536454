//! Clients that others wrote, against the servers of the program, and readers of its exports: the scripts of `tests/clients`.
//!
//! `LOOM_TEST_PYTHON` names a Python that has the clients' packages; `.ci/run` installs them.

#![allow(clippy::unwrap_used)] // a failure here fails the test

use std::process::Command;

use crate::support::skip;

/// Runs a script of `tests/clients`. Without `LOOM_TEST_PYTHON`, it is skipped if Python lacks the packages.
fn run(script: &str, packages: &[&str]) {
    let named = std::env::var("LOOM_TEST_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let import = format!("import {}", packages.join(", "));
    let has_packages = Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success());
    if named.is_none() && !has_packages {
        return skip::because(&format!("there is no Python with {} here", packages.join(" and ")));
    }
    let script = format!("{}/tests/clients/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python);
    let output =
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(env!("CARGO_BIN_EXE_loom")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[cfg(feature = "serve")]
fn openai_s_client_accepts_every_answer() {
    run("openai_client.py", &["openai"]);
}

#[test]
#[cfg(feature = "serve")]
fn clients_are_recorded_by_the_proxy() {
    run("proxy.py", &["openai", "anthropic"]);
}

#[test]
fn trainers_read_the_exports() {
    run("train_formats.py", &["datasets"]);
}
