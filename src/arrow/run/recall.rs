//! Recall from the archive: what was said, in the compact form that a model reads.
//!
//! At most [`WHOLE`] tokens: results of tools are shortened first, then what is oldest, and every cut names the command that
//! shows the rest. A turn that is asked for alone is whole; it is read part by part. Nothing is worded anew.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Failure, Here, Outcome, Runner, Said,
    frame::{self, content, count, quoted},
};
use crate::{
    arrow::Range,
    model::{About, AgentKind, AuthorType, EdgeKind, Node, WordReader, estimated_tokens, first_words, one_line},
    recall::{self, Found, Query, Scope},
    store::Snapshot,
    tools::Form,
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
/// Hits where no other number is asked for, and turns or results at the most.
const HITS: u32 = 10;
const MOST: u32 = 200;
/// Tokens kept for an answer's first line, and for the line on what is left out.
const NOTE: u32 = 160;
/// Commands that are named for what is left out.
const NAMED: usize = 5;

impl Runner<'_> {
    pub(super) fn recall_search(&self, here: &Here, text: &str, limit: Option<u32>) -> Outcome {
        let limit = limit.unwrap_or(HITS).clamp(1, MOST) as usize;
        let asker = Some(match self.agent.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        });
        let meaning = self.host.meaning(&self.actor(), text);
        let snapshot = self.loom.snapshot()?;
        let of = |scope| {
            let query = Query { limit, asker, seen_by: Some(here.session.id), ..Query::new(text, scope) };
            recall::search_with(&*snapshot, &query, meaning.as_ref())
        };
        let mut found = of(Scope::Session(here.session.id))?;
        let mut place = "this session";
        if found.hits.is_empty() {
            // What came in with the tree, or was said there by others, is of no turn of this session.
            found = of(Scope::Tree(here.tree.id))?;
            place = if found.hits.is_empty() { "this session and tree" } else { "this tree (nothing in this session)" };
        }
        let said = match found.hits.len() {
            0 => nothing(text, &found, place),
            hits => {
                let head = format!("{} in {place} for {}, the best first:", count(hits as u64, "turn"), quoted(text));
                format!("{head}\n{}", shown(&*snapshot, &found)?)
            }
        };
        Ok(Said::about(said, first_words(text, 60)))
    }

    pub(super) fn recall_turns(&self, here: &Here, turns: Range) -> Outcome {
        let snapshot = self.loom.snapshot()?;
        let nodes = recall::turns(&*snapshot, here.session.id, turns.first.into(), turns.last.into(), MOST)?;
        let name = format!("turns:{}-{}", turns.first, turns.last);
        if nodes.is_empty() {
            let has = match here.session.turns {
                0 => "this session has no turns yet".to_owned(),
                last => format!("this session has turns 1 to {last}"),
            };
            return Ok(Said::about(format!("no {name}: {has}"), name));
        }
        let cut = nodes.len() == MOST as usize && nodes.last().and_then(|node| node.turn) < Some(turns.last.into());
        let more = nodes.last().and_then(|node| node.turn).filter(|_| cut);
        let mut text = fitted(entries(&*snapshot, here, &nodes)?);
        if let Some(last) = more {
            text.push_str(&format!("\n[more turns · → recall turns:{}-{}]", last + 1, turns.last));
        }
        Ok(Said::about(text, name))
    }

    pub(super) fn recall_tool(&self, here: &Here, tool: &str, limit: Option<u32>) -> Outcome {
        let snapshot = self.loom.snapshot()?;
        let limit = limit.unwrap_or(HITS).clamp(1, MOST);
        // Results are kept under the tool's name, by whichever name it was called.
        let tool = Form::named(tool).map_or(tool, |form| form.tool.name());
        for (scope, place) in
            [(Scope::Session(here.session.id), "this session"), (Scope::Tree(here.tree.id), "this tree")]
        {
            let results = recall::tool_results(&*snapshot, &scope, tool, limit)?;
            if !results.is_empty() {
                let nodes: Vec<Node> = results.into_iter().map(|(node, _)| node).collect();
                let head = format!(
                    "{} of {} in {place}, the newest first:",
                    count(nodes.len() as u64, "result"),
                    one_line(tool)
                );
                return Ok(Said::about(
                    format!("{head}\n{}", fitted(entries(&*snapshot, here, &nodes)?)),
                    format!("tool:{tool}"),
                ));
            }
        }
        let names = recall::tool_names(&*snapshot, &Scope::Tree(here.tree.id))?;
        let known = match names.as_slice() {
            [] => "there are none in this tree".to_owned(),
            names => format!(
                "there are results of {}",
                names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ")
            ),
        };
        Ok(Said::about(
            format!("no results of {} in this session or tree; {known}", quoted(tool)),
            format!("tool:{tool}"),
        ))
    }

    pub(super) fn recall_summary(&self, here: &Here) -> Outcome {
        let snapshot = self.loom.snapshot()?;
        let (session, tree) = (&here.session, &here.tree);
        let mut lines = vec![
            format!(
                "session: {} · {} · started {}",
                count(session.turns, "turn"),
                count(session.tokens, "token"),
                session.started_at.age(here.now)
            ),
            format!(
                "tree: {} · {} · {} · depth {}",
                quoted(&tree.title),
                count(tree.counts.nodes, "node"),
                count(tree.counts.leaves, "branch"),
                tree.counts.max_depth
            ),
        ];
        let ends = recall::turns(&*snapshot, session.id, 1, 1, 1)?.into_iter().map(|node| ("first", node));
        let last = recall::turns(&*snapshot, session.id, session.turns, session.turns, 1)?;
        for (word, node) in ends.chain(last.into_iter().map(|node| ("newest", node))) {
            lines.push(format!("{word}: {} {}", header(&node, None), frame::gist(&node)));
        }
        let tools = recall::tool_names(&*snapshot, &Scope::Session(session.id))?;
        if !tools.is_empty() {
            lines.push(format!("tools: {}", tools.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ")));
        }
        for node in snapshot.bookmarks(tree.id)?.iter().take(10) {
            let label = node.state.bookmark.as_deref().unwrap_or("");
            lines.push(format!("bookmark: {} {}", frame::id(node), quoted(label)));
        }
        let state = snapshot.register(session.id)?.yaml(&About::of(session));
        lines.push(format!("state:\n{}", indented(&frame::escape(&state))));
        Ok(Said::about(format!("Summary of this session:\n{}", indented(&lines.join("\n"))), "summary"))
    }
}

/// What to say where nothing was found, so that nobody asks in circles.
fn nothing(text: &str, found: &Found, place: &str) -> String {
    let looked = match found.words.as_slice() {
        [] => "as it stands, since it has no word that tells".to_owned(),
        words => format!("by the words {}", words.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ")),
    };
    format!(
        "nothing for {} in {place} (searched {looked})\n  try: other words for it, a name or an id that stood there, \
         → recall turns:1-10, → recall tool:NAME",
        quoted(&first_words(text, 80))
    )
}

/// What is shown of a node: its first line and its words.
struct Entry {
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
    fn of(node: &Node, call: Option<String>) -> Self {
        let mut text = content(node).into_owned();
        for (name, arguments) in calls(node) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}calls {}({arguments})", one_line(&name)));
        }
        let tokens = estimated_tokens(&text);
        let tool = node.author_type == AuthorType::Tool || node.kind == EdgeKind::Tool;
        let rest = format!("→ view {} full", frame::mention(node));
        Self { head: header(node, call), text, seq: node.seq, turn: None, rest, tool, tokens }
    }

    /// The same as a turn of the session that asks.
    fn in_session(mut self, node: &Node) -> Self {
        self.turn = node.turn;
        self.rest = node.turn.map_or(self.rest, |turn| format!("→ recall turns:{turn}-{turn}"));
        self
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
fn header(node: &Node, call: Option<String>) -> String {
    let turn = node.turn.map(|turn| format!("[Turn {turn}] ")).unwrap_or_default();
    let tool = match (&node.tool.name, call) {
        (Some(name), call) => format!(" {}{}", one_line(name), call.unwrap_or_default()),
        (None, _) => String::new(),
    };
    let pruned = if node.state.pruned_by.is_some() { " (pruned)" } else { "" };
    format!("{turn}{}{tool} {}{pruned}:", node.author_type, frame::id(node))
}

/// Nodes as they are shown in a list, results of tools with what they were called with.
fn entries(snapshot: &dyn Snapshot, here: &Here, nodes: &[Node]) -> Result<Vec<Entry>, Failure> {
    let entry = |node: &Node| {
        let entry = Entry::of(node, called_with(snapshot, node)?);
        Ok(if node.session == Some(here.session.id) { entry.in_session(node) } else { entry })
    };
    nodes.iter().map(entry).collect()
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
fn shown(snapshot: &dyn Snapshot, found: &Found) -> Result<String, Failure> {
    let hits: HashSet<u64> = found.hits.iter().map(|hit| hit.node.seq).collect();
    let mut told = HashSet::new();
    let mut blocks = Vec::new();
    let mut used = 0;
    for (at, hit) in found.hits.iter().enumerate() {
        let mut entry = Entry::of(&hit.node, called_with(snapshot, &hit.node)?);
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
            let left: Vec<Entry> = found.hits[at..].iter().map(|hit| Entry::of(&hit.node, None)).collect();
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
fn fitted(mut entries: Vec<Entry>) -> String {
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
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
