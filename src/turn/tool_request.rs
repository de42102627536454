//! Requests in a model's reply: arrow lines, thoughts and tool calls.

use crate::provider::ToolCall;

/// One request of a model. [`crate::exec`] parses and executes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolRequest {
    /// Arrow line.
    Line {
        /// Line from its arrow, including the lines of its quotes and blocks.
        text: String,
        /// False if the reply ended within the line. Such a line must not run.
        closed: bool,
    },
    /// Thought to store.
    Thought(String),
    /// Call through the provider's tool-call API.
    Call(ToolCall),
}

impl ToolRequest {
    /// Returns true if the model expects a result.
    #[must_use]
    pub(crate) const fn expects_result(&self) -> bool {
        !matches!(self, Self::Thought(_))
    }
}
