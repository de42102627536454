//! Commands that move the position: to a node, to a relative place, to another tree.

use super::{
    Answer, AnswerResult, Executor, Position,
    escape::quoted,
    node_format::{id, mention},
};
use crate::{
    arrow::{NodeRef, Relative},
    id::{AgentId, NodeId, TreeId},
    ops::{OpsError, require_visible},
    store::{LocalIdLookup, SessionFilter, TreeFilter},
    tools::{ErrorCode, ToolError},
    types::{Agent, AgentKind, Node, Permission, Session, Tree},
};

/// Minimum characters of an id that is looked for in other trees.
const MIN_FOREIGN_ID_CHARS: usize = 5;
/// Maximum number of trees in which a missing id is looked for.
const MAX_SEARCHED_TREES: u32 = 500;

impl Executor<'_> {
    pub(super) fn switch(
        &mut self,
        here: &Position,
        node: Option<&NodeRef>,
        relative: Option<Relative>,
        tree: Option<&str>,
    ) -> AnswerResult {
        let seen = |tree: &Tree| tree.is_visible_to(&here.session);
        let tree = tree.map(|text| self.loom.find_tree_among(text, seen)).transpose()?;
        let tree = tree.filter(|tree| tree.id != here.tree.id);
        if let Some(tree) = tree {
            return self.switch_tree(here, node, relative, &tree);
        }
        let target = match (node, relative) {
            (Some(node), _) => self.resolve_node(here, node)?,
            (None, Some(relative)) => self.relative(here, relative)?,
            (None, None) => {
                return Err(
                    ToolError::new(ErrorCode::InvalidSyntax, "where to?").hint("→ switch to ID · → switch to parent")
                );
            }
        };
        if target.state.pruned_by.is_some() {
            let failure = ToolError::new(ErrorCode::Conflict, format!("{} is pruned", id(&target)));
            return Err(failure.hint(format!("→ restore {} shows it again", mention(&target))));
        }
        self.actor().switch(&here.session, &target)?;
        self.describe_position(&self.loom.session(self.session)?, &target, None)
    }

    fn switch_tree(
        &mut self,
        here: &Position,
        node: Option<&NodeRef>,
        relative: Option<Relative>,
        tree: &Tree,
    ) -> AnswerResult {
        let target = match (node, relative) {
            (Some(node), _) => Some(self.resolve_node_in(tree, node)?),
            (None, Some(Relative::Root)) => tree.root.map(|root| self.loom.node(root)).transpose()?,
            (None, Some(_)) => {
                return Err(ToolError::new(
                    ErrorCode::InvalidSyntax,
                    "in another tree only root or an id names a node",
                ));
            }
            (None, None) => None,
        };
        if let Some(node) = target.as_ref().filter(|node| node.tree != tree.id) {
            return Err(ToolError::new(ErrorCode::NotFound, format!("{} is not in that tree", id(node))));
        }
        // A refused switch neither begins a session nor moves the agent.
        target.as_ref().map_or(Ok(()), require_visible)?;
        let filter = SessionFilter {
            workspace: Some(here.session.workspace.clone()),
            agent: Some(self.agent.id()),
            tree: Some(tree.id),
            active: true,
            unexpired: Some(here.now),
            limit: 1,
            ..SessionFilter::default()
        };
        let found = self.loom.snapshot()?.sessions(&filter)?.pop();
        let session = match found {
            Some(session) => session,
            None => {
                let end = self.loom.position(tree, None)?;
                let actor = self.loom.actor(&self.agent);
                self.loom.session(actor.start_session(&here.session.workspace, tree.id, Some(end.id))?)?
            }
        };
        let target = match target {
            Some(node) => node,
            None => self.loom.position(tree, Some(&session))?,
        };
        self.flush_trace();
        self.session = session.id;
        self.actor().switch(&session, &target)?;
        self.describe_position(&self.loom.session(self.session)?, &target, Some(tree))
    }

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

    /// Returns the node of an id that is not in the session's tree but in exactly one of the newest others that the agent
    /// may enter.
    fn find_elsewhere(&self, here: &Position, text: &str) -> Result<Option<Node>, ToolError> {
        if text.len() < MIN_FOREIGN_ID_CHARS || !self.agent.profile.permissions.has(Permission::CrossTree) {
            return Ok(None);
        }
        let snapshot = self.loom.snapshot()?;
        let mut found = None;
        let trees = snapshot.trees(TreeFilter { archived: true, limit: MAX_SEARCHED_TREES })?;
        let others = trees.iter().filter(|tree| tree.id != here.tree.id && tree.is_visible_to(&here.session));
        for tree in others {
            if let LocalIdLookup::One(node) = snapshot.resolve(tree.id, text)?
                && self.may_read(&node)
                && found.replace(*node).is_some()
            {
                return Ok(None);
            }
        }
        Ok(found)
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
            return Err(OpsError::NotFound { what: "node", text: id.to_owned(), nearest: Vec::new() }.into());
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

    /// The nearest ancestor with more than one continuation.
    fn branch_point(&self, here: &Position) -> Result<Node, ToolError> {
        let path = self.loom.snapshot()?.path_back(here.position.id, &here.session.versions, 0)?;
        for node in path.into_iter().rev().filter(|node| node.id != here.position.id) {
            if self.loom.has_branches(&node)? {
                return Ok(node);
            }
        }
        Err(ToolError::new(ErrorCode::NotFound, format!("the path to {} has no branch point", id(&here.position))))
    }

    fn relative(&self, here: &Position, relative: Relative) -> Result<Node, ToolError> {
        let (loom, at) = (&self.loom, &here.position);
        let none = |message: String| ToolError::new(ErrorCode::NotFound, message);
        let alone = || none(format!("{} has no siblings", id(at)));
        let shown = |node: Node| loom.version_on_path(&node, &here.session.versions);
        Ok(match relative {
            Relative::Parent => loom
                .parent_on_path(at, &here.session.versions)?
                .ok_or_else(|| none(format!("{} is the root; nothing is before it", id(at))))?,
            Relative::Here => at.clone(),
            Relative::BranchPoint => self.branch_point(here)?,
            Relative::Root => {
                let root = here.tree.root.ok_or_else(|| none("this tree has no root".to_owned()))?;
                loom.root_on_path(root, &here.session.versions)?
            }
            Relative::Next => shown(loom.sibling(at, true)?.ok_or_else(alone)?)?,
            Relative::Previous => shown(loom.sibling(at, false)?.ok_or_else(alone)?)?,
            Relative::Leaf => loom.leaf(at, &here.session.versions)?,
            Relative::Back => loom
                .previous_position(&here.session)?
                .ok_or_else(|| none("you have not been anywhere else in this tree yet".to_owned()))?,
        })
    }

    fn describe_position(&self, session: &Session, node: &Node, tree: Option<&Tree>) -> AnswerResult {
        let trail = self.trail(node, &session.versions, 2)?;
        Ok(Answer::Moved {
            node: Box::new(node.clone()),
            tree: tree.map(|tree| tree.title.clone()),
            trail: trail.into_iter().map(|step| step.map(|node| node.local)).collect(),
        })
    }

    /// Returns the abbreviated path to a node: the root and the last `end` nodes; `None` marks the omitted part.
    pub(super) fn trail(&self, node: &Node, versions: &[NodeId], end: u32) -> Result<Vec<Option<Node>>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let mut path = snapshot.path_back(node.id, versions, end.saturating_add(2))?;
        let above = path.len().saturating_sub(end as usize);
        let mut trail = Vec::new();
        if above > 0
            && let Some(root) = snapshot.tree(node.tree)?.and_then(|tree| tree.root)
        {
            trail.push(Some(self.loom.root_on_path(root, versions)?));
            if above > 1 {
                trail.push(None);
            }
        }
        trail.extend(path.drain(above..).map(Some));
        Ok(trail)
    }
}
