//! OpenAI's JSON, as requests are written and as answers are read.
//!
//! Reading is lenient where servers differ (missing, null and unknown fields), but an answer without any
//! of the fields of one is not taken for an empty one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FinishReason, Message, Prompt, Request, Sampling, Usage};

/// The body of a request.
#[derive(Serialize)]
pub(crate) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a [Message]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
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
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// What a server understands beyond the common part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// `stream_options`; a few servers refuse fields they do not know.
    pub(crate) usage: bool,
    /// OpenAI's own newer models refuse `max_tokens` in chats.
    pub(crate) completion_tokens: bool,
}

/// Returns the path and the body for a request.
pub(crate) fn body<'a>(model: Option<&'a str>, request: &'a Request, dialect: Dialect) -> (&'static str, Body<'a>) {
    let Sampling { temperature, max_tokens, stop, seed } = &request.sampling;
    let (path, messages, prompt) = match &request.prompt {
        Prompt::Chat(messages) => ("chat/completions", Some(messages.as_slice()), None),
        Prompt::Raw(text) => ("completions", None, Some(text.as_str())),
    };
    let renamed = dialect.completion_tokens && messages.is_some();
    let body = Body {
        model,
        messages,
        prompt,
        stream: true,
        stream_options: dialect.usage.then_some(StreamOptions { include_usage: true }),
        temperature: *temperature,
        max_tokens: max_tokens.filter(|_| !renamed),
        max_completion_tokens: max_tokens.filter(|_| renamed),
        stop,
        seed: *seed,
    };
    (path, body)
}

#[derive(Deserialize)]
struct RawAnswer {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<RawChoice>>,
    usage: Option<RawUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct RawChoice {
    delta: Option<RawMessage>,
    message: Option<RawMessage>,
    text: Option<String>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct RawMessage {
    content: Option<Value>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct RawUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<RawDetails>,
}

#[derive(Deserialize)]
struct RawDetails {
    cached_tokens: Option<u64>,
}

/// One chunk of a streamed answer, or the whole of one that is not streamed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) text: String,
    pub(crate) refused: bool,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<Said>,
}

/// What a server says of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// An HTTP status within the body, as gateways give it.
    pub(crate) status: Option<u16>,
}

/// Reads an answer; `Err` says why it is none.
pub(crate) fn answer(json: &[u8]) -> Result<Answer, String> {
    let raw: RawAnswer = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if let Some(error) = raw.error.as_ref().filter(|error| !error.is_null()) {
        return Ok(Answer { id: raw.id, model: raw.model, error: Some(said(error)), ..Answer::default() });
    }
    if raw.choices.is_none() && raw.usage.is_none() {
        return Err("neither choices nor usage in it".to_owned());
    }
    let mut answer = Answer { id: raw.id, model: raw.model, ..Answer::default() };
    answer.usage = raw.usage.map(|usage| Usage {
        prompt: usage.prompt_tokens.unwrap_or_default(),
        cached: usage.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or_default(),
        output: usage.completion_tokens.unwrap_or_default(),
    });
    // One continuation is asked for, so any further choice is not ours.
    if let Some(choice) = raw.choices.into_iter().flatten().next() {
        answer.finish = choice.finish_reason.filter(|reason| !reason.is_empty());
        answer.text = choice.text.unwrap_or_default();
        for message in [choice.delta, choice.message].into_iter().flatten() {
            answer.text.push_str(&content(message.content)?);
            if let Some(refusal) = message.refusal.filter(|refusal| !refusal.is_empty()) {
                answer.refused = true;
                answer.text.push_str(&refusal);
            }
        }
    }
    Ok(answer)
}

/// Content is a text, or with some servers a list of parts of which those of text have one.
fn content(content: Option<Value>) -> Result<String, String> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => Ok(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
        Some(_) => Err("content that is not text".to_owned()),
    }
}

