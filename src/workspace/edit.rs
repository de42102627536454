//! `edit_file`: replaces one passage of a file. The passage must occur exactly once, so that the edit is unambiguous.

use std::{io::Cursor, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    known_files::{AgentFiles, reread_hint},
    read::read_page,
    sandbox_dir,
    tools::{Answer, WorkspaceTool, arguments, blocking, lines},
    write::diff,
};
use crate::{
    tools::{ErrorCode, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Maximum occurrences of a passage that an error lists.
const MAX_LISTED_OCCURRENCES: usize = 8;
/// Maximum lines of the edited passage that an answer shows.
const MAX_SHOWN_LINES: usize = 40;

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
            let (after, line) = replace_once(&text, &params.old, &params.new).map_err(|why| {
                ToolError::new(ErrorCode::Conflict, format!("{name}: {why}")).hint(reread_hint(&path))
            })?;
            let added = params.new.lines().count();
            Ok(Edit { path, name, hash: before.hash, before: text, after, line, added, note })
        })
        .await?;
        let Edit { path, name, hash, before, after, line, added, note } = edit;
        if !files.state.settings.allowlist.allows_file(&path) {
            files.ask(&TOOL, &name, format!("edit {name}, line {line}"), diff(&before, &after)).await?;
        }
        let counts = (before.lines().count(), after.lines().count());
        let passage = passage(&after, line, added);
        blocking(move || files.write_if_unchanged(&path, Some(hash), after.as_bytes())).await?;
        let length = match counts {
            (before, after) if before == after => String::new(),
            (before, after) => format!(" · {} now, before {before}", lines(after)),
        };
        Ok(format!("edited {name} at line {line}{length}{note}{passage}"))
    })
}

/// Prepared edit that is not written yet.
struct Edit {
    path: std::path::PathBuf,
    name: String,
    hash: blake3::Hash,
    before: String,
    after: String,
    line: usize,
    /// Lines of the new passage.
    added: usize,
    note: String,
}

/// Returns the edited passage with a line before and after it, as `read_file` shows them.
fn passage(text: &str, line: usize, added: usize) -> String {
    let (from, most) = (line.saturating_sub(1).max(1), (added + 2).min(MAX_SHOWN_LINES));
    let page = read_page(Cursor::new(text.as_bytes()), from, most).ok().flatten();
    page.map(|page| format!("\n{}", page.text.trim_end_matches('\n'))).unwrap_or_default()
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
