//! The replies of a sample that exist, and those that are missing: a repeated command continues a stopped one.

use std::collections::{BTreeSet, VecDeque};

use super::{ExperimentError, SampleLabel, SampleRequest};
use crate::{
    id::NodeId,
    store::{ChildFilter, Snapshot},
    types::{AuthorType, EdgeKind, Node},
};

/// A reply to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SampleJob {
    /// The start, or the reply that the new one follows.
    pub(super) after: NodeId,
    pub(super) level: u32,
    pub(super) index: u32,
    /// Index of the model in the request.
    pub(super) model: usize,
}

/// Replies of a sample that exist and that are missing.
pub(super) struct SampleReplies {
    pub(super) present: u64,
    /// Missing replies to existing nodes, by model; those of lower levels first.
    pub(super) jobs: Vec<VecDeque<SampleJob>>,
}

impl SampleRequest {
    /// Reads the replies that exist, and returns those that are missing. A pruned reply counts as existing, and nothing
    /// is added below it; an interrupted one counts as missing.
    pub(super) fn replies(&self, snapshot: &dyn Snapshot) -> Result<SampleReplies, ExperimentError> {
        let id = self.id();
        let mut replies = SampleReplies { present: 0, jobs: vec![VecDeque::new(); self.models.len()] };
        for (model, opened) in self.models.iter().enumerate() {
            let mut places = VecDeque::from([(self.start, self.start, 1)]);
            while let Some((after, place, level)) = places.pop_front() {
                let mut found = BTreeSet::new();
                let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(true);
                for reply in snapshot.children(place, &filter)? {
                    let label = SampleLabel::of(&reply).filter(|label| label.id == id && label.level == level);
                    let Some(label) = label.filter(|label| label.model == opened.reference()) else { continue };
                    let counts = reply.author_type == AuthorType::Model && !reply.interrupted && label.index < self.n;
                    if !counts || !found.insert(label.index) {
                        continue;
                    }
                    replies.present += 1;
                    let visible = reply.state.pruned_by.is_none() && reply.purged_at.is_none();
                    if visible && level < self.depth {
                        places.push_back((reply.id, self.place_after(snapshot, reply.id)?, level + 1));
                    }
                }
                let missing = (0..self.n).filter(|index| !found.contains(index));
                replies.jobs[model].extend(missing.map(|index| SampleJob { after, level, index, model }));
            }
        }
        Ok(replies)
    }

    /// Returns the node that the replies after a reply continue: the follow-up message if it exists, else the reply.
    pub(super) fn place_after(&self, snapshot: &dyn Snapshot, reply: NodeId) -> Result<NodeId, ExperimentError> {
        let Some(follow_up) = &self.follow_up else { return Ok(reply) };
        let children = snapshot.children(reply, &ChildFilter::default().kind(EdgeKind::Continuation))?;
        let is_follow_up = |node: &&Node| node.author_type == AuthorType::Human && node.content == *follow_up;
        Ok(children.iter().find(is_follow_up).map_or(reply, |node| node.id))
    }
}
