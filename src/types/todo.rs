//! Todos: the plan of a turn. An item is never deleted, and what became of it is said once.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded};
use crate::id::{SessionId, TodoId};

coded! {
    /// How far an item of a plan is.
    TodoStatus {
        /// Nobody has begun it.
        Pending = "pending", 0;
        /// It is being done: the first open item of a plan is.
        InProgress = "in_progress", 1;
        /// It is done.
        Completed = "completed", 2;
        /// It was given up.
        Cancelled = "cancelled", 3;
    }
}

impl TodoStatus {
    /// Whether there is something left to do.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Whose plan: that of one turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TodoScope {
    /// The session in which the turn began.
    pub session: SessionId,
    /// The number of the turn's first node in it; 0: what is planned by hand, outside of any turn.
    pub turn: u64,
}

/// What an item says, as somebody gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoDraft {
    /// What is to be done, in a few words.
    pub title: String,
    /// What whoever does it has to know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// By what it is seen to be done.
    #[serde(default, rename = "completion_criteria", skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// What kind of agent it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Its place in the plan, from 1; the end if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// An item to be added to a plan; the store gives it its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTodo {
    /// The item's ULID, made by the caller.
    pub id: TodoId,
    /// The session in whose turn it is made.
    pub session: SessionId,
    /// The turn: see [`TodoScope::turn`].
    pub turn: u64,
    /// What it says.
    #[serde(flatten)]
    pub draft: TodoDraft,
}

/// An item of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Todo {
    /// The item's ULID.
    pub id: TodoId,
    /// The session in whose turn it was made.
    #[serde(rename = "session_id")]
    pub session: SessionId,
    /// The turn in whose plan it stands.
    pub turn: u64,
    /// The turn in which it was made: another one if it was taken up since.
    pub made_in: u64,
    /// What it is called in that plan, from 1. It keeps that whatever is added or done.
    pub number: u32,
    /// What is to be done.
    pub title: String,
    /// What whoever does it has to know.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// By what it is seen to be done.
    #[serde(rename = "completion_criteria", skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// What kind of agent it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// How far it is.
    pub status: TodoStatus,
    /// What came of it, or why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was done or given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// How many items of a plan are how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TodoCounts {
    /// All.
    pub total: u32,
    /// Not begun.
    pub pending: u32,
    /// Being done.
    pub in_progress: u32,
    /// Done.
    pub completed: u32,
    /// Given up.
    pub cancelled: u32,
}

impl TodoCounts {
    /// Of these items.
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

    /// Those that there is something left to do of.
    #[must_use]
    pub const fn open(self) -> u32 {
        self.pending + self.in_progress
    }
}
