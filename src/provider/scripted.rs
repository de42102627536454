//! A model that says what a script says, for tests, examples and demonstrations.
//!
//! Which reply a request gets is settled by the order of the calls of [`Model::stream`], not by when the tasks run,
//! so that several at once are repeatable. Delays are tokio's and stand still in a paused runtime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Finish, FinishReason, Generation, Model, Prompt, ProviderError, Request, Sink, ToolCall, Usage};

/// The sentences of `scripted:words`.
const WORDS: [&str; 4] = [
    "The path went on past the last house and into the trees.",
    "Nobody had said that it would rain, and it did.",
    "There were two ways of telling it; this is the other one.",
    "She counted the lights on the far shore and came to nine.",
];

/// How a scripted reply ends.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedEnd {
    /// As it should, for this reason.
    Finish(FinishReason),
    /// With an error, after this many pieces.
    Fail {
        /// Pieces that still come.
        after: usize,
        /// The error; give [`ProviderError::Cut`] after pieces, as a real client does.
        error: ProviderError,
    },
    /// Never: after the pieces nothing comes.
    Hang,
}

/// One scripted reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedReply {
    /// The pieces, in order; empty ones do not show.
    pub chunks: Vec<String>,
    /// The tools that are called at its end.
    pub calls: Vec<ToolCall>,
    /// The wait before each piece.
    pub delay: Duration,
    /// How it ends.
    pub ending: ScriptedEnd,
}

impl ScriptedReply {
    /// Makes a reply that comes word by word, without delay, and ends well.
    #[must_use]
    pub fn words(text: &str) -> ScriptedReply {
        ScriptedReply::chunks(text.split_inclusive(' '))
    }

    /// Makes a reply of the given pieces, without delay, that ends well.
    pub fn chunks<S: Into<String>>(chunks: impl IntoIterator<Item = S>) -> ScriptedReply {
        let chunks = chunks.into_iter().map(Into::into).collect();
        ScriptedReply {
            chunks,
            calls: Vec::new(),
            delay: Duration::ZERO,
            ending: ScriptedEnd::Finish(FinishReason::Stop),
        }
    }

    /// Calls tools at its end, and ends for that reason.
    #[must_use]
    pub fn calling(self, calls: impl IntoIterator<Item = ToolCall>) -> ScriptedReply {
        ScriptedReply { calls: calls.into_iter().collect(), ending: ScriptedEnd::Finish(FinishReason::Calls), ..self }
    }

    /// Waits this long before each piece.
    #[must_use]
    pub fn delayed(self, delay: Duration) -> ScriptedReply {
        ScriptedReply { delay, ..self }
    }

    /// Ends otherwise.
    #[must_use]
    pub fn ending(self, ending: ScriptedEnd) -> ScriptedReply {
        ScriptedReply { ending, ..self }
    }
}

/// A model with a script, which starts again when it is through.
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
    /// Makes a model of a script; an empty one gives empty replies.
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

    /// Returns the built-in script of this name; there is `words`.
    ///
    /// # Errors
    /// A configuration error for any other name.
    pub fn named(name: &str) -> Result<Scripted, ProviderError> {
        match name {
            "words" => {
                let replies = WORDS.map(|line| ScriptedReply::words(line).delayed(Duration::from_millis(15)));
                Ok(Scripted::new(replies).with_reference("scripted:words"))
            }
            other => Err(ProviderError::configuration(format!(
                "no script {}; there is scripted:words",
                super::error::clean(other, None)
            ))),
        }
    }

    /// Replaces what the model is called.
    #[must_use]
    pub fn with_reference(self, reference: &str) -> Scripted {
        Scripted { reference: reference.to_owned(), ..self }
    }

    /// Replaces how many requests at once it says it serves well.
    #[must_use]
    pub fn with_parallel(self, parallel: usize) -> Scripted {
        Scripted { parallel: parallel.max(1), ..self }
    }

    /// Returns the requests so far, in the order of the calls.
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
            // Under the lock, so that requests and replies have the same order.
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        let reply = Arc::clone(&self.replies[turn % self.replies.len()]);
        let reference = self.reference.clone();
        Generation::spawn(move |sink| async move { play(&reply, &request, turn, reference, sink).await })
    }

    fn parallel(&self) -> usize {
        self.parallel
    }
}

async fn play(
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
    let mut said = 0;
    for chunk in reply.chunks.iter().take(limit.min(fail.map_or(usize::MAX, |(after, _)| after))) {
        if !reply.delay.is_zero() {
            tokio::time::sleep(reply.delay).await;
        }
        first_token.get_or_insert_with(|| started.elapsed());
        sink.text(chunk.clone()).await?;
        said += 1;
    }
    let reason = match &reply.ending {
        ScriptedEnd::Fail { error, .. } => return Err(error.clone()),
        ScriptedEnd::Hang => return std::future::pending().await,
        ScriptedEnd::Finish(_) if said < reply.chunks.len() => FinishReason::Length,
        ScriptedEnd::Finish(reason) => reason.clone(),
    };
    let usage = Usage { prompt: words(&request.prompt), output: said as u64, ..Usage::default() };
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

/// A prompt's size in words, for want of tokens.
fn words(prompt: &Prompt) -> u64 {
    let count = |text: &str| text.split_whitespace().count() as u64;
    match prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| count(&message.text())).sum(),
        Prompt::Raw(text) => count(text),
    }
}

#[cfg(test)]
mod tests;
