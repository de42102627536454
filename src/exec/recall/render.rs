//! The formatting of recalled nodes within a token limit.
//!
//! Tool results are shortened first, then the oldest nodes. Every cut names the command that shows the rest.

use std::{cmp::Reverse, collections::HashSet};

use super::entry::{LINE_CHARS, RecallEntry, entries_with_results, header};
use crate::{
    exec::{
        Position,
        counts::count,
        escape::{self, quoted},
        node_format::{self, content},
    },
    recall::{self, Hit, SearchResults, excerpt},
    store::{ChildFilter, Snapshot},
    tokens::estimated_tokens,
    tools::ToolError,
    types::{EdgeKind, Node, first_words, one_line},
};

/// The maximum tokens of a reply.
pub(in crate::exec) const MAX_REPLY_TOKENS: u32 = 8_000;
/// Tokens that an entry is shortened to; tool results first.
const SHORTENED_TOKENS: u32 = 60;
/// Characters of a step on a line, the first with which all fit.
const STEP_CHARS: [usize; 3] = [LINE_CHARS, 70, 45];
/// Characters of a hit's neighbor.
const MAX_NEIGHBOR_CHARS: usize = 160;
/// Bytes of the excerpt of a long entry and of a long result of a tool, and the tokens from which an entry is long.
const EXCERPT_BYTES: usize = 400;
const RESULT_EXCERPT_BYTES: usize = 200;
const LONG_ENTRY_TOKENS: u32 = 200;
/// Tokens reserved for the first line and for the line about omitted entries.
const NOTE_TOKENS: u32 = 160;
/// Omitted entries whose command is written out, and the tokens of each further id.
const MAX_LISTED_COMMANDS: usize = 5;
const TOKENS_PER_ID: u32 = 5;
/// Maximum number of near nodes that are named next to hits, and the characters of each.
const MAX_NAMED_NEAR: usize = 3;
const NAMED_NEAR_BYTES: usize = 60;

/// Formats consecutive nodes with their results if they fit `most` tokens, else on a line each.
pub(super) fn outline_steps(
    snapshot: &dyn Snapshot,
    here: &Position,
    steps: &[Node],
    most: u32,
) -> Result<String, ToolError> {
    let whole: Vec<String> =
        entries_with_results(snapshot, here, steps, most)?.iter().map(RecallEntry::shown).collect();
    let whole = whole.join("\n");
    if estimated_tokens(&whole) <= most {
        return Ok(whole);
    }
    let line = |node: &Node, chars| {
        let results = ChildFilter { kind: Some(EdgeKind::Tool), pruned: false, limit: 0 };
        let failed = match recall::is_failure(node) {
            true => " · failed",
            false if snapshot.children(node.id, &results)?.iter().any(recall::is_failure) => " · a call failed",
            false => "",
        };
        Ok(format!("  {}{failed}", named(here, node, chars)))
    };
    let mut lines = String::new();
    for chars in STEP_CHARS {
        lines = steps.iter().map(|node| line(node, chars)).collect::<Result<Vec<_>, ToolError>>()?.join("\n");
        if estimated_tokens(&lines) <= most {
            break;
        }
    }
    Ok(lines)
}

