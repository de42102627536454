//! Results of tools: lists and counts by the name of the tool, by failure and by words.

use serde_json::Value;

use super::{Filter, Result, Scope, unnamed_call};
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
}

/// Results of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResults {
    /// The listed results, the newest first.
    pub newest: Vec<Node>,
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
    let (mut found, mut read) = (ToolResults::default(), 0);
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
            if found.newest.len() < query.limit {
                found.newest.push(node);
            }
        }
        if is_last {
            return Ok(found);
        }
    }
    found.read = Some(read);
    Ok(found)
}

/// True if a result with its call contains all words of a text, or the text itself if `exact`. Without words that can be
/// searched, the text itself is looked for.
#[must_use]
pub(crate) fn result_mentions(result: &Node, caller: Option<&Node>, text: &str, exact: bool) -> bool {
    let call = match (&result.tool.call_id, caller.and_then(|caller| caller.tool.calls.as_ref())) {
        (Some(id), Some(calls)) => {
            let calls = serde_json::from_str(calls.as_str()).unwrap_or(Value::Null);
            calls.as_array().into_iter().flatten().find(|call| call["id"].as_str() == Some(id)).cloned()
        }
        _ => unnamed_call(result),
    };
    let call = call.map(|call| call_text(&Value::from(vec![call]).to_string())).unwrap_or_default();
    let said = format!("{call}\n{}", result.content);
    let mut reader = WordTokenizer::default();
    let mut wanted = reader.query(text);
    if exact || wanted.is_empty() {
        return said.to_lowercase().contains(&text.to_lowercase());
    }
    reader.each(&said, &mut |stem| wanted.retain(|word| word != stem));
    wanted.is_empty()
}

/// True if a node is the result of a failed call, by its metadata, a refusal, or the exit code at its end.
#[must_use]
pub(crate) fn is_failure(node: &Node) -> bool {
    if node.author_type != AuthorType::Tool {
        return false;
    }
    let kept = node.metadata.as_ref().and_then(|json| serde_json::from_str::<Value>(json.as_str()).ok());
    let marked = kept.is_some_and(|kept| kept["failed"] == true || kept["pi"]["message"]["isError"] == true);
    marked || node.content.starts_with('✗') || exit_code(&node.content).is_some_and(|code| code != 0)
}

/// Parses the number after `exit code` and similar words on the last line of a text.
pub(crate) fn exit_code(text: &str) -> Option<i64> {
    let last = text.trim_end().lines().next_back()?.to_lowercase();
    let (_, after) = ["exit code", "exited with code", "exit status"].iter().find_map(|word| last.split_once(word))?;
    let number = after.trim_start_matches([':', ' ', '=']);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    number[..end].parse().ok()
}
