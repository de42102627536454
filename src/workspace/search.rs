//! `search_text`: finds lines by a regular expression, with ripgrep's crates. An invalid expression is searched as
//! literal text.

use std::{io, path::Path, sync::Arc};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    known_files::AgentFiles,
    sandbox_dir,
    tools::{Answer, MAX_ANSWER_BYTES, WorkspaceTool, arguments, blocking},
    walk::{self, Deadline},
};
use crate::{
    exec::counts::count,
    tools::{ErrorCode, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Maximum matching lines in an answer.
const MAX_MATCHES: usize = 100;
/// Maximum characters of a line, and the part of them before the match.
const MAX_LINE_CHARS: usize = 200;
const CHARS_BEFORE_MATCH: usize = 60;
/// Maximum bytes of memory for a line; a file with a longer line is skipped.
const MAX_LINE_MEMORY_BYTES: usize = 8 << 20;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "search_text",
    description: "Finds lines in the workspace's files by a regular expression; small letters fit capital ones too.",
    permission: Permission::DocRead,
    only_confirms: false,
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

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let params: SearchParams = arguments(given)?;
        let (deadline, _waiting) = Deadline::begin();
        blocking(move || search(&files, &params, &deadline)).await
    })
}

fn search(files: &AgentFiles, params: &SearchParams, deadline: &Deadline) -> Answer {
    let (matcher, literal) = matcher(&params.pattern)?;
    let start = walk::start(files.root(), params.path.as_deref())?;
    let found = walk::files(files.root(), &start, params.files.as_deref(), deadline)?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_MEMORY_BYTES))
        .build();
    let (mut matches, mut skipped) = (FileMatches::default(), 0u64);
    let (mut searched, mut incomplete) = (0u64, found.incomplete);
    for path in &found.files {
        if deadline.is_over() {
            incomplete = true;
            break;
        }
        // Links are not followed. Files that vanished or cannot be read are skipped.
        let Ok(file) = files.root().file(path) else { continue };
        searched += 1;
        let result = search_file(&mut searcher, &matcher, path, file.into_std(), deadline, &mut matches);
        skipped += u64::from(result.is_err());
    }
    let mut text = format!("{} in {}", count(matches.lines, "line"), count(matches.files, "file"));
    text.push_str(&format!(" of {} ({})", searched, walk::display_folder(&start)));
    if let (true, Some(glob)) = (found.files.is_empty(), &params.files) {
        text.push_str(&format!(" · no file fits files:{glob:?}"));
    }
    if literal {
        text.push_str(" · the pattern is not a regular expression, so it was searched as literal text");
    }
    text.push_str(&matches.text);
    let left = matches.lines - matches.shown;
    if left > 0 {
        text.push_str(&format!("\n… {} more; name a path, files by a glob, or a longer pattern", count(left, "line")));
    }
    if skipped > 0 {
        text.push_str(&format!("\n… {} could not be searched", count(skipped, "file")));
    }
    if incomplete {
        text.push_str("\n… the search took too long and is incomplete; name a path");
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

fn search_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    file: std::fs::File,
    deadline: &Deadline,
    matches: &mut FileMatches,
) -> io::Result<()> {
    let name = sandbox_dir::display_path(path);
    let before = matches.lines;
    let searched = searcher.search_file(
        matcher,
        &file,
        Lossy(|number, line| {
            matches.lines += 1;
            if matches.shown < MAX_MATCHES as u64 && matches.text.len() < MAX_ANSWER_BYTES {
                matches.shown += 1;
                matches.text.push_str(&format!("\n{name}:{number}: {}", excerpt(matcher, line.trim_end())));
            }
            Ok(!deadline.is_over())
        }),
    );
    matches.files += u64::from(matches.lines > before);
    searched
}

/// Returns a line, truncated around its first match.
fn excerpt(matcher: &RegexMatcher, line: &str) -> String {
    if line.chars().count() <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
    let characters = |text: &str| text.chars().count();
    let start = line.get(..at).map_or(0, characters).saturating_sub(CHARS_BEFORE_MATCH);
    let shown: String = line.chars().skip(start).take(MAX_LINE_CHARS).collect();
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if start + MAX_LINE_CHARS < characters(line) { "…" } else { "" });
    format!("{before}{shown}{after}")
}
