//! `run_command`: a shell's command in the folder. Its answer begins with how it ended, in a form that rules can read:
//! `exit 0`, or `exit none · …` where it did not end by itself.

use std::{process::ExitStatus, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Hand, Tool, arguments, blocking, lines,
    process::{self, End, Ended},
};
use crate::{
    arrow::run::{Code, Failure},
    model::Permission,
    session::Promise,
};

/// The longest time that can be asked for.
const LONGEST: Duration = Duration::from_secs(600);

pub(super) const TOOL: Tool = Tool {
    name: "run_command",
    description: "Runs a shell command in the workspace's folder and shows how it ended and what it printed. It has no \
                  input, and nothing that it starts outlives it.",
    permission: Permission::DocWrite,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "description": "The command, for sh." },
            "seconds": { "type": "integer", "description": "How long it may take, at most 600." },
        },
        "required": ["command"],
    })
}

#[derive(Deserialize)]
struct Wanted {
    command: String,
    seconds: Option<u64>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; `None` if it was stopped, or ended by a signal.
    pub code: Option<i32>,
    /// How it ended and what it printed, as the tool answers.
    pub text: String,
}

fn run(hand: Arc<Hand>, given: Value) -> Promise<'static, Answer> {
    Box::pin(async move {
        let Wanted { command, seconds } = arguments(given)?;
        Ok(hand.run(command, seconds.map(Duration::from_secs)).await?.text)
    })
}

impl Hand {
    /// Runs a command, if that is allowed.
    pub(super) async fn run(self: Arc<Self>, command: String, time: Option<Duration>) -> Result<Ran, Failure> {
        let command = command.trim().to_owned();
        if command.is_empty() || command.contains('\0') {
            return Err(Failure::new(Code::InvalidSyntax, "there is no command"));
        }
        if !self.shared.settings.allowed.command(&command) {
            let (what, detail) = match command.lines().count() {
                1 => (command.clone(), String::new()),
                count => (format!("a command of {}", lines(count)), command.clone()),
            };
            self.ask(&TOOL, &command, what, detail).await?;
        }
        let time = time.unwrap_or(self.shared.settings.time).clamp(Duration::from_secs(1), LONGEST);
        let waited = Arc::new(());
        let waiting = Arc::downgrade(&waited);
        let ended = blocking(move || {
            let environment = &self.shared.settings.environment;
            process::run(&command, self.root().path(), environment, time, &waiting)
                .map_err(|error| Failure::new(Code::Conflict, format!("the command cannot be run: {error}")))
        });
        let ended = ended.await?;
        drop(waited);
        Ok(said(ended, time))
    }
}

fn said(ended: Ended, time: Duration) -> Ran {
    let (code, mut text) = match ended.end {
        End::Itself { status, left } => {
            let left = if left { " · what it left running was stopped" } else { "" };
            match status.code() {
                Some(code) => (Some(code), format!("exit {code}{left}")),
                None => (None, format!("exit none · {}{left}", signal(status))),
            }
        }
        End::Late => (None, format!("exit none · stopped after {} s", time.as_secs())),
        End::Flood => (None, "exit none · stopped, it printed too much".to_owned()),
        End::Unwanted => (None, "exit none · stopped".to_owned()),
    };
    let output = ended.output.text();
    text.push_str(if output.is_empty() { " · no output" } else { "\n" });
    text.push_str(&output);
    Ran { code, text }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal().map_or_else(|| "no code".to_owned(), |signal| format!("ended by signal {signal}"))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> String {
    "no code".to_owned()
}
