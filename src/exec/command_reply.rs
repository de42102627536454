//! The reply to a request: the typed answer with its text, or an error with its code.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::Answer;
use crate::tools::{Command, ErrorCode, Tool, ToolError};

/// The result of a command or tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The record of the change, or the text that was read.
    pub answer: Answer,
    /// The reply's text for a model: the rendered answer and the new position, cut to the first page.
    pub text: String,
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self { answer: text.clone().into(), text }
    }
}

/// The reply to one command or tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandReply {
    /// The tool that ran; `None` for a host tool and for a line that could not be parsed.
    pub tool: Option<Tool>,
    /// The outcome, or the error.
    pub result: Result<Outcome, ToolError>,
}

impl CommandReply {
    /// The reply to a command that did not run because the switch before it failed.
    pub(super) fn after_failed_switch(command: &Command) -> Self {
        let failure = ToolError::new(ErrorCode::Conflict, "not run, because the switch before it failed");
        let result = Err(failure.hint("write it again after a switch that succeeds"));
        Self { tool: Some(command.tool()), result }
    }

    /// Returns whether the command succeeded.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.result.is_ok()
    }
}

impl fmt::Display for CommandReply {
    /// Writes the text for a model, without a trailing line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.result, self.tool) {
            (Ok(outcome), _) => f.write_str(&outcome.text),
            (Err(failure), tool) => {
                write!(f, "✗ {}: ", failure.code)?;
                if let Some(tool) = tool {
                    write!(f, "{}: ", tool.name())?;
                }
                write!(f, "{}", crate::types::one_line(&failure.message))?;
                match &failure.hint {
                    Some(hint) => write!(f, "\n  hint: {}", crate::types::one_line(hint)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Serialize for CommandReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ok", &self.is_ok())?;
        if let Some(tool) = self.tool {
            map.serialize_entry("tool", tool.name())?;
        }
        if let Err(failure) = &self.result {
            map.serialize_entry("code", failure.code.as_str())?;
            map.serialize_entry("message", &failure.message)?;
            if let Some(hint) = &failure.hint {
                map.serialize_entry("hint", hint)?;
            }
        }
        map.serialize_entry("text", &self.to_string())?;
        map.end()
    }
}
