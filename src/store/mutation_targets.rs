//! Targets of some mutations: the original place of a pin or stash, and the scope of a purge.

use serde::{Deserialize, Serialize};

use crate::{
    id::{NodeId, SessionId, TreeId},
    types::Timestamp,
};

/// Original position of a pin or stash that an undo restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PriorPlacement {
    /// Row number, which orders pins and stashes.
    pub number: u64,
    /// Original creation time.
    pub since: Timestamp,
}

/// The scope of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PurgeTarget {
    /// A single node.
    Node(NodeId),
    /// Every node that a session caused or received, and the session's state.
    Session(SessionId),
    /// Every node of a tree, and the tree's title, description and system context.
    Tree(TreeId),
}
