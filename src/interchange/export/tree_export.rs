//! One tree that is exported: its nodes, its chosen paths and its authors.

use std::collections::BTreeMap;

use super::{
    export_format::ExportOptions,
    export_report::{ExportReport, left_out_kind},
};
use crate::{
    id::{AgentId, NodeId, TreeId},
    interchange::InterchangeError,
    ops::{OpsError, parts_to},
    store::{ChildFilter, Snapshot},
    types::{EdgeKind, Mode, Node, Tree},
};

/// An export of one tree.
pub(super) struct TreeExport<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) tree: Tree,
    pub(super) agents: BTreeMap<AgentId, String>,
    pub(super) options: ExportOptions,
    pub(super) report: ExportReport,
}

/// Receives a node, or a path.
type EachItem<'e, 'a, T> = dyn FnMut(&mut TreeExport<'a>, T) -> Result<(), InterchangeError> + 'e;

/// Nodes that one query of a tree reads.
const PAGE_NODES: u16 = 1_000;

/// Calls `each` with every node of a tree, in insertion order. A query passes by the nodes of other trees one by one, so the
/// first begins at the root, and none follows a page that is not full.
pub(in crate::interchange) fn each_tree_node(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    root: Option<NodeId>,
    each: &mut dyn FnMut(Node) -> Result<(), InterchangeError>,
) -> Result<(), InterchangeError> {
    let root = root.map(|root| snapshot.node(root)).transpose()?.flatten();
    let mut after = root.map_or(0, |root| root.seq.saturating_sub(1));
    loop {
        let page = snapshot.nodes_after(tree, after, PAGE_NODES.into())?;
        let is_last = page.len() < usize::from(PAGE_NODES);
        after = page.last().map_or(after, |last| last.seq);
        page.into_iter().try_for_each(&mut *each)?;
        if is_last {
            return Ok(());
        }
    }
}

impl<'a> TreeExport<'a> {
    pub(super) fn new(
        snapshot: &'a dyn Snapshot,
        tree: TreeId,
        options: ExportOptions,
    ) -> Result<Self, InterchangeError> {
        let tree = snapshot.tree(tree)?.ok_or_else(|| OpsError::missing("tree", tree))?;
        let agents = snapshot.agents()?.into_iter().map(|agent| (agent.id(), agent.name().to_owned())).collect();
        Ok(Self { snapshot, tree, agents, options, report: ExportReport::default() })
    }

    /// Name of a node's author, and of the role if the author edited another's words.
    pub(super) fn speaker(&self, node: &Node) -> String {
        let name = self.agents.get(&node.author).map_or("unknown", String::as_str);
        match node.role {
            Some(role) => format!("{role}, edited by {name}"),
            None => name.to_owned(),
        }
    }

    /// True if a node may be exported; else it is counted.
    pub(super) fn admits(&mut self, node: &Node) -> bool {
        self.report.admits(node, self.options)
    }

    /// Returns the first version of an original node that may be exported, usually the node itself. A node that is left out is
    /// counted.
    pub(super) fn first_version(&mut self, original: Node) -> Result<Option<Node>, InterchangeError> {
        if self.admits(&original) {
            return Ok(Some(original));
        }
        if original.state.versions > 0 {
            for version in self.snapshot.versions(original.id)? {
                if left_out_kind(&version, self.options).is_none()
                    && let Some(version) = self.whole_version(version)?
                {
                    return Ok(Some(version));
                }
            }
        }
        Ok(None)
    }

    /// Returns a version with the whole text of its original: a last part has the text of all parts that may be exported.
    /// `None` for another part, which is no text of the original alone.
    pub(super) fn whole_version(&self, mut version: Node) -> Result<Option<Node>, InterchangeError> {
        let is_version = |id: Option<NodeId>| -> Result<bool, InterchangeError> {
            let node = id.map(|id| self.snapshot.node(id)).transpose()?.flatten();
            Ok(node.is_some_and(|node| node.kind == EdgeKind::Version))
        };
        // Only a first part has versions of its own.
        if self.snapshot.second_half(&version)?.is_some() || is_version(version.version_of)? {
            return Ok(None);
        }
        if is_version(version.parent)? {
            let parts = parts_to(self.snapshot, &version, &[])?;
            let parts = parts.iter().filter(|part| left_out_kind(part, self.options).is_none());
            version.content = parts.map(|part| part.content.as_str()).collect();
        }
        Ok(Some(version))
    }

    /// Calls `each` with every node of the tree, in insertion order.
    pub(super) fn each_node(&mut self, each: &mut EachItem<'_, 'a, Node>) -> Result<(), InterchangeError> {
        let (snapshot, tree) = (self.snapshot, self.tree.id);
        each_tree_node(snapshot, tree, self.tree.root, &mut |node| each(self, node))
    }

    /// Calls `each` with the path to every chosen node.
    pub(super) fn each_path(&mut self, each: &mut EachItem<'_, 'a, Vec<Node>>) -> Result<(), InterchangeError> {
        let leaves = self.leaves()?;
        for leaf in leaves {
            let path = self.snapshot.path_back(leaf, &[], 0)?;
            each(self, path)?;
        }
        Ok(())
    }

    /// Refuses a buffer, whose path is one text and no conversation.
    pub(super) fn require_dialogue(&self) -> Result<(), InterchangeError> {
        match self.tree.mode {
            Mode::Dialogue => Ok(()),
            Mode::Buffer => Err(InterchangeError::Format(
                "a buffer is one text without messages; export it with --format prose".to_owned(),
            )),
        }
    }

    /// Side nodes of a node of one kind that may be exported, in insertion order.
    pub(super) fn side_nodes(&mut self, node: &Node, kind: EdgeKind) -> Result<Vec<Node>, InterchangeError> {
        let filter = ChildFilter::default().kind(kind).pruned(true);
        let mut children = self.snapshot.children(node.id, &filter)?;
        children.retain(|child| self.admits(child));
        Ok(children)
    }
}
