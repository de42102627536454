//! What two protocols have in common once their JSON is read: pieces of replies, counts of tokens, errors.
//!
//! Each protocol turns its events into [`Answer`]s and nothing else, so that reading, joining, retrying and cutting are
//! written once. Reading is lenient where servers differ, but an answer without any of the fields of one is not taken
//! for an empty one.

mod anthropic;
mod openai;

use serde_json::Value;

use super::{FinishReason, Logprob, Protocol, ProviderError, Request, ToolCall, Usage};

/// What a server understands beyond the common part; what it refuses is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// `stream_options`; a few servers refuse fields they do not know.
    pub(crate) usage: bool,
    /// OpenAI's newer models refuse `max_tokens` in chats.
    pub(crate) completion_tokens: bool,
    /// Whether the last message may be the model's own, to be gone on with; Anthropic's newer models refuse that.
    pub(crate) prefill: bool,
}

impl Capabilities {
    /// Learns from a refusal; false if there is nothing to learn.
    pub(crate) fn learn(&mut self, error: &ProviderError) -> bool {
        let ProviderError::Http { status: 400 | 422, message, .. } = error else { return false };
        let before = *self;
        self.usage &= !message.contains("stream_options");
        self.completion_tokens |= message.contains("max_completion_tokens");
        self.prefill &= !message.contains("prefill");
        *self != before
    }
}

/// Returns the path and the body of a request for `n` replies.
pub(crate) fn body(
    protocol: &Protocol,
    model: Option<&str>,
    request: &Request,
    n: usize,
    dialect: Capabilities,
) -> Result<(&'static str, Vec<u8>), ProviderError> {
    let (path, body) = match protocol {
        Protocol::OpenAi => openai::body(model, request, n, dialect),
        Protocol::Anthropic { .. } => anthropic::body(model, request, dialect)?,
    };
    let body = body.map_err(|error| ProviderError::configuration(format!("cannot write the request: {error}")))?;
    Ok((path, body))
}

/// Reads an event's data, or a whole answer; `Err` says why it is none.
pub(crate) fn answer(protocol: &Protocol, json: &[u8]) -> Result<DecodedReply, String> {
    match protocol {
        Protocol::OpenAi => openai::answer(json),
        Protocol::Anthropic { .. } => anthropic::answer(json),
    }
}

/// One event of a streamed answer, or the whole of one that is not streamed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DecodedReply {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) pieces: Vec<StreamPiece>,
    pub(crate) usage: PartialUsage,
    pub(crate) error: Option<ErrorBody>,
    /// It only says that the server is still there.
    pub(crate) idle: bool,
    /// Nothing follows.
    pub(crate) done: bool,
}

/// More of one of the replies.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StreamPiece {
    /// Which, from 0.
    pub(crate) index: usize,
    pub(crate) text: String,
    pub(crate) refused: bool,
    pub(crate) calls: Vec<ToolCallPiece>,
    pub(crate) logprobs: Vec<Logprob>,
    /// Why it ended, in the server's word.
    pub(crate) finish: Option<String>,
}

/// More of a tool call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolCallPiece {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: String,
}

/// The most calls of one reply; more are no reply, and looking through them would take its time.
const MOST_CALLS: usize = 1_024;

/// Tool calls while they come in pieces.
///
/// Pieces are joined by index. Servers that send each call whole leave the index out, or give the same one to all; then
/// another id begins another call.
#[derive(Debug, Default)]
pub(crate) struct PartialToolCalls(Vec<(Option<u64>, ToolCall)>);

impl PartialToolCalls {
    /// Takes a piece; `Err` says why there are no more to be taken.
    pub(crate) fn take(&mut self, piece: ToolCallPiece) -> Result<(), String> {
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (id, name) = (said(piece.id), said(piece.name));
        let at = match piece.index {
            Some(index) => self.0.iter().rposition(|(known, _)| *known == Some(index)),
            None if id.is_none() && name.is_none() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|(_, call)| id.as_ref() == Some(&call.id)),
        };
        let other = |call: &ToolCall| !call.id.is_empty() && id.as_ref().is_some_and(|id| *id != call.id);
        let at = match at.filter(|at| !other(&self.0[*at].1)) {
            Some(at) => at,
            None if self.0.len() == MOST_CALLS => return Err(format!("more than {MOST_CALLS} tool calls")),
            None => {
                self.0
                    .push((piece.index, ToolCall { id: String::new(), name: String::new(), arguments: String::new() }));
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at].1;
        if let Some(id) = id {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&piece.arguments);
        Ok(())
    }

    /// The calls; one without an id gets one, and one without arguments an empty object.
    pub(crate) fn finish(self) -> Vec<ToolCall> {
        let calls = self.0.into_iter().map(|(_, call)| call);
        calls
            .filter(|call| !call.name.is_empty() || !call.arguments.is_empty())
            .enumerate()
            .map(|(at, mut call)| {
                if call.id.is_empty() {
                    call.id = format!("call_{}", at + 1);
                }
                if call.arguments.trim().is_empty() {
                    call.arguments = "{}".to_owned();
                }
                call
            })
            .collect()
    }

