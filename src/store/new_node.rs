//! Rules of new nodes on every backend: hashes, copies, and what a node adds to its session.

use serde::Deserialize;

use super::{Result, StoreError};
use crate::{
    id::NodeId,
    types::{ContentHash, EdgeKind, HashInput, Json, NewNode, Node, Parent},
};

/// Computes a node's hash, unless `known` has it. Fails if the node declares a different one.
pub(super) fn hash_of(
    node: &NewNode,
    parent: Option<ContentHash>,
    known: impl FnOnce() -> Option<ContentHash>,
) -> Result<ContentHash> {
    match (node.purged_at, node.hash) {
        (Some(_), Some(kept)) if node.content.is_empty() => Ok(kept),
        (Some(_), _) => Err(StoreError::Refused("a tombstone has a hash and no content".to_owned())),
        (None, said) => {
            let hash = known().unwrap_or_else(|| {
                let input = HashInput::of_new(node, parent);
                said.map_or_else(|| ContentHash::of(&input), |said| said.recomputed(&input))
            });
            if said.is_some_and(|said| said != hash) {
                return Err(StoreError::Refused(format!("node {} does not match its hash", node.id)));
            }
            Ok(hash)
        }
    }
}

/// Makes the copy of a node under another parent; its metadata names the original. `version_of` and `edited_from` are
/// copies too.
pub(crate) fn copy_of(
    node: Node,
    (id, parent): (NodeId, NodeId),
    is_root: bool,
    [version_of, edited_from]: [Option<NodeId>; 2],
) -> Result<NewNode> {
    let metadata = origin(node.metadata.as_ref(), node.id)?;
    let mut new =
        NewNode::new(id, Parent::Node(parent), (node.author, node.author_type), node.created_at, node.content);
    new.kind = if is_root { EdgeKind::Continuation } else { node.kind };
    new.role = node.role;
    new.raw = node.raw;
    new.tool = node.tool;
    new.tokens = node.tokens;
    new.interrupted = node.interrupted;
    new.edited_from = edited_from;
    new.version_of = version_of;
    new.metadata = Some(metadata);
    Ok(new)
}

/// Adds `copied_from` to the metadata.
fn origin(metadata: Option<&Json>, from: NodeId) -> Result<Json> {
    let undecodable = |e: serde_json::Error| StoreError::Undecodable(format!("metadata of node {from}: {e}"));
    let mut map = match metadata.map(Json::value).transpose().map_err(undecodable)? {
        Some(serde_json::Value::Object(map)) => map,
        Some(other) => serde_json::Map::from_iter([("metadata".to_owned(), other)]),
        None => serde_json::Map::new(),
    };
    map.insert("copied_from".to_owned(), from.to_string().into());
    Ok(serde_json::Value::Object(map).into())
}

/// The position of an added turn relative to the session's other turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TurnOrder {
    /// After all other turns, and visible.
    Next,
    /// In a hidden branch.
    Hidden,
    /// Before existing turns.
    OutOfOrder,
}

impl TurnOrder {
    /// The order of a turn that follows all others, or not, and whose node is visible, or not.
    pub(super) fn new(in_order: bool, visible: bool) -> Self {
        match (in_order, visible) {
            (false, _) => Self::OutOfOrder,
            (true, false) => Self::Hidden,
            (true, true) => Self::Next,
        }
    }
}

/// Tokens and messages that a turn adds to its session.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnFigures {
    /// Tokens as the provider reported them, or as the node counts them.
    pub(super) tokens: u64,
    /// True for a message of a person.
    pub(super) person: bool,
}

impl TurnFigures {
    /// The figures of a new node. A node without an envelope of this program adds its own count of tokens.
    pub(super) fn of(node: &NewNode, person: bool) -> Self {
        let reported = node.provenance.as_ref().map(Json::as_str).and_then(reported_tokens);
        Self { tokens: reported.unwrap_or_else(|| node.tokens.unwrap_or(0).into()), person }
    }
}

/// Usage in an envelope of this program.
#[derive(Deserialize)]
struct Envelope {
    usage: Option<ReportedUsage>,
}

#[derive(Deserialize)]
struct ReportedUsage {
    prompt: u64,
    output: u64,
}

/// Returns the tokens of prompt and reply that a provider reported; `None` for an envelope of another format.
pub(super) fn reported_tokens(envelope: &str) -> Option<u64> {
    let usage = serde_json::from_str::<Envelope>(envelope).ok()?.usage?;
    Some(usage.prompt.saturating_add(usage.output))
}
