//! What was recalled, as text within a limit.
//!
//! Results of tools are shortened first, then what is oldest, and every cut names the command that shows the rest.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    arrow::run::{
        Failure, Here,
        frame::{self, content, count},
    },
    model::{AuthorType, EdgeKind, Node, WordReader, estimated_tokens, first_words, one_line},
    recall::Found,
    store::Snapshot,
};

/// Tokens of an answer at the most.
const WHOLE: u32 = 8_000;
/// Tokens that a text is shortened to, the results of tools first.
const SHORT: u32 = 60;
/// Characters of a neighbour of what was found.
const BESIDE: usize = 160;
/// Bytes of a piece that a long text is looked through by, and tokens of one that is long.
const PIECE: usize = 400;
const LONG: u32 = 200;
/// Tokens kept for an answer's first line, and for the line on what is left out.
const NOTE: u32 = 160;
/// Commands that are named for what is left out.
const NAMED: usize = 5;

/// What is shown of a node: its first line and its words.
pub(super) struct Entry {
    head: String,
    text: String,
    /// Its place in time.
    seq: u64,
    turn: Option<u64>,
    /// The command that shows all of it.
    rest: String,
    tool: bool,
    tokens: u32,
}

impl Entry {
    fn of(here: &Here, node: &Node, call: Option<String>) -> Self {
        let mut text = content(node).into_owned();
        for (name, arguments) in calls(node) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}calls {}({arguments})", one_line(&name)));
        }
        let tokens = estimated_tokens(&text);
        let tool = node.author_type == AuthorType::Tool || node.kind == EdgeKind::Tool;
        let turn = node.turn.filter(|_| node.session == Some(here.session.id));
        let rest = match turn {
            Some(turn) => format!("→ recall turns:{turn}-{turn}"),
            None if node.tree == here.tree.id => format!("→ view {} full", frame::mention(node)),
            None => format!("→ switch to {} in tree:\"{}\"", frame::mention(node), node.tree),
        };
        Self { head: header(node, call), text, seq: node.seq, turn, rest, tool, tokens }
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

/// `[Turn 12] human [a7x2kq]:`, `[Turn 13] tool read_file(path="src/auth.py") [b3k9ze]:`.
pub(super) fn header(node: &Node, call: Option<String>) -> String {
    let turn = node.turn.map(|turn| format!("[Turn {turn}] ")).unwrap_or_default();
    let tool = match (&node.tool.name, call) {
        (Some(name), call) => format!(" {}{}", one_line(name), call.unwrap_or_default()),
        (None, _) => String::new(),
    };
    let pruned = if node.state.pruned_by.is_some() { " (pruned)" } else { "" };
    format!("{turn}{}{tool} {}{pruned}:", node.author_type, frame::id(node))
}

/// Nodes as they are shown in a list, results of tools with what they were called with.
pub(super) fn entries(snapshot: &dyn Snapshot, here: &Here, nodes: &[Node]) -> Result<Vec<Entry>, Failure> {
    nodes.iter().map(|node| Ok(Entry::of(here, node, called_with(snapshot, node)?))).collect()
}

/// What a tool whose result a node is was called with.
fn called_with(snapshot: &dyn Snapshot, node: &Node) -> Result<Option<String>, Failure> {
    let (Some(id), Some(parent)) = (&node.tool.call_id, node.parent) else { return Ok(None) };
    let Some(caller) = snapshot.node(parent)? else { return Ok(None) };
    let Some(all) = caller.tool.calls.as_ref().and_then(|all| serde_json::from_str::<Value>(all.as_str()).ok()) else {
        return Ok(None);
    };
    let call = all.as_array().into_iter().flatten().find(|call| call["id"].as_str() == Some(id));
    Ok(call.map(|call| format!("({})", arguments(call))))
}

/// The calls that a node made, with their arguments.
fn calls(node: &Node) -> Vec<(String, String)> {
    let all = node.tool.calls.as_ref().and_then(|all| serde_json::from_str::<Value>(all.as_str()).ok());
    let name =
        |call: &Value| call["function"]["name"].as_str().or(call["name"].as_str()).unwrap_or("a tool").to_owned();
    let all = all.as_ref().and_then(Value::as_array).into_iter().flatten();
    all.map(|call| (name(call), arguments(call))).collect()
}

