//! Commands that show one node or a branch.

use std::fmt::Write as _;

use super::{
    Answer, AnswerResult, AuthorNames, Executor, Position, counts, escape,
    node_format::{self, content, facts, gist, header, id, mention},
    recall::{CallLengths, result_lines},
};
use crate::{
    arrow::{BranchFormat, NodeRef},
    recall::{self, cut_at},
    store::ChildFilter,
    tokens::estimated_tokens,
    tools::{ErrorCode, Tool, ToolError},
    types::{EdgeKind, Node},
};

/// Tokens of a node that `view` shows whole.
const MAX_VIEW_TOKENS: u32 = 400;
/// Tokens that a cut must save.
const MIN_CUT_TOKENS: u32 = 80;
/// Notes and continuations of a node that `view` names.
const MAX_SHOWN_NOTES: usize = 5;
const MAX_SHOWN_CONTINUATIONS: usize = 8;

/// The maximum number of nodes of a branch in one reply.
const MAX_BRANCH_NODES: u32 = 1_000;

/// Appends the tool calls of a message after its words: a line each, or whole without `lengths`.
fn push_calls(text: &mut String, node: &Node, lengths: Option<CallLengths>) {
    for call in lengths.map_or_else(|| recall::whole_calls(node), |most| recall::calls_within(node, most.call)) {
        let gap = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(text, "{gap}calls {}", escape::escape(&call));
    }
}

