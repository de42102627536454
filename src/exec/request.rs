//! The request that the executor runs: one type for arrow lines, tool calls and programs.

use std::fmt;

use serde_json::Value;

use crate::{
    arrow::{Command, host_tool_args},
    tools::ToolError,
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
