//! The command `list`: the records that belong to a node, one line each.

use super::{
    Answer, AnswerResult, Executor, Position,
    escape::{count, id, quoted},
};
use crate::{
    arrow::{Listing, NodeRef},
    id::{NodeId, TreeId},
    tools::ToolError,
    types::{EdgeKind, Link, LinkTarget, Node, one_line},
};

impl Executor<'_> {
    pub(super) fn list(&self, here: &Position, node: Option<&NodeRef>, what: Listing) -> AnswerResult {
        // Without a node, all bookmarks of the tree are listed.
        let node = match (what, node, here.tree.root) {
            (Listing::Bookmarks, None, Some(root)) => self.loom.node(root)?,
            _ => self.node(here, node)?,
        };
        let (noun, lines) = match what {
            Listing::Continuations => {
                ("continuation", self.lines(&self.children_of_kind(&node, EdgeKind::Continuation)?)?)
            }
            Listing::Annotations => ("annotation", self.lines(&self.children_of_kind(&node, EdgeKind::Annotation)?)?),
            Listing::Versions => ("version", self.lines(&self.versions(&node)?)?),
            Listing::Siblings => ("sibling", self.lines(&self.siblings(&node)?)?),
            Listing::Bookmarks => ("bookmark", self.bookmarks(&node)?),
            Listing::Links => ("link", self.links(&node)?),
        };
        let text = match lines.len() {
            0 => format!("{} → no {noun}s", id(&node)),
            number => format!("{} → {}:\n{}", id(&node), count(number as u64, noun), lines.join("\n")),
        };
        Ok(Answer::about(text, node.local.as_str()))
    }

    /// Returns all versions of a node; empty if there is only one.
    fn versions(&self, node: &Node) -> Result<Vec<Node>, ToolError> {
        let all = self.loom.snapshot()?.versions(node.id)?;
        Ok(if all.len() > 1 { all } else { Vec::new() })
    }

    fn siblings(&self, node: &Node) -> Result<Vec<Node>, ToolError> {
        let Some(parent) = node.parent else { return Ok(Vec::new()) };
        let place = node.version_of.unwrap_or(node.id);
        let mut children = self.children_of_kind(&self.loom.node(parent)?, EdgeKind::Continuation)?;
        children.retain(|child| child.id != place);
        Ok(children)
    }

    /// Lists the bookmarks at and below a node.
    fn bookmarks(&self, node: &Node) -> Result<Vec<String>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let mut lines = Vec::new();
        for marked in snapshot.bookmarks(node.tree)? {
            let Some(up) = marked.depth.checked_sub(node.depth) else { continue };
            let path = snapshot.path_back(marked.id, &[], up + 1)?;
            if marked.id == node.id || path.iter().any(|above| above.id == node.id) {
                let label = marked.state.bookmark.as_deref().unwrap_or("");
                let label = if label.is_empty() { String::new() } else { format!("{} · ", one_line(label)) };
                lines.push(format!("  {} {label}{}", id(&marked), self.stored_summary(&marked)?));
            }
        }
        Ok(lines)
    }

    fn links(&self, node: &Node) -> Result<Vec<String>, ToolError> {
        let links = self.loom.snapshot()?.links(node.id)?;
        links.iter().map(|link| self.link_line(node, link)).collect()
    }

    fn link_line(&self, node: &Node, link: &Link) -> Result<String, ToolError> {
        let (way, other) = match &link.target {
            LinkTarget::Node(target) if *target == node.id => ("←", self.linked_node(node, link.source)?),
            LinkTarget::Node(target) => ("→", self.linked_node(node, *target)?),
            LinkTarget::Tree(tree) => ("→", self.title(*tree)?),
            LinkTarget::Document { id, section } => {
                let name = self.document_name(*id)?;
                let section = section.as_deref().map(|s| format!(" §{}", one_line(s))).unwrap_or_default();
                ("→", format!("doc:{}{section}", quoted(&name)))
            }
        };
        let note = link.note.as_deref().map(|note| format!(" · note: {}", quoted(note))).unwrap_or_default();
        Ok(format!("  {way} {other}{note}"))
    }

    /// Formats the other end of a link. Content of another tree is shown only with the permission `cross_tree`.
    fn linked_node(&self, node: &Node, other: NodeId) -> Result<String, ToolError> {
        let other = self.loom.node(other)?;
        if other.tree == node.tree {
            return Ok(format!("{} {}", id(&other), self.stored_summary(&other)?));
        }
        Ok(format!("{} in {}", id(&other), self.title(other.tree)?))
    }

    fn title(&self, tree: TreeId) -> Result<String, ToolError> {
        let (tree, session) = (self.loom.tree(tree)?, self.loom.session(self.session)?);
        let seen = tree.is_visible_to(&session);
        Ok(if seen { format!("tree:{}", quoted(&tree.title)) } else { "a tree of another work item".to_owned() })
    }

    /// Formats one line for each node.
    fn lines(&self, nodes: &[Node]) -> Result<Vec<String>, ToolError> {
        nodes
            .iter()
            .map(|node| Ok(format!("  {} {} · {}", id(node), node.author_type, self.stored_summary(node)?)))
            .collect()
    }
}
