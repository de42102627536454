//! A streamed reply: a task that fills a channel, and the receiving end for the caller.

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
use tokio_util::sync::CancellationToken;

use super::{ProviderError, ToolCall, Usage};

/// One item of a [`Generation`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The next piece of the reply, never empty.
    Text(String),
    /// End of a complete reply; the terminal item.
    Done(Finish),
}

/// Result of a reply: its end, its tool calls and its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Reason for the end of the reply.
    pub reason: FinishReason,
    /// Tool calls in the model's order; empty for an interrupted reply, because a partial call must not run.
    pub calls: Vec<ToolCall>,
    /// Log probabilities of the tokens, if requested and supported.
    pub logprobs: Vec<Logprob>,
    /// Name of the model as the server reports it.
    pub model: Option<String>,
    /// Request id of the server, for support questions to its operator.
    pub request_id: Option<String>,
    /// Token counts; `None` if the server reports none.
    pub usage: Option<Usage>,
    /// Time from [`Model::stream`](super::Model::stream) to the first text, including retries.
    pub first_token: Option<Duration>,
    /// Time from [`Model::stream`](super::Model::stream) to the end.
    pub total: Duration,
}

impl Finish {
    /// Creates a result with this reason and no other data.
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

/// Reason for the end of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its reply, or a stop text matched.
    Stop,
    /// `max_tokens` or the model's context window was reached.
    Length,
    /// The model waits for the results of its [`Finish::calls`].
    Calls,
    /// The model or a content filter declined.
    Refused,
    /// The server aborted the reply or the stream failed; see [`ProviderError::Interrupted`].
    Interrupted,
    /// An unknown reason, as the server reports it.
    Other(String),
}

impl FinishReason {
    /// Returns the reason as the word that is stored with the node.
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

/// Log probability of a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Logprob {
    /// Text of the token.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// Most probable alternatives with their log probabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// Capacity of a reply's channel, in events. When it is full, the request waits for the reader.
const CHANNEL_EVENTS: usize = 64;

/// Capacity per reply if one request feeds several replies, so that a slow reader does not block the others.
///
/// It exceeds the number of events in the longest accepted stream. The channel allocates only what is used.
const SHARED_CHANNEL_EVENTS: usize = 1 << 24;

type Item = Result<StreamEvent, ProviderError>;

/// A reply that is being received; dropping it cancels the request and closes the connection.
///
/// If one request feeds several replies, dropping the last of them cancels it. The type implements [`Stream`] for use in a
/// `StreamMap` or `SelectAll`.
#[derive(Debug)]
pub struct Generation {
    events: mpsc::Receiver<Item>,
    task: Option<Arc<GenerationTask>>,
    ended: bool,
}

/// Aborts the task when the last generation that it feeds is dropped.
#[derive(Debug)]
struct GenerationTask(AbortHandle);

impl Drop for GenerationTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Generation {
    /// Starts `run` as a task; its result becomes the terminal item. Clients with one reply per request use this.
    ///
    /// Outside a tokio runtime, nothing is started and the generation contains a configuration error.
    pub fn spawn<F, Fut>(run: F) -> Generation
    where
        F: FnOnce(Sink) -> Fut,
        Fut: Future<Output = Result<Finish, ProviderError>> + Send + 'static,
    {
        let (sink, events) = Sink::new(CHANNEL_EVENTS);
        let mut last = Sink { sender: sink.sender.clone(), has_emitted: false };
        let reply = run(sink);
        Generation::start(vec![events], async move { last.end(reply.await).await }).remove(0)
    }

    /// Starts one task that fills `n` replies and sends each its terminal item.
    pub(crate) fn spawn_n<F, Fut>(n: usize, run: F) -> Vec<Generation>
    where
        F: FnOnce(Vec<Sink>) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let capacity = if n > 1 { SHARED_CHANNEL_EVENTS } else { CHANNEL_EVENTS };
        let (sinks, events) = (0..n).map(|_| Sink::new(capacity)).unzip();
        Generation::start(events, run(sinks))
    }

