//! The formatting of recalled nodes within a token limit.
//!
//! Tool results are shortened first, then the oldest nodes. Every cut names the command that shows the rest.

use std::{cmp::Reverse, collections::HashSet};

use crate::{
    exec::{
        Position,
        escape::{self, content, count, quoted},
    },
    id::SessionId,
    recall::{self, Hit, SearchResults, cut_at, excerpt},
    store::{ChildFilter, Snapshot},
    tokens::estimated_tokens,
    tools::ToolError,
    types::{AuthorType, EdgeKind, Node, Tree, first_words, one_line},
};

/// The maximum tokens of a reply.
pub(in crate::exec) const MAX_REPLY_TOKENS: u32 = 8_000;
/// Tokens that an entry is shortened to; tool results first.
const SHORTENED_TOKENS: u32 = 60;
/// Characters of an entry on one line.
const LINE_CHARS: usize = 100;
/// Characters of a step on a line, the first with which all fit.
const STEP_CHARS: [usize; 3] = [LINE_CHARS, 70, 45];
/// Maximum number of results of a node that are shown with it.
const MAX_RESULT_LINES: usize = 8;
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
const NAMED_NEAR_CHARS: usize = 50;

/// Lengths of the calls of a node and of their results on one line, in characters.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct CallLengths {
    pub(in crate::exec) call: usize,
    pub(in crate::exec) result: usize,
}

impl CallLengths {
    /// From the longest to the shortest. An answer takes the first with which it fits.
    pub(in crate::exec) const ALL: [Self; 3] =
        [Self { call: 1_200, result: 500 }, Self { call: 480, result: 220 }, Self::SHORTEST];
    pub(in crate::exec) const SHORTEST: Self = Self { call: 160, result: LINE_CHARS };
}

/// A formatted node: its header and its text.
pub(super) struct RecallEntry {
    head: String,
    text: String,
    /// One line for each result of the node's calls; empty if they are not shown.
    results: Vec<String>,
    /// The place in the journal, for order.
    seq: u64,
    turn: Option<u64>,
    /// The command that shows the whole node.
    rest: String,
    /// The node's id in that command.
    mention: String,
    tool: bool,
    /// True for a failed result. It is shortened to its end, where errors stand.
    failed: bool,
    tokens: u32,
}

impl RecallEntry {
    fn of(snapshot: &dyn Snapshot, here: &Position, node: &Node) -> Result<Self, ToolError> {
        Self::with_calls(snapshot, here, node, CallLengths::SHORTEST)
    }

