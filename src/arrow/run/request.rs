//! What a line or a tool call asks for: one type for all ways of asking, so that there is one door behind them.

use std::fmt;

use serde_json::Value;

use super::reply::ToolError;
use crate::arrow::{Command, host_tool_args};

/// What a line or a call asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecRequest {
    /// A tool of the table.
    Command(Command),
    /// A tool of the program around the engine.
    Extra {
        /// Its name.
        name: String,
        /// Its arguments, an object.
        arguments: Value,
    },
    /// Nothing that can be run.
    Refused(ToolError),
}

impl ExecRequest {
    /// The tool's name; `None` if nothing was understood.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Command(command) => Some(command.tool().name()),
            Self::Extra { name, .. } => Some(name),
            Self::Refused(_) => None,
        }
    }
}

impl From<Result<Command, ToolError>> for ExecRequest {
    fn from(read: Result<Command, ToolError>) -> Self {
        match read {
            Ok(command) => Self::Command(command),
            Err(failure) => Self::Refused(failure),
        }
    }
}

impl fmt::Display for ExecRequest {
    /// The canonical line without its arrow; empty for what is refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::Extra { name, arguments } => host_tool_args::write(f, name, arguments),
            Self::Refused(_) => Ok(()),
        }
    }
}
