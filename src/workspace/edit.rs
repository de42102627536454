//! `edit_file`: replaces one passage of a file. The passage must occur exactly once, so that the edit is unambiguous.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::{
    known_files::{AgentFiles, reread_hint},
    sandbox_dir,
    tools::{Answer, WorkspaceTool, arguments, blocking, lines},
    write::diff,
};
use crate::{
    recall::cut_at,
    tools::{ErrorCode, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Maximum occurrences of a passage that an error lists.
const MAX_LISTED_OCCURRENCES: usize = 8;
/// Maximum lines that an answer shows of an edit, and the maximum bytes of such a line.
const MAX_SHOWN_LINES: usize = 40;
const MAX_LINE_BYTES: usize = 240;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "edit_file",
    description: "Replaces a passage of a file of the workspace, which must be in it exactly once, down to its spaces.",
    permission: Permission::DocWrite,
    only_confirms: true,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, from the workspace's folder." },
            "old": { "type": "string", "description": "The passage, with enough around it to be the only one." },
            "new": { "type": "string", "description": "The replacement; empty to delete the passage." },
        },
        "required": ["path", "old", "new"],
    })
}

#[derive(Deserialize)]
struct EditParams {
    path: String,
    old: String,
    new: String,
}

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let params: EditParams = arguments(given)?;
        let reader = Arc::clone(&files);
        let edit = blocking(move || {
            let path = reader.root().canonical(&reader.root().resolve(&params.path)?)?;
            let before = reader.root().content(&path)?;
            let note = match reader.last_read_hash(&path) {
                Some(seen) if seen != before.hash => {
                    let by = reader.modified_by(&path, &before);
                    format!(" · {} had changed it since you read it", by.as_deref().unwrap_or("another program"))
                }
                _ => String::new(),
            };
            let name = sandbox_dir::display_path(&path);
            let Ok(text) = String::from_utf8(before.bytes) else {
                let message = format!("{name} is not UTF-8, so it cannot be edited as text");
                return Err(ToolError::new(ErrorCode::Conflict, message));
            };
            let (after, begin) = replace_once(&text, &params.old, &params.new).map_err(|why| {
                ToolError::new(ErrorCode::Conflict, format!("{name}: {why}")).hint(reread_hint(&path))
            })?;
            let counts = [&params.old, &params.new].map(|text| text.matches('\n').count() + 1);
            let (changes, line) = changes(&text, &after, begin, counts);
            Ok(Edit { path, name, hash: before.hash, before: text, after, line, changes, note })
        })
        .await?;
        let Edit { path, name, hash, before, after, line, changes, note } = edit;
        if !files.state.settings.allowlist.allows_file(&path) {
            files.ask(&TOOL, &name, format!("edit {name}, line {line}"), diff(&before, &after)).await?;
        }
        let counts = (before.lines().count(), after.lines().count());
        blocking(move || files.write_if_unchanged(&path, Some(hash), after.as_bytes())).await?;
        let length = match counts {
            (before, after) if before == after => String::new(),
            (before, after) => format!(" · {} now, before {before}", lines(after)),
        };
        Ok(format!("edited {name} at line {line}{length}{note}{changes}"))
    })
}

/// Prepared edit that is not written yet.
struct Edit {
    path: std::path::PathBuf,
    name: String,
    hash: blake3::Hash,
    before: String,
    after: String,
    /// First changed line.
    line: usize,
    /// Changed lines and those beside them, each after a line break.
    changes: String,
    note: String,
}

