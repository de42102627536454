//! Runs the built program in a temporary home folder.

// A failure here fails the test. No test file uses every helper.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

/// A folder with a database, a configuration and a workspace.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// The URL of the database, if it is no file of the home.
    url: Option<String>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Home {
    /// Creates an empty home.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), url: None }
    }

    /// Creates an empty home for a database of a server.
    pub(crate) fn with_database(url: String) -> Self {
        Self { url: Some(url), ..Self::new() }
    }

    /// Returns the path of a file in the home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command for the program without this machine's settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.folder.path()).current_dir(self.folder.path());
        // No server listens on this port.
        for server in ["OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL"] {
            command.env(server, "http://127.0.0.1:9/v1");
        }
        let db = self.url.as_ref().map_or_else(|| self.file("loom.db"), PathBuf::from);
        command.arg("--db").arg(db).args(args).stdin(Stdio::null());
        command
    }

    /// Runs the program and returns its result.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs the program with `input` on standard input.
    pub(crate) fn pipe(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that fails early closes its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Runs the program, which must succeed. Returns its standard output.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        ran.out
    }

    /// Runs the program, which must fail with this code. Returns its standard error.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        ran.err
    }

    /// Runs the program with `--json`, and parses every line as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Vec<serde_json::Value> {
        let out = self.ok(&[args, &["--json"]].concat());
        out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    /// Appends a node; returns its short id.
    #[track_caller]
    pub(crate) fn say(&self, by: &str, at: Option<&str>, text: &str) -> String {
        let mut args = vec!["say", "--by", by, text];
        args.extend(at.iter().flat_map(|at| ["--at", at]));
        self.json(&args)[0]["nodes"][0]["local_id"].as_str().unwrap().to_owned()
    }

    /// Creates a tree; returns its root's short id.
    #[track_caller]
    pub(crate) fn start(&self, text: &str) -> String {
        self.json(&["new", text])[0]["root"]["local_id"].as_str().unwrap().to_owned()
    }
}

impl Ran {
    /// Runs a command and returns its result.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }
}

impl From<std::process::Output> for Ran {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
