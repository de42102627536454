//! Execution of a command as a process. The command and all processes that it started have ended when the call returns.
//!
//! The command leads its own process group. The group is killed when the command ends, exceeds its time or output
//! limit, or is cancelled. The leader is reaped last, so that the group id cannot be reused before the kill. Standard
//! output and error share one pipe, which keeps their order. Of long output the beginning and the end are kept.
//! Processes that left the group are found by a marker in their environment (`orphan_processes.rs`).
//!
//! Not handled: if this program is killed, its command runs until it writes to the closed pipe.

use std::{
    io::{self, Read as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Weak,
        mpsc::{RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

use super::environment::Environment;
#[cfg(target_os = "linux")]
use super::orphan_processes::stop as kill_orphans;

/// Environment variable that marks the processes of a command; children inherit it.
pub(super) const MARKER_VARIABLE: &str = "LOOM_COMMAND";

/// Bytes of output that are kept from its beginning and from its end.
const HEAD_BYTES: usize = 3_000;
const TAIL_BYTES: usize = 6_000;
/// Bytes of output after which a command is stopped.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;
/// Interval of the checks for the end of a command whose output is still open.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time that other processes may keep the output open after the command ended.
const OUTPUT_GRACE_PERIOD: Duration = Duration::from_millis(300);

/// Reason for the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitReason {
    /// The command exited; `left` is true if processes that it started were killed.
    Exited { status: ExitStatus, left: bool },
    /// The command exceeded its time limit.
    TimedOut,
    /// The command exceeded its output limit.
    OutputLimit,
    /// The caller dropped its handle.
    Cancelled,
}

/// Exit reason and output of a command.
pub(super) struct CommandOutcome {
    pub(super) end: ExitReason,
    pub(super) output: CapturedOutput,
}

/// Beginning and end of an output.
#[derive(Default)]
pub(super) struct CapturedOutput {
    head: Vec<u8>,
    tail: Vec<u8>,
    all: u64,
}

impl CapturedOutput {
    fn push(&mut self, bytes: &[u8]) {
        self.all += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    /// Returns the output as text, as a terminal would show it. A note marks omitted bytes.
    pub(super) fn text(mut self) -> String {
        let end = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..end);
        let left_out = self.all - (self.head.len() + self.tail.len()) as u64;
        if left_out == 0 {
            self.head.append(&mut self.tail);
            return printable(&self.head);
        }
        let note = format!("… {left_out} bytes are left out here; send the output to a file to read all of it");
        format!("{}\n{note}\n{}", printable(&self.head), printable(&self.tail))
    }
}

/// Applies carriage returns as a terminal does: the last part of a line remains. Invalid UTF-8 is replaced.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = |line: &'_ str| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    text.trim_end().split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Runs a command in a folder and blocks until it ends. Stops it after `time`, or when the last owner of `waiting`
/// drops it.
pub(super) fn run(
    command: &str,
    folder: &Path,
    environment: &Environment,
    time: Duration,
    waiting: &Weak<()>,
) -> io::Result<CommandOutcome> {
    let (until, mark) = (Instant::now() + time, format!("{:016x}", rand::random::<u64>()));
    let (mut reader, writer) = io::pipe()?;
    let mut child = {
        let mut shell = strict_shell(command);
        shell.current_dir(folder).env_clear().envs(environment.variables()).env(MARKER_VARIABLE, &mark);
        shell.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        shell.spawn()?
        // Dropping the command closes its copies of the pipe; otherwise the reader would never see the end.
    };
    let (sender, chunks) = sync_channel::<Vec<u8>>(16);
    let reading = std::thread::Builder::new().name("loomtree-command".to_owned()).spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    if let Err(error) = reading {
        stop(&mut child, &mark);
        let _ = child.wait();
        return Err(error);
    }
    let (mut output, mut ended, mut open) = (CapturedOutput::default(), None, true);
    let stopped = loop {
        if waiting.strong_count() == 0 {
            break Some(ExitReason::Cancelled);
        }
        if Instant::now() >= until {
            break Some(ExitReason::TimedOut);
        }
        match chunks.recv_timeout(POLL_INTERVAL) {
            Ok(chunk) => {
                output.push(&chunk);
                if output.all > MAX_OUTPUT_BYTES {
                    break Some(ExitReason::OutputLimit);
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) if open => open = false,
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL_INTERVAL / 10),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if ended.is_none() && has_ended(&mut child).unwrap_or(true) {
            ended = Some(Instant::now());
        }
        if ended.is_some_and(|at| !open || at.elapsed() >= OUTPUT_GRACE_PERIOD) {
            break None;
        }
    };
    let orphans = stop(&mut child, &mark);
    let status = child.wait()?;
    Ok(CommandOutcome { end: stopped.unwrap_or(ExitReason::Exited { status, left: open || orphans }), output })
}

/// Returns a shell in which a pipeline fails if one of its commands fails, where bash is installed. Else the last command
/// of a pipeline decides, as in `sh`.
#[cfg(unix)]
fn strict_shell(command: &str) -> Command {
    const BASH: &str = "/bin/bash";
    if !Path::new(BASH).exists() {
        return shell(command);
    }
    let mut bash = Command::new(BASH);
    // By the name `sh` it reads no start file that a variable names.
    std::os::unix::process::CommandExt::arg0(&mut bash, "sh");
    bash.args(["-o", "pipefail", "-c", command]);
    std::os::unix::process::CommandExt::process_group(&mut bash, 0);
    bash
}

#[cfg(not(unix))]
fn strict_shell(command: &str) -> Command {
    shell(command)
}

/// Returns the shell that runs a command, as the leader of a process group.
#[cfg(unix)]
pub(crate) fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    shell
}

#[cfg(not(unix))]
pub(crate) fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

/// Returns whether the command has ended, without reaping it: its process id must not be reused yet.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(pid) = pid(child) else { return Ok(true) };
    Ok(waitid(WaitId::Pid(pid), looking)?.is_some())
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// Kills the command's process group and its orphans. Returns true if a process had left the group.
#[cfg(unix)]
fn stop(child: &mut Child, mark: &str) -> bool {
    kill_group(child);
    pid(child).is_some_and(|group| kill_orphans(mark, group))
}

#[cfg(not(unix))]
fn stop(child: &mut Child, _: &str) -> bool {
    kill_group(child);
    false
}

/// Kills a command of [`shell`] with its process group, without reaping it.
#[cfg(unix)]
pub(crate) fn kill_group(child: &mut Child) {
    if let Some(group) = pid(child) {
        // The group may have ended already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
pub(crate) fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(all(unix, not(target_os = "linux")))]
fn kill_orphans(_: &str, _: rustix::process::Pid) -> bool {
    false
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_its_beginning_and_end() {
        let mut kept = CapturedOutput::default();
        for n in 0..100_000 {
            kept.push(format!("line {n}\n").as_bytes());
        }
        let text = kept.text();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("\nline 99999") && text.len() < 10_000);
        assert!(text.contains("bytes are left out here"));
        let mut kept = CapturedOutput::default();
        kept.push(&[b'x'; HEAD_BYTES + TAIL_BYTES]);
        assert_eq!(kept.text().len(), HEAD_BYTES + TAIL_BYTES);
    }

    #[test]
    fn carriage_returns_apply_like_in_a_terminal() {
        assert_eq!(printable(b"10%\r20%\rdone\nnext\r\n\xff\n\n"), "done\nnext\n\u{fffd}");
    }
}
