//! A decoded event or response, in the form that both protocols share: pieces of replies and counts of tokens.

use super::{error_body::ErrorBody, tool_calls::ToolCallPiece};
use crate::provider::{FinishReason, Logprob, Usage};

/// One event of a stream, or a whole response that is not streamed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DecodedReply {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) pieces: Vec<StreamPiece>,
    pub(crate) usage: PartialUsage,
    pub(crate) error: Option<ErrorBody>,
    /// True for a keep-alive.
    pub(crate) idle: bool,
    /// True for the last event of a stream.
    pub(crate) done: bool,
}

/// The next piece of one reply.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StreamPiece {
    /// Index of the reply, from 0.
    pub(crate) index: usize,
    pub(crate) text: String,
    pub(crate) refused: bool,
    pub(crate) calls: Vec<ToolCallPiece>,
    pub(crate) logprobs: Vec<Logprob>,
    /// Finish reason as the server reports it.
    pub(crate) finish: Option<String>,
}

/// Counts of tokens as they come, some in one event and some in another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PartialUsage {
    /// All of the prompt.
    pub(crate) prompt: Option<u64>,
    /// The prompt without what was read from a cache or written to one.
    pub(crate) fresh: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) output: Option<u64>,
}

impl PartialUsage {
    /// Merges later counts, which replace earlier ones.
    pub(crate) fn take(&mut self, later: PartialUsage) {
        self.prompt = later.prompt.or(self.prompt);
        self.fresh = later.fresh.or(self.fresh);
        self.cached = later.cached.or(self.cached);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.output = later.output.or(self.output);
    }

    /// Returns the counts; `None` if the server reported none.
    pub(crate) fn usage(self) -> Option<Usage> {
        if self == PartialUsage::default() {
            return None;
        }
        let [cached, cache_write] = [self.cached, self.cache_write].map(Option::unwrap_or_default);
        let sum = || self.fresh.unwrap_or_default().saturating_add(cached).saturating_add(cache_write);
        let prompt = self.prompt.unwrap_or_else(sum);
        Some(Usage { prompt, cached, cache_write, output: self.output.unwrap_or_default(), share: false })
    }
}

/// Maps a server's finish reason; unknown ones are passed through `clean`.
pub(crate) fn finish_reason(word: &str, clean: impl Fn(&str) -> String) -> FinishReason {
    match word {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "length" | "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_calls" | "tool_use" | "function_call" => FinishReason::Calls,
        "content_filter" | "refusal" => FinishReason::Refused,
        "abort" | "cancelled" => FinishReason::Interrupted,
        other => FinishReason::Other(clean(other)),
    }
}
