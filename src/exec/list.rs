//! The command `list`: the records that belong to a node, one line each.

use std::fmt::Write as _;

use super::{
    Answer, AnswerResult, Executor, Position,
    counts::{count, plural},
    documents::words,
    escape::quoted,
    node_format::{gist, id, mention},
};
use crate::{
    arrow::{Listing, NodeRef},
    id::{AgentId, NodeId, TreeId},
    store::{ChildFilter, SessionFilter, Snapshot, TreeFilter},
    tools::{ErrorCode, ToolError},
    types::{
        EdgeKind, Link, LinkTarget, MAX_SHOWN_NAME_CHARS, Node, Permission, Tree, first_words, one_line, sections,
    },
};

/// Records of a list of trees, pruned branches or changes.
const MAX_LISTED: usize = 20;
/// Links of a node that `view` shows.
const MAX_SHOWN_LINKS: usize = 5;

impl Executor<'_> {
    pub(super) fn list(&self, here: &Position, node: Option<&NodeRef>, what: Listing) -> AnswerResult {
        match what {
            Listing::Documents => return self.list_documents(),
            Listing::Trees => return self.list_trees(here),
            Listing::Agents => return self.list_agents(here),
            Listing::Pruned => return self.list_pruned(here, node),
            Listing::Changes => return self.list_changes(here, node),
            _ => {}
        }
        // Without a node, all bookmarks of the tree are listed.
        let is_whole_tree = what == Listing::Bookmarks && node.is_none();
        let node = match here.tree.root.filter(|_| is_whole_tree) {
            Some(root) => self.loom.node(root)?,
            None => self.node(here, node)?,
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
            other => return Err(ToolError::new(ErrorCode::InvalidSyntax, format!("{other} belong to no node"))),
        };
        let (of, about) = match is_whole_tree {
            true => (String::new(), "bookmarks"),
            false => (format!("{} → ", id(&node)), node.local.as_str()),
        };
        let hidden = match what {
            Listing::Continuations => self.hidden_continuations(&node)?,
            _ => String::new(),
        };
        let text = match lines.len() {
            0 => format!("{of}no {noun}s{hidden}"),
            number => format!("{of}{}{hidden}:\n{}", count(number as u64, noun), lines.join("\n")),
        };
        Ok(Answer::about(text, about))
    }

    /// Formats the number of pruned continuations: ` · 1 hidden (→ list a7x2kq pruned)`; empty without any.
    fn hidden_continuations(&self, node: &Node) -> Result<String, ToolError> {
        let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: true, limit: 0 };
        let all = self.loom.snapshot()?.children(node.id, &filter)?;
        Ok(match all.iter().filter(|child| child.state.hidden_by.is_some()).count() {
            0 => String::new(),
            hidden => format!(" · {hidden} hidden (→ list {} pruned)", mention(node)),
        })
    }

    /// Returns all versions of a node; empty if there is only one.
    fn versions(&self, node: &Node) -> Result<Vec<Node>, ToolError> {
        let all = self.loom.snapshot()?.versions(node.id)?;
        Ok(if all.len() > 1 { all } else { Vec::new() })
    }

    fn siblings(&self, node: &Node) -> Result<Vec<Node>, ToolError> {
        let place = self.loom.snapshot()?.original(node)?;
        let Some(parent) = place.parent else { return Ok(Vec::new()) };
        let mut children = self.children_of_kind(&self.loom.node(parent)?, EdgeKind::Continuation)?;
        children.retain(|child| child.id != place.id);
        Ok(children)
    }

    /// Lists the bookmarks at and below a node.
    fn bookmarks(&self, node: &Node) -> Result<Vec<String>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let mut lines = Vec::new();
        for marked in snapshot.bookmarks(node.tree)? {
            if self.may_read(&marked) && is_below(&*snapshot, node, &marked)? {
                let label = first_words(marked.state.bookmark.as_deref().unwrap_or(""), MAX_SHOWN_NAME_CHARS);
                let label = if label.is_empty() { String::new() } else { format!("{} · ", one_line(&label)) };
                lines.push(format!("  {} {label}{}", id(&marked), self.stored_summary(&marked)?));
            }
        }
        Ok(lines)
    }

    fn links(&self, node: &Node) -> Result<Vec<String>, ToolError> {
        let links = self.loom.snapshot()?.links(node.id)?;
        links.iter().map(|link| Ok(format!("  {}", self.link_line(node, link, true)?))).collect()
    }

    /// Appends the newest links of a node, a line each; `words`: with an excerpt of their other end.
    pub(super) fn push_links(&self, text: &mut String, node: &Node, words: bool) -> Result<(), ToolError> {
        let links = self.loom.snapshot()?.links(node.id)?;
        let omitted = links.len().saturating_sub(MAX_SHOWN_LINKS);
        for link in &links[omitted..] {
            let _ = write!(text, "\n  link {}", self.link_line(node, link, words)?);
        }
        if omitted > 0 {
            let _ = write!(text, "\n  … {omitted} more (→ list {} links)", mention(node));
        }
        Ok(())
    }

    fn link_line(&self, node: &Node, link: &Link, words: bool) -> Result<String, ToolError> {
        let (way, other) = match &link.target {
            LinkTarget::Node(target) if *target == node.id => ("←", self.linked_node(node, link.source, words)?),
            LinkTarget::Node(target) => ("→", self.linked_node(node, *target, words)?),
            LinkTarget::Tree(tree) => ("→", self.title(*tree)?),
            LinkTarget::Document { id, section } => {
                let name = self.document_name(*id)?;
                let section = section.as_deref().map(|s| format!(" §{}", one_line(s))).unwrap_or_default();
                ("→", format!("doc:{}{section}", quoted(&name)))
            }
        };
        let note = link.note.as_deref().map(|note| format!(" · note: {}", quoted(note))).unwrap_or_default();
        Ok(format!("{way} {other}{note}"))
    }

    /// Formats the other end of a link. Content of another tree is shown only with the permission `cross_tree`.
    fn linked_node(&self, node: &Node, other: NodeId, words: bool) -> Result<String, ToolError> {
        let other = self.loom.node(other)?;
        if other.tree == node.tree {
            let words = words && self.may_read(&other);
            let words = if words { format!(" {}", self.stored_summary(&other)?) } else { String::new() };
            return Ok(format!("{}{words}", id(&other)));
        }
        Ok(format!("{} in {}", id(&other), self.title(other.tree)?))
    }

    fn title(&self, tree: TreeId) -> Result<String, ToolError> {
        let (tree, session) = (self.loom.tree(tree)?, self.loom.session(self.session)?);
        Ok(match () {
            () if !tree.is_visible_to(&session) => "a tree of another work item".to_owned(),
            () if !self.agent.profile.permissions.has(Permission::CrossTree) => "another tree".to_owned(),
            () => format!("tree:{}", quoted(&tree.title)),
        })
    }

    /// Formats one line for each node.
    fn lines(&self, nodes: &[Node]) -> Result<Vec<String>, ToolError> {
        let names = self.author_names()?;
        let line = |node: &Node| {
            let below = match node.state.continuations {
                0 => String::new(),
                below => format!(" · {}", count(below, "continuation")),
            };
            let mark = node.state.bookmark.as_deref().map(|label| format!(" · ★ {}", one_line(label)));
            let (author, words) = (names.full(node), self.stored_summary(node)?);
            Ok(format!("  {} {author} · {words}{below}{}", id(node), mark.unwrap_or_default()))
        };
        nodes.iter().map(line).collect()
    }

    fn list_documents(&self) -> AnswerResult {
        let documents = self.loom.snapshot()?.documents()?;
        let mut lines = Vec::new();
        for document in documents.iter().filter(|document| !document.removed) {
            let text = self.document_text(document)?;
            let parts = match sections(&text).len() {
                0 => String::new(),
                parts => format!(" · {}", count(parts as u64, "section")),
            };
            lines.push(format!(
                "  {} · version {} · {}{parts}",
                quoted(&document.name),
                document.version,
                words(&text)
            ));
        }
        let hint = " (→ write doc:\"NAME\" append \"text\" makes one)";
        Ok(Answer::about(titled("document", lines.len(), &lines, hint), "documents"))
    }

    fn list_trees(&self, here: &Position) -> AnswerResult {
        let mut trees = self.loom.snapshot()?.trees(TreeFilter::default())?;
        trees.retain(|tree| tree.is_visible_to(&here.session));
        let line = |tree: &Tree| {
            let mark = if tree.id == here.tree.id { " * you are here" } else { "" };
            let nodes = count(tree.counts.messages, "node");
            format!("  {} · {nodes} · {}{mark}", quoted(&tree.title), tree.updated_at.age(here.now))
        };
        let lines: Vec<String> = trees.iter().map(line).collect();
        Ok(Answer::about(titled("tree", trees.len(), &lines, ""), "trees"))
    }

    fn list_agents(&self, here: &Position) -> AnswerResult {
        let snapshot = self.loom.snapshot()?;
        let positions = positions(&*snapshot, here)?;
        // A model may be an address of the owner's network.
        let whole_file = self.agent.profile.permissions.has(Permission::CrossTree);
        let mut lines = Vec::new();
        for agent in snapshot.agents()?.into_iter().filter(|agent| !agent.removed) {
            let you = if agent.id() == self.agent.id() { " (you)" } else { "" };
            let at = positions.iter().find(|(id, _)| *id == agent.id()).map(|(_, node)| format!(" · at {}", id(node)));
            let model =
                agent.profile.model.as_deref().filter(|_| whole_file).map(|model| format!(" · {}", one_line(model)));
            let (name, kind) = (one_line(agent.name()), agent.profile.kind);
            lines.push(format!("  {name}{you} · {kind}{}{}", model.unwrap_or_default(), at.unwrap_or_default()));
        }
        Ok(Answer::about(titled("agent", lines.len(), &lines, ""), "agents"))
    }

    /// Lists the pruned branches of the tree, or those below a node.
    fn list_pruned(&self, here: &Position, node: Option<&NodeRef>) -> AnswerResult {
        let snapshot = self.loom.snapshot()?;
        let top = node.map(|node| self.resolve_node(here, node)).transpose()?;
        let mut lines = Vec::new();
        for pruned in snapshot.pruned(here.tree.id)?.into_iter().rev() {
            if top.as_ref().map_or(Ok(true), |top| is_below(&*snapshot, top, &pruned))? && self.may_read(&pruned) {
                let author = self.author_names()?.full(&pruned);
                let parent = pruned.parent.map(|parent| snapshot.node(parent)).transpose()?.flatten();
                let below = parent.map(|parent| format!(" · below {}", id(&parent))).unwrap_or_default();
                let (node, words) = (id(&pruned), gist(&pruned));
                lines.push(format!("  {node} {author} · {words}{below} · → restore {}", mention(&pruned)));
            }
        }
        Ok(Answer::about(titled("pruned branch", lines.len(), &lines, ""), "pruned"))
    }
}

