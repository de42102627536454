//! Model clients: the trait [`Model`], and the [`Generation`]s it streams.
//!
//! Each request runs as a task that fills a small channel. So N continuations run in parallel, a slow reader applies
//! backpressure to its own request only, and dropping a generation closes its connection. Exactly one terminal item ends a
//! generation: [`StreamEvent::Done`] or an error. [`Generation`] enforces this for every client.
//!
//! There are three clients. `Client` (feature `net`) is for servers with OpenAI's `/chat/completions` and `/completions` or
//! Anthropic's `/messages`. [`Scripted`] is for tests and demonstrations. `Local` (feature `local`) evaluates a model in
//! this process.
//! [`resolve`] turns a model reference (`ollama:llama3.2`, a URL, a configured name) into a [`Target`];
//! [`discover`](discover::discover) finds a model if no reference is given.
//!
//! Left out: reasoning text, the bytes of images.

// Parts of the shared types serve only the HTTP clients.
#![cfg_attr(not(feature = "net"), allow(dead_code))]

mod base_url;
#[cfg(feature = "net")]
mod client;
mod config;
pub mod discover;
#[cfg(feature = "net")]
mod embeddings;
mod error;
mod generation;
#[cfg(feature = "net")]
pub(crate) mod http;
#[cfg(feature = "local")]
mod local;
#[cfg(feature = "net")]
mod model_list;
mod model_ref;
#[cfg(feature = "net")]
pub(crate) mod protocol;
#[cfg(feature = "net")]
mod provider_status;
#[cfg(feature = "net")]
pub(crate) mod reply;
#[cfg(feature = "net")]
mod retry;
mod scripted;
mod secret;
#[cfg(feature = "net")]
#[doc(hidden)]
pub mod sse;
#[cfg(feature = "tiktoken")]
mod tiktoken;
#[cfg(feature = "net")]
pub(crate) mod tls;
mod tool_definition;
#[cfg(feature = "net")]
mod tool_results;
mod usage;
mod weights;

use futures_util::future::BoxFuture;

use crate::types::setters;
pub use crate::types::{Message, MessagePart, Prompt, Role, ToolCall};

#[cfg(feature = "net")]
pub use client::Client;
pub use config::{InlineKeyError, ModelConfig, Timeouts};
pub use discover::{MODEL_VARIABLE, open};
#[cfg(feature = "net")]
pub use embeddings::Embeddings;
pub use error::{ErrorClass, ProviderError, RequestPhase, StreamError};
pub use generation::{Finish, FinishReason, Generation, Logprob, Sink, StreamEvent};
#[cfg(feature = "local")]
pub use local::{Local, SentenceEncoder};
#[cfg(feature = "net")]
pub use model_list::{RemoteModel, list_models};
pub use model_ref::{
    ANTHROPIC_VERSION, DEFAULT_PARALLEL, Endpoint, Env, Names, Protocol, Target, known_providers, resolve,
};
#[cfg(feature = "net")]
pub use provider_status::{ProviderStatus, survey};
#[cfg(feature = "net")]
pub use retry::Retry;
pub use scripted::{Scripted, ScriptedEnd, ScriptedReply};
pub use secret::Secret;
pub use tool_definition::ToolDefinition;
pub use usage::{Money, Price, Prices, Usage};
pub use weights::LocalModel;
#[cfg(feature = "local")]
pub use weights::load_sentence_encoder;
#[doc(hidden)] // for the program
pub use weights::{KNOWN_WEIGHTS, MODELS_VARIABLE, Weights, WeightsFile, WeightsUse};

/// Sampling options; a field that is `None` or empty is left to the server.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// Temperature: 0 is greedy; most servers accept up to 2.
    pub temperature: Option<f32>,
    /// Limit of the output, in tokens.
    pub max_tokens: Option<u32>,
    /// Stop texts: each ends the output and is not part of it. Many servers accept at most four.
    pub stop: Vec<String>,
    /// Seed for repeatable output, if the server supports it.
    pub seed: Option<u64>,
    /// Requests the log probability of each token and of so many alternatives (OpenAI: 0 to 20).
    pub logprobs: Option<u8>,
}

setters!(Sampling {
    /// Sets the temperature.
    temperature(some f32);
    /// Sets the limit of the output, in tokens.
    max_tokens(some u32);
    /// Sets the stop texts.
    stop(Vec<String>);
    /// Sets the seed.
    seed(some u64);
    /// Sets the number of alternatives whose log probabilities are requested.
    logprobs(some u8);
});

impl Sampling {
    /// Fills unset fields from `defaults`.
    #[must_use]
    pub fn or(self, defaults: &Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.or(defaults.temperature),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            stop: if self.stop.is_empty() { defaults.stop.clone() } else { self.stop },
            seed: self.seed.or(defaults.seed),
            logprobs: self.logprobs.or(defaults.logprobs),
        }
    }
}

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