/// Returns the changed lines of an edit whose passage begins in line `begin`, and the first of them. Each line has its number
/// in the new file and a bar, as `read_file` shows lines; removed ones have no number. One unchanged line stands on either side,
/// and `…` for others between. `counts` are the lines that the old and the new passage touch.
///
/// Changed lines are at most as many as the lines of the new passage and two more. Removed lines are left out first.
fn changes(before: &str, after: &str, begin: usize, counts: [usize; 2]) -> (String, usize) {
    // The passage with the line before it and the line after it.
    let skipped = begin.saturating_sub(2);
    let passage = |text, count| str::lines(text).skip(skipped).take(begin - skipped + count).collect::<Vec<&str>>();
    let (old, new) = (passage(before, counts[0]), passage(after, counts[1]));
    let diff = TextDiff::from_slices(&old, &new);
    let all: Vec<_> = diff.iter_all_changes().collect();
    let is_shown = shown_changes(&all.iter().map(similar::Change::tag).collect::<Vec<_>>(), counts[1]);
    let is_beside = |at: usize| is_shown[at.saturating_sub(1)] || is_shown.get(at + 1) == Some(&true);
    let (mut text, mut last, mut number, mut first) = (String::new(), None, skipped, None);
    for (at, change) in all.iter().enumerate() {
        let is_changed = change.tag() != ChangeTag::Equal;
        let (sign, numbered) = match change.tag() {
            ChangeTag::Equal => (' ', true),
            ChangeTag::Insert => ('+', true),
            ChangeTag::Delete => ('-', false),
        };
        number += usize::from(numbered);
        if is_changed {
            first = first.or(Some(number + usize::from(!numbered)));
        }
        if !(is_shown[at] || !is_changed && is_beside(at)) {
            continue;
        }
        if last.is_some_and(|last| last + 1 < at) {
            text.push_str("\n   …");
        }
        last = Some(at);
        let number = if numbered { number.to_string() } else { String::new() };
        let value = cut_at(change.value(), MAX_LINE_BYTES);
        let more = if value.len() < change.value().len() { "…" } else { "" };
        text.push_str(&format!("\n{number:>4}{sign}│{value}{more}"));
    }
    let changed = all.iter().filter(|change| change.tag() != ChangeTag::Equal).count();
    let left_out = changed - is_shown.iter().filter(|is| **is).count();
    if left_out > 0 {
        text.push_str(&format!("\n… {} more removed or added", lines(left_out)));
    }
    // What ended the file may have been removed.
    (text, first.unwrap_or(begin).clamp(1, after.lines().count().max(1)))
}

/// Returns which lines of a difference are changed and shown, for a new passage of `count` lines.
fn shown_changes(tags: &[ChangeTag], count: usize) -> Vec<bool> {
    let most = (count + 2).min(MAX_SHOWN_LINES);
    let added = tags.iter().filter(|tag| **tag == ChangeTag::Insert).count();
    let (mut left, mut removed_left) = (most, most.saturating_sub(added));
    let shown = tags.iter().map(|tag| {
        let is_removed = *tag == ChangeTag::Delete;
        let is_shown = *tag != ChangeTag::Equal && left > 0 && (!is_removed || removed_left > 0);
        left -= usize::from(is_shown);
        removed_left -= usize::from(is_shown && is_removed);
        is_shown
    });
    shown.collect()
}

