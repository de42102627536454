//! The typed answers of commands and the renderer of their text.
//!
//! A command that changes the tree returns what it changed. A command that reads returns its text. A new kind of answer
//! is a variant of [`Answer`], with an arm in [`Answer::subject`] and in its `Display`.

use std::fmt;

use super::{
    Delegated,
    counts::count,
    escape::quoted,
    node_format::{facts, gist_within, id, mention},
};
use crate::{
    id::{LocalId, NodeId},
    ops::{Actor, OpsError, UndoResult},
    store::Receipt,
    tools::{Tool, ToolError},
    types::{EdgeKind, Node, Op, one_line},
};

/// Characters of all new continuations in an answer.
const MAX_CONTINUATION_CHARS: usize = 1_200;

/// Nodes of a search that the trace names.
const MAX_TRACED_NODES: usize = 3;

/// The answer of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Text that a command read or composed.
    Text {
        /// The text, with its content escaped.
        text: String,
        /// The subject of the text, for the trace; `None` if there is none.
        subject: Option<String>,
    },
    /// Nodes that a search found.
    Found {
        /// The text, with its content escaped.
        text: String,
        /// The subject of the search.
        subject: String,
        /// The nodes in the order of the text, which may omit the last ones.
        nodes: Vec<Node>,
    },
    /// A page of a stored result, which is not paginated again.
    Page {
        /// The text of the page.
        text: String,
        /// The label of the stored result, in quotes.
        label: String,
    },
    /// A delegation.
    Delegated(Delegated),
    /// A change of the tree.
    Changed(Box<TreeChange>),
    /// Operations that `undo` or `redo` reverted.
    Reverted {
        /// True for `redo`.
        redo: bool,
        /// The reverted operations, in the order of reverting.
        operations: Vec<UndoResult>,
        /// The reason why fewer operations than requested were reverted; `None` if all were.
        stopped: Option<String>,
    },
    /// Continuations that a model generated.
    Continued {
        /// The continued node.
        from: Box<Node>,
        /// The name of the agent that wrote.
        by: String,
        /// The saved continuations, in the order of completion.
        nodes: Vec<Node>,
    },
    /// A new position.
    Moved {
        /// The node at the new position.
        node: Box<Node>,
        /// The title of the new tree; `None` if the tree is the same.
        tree: Option<String>,
        /// Local ids on the abbreviated path; `None` marks the omitted part.
        trail: Vec<Option<LocalId>>,
    },
}

/// A change of the tree that [`commit`](super::commit) made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeChange {
    /// The tool of the command.
    pub tool: Tool,
    /// The operation in the journal.
    pub op: Op,
    /// The nodes that the command names, as they were before the change. The first is its subject.
    pub nodes: Vec<Node>,
    /// The first node that the change added; `None` if it added none.
    pub added: Option<Node>,
    /// The other end of a link, or the label of a bookmark; `None` for other changes.
    pub name: Option<String>,
    /// The receipt of the commit.
    pub receipt: Receipt,
}

pub(super) type AnswerResult = Result<Answer, ToolError>;

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::Text { text, subject: None }
    }
}

impl From<TreeChange> for Answer {
    fn from(change: TreeChange) -> Self {
        Self::Changed(Box::new(change))
    }
}

impl Answer {
    pub(super) fn about(text: String, subject: impl Into<String>) -> Self {
        Self::Text { text, subject: Some(subject.into()) }
    }

    pub(super) fn found(text: String, subject: impl Into<String>, nodes: Vec<Node>) -> Self {
        Self::Found { text, subject: subject.into(), nodes }
    }

    /// True if the answer names new nodes of the conversation.
    pub(super) fn adds_to_conversation(&self) -> bool {
        let spoken = |node: &Node| matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version);
        match self {
            Self::Changed(change) => {
                change.tool != Tool::Split && change.op != Op::Restore && change.added.as_ref().is_some_and(spoken)
            }
            Self::Continued { nodes, .. } => !nodes.is_empty(),
            _ => false,
        }
    }

    /// Returns the new wording of an edited node, as a node beside it.
    pub(super) fn new_wording(&self, of: NodeId) -> Option<&Node> {
        let Self::Changed(change) = self else { return None };
        let edits = change.tool == Tool::Edit && change.nodes.first().is_some_and(|node| node.id == of);
        change.added.as_ref().filter(|new| edits && new.kind == EdgeKind::Continuation)
    }

    /// Returns the subject for the trace and for the label of a stored result; `None` if there is none.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Text { subject, .. } => subject.as_deref(),
            Self::Found { subject, .. } => Some(subject),
            Self::Page { label, .. } => Some(label),
            Self::Changed(change) => change.nodes.first().map(|node| node.local.as_str()),
            Self::Reverted { .. } | Self::Delegated(_) => None,
            Self::Continued { from: node, .. } | Self::Moved { node, .. } => Some(node.local.as_str()),
        }
    }
}

