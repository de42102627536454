//! Model clients: the trait [`Model`], and the [`Generation`]s it streams.
//!
//! Each request runs as a task that fills a small channel. So N continuations run in parallel, a slow reader applies
//! backpressure to its own request only, and dropping a generation closes its connection. Exactly one terminal item ends a
//! generation: [`StreamEvent::Done`] or an error. [`Generation`] enforces this for every client.
//!
//! There are three clients. `Client` (feature `net`) is for servers with OpenAI's `/chat/completions` and `/completions` or
//! Anthropic's `/messages`. [`Scripted`] is for tests and demonstrations. `LoadedModel` (feature `local`) evaluates a
//! model in this process.
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
mod known_providers;
#[cfg(feature = "local")]
mod local;
mod model;
#[cfg(feature = "net")]
mod model_list;
mod model_ref;
mod prices;
#[cfg(feature = "net")]
pub(crate) mod protocol;
#[cfg(feature = "net")]
mod provider_status;
#[cfg(feature = "net")]
mod retry;
mod sampling;
mod scripted;
mod secret;
#[cfg(feature = "net")]
#[doc(hidden)]
pub mod sse;
#[cfg(feature = "net")]
pub(crate) mod stream_reader;
#[cfg(feature = "tiktoken")]
mod tiktoken;
#[cfg(feature = "net")]
pub(crate) mod tls;
#[cfg(feature = "net")]
mod tool_call_pairs;
mod tool_definition;
mod usage;
mod weights;

pub use crate::types::{Message, MessagePart, Prompt, Role, ToolCall};

#[cfg(feature = "net")]
pub use client::Client;
pub use config::{InlineKeyError, ModelConfig, Timeouts};
pub use discover::{MODEL_VARIABLE, open};
#[cfg(feature = "net")]
pub use embeddings::Embeddings;
pub use error::{ErrorClass, ProviderError, RequestPhase, StreamError};
pub use generation::{Finish, FinishReason, Generation, Logprob, Sink, StreamEvent};
pub use known_providers::known_providers;
#[cfg(feature = "local")]
pub use local::{LoadedModel, SentenceEncoder};
pub use model::{EmbeddingModel, Model, Request};
#[cfg(feature = "net")]
pub use model_list::{RemoteModel, list_models};
pub use model_ref::{ANTHROPIC_VERSION, DEFAULT_PARALLEL, Endpoint, Env, Names, Protocol, Target, resolve};
pub use prices::{Money, Price, Prices};
#[cfg(feature = "net")]
pub use protocol::chat_messages;
#[cfg(feature = "net")]
pub use provider_status::{ProviderStatus, survey};
#[cfg(feature = "net")]
pub use retry::Retry;
pub use sampling::Sampling;
pub use scripted::{Scripted, ScriptedEnd, ScriptedReply};
pub use secret::Secret;
pub use tool_definition::ToolDefinition;
pub use usage::Usage;
pub(crate) use usage::deserialize_any;
pub use weights::LocalModel;
#[cfg(feature = "local")]
pub use weights::load_sentence_encoder;
#[doc(hidden)] // for the program
pub use weights::{KNOWN_WEIGHTS, MODELS_VARIABLE, ModelTask, Weights, WeightsFile};
