//! Detection of a file's format by its beginning.

use serde_json::Value;

use super::Format;

/// Bytes of a file that the detection reads.
pub(super) const HEAD_BYTES: u64 = 64 << 10;

/// Lines of the beginning that are examined: some files begin with lines that other formats have too.
const MAX_EXAMINED_LINES: usize = 20;

/// Detects the format of a file.
pub(super) fn format(head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(MAX_EXAMINED_LINES);
    lines.filter_map(|line| serde_json::from_str(line).ok()).find_map(|line| of_line(&line))
}

/// Detects the format of a file of JSON lines by one of its first lines.
fn of_line(line: &Value) -> Option<Format> {
    let has = |name: &str| line.get(name).is_some();
    match line["type"].as_str() {
        Some("loomtree") if has("version") => Some(Format::Loomtree),
        Some("session") if !has("harness") && !has("uuid") => Some(Format::Pi),
        Some("file-history-snapshot" | "summary" | "queue-operation" | "user" | "assistant" | "system")
            if ["uuid", "leafUuid", "messageId", "sessionId"].into_iter().any(has) =>
        {
            Some(Format::ClaudeCode)
        }
        None if line["messages"].as_array().is_some_and(|list| list.iter().any(|m| m.get("role").is_some())) => {
            Some(Format::OpenAiChat)
        }
        _ => None,
    }
}