    /// How much was said in them.
    pub(crate) fn length(&self) -> usize {
        self.0.iter().map(|(_, call)| call.name.len() + call.arguments.len()).sum()
    }
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
    /// Takes later counts in; they replace earlier ones.
    pub(crate) fn take(&mut self, later: PartialUsage) {
        self.prompt = later.prompt.or(self.prompt);
        self.fresh = later.fresh.or(self.fresh);
        self.cached = later.cached.or(self.cached);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.output = later.output.or(self.output);
    }

    /// The counts, if there are any.
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

/// What a server says of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// An HTTP status within the body, as gateways give it, or as the kind of error has it.
    pub(crate) status: Option<u16>,
}

/// Reads what the body of an error says, if it is JSON.
pub(crate) fn error_of(body: &[u8]) -> Option<ErrorBody> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(said(value.get("error").unwrap_or(&value)))
}

/// Servers say `{"message", "code", "type"}`, a text, or (FastAPI) `{"detail"}`.
fn said(error: &Value) -> ErrorBody {
    let text = |name: &str| match error.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    let code = text("code").or_else(|| text("type"));
    let status = match code.as_deref() {
        Some("invalid_request_error") => Some(400),
        Some("authentication_error") => Some(401),
        Some("permission_error") => Some(403),
        Some("not_found_error") => Some(404),
        Some("request_too_large") => Some(413),
        Some("rate_limit_error") => Some(429),
        Some("api_error") => Some(500),
        Some("overloaded_error") => Some(529),
        Some(code) => code.parse().ok().filter(|status| (400..600).contains(status)),
        None => None,
    };
    let message = error.as_str().map(str::to_owned).or_else(|| text("message")).or_else(|| text("detail"));
    ErrorBody { message, code, status }
}

/// Translates a finish reason; servers have words of their own.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[(Option<u64>, &str, &str, &str)]) -> Vec<(String, String, String)> {
        let mut calls = PartialToolCalls::default();
        for (index, id, name, arguments) in pieces {
            let said = |text: &str| Some(text.to_owned());
            calls
                .take(ToolCallPiece {
                    index: *index,
                    id: said(id),
                    name: said(name),
                    arguments: (*arguments).to_owned(),
                })
                .unwrap();
        }
        calls.finish().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn calls_are_joined_however_they_come() {
        let streamed = [
            (Some(0), "a", "look", ""),
            (Some(1), "b", "find", "{\"q\""),
            (Some(0), "", "", "{\"id\":"),
            (Some(1), "", "", ":1}"),
            (Some(0), "", "", "oops"),
        ];
        assert_eq!(joined(&streamed), [call("a", "look", "{\"id\":oops"), call("b", "find", "{\"q\":1}")]);
        let whole_with_one_index = [(Some(0), "a", "look", "{}"), (Some(0), "b", "look", "{}")];
        assert_eq!(joined(&whole_with_one_index), [call("a", "look", "{}"), call("b", "look", "{}")]);
        let without_index =
            [(None, "a", "look", "{"), (None, "", "", "}"), (None, "b", "find", ""), (None, "", "", "")];
        assert_eq!(joined(&without_index), [call("a", "look", "{}"), call("b", "find", "{}")]);
        let nameless = [(Some(3), "", "look", "1"), (Some(4), "", "look", "2"), (Some(5), "", "", "")];
        assert_eq!(joined(&nameless), [call("call_1", "look", "1"), call("call_2", "look", "2")]);
        let repeated = [(Some(0), "a", "look", "{"), (Some(0), "a", "look", "}")];
        assert_eq!(joined(&repeated), [call("a", "look", "{}")]);
    }

    #[test]
    fn there_is_an_end_of_calls() {
        let mut calls = PartialToolCalls::default();
        let mut take = |index| calls.take(ToolCallPiece { index: Some(index), ..ToolCallPiece::default() });
        assert!((0..1_024).chain(0..1_024).all(|index| take(index).is_ok()));
        assert!(take(1_024).is_err());
    }

    #[test]
    fn a_refusal_is_learnt_from_once() {
        let refusal = |message: &str| ProviderError::Http {
            status: 400,
            code: None,
            message: message.to_owned(),
            retry_after: None,
        };
        let first = Capabilities { usage: true, completion_tokens: false, prefill: true };
        for message in ["unknown field stream_options", "use 'max_completion_tokens'", "does not support prefill"] {
            let mut dialect = first;
            assert!(dialect.learn(&refusal(message)) && dialect != first, "{message}");
            assert!(!dialect.learn(&refusal(message)), "{message}");
        }
        let mut dialect = first;
        assert!(!dialect.learn(&refusal("no")));
    }

    #[test]
    fn errors_of_different_servers_are_read() {
        let read = |json: &str| error_of(json.as_bytes()).unwrap();
        let openai = read(r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
        assert_eq!((openai.message.as_deref(), openai.code.as_deref()), (Some("m"), Some("c")));
        assert_eq!(read(r#"{"error":{"message":"m","code":429}}"#).status, Some(429));
        assert_eq!(read(r#"{"error":"m"}"#).message.as_deref(), Some("m"));
        assert_eq!(read(r#"{"detail":"m"}"#).message.as_deref(), Some("m"));
        let anthropic = read(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        assert_eq!((anthropic.message.as_deref(), anthropic.status), (Some("Overloaded"), Some(529)));
        assert_eq!(error_of(b"<html>"), None);
    }
}
