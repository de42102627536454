//! The error of every command and tool call: a code, a message and an optional hint.
//!
//! One type for the executor, the host's tools, the web and the workspace, so that a model reads every failure in the
//! same form. Conversions from the errors of lower layers are in `exec/tool_errors.rs`.

use crate::types::worded;

worded! {
    /// The class of a tool's failure, as one word that a model can act on.
    ErrorCode {
        /// The node, document, stash, agent or tree does not exist.
        NotFound = "NOT_FOUND";
        /// An id or a name matches several records. The hint lists them.
        Ambiguous = "AMBIGUOUS";
        /// The agent lacks the permission that the message names.
        PermissionDenied = "PERMISSION_DENIED";
        /// The line or the arguments could not be parsed.
        InvalidSyntax = "INVALID_SYNTAX";
        /// A value exceeds the limit that the message names.
        LimitExceeded = "LIMIT_EXCEEDED";
        /// The node is in another tree. The hint names it if the agent may read it.
        CrossTree = "CROSS_TREE";
        /// The current state of the tree does not allow the operation.
        Conflict = "CONFLICT";
        /// The database is locked or cannot be written.
        Busy = "BUSY";
        /// A model request failed.
        ModelError = "MODEL_ERROR";
        /// A required model, service or orchestrator is not configured. The message names it.
        NotConfigured = "NOT_CONFIGURED";
        /// The user cancelled the work.
        Cancelled = "CANCELLED";
    }
}

/// The failure of a command or a tool call, with a code and an optional hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// The class of the failure.
    pub code: ErrorCode,
    /// A description on one line, for a model or a user.
    pub message: String,
    /// A suggested next step, such as a corrected command.
    pub hint: Option<String>,
}

impl ToolError {
    /// Creates an error without a hint.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Prefixes the message with the tool's name. For host tools, which are no
    /// [`Tool`](super::Tool).
    pub(crate) fn for_tool(self, tool: &str) -> Self {
        Self { message: format!("{tool}: {}", self.message), ..self }
    }
}
