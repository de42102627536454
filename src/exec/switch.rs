//! Commands that move the position: to a node, to a relative place, to another tree.

use super::{
    Answer, AnswerResult, Executor, Position,
    node_format::{id, mention},
};
use crate::{
    arrow::{NodeRef, Relative},
    id::NodeId,
    ops::require_visible,
    store::SessionFilter,
    tools::{ErrorCode, ToolError},
    types::{Node, Session, Tree},
};

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
        if target.state.hidden_by.is_some() {
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

    pub(super) fn relative(&self, here: &Position, relative: Relative) -> Result<Node, ToolError> {
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