/// The arguments of a call, in a line: each provider has them elsewhere.
fn arguments(call: &Value) -> String {
    let given = [&call["function"]["arguments"], &call["arguments"], &call["input"]].into_iter().find(|v| !v.is_null());
    let parsed = match given {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    let text = match parsed {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    first_words(&one_line(&text), BESIDE)
}

/// Hits with what was said before and after each.
pub(super) fn shown(snapshot: &dyn Snapshot, here: &Here, found: &Found) -> Result<String, Failure> {
    let hits: HashSet<u64> = found.hits.iter().map(|hit| hit.node.seq).collect();
    let mut told = HashSet::new();
    let mut blocks = Vec::new();
    let mut used = 0;
    for (at, hit) in found.hits.iter().enumerate() {
        let mut entry = Entry::of(here, &hit.node, called_with(snapshot, &hit.node)?);
        if entry.tokens > LONG {
            entry.text = format!("{}\n[shortened · {}]", passage(&entry.text, &found.words), entry.rest);
        }
        let mut beside = |node: Option<&Node>| {
            let node = node.filter(|node| !hits.contains(&node.seq) && node.purged_at.is_none())?;
            let fresh = !node.content.trim().is_empty() && told.insert(node.seq);
            fresh.then(|| format!("  {} {}", header(node, None), first_words(&one_line(&node.content), BESIDE)))
        };
        let lines = [beside(hit.before.as_ref()), Some(entry.shown()), beside(hit.after.as_ref())];
        let block = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
        used += estimated_tokens(&block);
        if used > WHOLE {
            let left: Vec<Entry> = found.hits[at..].iter().map(|hit| Entry::of(here, &hit.node, None)).collect();
            blocks.push(left_out(&left));
            break;
        }
        blocks.push(block);
    }
    Ok(blocks.join("\n"))
}

/// The part of a long text that has most of what was looked for.
fn passage(text: &str, words: &[String]) -> String {
    let mut reader = WordReader::default();
    let (mut best, mut most, mut start) = (0, 0, 0);
    while start < text.len() {
        let end = start + cut_at(&text[start..], PIECE).len().max(1);
        let mut found = reader.query(&text[start..end.min(text.len())]);
        found.retain(|word| words.contains(word));
        if found.len() > most {
            (best, most) = (start, found.len());
        }
        start = end;
    }
    // From the beginning of its line, if that is near.
    let before = &text[..best];
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let from = if best - from < PIECE { from } else { best };
    let kept = cut_at(&text[from..], best - from + PIECE);
    let (lead, end) = (if from > 0 { "… " } else { "" }, if from + kept.len() < text.len() { " …" } else { "" });
    format!("{lead}{}{end}", kept.trim_end())
}

/// At most so many bytes of a text, cut between words if it can be.
fn cut_at(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let space = text[..end].rfind(char::is_whitespace).filter(|at| *at * 2 > end);
    &text[..space.unwrap_or(end)]
}

/// Entries within the limit: results of tools are shortened first, then the oldest, and what does not fit even so is
/// named.
pub(super) fn fitted(mut entries: Vec<Entry>) -> String {
    let cost = |entry: &Entry| estimated_tokens(&entry.shown()) + 1;
    let mut all = entries.iter().map(cost).fold(NOTE, u32::saturating_add);
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
    let mut left: Vec<Entry> = Vec::new();
    while all > WHOLE && entries.len() > 1 {
        // Turns stand in their order, and results of a tool the newest first: the oldest is at one of the ends.
        let last = entries.first().map(|entry| entry.seq) > entries.last().map(|entry| entry.seq);
        let oldest = entries.remove(if last { entries.len() - 1 } else { 0 });
        all = all.saturating_sub(cost(&oldest));
        left.push(oldest);
    }
    let mut lines: Vec<String> = entries.iter().map(Entry::shown).collect();
    if !left.is_empty() {
        lines.insert(0, left_out(&left));
    }
    lines.join("\n")
}

/// The line that says what is not shown, and which commands show it.
fn left_out(left: &[Entry]) -> String {
    let turns: Vec<u64> = left.iter().filter_map(|entry| entry.turn).collect();
    let commands = match (turns.iter().min(), turns.iter().max()) {
        (Some(first), Some(last)) if turns.len() == left.len() => format!("→ recall turns:{first}-{last}"),
        _ => left.iter().take(NAMED).map(|entry| entry.rest.as_str()).collect::<Vec<_>>().join(" · "),
    };
    format!("[{} left out · {commands}]", count(left.len() as u64, "turn"))
}

/// Each line two columns further in.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
