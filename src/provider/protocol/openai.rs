//! OpenAI's protocol: requests for `/chat/completions` and `/completions`, and their responses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Capabilities, DecodedReply, PartialUsage, StreamPiece, ToolCallPiece, error_body::error_report};
use crate::provider::{
    Logprob, Message, MessagePart, Prompt, Request, Role, Sampling, ToolCall, ToolDefinition,
    tool_call_pairs::pair_tool_results,
};

#[derive(Serialize)]
struct ChatRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<ChatMessage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// A boolean in chats, the number of alternatives in completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Default, Serialize)]
struct ChatMessage {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
struct ChatToolCall {
    id: String,
    r#type: &'static str,
    function: ChatFunctionCall,
}

#[derive(Serialize)]
struct ChatFunctionCall {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// Returns the path and the body of a request.
pub(super) fn request_body(
    model: Option<&str>,
    request: &Request,
    n: usize,
    capabilities: Capabilities,
) -> (&'static str, serde_json::Result<Vec<u8>>) {
    let Sampling { temperature, max_tokens, stop, seed, logprobs } = &request.sampling;
    let (path, messages, prompt) = match &request.prompt {
        Prompt::Chat(messages) => (
            "chat/completions",
            Some(pair_tool_results(messages).into_iter().flat_map(to_chat_messages).collect()),
            None,
        ),
        Prompt::Raw(text) => ("completions", None, Some(text.as_str())),
    };
    let chat = prompt.is_none();
    let renamed = capabilities.completion_tokens && chat;
    let body = ChatRequest {
        model,
        messages,
        prompt,
        tools: if chat { request.tools.iter().map(tool_definition).collect() } else { Vec::new() },
        stream: true,
        stream_options: capabilities.usage.then_some(StreamOptions { include_usage: true }),
        n: Some(n).filter(|n| *n > 1),
        temperature: *temperature,
        max_tokens: max_tokens.filter(|_| !renamed),
        max_completion_tokens: max_tokens.filter(|_| renamed),
        stop,
        seed: *seed,
        logprobs: logprobs.map(|top| if chat { true.into() } else { top.into() }),
        top_logprobs: logprobs.filter(|_| chat),
    };
    (path, serde_json::to_vec(&body))
}

fn tool_definition(tool: &ToolDefinition) -> ChatTool<'_> {
    let function = ChatFunction { name: &tool.name, description: &tool.description, parameters: &tool.parameters };
    ChatTool { r#type: "function", function }
}

/// Returns messages in the form of OpenAI's chat completions, with `role`, `content`, `tool_calls` and `tool_call_id`. A client
/// of another program can send them as they are.
#[must_use]
pub fn chat_messages(messages: &[Message]) -> Vec<Value> {
    let messages = pair_tool_results(messages).into_iter().flat_map(to_chat_messages);
    // These types serialize without an error.
    messages.map(|message| serde_json::to_value(message).unwrap_or_default()).collect()
}

/// Converts a message to this protocol's messages: one per tool result, then the rest.
fn to_chat_messages(message: Message) -> Vec<ChatMessage> {
    let text = message.text();
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut messages = Vec::new();
    let mut tool_calls = Vec::new();
    for part in message.parts {
        match part {
            MessagePart::Result { call, text, .. } => {
                messages.push(ChatMessage {
                    role: "tool",
                    content: text,
                    tool_call_id: Some(call),
                    ..ChatMessage::default()
                });
            }
            MessagePart::Call(ToolCall { id, name, arguments }) => {
                tool_calls.push(ChatToolCall {
                    id,
                    r#type: "function",
                    function: ChatFunctionCall { name, arguments },
                });
            }
            MessagePart::Text(_) | MessagePart::Image(_) => {}
        }
    }
    if !text.is_empty() || !tool_calls.is_empty() || messages.is_empty() {
        messages.push(ChatMessage { role, content: text, tool_calls, tool_call_id: None });
    }
    messages
}

#[derive(Deserialize)]
struct ChunkResponse {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<ChunkChoice>>,
    usage: Option<ChunkUsage>,
    /// Extension of llama.cpp.
    timings: Option<ChunkTimings>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    index: Option<usize>,
    delta: Option<ChunkDelta>,
    message: Option<ChunkDelta>,
    text: Option<String>,
    logprobs: Option<ChunkLogprobs>,
    finish_reason: Option<String>,
    /// Moonshot reports usage per choice.
    usage: Option<ChunkUsage>,
}

#[derive(Deserialize)]
struct ChunkDelta {
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ChunkToolCall>>,
}

#[derive(Deserialize)]
struct ChunkToolCall {
    index: Option<u64>,
    id: Option<String>,
    function: Option<ChunkFunction>,
}

#[derive(Deserialize)]
struct ChunkFunction {
    name: Option<String>,
    arguments: Option<Value>,
}

/// Chats have `content`, completions the three lists.
#[derive(Deserialize)]
struct ChunkLogprobs {
    content: Option<Vec<ChunkLogprob>>,
    tokens: Option<Vec<String>>,
    token_logprobs: Option<Vec<Option<f64>>>,
    top_logprobs: Option<Vec<Option<std::collections::BTreeMap<String, f64>>>>,
}

#[derive(Deserialize)]
struct ChunkLogprob {
    token: String,
    logprob: Option<f64>,
    #[serde(default)]
    top_logprobs: Option<Vec<ChunkLogprob>>,
}

#[derive(Deserialize)]
struct ChunkUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<ChunkUsageDetails>,
    /// Extension of DeepSeek.
    prompt_cache_hit_tokens: Option<u64>,
    /// Extension of Moonshot.
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ChunkUsageDetails {
    cached_tokens: Option<u64>,
    /// Extension of OpenRouter.
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ChunkTimings {
    cache_n: Option<u64>,
}

impl ChunkUsage {
    fn into_partial(self) -> PartialUsage {
        let details = self.prompt_tokens_details;
        let (cached, cache_write) = details.map_or((None, None), |d| (d.cached_tokens, d.cache_write_tokens));
        PartialUsage {
            prompt: self.prompt_tokens,
            fresh: None,
            cached: cached.or(self.prompt_cache_hit_tokens).or(self.cached_tokens),
            cache_write,
            output: self.completion_tokens,
        }
    }
}

/// Decodes an event or a whole response; `Err` holds the reason for a failure.
pub(super) fn decode(json: &[u8]) -> Result<DecodedReply, String> {
    let raw: ChunkResponse = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if let Some(error) = raw.error.as_ref().filter(|error| !error.is_null()) {
        return Ok(DecodedReply {
            id: raw.id,
            model: raw.model,
            error: Some(error_report(error)),
            ..DecodedReply::default()
        });
    }
    if raw.choices.is_none() && raw.usage.is_none() {
        return Err("neither choices nor usage".to_owned());
    }
    let mut answer = DecodedReply { id: raw.id, model: raw.model, ..DecodedReply::default() };
    answer.usage.cached = raw.timings.and_then(|timings| timings.cache_n);
    if let Some(usage) = raw.usage {
        answer.usage.take(usage.into_partial());
    }
    for mut choice in raw.choices.into_iter().flatten() {
        if let Some(usage) = choice.usage.take() {
            answer.usage.take(usage.into_partial());
        }
        answer.pieces.push(decode_choice(choice)?);
    }
    Ok(answer)
}

fn decode_choice(choice: ChunkChoice) -> Result<StreamPiece, String> {
    let mut piece = StreamPiece {
        index: choice.index.unwrap_or_default(),
        text: choice.text.unwrap_or_default(),
        finish: choice.finish_reason.filter(|reason| !reason.is_empty()),
        logprobs: choice.logprobs.map(decode_logprobs).unwrap_or_default(),
        ..StreamPiece::default()
    };
    for message in [choice.delta, choice.message].into_iter().flatten() {
        piece.text.push_str(&content_text(message.content)?);
        if let Some(refusal) = message.refusal.filter(|refusal| !refusal.is_empty()) {
            piece.refused = true;
            piece.text.push_str(&refusal);
        }
        for call in message.tool_calls.into_iter().flatten() {
            let function = call.function.map_or((None, None), |function| (function.name, function.arguments));
            let arguments = match function.1 {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text,
                // Some servers send an object instead of a string.
                Some(object) => object.to_string(),
            };
            piece.calls.push(ToolCallPiece { index: call.index, id: call.id, name: function.0, arguments });
        }
    }
    Ok(piece)
}

/// Returns the text of a content field: a string, or with some servers a list of parts.
fn content_text(content: Option<Value>) -> Result<String, String> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => Ok(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
        Some(_) => Err("content that is not text".to_owned()),
    }
}

fn decode_logprobs(raw: ChunkLogprobs) -> Vec<Logprob> {
    let pair = |raw: ChunkLogprob| Some((raw.token, raw.logprob?));
    let in_chats = raw.content.into_iter().flatten().filter_map(|token| {
        let top = token.top_logprobs.into_iter().flatten().filter_map(pair).collect();
        Some(Logprob { token: token.token, logprob: token.logprob?, top })
    });
    let mut tops = raw.top_logprobs.into_iter().flatten();
    let values = raw.token_logprobs.into_iter().flatten();
    // The first token of a completion has no probability.
    let in_completions = raw.tokens.into_iter().flatten().zip(values).filter_map(|(token, logprob)| {
        let top = tops.next().flatten().into_iter().flatten().collect();
        Some(Logprob { token, logprob: logprob?, top })
    });
    in_chats.chain(in_completions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Capabilities = Capabilities { usage: false, completion_tokens: false, prefill: true };

    fn request(prompt: Prompt) -> Request {
        let sampling = Sampling {
            temperature: Some(0.7),
            max_tokens: Some(5),
            stop: vec!["\n".into()],
            seed: Some(1),
            logprobs: None,
        };
        Request { sampling, ..Request::new(prompt) }
    }

    fn sent_body(request: &Request, n: usize, capabilities: Capabilities) -> Value {
        serde_json::from_slice(&request_body(Some("m"), request, n, capabilities).1.unwrap()).unwrap()
    }

    #[test]
    fn a_request_contains_only_set_options() {
        let chat = request(Prompt::Chat(vec![Message::user("hi")]));
        let (path, bytes) = request_body(Some("m"), &chat, 1, Capabilities { usage: true, ..PLAIN });
        assert_eq!(path, "chat/completions");
        assert_eq!(
            String::from_utf8(bytes.unwrap()).unwrap(),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"max_tokens":5,"stop":["\n"],"seed":1}"#
        );
        let renamed = sent_body(&chat, 1, Capabilities { completion_tokens: true, ..PLAIN });
        assert_eq!((&renamed["max_completion_tokens"], renamed.get("max_tokens")), (&Value::from(5), None));
        let raw = Request::new(Prompt::Raw("Once".into()));
        let (path, bytes) = request_body(None, &raw, 1, Capabilities { completion_tokens: true, ..PLAIN });
        assert_eq!((path, &bytes.unwrap()[..]), ("completions", &br#"{"prompt":"Once","stream":true}"#[..]));
    }

    #[test]
    fn n_and_logprobs_follow_each_endpoints_format() {
        let mut asked = request(Prompt::Chat(vec![Message::user("hi")]));
        asked.sampling.logprobs = Some(3);
        let chat = sent_body(&asked, 4, PLAIN);
        assert_eq!((&chat["n"], &chat["logprobs"], &chat["top_logprobs"]), (&4.into(), &true.into(), &3.into()));
        asked.prompt = Prompt::Raw("Once".into());
        let raw = sent_body(&asked, 1, PLAIN);
        assert_eq!((raw.get("n"), &raw["logprobs"], raw.get("top_logprobs")), (None, &3.into(), None));
    }

    #[test]
    fn tools_calls_and_results_are_encoded() {
        let call = ToolCall { id: "a".into(), name: "look".into(), arguments: "{oops".into() };
        let result = MessagePart::Result { call: "a".into(), text: "a tree".into(), failed: false };
        let asked = vec![
            Message::system("s").cached(),
            Message::user("u").with(MessagePart::Image("map.png".into())),
            Message { role: Role::Assistant, parts: vec![MessagePart::Call(call)], cache: false },
            Message { role: Role::User, parts: vec![result, MessagePart::Text("and?".into())], cache: false },
        ];
        let parameters = serde_json::json!({"type": "object"});
        let tool = ToolDefinition { name: "look".into(), description: "Looks.".into(), parameters };
        let mut request = Request { tools: vec![tool], ..Request::new(Prompt::Chat(asked)) };
        let body = sent_body(&request, 1, PLAIN);
        let expected = serde_json::json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u\n\n[image: map.png]"},
            {"role": "assistant", "content": "", "tool_calls":
                [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{oops"}}]},
            {"role": "tool", "content": "a tree", "tool_call_id": "a"},
            {"role": "user", "content": "and?"},
        ]);
        assert_eq!(body["messages"], expected);
        let function = serde_json::json!({"name": "look", "description": "Looks.", "parameters": {"type": "object"}});
        assert_eq!(body["tools"], serde_json::json!([{"type": "function", "function": function}]));
        request.prompt = Prompt::Raw("Once".into());
        assert_eq!(sent_body(&request, 1, PLAIN).get("tools"), None);
    }

    #[test]
    fn responses_of_different_servers_are_decoded() {
        let text = |json: &str| decode(json.as_bytes()).unwrap().pieces.remove(0).text;
        assert_eq!(text(r#"{"choices":[{"delta":{"content":"a"}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"text":"a","logprobs":null}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"message":{"role":"assistant","content":"a"}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"x"}]}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"delta":{"content":null,"tool_calls":null}}]}"#), "");
        assert!(decode(br#"{"choices":[{"delta":{"refusal":"no"}}]}"#).unwrap().pieces[0].refused);
        for nonsense in
            ["{}", "[]", "1", r#"{"hello":1}"#, r#"{"choices":[{"delta":{"content":5}}]}"#, r#"{"choices":"#]
        {
            assert!(decode(nonsense.as_bytes()).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn cached_tokens_are_found_in_every_servers_field() {
        for usage in [
            r#""usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}"#,
            r#""usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5}"#,
            r#""usage":{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":4}"#,
            r#""usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"cache_n":4,"prompt_n":5}"#,
        ] {
            let read = decode(format!(r#"{{"choices":[],{usage}}}"#).as_bytes()).unwrap().usage.usage().unwrap();
            assert_eq!((read.prompt, read.cached, read.cache_write, read.output), (9, 4, 0, 2), "{usage}");
        }
        let written =
            br#"{"choices":[{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cache_write_tokens":3}}}]}"#;
        assert_eq!(decode(written).unwrap().usage.usage().unwrap().cache_write, 3);
        assert_eq!(decode(br#"{"choices":[],"usage":null}"#).unwrap().usage.usage(), None);
    }

    #[test]
    fn logprobs_of_chats_and_completions_are_decoded() {
        let read = |json: &str| decode(json.as_bytes()).unwrap().pieces.remove(0).logprobs;
        let expected = vec![Logprob { token: "a".into(), logprob: -0.5, top: vec![("b".into(), -1.5)] }];
        let chat = r#"{"choices":[{"logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],
            "top_logprobs":[{"token":"b","logprob":-1.5}]},{"token":"x","logprob":null}]}}]}"#;
        assert_eq!(read(chat), expected);
        let completion = r#"{"choices":[{"text":"xa","logprobs":{"tokens":["x","a"],"token_logprobs":[null,-0.5],
            "top_logprobs":[null,{"b":-1.5}],"text_offset":[0,1]}}]}"#;
        assert_eq!(read(completion), expected);
    }
}
