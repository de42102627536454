//! The nodes before and after a node. Empty ones, such as replies that were cancelled, are skipped.

use std::collections::HashMap;

use super::{Hit, Result, turns::set_received_turn};
use crate::{
    id::{NodeId, SessionId},
    store::{ChildFilter, Neighbors, Snapshot},
    types::{EdgeKind, Node},
};

/// Default number of nodes on each side of the one in the middle.
pub const DEFAULT_NEIGHBORS: u32 = 8;
/// Maximum number of empty nodes that are skipped on one side.
const MAX_SKIPPED_NODES: u32 = 4;

/// True if a node has neither text nor calls.
pub(crate) fn is_empty(node: &Node) -> bool {
    node.tool.calls.is_none() && node.content.trim().is_empty()
}

/// Returns a node with its ancestors and the continuations after it, in order, at most `each` on either side. A node beside
/// the path, such as a result, is followed by the continuations of its parent.
///
/// # Errors
/// If the store cannot be read, or the node does not exist.
pub fn around(snapshot: &dyn Snapshot, node: &Node, versions: &[NodeId], each: u32) -> Result<Vec<Node>> {
    let mut found = snapshot.path_back(node.id, versions, each.saturating_add(1 + MAX_SKIPPED_NODES))?;
    found.retain(|one| one.id == node.id || !is_empty(one));
    found.drain(..found.len().saturating_sub(each as usize + 1));
    let is_beside = !matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version);
    let mut last = node.parent.filter(|_| is_beside).unwrap_or(node.id);
    let continuation = ChildFilter { kind: Some(EdgeKind::Continuation), limit: 1, ..ChildFilter::default() };
    let (mut left, mut skipped) = (each, 0);
    while left > 0 && skipped <= MAX_SKIPPED_NODES {
        let Some(next) = snapshot.children(last, &continuation)?.pop() else { break };
        last = next.id;
        if is_empty(&next) {
            skipped += 1;
        } else {
            left -= 1;
            found.push(next);
        }
    }
    Ok(found)
}

/// Reads the parent and the first continuation of each hit, and the turns of received messages.
pub(super) fn load_neighbors<'h>(
    snapshot: &dyn Snapshot,
    reader: Option<SessionId>,
    hits: impl Iterator<Item = &'h mut Hit>,
) -> Result<()> {
    let mut hits: Vec<&mut Hit> = hits.collect();
    let beside = snapshot.neighbors(&hits.iter().map(|hit| hit.node.seq).collect::<Vec<_>>())?;
    let ends = |beside: &Neighbors| [beside.before, beside.after.first().copied()];
    let mut seqs: Vec<u64> = beside.iter().flat_map(ends).flatten().collect();
    seqs.sort_unstable();
    seqs.dedup();
    let nodes: HashMap<u64, Node> = snapshot.nodes_at(&seqs)?.into_iter().map(|node| (node.seq, node)).collect();
    for (hit, beside) in hits.iter_mut().zip(&beside) {
        let [before, after] = ends(beside).map(|seq| nodes.get(&seq?).cloned());
        hit.parent = skip_empty(snapshot, before, &|beside| beside.before)?;
        hit.first_continuation = skip_empty(snapshot, after, &|beside| beside.after.first().copied())?;
        for node in [Some(&mut hit.node), hit.parent.as_mut(), hit.first_continuation.as_mut()].into_iter().flatten() {
            reader.map_or(Ok(()), |reader| set_received_turn(snapshot, reader, node))?;
        }
    }
    Ok(())
}

/// Returns the node, or the `next` one while it is empty.
fn skip_empty(
    snapshot: &dyn Snapshot,
    mut node: Option<Node>,
    next: &dyn Fn(&Neighbors) -> Option<u64>,
) -> Result<Option<Node>> {
    for _ in 0..MAX_SKIPPED_NODES {
        let Some(empty) = node.as_ref().filter(|node| is_empty(node)) else { break };
        let beside = snapshot.neighbors(&[empty.seq])?.pop().unwrap_or_default();
        node = next(&beside).map(|seq| snapshot.nodes_at(&[seq])).transpose()?.and_then(|mut nodes| nodes.pop());
    }
    Ok(node)
}