impl Executor<'_> {
    pub(super) fn view(&self, here: &Position, node: Option<&NodeRef>, full: bool, annotations: bool) -> AnswerResult {
        let node = self.node(here, node)?;
        let names = self.author_names()?;
        let mut text = format!("{} · depth:{}\n", header(&node, &names.full(&node), here.now), node.depth);
        let whole = content(&node);
        match first_part(&whole).filter(|_| !full) {
            None => text.push_str(&whole),
            Some((part, rest)) => {
                if let Some(summary) = self.long_summary(&node)? {
                    let _ = writeln!(text, "Summary: {summary}");
                }
                let rest = counts::count(rest, "token");
                let _ = write!(text, "{part}\n… {rest} more → view {} full", mention(&node));
            }
        }
        let lengths = if full { None } else { Some(CallLengths::MIDDLE) };
        push_calls(&mut text, &node, lengths);
        for result in result_lines(&*self.loom.snapshot()?, &node, lengths)? {
            let _ = write!(text, "\n{result}");
        }
        let facts = facts(&node);
        if !facts.is_empty() {
            let _ = write!(text, "\n{facts}");
        }
        if node.state.annotations > 0 {
            self.push_notes(&mut text, here, &names, &node, annotations)?;
        }
        if node.state.links > 0 {
            self.push_links(&mut text, &node, true)?;
        }
        self.push_neighbors(&mut text, here, &node)?;
        Ok(Answer::about(text, node.local.as_str()))
    }

    /// Appends the notes on a node: all of them whole, or an excerpt of the newest.
    fn push_notes(
        &self,
        text: &mut String,
        here: &Position,
        names: &AuthorNames,
        node: &Node,
        whole: bool,
    ) -> Result<(), ToolError> {
        let notes = self.children_of_kind(node, EdgeKind::Annotation)?;
        let omitted = if whole { 0 } else { notes.len().saturating_sub(MAX_SHOWN_NOTES) };
        for note in &notes[omitted..] {
            let _ = write!(text, "\n  ✎ {}", header(note, &names.full(note), here.now));
            match whole {
                true => text.push_str(&format!("\n{}", content(note)).replace('\n', "\n    ")),
                false => text.push_str(&format!(" · {}", gist(note))),
            }
        }
        if omitted > 0 {
            let _ = write!(text, "\n  … {omitted} more (→ list {} annotations)", mention(node));
        }
        Ok(())
    }

    /// Appends the ids of the parent and of the continuations.
    fn push_neighbors(&self, text: &mut String, here: &Position, node: &Node) -> Result<(), ToolError> {
        let parent = self.loom.parent_on_path(node, &here.session.versions)?;
        let mut neighbors: Vec<String> = parent.iter().map(|parent| format!("← {}", parent.local)).collect();
        let limit = u32::try_from(MAX_SHOWN_CONTINUATIONS).unwrap_or(u32::MAX);
        let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit };
        let children = self.loom.snapshot()?.children(node.id, &filter)?;
        if !children.is_empty() {
            let ids: Vec<&str> = children.iter().map(|child| child.local.as_str()).collect();
            let more = (node.state.continuations as usize).saturating_sub(ids.len());
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            // An arrow at the start of a line would be a command.
            if neighbors.is_empty() {
                neighbors.push("root".to_owned());
            }
            neighbors.push(format!("→ {}{more}", ids.join(", ")));
        }
        if !neighbors.is_empty() {
            let _ = write!(text, "\n{}", neighbors.join(" · "));
        }
        Ok(())
    }

    pub(super) fn author_names(&self) -> Result<AuthorNames, ToolError> {
        Ok(AuthorNames::read(&*self.loom.snapshot()?, self.agent.id())?)
    }

    pub(super) fn view_branch(
        &self,
        here: &Position,
        last: &NodeRef,
        from: Option<&NodeRef>,
        rendering: Option<BranchFormat>,
    ) -> AnswerResult {
        let last = self.resolve_node(here, last)?;
        let first = from.map(|from| self.resolve_node(here, from)).transpose()?;
        let mut path = self.loom.snapshot()?.path_back(last.id, &here.session.versions, MAX_BRANCH_NODES)?;
        if let Some(first) = &first {
            let Some(at) = path.iter().position(|node| node.id == first.id) else {
                let message = format!("{} is not on the path to {}", id(first), id(&last));
                return Err(ToolError::new(ErrorCode::NotFound, message));
            };
            path.drain(..at);
        }
        let names = self.author_names()?;
        let before = path.first().and_then(|first| first.parent).map(|parent| self.loom.node(parent)).transpose()?;
        let text = match rendering {
            Some(BranchFormat::Prose) => {
                path.iter().map(|node| content(node).into_owned()).collect::<Vec<_>>().join("\n\n")
            }
            Some(BranchFormat::Nodes) | None => {
                let mut text = String::new();
                // Calls and results are as long as fits a page.
                for lengths in CallLengths::ALL {
                    let before = std::iter::once(None).chain(path.iter().map(Some));
                    let nodes = path.iter().zip(before);
                    let nodes = nodes.map(|(node, before)| self.branch_node(here, &names, (node, before), lengths));
                    text = nodes.collect::<Result<Vec<_>, _>>()?.join("\n\n");
                    if estimated_tokens(&text) <= self.page_tokens(Tool::View.name()) {
                        break;
                    }
                }
                text
            }
        };
        let text = match before.filter(|_| first.is_none()) {
            Some(node) => {
                let above = counts::count(u64::from(node.depth) + 1, "node");
                format!("[Note: {above} before · → view branch:{}]\n{text}", node_format::mention(&node))
            }
            None => text,
        };
        let from = first.map(|first| format!(" from:{}", first.local)).unwrap_or_default();
        Ok(Answer::about(text, format!("branch:{}{from}", last.local)))
    }

    /// Formats a node of a branch: header, counts, notes and links in short, content, calls with their results. A header has
    /// no date if that is the one of the node before. The continuation that follows is not counted.
    fn branch_node(
        &self,
        here: &Position,
        names: &AuthorNames,
        (node, before): (&Node, Option<&Node>),
        lengths: CallLengths,
    ) -> Result<String, ToolError> {
        let mut text = header(node, &names.full(node), here.now);
        let date = |node: &Node| {
            let stamp = node.created_at.age_or_date(here.now);
            stamp.split_once(' ').map(|(date, _)| date.to_owned()).filter(|date| date.contains('-'))
        };
        if let Some(date) = date(node).filter(|same| before.and_then(date).as_ref() == Some(same)) {
            text = text.replacen(&format!(" · {date} "), " · ", 1);
        }
        let facts = facts(node);
        let facts = if facts == "1 continuation" { "" } else { facts.as_str() };
        if !facts.is_empty() {
            let _ = write!(text, "\n{facts}");
        }
        if node.state.annotations > 0 {
            self.push_notes(&mut text, here, names, node, false)?;
        }
        if node.state.links > 0 {
            self.push_links(&mut text, node, false)?;
        }
        let _ = write!(text, "\n---\n{}", content(node));
        push_calls(&mut text, node, Some(lengths));
        for result in result_lines(&*self.loom.snapshot()?, node, Some(lengths))? {
            let _ = write!(text, "\n{result}");
        }
        Ok(text)
    }

    /// Returns the children of a node that have one kind.
    pub(super) fn children_of_kind(&self, node: &Node, kind: EdgeKind) -> Result<Vec<Node>, ToolError> {
        Ok(self.loom.snapshot()?.children(node.id, &ChildFilter { kind: Some(kind), pruned: false, limit: 0 })?)
    }
}

/// Returns the beginning of a long text, which ends with a sentence if possible, and the tokens of the rest; `None` for
/// a text that is shown whole.
fn first_part(text: &str) -> Option<(&str, u32)> {
    let all = estimated_tokens(text);
    if all <= MAX_VIEW_TOKENS + MIN_CUT_TOKENS {
        return None;
    }
    let share = text.len() as u64 * u64::from(MAX_VIEW_TOKENS) / u64::from(all);
    let most = usize::try_from(share).unwrap_or(text.len());
    let cut = cut_at(text, most).len();
    let ends = ['.', '!', '?', '。', '！', '？', '\n'];
    let is_end = |at: usize| text[at..].starts_with(char::is_whitespace) || text[..at].ends_with(['。', '！', '？']);
    let ends = text[..cut].rmatch_indices(ends).map(|(at, mark)| at + mark.len());
    let end = ends.take_while(|end| *end > cut / 2).find(|end| is_end(*end));
    let end = end.or_else(|| text[..cut].rfind(char::is_whitespace)).unwrap_or(cut);
    let part = text[..end].trim_end();
    Some((part, all.saturating_sub(estimated_tokens(part))))
}
