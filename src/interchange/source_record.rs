//! Neutral records: a reader of a foreign format produces them in the order of its file, and the [importer] writes them.
//!
//! [importer]: super::importer

use std::fmt;

use serde_json::Value;

use crate::types::Timestamp;

/// Place of a record in its file, for problem reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourcePlace {
    /// Line of a text file, from 1.
    Line(u64),
    /// Entry of a JSON array, from 1.
    Entry(u64),
    /// Row of a database, from 1.
    Row(u64),
    /// No part of the file in particular.
    Whole,
}

impl From<u64> for SourcePlace {
    fn from(line: u64) -> Self {
        Self::Line(line)
    }
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Entry(number) => write!(f, "entry {number}"),
            Self::Row(number) => write!(f, "row {number}"),
            Self::Whole => f.write_str("as a whole"),
        }
    }
}

/// Conversation of a foreign format.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceConversation {
    /// Id, unique in the format.
    pub(super) id: String,
    /// Title; `None`: the first words of the first user message.
    pub(super) title: Option<String>,
    /// Folder that the conversation took place in.
    pub(super) folder: Option<String>,
    /// Time of the first message.
    pub(super) started_at: Option<Timestamp>,
    /// Conversation that this one is a part of, and the message there that began it.
    pub(super) parent: Option<(String, Option<String>)>,
    /// True if message ids are unique in the format and not only in the conversation. A conversation that repeats
    /// messages of another one then continues in that one's tree.
    pub(super) has_global_ids: bool,
    /// Every other field of the source.
    pub(super) rest: Value,
}

/// Role of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SourceRole {
    /// Message of a user.
    User,
    /// Message of a model.
    Model,
    /// Result of a tool call. It becomes a side node of the message that made the call.
    Tool,
    /// Instruction of an application to the model, as a part of the conversation.
    System,
    /// Any other entry. It becomes a side node, which the conversation passes by.
    #[default]
    Note,
}

/// Parent of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum SourceParent {
    /// None: the message begins the conversation.
    Root,
    /// The message before it in the conversation's file.
    #[default]
    Previous,
    /// The message with this id.
    Message(String),
}

impl From<Option<String>> for SourceParent {
    fn from(id: Option<String>) -> Self {
        id.map_or(Self::Root, Self::Message)
    }
}

/// Message of a foreign format.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceMessage {
    /// Id, unique in the conversation or, see [`SourceConversation::has_global_ids`], in the format.
    pub(super) id: String,
    /// Other ids by which messages name this one as their parent.
    pub(super) aliases: Vec<String>,
    /// Parent of the message.
    pub(super) parent: SourceParent,
    /// Role of the author.
    pub(super) role: SourceRole,
    /// Model as `provider:model`, or its bare name if the provider is unknown.
    pub(super) model: Option<String>,
    /// Visible text.
    pub(super) text: String,
    /// Original content as JSON, if it is more than the text.
    pub(super) raw: Option<String>,
    /// Thinking before the text.
    pub(super) thoughts: Vec<String>,
    /// Tool calls, as the source writes them.
    pub(super) calls: Vec<Value>,
    /// Id of the call that a tool message answers.
    pub(super) call_id: Option<String>,
    /// Name of the tool that a tool message comes from.
    pub(super) tool_name: Option<String>,
    /// True if the tool failed.
    pub(super) has_failed: bool,
    /// True if the generation was interrupted.
    pub(super) is_interrupted: bool,
    /// True if the application did not show the message, so contexts exclude it.
    pub(super) is_hidden: bool,
    /// True if the message was deleted in the source, with everything below.
    pub(super) is_pruned: bool,
    /// Label of a bookmark.
    pub(super) bookmark: Option<String>,
    /// Tokens of the message.
    pub(super) tokens: Option<u32>,
    /// Time of the message.
    pub(super) at: Option<Timestamp>,
    /// Every other field of the source.
    pub(super) rest: Value,
}