    fn with_calls(
        snapshot: &dyn Snapshot,
        here: &Position,
        node: &Node,
        lengths: CallLengths,
    ) -> Result<Self, ToolError> {
        let call = recall::tool_call_summary(snapshot, node)?;
        let other = if node.tree == here.tree.id { None } else { snapshot.tree(node.tree)? };
        let mut text = content(node).into_owned();
        for call in recall::calls_within(node, lengths.call) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}calls {call}"));
        }
        let tokens = estimated_tokens(&text);
        let tool = node.author_type == AuthorType::Tool || node.kind == EdgeKind::Tool;
        let rest = match other {
            None => format!("→ view {} full", escape::mention(node)),
            Some(_) => format!("→ switch to {} in tree:\"{}\"", escape::mention(node), node.tree),
        };
        Ok(Self {
            head: dated_header(here, node, call, other.as_ref()),
            text,
            results: Vec::new(),
            seq: node.seq,
            turn: node.turn.filter(|_| node.session == Some(here.session.id)),
            rest,
            mention: escape::mention(node),
            tool,
            failed: recall::is_failure(node),
            tokens,
        })
    }

    /// Shortens the text to about this many tokens: to its beginning, or that of a failed result to its end.
    fn shorten(&mut self, most: u32) {
        if self.tokens <= most {
            return;
        }
        let lines = self.text.lines().count();
        let kept = (self.text.len() * most as usize / self.tokens.max(1) as usize).max(20);
        let kept = match self.failed {
            true => format!("… {}", end_of(&self.text, kept).trim()),
            false => format!("{} …", cut_at(&self.text, kept).trim_end()),
        };
        self.text = format!("{kept}\n[{}, shortened · {}]", count(lines as u64, "line"), self.rest);
        self.tokens = most + 12;
    }

    /// Removes the line with the exit code from a failed result, because the header has it.
    pub(super) fn drop_exit_code(&mut self) {
        if self.failed {
            self.text = without_exit_code(&self.text).to_owned();
            self.tokens = estimated_tokens(&self.text);
        }
    }

    /// Reduces the text to a few words on the line of the header.
    fn reduce_to_line(&mut self) {
        let text = one_line(&self.text);
        let words = match self.failed {
            true => end_of(&text, LINE_CHARS).trim().to_owned(),
            false => first_words(&text, LINE_CHARS),
        };
        if self.tokens > estimated_tokens(&words) + 2 {
            self.head = format!("{} {}", self.head, quoted(&words));
            (self.text, self.tokens) = (String::new(), 0);
        }
    }

    /// Reduces an entry to a line that names the place where the agent sees it.
    pub(super) fn refer_to(&mut self, place: &str) {
        self.reduce_to_line();
        self.results.clear();
        self.head.push_str(&format!(" ({place})"));
    }

    fn shown(&self) -> String {
        let lines = self.text.lines().chain(self.results.iter().map(String::as_str));
        lines.fold(self.head.clone(), |shown, line| format!("{shown}\n  {line}"))
    }
}

/// Returns a text without its last line if that has an exit code.
fn without_exit_code(text: &str) -> &str {
    let text = text.trim_end();
    let before = text.rfind('\n').map_or("", |at| &text[..at]);
    if recall::exit_code(text).is_some() { before.trim_end() } else { text }
}

/// Returns the end of a text, at most `most` bytes, from the start of a word if possible.
fn end_of(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let word = text[start..].find(char::is_whitespace).filter(|at| start > 0 && at * 2 < most);
    &text[start + word.unwrap_or(0)..]
}

/// Formats a header: `[Turn 12] human [a7x2kq]:`, `[Turn 13] tool read_file(path="src/auth.py") [b3k9ze]:`; `call` is
/// the tool's call. The turn is named only for nodes of `session`, where `turns:` finds them.
pub(super) fn header(node: &Node, session: SessionId, call: Option<String>) -> String {
    let turn = node.turn.filter(|_| node.session == Some(session));
    let turn = turn.map(|turn| format!("[Turn {turn}] ")).unwrap_or_default();
    let tool = match (&node.tool.name, call) {
        (Some(name), None) => format!(" {}", one_line(name)),
        (Some(name), Some(call)) => format!(" {}({call})", one_line(name)),
        (None, _) => String::new(),
    };
    let pruned = if node.state.pruned_by.is_some() { " (pruned)" } else { "" };
    format!("{turn}{}{tool} {}{pruned}:", node.author_type, escape::id(node))
}

/// Formats a [`header`] with time, depth, failure, and the tree if it is an `other` one.
fn dated_header(here: &Position, node: &Node, call: Option<String>, other: Option<&Tree>) -> String {
    let plain = header(node, here.session.id, call);
    let failed = failure(node).map(|failure| format!(" · {failure}")).unwrap_or_default();
    let plain = plain.strip_suffix(':').unwrap_or(&plain);
    let tree = other.map(|tree| format!(" · in tree:{}", quoted(&tree.title))).unwrap_or_default();
    format!("{plain} · {} · depth {}{failed}{tree}:", node.created_at.age_or_date(here.now), node.depth)
}

