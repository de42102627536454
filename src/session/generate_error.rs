//! Errors of a generation.

use crate::{context::ContextError, ops::OpsError, provider::ProviderError};

/// Error of a generation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Reading or saving failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// The context could not be assembled.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The model request failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The reply was empty.
    #[error("the reply of the model is empty")]
    Empty,
    /// The request names no model or zero continuations.
    #[error("there is nothing to generate: no model or no continuation")]
    NoContinuations,
    /// Commands require a single continuation by the agent that runs the request, in a session.
    #[error("commands need one continuation by the agent that runs the request, in a session")]
    NotOwnSession,
}
