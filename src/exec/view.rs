//! Commands that show one node, a branch, or the difference of two nodes.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::{
    Answer, AnswerResult, Executor, Position,
    escape::{self, content, facts, header, id},
};
use crate::{
    arrow::{BranchFormat, NodeRef},
    id::NodeId,
    store::ChildFilter,
    tools::{ErrorCode, ToolError},
    types::{EdgeKind, Node},
};

/// The maximum number of lines or words of both texts that are compared.
const MAX_DIFF_ITEMS: usize = 20_000;

/// The maximum number of nodes of a branch in one reply.
const MAX_BRANCH_NODES: u32 = 1_000;

impl Executor<'_> {
    pub(super) fn view(&self, here: &Position, node: Option<&NodeRef>, full: bool, annotations: bool) -> AnswerResult {
        let node = self.node(here, node)?;
        let mut text = format!("{} · depth:{}\n", header(&node, here.now), node.depth);
        let shown = if full { content(&node).into_owned() } else { self.quoted_summary(&node)? };
        text.push_str(&shown);
        let facts = facts(&node);
        if !facts.is_empty() {
            let _ = write!(text, "\n{facts}");
        }
        if annotations {
            for note in self.children_of_kind(&node, EdgeKind::Annotation)? {
                let words = content(&note).replace('\n', "\n  ");
                let _ = write!(text, "\n  {}\n  {words}", header(&note, here.now));
            }
        }
        Ok(Answer::about(text, node.local.as_str()))
    }

    pub(super) fn view_branch(&self, here: &Position, last: &NodeRef, rendering: Option<BranchFormat>) -> AnswerResult {
        let last = self.resolve_node(here, last)?;
        let path = self.loom.snapshot()?.path_back(last.id, &here.session.versions, MAX_BRANCH_NODES)?;
        let before = path.first().and_then(|first| first.parent).map(|parent| self.loom.node(parent)).transpose()?;
        let text = match rendering {
            Some(BranchFormat::Prose) => {
                path.iter().map(|node| content(node).into_owned()).collect::<Vec<_>>().join("\n\n")
            }
            Some(BranchFormat::Nodes) | None => {
                let nodes = path.iter().map(|node| {
                    let facts = facts(node);
                    let gap = if facts.is_empty() { "" } else { "\n" };
                    format!("{}{gap}{facts}\n---\n{}", header(node, here.now), content(node))
                });
                nodes.collect::<Vec<_>>().join("\n\n")
            }
        };
        let text = match before {
            Some(node) => {
                let above = escape::count(u64::from(node.depth) + 1, "node");
                format!("[Note: {above} before · → view branch:{}]\n{text}", escape::mention(&node))
            }
            None => text,
        };
        Ok(Answer::about(text, last.local.as_str()))
    }

    pub(super) fn diff(&self, here: &Position, nodes: &[NodeRef]) -> AnswerResult {
        let [first, second] = nodes else {
            let message = format!("two nodes are compared, and {} were named", nodes.len());
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint("→ diff ID ID"));
        };
        let (first, second) = (self.resolve_node(here, first)?, self.resolve_node(here, second)?);
        let mut text = format!("{} ↔ {} · ", id(&first), id(&second));
        text.push_str(&self.describe_divergence(here, &first, &second)?);
        text.push('\n');
        text.push_str(&diff_text(&first, &second));
        Ok(Answer::about(text, format!("{} {}", first.local, second.local)))
    }

    /// Describes the node at which the paths to two nodes diverge.
    fn describe_divergence(&self, here: &Position, first: &Node, second: &Node) -> Result<String, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let path = |to: NodeId| snapshot.path_back(to, &here.session.versions, 0);
        let (one, two) = (path(first.id)?, path(second.id)?);
        let last = one.iter().zip(&two).take_while(|(a, b)| a.id == b.id).last();
        Ok(match last {
            Some((node, _)) if node.id == first.id && node.id == second.id => "the same node".to_owned(),
            Some((node, _)) if node.id == first.id => format!("the second is {} below the first", below(&two, &one)),
            Some((node, _)) if node.id == second.id => format!("the first is {} below the second", below(&one, &two)),
            Some((node, _)) => format!("their paths part after {} (depth:{})", id(node), node.depth),
            None => "their paths have nothing in common".to_owned(),
        })
    }

    /// Returns the children of a node that have one kind.
    pub(super) fn children_of_kind(&self, node: &Node, kind: EdgeKind) -> Result<Vec<Node>, ToolError> {
        Ok(self.loom.snapshot()?.children(node.id, &ChildFilter { kind: Some(kind), pruned: false, limit: 0 })?)
    }
}

fn below(longer: &[Node], shorter: &[Node]) -> String {
    escape::count((longer.len() - shorter.len()) as u64, "step")
}

/// Compares two nodes: word by word if both are one paragraph, else line by line.
fn diff_text(first: &Node, second: &Node) -> String {
    let (old, new) = (first.content.as_str(), second.content.as_str());
    if old == new {
        return "the words are the same".to_owned();
    }
    let words = |text: &str| text.split_whitespace().count();
    if words(old) + words(new) > MAX_DIFF_ITEMS {
        return format!("too long to be compared: {} and {}", size(words(old)), size(words(new)));
    }
    if !old.trim_end().contains('\n') && !new.trim_end().contains('\n') {
        return diff_words(old, new);
    }
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for (at, group) in diff.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            text.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let _ = writeln!(text, "{sign} {}", change.value().trim_end_matches(['\n', '\r']));
        }
    }
    text.trim_end().to_owned()
}

fn size(words: usize) -> String {
    escape::count(words as u64, "word")
}

/// Marks deletions and insertions in one paragraph: `the [-old-]{+new+} word`.
fn diff_words(old: &str, new: &str) -> String {
    let diff = TextDiff::from_words(old, new);
    let mut text = String::new();
    let mut open = ChangeTag::Equal;
    let close = |tag| match tag {
        ChangeTag::Delete => "-]",
        ChangeTag::Insert => "+}",
        ChangeTag::Equal => "",
    };
    for change in diff.iter_all_changes() {
        if change.tag() != open {
            text.push_str(close(open));
            open = change.tag();
            text.push_str(match open {
                ChangeTag::Delete => "[-",
                ChangeTag::Insert => "{+",
                ChangeTag::Equal => "",
            });
        }
        text.push_str(change.value());
    }
    text.push_str(close(open));
    escape::escape(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_marks_deleted_and_inserted_words() {
        assert_eq!(diff_words("a quick fox", "a slow fox"), "a [-quick-]{+slow+} fox");
        assert_eq!(diff_words("one", "one two"), "one{+ two+}");
        assert_eq!(diff_words("[a7x2kq] human", "[a7x2kq] model"), "\\[a7x2kq] [-human-]{+model+}");
    }
}
