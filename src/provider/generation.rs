//! A reply as it streams: a task that fills a small channel, and the end of it that a caller reads.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{ProviderError, ToolCall, Usage};

/// One item of a [`Generation`].
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
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
    /// The tools that the model calls, in its order; none if the reply was cut, for half a call must not be run.
    pub calls: Vec<ToolCall>,
    /// How probable each token was, where that was asked for and the server says.
    pub logprobs: Vec<Logprob>,
    /// The model as the server names it.
    pub model: Option<String>,
    /// The server's name for the request, to ask its operator about.
    pub request_id: Option<String>,
    /// Tokens, where the server says.
    pub usage: Option<Usage>,
    /// From the call of [`Model::stream`](super::Model::stream) to the first text, waiting for retries included.
    pub first_token: Option<Duration>,
    /// From the call of [`Model::stream`](super::Model::stream) to the end.
    pub total: Duration,
}

impl Finish {
    /// An end of which nothing is known but the reason.
    #[must_use]
    pub fn new(reason: FinishReason) -> Finish {
        Finish {
            reason,
            calls: Vec::new(),
            logprobs: Vec::new(),
            model: None,
            request_id: None,
            usage: None,
            first_token: None,
            total: Duration::ZERO,
        }
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it, or a stop text came up.
    Stop,
    /// `max_tokens`, or the model's window, was reached.
    Length,
    /// The model waits for the results of its [`Finish::calls`].
    Calls,
    /// The model or a filter before it declined.
    Refused,
    /// The server gave it up half way, or it was cut; see [`ProviderError::Cut`].
    Interrupted,
    /// A reason this client does not know, in the server's word.
    Other(String),
}

impl FinishReason {
    /// The reason as a word, to be kept.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::Calls => "calls",
            FinishReason::Refused => "refused",
            FinishReason::Interrupted => "interrupted",
            FinishReason::Other(word) => word,
        }
    }
}

/// How probable a token was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logprob {
    /// The token's text.
    pub token: String,
    /// The natural logarithm of its probability.
    pub logprob: f64,
    /// The most probable tokens in its place, with theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// How many events wait for a slow reader before the request itself is held back.
const WAITING_EVENTS: usize = 64;

/// The same where one request feeds several readers: none may hold back the others. More events than a stream can hold
/// before it is too long; the room is taken up only as far as it is used.
const WAITING_SHARED: usize = 1 << 24;

type Item = Result<StreamEvent, ProviderError>;

/// A reply as it comes in; dropping it cancels the request and closes its connection.
///
/// Where one request feeds several replies, the last one dropped does. It is a [`Stream`] too, to have several at once
/// in a `StreamMap` or a `SelectAll`.
#[derive(Debug)]
pub struct Generation {
    events: mpsc::Receiver<Item>,
    task: Option<Arc<GenerationTask>>,
    ended: bool,
}

/// A task that ends when nobody wants its result.
#[derive(Debug)]
struct GenerationTask(AbortHandle);

impl Drop for GenerationTask {
    fn drop(&mut self) {
        self.0.abort();
    }
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
        let (sink, events) = Sink::new(WAITING_EVENTS);
        let mut last = Sink { sender: sink.sender.clone(), shown: false };
        let reply = run(sink);
        Generation::start(vec![events], async move { last.end(reply.await).await }).remove(0)
    }

    /// Starts one task that fills `n` replies and gives each its terminal item.
    pub(crate) fn several<F, Fut>(n: usize, run: F) -> Vec<Generation>
    where
        F: FnOnce(Vec<Sink>) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let room = if n > 1 { WAITING_SHARED } else { WAITING_EVENTS };
        let (sinks, events) = (0..n).map(|_| Sink::new(room)).unzip();
        Generation::start(events, run(sinks))
    }

    fn start(events: Vec<mpsc::Receiver<Item>>, run: impl Future<Output = ()> + Send + 'static) -> Vec<Generation> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return events.iter().map(|_| Generation::outside()).collect();
        };
        let task = Arc::new(GenerationTask(runtime.spawn(run).abort_handle()));
        events.into_iter().map(|events| Generation { events, task: Some(Arc::clone(&task)), ended: false }).collect()
    }

    fn outside() -> Generation {
        let (sink, events) = Sink::new(1);
        let error = ProviderError::configuration("a model can only be called inside a tokio runtime");
        // The channel is new and empty, so this cannot fail.
        let _ = sink.sender.try_send(Err(error));
        Generation { events, task: None, ended: false }
    }

    /// Waits for the next item; `None` after the terminal one.
    ///
    /// Safe to drop half way (in `select!`): no item is lost.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // A channel that closes without a terminal item is that of a task that was stopped.
        let item = std::task::ready!(self.events.poll_recv(context)).unwrap_or(Err(ProviderError::Cancelled));
        self.ended = !matches!(item, Ok(StreamEvent::Text(_)));
        Poll::Ready(Some(item))
    }

    /// Stops the request and closes its connection, if no other reply comes by it; what had come in can still be read.
    ///
    /// The last item is then [`ProviderError::Cancelled`], or the terminal item if that was already there.
    pub fn cancel(&mut self) {
        self.task = None;
        self.events.close();
    }
}

impl Stream for Generation {
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

/// The writing end of a [`Generation`], held by the task that fills it.
pub struct Sink {
    sender: mpsc::Sender<Item>,
    shown: bool,
}

impl Sink {
    fn new(room: usize) -> (Sink, mpsc::Receiver<Item>) {
        let (sender, events) = mpsc::channel(room);
        (Sink { sender, shown: false }, events)
    }

    /// Hands on a piece of the reply; an empty one is passed over.
    ///
    /// # Errors
    /// [`ProviderError::Cancelled`] when the generation was dropped.
    pub async fn text(&mut self, text: String) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        self.shown = true;
        self.sender.send(Ok(StreamEvent::Text(text))).await.map_err(|_| ProviderError::Cancelled)
    }

    /// Hands on the terminal item; a reader that is gone does not want it.
    pub(crate) async fn end(&mut self, last: Result<Finish, ProviderError>) {
        let _ = self.sender.send(last.map(StreamEvent::Done)).await;
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