impl Answer {
    /// Returns the nodes that the command made, or the first ones that a search found; `None` for other answers.
    pub(crate) fn named_nodes(&self) -> Option<Vec<LocalId>> {
        let locals = |nodes: &[Node]| nodes.iter().map(|node| node.local.clone()).collect::<Vec<_>>();
        match self {
            Self::Changed(change) => match (change.tool, &change.added) {
                (Tool::Restore, _) | (_, None) => None,
                (Tool::Split, Some(_)) => Some(change.receipt.nodes.iter().map(|half| half.local.clone()).collect()),
                (_, Some(added)) => Some(vec![added.local.clone()]),
            },
            Self::Continued { nodes, .. } => Some(locals(nodes)),
            Self::Found { subject, nodes, .. } if !is_range(subject) => {
                Some(locals(&nodes[..nodes.len().min(MAX_TRACED_NODES)]))
            }
            _ => None,
        }
    }

    /// Returns the subject for the trace. That of a search names the first nodes, so that the agent finds them again.
    pub(super) fn traced_subject(&self) -> Option<String> {
        let (subject, nodes) = match self {
            Self::Found { subject, nodes, .. } if !is_range(subject) => (subject, nodes),
            other => return other.subject().map(str::to_owned),
        };
        let ids: Vec<&str> = nodes.iter().take(MAX_TRACED_NODES).map(|node| node.local.as_str()).collect();
        let ids = if ids.is_empty() { "nothing".to_owned() } else { ids.join(" ") };
        Some(format!("{subject} ({ids})"))
    }
}

/// True for the subject of a command that shows a stretch of the conversation.
fn is_range(subject: &str) -> bool {
    subject.starts_with("turns:") || subject.starts_with("around:")
}

impl fmt::Display for Answer {
    /// Writes the reply's text for a model, without a trailing line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { text, .. }
            | Self::Found { text, .. }
            | Self::Page { text, .. }
            | Self::Delegated(Delegated { text, .. }) => f.write_str(text),
            Self::Changed(change) => change.fmt(f),
            Self::Reverted { redo, operations, stopped } => {
                let (verb, participle) = if *redo { ("redid", "redone") } else { ("undid", "undone") };
                write!(f, "✓ {verb} {}", count(operations.len() as u64, "operation"))?;
                for operation in operations {
                    let words = operation.description.words(&|id| format!("[{id}]"), &quoted);
                    write!(f, "\n  {participle}: {words}")?;
                }
                stopped.iter().try_for_each(|reason| write!(f, "\n  no more: {reason}"))
            }
            Self::Continued { from, by, nodes } => {
                let written = count(nodes.len() as u64, "continuation");
                write!(f, "✓ {written} from {} by {}", id(from), one_line(by))?;
                nodes.iter().try_for_each(|node| {
                    let cut = if node.interrupted { " · interrupted" } else { "" };
                    write!(
                        f,
                        "\n  {} {}{cut}",
                        id(node),
                        gist_within(node, MAX_CONTINUATION_CHARS / nodes.len().max(1))
                    )
                })
            }
            Self::Moved { node, tree, trail } => {
                let tree = tree.as_ref().map(|title| format!(" in tree:{}", quoted(title))).unwrap_or_default();
                let facts = facts(node);
                let gap = if facts.is_empty() { "" } else { " · " };
                let trail: Vec<&str> = trail.iter().map(|step| step.as_ref().map_or("…", |id| id.as_str())).collect();
                let (name, depth, path) = (id(node), node.depth, trail.join(" → "));
                write!(f, "✓ switched to {name}{tree}\n  depth:{depth} · {facts}{gap}path: {path}")
            }
        }
    }
}

