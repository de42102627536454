//! A model that replies from a script, for tests, examples and demonstrations.
//!
//! The order of the calls of [`Model::stream`] assigns replies to requests, not the order in which the tasks run. So
//! parallel requests are reproducible. Delays use tokio's clock, which tests can pause.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Finish, FinishReason, Generation, Model, Prompt, ProviderError, Request, Sink, ToolCall, Usage};

const WORDS_REPLIES: [&str; 4] = [
    "The path went on past the last house and into the trees.",
    "Nobody had said that it would rain, and it did.",
    "There were two ways of telling it; this is the other one.",
    "She counted the lights on the far shore and came to nine.",
];

/// End of a scripted reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ScriptedEnd {
    /// Completes with this reason.
    Finish(FinishReason),
    /// Fails with an error after some pieces.
    Fail {
        /// Number of pieces emitted before the error.
        after: usize,
        /// Error of the reply; use [`ProviderError::Interrupted`] after at least one piece, as real clients do.
        error: ProviderError,
    },
    /// Never ends after the last piece.
    Hang,
}

/// One reply of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedReply {
    /// Pieces of the reply, in order; empty ones are not emitted.
    pub chunks: Vec<String>,
    /// Tool calls at the end of the reply.
    pub calls: Vec<ToolCall>,
    /// Delay before each piece.
    pub delay: Duration,
    /// End of the reply.
    pub ending: ScriptedEnd,
}

impl ScriptedReply {
    /// Creates a complete reply with one piece per word, without delay.
    #[must_use]
    pub fn words(text: &str) -> ScriptedReply {
        ScriptedReply::chunks(text.split_inclusive(' '))
    }

    /// Creates a complete reply of the given pieces, without delay.
    pub fn chunks<S: Into<String>>(chunks: impl IntoIterator<Item = S>) -> ScriptedReply {
        let chunks = chunks.into_iter().map(Into::into).collect();
        ScriptedReply {
            chunks,
            calls: Vec::new(),
            delay: Duration::ZERO,
            ending: ScriptedEnd::Finish(FinishReason::Stop),
        }
    }

    /// Sets the tool calls, and the finish reason [`FinishReason::Calls`].
    #[must_use]
    pub fn calling(self, calls: impl IntoIterator<Item = ToolCall>) -> ScriptedReply {
        ScriptedReply { calls: calls.into_iter().collect(), ending: ScriptedEnd::Finish(FinishReason::Calls), ..self }
    }

    /// Sets the delay before each piece.
    #[must_use]
    pub fn delayed(self, delay: Duration) -> ScriptedReply {
        ScriptedReply { delay, ..self }
    }

    /// Sets the end of the reply.
    #[must_use]
    pub fn ending(self, ending: ScriptedEnd) -> ScriptedReply {
        ScriptedReply { ending, ..self }
    }
}

/// A model that cycles through scripted replies.
///
/// ```
/// use loomtree::provider::{Message, Model, Prompt, Request, Scripted, ScriptedReply, StreamEvent};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let model = Scripted::new([ScriptedReply::words("Hello there.")]);
/// let mut reply = model.stream(Request::new(Prompt::Chat(vec![Message::user("Hi")])));
/// let mut text = String::new();
/// while let Some(Ok(StreamEvent::Text(piece))) = reply.next().await {
///     text.push_str(&piece);
/// }
/// assert_eq!(text, "Hello there.");
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Scripted {
    reference: String,
    replies: Vec<Arc<ScriptedReply>>,
    next: AtomicUsize,
    parallel: usize,
    requests: Mutex<Vec<Request>>,
}

impl Scripted {
    /// Creates a model from a script; an empty script gives empty replies.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Scripted {
        let mut replies: Vec<_> = replies.into_iter().map(Arc::new).collect();
        if replies.is_empty() {
            replies.push(Arc::new(ScriptedReply::words("")));
        }
        Scripted {
            reference: "scripted:test".to_owned(),
            replies,
            next: AtomicUsize::new(0),
            parallel: super::DEFAULT_PARALLEL,
            requests: Mutex::default(),
        }
    }

    /// Creates the model of a built-in script; the only one is `words`.
    ///
    /// # Errors
    /// Returns a configuration error for any other name.
    pub fn named(name: &str) -> Result<Scripted, ProviderError> {
        match name {
            "words" => {
                let replies = WORDS_REPLIES.map(|line| ScriptedReply::words(line).delayed(Duration::from_millis(15)));
                Ok(Scripted::new(replies).with_reference("scripted:words"))
            }
            other => Err(ProviderError::configuration(format!(
                "unknown script {}; known: scripted:words",
                super::error::clean(other, None)
            ))),
        }
    }

    /// Replaces the model reference.
    #[must_use]
    pub fn with_reference(self, reference: &str) -> Scripted {
        Scripted { reference: reference.to_owned(), ..self }
    }

    /// Replaces the maximum number of parallel requests.
    #[must_use]
    pub fn with_parallel(self, parallel: usize) -> Scripted {
        Scripted { parallel: parallel.max(1), ..self }
    }

    /// Returns all requests so far, in the order of the calls.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Scripted {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn stream(&self, request: Request) -> Generation {
        let turn = {
            // Under the lock, so that requests and replies are assigned in the same order.
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        let reply = Arc::clone(&self.replies[turn % self.replies.len()]);
        let reference = self.reference.clone();
        Generation::spawn(move |sink| async move { run_script(&reply, &request, turn, reference, sink).await })
    }

    fn parallel(&self) -> usize {
        self.parallel
    }
}

async fn run_script(
    reply: &ScriptedReply,
    request: &Request,
    turn: usize,
    reference: String,
    mut sink: Sink,
) -> Result<Finish, ProviderError> {
    let started = Instant::now();
    let limit = request.sampling.max_tokens.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fail = match &reply.ending {
        ScriptedEnd::Fail { after, error } => Some((*after, error)),
        _ => None,
    };
    let mut first_token = None;
    let mut emitted = 0;
    for chunk in reply.chunks.iter().take(limit.min(fail.map_or(usize::MAX, |(after, _)| after))) {
        if !reply.delay.is_zero() {
            tokio::time::sleep(reply.delay).await;
        }
        first_token.get_or_insert_with(|| started.elapsed());
        sink.text(chunk.clone()).await?;
        emitted += 1;
    }
    let reason = match &reply.ending {
        ScriptedEnd::Fail { error, .. } => return Err(error.clone()),
        ScriptedEnd::Hang => return std::future::pending().await,
        ScriptedEnd::Finish(_) if emitted < reply.chunks.len() => FinishReason::Length,
        ScriptedEnd::Finish(reason) => reason.clone(),
    };
    let usage = Usage { prompt: count_words(&request.prompt), output: emitted as u64, ..Usage::default() };
    let calls = if reason == FinishReason::Length { Vec::new() } else { reply.calls.clone() };
    Ok(Finish {
        calls,
        model: Some(reference),
        request_id: Some(format!("scripted-{turn}")),
        usage: Some(usage),
        first_token,
        total: started.elapsed(),
        ..Finish::new(reason)
    })
}

/// Counts the words of a prompt, which replace tokens here.
fn count_words(prompt: &Prompt) -> u64 {
    let count = |text: &str| text.split_whitespace().count() as u64;
    match prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| count(&message.text())).sum(),
        Prompt::Raw(text) => count(text),
    }
}

#[cfg(test)]
mod tests;