/// Replaces the only occurrence of `old`. Returns the new text and the line of the edit, or the reason for a refusal.
/// If all lines of the file end in CR LF, the passages are converted to CR LF, because models write LF.
fn replace_once(text: &str, old: &str, new: &str) -> Result<(String, usize), String> {
    if old.is_empty() {
        return Err("old is empty; write_file makes a file".to_owned());
    }
    let windows = text.contains("\r\n") && text.matches("\r\n").count() == text.matches('\n').count();
    let ends = |text: &str| match windows {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    let (old, new) = (ends(old), ends(new));
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    // Overlapping occurrences count separately.
    let starts = text.char_indices().map(|(at, _)| at).filter(|at| text[*at..].starts_with(&old));
    let places: Vec<usize> = starts.take(MAX_LISTED_OCCURRENCES + 1).collect();
    match places.as_slice() {
        [] => Err(not_found_reason(text, &old)),
        [_] if old == new => Err("old and new are the same".to_owned()),
        [at] => Ok((format!("{}{new}{}", &text[..*at], &text[at + old.len()..]), line(*at))),
        several => {
            let more = if several.len() > MAX_LISTED_OCCURRENCES { " and more" } else { "" };
            let named: Vec<String> =
                several.iter().take(MAX_LISTED_OCCURRENCES).map(|at| line(*at).to_string()).collect();
            let count = several.len().min(MAX_LISTED_OCCURRENCES);
            let places = named.join(", ");
            Err(format!("old is there {count} times{more}, at lines {places}{more}; give more of what is around it"))
        }
    }
}

/// Describes why a passage was not found.
fn not_found_reason(text: &str, old: &str) -> String {
    let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if bare(text).contains(&bare(old)) {
        return "old is there only with other spaces or line ends; it must match exactly".to_owned();
    }
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let at = text.lines().position(|line| !first.is_empty() && line.trim() == first);
    match at {
        Some(at) => format!("old is not there; its first line is at line {}, and the lines after it differ", at + 1),
        None => "old is not there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, old: &str, new: &str) -> (String, usize) {
        let (after, begin) = replace_once(before, old, new).unwrap();
        changes(before, &after, begin, [old, new].map(|text| text.matches('\n').count() + 1))
    }

    #[test]
    fn changes_have_the_numbers_of_the_new_file_and_a_line_on_either_side() {
        let text = "fn a() {\n    1\n}\n\nfn b() {\n    1\n}\n";
        for (old, new, shown, first) in [
            (
                "fn b() {\n    1",
                "fn b() {\n    2\n    + 1",
                "   5 │fn b() {\n    -│    1\n   6+│    2\n   7+│    + 1\n   8 │}",
                6,
            ),
            ("b() {\n    1\n}\n", "b() {\n    1\n}\n// end\n", "   7 │}\n   8+│// end", 8),
            ("fn a", "pub fn a", "    -│fn a() {\n   1+│pub fn a() {\n   2 │    1", 1),
            (
                "\n\nfn b() {\n    1\n}",
                "",
                "   3 │}\n    -│\n    -│fn b() {\n    -│    1\n… 1 line more removed or added",
                3,
            ),
            (
                "a() {\n    1\n}\n\nfn b",
                "c() {\n    1\n}\n\nfn d",
                "    -│fn a() {\n   1+│fn c() {\n   2 │    1\n   …\n   4 │\n    -│fn b() {\n   5+│fn d() {\n   6 │    1",
                1,
            ),
        ] {
            assert_eq!(changed(text, old, new), (format!("\n{shown}"), first), "{old}");
        }
        assert_eq!(changed("a\r\nb\r\n", "b", "x\ny").0, "\n   1 │a\n    -│b\n   2+│x\n   3+│y");
    }

    #[test]
    fn changes_are_bounded() {
        let many = changed("a\n", "a", &"long line \n".repeat(100)).0;
        assert!(
            many.lines().count() <= MAX_SHOWN_LINES + 2 && many.ends_with("… 62 lines more removed or added"),
            "{many}"
        );
        let wide = changed("a\n", "a", &"漢".repeat(200)).0;
        assert!(wide.ends_with("漢…") && wide.len() < 300, "{wide}");
    }

    #[test]
    fn only_a_unique_passage_is_replaced() {
        assert_eq!(replace_once("a\nb\nc\n", "b", "x\ny"), Ok(("a\nx\ny\nc\n".to_owned(), 2)));
        assert_eq!(replace_once("a\nb\n", "\nb", ""), Ok(("a\n".to_owned(), 1)));
        let wrong = |text: &str, old: &str, new: &str| replace_once(text, old, new).unwrap_err();
        assert!(wrong("b\nb\n", "b", "x").contains("2 times, at lines 1, 2"));
        assert!(wrong("aaa", "aa", "x").contains("2 times"), "passages that overlap are two");
        assert!(wrong(&"b\n".repeat(20), "b", "x").contains("and more"));
        assert!(wrong("a", "", "x").contains("empty"));
        assert!(wrong("a", "a", "a").contains("the same"));
        assert_eq!(wrong("a", "b", "c"), "old is not there");
        assert!(wrong("fn a() {\n    b\n}", "fn a() {\n  b\n}", "").contains("other spaces"));
        assert!(wrong("fn a() {\n    b\n}", "fn a() {\n    c\n}", "").contains("first line is at line 1"));
    }

    #[test]
    fn line_ends_are_preserved() {
        assert_eq!(replace_once("a\r\nb\r\nc\r\n", "a\nb", "x\ny"), Ok(("x\r\ny\r\nc\r\n".to_owned(), 1)));
        assert_eq!(replace_once("a\r\nb\r\n", "b", "x\ny"), Ok(("a\r\nx\r\ny\r\n".to_owned(), 2)));
        assert_eq!(replace_once("漢\r\n字", "漢\r\n字", "x"), Ok(("x".to_owned(), 1)));
    }
}
