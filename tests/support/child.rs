//! Child processes: the test binary starts itself with a job in an environment variable. The test `child_process` of that
//! binary runs the job; without a job it returns at once.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
};

const JOB: &str = "LOOM_TEST_JOB";

/// Returns the words of the job that this process was started for.
pub(crate) fn job() -> Option<Vec<String>> {
    let job = std::env::var(JOB).ok()?;
    Some(job.split('\n').map(str::to_owned).collect())
}

/// Writes a line to the parent in one write, bypassing the test harness.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may have ended.
    let _ = out.write_all(format!("> {line}\n").as_bytes()).and_then(|()| out.flush());
}

/// Returns a command that runs `job` in a new process. `wrapper` is a command prefix, such as a shell that sets a
/// limit.
pub(crate) fn command(wrapper: &[&str], job: &[&str]) -> Command {
    let this = std::env::current_exe().expect("this binary has a path");
    let mut command = match wrapper {
        [] => Command::new(&this),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&this);
            command
        }
    };
    command.args(["child_process", "--nocapture", "--test-threads=1"]);
    command.env(JOB, job.join("\n")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a command. Its complete lines are sent through the channel, which closes when it ends.
pub(crate) fn start(mut command: Command) -> (Child, Receiver<String>) {
    let mut child = command.spawn().expect("the child starts");
    let out = child.stdout.take().expect("it is piped");
    let (lines, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|n| n > 0) {
            // The harness may have written a partial line before this one.
            if let Some((_, text)) = line.strip_suffix('\n').and_then(|l| l.split_once("> ")) {
                let _ = lines.send(text.to_owned());
            }
            line.clear();
        }
    });
    (child, said)
}
