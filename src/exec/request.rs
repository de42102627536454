//! The request that the executor runs: one type for arrow lines, tool calls and programs.

use std::fmt;

use serde_json::Value;

use crate::{
    arrow::{Command, host_tool_args, parse},
    tools::{SideEffect, Tool, ToolError},
};

/// A parsed request of a line or a tool call.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // a batch has at most 32 requests
pub enum ExecRequest {
    /// An operation of the engine.
    Command(Command),
    /// A call of a host tool.
    HostTool {
        /// The tool's name.
        name: String,
        /// The arguments, an object.
        arguments: Value,
    },
    /// A line or call that could not be parsed. The error is its reply.
    Refused(ToolError),
}

impl ExecRequest {
    /// Returns the tool's name; `None` for a refused request.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Command(command) => Some(command.tool().name()),
            Self::HostTool { name, .. } => Some(name),
            Self::Refused(_) => None,
        }
    }

    /// Returns whether the request only closes a todo or records a decision, so that its agent needs no more of the
    /// result than that it succeeded.
    #[must_use]
    pub(crate) const fn keeps_records(&self) -> bool {
        match self {
            Self::Command(Command::Todo { done, cancel, .. }) => done.is_some() || cancel.is_some(),
            Self::Command(Command::Decide { .. }) => true,
            _ => false,
        }
    }

    /// Returns whether the answer of a success only confirms the change, so that its agent need not read it. The answer of
    /// `undo` names what was taken back, and that of `continue` what was written.
    #[must_use]
    pub(crate) fn only_confirms(&self) -> bool {
        let Self::Command(command) = self else { return false };
        match command.tool() {
            Tool::Todo => self.keeps_records(),
            Tool::Continue | Tool::Delegate | Tool::Undo | Tool::Redo => false,
            _ => command.side_effect() > SideEffect::ReadOnly,
        }
    }
}

/// Parses a line, with or without its arrow, to a command.
///
/// # Errors
/// If the line cannot be parsed. The error holds the partial reading and suggestions.
pub fn read(line: &str) -> Result<Command, ToolError> {
    Ok(parse(line)?.command)
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
    /// Writes the canonical line without its arrow; nothing for a refused request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::HostTool { name, arguments } => host_tool_args::write(f, name, arguments),
            Self::Refused(_) => Ok(()),
        }
    }
}
