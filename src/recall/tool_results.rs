//! Results of tools: lists and counts by the name of the tool, by failure and by words.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::{Filter, Result, Scope, call_lines::given, matching::sort_descending, unnamed_call};
use crate::{
    store::Snapshot,
    text_index::{WordTokenizer, call_text},
    types::{AuthorType, Node},
};

/// Maximum number of results that a count or a search by words reads, the newest first, and the number read at once.
const MAX_READ_RESULTS: u64 = 10_000;
const READ_PAGE_RESULTS: u32 = 500;

/// Returns at most `limit` results of a tool that pass the filter, the newest first, each with its calling node.
///
/// # Errors
/// If the store cannot be read, or the scope or the filter names an object that does not exist.
pub fn tool_results(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    tool: &str,
    only: &Filter,
    limit: u32,
) -> Result<Vec<(Node, Option<Node>)>> {
    let results = snapshot.tool_results(&only.within(snapshot, scope)?, tool, limit)?;
    let called = |node: &Node| node.parent.map(|parent| snapshot.node(parent)).transpose();
    results.into_iter().map(|node| Ok((called(&node)?.flatten(), node))).map(|pair| pair.map(|(c, n)| (n, c))).collect()
}

/// Returns the names of the tools with results in the scope, at most 50.
///
/// # Errors
/// If the store cannot be read, or the scope or the filter names an object that does not exist.
pub fn tool_names(snapshot: &dyn Snapshot, scope: &Scope, only: &Filter) -> Result<Vec<String>> {
    Ok(snapshot.tool_names(&only.within(snapshot, scope)?, 50)?)
}

/// Selection of the results of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolQuery<'q> {
    /// Name of the tool.
    pub tool: &'q str,
    /// Words that the result or its call must contain.
    pub words: Option<&'q str>,
    /// True if the words must occur literally.
    pub exact: bool,
    /// True to select results of failed calls.
    pub failed: bool,
    /// Maximum number of listed results.
    pub limit: usize,
    /// True to list the oldest results instead of the newest.
    pub oldest_first: bool,
}

/// Results of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResults {
    /// The listed results, the newest or the oldest first.
    pub listed: Vec<Node>,
    /// Number of all selected results among those that were read.
    pub total: u64,
    /// Number of results that were read, if it is not the number of all; the newest are read.
    pub read: Option<u64>,
}

/// Lists and counts the results of a tool.
///
/// # Errors
/// If the store cannot be read, or the scope or the filter names an object that does not exist.
pub fn find_tool_results(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    only: &Filter,
    query: &ToolQuery<'_>,
) -> Result<ToolResults> {
    // The newest last.
    let (mut found, mut read, mut listed) = (ToolResults::default(), 0, VecDeque::new());
    let mut filter = only.within(snapshot, scope)?;
    while read < MAX_READ_RESULTS {
        let page = snapshot.tool_results(&filter, query.tool, READ_PAGE_RESULTS)?;
        let is_last = (page.len() as u64) < u64::from(READ_PAGE_RESULTS);
        read += page.len() as u64;
        filter.before = page.last().map(|node| node.seq).or(filter.before);
        for node in page {
            if query.failed && !is_failure(&node) {
                continue;
            }
            if let Some(words) = query.words {
                let caller = node.parent.map(|parent| snapshot.node(parent)).transpose()?.flatten();
                if !result_mentions(&node, caller.as_ref(), words, query.exact) {
                    continue;
                }
            }
            found.total += 1;
            if query.oldest_first || listed.len() < query.limit {
                listed.push_front(node);
                listed.truncate(query.limit);
            }
        }
        if is_last {
            break;
        }
        found.read = Some(read).filter(|read| *read >= MAX_READ_RESULTS);
    }
    found.listed = match query.oldest_first {
        true => listed.into(),
        false => listed.into_iter().rev().collect(),
    };
    Ok(found)
}

/// True if a result with its call contains all words of a text, file names also within a path, or the text itself if
/// `exact`. Without words that can be searched, the text itself is looked for.
#[must_use]
pub(crate) fn result_mentions(result: &Node, caller: Option<&Node>, text: &str, exact: bool) -> bool {
    let call =
        answered_call(result, caller).map(|call| call_text(&Value::from(vec![call]).to_string())).unwrap_or_default();
    let said = format!("{call}\n{}", result.content);
    let mut reader = WordTokenizer::default();
    let mut wanted = reader.query(text);
    if exact || wanted.is_empty() {
        return said.to_lowercase().contains(&text.to_lowercase());
    }
    reader.each(&said, &mut |stem| wanted.retain(|word| stem != word && !(word.contains('_') && has_part(stem, word))));
    wanted.is_empty()
}

/// True if an index word holds the parts of another one: `src_tui_rs`, of `src/tui.rs`, those of `tui.rs`.
fn has_part(stem: &str, word: &str) -> bool {
    let is_whole = |(at, _): (usize, &str)| {
        let (before, behind) = (&stem[..at], &stem[at + word.len()..]);
        (before.is_empty() || before.ends_with('_')) && (behind.is_empty() || behind.starts_with('_'))
    };
    stem.match_indices(word).any(is_whole)
}

