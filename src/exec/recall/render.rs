//! The formatting of recalled nodes within a token limit.
//!
//! Tool results are shortened first, then the oldest nodes. Every cut names the command that shows the rest.

use std::collections::HashSet;

use crate::{
    exec::{
        Position,
        escape::{self, content, count, quoted},
    },
    recall::{self, Hit, SearchResults, cut_at, excerpt},
    store::Snapshot,
    tokens::estimated_tokens,
    tools::ToolError,
    types::{AuthorType, EdgeKind, Node, Tree, first_words, one_line},
};

/// The maximum tokens of a reply.
pub(in crate::exec) const MAX_REPLY_TOKENS: u32 = 8_000;
/// Tokens that an entry is shortened to; tool results first.
const SHORTENED_TOKENS: u32 = 60;
/// Characters of a hit's neighbor.
const MAX_NEIGHBOR_CHARS: usize = 160;
/// Bytes of the excerpt of a long entry, and the tokens from which an entry is long.
const EXCERPT_BYTES: usize = 400;
const LONG_ENTRY_TOKENS: u32 = 200;
/// Tokens reserved for the first line and for the line about omitted entries.
const NOTE_TOKENS: u32 = 160;
/// Omitted entries whose command is written out, and the tokens of each further id.
const MAX_LISTED_COMMANDS: usize = 5;
const TOKENS_PER_ID: u32 = 5;
/// Maximum number of near nodes that are named next to hits, and the characters of each.
const MAX_NAMED_NEAR: usize = 3;
const NAMED_NEAR_CHARS: usize = 50;

/// A formatted node: its header and its text.
pub(super) struct RecallEntry {
    head: String,
    text: String,
    /// The place in the journal, for order.
    seq: u64,
    turn: Option<u64>,
    /// The command that shows the whole node.
    rest: String,
    /// The node's id in that command.
    mention: String,
    tool: bool,
    tokens: u32,
}

impl RecallEntry {
    fn of(snapshot: &dyn Snapshot, here: &Position, node: &Node) -> Result<Self, ToolError> {
        let call = recall::tool_call_summary(snapshot, node)?;
        let other = if node.tree == here.tree.id { None } else { snapshot.tree(node.tree)? };
        let mut text = content(node).into_owned();
        for call in recall::calls(node) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}calls {call}"));
        }
        let tokens = estimated_tokens(&text);
        let tool = node.author_type == AuthorType::Tool || node.kind == EdgeKind::Tool;
        let turn = node.turn.filter(|_| node.session == Some(here.session.id));
        let rest = match turn {
            Some(turn) => format!("→ recall turns:{turn}-{turn}"),
            None if node.tree == here.tree.id => format!("→ view {} full", escape::mention(node)),
            None => format!("→ switch to {} in tree:\"{}\"", escape::mention(node), node.tree),
        };
        Ok(Self {
            head: dated_header(here, node, call, other.as_ref()),
            text,
            seq: node.seq,
            turn,
            rest,
            mention: escape::mention(node),
            tool,
            tokens,
        })
    }

    /// Shortens the text to about this many tokens.
    fn shorten(&mut self, most: u32) {
        if self.tokens <= most {
            return;
        }
        let lines = self.text.lines().count();
        let kept = (self.text.len() * most as usize / self.tokens.max(1) as usize).max(20);
        let kept = cut_at(&self.text, kept).trim_end().to_owned();
        self.text = format!("{kept} …\n[{}, shortened · {}]", count(lines as u64, "line"), self.rest);
        self.tokens = most + 12;
    }

    fn shown(&self) -> String {
        format!("{}\n{}", self.head, indent(&self.text))
    }
}

/// Formats a header: `[Turn 12] human [a7x2kq]:`, `[Turn 13] tool read_file(path="src/auth.py") [b3k9ze]:`; `call` is
/// the tool's call.
pub(super) fn header(node: &Node, call: Option<String>) -> String {
    let turn = node.turn.map(|turn| format!("[Turn {turn}] ")).unwrap_or_default();
    let tool = match (&node.tool.name, call) {
        (Some(name), None) => format!(" {}", one_line(name)),
        (Some(name), Some(call)) => format!(" {}({call})", one_line(name)),
        (None, _) => String::new(),
    };
    let pruned = if node.state.pruned_by.is_some() { " (pruned)" } else { "" };
    format!("{turn}{}{tool} {}{pruned}:", node.author_type, escape::id(node))
}