/// Formats the failure of a call: `failed, exit code 1`; `None` for other nodes.
fn failure(node: &Node) -> Option<String> {
    let code = || recall::exit_code(&node.content).filter(|code| *code != 0);
    let failed =
        |code: Option<i64>| code.map_or_else(|| "failed".to_owned(), |code| format!("failed, exit code {code}"));
    recall::is_failure(node).then(|| failed(code()))
}

/// Formats the results of a node's calls, one line each: `result [1gpw2c] bash: 77`; whole without `lengths`.
pub(in crate::exec) fn result_lines(
    snapshot: &dyn Snapshot,
    node: &Node,
    lengths: Option<CallLengths>,
) -> Result<Vec<String>, ToolError> {
    let most = lengths.map_or(LINE_CHARS, |lengths| lengths.result);
    let filter = ChildFilter { kind: Some(EdgeKind::Tool), pruned: false, limit: 0 };
    let results = snapshot.children(node.id, &filter)?;
    let line = |result: &Node| {
        let tool = result.tool.name.as_deref().map(|name| format!(" {}", one_line(name))).unwrap_or_default();
        let failed = failure(result).map(|failure| format!(" {failure}")).unwrap_or_default();
        let text = content(result);
        if lengths.is_none() && (text.lines().count() > 1 || text.chars().count() > LINE_CHARS) {
            return format!("result {}{tool}{failed}:\n{text}", escape::id(result));
        }
        let lines = match text.lines().count() {
            0 | 1 => String::new(),
            lines => format!(", {}", count(lines as u64, "line")),
        };
        let words = match failed.is_empty() {
            true => first_words(&one_line(&text), most),
            false => end_of(&one_line(without_exit_code(&text)), most).trim().to_owned(),
        };
        let words = if words.is_empty() { words } else { format!(": {words}") };
        format!("result {}{tool}{failed}{lines}{words}", escape::id(result))
    };
    let mut lines: Vec<String> = results.iter().take(MAX_RESULT_LINES).map(line).collect();
    if results.len() > MAX_RESULT_LINES {
        lines.push(format!("… {} more", count((results.len() - MAX_RESULT_LINES) as u64, "result")));
    }
    Ok(lines)
}

/// Formats nodes for a list; tool results include their call.
pub(super) fn entries(snapshot: &dyn Snapshot, here: &Position, nodes: &[Node]) -> Result<Vec<RecallEntry>, ToolError> {
    nodes.iter().map(|node| RecallEntry::of(snapshot, here, node)).collect()
}

/// Formats nodes for a list, each with the results of its calls, which are as long as fits `most` tokens.
pub(super) fn entries_with_results(
    snapshot: &dyn Snapshot,
    here: &Position,
    nodes: &[Node],
    most: u32,
) -> Result<Vec<RecallEntry>, ToolError> {
    let entry = |node: &Node, lengths| {
        let results = result_lines(snapshot, node, Some(lengths))?;
        Ok(RecallEntry { results, ..RecallEntry::with_calls(snapshot, here, node, lengths)? })
    };
    let mut entries = Vec::new();
    for lengths in CallLengths::ALL {
        entries = nodes.iter().map(|node| entry(node, lengths)).collect::<Result<Vec<_>, ToolError>>()?;
        if entries.iter().map(|entry| estimated_tokens(&entry.shown())).sum::<u32>() <= most {
            break;
        }
    }
    Ok(entries)
}

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
        let failed =
            result_lines(snapshot, node, Some(CallLengths::SHORTEST))?.iter().any(|line| line.contains(" failed"));
        let failed = if failed { " · failed" } else { "" };
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

/// Formats hits with their neighbors, then nodes that match by meaning only. A node for which `is_shown` holds is only named.
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
            let named = near.iter().take(MAX_NAMED_NEAR).map(|hit| named(here, &hit.node, NAMED_NEAR_CHARS));
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
    format!("{}{tree} {}", escape::id(node), quoted(&first_words(&text, most)))
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
    for (place, node) in [("before", &hit.before), ("after", &hit.after)] {
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