/// Returns the call that a result answers; `caller` is the node that called.
fn answered_call(result: &Node, caller: Option<&Node>) -> Option<Value> {
    match (&result.tool.call_id, caller.and_then(|caller| caller.tool.calls.as_ref())) {
        (Some(id), Some(calls)) => {
            let calls = serde_json::from_str(calls.as_str()).unwrap_or(Value::Null);
            calls.as_array().into_iter().flatten().find(|call| call["id"].as_str() == Some(id)).cloned()
        }
        _ => unnamed_call(result),
    }
}

/// Counts the programs that results of a shell tool ran first, the most frequent first. Results of other tools have none.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn count_programs(snapshot: &dyn Snapshot, results: &[Node]) -> Result<Vec<(String, u64)>> {
    let mut counts = HashMap::new();
    for result in results {
        let caller = result.parent.map(|parent| snapshot.node(parent)).transpose()?.flatten();
        let given = answered_call(result, caller.as_ref()).map(|call| given(&call));
        if let Some(program) = given.as_ref().and_then(|given| given["command"].as_str()).and_then(first_program) {
            *counts.entry(program.to_owned()).or_insert(0) += 1;
        }
    }
    Ok(sort_descending(counts))
}

/// Returns the name of the first program of a shell command. `cd` and settings of variables before it are skipped.
fn first_program(command: &str) -> Option<&str> {
    let parts = command.split(['&', ';', '|', '\n']).map(str::trim);
    let mut programs = parts.filter_map(|part| {
        let word = part.split_whitespace().find(|word| !word.contains('='))?;
        Some(word.rsplit('/').next().unwrap_or(word)).filter(|word| !word.is_empty())
    });
    let first = programs.next()?;
    if first == "cd" { programs.next().or(Some(first)) } else { Some(first) }
}

/// True if a node is the result of a failed call, by its metadata, a refusal, or the exit code on its first or last line.
#[must_use]
pub(crate) fn is_failure(node: &Node) -> bool {
    if node.author_type != AuthorType::Tool {
        return false;
    }
    let kept = node.metadata.as_ref().and_then(|json| serde_json::from_str::<Value>(json.as_str()).ok());
    let marked = kept.is_some_and(|kept| kept["failed"] == true || kept["pi"]["message"]["isError"] == true);
    let content = &node.content;
    marked
        || content.starts_with('✗')
        || failed_exit(content).is_some()
        || last_exit_code(content).is_some_and(|code| code != 0)
}

/// Returns the exit status of a failed command from the first line of its output, below the mark of the engine: `101` of
/// `exit 101 · no output`, and `none` if the command was stopped.
pub(crate) fn failed_exit(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let first = lines.next()?;
    let first = if first.starts_with(['✓', '✗']) { lines.next()? } else { first };
    let status = first.trim_start().strip_prefix("exit ")?;
    let status = status.split_once(" · ").map_or(status, |(status, _)| status);
    (status == "none" || status.parse::<i64>().is_ok_and(|code| code != 0)).then_some(status)
}

/// Returns the exit code of a failed command from the first or the last line of its output.
pub(crate) fn failed_exit_code(text: &str) -> Option<i64> {
    let first = failed_exit(text).and_then(|status| status.parse().ok());
    first.or_else(|| last_exit_code(text).filter(|code| *code != 0))
}

/// Parses the number after `exit code` and similar words on the last line of a text.
pub(crate) fn last_exit_code(text: &str) -> Option<i64> {
    let last = text.trim_end().lines().next_back()?.to_lowercase();
    let (_, after) = ["exit code", "exited with code", "exit status"].iter().find_map(|word| last.split_once(word))?;
    let number = after.trim_start_matches([':', ' ', '=']);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{failed_exit, first_program, has_part};

    #[test]
    fn a_path_has_the_parts_of_a_file_name() {
        assert!(has_part("src_tui_rs", "tui_rs") && has_part("tui_rs_12", "tui_rs") && has_part("tui_rs", "tui_rs"));
        assert!(!has_part("src_gtui_rs", "tui_rs") && !has_part("src_tui_rst", "tui_rs"));
    }

    #[test]
    fn a_failed_exit_is_read_from_the_first_line() {
        for (output, status) in [
            ("exit 101\ntest result: FAILED", Some("101")),
            ("✓ run_command\n  exit 2 · no output", Some("2")),
            ("✗ run_command\n  exit none · stopped after 1 s · no output", Some("none")),
            ("exit 0\nexit 1", None),
            ("✓ read_file\n  exit 3 of the road · 2 lines", None),
            ("exit", None),
            ("", None),
        ] {
            assert_eq!(failed_exit(output), status, "{output}");
        }
    }

    #[test]
    fn the_first_program_of_a_command_is_named() {
        for (command, program) in [
            ("cd /srv/app && npm run publish", Some("npm")),
            ("RUST_LOG=debug /usr/bin/cargo test | tail -3", Some("cargo")),
            ("grep -n \"a b\" src", Some("grep")),
            ("cd /work", Some("cd")),
            ("", None),
        ] {
            assert_eq!(first_program(command), program, "{command}");
        }
    }
}
