//! What a model asks for in a reply.

use crate::provider::ToolCall;

/// One thing that a model asks for. It is understood and run by [`crate::arrow::run`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRequest {
    /// An arrow line.
    Line {
        /// The line from its arrow on, with what its quotes and blocks carry on.
        text: String,
        /// False if the reply ended within it. It must not be run then.
        closed: bool,
    },
    /// A thought, to be kept.
    Thought(String),
    /// A tool called in the provider's way.
    Call(ToolCall),
}

impl ToolRequest {
    /// Whether the model waits for an answer to it.
    #[must_use]
    pub const fn expects_result(&self) -> bool {
        !matches!(self, Self::Thought(_))
    }
}
