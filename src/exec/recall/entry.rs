//! A recalled node as an entry of a list: its header, its text and the results of its calls.

use crate::{
    exec::{
        Position,
        counts::count,
        escape::quoted,
        node_format::{self, content},
    },
    id::SessionId,
    recall::{self, cut_at, failure_excerpt},
    store::{ChildFilter, Snapshot},
    tokens::estimated_tokens,
    tools::ToolError,
    types::{AuthorType, EdgeKind, Node, Tree, first_words, one_line},
};

/// Characters of an entry on one line.
pub(super) const LINE_CHARS: usize = 100;
/// Maximum number of results of a node that are shown with it.
const MAX_RESULT_LINES: usize = 8;

/// Lengths of the calls of a node and of their results on one line, in characters.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct CallLengths {
    pub(in crate::exec) call: usize,
    pub(in crate::exec) result: usize,
}

impl CallLengths {
    /// From the longest to the shortest. An answer takes the first with which it fits.
    pub(in crate::exec) const ALL: [Self; 3] = [Self { call: 1_200, result: 500 }, Self::MIDDLE, Self::SHORTEST];
    pub(in crate::exec) const MIDDLE: Self = Self { call: 480, result: 220 };
    pub(in crate::exec) const SHORTEST: Self = Self { call: 160, result: LINE_CHARS };
}

/// A formatted node: its header and its text.
pub(super) struct RecallEntry {
    pub(super) head: String,
    pub(super) text: String,
    /// One line for each result of the node's calls; empty if they are not shown.
    results: Vec<String>,
    /// The place in the journal, for order.
    pub(super) seq: u64,
    pub(super) turn: Option<u64>,
    /// The command that shows the whole node.
    pub(super) rest: String,
    /// The node's id in that command.
    pub(super) mention: String,
    pub(super) tool: bool,
    /// True for a failed result. It is shortened to its errors and its end.
    failed: bool,
    /// The note of a shortened text: its number of lines and the command that shows it whole.
    note: Option<String>,
    pub(super) tokens: u32,
}

impl RecallEntry {
    pub(super) fn of(snapshot: &dyn Snapshot, here: &Position, node: &Node) -> Result<Self, ToolError> {
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
            None => format!("→ view {} full", node_format::mention(node)),
            Some(_) => format!("→ switch to {} in tree:\"{}\"", node_format::mention(node), node.tree),
        };
        Ok(Self {
            head: dated_header(here, node, call, other.as_ref()),
            text,
            results: Vec::new(),
            seq: node.seq,
            turn: node.turn.filter(|_| node.session == Some(here.session.id)),
            rest,
            mention: node_format::mention(node),
            tool,
            failed: recall::is_failure(node),
            note: None,
            tokens,
        })
    }

    /// Shortens the text to about this many tokens: to its beginning, or that of a failed result to its errors and end.
    pub(super) fn shorten(&mut self, most: u32) {
        if self.tokens <= most {
            return;
        }
        let lines = count(self.text.lines().count() as u64, "line");
        self.note.get_or_insert_with(|| format!("[{lines}, shortened · {}]", self.rest));
        let kept = (self.text.len() * most as usize / self.tokens.max(1) as usize).max(20);
        self.text = match self.failed {
            true => failure_excerpt(&self.text, kept),
            false => format!("{} …", cut_at(&self.text, kept).trim_end()),
        };
        self.tokens = most + 12;
    }

    /// True for a failed result.
    pub(super) const fn is_failed(&self) -> bool {
        self.failed
    }

    /// Removes the line with the exit code from a failed result, because the header has it.
    pub(super) fn drop_exit_code(&mut self) {
        if self.failed {
            self.text = without_exit_code(&self.text).to_owned();
            self.tokens = estimated_tokens(&self.text);
        }
    }

    /// Reduces the text to a few words on the line of the header.
    pub(super) fn reduce_to_line(&mut self) {
        let words = match self.failed {
            true => one_line(&failure_excerpt(&self.text, LINE_CHARS)),
            false => first_words(&one_line(&self.text), LINE_CHARS),
        };
        if self.tokens > estimated_tokens(&words) + 2 {
            self.head = format!("{} {}", self.head, quoted(&words));
            (self.text, self.note, self.tokens) = (String::new(), None, 0);
        }
    }

    /// Reduces an entry to a line that names the place where the agent sees it.
    pub(super) fn refer_to(&mut self, place: &str) {
        self.reduce_to_line();
        self.results.clear();
        self.head.push_str(&format!(" ({place})"));
    }

    pub(super) fn shown(&self) -> String {
        let lines = self.text.lines().chain(self.note.as_deref()).chain(self.results.iter().map(String::as_str));
        lines.fold(self.head.clone(), |shown, line| format!("{shown}\n  {line}"))
    }
}

/// Returns a text without its last line if that has an exit code.
fn without_exit_code(text: &str) -> &str {
    let text = text.trim_end();
    let before = text.rfind('\n').map_or("", |at| &text[..at]);
    if recall::last_exit_code(text).is_some() { before.trim_end() } else { text }
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
    let pruned = if node.state.hidden_by.is_some() { " (pruned)" } else { "" };
    format!("{turn}{}{tool} {}{pruned}:", node.author_type, node_format::id(node))
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
    let failed =
        |code: Option<i64>| code.map_or_else(|| "failed".to_owned(), |code| format!("failed, exit code {code}"));
    recall::is_failure(node).then(|| failed(recall::failed_exit_code(&node.content)))
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
            return format!("result {}{tool}{failed}:\n{text}", node_format::id(result));
        }
        let lines = match text.lines().count() {
            0 | 1 => String::new(),
            lines => format!(", {}", count(lines as u64, "line")),
        };
        let words = match failed.is_empty() {
            true => first_words(&one_line(&text), most),
            false => one_line(&failure_excerpt(without_exit_code(&text), most)),
        };
        let words = if words.is_empty() { words } else { format!(": {words}") };
        format!("result {}{tool}{failed}{lines}{words}", node_format::id(result))
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
