//! `run_command`: runs a shell command in the folder. The answer starts with the exit status in a form that rules can
//! parse: `exit 0`, or `exit none · …` if the command was stopped.

use std::{process::ExitStatus, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    allowlist::Allowlist,
    child_process::{self, CommandOutcome, ExitReason},
    known_files::AgentFiles,
    tools::{Answer, WorkspaceTool, arguments, blocking, lines},
};
use crate::{
    tools::{ErrorCode, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Maximum time of a command.
const MAX_COMMAND_TIME: Duration = Duration::from_secs(600);

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "run_command",
    description: "Runs a shell command in the folder and shows its exit code and output. It has no \
                  input, and nothing that it starts outlives it. A pipeline fails if one of its commands fails.",
    permission: Permission::DocWrite,
    only_confirms: false,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "description": "The command, for sh." },
            "seconds": { "type": "integer", "description": "How long it may take, 120 if not given and at most 600." },
        },
        "required": ["command"],
    })
}

#[derive(Deserialize)]
struct CommandParams {
    command: String,
    seconds: Option<u64>,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessResult {
    /// Exit code; `None` if the command was stopped or ended by a signal.
    pub code: Option<i32>,
    /// Answer of the tool: the exit status and the output.
    pub text: String,
}

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let CommandParams { command, seconds } = arguments(given)?;
        Ok(files.run(command, seconds.map(Duration::from_secs)).await?.text)
    })
}

impl AgentFiles {
    /// Runs a command after approval, unless the allowlist covers it.
    pub(super) async fn run(
        self: Arc<Self>,
        command: String,
        timeout: Option<Duration>,
    ) -> Result<ProcessResult, ToolError> {
        let command = command.trim().to_owned();
        if command.is_empty() || command.contains('\0') {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "there is no command"));
        }
        if !self.state.settings.allowlist.allows_command(&command) {
            let (shown, mut details) = match command.lines().count() {
                1 => (command.clone(), String::new()),
                count => (format!("a command of {}", lines(count)), command.clone()),
            };
            // A limit that the agent chose belongs to what the user allows.
            if let Some(timeout) = timeout.map(clamp_timeout).filter(|own| *own != self.state.settings.timeout) {
                let gap = if details.is_empty() { "" } else { "\n" };
                details.push_str(&format!("{gap}(at most {} s)", timeout.as_secs()));
            }
            let summary = self.state.settings.allowlist.command_summary();
            self.ask(&TOOL, &command, shown, details).await.map_err(|refused| match summary {
                Some(summary) => refused.hint(format!("{summary}. {}", Allowlist::command_rule())),
                None => refused,
            })?;
        }
        self.run_approved(command, timeout).await
    }

    /// Runs a command that was approved.
    pub(super) async fn run_approved(
        self: Arc<Self>,
        command: String,
        timeout: Option<Duration>,
    ) -> Result<ProcessResult, ToolError> {
        let timeout = clamp_timeout(timeout.unwrap_or(self.state.settings.timeout));
        let waited = Arc::new(());
        let waiting = Arc::downgrade(&waited);
        let outcome = blocking(move || {
            let environment = &self.state.settings.environment;
            child_process::run(&command, self.root().path(), environment, timeout, &waiting)
                .map_err(|error| ToolError::new(ErrorCode::Conflict, format!("the command cannot be run: {error}")))
        });
        let outcome = outcome.await?;
        drop(waited);
        Ok(format_result(outcome, timeout))
    }
}

/// Returns a time limit within the bounds.
fn clamp_timeout(timeout: Duration) -> Duration {
    timeout.clamp(Duration::from_secs(1), MAX_COMMAND_TIME)
}

fn format_result(outcome: CommandOutcome, timeout: Duration) -> ProcessResult {
    let (code, mut text) = match outcome.end {
        ExitReason::Exited { status, left } => {
            let left = if left { " · processes that it left running were stopped" } else { "" };
            match status.code() {
                Some(code) => (Some(code), format!("exit {code}{left}")),
                None => (None, format!("exit none · {}{left}", signal(status))),
            }
        }
        ExitReason::TimedOut => (None, format!("exit none · stopped after {} s", timeout.as_secs())),
        ExitReason::OutputLimit => (None, "exit none · stopped, it printed too much".to_owned()),
        ExitReason::Cancelled => (None, "exit none · stopped".to_owned()),
    };
    let output = outcome.output.text();
    text.push_str(if output.is_empty() { " · no output" } else { "\n" });
    text.push_str(&output);
    ProcessResult { code, text }
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
