//! State of the conversations that an import has begun and not finished.

use crate::{
    id::{NodeId, SessionId, TreeId},
    interchange::source_record::{SourceConversation, SourceMessage, SourcePlace},
    types::Timestamp,
};

/// A mark that is set when a conversation ends, because its node may follow.
pub(super) enum PendingMark {
    Bookmark(String),
    Prune,
}

/// State of a conversation.
pub(super) struct OpenConversation {
    pub(super) source: SourceConversation,
    /// Tree and root that this conversation created earlier, or continues.
    pub(super) tree: Option<TreeId>,
    pub(super) root: Option<NodeId>,
    pub(super) session: Option<SessionId>,
    /// Position of the session before the import.
    pub(super) stored_position: Option<NodeId>,
    pub(super) turns: u64,
    /// Model of the session, once it is known.
    pub(super) model: Option<Option<String>>,
    pub(super) held: Vec<(SourcePlace, SourceMessage)>,
    /// First words of the first user message, the title of a conversation without one.
    pub(super) opening: Option<String>,
    /// Title that a conversation of an earlier import has now.
    pub(super) later_title: Option<(SourcePlace, String)>,
    /// Parent for a message that follows the previous one.
    pub(super) last: Option<NodeId>,
    /// The newest message that continues the conversation.
    pub(super) newest: Option<NodeId>,
    /// Id of the message that the source's user was at.
    pub(super) position: Option<String>,
    pub(super) last_at: Option<Timestamp>,
    pub(super) marks: Vec<(SourcePlace, String, PendingMark)>,
    /// True if this import created the tree.
    pub(super) is_fresh: bool,
    pub(super) is_titled: bool,
    pub(super) new_nodes: u64,
}

impl OpenConversation {
    /// Returns the state of a conversation before its first message.
    pub(super) fn new(source: SourceConversation) -> Self {
        Self {
            last_at: source.started_at,
            is_titled: source.title.is_some(),
            source,
            tree: None,
            root: None,
            session: None,
            stored_position: None,
            turns: 0,
            model: None,
            held: Vec::new(),
            opening: None,
            later_title: None,
            last: None,
            newest: None,
            position: None,
            marks: Vec::new(),
            is_fresh: true,
            new_nodes: 0,
        }
    }
}
