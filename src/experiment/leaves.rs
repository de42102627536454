//! Leaves of a tree, with the scores that judges gave them.

use std::collections::{BTreeSet, HashMap, HashSet};

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
    /// Leaves that are interrupted replies.
    pub(super) interrupted: HashSet<NodeId>,
    /// Scores of each node, the oldest first.
    pub(super) scores: HashMap<NodeId, Vec<ScoreLabel>>,
}

impl Leaves {
    /// Reads the visible leaves of a tree, or those below one of its nodes.
    pub(super) fn read(snapshot: &dyn Snapshot, tree: TreeId, below: Option<NodeId>) -> Result<Self, ExperimentError> {
        let mut leaves = Self { nodes: Vec::new(), interrupted: HashSet::new(), scores: HashMap::new() };
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
        if node.state.hidden_by.is_some() || node.purged_at.is_some() {
            return Ok(());
        }
        if node.kind == EdgeKind::Continuation && node.state.continuations == 0 {
            let leaf = selected_version(snapshot, node, &[]).map_err(OpsError::from)?;
            self.nodes.push(leaf.id);
            if leaf.interrupted {
                self.interrupted.insert(leaf.id);
            }
        }
        if let (EdgeKind::Annotation, Some(parent), Some(score)) = (node.kind, node.parent, ScoreLabel::of(node)) {
            self.scores.entry(parent).or_default().push(score);
        }
        Ok(())
    }

    /// Judges of all leaves, sorted by name. Judges with one name and different rubrics are several.
    pub(super) fn judges(&self) -> Vec<ScoringJudge> {
        let scores = self.nodes.iter().filter_map(|leaf| self.scores.get(leaf)).flatten();
        let judges: BTreeSet<(&str, &str)> =
            scores.map(|score| (score.judge.as_str(), score.digest.as_str())).collect();
        let is_alone = |name: &str| judges.iter().filter(|(other, _)| *other == name).count() == 1;
        let judge = |(name, digest): &(&str, &str)| ScoringJudge {
            name: (*name).to_owned(),
            digest: (*digest).to_owned(),
            is_alone: is_alone(name),
        };
        judges.iter().map(judge).collect()
    }

    /// Newest score of a leaf by a judge.
    pub(super) fn score(&self, leaf: NodeId, judge: &ScoringJudge) -> Option<f64> {
        let is_own = |score: &&ScoreLabel| score.judge == judge.name && score.digest == judge.digest;
        self.scores.get(&leaf)?.iter().rev().find(is_own).map(|score| score.value)
    }
}

/// A judge whose scores a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScoringJudge {
    name: String,
    digest: String,
    /// True if no other judge has the name.
    is_alone: bool,
}

impl ScoringJudge {
    /// Name of the judge's column.
    pub(super) fn column(&self) -> String {
        let Self { name, digest, is_alone } = self;
        if *is_alone { format!("score: {name}") } else { format!("score: {name} ({digest})") }
    }
}
