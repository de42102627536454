//! Sessions: an agent working in a tree, in a workspace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Timestamp, setters};
use crate::id::{AgentId, NodeId, SessionId, TreeId};

/// A session as read from the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Session {
    /// ULID of the session.
    pub id: SessionId,
    /// Path of the workspace folder.
    pub workspace: String,
    /// Agent of the session.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// Tree that the session works in.
    #[serde(rename = "tree_id")]
    pub tree: TreeId,
    /// Current position. If that node was pruned, its nearest visible ancestor.
    #[serde(rename = "position_id")]
    pub position: Option<NodeId>,
    /// Cursor of a person who reads on without moving the session, if nothing was done in the session since.
    #[serde(rename = "cursor_id", skip_serializing_if = "Option::is_none")]
    pub cursor: Option<NodeId>,
    /// Selected versions of nodes that have several. The newest version is the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<NodeId>,
    /// Start time by the host's clock.
    pub started_at: Timestamp,
    /// Time of the last activity.
    pub last_active_at: Timestamp,
    /// Expiry time: after it the session cannot be resumed. Its content remains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Number of nodes that the session appended; also the newest turn number.
    pub turns: u64,
    /// Number of the last turn before the newest reset; 0 without one. The session's conversation follows it.
    #[serde(skip_serializing_if = "is_zero")]
    pub since: u64,
    /// Number of messages of people in it, own and received, since the newest reset.
    pub person_turns: u64,
    /// Sum of the tokens that providers reported for its replies, prompts included. A node without such a report adds its
    /// own count.
    pub tokens: u64,
    /// False if the session was ended.
    pub active: bool,
    /// Metadata of the host application.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Session that delegated the work of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<SessionId>,
    /// Reference of the model that replied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Work item of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
}

impl Session {
    /// Key of a session's name in its metadata.
    pub const NAME_KEY: &'static str = "name";

    /// Node that the session's agent or person looks at: the cursor, else the position.
    #[must_use]
    pub fn place(&self) -> Option<NodeId> {
        self.cursor.or(self.position)
    }

    /// Name that a person gave the session.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.metadata.get(Self::NAME_KEY).map(String::as_str)
    }

    /// True if the session can be resumed at `now`: it was not ended and has not expired.
    #[must_use]
    pub fn can_resume(&self, now: Timestamp) -> bool {
        self.active && self.expires_at.is_none_or(|end| end > now)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde needs
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A work item of an external tracker, such as an issue. Sessions of different items do not see each other's content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct WorkItem {
    /// Project of the item; may be empty.
    pub project: String,
    /// Key of the item in the project.
    pub external_ref: String,
}

/// Numbers of sessions, those of delegated work included. Each session counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Sessions that can be continued.
    pub active: u64,
    /// Sessions that were ended before they expired.
    pub ended: u64,
    /// Sessions that have expired.
    pub expired: u64,
}

/// A session to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewSession {
    /// ULID, created by the caller.
    pub id: SessionId,
    /// Path of the workspace folder.
    pub workspace: String,
    /// Agent of the session.
    pub agent: AgentId,
    /// Tree of the session.
    pub tree: TreeId,
    /// Position in the tree.
    pub position: Option<NodeId>,
    /// Start time by the host's clock.
    pub started_at: Timestamp,
    /// Expiry time; `None`: the session never expires.
    pub expires_at: Option<Timestamp>,
    /// Metadata of the host application.
    pub metadata: BTreeMap<String, String>,
    /// Session that delegates the work of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<SessionId>,
    /// Reference of the model that replies in the session.
    pub model: Option<String>,
    /// Work item of the session.
    pub item: Option<WorkItem>,
}

impl NewSession {
    /// Creates a session in which an agent does work that another session delegates. It never expires.
    pub(crate) fn of_delegated_work(id: SessionId, agent: AgentId, from: &Session, started_at: Timestamp) -> Self {
        Self {
            id,
            workspace: from.workspace.clone(),
            agent,
            tree: from.tree,
            position: None,
            started_at,
            expires_at: None,
            metadata: BTreeMap::new(),
            delegated_by: Some(from.id),
            model: None,
            item: from.item.clone(),
        }
    }
}

/// Changes to a session. A field that is `None` leaves its value unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionPatch {
    /// New tree. It resets the session's state and, unless `position` is set, its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// New position, in the session's tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<NodeId>,
    /// Selected versions of nodes that have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<NodeId>>,
    /// False ends the session, true reopens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// New expiry time; an inner `None` removes it.
    #[serde(default, deserialize_with = "super::deserialize_present", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Option<Timestamp>>,
    /// New values of metadata by key; `None` removes the key. Other keys stay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Option<String>>,
    /// Reference of the model that replies in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Time of this activity of the session, if it is not the time of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<Timestamp>,
}

setters!(SessionPatch {
    /// Sets the new tree.
    tree(option TreeId);
    /// Sets the new position.
    position(option NodeId);
    /// Sets the selected versions.
    versions(option Vec<NodeId>);
    /// Sets whether the session can be resumed.
    active(option bool);
    /// Sets the end; `None`: never.
    expires_at(some Option<Timestamp>);
    /// Sets the model that replies in the session.
    model(some into String);
});

impl SessionPatch {
    /// Sets the value of a key of the metadata; `None` removes the key.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Option<String>>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}
