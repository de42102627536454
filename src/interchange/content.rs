//! Content of messages as lists of blocks, in the forms that the formats share, and times in their spellings.

use std::borrow::Cow;

use jiff::{Timestamp as Moment, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value, json};

use super::source_record::SourceMessage;
use crate::types::Timestamp;

/// Parsed content of a message.
#[derive(Debug, Default)]
pub(super) struct ParsedContent {
    /// Text blocks, one below the other. Other blocks are named in brackets: `[image]`.
    pub(super) text: String,
    /// Blocks of thinking.
    pub(super) thoughts: Vec<String>,
    /// Blocks of tool calls, unchanged.
    pub(super) calls: Vec<Value>,
    /// Blocks of tool results, unchanged.
    pub(super) results: Vec<Value>,
    /// Content as JSON, if it is more than one text.
    pub(super) raw: Option<String>,
}

impl ParsedContent {
    /// Parses a string, a list of blocks, or a single block.
    pub(super) fn of(content: &Value) -> Self {
        let mut parsed = Self::default();
        let blocks = match content {
            Value::String(text) => {
                parsed.text.clone_from(text);
                return parsed;
            }
            Value::Array(blocks) => blocks.as_slice(),
            Value::Object(_) => std::slice::from_ref(content),
            _ => return parsed,
        };
        let mut parts: Vec<Cow<'_, str>> = Vec::new();
        for block in blocks {
            parsed.block(block, &mut parts);
        }
        parsed.text = parts.join("\n");
        let is_plain = match blocks {
            [Value::String(_)] => true,
            [block] => {
                block_text(block).is_some()
                    && block["text"].is_string()
                    && block.as_object().is_some_and(|block| block.len() <= 2)
            }
            _ => blocks.is_empty(),
        };
        parsed.raw = (!is_plain).then(|| content.to_string());
        parsed
    }

    fn block<'a>(&mut self, block: &'a Value, parts: &mut Vec<Cow<'a, str>>) {
        if let Some(text) = block.as_str() {
            return parts.push(text.into());
        }
        let kind = block["type"].as_str().unwrap_or("");
        match kind {
            "thinking" | "think" | "reasoning" => {
                let text = [&block["thinking"], &block["think"], &block["text"]].into_iter().find_map(Value::as_str);
                self.thoughts.extend(text.filter(|text| !text.is_empty()).map(str::to_owned));
            }
            "tool_call" if block["tool_call"].is_object() => {
                let call = &block["tool_call"];
                let function = if call["function"].is_object() { &call["function"] } else { call };
                let arguments =
                    ["args", "arguments"].map(|name| &function[name]).into_iter().find(|value| !value.is_null());
                self.calls.push(json!({ "id": call["id"], "name": function["name"], "arguments": arguments }));
                if function["output"].is_string() {
                    let (id, output) = (&call["id"], &function["output"]);
                    self.results.push(json!({ "tool_use_id": id, "name": function["name"], "content": output }));
                }
            }
            "tool_use" | "toolCall" | "tool_call" | "function_call" | "server_tool_use" => {
                self.calls.push(block.clone())
            }
            "tool_result" | "web_search_tool_result" => self.results.push(block.clone()),
            "redacted_thinking" | "redactedThinking" | "token_budget" => {}
            "systemNotification" => parts.extend(block["msg"].as_str().map(Cow::from)),
            _ if block_text(block).is_some() => parts.extend(block_text(block).map(Cow::from)),
            "" => {}
            other => parts.push(format!("[{}]", other.chars().take(40).collect::<String>()).into()),
        }
    }

    /// Moves text, thoughts, calls and raw content into a message.
    pub(super) fn into_message(self, message: &mut SourceMessage) {
        (message.text, message.thoughts, message.calls, message.raw) = (self.text, self.thoughts, self.calls, self.raw);
    }
}

/// Returns the text of a block of text. The assistants of OpenAI have it in a field `value`.
fn block_text(block: &Value) -> Option<&str> {
    let is_text = matches!(block["type"].as_str(), None | Some("text" | "input_text" | "output_text"));
    block["text"].as_str().or_else(|| block["text"]["value"].as_str()).filter(|_| is_text)
}

