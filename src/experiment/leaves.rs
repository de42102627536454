//! Leaves of a tree, with the scores that judges gave them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{ExperimentError, ScoreLabel};
use crate::{
    id::{NodeId, TreeId},
    ops::{OpsError, selected_version},
    store::Snapshot,
    types::{EdgeKind, Node},
};

/// Nodes that one query reads.
const PAGE_NODES: u32 = 1_000;

/// Leaves of a tree or branch, in insertion order.
pub(super) struct Leaves {
    pub(super) nodes: Vec<NodeId>,
    /// Scores of each node, the oldest first.
    pub(super) scores: HashMap<NodeId, Vec<ScoreLabel>>,
}

impl Leaves {
    /// Reads the visible leaves of a tree, or those below one of its nodes.
    pub(super) fn read(snapshot: &dyn Snapshot, tree: TreeId, below: Option<NodeId>) -> Result<Self, ExperimentError> {
        let mut leaves = Self { nodes: Vec::new(), scores: HashMap::new() };
        // A parent precedes its children, so one pass finds the whole branch.
        let mut branch = HashSet::new();
        // What follows an edited node is below the original.
        let below = below.map(|below| snapshot.node(below)).transpose()?.flatten();
        let below = below.map(|below| snapshot.original(&below)).transpose()?.map(|below| below.id);
        let mut after = 0;
        loop {
            let page = snapshot.nodes_after(tree, after, PAGE_NODES)?;
            let Some(last) = page.last() else { return Ok(leaves) };
            after = last.seq;
            for node in &page {
                if let Some(below) = below {
                    let is_inside = node.id == below || node.parent.is_some_and(|parent| branch.contains(&parent));
                    if !is_inside {
                        continue;
                    }
                    branch.insert(node.id);
                }
                leaves.add(snapshot, node)?;
            }
        }
    }

    fn add(&mut self, snapshot: &dyn Snapshot, node: &Node) -> Result<(), ExperimentError> {
        if node.state.pruned_by.is_some() || node.purged_at.is_some() {
            return Ok(());
        }
        if node.kind == EdgeKind::Continuation && node.state.continuations == 0 {
            self.nodes.push(selected_version(snapshot, node, &[]).map_err(OpsError::from)?.id);
        }
        if let (EdgeKind::Annotation, Some(parent), Some(score)) = (node.kind, node.parent, ScoreLabel::of(node)) {
            self.scores.entry(parent).or_default().push(score);
        }
        Ok(())
    }

    /// Names of the judges of all leaves, sorted.
    pub(super) fn judges(&self) -> Vec<String> {
        let leaves = self.nodes.iter().filter_map(|leaf| self.scores.get(leaf)).flatten();
        let names: BTreeMap<&str, ()> = leaves.map(|score| (score.judge.as_str(), ())).collect();
        names.into_keys().map(str::to_owned).collect()
    }

    /// Newest score of a leaf by a judge.
    pub(super) fn score(&self, leaf: NodeId, judge: &str) -> Option<f64> {
        self.scores.get(&leaf)?.iter().rev().find(|score| score.judge == judge).map(|score| score.value)
    }
}
