//! Todos: the plan of a turn. An item is never deleted, and its outcome is set once.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded, setters};
use crate::id::{SessionId, TodoId};

coded! {
    /// Status of a todo.
    TodoStatus {
        /// Pending: work has not started.
        Pending = "pending", 0;
        /// In progress. The first open item of a plan has this status.
        InProgress = "in_progress", 1;
        /// Completed; `outcome` holds the result.
        Completed = "completed", 2;
        /// Cancelled; `outcome` holds the reason.
        Cancelled = "cancelled", 3;
    }
}

impl TodoStatus {
    /// True if the item is pending or in progress.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Identifies the plan of one turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TodoScope {
    /// Session of the turn.
    pub session: SessionId,
    /// Number of the first node of the turn in the session; 0 for items added outside of a turn.
    pub turn: u64,
}

/// Text and position of a new item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoDraft {
    /// Short description of the work.
    pub title: String,
    /// Information needed for the work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Criteria that show that the work is complete.
    #[serde(
        default,
        rename = "completion_criteria",
        alias = "completionCriteria",
        skip_serializing_if = "String::is_empty"
    )]
    pub criteria: String,
    /// Kind of agent that the work is for.
    #[serde(default, alias = "agentType", skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Position in the plan, from 1; `None` appends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// Changes of an open item. A field that is `None` leaves its value unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TodoPatch {
    /// New description of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New information needed for the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// New criteria that show that the work is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<String>,
    /// New kind of agent that the work is for; empty removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// New position in the plan, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

setters!(TodoPatch {
    /// Sets the new description.
    title(some into String);
    /// Sets the new information.
    context(some into String);
    /// Sets the new criteria.
    criteria(some into String);
    /// Sets the new kind of agent.
    agent_type(some into String);
    /// Sets the new position.
    order(some u32);
});

/// An item to be added to a plan. The store assigns its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewTodo {
    /// ULID, created by the caller.
    pub id: TodoId,
    /// Session in whose turn the item is created.
    pub session: SessionId,
    /// Number of the turn, as in [`TodoScope::turn`].
    pub turn: u64,
    /// Text and position of the item.
    #[serde(flatten)]
    pub draft: TodoDraft,
}

/// An item of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Todo {
    /// ULID of the item.
    pub id: TodoId,
    /// Session in whose turn the item was created.
    #[serde(rename = "session_id")]
    pub session: SessionId,
    /// Turn whose plan contains the item.
    pub turn: u64,
    /// Turn in which the item was created. It differs from `turn` if the item was carried over.
    pub made_in: u64,
    /// Number in the plan, from 1. It never changes.
    pub number: u32,
    /// Short description of the work.
    pub title: String,
    /// Information needed for the work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Criteria that show that the work is complete.
    #[serde(rename = "completion_criteria", skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// Kind of agent that the work is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Status of the item.
    pub status: TodoStatus,
    /// Result of the work, or reason of the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// Time at which work on it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Time of completion or cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// Number of items of a plan by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TodoCounts {
    /// Number of all items.
    pub total: u32,
    /// Number of pending items.
    pub pending: u32,
    /// Number of items in progress.
    pub in_progress: u32,
    /// Number of completed items.
    pub completed: u32,
    /// Number of cancelled items.
    pub cancelled: u32,
}

impl TodoCounts {
    /// Counts items by status.
    #[must_use]
    pub fn of(todos: &[Todo]) -> Self {
        let mut counts = Self::default();
        for todo in todos {
            counts.total += 1;
            *match todo.status {
                TodoStatus::Pending => &mut counts.pending,
                TodoStatus::InProgress => &mut counts.in_progress,
                TodoStatus::Completed => &mut counts.completed,
                TodoStatus::Cancelled => &mut counts.cancelled,
            } += 1;
        }
        counts
    }

    /// Number of items that are pending or in progress.
    #[must_use]
    pub const fn open(self) -> u32 {
        self.pending + self.in_progress
    }
}