/// Returns the positions of the agents with an active session in the tree, the most recently active first.
pub(super) fn positions(snapshot: &dyn Snapshot, here: &Position) -> Result<Vec<(AgentId, Node)>, ToolError> {
    let filter = SessionFilter { tree: Some(here.tree.id), active: true, limit: 32, ..SessionFilter::default() };
    let mut found: Vec<(AgentId, Node)> = Vec::new();
    for session in snapshot.sessions(&filter)? {
        let at = session.place().or(here.tree.root).filter(|_| found.iter().all(|(agent, _)| *agent != session.agent));
        if let Some(node) = at.map(|at| snapshot.node(at)).transpose()?.flatten() {
            found.push((session.agent, node));
        }
    }
    Ok(found)
}

/// Formats a list that belongs to no node: `3 trees:`, with at most [`MAX_LISTED`] records.
pub(super) fn titled(noun: &str, number: usize, lines: &[String], hint: &str) -> String {
    let more = match number.saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("\n  … {more} more"),
    };
    match number {
        0 => format!("no {}{hint}", plural(noun)),
        number => format!("{}:\n{}{more}", count(number as u64, noun), lines[..number.min(MAX_LISTED)].join("\n")),
    }
}

/// True if `top` is a node, or stands on the path to it in any version.
fn is_below(snapshot: &dyn Snapshot, top: &Node, node: &Node) -> Result<bool, ToolError> {
    if top.id == node.id || top.begins_path() {
        return Ok(true);
    }
    let place = snapshot.original(top)?;
    let Some(steps) = node.depth.checked_sub(place.depth) else { return Ok(false) };
    // Parts of one node make a path longer than the depths say.
    for limit in [steps + 1, 0] {
        let path = snapshot.path_back(node.id, &[], limit)?;
        for above in &path {
            if above.id == top.id || snapshot.original(above)?.id == place.id {
                return Ok(true);
            }
        }
        if path.iter().all(|above| above.kind != EdgeKind::Version) {
            break;
        }
    }
    Ok(false)
}
