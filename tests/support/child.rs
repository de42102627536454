//! Child processes: the test binary runs itself again, with a job in the environment. The test named `child` of that
//! binary does the job; without one it returns at once.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
};

const JOB: &str = "LOOM_TEST_JOB";

/// The job that this process was started for: words.
pub(crate) fn job() -> Option<Vec<String>> {
    let job = std::env::var(JOB).ok()?;
    Some(job.split('\n').map(str::to_owned).collect())
}

/// Says a line to the parent, past the test harness, in one write.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone listens no more.
    let _ = out.write_all(format!("> {line}\n").as_bytes()).and_then(|()| out.flush());
}

/// A command that does `job` in a process of its own. `wrapper` is put before it: a shell that sets a limit.
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
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(JOB, job.join("\n")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a command; its lines come through the channel, which closes when it ends. A line without an end is none.
pub(crate) fn start(mut command: Command) -> (Child, Receiver<String>) {
    let mut child = command.spawn().expect("the child starts");
    let out = child.stdout.take().expect("it is piped");
    let (lines, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|n| n > 0) {
            // The harness may have begun a line of its own before ours.
            if let Some((_, text)) = line.strip_suffix('\n').and_then(|l| l.split_once("> ")) {
                let _ = lines.send(text.to_owned());
            }
            line.clear();
        }
    });
    (child, said)
}
