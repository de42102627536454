//! Common form of the two API protocols: pieces of replies, token counts, errors.
//!
//! Each protocol module encodes requests and decodes events to [`DecodedReply`]s. Everything after that is shared. Decoding
//! accepts the known deviations of servers, but JSON without any expected field is an error, not an empty reply.

mod anthropic;
mod openai;

use serde_json::Value;

use super::{FinishReason, Logprob, Protocol, ProviderError, Request, ToolCall, Usage};

/// Optional features of a server; a feature that the server refuses is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// True if `stream_options` may be sent; a few servers refuse unknown fields.
    pub(crate) usage: bool,
    /// True if chats need `max_completion_tokens`; OpenAI's newer models refuse `max_tokens`.
    pub(crate) completion_tokens: bool,
    /// True if the last message may be a prefix of the model's reply; Anthropic's newer models refuse that.
    pub(crate) prefill: bool,
}

impl Capabilities {
    /// Updates the features from a refused request; returns whether any changed.
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
pub(crate) fn request_body(
    protocol: &Protocol,
    model: Option<&str>,
    request: &Request,
    n: usize,
    capabilities: Capabilities,
) -> Result<(&'static str, Vec<u8>), ProviderError> {
    let (path, body) = match protocol {
        Protocol::OpenAi => openai::request_body(model, request, n, capabilities),
        Protocol::Anthropic { .. } => anthropic::request_body(model, request, capabilities)?,
    };
    let body = body.map_err(|error| ProviderError::configuration(format!("cannot write the request: {error}")))?;
    Ok((path, body))
}

/// Decodes the data of an event, or a whole response; `Err` holds the reason for a failure.
pub(crate) fn decode(protocol: &Protocol, json: &[u8]) -> Result<DecodedReply, String> {
    match protocol {
        Protocol::OpenAi => openai::decode(json),
        Protocol::Anthropic { .. } => anthropic::decode(json),
    }
}

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

/// The next piece of a tool call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolCallPiece {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: String,
}

/// Limit of tool calls per reply. Each piece searches all calls, so an unlimited number would take quadratic time.
const MAX_TOOL_CALLS: usize = 1_024;

/// Tool calls assembled from pieces.
///
/// Pieces are joined by index. Servers that send complete calls omit the index or repeat it; then a new id starts a new
/// call.
#[derive(Debug, Default)]
pub(crate) struct PartialToolCalls(Vec<(Option<u64>, ToolCall)>);

impl PartialToolCalls {
    /// Adds a piece; `Err` if the reply has too many calls.
    pub(crate) fn take(&mut self, piece: ToolCallPiece) -> Result<(), String> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (id, name) = (non_empty(piece.id), non_empty(piece.name));
        let at = match piece.index {
            Some(index) => self.0.iter().rposition(|(known, _)| *known == Some(index)),
            None if id.is_none() && name.is_none() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|(_, call)| id.as_ref() == Some(&call.id)),
        };
        let other = |call: &ToolCall| !call.id.is_empty() && id.as_ref().is_some_and(|id| *id != call.id);
        let at = match at.filter(|at| !other(&self.0[*at].1)) {
            Some(at) => at,
            None if self.0.len() == MAX_TOOL_CALLS => return Err(format!("more than {MAX_TOOL_CALLS} tool calls")),
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

    /// Returns the calls. A missing id becomes `call_1`, `call_2` …; missing arguments become an empty object.
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

    /// Returns the length of names and arguments in bytes.
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

/// Error report of a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// HTTP status inside the body (from gateways), or the status that belongs to the error code.
    pub(crate) status: Option<u16>,
}

/// Parses the body of an error response; `None` if it is not JSON.
pub(crate) fn parse_error_body(body: &[u8]) -> Option<ErrorBody> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(error_report(value.get("error").unwrap_or(&value)))
}

/// Extracts the report from `{"message", "code", "type"}`, a plain string, or FastAPI's `{"detail"}`.
fn error_report(error: &Value) -> ErrorBody {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[(Option<u64>, &str, &str, &str)]) -> Vec<(String, String, String)> {
        let mut calls = PartialToolCalls::default();
        for (index, id, name, arguments) in pieces {
            let some = |text: &str| Some(text.to_owned());
            calls
                .take(ToolCallPiece {
                    index: *index,
                    id: some(id),
                    name: some(name),
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
    fn tool_calls_are_joined_from_any_pieces() {
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
    fn the_number_of_tool_calls_is_limited() {
        let mut calls = PartialToolCalls::default();
        let mut take = |index| calls.take(ToolCallPiece { index: Some(index), ..ToolCallPiece::default() });
        assert!((0..1_024).chain(0..1_024).all(|index| take(index).is_ok()));
        assert!(take(1_024).is_err());
    }

    #[test]
    fn a_refusal_changes_capabilities_once() {
        let refusal = |message: &str| ProviderError::Http {
            status: 400,
            code: None,
            message: message.to_owned(),
            retry_after: None,
        };
        let first = Capabilities { usage: true, completion_tokens: false, prefill: true };
        for message in ["unknown field stream_options", "use 'max_completion_tokens'", "does not support prefill"] {
            let mut capabilities = first;
            assert!(capabilities.learn(&refusal(message)) && capabilities != first, "{message}");
            assert!(!capabilities.learn(&refusal(message)), "{message}");
        }
        let mut capabilities = first;
        assert!(!capabilities.learn(&refusal("no")));
    }

    #[test]
    fn errors_of_different_servers_are_read() {
        let read = |json: &str| parse_error_body(json.as_bytes()).unwrap();
        let openai = read(r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
        assert_eq!((openai.message.as_deref(), openai.code.as_deref()), (Some("m"), Some("c")));
        assert_eq!(read(r#"{"error":{"message":"m","code":429}}"#).status, Some(429));
        assert_eq!(read(r#"{"error":"m"}"#).message.as_deref(), Some("m"));
        assert_eq!(read(r#"{"detail":"m"}"#).message.as_deref(), Some("m"));
        let anthropic = read(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        assert_eq!((anthropic.message.as_deref(), anthropic.status), (Some("Overloaded"), Some(529)));
        assert_eq!(parse_error_body(b"<html>"), None);
    }
}