/// Removal of a field of a JSON value that comes from a foreign file and may be of any type.
pub(super) trait TakeField {
    /// Takes a field out of an object. Returns null if it is missing, or the value is no object.
    fn take_field(&mut self, name: &str) -> Value;
}

impl TakeField for Value {
    fn take_field(&mut self, name: &str) -> Value {
        self.get_mut(name).map(Value::take).unwrap_or_default()
    }
}

/// Returns the text of an id field: a string or a number.
pub(super) fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a field as text, if it is a string that is not empty.
pub(super) fn text_of(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns a token count.
pub(super) fn tokens_of(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

/// Parses a time: RFC 3339, a date and time without zone (taken as UTC), or seconds or milliseconds since 1970.
pub(super) fn time_of(value: &Value) -> Option<Timestamp> {
    const MAX_SECONDS: f64 = 1e11;
    match value {
        Value::String(text) => {
            let text = text.trim();
            let moment = text.parse::<Moment>().ok().or_else(|| {
                let local: DateTime = text.parse().ok()?;
                Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
            });
            moment.map(|moment| Timestamp::from_millis(moment.as_millisecond()))
        }
        Value::Number(number) => {
            let number = number.as_f64()?;
            let millis = if number.abs() < MAX_SECONDS { number * 1_000.0 } else { number };
            // Beyond the year 10,000 it is no time.
            #[allow(clippy::cast_possible_truncation)]
            (millis.abs() < 2.5e14).then(|| Timestamp::from_millis(millis.round() as i64))
        }
        _ => None,
    }
}

/// Takes the fields of an object; an empty map for another value.
pub(super) fn fields_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Returns a model as `provider:model`. Without a provider it is guessed from the name of well-known models.
pub(super) fn model_of(provider: Option<&str>, model: &str) -> String {
    let known = [
        ("claude", "anthropic"),
        ("gpt-", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("chatgpt", "openai"),
        ("gemini", "google"),
    ];
    let guessed = || known.iter().find(|(start, _)| model.starts_with(start)).map(|(_, provider)| *provider);
    match provider.filter(|provider| !provider.is_empty()).or_else(guessed) {
        Some(provider) => format!("{provider}:{model}"),
        None => model.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_in_their_spellings() {
        let millis = |value: Value| time_of(&value).map(Timestamp::as_millis);
        assert_eq!(millis(json!("2026-01-02T03:04:05.678Z")), Some(1_767_323_045_678));
        assert_eq!(millis(json!("2026-01-02 03:04:05")), Some(1_767_323_045_000));
        assert_eq!(millis(json!(1_767_323_045)), Some(1_767_323_045_000));
        assert_eq!(millis(json!(1_767_323_045.5)), Some(1_767_323_045_500));
        assert_eq!(millis(json!(1_767_323_045_678_u64)), Some(1_767_323_045_678));
        for other in [json!("yesterday"), json!(1e300), json!(null), json!({})] {
            assert_eq!(millis(other), None);
        }
    }

    #[test]
    fn blocks_become_text_thoughts_calls_and_results() {
        let content = json!([
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "image", "data": "AA"},
            {"type": "tool_use", "id": "c", "name": "read"}, {"type": "tool_result"}, {"text": "two"}, "three"
        ]);
        let parsed = ParsedContent::of(&content);
        assert_eq!(parsed.text, "one\n[image]\ntwo\nthree");
        assert_eq!((parsed.thoughts.len(), parsed.calls.len(), parsed.results.len()), (1, 1, 1));
        assert_eq!(parsed.raw, Some(content.to_string()));
        assert_eq!(ParsedContent::of(&json!([{"type": "text", "text": "plain"}])).raw, None);
        assert_eq!(ParsedContent::of(&json!("plain")).text, "plain");
    }

    #[test]
    fn marks_of_programs_are_no_text() {
        let content = json!([
            {"type": "token_budget"}, {"type": "redactedThinking", "data": "x"}, {"type": "redacted_thinking"},
            {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacted"},
            {"type": "text", "text": {"value": "done", "annotations": []}}
        ]);
        assert_eq!(ParsedContent::of(&content).text, "compacted\ndone");
    }
}
