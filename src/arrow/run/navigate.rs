//! Moving the position: to a node, to a place named by its relation, to another tree.

use super::{
    CommandOutput, ErrorCode, Executor, Outcome, Position, ToolError,
    escape::{facts, id, mention},
};
use crate::{
    arrow::{NodeRef, Relative},
    id::NodeId,
    store::SessionFilter,
    types::{Node, Session, Tree},
};

impl Executor<'_> {
    pub(super) fn switch(
        &mut self,
        here: &Position,
        node: Option<&NodeRef>,
        relative: Option<Relative>,
        tree: Option<&str>,
    ) -> Outcome {
        let seen = |tree: &Tree| tree.is_visible_to(&here.session);
        let tree = tree.map(|text| self.loom.find_tree_among(text, seen)).transpose()?;
        let tree = tree.filter(|tree| tree.id != here.tree.id);
        if let Some(tree) = tree {
            return self.switch_tree(here, node, relative, &tree);
        }
        let target = match (node, relative) {
            (Some(node), _) => self.named(here, node)?,
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
        self.arrived(&self.loom.session(self.session)?, &target, None)
    }

    fn switch_tree(
        &mut self,
        here: &Position,
        node: Option<&NodeRef>,
        relative: Option<Relative>,
        tree: &Tree,
    ) -> Outcome {
        let target = match (node, relative) {
            (Some(node), _) => Some(self.node_of(tree.id, node.as_str())?),
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
                let id = self.loom.actor(&self.agent).start_session(&here.session.workspace, tree.id, tree.root)?;
                self.loom.session(id)?
            }
        };
        let target = match target {
            Some(node) => node,
            None => {
                let position = session.position.or(tree.root);
                let position = position.ok_or_else(|| ToolError::new(ErrorCode::NotFound, "that tree has no root"))?;
                self.loom.node(position)?
            }
        };
        self.keep_acts();
        self.session = session.id;
        self.actor().switch(&session, &target)?;
        self.arrived(&self.loom.session(self.session)?, &target, Some(tree))
    }

    fn relative(&self, here: &Position, relative: Relative) -> Result<Node, ToolError> {
        let (loom, at) = (&self.loom, &here.position);
        let none = |message: String| ToolError::new(ErrorCode::NotFound, message);
        let alone = || none(format!("{} has no siblings", id(at)));
        Ok(match relative {
            Relative::Parent => loom
                .parent_on_path(at, &here.session.versions)?
                .ok_or_else(|| none(format!("{} is the root; nothing is before it", id(at))))?,
            Relative::Root => {
                let root = here.tree.root.ok_or_else(|| none("this tree has no root".to_owned()))?;
                loom.node(root)?
            }
            Relative::Next => loom.sibling(at, true)?.ok_or_else(alone)?,
            Relative::Previous => loom.sibling(at, false)?.ok_or_else(alone)?,
            Relative::Leaf => loom.leaf(at)?,
            Relative::Back => loom
                .previous_position(&here.session)?
                .ok_or_else(|| none("you have not been anywhere else in this tree yet".to_owned()))?,
        })
    }

    fn arrived(&self, session: &Session, node: &Node, tree: Option<&Tree>) -> Outcome {
        let tree = tree.map(|tree| format!(" in tree:{}", super::escape::quoted(&tree.title))).unwrap_or_default();
        let facts = facts(node);
        let gap = if facts.is_empty() { "" } else { " · " };
        let path = self.trail(node, &session.versions, 2)?;
        let text = format!(
            "✓ switched to {}{tree}\n  depth:{} · {facts}{gap}path: {}",
            id(node),
            node.depth,
            path.iter()
                .map(|step| step.as_ref().map_or("…", |node| node.local.as_str()))
                .collect::<Vec<_>>()
                .join(" → ")
        );
        Ok(CommandOutput::about(text, node.local.as_str()))
    }

    /// The way to a node, abbreviated: the root, and its last `end` nodes; `None` stands for what is left out.
    pub(super) fn trail(&self, node: &Node, versions: &[NodeId], end: u32) -> Result<Vec<Option<Node>>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let end = snapshot.path_back(node.id, versions, end)?;
        let first = end.first().map_or(0, |node| node.depth);
        let mut trail = Vec::new();
        if first > 0
            && let Some(root) = snapshot.tree(node.tree)?.and_then(|tree| tree.root)
        {
            trail.extend(snapshot.node(root)?.map(Some));
            if first > 1 {
                trail.push(None);
            }
        }
        trail.extend(end.into_iter().map(Some));
        Ok(trail)
    }
}
