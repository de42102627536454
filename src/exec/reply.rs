//! What a line is answered with: text for a model to read, or an error with its code.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::tools::Tool;

/// What went wrong, in a word that a model can go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// No such node, document, stash, agent, tree.
    NotFound,
    /// What was written fits several; they are named.
    Ambiguous,
    /// The agent lacks a permission; it is named.
    PermissionDenied,
    /// Not understood.
    InvalidSyntax,
    /// Over a limit; it is named.
    LimitExceeded,
    /// The node is in another tree; it is named.
    CrossTree,
    /// What is there now does not allow it.
    Conflict,
    /// The database is locked, or cannot be written now.
    Busy,
    /// The model failed.
    ModelError,
    /// A part that this needs is not set up; it is named.
    NotConfigured,
    /// Somebody stopped it.
    Cancelled,
}

impl ErrorCode {
    /// Every code, in the order in which they are documented.
    pub const ALL: &[Self] = &[
        Self::NotFound,
        Self::Ambiguous,
        Self::PermissionDenied,
        Self::InvalidSyntax,
        Self::LimitExceeded,
        Self::CrossTree,
        Self::Conflict,
        Self::Busy,
        Self::ModelError,
        Self::NotConfigured,
        Self::Cancelled,
    ];

    /// The code as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::Ambiguous => "AMBIGUOUS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::InvalidSyntax => "INVALID_SYNTAX",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::CrossTree => "CROSS_TREE",
            Self::Conflict => "CONFLICT",
            Self::Busy => "BUSY",
            Self::ModelError => "MODEL_ERROR",
            Self::NotConfigured => "NOT_CONFIGURED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a line was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// What went wrong.
    pub code: ErrorCode,
    /// In words, on one line.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
}

impl ToolError {
    /// A failure without a hint.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same with the tool's name before its message: for tools that a [`Reply`] cannot name.
    pub(super) fn of(self, tool: &str) -> Self {
        Self { message: format!("{tool}: {}", self.message), ..self }
    }
}

/// The answer to one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReply {
    /// What was asked for; `None` if it was not understood.
    pub tool: Option<Tool>,
    /// What came of it.
    pub result: Result<String, ToolError>,
}

impl CommandReply {
    /// Whether it was done.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.result.is_ok()
    }
}

impl fmt::Display for CommandReply {
    /// The text for a model, without a line feed at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.result, self.tool) {
            (Ok(text), _) => f.write_str(text),
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
