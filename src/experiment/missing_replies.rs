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
    /// is added below it or below a pruned follow-up message. An interrupted reply counts as missing, as does one of another
    /// temperature.
    pub(super) fn replies(&self, snapshot: &dyn Snapshot) -> Result<SampleReplies, ExperimentError> {
        let id = self.id();
        let mut replies = SampleReplies { present: 0, jobs: vec![VecDeque::new(); self.models.len()] };
        for (model, opened) in self.models.iter().enumerate() {
            let temperature = self.temperature(&**opened);
            let mut places = VecDeque::from([(self.start, self.start, 1)]);
            while let Some((after, place, level)) = places.pop_front() {
                let mut found = BTreeSet::new();
                let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(true);
                for reply in snapshot.children(place, &filter)? {
                    let label = SampleLabel::of(&reply).filter(|label| label.id == id && label.level == level);
                    let is_own =
                        |label: &SampleLabel| label.model == opened.reference() && label.temperature == temperature;
                    let Some(label) = label.filter(is_own) else { continue };
                    let counts = reply.author_type == AuthorType::Model && !reply.interrupted && label.index < self.n;
                    if !counts || !found.insert(label.index) {
                        continue;
                    }
                    replies.present += 1;
                    if level == self.depth || !is_visible(&reply) {
                        continue;
                    }
                    let follow_up = self.follow_up_after(snapshot, reply.id)?;
                    if follow_up.as_ref().is_none_or(is_visible) {
                        let place = follow_up.map_or(reply.id, |node| node.id);
                        places.push_back((reply.id, place, level + 1));
                    }
                }
                let missing = (0..self.n).filter(|index| !found.contains(index));
                replies.jobs[model].extend(missing.map(|index| SampleJob { after, level, index, model }));
            }
        }
        Ok(replies)
    }

    /// Returns the follow-up message after a reply, a visible one before a pruned one; `None` if there is none.
    pub(super) fn follow_up_after(
        &self,
        snapshot: &dyn Snapshot,
        reply: NodeId,
    ) -> Result<Option<Node>, ExperimentError> {
        let Some(follow_up) = &self.follow_up else { return Ok(None) };
        let mut children =
            snapshot.children(reply, &ChildFilter::default().kind(EdgeKind::Continuation).pruned(true))?;
        children.retain(|node| node.author_type == AuthorType::Human && node.content == *follow_up);
        Ok(children.into_iter().min_by_key(|node| !is_visible(node)))
    }
}

fn is_visible(node: &Node) -> bool {
    node.state.hidden_by.is_none() && node.purged_at.is_none()
}