/// Formats a [`header`] with age, depth, failure, and the tree if it is an `other` one.
fn dated_header(here: &Position, node: &Node, call: Option<String>, other: Option<&Tree>) -> String {
    let plain = header(node, call);
    let failed = if recall::is_failure(node) { " · failed" } else { "" };
    let plain = plain.strip_suffix(':').unwrap_or(&plain);
    let tree = other.map(|tree| format!(" · in tree:{}", quoted(&tree.title))).unwrap_or_default();
    format!("{plain} · {} · depth {}{failed}{tree}:", node.created_at.age(here.now), node.depth)
}

/// Formats nodes for a list; tool results include their call.
pub(super) fn entries(snapshot: &dyn Snapshot, here: &Position, nodes: &[Node]) -> Result<Vec<RecallEntry>, ToolError> {
    nodes.iter().map(|node| RecallEntry::of(snapshot, here, node)).collect()
}

/// Formats hits with their neighbors, then nodes that match by meaning only.
pub(super) fn shown(snapshot: &dyn Snapshot, here: &Position, found: &SearchResults) -> Result<String, ToolError> {
    let hits: HashSet<u64> = found.hits.iter().map(|hit| hit.node.seq).collect();
    let mut told = hits.clone();
    let mut blocks = Vec::new();
    let mut used = note(found.hits.len() + found.near.len());
    for (at, hit) in found.hits.iter().enumerate() {
        let block = with_context(snapshot, here, hit, &found.words, &mut told)?;
        used += estimated_tokens(&block);
        if used > MAX_REPLY_TOKENS {
            let left = found.hits[at..].iter().map(|hit| RecallEntry::of(snapshot, here, &hit.node));
            blocks.push(omitted_line(&left.collect::<Result<Vec<_>, _>>()?));
            return Ok(blocks.join("\n"));
        }
        blocks.push(block);
    }
    // Next to matches, nodes without any of the words are context.
    let near = found.near.iter().filter(|hit| hits.is_empty() || hit.own_words > 0 || hit.similar);
    let near: Vec<&Hit> = near.filter(|hit| !told.contains(&hit.node.seq)).collect();
    if !hits.is_empty() {
        if !near.is_empty() {
            let named = near.iter().take(MAX_NAMED_NEAR).map(|hit| named(here, &hit.node));
            blocks.push(format!("near, without all of the words: {}", named.collect::<Vec<_>>().join(" · ")));
        }
        return Ok(blocks.join("\n"));
    }
    if !near.is_empty() {
        blocks.push("Only near, without all of the words:".to_owned());
    }
    for hit in near {
        let block = with_context(snapshot, here, hit, &found.words, &mut told)?;
        used += estimated_tokens(&block);
        if used > MAX_REPLY_TOKENS {
            break;
        }
        blocks.push(block);
    }
    Ok(blocks.join("\n"))
}

/// Names a node with its first words.
fn named(here: &Position, node: &Node) -> String {
    let tree = if node.tree == here.tree.id { "" } else { " in another tree" };
    format!("{}{tree} {}", escape::id(node), quoted(&first_words(&one_line(&content(node)), NAMED_NEAR_CHARS)))
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
    if entry.tokens > LONG_ENTRY_TOKENS {
        entry.text = format!("{}\n[shortened · {}]", excerpt(&entry.text, words, EXCERPT_BYTES), entry.rest);
    }
    if let Some(words) = recall::call_excerpt(&hit.node, &entry.text, words, EXCERPT_BYTES) {
        entry.text.push_str(&format!("\n{}", escape::escape(&words)));
    }
    let mut lines = vec![entry.shown()];
    for (place, node) in [("before", &hit.before), ("after", &hit.after)] {
        let Some(node) = node.as_ref().filter(|node| node.purged_at.is_none() && !node.content.trim().is_empty())
        else {
            continue;
        };
        if told.insert(node.seq) {
            let head = header(node, None);
            let head = head.strip_suffix(':').unwrap_or(&head);
            lines.push(format!(
                "    {place}: {head} {}",
                quoted(&first_words(&one_line(&node.content), MAX_NEIGHBOR_CHARS))
            ));
        }
    }
    Ok(lines.join("\n"))
}

/// Fits entries into the limit: tool results are shortened first, then the oldest. Entries that do not fit are named.
pub(super) fn fit_entries(mut entries: Vec<RecallEntry>) -> String {
    let cost = |entry: &RecallEntry| estimated_tokens(&entry.shown()) + 1;
    let mut all = entries.iter().map(cost).fold(note(entries.len()), u32::saturating_add);
    let alone = entries.len() == 1;
    for tools in [true, false] {
        for entry in entries.iter_mut().filter(|entry| entry.tool == tools) {
            if !alone && all > MAX_REPLY_TOKENS {
                let before = cost(entry);
                entry.shorten(SHORTENED_TOKENS);
                all = all.saturating_sub(before).saturating_add(cost(entry));
            }
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
