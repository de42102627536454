//! The session: one agent working in one tree from one place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{AgentId, NodeId, SessionId, TreeId};

/// A session as the store gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Session {
    /// The session's ULID.
    pub id: SessionId,
    /// The folder that the work belongs to.
    pub workspace: String,
    /// Who works.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// In which tree.
    #[serde(rename = "tree_id")]
    pub tree: TreeId,
    /// Where in it. If that node was pruned since, its nearest visible ancestor.
    #[serde(rename = "position_id")]
    pub position: Option<NodeId>,
    /// Which versions are read where a place has several; the newest where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<NodeId>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it last did something.
    pub last_active_at: Timestamp,
    /// When it can no longer be continued. Its content stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// How many nodes it has caused: the newest turn number.
    pub turns: u64,
    /// Tokens of all its nodes that were counted.
    pub tokens: u64,
    /// Whether it can be continued: nobody ended it.
    pub active: bool,
    /// Whatever the host application keeps here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The session that delegated what is done in this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<SessionId>,
    /// The model that spoke in it last, by its reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The work item that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
}

impl Session {
    /// Whether it can be continued at a time: nobody ended it, and it has not run out.
    #[must_use]
    pub fn goes_on(&self, now: Timestamp) -> bool {
        self.active && self.expires_at.is_none_or(|end| end > now)
    }
}

/// A piece of work that somebody else keeps the list of, such as an issue. What is said in a session of one item is seen
/// by no session of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkItem {
    /// The project; may be empty.
    pub project: String,
    /// The item's key there.
    pub external_ref: String,
}

/// A session to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// The session's ULID, made by the caller.
    pub id: SessionId,
    /// The folder that the work belongs to.
    pub workspace: String,
    /// Who works.
    pub agent: AgentId,
    /// In which tree.
    pub tree: TreeId,
    /// Where in it.
    pub position: Option<NodeId>,
    /// When it begins.
    pub started_at: Timestamp,
    /// When it can no longer be continued.
    pub expires_at: Option<Timestamp>,
    /// Whatever the host application keeps here.
    pub metadata: BTreeMap<String, String>,
    /// The session that delegates what is to be done in this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<SessionId>,
    /// The model that is to speak in it, by its reference.
    pub model: Option<String>,
    /// The work item that it is for.
    pub item: Option<WorkItem>,
}

/// Changes to a session; a field that is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPatch {
    /// The tree that it goes to, where it begins anew: its register too. It stands nowhere there unless `position` says
    /// so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Where it stands now, in its own tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<NodeId>,
    /// Which versions are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<NodeId>>,
    /// Whether it can be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// When it can no longer be continued.
    #[serde(default, deserialize_with = "super::emptied", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Option<Timestamp>>,
    /// The whole map of metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// The model that speaks in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
