//! The journal: one entry for every change, in the order in which they were committed.

use serde::Serialize;

use super::{Timestamp, coded};
use crate::id::{AgentId, DocumentId, LocalId, NodeId, SessionId, TreeId};

coded! {
    /// What an agent did. One operation may be several changes; they share its name and are undone together.
    Op {
        /// Made a tree.
        CreateTree = "create_tree", 0;
        /// Continued or responded.
        Append = "append", 1;
        /// Wrote a note on a node.
        Annotate = "annotate", 2;
        /// Reworded a node: a branch or a version.
        Edit = "edit", 3;
        /// Marked a node, or took the mark off.
        Bookmark = "bookmark", 4;
        /// Hid a branch.
        Prune = "prune", 5;
        /// Showed a hidden branch again.
        Restore = "restore", 6;
        /// Kept a node out of contexts.
        Exclude = "exclude", 7;
        /// Let a node back into contexts.
        Include = "include", 8;
        /// Linked two things.
        Link = "link", 9;
        /// Took a link away.
        Unlink = "unlink", 10;
        /// Drew several nodes together in a new one.
        Merge = "merge", 11;
        /// Cut a node in two.
        Split = "split", 12;
        /// Copied a branch under another node.
        Copy = "copy", 13;
        /// Moved a branch under another node.
        Move = "move", 14;
        /// Changed a tree's title, description or system prompt.
        Rename = "rename", 15;
        /// Put a tree away, or took it out again.
        Archive = "archive", 16;
        /// Removed content for good.
        Purge = "purge", 17;
        /// Wrote or made a document.
        WriteDocument = "write_document", 18;
        /// Made, changed or removed an agent.
        Agent = "agent", 19;
        /// Started, moved or ended a session.
        Session = "session", 20;
        /// Brought in content from elsewhere.
        Import = "import", 21;
        /// Took an operation back.
        Undo = "undo", 22;
        /// Did again what an undo took back.
        Redo = "redo", 23;
        /// Generated a continuation.
        Generate = "generate", 24;
        /// Kept what it looked at, or what a model said that something is about. Older files have changes of what is kept
        /// at hand by this name too, which cannot be taken back.
        Memory = "memory", 25;
        /// Spoke in a turn, or was answered in it.
        Turn = "turn", 26;
        /// Planned, or said what became of an item of its plan.
        Plan = "plan", 27;
        /// Delegated work, or did some that was delegated.
        Delegate = "delegate", 28;
        /// Kept something in its context.
        Pin = "pin", 29;
        /// Let go of a pin.
        Unpin = "unpin", 30;
        /// Put something aside.
        Stash = "stash", 31;
        /// Let go of what was put aside.
        Unstash = "unstash", 32;
        /// Recorded a decision or a constraint, or had some forgotten.
        Record = "record", 33;
    }
}

impl Op {
    /// Whether `undo` may take it back. A purge is final; moving about is not what somebody means by "undo", nor is what an
    /// agent plans, nor its own words in the turn in which it says it. An import is taken back with the tree that it made.
    #[must_use]
    pub const fn can_be_undone(self) -> bool {
        !matches!(
            self,
            Self::Purge
                | Self::Session
                | Self::Undo
                | Self::Redo
                | Self::Memory
                | Self::Turn
                | Self::Plan
                | Self::Delegate
        )
    }
}

/// What a change is about where that is no node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A document.
    Document(DocumentId),
    /// An agent.
    Agent(AgentId),
    /// What stands aside under a label.
    Stash(String),
}

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalEntry {
    /// Its number: 1 for the first change of the file, one more for each.
    pub seq: u64,
    /// The number of the first entry of the same operation: `seq` itself where the operation is one change.
    pub group: u64,
    /// When, by the writer's clock; it may go backwards.
    pub at: Timestamp,
    /// Who did it.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// In which session.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// In which tree; `None` for documents and agents.
    #[serde(rename = "tree_id", skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// What the agent did.
    pub op: Op,
    /// Which change of that operation this is.
    pub change: String,
    /// The node it is about.
    #[serde(rename = "node_id", skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// That node's short id.
    #[serde(rename = "local_id", skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalId>,
    /// What else it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Whether something stood before that was changed or went: a label, a document, an agent, a tree among the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// For an undo or redo: the group of entries that it takes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
}
