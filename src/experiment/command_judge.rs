//! A command as judge: it reads the text of a path from standard input and prints a number.
//!
//! The command is a text that a person typed; no text of a model or of the archive becomes a part of it. It runs with the
//! environment of the program, as from the person's shell. It leads a process group, which is killed when the command
//! exceeds its time or the run is cancelled.

use std::{
    io::{self, Read, Write as _},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Judge, JudgeError, Judgement, Spending, sample_request::digest};
use crate::{
    interchange::export::markdown,
    session::BoxFuture,
    types::{AuthorType, Mode, Node, first_words},
    workspace::{kill_group, shell},
};

/// Bytes of output that are read; a number needs fewer.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// Interval of the checks for the end of a command.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time that other processes may keep the output open after the command ended.
const OUTPUT_GRACE_PERIOD: Duration = Duration::from_millis(300);
/// Characters of an error message of a command that are shown.
const MAX_ERROR_CHARS: usize = 200;

/// A command that scores a path.
pub struct CommandJudge {
    name: String,
    digest: String,
    command: String,
    timeout: Duration,
    parallel: usize,
}

impl CommandJudge {
    /// Creates a judge. The name is the command by default.
    #[must_use]
    pub fn new(command: &str, timeout: Duration, parallel: usize, name: Option<String>) -> Self {
        let name = name.unwrap_or_else(|| command.trim().to_owned());
        Self { name, digest: digest(command), command: command.to_owned(), timeout, parallel }
    }
}

impl Judge for CommandJudge {
    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn rubric(&self) -> &str {
        &self.command
    }

    fn author_type(&self) -> AuthorType {
        AuthorType::Tool
    }

    fn parallel(&self) -> usize {
        self.parallel
    }

    fn bound(&self, _: &[Node], _: Mode) -> Spending {
        Spending::default()
    }

    fn judge<'a>(&'a self, path: &'a [Node], mode: Mode) -> BoxFuture<'a, Result<Judgement, JudgeError>> {
        let text = markdown::text(path, mode);
        let (command, timeout) = (self.command.clone(), self.timeout);
        let guard = CommandGuard::default();
        let is_dropped = Arc::clone(&guard.0);
        Box::pin(async move {
            let ran = tokio::task::spawn_blocking(move || run(&command, text, timeout, &is_dropped)).await;
            drop(guard);
            let failed = |message| JudgeError { message, spent: Spending::default() };
            let output = ran.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
            let value = number(&output).ok_or_else(|| {
                failed(format!("the command printed no number: {:?}", first_words(&output, MAX_ERROR_CHARS)))
            })?;
            Ok(Judgement { value, why: None, spent: Spending::default(), provenance: None })
        })
    }
}

/// Stops a command when the caller drops its future.
#[derive(Default)]
struct CommandGuard(Arc<AtomicBool>);

impl Drop for CommandGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads the output of a command: one finite number.
fn number(output: &str) -> Option<f64> {
    output.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Runs a command and returns its standard output.
fn run(command: &str, input: String, timeout: Duration, is_dropped: &AtomicBool) -> Result<String, String> {
    let spawned = shell(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("the command did not start: {error}"))?;
    let stdin = child.stdin.take();
    // A command may end without reading its input: the write then fails, and the thread ends.
    thread::spawn(move || drop(stdin.map(|mut stdin| stdin.write_all(input.as_bytes()))));
    let output = child.stdout.take().map(|pipe| thread::spawn(move || read(pipe)));
    let errors = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe)));
    let end = Instant::now() + timeout;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() >= end => break Err(format!("the command took longer than {timeout:?}")),
            Ok(None) if is_dropped.load(Ordering::Relaxed) => break Err("cancelled".to_owned()),
            Ok(None) => thread::sleep(POLL_INTERVAL),
            Err(error) => break Err(error.to_string()),
        }
    };
    if status.is_err() {
        kill_group(&mut child);
        let _ = child.wait();
    }
    let status = status?;
    let end = Instant::now() + OUTPUT_GRACE_PERIOD;
    while !output.as_ref().is_none_or(thread::JoinHandle::is_finished)
        || !errors.as_ref().is_none_or(thread::JoinHandle::is_finished)
    {
        if Instant::now() >= end {
            return Err("the command ended, but a process that it started keeps its output open".to_owned());
        }
        thread::sleep(POLL_INTERVAL);
    }
    let text = |reader: Option<thread::JoinHandle<io::Result<String>>>| {
        reader.and_then(|reader| reader.join().ok()?.ok()).unwrap_or_default()
    };
    let (output, errors) = (text(output), text(errors));
    if status.success() {
        Ok(output)
    } else {
        Err(format!("the command ended with {status}: {}", first_words(&errors, MAX_ERROR_CHARS)))
    }
}

fn read(pipe: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut pipe = pipe;
    pipe.by_ref().take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes)?;
    io::copy(&mut pipe, &mut io::sink())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
