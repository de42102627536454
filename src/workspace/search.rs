//! `search_text`: finds lines by a regular expression, with ripgrep's crates. An invalid expression is searched as
//! literal text.

use std::{io, path::Path, sync::Arc};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    AgentFiles, Answer, MAX_ANSWER_BYTES, WorkspaceTool, arguments, blocking, root,
    walk::{self, Deadline},
};
use crate::{
    arrow::run::{ErrorCode, ToolError, escape::count},
    session::BoxFuture,
    types::Permission,
};

/// Maximum matching lines in an answer.
const LINES: usize = 100;
/// Maximum characters of a line, and the part of them before the match.
const WIDTH: usize = 200;
const BEFORE: usize = 60;
/// Maximum bytes of memory for a line; a file with a longer line is skipped.
const MEMORY: usize = 8 << 20;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "search_text",
    description: "Finds lines in the workspace's files by a regular expression; small letters fit capital ones too.",
    permission: Permission::DocRead,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "description": "The regular expression, or the words." },
            "path": { "type": "string", "description": "The folder or file; without it, all of the workspace." },
            "files": { "type": "string", "description": "A glob that the files must fit, such as *.rs." },
        },
        "required": ["pattern"],
    })
}

#[derive(Deserialize)]
struct SearchParams {
    pattern: String,
    path: Option<String>,
    files: Option<String>,
}

fn run(hand: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let wanted: SearchParams = arguments(given)?;
        let (patience, _waiting) = Deadline::begin();
        blocking(move || search(&hand, &wanted, &patience)).await
    })
}

fn search(hand: &AgentFiles, wanted: &SearchParams, patience: &Deadline) -> Answer {
    let (matcher, literal) = matcher(&wanted.pattern)?;
    let start = walk::start(hand.root(), wanted.path.as_deref())?;
    let found = walk::files(hand.root(), &start, wanted.files.as_deref(), patience)?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MEMORY))
        .build();
    let (mut hits, mut passed_over) = (FileMatches::default(), 0u64);
    let (mut looked, mut cut) = (0u64, found.cut);
    for path in &found.files {
        if patience.is_over() {
            cut = true;
            break;
        }
        // Links are not followed. Files that vanished or cannot be read are skipped.
        let Ok(file) = hand.root().file(path) else { continue };
        looked += 1;
        let one = one_file(&mut searcher, &matcher, path, file.into_std(), patience, &mut hits);
        passed_over += u64::from(one.is_err());
    }
    let mut text = format!("{} in {}", count(hits.lines, "line"), count(hits.files, "file"));
    text.push_str(&format!(" of {} ({})", looked, walk::display_folder(&start)));
    if literal {
        text.push_str(" · the pattern is no regular expression, so it was looked for as it stands");
    }
    text.push_str(&hits.text);
    let left = hits.lines - hits.shown;
    if left > 0 {
        text.push_str(&format!("\n… {} more; name a path, files by a glob, or a longer pattern", count(left, "line")));
    }
    if passed_over > 0 {
        text.push_str(&format!("\n… {} could not be looked through", count(passed_over, "file")));
    }
    if cut {
        text.push_str("\n… not all was looked through: it took too long; name a path");
    }
    Ok(text)
}

/// Builds the matcher of a pattern. Returns true if the pattern is used as literal text.
fn matcher(pattern: &str) -> Result<(RegexMatcher, bool), ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::new(ErrorCode::InvalidSyntax, "the pattern is empty"));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_smart(true).line_terminator(Some(b'\n'));
    if let Ok(matcher) = builder.build(pattern) {
        return Ok((matcher, false));
    }
    let wrong = |error: grep_regex::Error| ToolError::new(ErrorCode::InvalidSyntax, format!("the pattern: {error}"));
    Ok((builder.fixed_strings(true).build(pattern).map_err(wrong)?, true))
}

/// Matches over all files.
#[derive(Default)]
struct FileMatches {
    text: String,
    lines: u64,
    shown: u64,
    files: u64,
}

fn one_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    file: std::fs::File,
    patience: &Deadline,
    hits: &mut FileMatches,
) -> io::Result<()> {
    let name = root::display_path(path);
    let before = hits.lines;
    let searched = searcher.search_file(
        matcher,
        &file,
        Lossy(|number, line| {
            hits.lines += 1;
            if hits.shown < LINES as u64 && hits.text.len() < MAX_ANSWER_BYTES {
                hits.shown += 1;
                hits.text.push_str(&format!("\n{name}:{number}: {}", around(matcher, line.trim_end())));
            }
            Ok(!patience.is_over())
        }),
    );
    hits.files += u64::from(hits.lines > before);
    searched
}

/// Returns a line, truncated around its first match.
fn around(matcher: &RegexMatcher, line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
    let characters = |text: &str| text.chars().count();
    let start = line.get(..at).map_or(0, characters).saturating_sub(BEFORE);
    let shown: String = line.chars().skip(start).take(WIDTH).collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if start + WIDTH < characters(line) { "…" } else { "" });
    format!("{before}{shown}{after}")
}
