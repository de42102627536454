//! The traits of language models and of embedding models, and the request that a model gets.

use futures_util::future::BoxFuture;

use super::{Generation, ProviderError, Sampling, ToolDefinition};
use crate::types::{Prompt, setters};

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Input that the model continues.
    pub prompt: Prompt,
    /// Tools that the model may call; ignored for [`Prompt::Raw`].
    pub tools: Vec<ToolDefinition>,
    /// Sampling options; unset fields take the endpoint's defaults.
    pub sampling: Sampling,
}

setters!(Request {
    /// Sets the tools that the model may call.
    tools(Vec<ToolDefinition>);
    /// Sets the sampling options.
    sampling(Sampling);
});

impl Request {
    /// Creates a request without tools and with default sampling.
    #[must_use]
    pub fn new(prompt: Prompt) -> Request {
        Request { prompt, tools: Vec::new(), sampling: Sampling::default() }
    }
}

/// A model that turns texts into vectors. `Embeddings` (feature `net`) is a client for servers.
pub trait EmbeddingModel: Send + Sync {
    /// Returns the model's reference, which is stored with each vector.
    fn reference(&self) -> &str;

    /// Returns one vector for each text, in the same order.
    ///
    /// # Errors
    /// If the model fails.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>>;
}

/// A language model that streams replies.
pub trait Model: Send + Sync {
    /// Returns the model's reference (`ollama:llama3.2`), which is stored with each reply.
    fn reference(&self) -> &str;

    /// Returns the name by which the server knows the model; `None` if unknown.
    fn server_model(&self) -> Option<&str> {
        None
    }

    /// Returns the defaults for sampling options that a request leaves unset.
    fn sampling(&self) -> Sampling {
        Sampling::default()
    }

    /// Starts a request as a task on the current tokio runtime.
    ///
    /// Outside a runtime the generation contains one configuration error.
    fn stream(&self, request: Request) -> Generation;

    /// Starts `n` parallel replies to the same prompt.
    ///
    /// The number of requests follows from [`max_choices_per_request`](Model::max_choices_per_request).
    fn stream_n(&self, request: Request, n: usize) -> Vec<Generation> {
        (0..n).map(|_| self.stream(request.clone())).collect()
    }

    /// Returns the maximum number of replies per request, at least 1.
    ///
    /// Replies of one request end together, after the server has reported their usage.
    fn max_choices_per_request(&self) -> usize {
        1
    }

    /// Returns the maximum number of parallel requests, at least 1.
    ///
    /// The caller enforces it; clients do not queue. If it is 1, a second request may interrupt the first.
    fn parallel(&self) -> usize;

    /// Returns the context window in tokens, for prompt and reply together; `None` if unknown.
    fn window(&self) -> Option<usize> {
        None
    }

    /// Counts the tokens of a text; `None` if the model's tokenizer is not available in this process.
    fn count(&self, _text: &str) -> Option<usize> {
        None
    }
}