    fn start(events: Vec<mpsc::Receiver<Item>>, run: impl Future<Output = ()> + Send + 'static) -> Vec<Generation> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return events.iter().map(|_| Generation::without_runtime()).collect();
        };
        let task = Arc::new(GenerationTask(runtime.spawn(run).abort_handle()));
        events.into_iter().map(|events| Generation { events, task: Some(Arc::clone(&task)), ended: false }).collect()
    }

    fn without_runtime() -> Generation {
        let (sink, events) = Sink::new(1);
        let error = ProviderError::configuration("a model can only be called inside a tokio runtime");
        // The channel is new and empty, so this cannot fail.
        let _ = sink.sender.try_send(Err(error));
        Generation { events, task: None, ended: false }
    }

    /// Waits for the next item; `None` after the terminal one.
    ///
    /// Cancel-safe: no item is lost if the future is dropped in `select!`.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Waits for the next item like [`Generation::next`]. Once `stop` is cancelled, [cancels](Generation::cancel) the
    /// request and returns the items that were received before.
    pub(crate) async fn next_until(&mut self, stop: &CancellationToken) -> Option<Item> {
        if !self.is_cancelled() {
            tokio::select! {
                next = self.next() => return next,
                () = stop.cancelled() => self.cancel(),
            }
        }
        self.next().await
    }

    /// Receives the rest of the reply: appends its pieces to `text` and returns the terminal item.
    ///
    /// Cancel-safe: `text` has every piece that was received.
    ///
    /// # Errors
    /// The error that ended the reply; `text` has the pieces before it.
    pub async fn read_to_string(&mut self, text: &mut String) -> Result<Finish, ProviderError> {
        loop {
            match self.next().await.unwrap_or(Err(ProviderError::Cancelled))? {
                StreamEvent::Text(piece) => text.push_str(&piece),
                StreamEvent::Done(finish) => return Ok(finish),
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // The channel closes without a terminal item only if the task was aborted.
        let item = std::task::ready!(self.events.poll_recv(context)).unwrap_or(Err(ProviderError::Cancelled));
        self.ended = !matches!(item, Ok(StreamEvent::Text(_)));
        Poll::Ready(Some(item))
    }

    /// Cancels the request and closes its connection, unless other replies share it.
    ///
    /// Items already received can still be read. The last one is [`ProviderError::Cancelled`], or the terminal item if it
    /// had already arrived.
    pub fn cancel(&mut self) {
        self.task = None;
        self.events.close();
    }

    /// Returns whether the request was cancelled, or never started.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.task.is_none()
    }
}

impl Stream for Generation {
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

/// Sending end of a [`Generation`], owned by the task that fills it.
pub struct Sink {
    sender: mpsc::Sender<Item>,
    has_emitted: bool,
}

impl Sink {
    fn new(capacity: usize) -> (Sink, mpsc::Receiver<Item>) {
        let (sender, events) = mpsc::channel(capacity);
        (Sink { sender, has_emitted: false }, events)
    }

    /// Emits a piece of the reply; ignores an empty one.
    ///
    /// # Errors
    /// Returns [`ProviderError::Cancelled`] if the generation was dropped.
    pub async fn text(&mut self, text: String) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        self.has_emitted = true;
        self.sender.send(Ok(StreamEvent::Text(text))).await.map_err(|_| ProviderError::Cancelled)
    }

    /// Emits the terminal item; does nothing if the generation was dropped.
    pub(crate) async fn end(&mut self, last: Result<Finish, ProviderError>) {
        let _ = self.sender.send(last.map(StreamEvent::Done)).await;
    }

    /// Returns whether any text was emitted; after that the request must not be retried.
    #[must_use]
    pub fn has_emitted(&self) -> bool {
        self.has_emitted
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("has_emitted", &self.has_emitted).finish_non_exhaustive()
    }
}
