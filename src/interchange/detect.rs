//! Detection of a file's format by its beginning.

use serde_json::Value;

use super::{Format, markdown_chat};

/// Bytes of a file that the detection of its format reads.
pub const HEAD_BYTES: u64 = 64 << 10;

/// Lines of the beginning that are examined: some files begin with lines that other formats have too.
const MAX_EXAMINED_LINES: usize = 20;

/// Detects the format of a file by its beginning. `None` if it is unknown.
#[must_use]
pub fn format(head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with(['[', '{']) {
        return markdown_chat::is_chat(text).then_some(Format::Markdown);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(MAX_EXAMINED_LINES);
    let by_line = lines.filter_map(|line| serde_json::from_str(line).ok()).find_map(|line| of_line(&line));
    let of_cut = |cut: &str| of_line(&serde_json::from_str(&close_value(cut)?).ok()?);
    by_line.or_else(|| of_document(text)).or_else(|| of_cut(text)).or_else(|| of_cut(cut_line(text)?))
}

/// Returns the last of several JSON lines, which the end of the text may cut. `None` if the text is one document.
fn cut_line(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    serde_json::from_str::<serde::de::IgnoredAny>(first).ok()?;
    rest.lines().last()
}

/// Detects the format of a file of JSON lines by one of its first lines.
fn of_line(line: &Value) -> Option<Format> {
    let has = |name: &str| line.get(name).is_some();
    match line["type"].as_str() {
        Some("loomtree") if has("version") => Some(Format::Loomtree),
        Some("session_meta" | "response_item" | "event_msg" | "turn_context") if has("payload") => Some(Format::Codex),
        Some("session") if line["harness"] == "llama.app" => Some(Format::LlamaApp),
        Some("session") if !has("harness") && !has("uuid") => Some(Format::Pi),
        Some("file-history-snapshot" | "summary" | "queue-operation" | "user" | "assistant" | "system")
            if ["uuid", "leafUuid", "messageId", "sessionId"].into_iter().any(has) =>
        {
            Some(Format::ClaudeCode)
        }
        Some("permission-mode" | "mode" | "custom-title" | "ai-title") if has("sessionId") => Some(Format::ClaudeCode),
        // A long message hides the ids behind it.
        Some("user" | "assistant") if has("parentUuid") && has("isSidechain") => Some(Format::ClaudeCode),
        None if has("projectHash") && has("sessionId") => Some(Format::Gemini),
        None if has("chat_metadata") || has("character_name") && has("user_name") => Some(Format::SillyTavern),
        None if has("instructions") && has("id") && has("timestamp") => Some(Format::Codex),
        None if has("working_dir") && ["message_count", "conversation", "description"].into_iter().any(has) => {
            Some(Format::Goose)
        }
        None if has("role") && has("created") && line["content"].is_array() => Some(Format::Goose),
        None if line["conv"].is_object() && line["messages"].is_array() => Some(Format::LlamaApp),
        None if line["messages"].as_array().is_some_and(|list| list.iter().any(is_message)) => Some(Format::OpenAiChat),
        None if line["conversations"].as_array().is_some_and(|list| list.iter().any(|m| m.get("from").is_some())) => {
            Some(Format::OpenAiChat)
        }
        None | Some("message") if is_message(line) => Some(Format::OpenAiChat),
        None => {
            let first = line.as_array().and_then(|list| of_line(list.first()?));
            first.filter(|format| matches!(format, Format::OpenAiChat | Format::LlamaApp))
        }
        _ => None,
    }
}

/// True for a chat message: it has a role and no place in a tree, and its content is in the form of OpenAI or Anthropic. The end
/// of the text may have cut the content.
fn is_message(value: &Value) -> bool {
    const ROLES: [&str; 6] = ["user", "assistant", "system", "developer", "tool", "function"];
    let has = |name: &str| value.get(name).is_some();
    value["role"].as_str().is_some_and(|role| ROLES.contains(&role))
        && !["parts", "message", "parent", "parentId", "children"].into_iter().any(has)
        && value.get("content").is_none_or(|content| !content.is_number() && !content.is_boolean())
}

/// Closes a JSON value that the end of the text cuts: ends it before the last comma that separates two values, and closes
/// what is open there. A whole value stays. `None` if there is no such comma.
fn close_value(text: &str) -> Option<String> {
    let (open, comma) = nesting(text);
    if open.is_empty() {
        return Some(text.to_owned());
    }
    let head = &text[..comma?];
    Some(head.chars().chain(nesting(head).0.into_iter().rev()).collect())
}

/// Returns the brackets that close what is open at the end of a text of JSON, outermost first, and the position of the last
/// comma that separates two values.
fn nesting(text: &str) -> (Vec<char>, Option<usize>) {
    let (mut open, mut comma, mut is_string, mut is_escaped) = (Vec::new(), None, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => drop(open.pop()),
            b',' => comma = Some(at),
            _ => {}
        }
    }
    (open, comma)
}

/// Keys that only the documents of a format have, in their first conversation.
const DOCUMENT_KEYS: &[(Format, &[&str])] = &[
    (Format::ChatGpt, &["\"mapping\""]),
    (Format::ClaudeAi, &["\"chat_messages\""]),
    (Format::OpenWebUi, &["\"history\"", "\"messages\"", "\"currentId\""]),
    // The position follows the messages, which can be longer than the beginning.
    (Format::OpenWebUi, &["\"history\"", "\"messages\"", "\"childrenIds\""]),
    (Format::LlamaApp, &["\"conv\"", "\"messages\"", "\"convId\""]),
    (Format::Gemini, &["\"sessionId\"", "\"projectHash\""]),
    (Format::Goose, &["\"conversation\"", "\"working_dir\""]),
    (Format::LibreChat, &["\"conversationId\"", "\"messageId\""]),
    (Format::Exoloom, &["\"loomType\""]),
    (Format::Basemode, &["\"nodes\"", "\"checked_out\""]),
    (Format::Loomsidian, &["\"nodes\"", "\"parentId\"", "\"collapsed\""]),
    (Format::Pyloom, &["\"root\"", "\"text\"", "\"children\""]),
];

/// Detects the format of a JSON document by the keys in its beginning.
fn of_document(text: &str) -> Option<Format> {
    DOCUMENT_KEYS.iter().find(|(_, keys)| keys.iter().all(|key| has_key(text, key))).map(|(format, _)| *format)
}

/// True if a text of JSON has a key. The same string as a value is none.
fn has_key(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| text[at + key.len()..].trim_start().starts_with(':'))
}
