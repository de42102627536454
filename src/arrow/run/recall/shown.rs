//! What was recalled, as text within a limit.
//!
//! Results of tools are shortened first, then what is oldest, and every cut names the command that shows the rest.

use std::collections::HashSet;

use crate::{
    arrow::run::{
        Position, ToolError,
        escape::{self, content, count, quoted},
    },
    recall::{self, Hit, SearchResults, cut_at, excerpt},
    store::Snapshot,
    tokens::estimated_tokens,
    types::{AuthorType, EdgeKind, Node, first_words, one_line},
};

/// Tokens of an answer at the most.
pub(in crate::arrow::run) const WHOLE: u32 = 8_000;
/// Tokens that a text is shortened to, the results of tools first.
const SHORT: u32 = 60;
/// Characters of a neighbour of what was found.
const BESIDE: usize = 160;
/// Bytes that are shown of what is long, and tokens from which on it is.
const PIECE: usize = 400;
const LONG: u32 = 200;
/// Tokens kept for an answer's first line, and for the line on what is left out.
const NOTE: u32 = 160;
/// Commands that are named whole for what is left out; of the others the ids are, which take so many tokens each.
const NAMED: usize = 5;
const MENTION: u32 = 5;

/// What is shown of a node: its first line and its words.
pub(super) struct RecallEntry {
    head: String,
    text: String,
    /// Its place in time.
    seq: u64,
    turn: Option<u64>,
    /// The command that shows all of it.
    rest: String,
    /// Its id, as that has it.
    mention: String,
    tool: bool,
    tokens: u32,
}

impl RecallEntry {
    fn of(here: &Position, node: &Node, call: Option<String>) -> Self {
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
        Self {
            head: dated_header(here, node, call),
            text,
            seq: node.seq,
            turn,
            rest,
            mention: escape::mention(node),
            tool,
            tokens,
        }
    }

    /// Keeps about so many tokens of the words.
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
        format!("{}\n{}", self.head, indented(&self.text))
    }
}

/// `[Turn 12] human [a7x2kq]:`, `[Turn 13] tool read_file(path="src/auth.py") [b3k9ze]:`; `call` is what it was called with.
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

/// [`header`] with age, depth and, where the call failed, that.
fn dated_header(here: &Position, node: &Node, call: Option<String>) -> String {
    let plain = header(node, call);
    let failed = if recall::is_failure(node) { " · failed" } else { "" };
    let plain = plain.strip_suffix(':').unwrap_or(&plain);
    format!("{plain} · {} · depth {}{failed}:", node.created_at.age(here.now), node.depth)
}

/// Nodes as they are shown in a list, results of tools with what they were called with.
pub(super) fn entries(snapshot: &dyn Snapshot, here: &Position, nodes: &[Node]) -> Result<Vec<RecallEntry>, ToolError> {
    nodes.iter().map(|node| Ok(RecallEntry::of(here, node, recall::tool_call_summary(snapshot, node)?))).collect()
}

/// Hits with what was said before and after each, then what is only near.
pub(super) fn shown(snapshot: &dyn Snapshot, here: &Position, found: &SearchResults) -> Result<String, ToolError> {
    let hits: HashSet<u64> = found.hits.iter().map(|hit| hit.node.seq).collect();
    let mut told = hits.clone();
    let mut blocks = Vec::new();
    let mut used = note(found.hits.len() + found.near.len());
    for (at, hit) in found.hits.iter().enumerate() {
        let block = with_context(snapshot, here, hit, &found.words, &mut told)?;
        used += estimated_tokens(&block);
        if used > WHOLE {
            let left: Vec<RecallEntry> =
                found.hits[at..].iter().map(|hit| RecallEntry::of(here, &hit.node, None)).collect();
            blocks.push(left_out(&left));
            return Ok(blocks.join("\n"));
        }
        blocks.push(block);
    }
    // Beside matches, what holds none of the words is their context.
    let near = found.near.iter().filter(|hit| hits.is_empty() || hit.own_words > 0);
    let mut near = near.filter(|hit| !told.contains(&hit.node.seq)).peekable();
    if near.peek().is_some() {
        blocks.push("Only near, without all of the words:".to_owned());
    }
    for hit in near.collect::<Vec<_>>() {
        let block = with_context(snapshot, here, hit, &found.words, &mut told)?;
        used += estimated_tokens(&block);
        if used > WHOLE {
            break;
        }
        blocks.push(block);
    }
    Ok(blocks.join("\n"))
}

/// A hit, with a line for what was said before it and one for what was said after it.
fn with_context(
    snapshot: &dyn Snapshot,
    here: &Position,
    hit: &Hit,
    words: &[String],
    told: &mut HashSet<u64>,
) -> Result<String, ToolError> {
    let mut entry = RecallEntry::of(here, &hit.node, recall::tool_call_summary(snapshot, &hit.node)?);
    told.insert(hit.node.seq);
    if entry.tokens > LONG {
        entry.text = format!("{}\n[shortened · {}]", excerpt(&entry.text, words, PIECE), entry.rest);
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
            lines.push(format!("    {place}: {head} {}", quoted(&first_words(&one_line(&node.content), BESIDE))));
        }
    }
    Ok(lines.join("\n"))
}

/// Entries within the limit: results of tools are shortened first, then the oldest, and what does not fit even so is
/// named.
pub(super) fn fitted(mut entries: Vec<RecallEntry>) -> String {
    let cost = |entry: &RecallEntry| estimated_tokens(&entry.shown()) + 1;
    let mut all = entries.iter().map(cost).fold(note(entries.len()), u32::saturating_add);
    let alone = entries.len() == 1;
    for tools in [true, false] {
        for entry in entries.iter_mut().filter(|entry| entry.tool == tools) {
            if !alone && all > WHOLE {
                let before = cost(entry);
                entry.shorten(SHORT);
                all = all.saturating_sub(before).saturating_add(cost(entry));
            }
        }
    }
    let mut left: Vec<RecallEntry> = Vec::new();
    while all > WHOLE && entries.len() > 1 {
        // Turns stand in their order, and results of a tool the newest first: the oldest is at one of the ends.
        let last = entries.first().map(|entry| entry.seq) > entries.last().map(|entry| entry.seq);
        let oldest = entries.remove(if last { entries.len() - 1 } else { 0 });
        all = all.saturating_sub(cost(&oldest));
        left.push(oldest);
    }
    let mut lines: Vec<String> = entries.iter().map(RecallEntry::shown).collect();
    if !left.is_empty() {
        lines.insert(0, left_out(&left));
    }
    lines.join("\n")
}

/// The line that says what is not shown, and which commands show it.
fn left_out(left: &[RecallEntry]) -> String {
    let turns: Vec<u64> = left.iter().filter_map(|entry| entry.turn).collect();
    let commands = match (turns.iter().min(), turns.iter().max()) {
        (Some(first), Some(last)) if turns.len() == left.len() => format!("→ recall turns:{first}-{last}"),
        _ => {
            let (named, others) = left.split_at(left.len().min(NAMED));
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

/// Tokens kept for what is said around so many entries.
fn note(entries: usize) -> u32 {
    NOTE + MENTION * u32::try_from(entries).unwrap_or(u32::MAX / MENTION / 2)
}

/// Each line two columns further in.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
