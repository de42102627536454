//! The journal: one entry for each change, in commit order.

use serde::Serialize;

use super::{Timestamp, coded};
use crate::id::{AgentId, DocumentId, LocalId, NodeId, SessionId, TreeId};

coded! {
    /// Operation of an agent. An operation of several changes has one entry per change; `undo` reverts all of them.
    Op {
        /// Created a tree.
        CreateTree = "create_tree", 0;
        /// Appended a node to the conversation.
        Append = "append", 1;
        /// Added a note to a node.
        Annotate = "annotate", 2;
        /// Edited a node: created a branch or a version.
        Edit = "edit", 3;
        /// Added or removed a bookmark.
        Bookmark = "bookmark", 4;
        /// Hid a branch.
        Prune = "prune", 5;
        /// Made a pruned branch visible.
        Restore = "restore", 6;
        /// Excluded a node from contexts.
        Exclude = "exclude", 7;
        /// Included an excluded node in contexts.
        Include = "include", 8;
        /// Linked two things.
        Link = "link", 9;
        /// Removed a link.
        Unlink = "unlink", 10;
        /// Created a node that merges several nodes.
        Merge = "merge", 11;
        /// Split a node in two.
        Split = "split", 12;
        /// Copied a branch under another node.
        Copy = "copy", 13;
        /// Moved a branch under another node.
        Move = "move", 14;
        /// Changed a tree's title, description or system prompt.
        Rename = "rename", 15;
        /// Archived or unarchived a tree.
        Archive = "archive", 16;
        /// Removed content permanently.
        Purge = "purge", 17;
        /// Created or changed a document.
        WriteDocument = "write_document", 18;
        /// Created, changed or removed an agent.
        Agent = "agent", 19;
        /// Started, moved or ended a session.
        Session = "session", 20;
        /// Imported content from a file.
        Import = "import", 21;
        /// Reverted an operation.
        Undo = "undo", 22;
        /// Repeated an undone operation.
        Redo = "redo", 23;
        /// Generated a continuation.
        Generate = "generate", 24;
        /// Recorded actions that change no tree, or saved a summary. Older files use it also for pins and stashes;
        /// these entries cannot be undone.
        Memory = "memory", 25;
        /// Appended the message or the replies of a model's turn.
        Turn = "turn", 26;
        /// Added todos, or changed their status.
        Plan = "plan", 27;
        /// Delegated work, or did delegated work.
        Delegate = "delegate", 28;
        /// Pinned a node or a document in the agent's context.
        Pin = "pin", 29;
        /// Removed a pin.
        Unpin = "unpin", 30;
        /// Stashed a text under a label.
        Stash = "stash", 31;
        /// Removed a stash.
        Unstash = "unstash", 32;
        /// Recorded a decision or a constraint, or removed recorded entries.
        Record = "record", 33;
    }
}

impl Op {
    /// True if `undo` can revert the operation.
    ///
    /// A purge is final. Navigation, planning and a model's own turn are no changes that a user expects `undo` to
    /// revert. An import is undone with the tree that it created.
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

/// Subject of a change that is not a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A document, by its id.
    Document(DocumentId),
    /// An agent, by its id.
    Agent(AgentId),
    /// A stash, by its label.
    Stash(String),
}

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalEntry {
    /// Sequence number in the file: 1, 2, 3 …, without gaps.
    pub seq: u64,
    /// Sequence number of the first entry of the same operation. It equals `seq` for an operation of one change.
    pub group: u64,
    /// Commit time by the writer's clock, which may go backwards.
    pub at: Timestamp,
    /// Agent that made the change.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// Session of the change, if there was one.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Tree of the change; `None` for documents and agents.
    #[serde(rename = "tree_id", skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Operation of the agent.
    pub op: Op,
    /// Name of the change within the operation.
    pub change: String,
    /// Node that was changed.
    #[serde(rename = "node_id", skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Local id of that node.
    #[serde(rename = "local_id", skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalId>,
    /// Subject other than a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// True if the change replaced or removed an earlier value: a label, a document, an agent, or the place of a tree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// For an undo or a redo: the `group` of the operation that it reverts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
}
