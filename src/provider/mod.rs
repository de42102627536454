//! Model clients: one trait, [`Model`], and what streams out of it.
//!
//! A request becomes a [`Generation`]: a task of its own that fills a small channel. So N continuations
//! run side by side by starting N of them, a slow reader holds its own request back and no other, and
//! dropping one closes its connection. Exactly one terminal item ends each, [`Event::Done`] or an error:
//! [`Generation`] holds that, so that no client can break it.
//!
//! Built in are [`OpenAi`], for every server that speaks OpenAI's `/chat/completions` and `/completions`,
//! and [`Scripted`], for tests and demonstrations. [`resolve`] turns what a person writes (`ollama:llama3.2`,
//! a URL, a name from the configuration) into a [`Target`]; [`discover`](discover::discover) finds one
//! where nothing was written.
//!
//! Left out: native tool calls, log probabilities, reasoning text, `n` in one request (continuations
//! are requested side by side instead, which every server can do), embeddings, token counts ahead of time.

mod config;
pub mod discover;
mod error;
mod http;
mod openai;
mod reference;
mod reply;
mod retry;
mod scripted;
mod secret;
pub mod sse;
mod wire;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

pub use config::{ModelConfig, NoInlineKey};
pub use discover::{Listed, list_models, open};
pub use error::{Class, CutCause, Phase, ProviderError};
pub use http::Timeouts;
pub use openai::OpenAi;
pub use reference::{DEFAULT_PARALLEL, Endpoint, Env, Names, Target, known_providers, resolve};
pub use retry::Retry;
pub use scripted::{Ending, Reply, Scripted};
pub use secret::Secret;

/// Who speaks in a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The frame: instructions, not part of the conversation.
    System,
    /// The other side of the model.
    User,
    /// The model.
    Assistant,
}

/// One message of a chat prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, as plain text.
    pub content: String,
}

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
        }
    }
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to continue.
    pub prompt: Prompt,
    /// How to draw.
    pub sampling: Sampling,
}

/// One item of a [`Generation`].
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// More of the reply, never empty; the reply is all of them joined.
    Text(String),
    /// The reply is complete; nothing follows.
    Done(Finish),
}

/// How a reply ended and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Why it ended.
    pub reason: FinishReason,
    /// The model as the server names it.
    pub model: Option<String>,
    /// The server's name for the request, to ask its operator about.
    pub request_id: Option<String>,
    /// Tokens, where the server says.
    pub usage: Option<Usage>,
    /// From the call of [`Model::stream`] to the first text, waiting for retries included.
    pub first_token: Option<Duration>,
    /// From the call of [`Model::stream`] to the end.
    pub total: Duration,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it, or a stop text came up.
    Stop,
    /// `max_tokens`, or the model's window, was reached.
    Length,
    /// The model or a filter before it declined.
    Refused,
    /// The server gave it up half way, or it was cut; see [`ProviderError::Cut`].
    Interrupted,
    /// A reason this client does not know, in the server's word.
    Other(String),
}

/// Tokens of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt: u64,
    /// Of these, how many the server had in its cache.
    pub cached: u64,
    /// Tokens of the reply.
    pub output: u64,
}

/// A model behind some endpoint.
pub trait Model: Send + Sync {
    /// Returns what the model is called in this program (`ollama:llama3.2`), to record with what it wrote.
    fn reference(&self) -> &str;

    /// Starts a request at once, on the current tokio runtime.
    ///
    /// Outside a runtime the generation holds one configuration error.
    fn stream(&self, request: Request) -> Generation;

    /// Returns how many requests at once the endpoint serves well, at least 1.
    ///
    /// The caller keeps to it; a client does not queue. At 1 a second request may interrupt the first.
    fn parallel(&self) -> usize;
}

/// How many events wait for a slow reader before the request itself is held back.
const WAITING_EVENTS: usize = 64;

/// A reply as it comes in; dropping it cancels the request and closes its connection.
///
/// It is a [`Stream`] too, to have several at once in a `StreamMap` or a `SelectAll`.
#[derive(Debug)]
pub struct Generation {
    events: mpsc::Receiver<Result<Event, ProviderError>>,
    task: Option<AbortHandle>,
    ended: bool,
}

impl Generation {
    /// Starts `run` as a task whose result becomes the terminal item; how a client is written.
    ///
    /// Outside a tokio runtime nothing is started and the generation holds a configuration error.
    pub fn spawn<F, Fut>(run: F) -> Generation
    where
        F: FnOnce(Sink) -> Fut,
        Fut: Future<Output = Result<Finish, ProviderError>> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            let error = ProviderError::configuration("a model can only be called inside a tokio runtime");
            // The channel is new and empty, so this cannot fail.
            let _ = sender.try_send(Err(error));
            return Generation { events, task: None, ended: false };
        };
        let reply = run(Sink { sender: sender.clone(), shown: false });
        let task = runtime.spawn(async move {
            let last = reply.await.map(Event::Done);
            // A reader that is gone does not want it.
            let _ = sender.send(last).await;
        });
        Generation { events, task: Some(task.abort_handle()), ended: false }
    }

    /// Waits for the next item; `None` after the terminal one.
    ///
    /// Safe to drop half way (in `select!`): no item is lost.
    pub async fn next(&mut self) -> Option<Result<Event, ProviderError>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Event, ProviderError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // A channel that closes without a terminal item is that of a task that was stopped.
        let item = std::task::ready!(self.events.poll_recv(context)).unwrap_or(Err(ProviderError::Cancelled));
        self.ended = !matches!(item, Ok(Event::Text(_)));
        Poll::Ready(Some(item))
    }

    /// Stops the request and closes its connection; what had come in can still be read.
    ///
    /// The last item is then [`ProviderError::Cancelled`], or the terminal item if that was already there.
    pub fn cancel(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Stream for Generation {
    type Item = Result<Event, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The writing end of a [`Generation`], held by the task that fills it.
pub struct Sink {
    sender: mpsc::Sender<Result<Event, ProviderError>>,
    shown: bool,
}

impl Sink {
    /// Hands on a piece of the reply; an empty one is passed over.
    ///
    /// # Errors
    /// [`ProviderError::Cancelled`] when the generation was dropped.
    pub async fn text(&mut self, text: String) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        self.shown = true;
        self.sender.send(Ok(Event::Text(text))).await.map_err(|_| ProviderError::Cancelled)
    }

    /// Returns whether any text was handed on; after that a request must not be retried.
    #[must_use]
    pub fn shown(&self) -> bool {
        self.shown
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("shown", &self.shown).finish_non_exhaustive()
    }
}