/// Formats hits with their neighbors, then nodes that match by meaning only. A node that an earlier answer shows
/// (`is_shown`) is only named.
pub(super) fn shown(
    snapshot: &dyn Snapshot,
    here: &Position,
    found: &SearchResults,
    is_shown: &dyn Fn(&Node) -> bool,
) -> Result<String, ToolError> {
    let hits: HashSet<u64> = found.hits.iter().map(|hit| hit.node.seq).collect();
    let mut told = hits.clone();
    let mut blocks = Vec::new();
    let mut used = note(found.hits.len() + found.near.len());
    let is_match = !hits.is_empty();
    for (at, hit) in found.hits.iter().chain(found.near.iter().filter(|_| !is_match)).enumerate() {
        if !is_match && told.contains(&hit.node.seq) {
            continue;
        }
        let block = match (hit.in_view, is_shown(&hit.node)) {
            (true, _) => repeated(snapshot, here, hit, "in your window", &mut told)?,
            (_, true) => repeated(snapshot, here, hit, "shown above", &mut told)?,
            _ => with_context(snapshot, here, hit, &found.words, &mut told)?,
        };
        used += estimated_tokens(&block);
        if used > MAX_REPLY_TOKENS {
            let left = found.hits.iter().skip(at).map(|hit| RecallEntry::of(snapshot, here, &hit.node));
            blocks.extend(
                is_match.then(|| left.collect::<Result<Vec<_>, _>>()).transpose()?.map(|left| omitted_line(&left)),
            );
            return Ok(blocks.join("\n"));
        }
        blocks.push(block);
    }
    if is_match {
        // Next to matches, nodes without any of the words are context.
        let near = found.near.iter().filter(|hit| hit.own_words > 0 || hit.similar);
        let near: Vec<&Hit> = near.filter(|hit| !told.contains(&hit.node.seq)).collect();
        if !near.is_empty() {
            let named = near.iter().take(MAX_NAMED_NEAR).map(|hit| named_near(here, &hit.node, &found.words));
            blocks.push(format!("near, without all of the words: {}", named.collect::<Vec<_>>().join(" · ")));
        }
    }
    Ok(blocks.join("\n"))
}

/// Names a node with its first words, at most `most` characters, or with its first call.
fn named(here: &Position, node: &Node, most: usize) -> String {
    let tree = if node.tree == here.tree.id { "" } else { " in another tree" };
    let text = one_line(&content(node));
    let call = || recall::calls(node).into_iter().next().map(|call| format!("calls {call}")).unwrap_or_default();
    let text = if text.is_empty() { call() } else { text };
    format!("{}{tree} {}", node_format::id(node), quoted(&first_words(&text, most)))
}

/// Names a node with its time and the part of its text that has most of the words.
fn named_near(here: &Position, node: &Node, words: &[String]) -> String {
    let text = one_line(&content(node));
    if text.is_empty() {
        return named(here, node, NAMED_NEAR_BYTES);
    }
    let tree = if node.tree == here.tree.id { "" } else { " in another tree" };
    let time = node.created_at.age_or_date(here.now);
    format!("{}{tree} {time} {}", node_format::id(node), quoted(&excerpt(&text, words, NAMED_NEAR_BYTES)))
}

/// Formats a hit that the agent sees elsewhere.
fn repeated(
    snapshot: &dyn Snapshot,
    here: &Position,
    hit: &Hit,
    place: &str,
    told: &mut HashSet<u64>,
) -> Result<String, ToolError> {
    told.insert(hit.node.seq);
    let mut entry = RecallEntry::of(snapshot, here, &hit.node)?;
    entry.refer_to(place);
    Ok(entry.shown())
}

/// Formats a hit with one line for each neighbor.
fn with_context(
    snapshot: &dyn Snapshot,
    here: &Position,
    hit: &Hit,
    words: &[String],
    told: &mut HashSet<u64>,
) -> Result<String, ToolError> {
    let mut entry = RecallEntry::of(snapshot, here, &hit.node)?;
    told.insert(hit.node.seq);
    // What a tool read is longer than what is said about it, and tells less.
    let most = if entry.tool { RESULT_EXCERPT_BYTES } else { EXCERPT_BYTES };
    if entry.tokens > LONG_ENTRY_TOKENS {
        entry.text = format!("{}\n[shortened · {}]", excerpt(&entry.text, words, most), entry.rest);
    }
    if let Some(words) = recall::call_excerpt(&hit.node, &entry.text, words, EXCERPT_BYTES) {
        entry.text.push_str(&format!("\n{}", escape::escape(&words)));
    }
    let mut lines = vec![entry.shown()];
    for (place, node) in [("before", &hit.parent), ("after", &hit.first_continuation)] {
        let Some(node) = node.as_ref().filter(|node| node.purged_at.is_none() && !node.content.trim().is_empty())
        else {
            continue;
        };
        if told.insert(node.seq) {
            let head = header(node, here.session.id, None);
            let head = head.strip_suffix(':').unwrap_or(&head);
            lines.push(format!(
                "    {place}: {head} {}",
                quoted(&first_words(&one_line(&node.content), MAX_NEIGHBOR_CHARS))
            ));
        }
    }
    Ok(lines.join("\n"))
}

