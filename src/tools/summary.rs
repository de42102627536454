//! The request for a model's summary and the model's response.

use crate::types::SummarySubject;

/// A request for a summary, with its complete prompt.
#[derive(Debug)]
#[non_exhaustive]
pub struct SummaryRequest<'a> {
    /// The node, session or tree that is summarized.
    pub of: SummarySubject,
    /// The system prompt.
    pub system: &'a str,
    /// The user message: the material between its delimiters.
    pub user: &'a str,
    /// The maximum number of words. A longer response is cut.
    pub words: usize,
}

/// A model's response to a [`SummaryRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryResponse {
    /// The response's text, not yet cut.
    pub content: String,
    /// The reference of the model that wrote it.
    pub model: String,
}