/// Reads what the body of an error says, if it is JSON.
pub(crate) fn error_of(body: &[u8]) -> Option<Said> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(said(value.get("error").unwrap_or(&value)))
}

/// Servers say `{"message", "code", "type"}`, a text, or (FastAPI) `{"detail"}`.
fn said(error: &Value) -> Said {
    let text = |name: &str| match error.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    let code = text("code").or_else(|| text("type"));
    Said {
        message: error.as_str().map(str::to_owned).or_else(|| text("message")).or_else(|| text("detail")),
        status: code.as_ref().and_then(|code| code.parse().ok()).filter(|status| (400..600).contains(status)),
        code,
    }
}

/// Translates a finish reason; several servers have words of their own.
pub(crate) fn finish_reason(word: &str, clean: impl Fn(&str) -> String) -> FinishReason {
    match word {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" | "refusal" => FinishReason::Refused,
        "abort" | "cancelled" => FinishReason::Interrupted,
        other => FinishReason::Other(clean(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(prompt: Prompt) -> Request {
        let sampling = Sampling { temperature: Some(0.7), max_tokens: Some(5), stop: vec!["\n".into()], seed: Some(1) };
        Request { prompt, sampling }
    }

    #[test]
    fn a_request_holds_what_is_set_and_nothing_else() {
        let chat = request(Prompt::Chat(vec![Message { role: super::super::Role::User, content: "hi".into() }]));
        let (path, sent) = body(Some("m"), &chat, Dialect { usage: true, completion_tokens: false });
        assert_eq!(path, "chat/completions");
        assert_eq!(
            serde_json::to_string(&sent).unwrap(),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"max_tokens":5,"stop":["\n"],"seed":1}"#
        );
        let (_, sent) = body(Some("m"), &chat, Dialect { usage: false, completion_tokens: true });
        let sent = serde_json::to_value(&sent).unwrap();
        assert_eq!((&sent["max_completion_tokens"], sent.get("max_tokens")), (&Value::from(5), None));
        let raw = Request { prompt: Prompt::Raw("Once".into()), sampling: Sampling::default() };
        let (path, sent) = body(None, &raw, Dialect { usage: false, completion_tokens: true });
        assert_eq!(
            (path, serde_json::to_string(&sent).unwrap()),
            ("completions", r#"{"prompt":"Once","stream":true}"#.into())
        );
    }

    #[test]
    fn answers_of_different_servers_are_read() {
        let text = |json: &str| answer(json.as_bytes()).unwrap().text;
        assert_eq!(text(r#"{"choices":[{"delta":{"content":"a"}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"text":"a","logprobs":null}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"message":{"role":"assistant","content":"a"}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"x"}]}}]}"#), "a");
        assert_eq!(text(r#"{"choices":[{"delta":{"content":null}}]}"#), "");
        assert!(answer(br#"{"choices":[{"delta":{"refusal":"no"}}]}"#).unwrap().refused);
        let usage = answer(
            br#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        );
        assert_eq!(usage.unwrap().usage, Some(Usage { prompt: 9, cached: 4, output: 2 }));
        for nonsense in
            ["{}", "[]", "1", r#"{"hello":1}"#, r#"{"choices":[{"delta":{"content":5}}]}"#, r#"{"choices":"#]
        {
            assert!(answer(nonsense.as_bytes()).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn errors_of_different_servers_are_read() {
        let read = |json: &str| error_of(json.as_bytes()).unwrap();
        let openai = read(r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
        assert_eq!((openai.message.as_deref(), openai.code.as_deref()), (Some("m"), Some("c")));
        assert_eq!(read(r#"{"error":{"message":"m","code":429}}"#).status, Some(429));
        assert_eq!(read(r#"{"error":"m"}"#).message.as_deref(), Some("m"));
        assert_eq!(read(r#"{"detail":"m"}"#).message.as_deref(), Some("m"));
        assert_eq!(error_of(b"<html>"), None);
    }
}
