//! Traits of services that a host implements: models for agents, and web search.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    provider::{EmbeddingModel, Model},
    tools::{ToolError, WebHit, WebSearch},
    types::Agent,
};

/// Opens the models of agents.
pub trait ModelResolver: Send + Sync {
    /// Returns the model of an agent, or the default model if its profile names none.
    ///
    /// # Errors
    /// `NOT_CONFIGURED` with a hint, if there is no model or it cannot be used.
    fn open<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>>;

    /// Returns the context window of a model reference in tokens, as far as it is known without a server. `None`: unknown.
    fn known_window(&self, _reference: &str) -> Option<usize> {
        None
    }

    /// Returns the embedding model for recall; `None`: recall matches words only.
    fn embeddings(&self) -> BoxFuture<'_, Option<Arc<dyn EmbeddingModel>>> {
        Box::pin(async { None })
    }

    /// Returns the model for summaries; `None`: summaries consist of first sentences.
    fn summarizer(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async { None })
    }
}

/// Same model for every agent.
impl ModelResolver for Arc<dyn Model> {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        Box::pin(async { Ok(Self::clone(self)) })
    }

    fn known_window(&self, _: &str) -> Option<usize> {
        self.as_ref().window()
    }
}

/// Web search service.
pub trait Searcher: Send + Sync {
    /// Returns the hits, best first.
    ///
    /// # Errors
    /// If the service fails. Error messages never contain its key.
    fn search<'a>(&'a self, asked: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>>;
}