/// Shortens entries until they fit a page, and omits those that do not fit a reply. Omitted entries are named.
///
/// Tool results are shortened first, then the oldest entries; with a `centre`, the entries that are farthest from it.
pub(super) fn fit_entries(mut entries: Vec<RecallEntry>, page: u32, centre: Option<usize>) -> String {
    let cost = |entry: &RecallEntry| estimated_tokens(&entry.shown()) + 1;
    let mut all = entries.iter().map(cost).fold(note(entries.len()), u32::saturating_add);
    let alone = entries.len() == 1;
    let mut order: Vec<usize> = (0..entries.len()).collect();
    match centre {
        Some(centre) => order.sort_by_key(|at| Reverse(at.abs_diff(centre))),
        None => order.sort_by_key(|at| !entries[*at].tool),
    }
    // A reply of several pages keeps the beginnings of its entries.
    let steps: &[bool] = if page < MAX_REPLY_TOKENS { &[false, true] } else { &[false] };
    for is_line in steps {
        for at in &order {
            if alone || all <= page {
                break;
            }
            let entry = &mut entries[*at];
            let before = cost(entry);
            match is_line {
                false if centre == Some(*at) => entry.shorten(LONG_ENTRY_TOKENS),
                false => entry.shorten(SHORTENED_TOKENS),
                true if centre == Some(*at) => {}
                true => entry.reduce_to_line(),
            }
            all = all.saturating_sub(before).saturating_add(cost(entry));
        }
    }
    let mut left: Vec<RecallEntry> = Vec::new();
    while all > MAX_REPLY_TOKENS && entries.len() > 1 {
        // Turns are in order and tool results are newest first, so the oldest entry is at one end.
        let last = entries.first().map(|entry| entry.seq) > entries.last().map(|entry| entry.seq);
        let oldest = entries.remove(if last { entries.len() - 1 } else { 0 });
        all = all.saturating_sub(cost(&oldest));
        left.push(oldest);
    }
    let mut lines: Vec<String> = entries.iter().map(RecallEntry::shown).collect();
    if !left.is_empty() {
        lines.insert(0, omitted_line(&left));
    }
    lines.join("\n")
}

/// Formats the line that names omitted entries and the commands that show them.
fn omitted_line(left: &[RecallEntry]) -> String {
    let turns: Vec<u64> = left.iter().filter_map(|entry| entry.turn).collect();
    let commands = match (turns.iter().min(), turns.iter().max()) {
        (Some(first), Some(last)) if turns.len() == left.len() => format!("→ recall turns:{first}-{last}"),
        _ => {
            let (named, others) = left.split_at(left.len().min(MAX_LISTED_COMMANDS));
            let mut text = named.iter().map(|entry| entry.rest.as_str()).collect::<Vec<_>>().join(" · ");
            if !others.is_empty() {
                text.push_str(" · and so ");
                text.push_str(&others.iter().map(|entry| entry.mention.as_str()).collect::<Vec<_>>().join(", "));
            }
            text
        }
    };
    format!("[{} left out · {commands}]", count(left.len() as u64, "turn"))
}

/// Returns the tokens reserved for the lines around `entries` entries.
fn note(entries: usize) -> u32 {
    NOTE_TOKENS + TOKENS_PER_ID * u32::try_from(entries).unwrap_or(u32::MAX / TOKENS_PER_ID / 2)
}

/// Indents each line by two columns.
pub(super) fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
