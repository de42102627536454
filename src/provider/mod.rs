//! Model clients: one trait, [`Model`], and what streams out of it.
//!
//! A request becomes a [`Generation`]: a task of its own that fills a small channel. So N continuations
//! run side by side by starting N of them, a slow reader holds its own request back and no other, and
//! dropping one closes its connection. Exactly one terminal item ends each, [`Event::Done`] or an error:
//! [`Generation`] holds that, so that no client can break it.
//!
//! Built in are [`Client`], for every server that speaks OpenAI's `/chat/completions` and `/completions` or Anthropic's
//! `/messages`, and [`Scripted`], for tests and demonstrations; with the feature `local` also `Local`, a model that this
//! process evaluates itself. [`resolve`] turns what a person writes
//! (`ollama:llama3.2`, a URL, a name from the configuration) into a [`Target`]; [`discover`](discover::discover) finds
//! one where nothing was written.
//!
//! Left out: reasoning text, the bytes of images.

mod client;
mod config;
pub mod discover;
mod embeddings;
mod error;
mod generation;
mod http;
#[cfg(feature = "local")]
mod local;
mod message;
mod model_ref;
mod protocol;
mod reply;
mod retry;
mod scripted;
mod secret;
pub mod sse;
#[cfg(feature = "tiktoken")]
mod tiktoken;
pub(crate) mod tls;
mod usage;
mod weights;

pub use client::Client;
pub use config::{InlineKeyError, ModelConfig};
pub use discover::{MODEL_VARIABLE, RemoteModel, list_models, open};
pub use embeddings::Embeddings;
pub use error::{ErrorClass, ProviderError, RequestPhase, StreamError};
pub use generation::{Finish, FinishReason, Generation, Logprob, Sink, StreamEvent};
pub use http::Timeouts;
#[cfg(feature = "local")]
pub use local::Local;
pub use message::{Message, MessagePart, Role, ToolCall, ToolDefinition};
pub use model_ref::{
    ANTHROPIC_VERSION, DEFAULT_PARALLEL, Endpoint, Env, Names, Protocol, Target, known_providers, resolve,
};
pub use retry::Retry;
pub use scripted::{Scripted, ScriptedEnd, ScriptedReply};
pub use secret::Secret;
pub use usage::{Money, Price, Prices, Usage};
pub use weights::{KNOWN_WEIGHTS, LocalModel, MODELS_VARIABLE, Weights};

/// What the model is to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Messages for a chat model, oldest first.
    Chat(Vec<Message>),
    /// Text for a base model, continued without any frame around it (`/completions`).
    Raw(String),
}

/// How to draw from the model; what is `None` or empty is left to the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// 0 is greedy; servers accept up to 2 or so.
    pub temperature: Option<f32>,
    /// The most tokens of output.
    pub max_tokens: Option<u32>,
    /// Texts that end the output and are not part of it; many servers take at most four.
    pub stop: Vec<String>,
    /// Makes draws repeatable where the server supports it.
    pub seed: Option<u64>,
    /// Asks how probable each token was, with so many others in its place (0 to 20, says OpenAI), where the server can.
    pub logprobs: Option<u8>,
}

impl Sampling {
    /// Fills what is not set from `defaults`.
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
pub struct Request {
    /// What to continue.
    pub prompt: Prompt,
    /// Tools that the model may call; for chats only.
    pub tools: Vec<ToolDefinition>,
    /// How to draw.
    pub sampling: Sampling,
}

impl Request {
    /// A request with no tools and nothing said about how to draw.
    #[must_use]
    pub fn new(prompt: Prompt) -> Request {
        Request { prompt, tools: Vec::new(), sampling: Sampling::default() }
    }
}

/// A model behind some endpoint.
pub trait Model: Send + Sync {
    /// Returns what the model is called in this program (`ollama:llama3.2`), to record with what it wrote.
    fn reference(&self) -> &str;

    /// Starts a request at once, on the current tokio runtime.
    ///
    /// Outside a runtime the generation holds one configuration error.
    fn stream(&self, request: Request) -> Generation;

    /// Starts `n` replies to the same prompt, side by side; in as many requests as [`together`](Model::together) makes
    /// them.
    fn stream_several(&self, request: Request, n: usize) -> Vec<Generation> {
        (0..n).map(|_| self.stream(request.clone())).collect()
    }

    /// Returns how many replies one request may ask for, at least 1.
    ///
    /// Replies of one request end together, when the server has counted their tokens.
    fn together(&self) -> usize {
        1
    }

    /// Returns how many requests at once the endpoint serves well, at least 1.
    ///
    /// The caller keeps to it; a client does not queue. At 1 a second request may interrupt the first.
    fn parallel(&self) -> usize;

    /// Returns how many tokens it should be given at most, prompt and reply together, where that is known.
    fn window(&self) -> Option<usize> {
        None
    }

    /// Returns how many tokens a text is to it, where it can say so without being asked over a wire.
    fn count(&self, _text: &str) -> Option<usize> {
        None
    }
}
