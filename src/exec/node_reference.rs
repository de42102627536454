//! Resolution of the references to nodes in commands: ids, bookmarks, positions of agents.

use super::{
    Executor, Position,
    escape::quoted,
    node_format::{id, mention},
};
use crate::{
    arrow::NodeRef,
    id::{AgentId, TreeId},
    ops::OpsError,
    store::SessionFilter,
    tools::{ErrorCode, ToolError},
    types::{Agent, AgentKind, Node, Permission, Session, Tree},
};

impl Executor<'_> {
    /// Resolves an id in the current tree; `None` is the position.
    pub(super) fn node(&self, here: &Position, id: Option<&NodeRef>) -> Result<Node, ToolError> {
        match id {
            Some(id) => self.resolve_node(here, id),
            None => Ok(here.position.clone()),
        }
    }

    fn resolve_id(&self, here: &Position, id: &str) -> Result<Node, ToolError> {
        let node = match self.find_visible_node(here.tree.id, id) {
            Err(error) if error.code == ErrorCode::NotFound => match self.bookmarked(&here.tree, id) {
                // `content-of:"hinge"`: a label of one word reads like an id.
                Err(marked) if marked.code == ErrorCode::NotFound => self.find_elsewhere(here, id)?.ok_or(error)?,
                marked => marked?,
            },
            found => found?,
        };
        if node.tree == here.tree.id {
            return Ok(node);
        }
        let message = format!("[{}] is in another tree", node.local);
        // The title is content of a tree that this agent may not read.
        if !self.agent.profile.permissions.has(Permission::CrossTree) {
            return Err(
                ToolError::new(ErrorCode::CrossTree, message).hint("going there needs the permission cross_tree")
            );
        }
        let title = quoted(&self.loom.tree(node.tree)?.title);
        let hint = format!("→ switch to {} in tree:{title}", mention(&node));
        Err(ToolError::new(ErrorCode::CrossTree, format!("{message}: {title}")).hint(hint))
    }

    /// Returns the node of an id that is not in the session's tree but in exactly one other that the agent may enter.
    fn find_elsewhere(&self, here: &Position, text: &str) -> Result<Option<Node>, ToolError> {
        if !self.agent.profile.permissions.has(Permission::CrossTree) {
            return Ok(None);
        }
        let is_visible = |tree: &Tree| tree.is_visible_to(&here.session);
        Ok(self.loom.find_elsewhere(here.tree.id, text, is_visible, |node| self.may_read(node))?)
    }

    /// Returns whether the agent may read a node. A thought is readable by its author and by people.
    pub(super) fn may_read(&self, node: &Node) -> bool {
        node.is_readable_by(self.agent.id()) || self.agent.profile.kind == AgentKind::Human
    }

    /// Finds the node of an id in a tree. A full id can name a node of another tree.
    fn find_visible_node(&self, tree: TreeId, id: &str) -> Result<Node, ToolError> {
        let node = self.loom.find_node(tree, id)?;
        // A guessed id of another work item's tree, or of another agent's thought, gets the same error as a wrong id.
        let foreign = node.tree != tree && !self.loom.tree(node.tree)?.is_visible_to(&self.loom.session(self.session)?);
        if foreign || !self.may_read(&node) {
            return Err(OpsError::missing("node", id).into());
        }
        Ok(node)
    }

    /// The node that a reference means in the tree of the session.
    pub(super) fn resolve_node(&self, here: &Position, node: &NodeRef) -> Result<Node, ToolError> {
        match node {
            NodeRef::Id(id) => self.resolve_id(here, id),
            NodeRef::Place { place } => self.relative(here, *place),
            NodeRef::Bookmark { bookmark } => self.bookmarked(&here.tree, bookmark),
            NodeRef::Agent { at } => self.position_of(here, at),
        }
    }

    /// The node that a reference means in another tree, where only an id and a bookmark mean one.
    pub(super) fn resolve_node_in(&self, tree: &Tree, node: &NodeRef) -> Result<Node, ToolError> {
        match node {
            NodeRef::Id(id) => self.find_visible_node(tree.id, id),
            NodeRef::Bookmark { bookmark } => self.bookmarked(tree, bookmark),
            NodeRef::Place { .. } | NodeRef::Agent { .. } => Err(ToolError::new(
                ErrorCode::InvalidSyntax,
                "in another tree only root, an id or a bookmark names a node",
            )),
        }
    }

    fn bookmarked(&self, tree: &Tree, label: &str) -> Result<Node, ToolError> {
        let mut marked = self.loom.snapshot()?.bookmarks(tree.id)?;
        marked.retain(|node| self.may_read(node));
        let known: Vec<String> = marked.iter().filter_map(|node| node.state.bookmark.as_deref()).map(quoted).collect();
        let has = |node: &Node, label: &str| {
            node.state.bookmark.as_deref().is_some_and(|own| own.to_lowercase() == label.to_lowercase())
        };
        marked.retain(|node| has(node, label));
        match marked.as_slice() {
            [node] => Ok(node.clone()),
            [] => {
                let failure = ToolError::new(ErrorCode::NotFound, format!("no bookmark {}", quoted(label)));
                Err(if known.is_empty() { failure } else { failure.hint(format!("there are: {}", known.join(", "))) })
            }
            several => {
                let ids: Vec<String> = several.iter().map(id).collect();
                let message = format!("{} nodes have the bookmark {}", ids.len(), quoted(label));
                Err(ToolError::new(ErrorCode::Ambiguous, message).hint(format!("write the id: {}", ids.join(" · "))))
            }
        }
    }

    /// The position of an agent in its newest session of the tree; `human` means any person.
    fn position_of(&self, here: &Position, name: &str) -> Result<Node, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let named = |agent: &&Agent| !agent.removed && agent.name().eq_ignore_ascii_case(name);
        let person = |agent: &&Agent| {
            !agent.removed && agent.profile.kind == AgentKind::Human && matches!(name, "human" | "person" | "user")
        };
        let agents = snapshot.agents()?;
        let ids: Vec<AgentId> = match agents.iter().find(named) {
            Some(agent) => vec![agent.id()],
            None => agents.iter().filter(person).map(Agent::id).collect(),
        };
        if ids.is_empty() {
            return Err(self
                .loom
                .agent(name)
                .map_or_else(ToolError::from, |_| ToolError::new(ErrorCode::NotFound, name)));
        }
        let filter = SessionFilter {
            workspace: Some(here.session.workspace.clone()),
            tree: Some(here.tree.id),
            active: true,
            unexpired: Some(here.now),
            ..SessionFilter::default()
        };
        let sessions = snapshot.sessions(&filter)?;
        let position = sessions.iter().find(|session| ids.contains(&session.agent)).map(Session::place);
        match position.map(|position| position.or(here.tree.root)) {
            Some(Some(position)) => Ok(self.loom.node(position)?),
            _ => Err(ToolError::new(ErrorCode::NotFound, format!("{name} has no position in this tree"))),
        }
    }
}