impl fmt::Display for TreeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |at: usize| self.nodes.get(at).map(id).unwrap_or_default();
        let added = self.added.as_ref().map(id).unwrap_or_default();
        let kind = self.added.as_ref().map_or(EdgeKind::Continuation, |node| node.kind);
        let end = self.name.as_deref().unwrap_or_default();
        let subject = named(0);
        let again = self.nodes.first().map(mention).unwrap_or_default();
        match self.tool {
            Tool::Annotate => write!(f, "✓ annotation {added} added to {subject}"),
            Tool::Link => write!(f, "✓ linked {subject} ↔ {end}"),
            Tool::Unlink => write!(f, "✓ unlinked {subject} from {end}"),
            Tool::Edit if kind == EdgeKind::Annotation => {
                let replaced =
                    self.nodes.first().zip(self.added.as_ref()).is_some_and(|(old, new)| old.author == new.author);
                let verb = if replaced { "instead of" } else { "added beside" };
                write!(f, "✓ note {added} {verb} {subject}")
            }
            Tool::Edit if kind == EdgeKind::Version => write!(f, "✓ created version {added} of {subject}"),
            Tool::Edit => {
                write!(f, "✓ created branch {added} from {subject}, beside it")?;
                self.write_kept(f, &subject)
            }
            Tool::Merge => {
                write!(f, "✓ created {added} from {}", self.nodes.iter().map(id).collect::<Vec<_>>().join(" + "))
            }
            Tool::Bookmark => {
                write!(f, "✓ bookmarked {subject}")?;
                self.name.iter().try_for_each(|label| write!(f, " as {}", quoted(label)))?;
                let earlier = self.nodes.first().and_then(|node| node.state.bookmark.as_ref());
                let replaced = earlier.filter(|earlier| !earlier.is_empty() && Some(*earlier) != self.name.as_ref());
                replaced.map_or(Ok(()), |earlier| write!(f, " instead of {}", quoted(earlier)))
            }
            Tool::Unbookmark => write!(f, "✓ took the bookmark off {subject}"),
            Tool::Prune => write!(f, "✓ pruned {subject}{} · undo with → restore {again}", self.descendants()),
            Tool::Restore => write!(f, "✓ restored {subject}{}", self.descendants()),
            Tool::Copy => write!(f, "✓ copied {subject}{} to {} as {added}", self.descendants(), named(1)),
            Tool::Move => write!(f, "✓ moved {subject} to {} as {added} · undo with → undo", named(1)),
            Tool::Split => {
                let halves: Vec<String> = self.receipt.nodes.iter().map(|half| format!("[{}]", half.local)).collect();
                write!(f, "✓ split {subject} into {}", halves.join(" + "))
            }
            Tool::Exclude => write!(f, "✓ excluded {subject} from the context · undo with → include {again}"),
            Tool::Include => write!(f, "✓ included {subject} in the context"),
            Tool::Think => write!(f, "✓ kept thought {added} at {subject}"),
            _ => write!(f, "✓ created {added} as {kind} of {subject}"),
        }
    }
}

impl TreeChange {
    /// Creates the record of a commit; reads the first added node.
    pub(super) fn new(actor: &Actor, tool: Tool, op: Op, nodes: Vec<Node>, receipt: Receipt) -> Result<Self, OpsError> {
        let added = receipt.nodes.first().map(|added| actor.loom().node(added.id)).transpose()?;
        Ok(Self { tool, op, nodes, added, name: None, receipt })
    }

    /// Writes what an edited node keeps, and how a continuation follows the new wording.
    fn write_kept(&self, f: &mut fmt::Formatter<'_>, subject: &str) -> fmt::Result {
        let (Some(old), Some(new)) = (self.nodes.first(), &self.added) else { return Ok(()) };
        let (continuations, bookmarked) = (old.state.continuations, old.state.bookmark.is_some());
        let kept = [
            (continuations > 0).then(|| count(continuations, "continuation")),
            bookmarked.then(|| "the bookmark".to_owned()),
        ];
        let kept = kept.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        if !kept.is_empty() {
            write!(f, "\n  {subject} keeps {kept}")?;
        }
        if continuations > 0 {
            write!(f, " · → move ID to {} takes a continuation along", mention(new))?;
        }
        Ok(())
    }

    /// Formats the number of affected descendants: ` and 12 descendants`, or nothing.
    fn descendants(&self) -> String {
        match self.receipt.affected.saturating_sub(1) {
            0 => String::new(),
            below => format!(" and {}", count(below, "descendant")),
        }
    }
}
