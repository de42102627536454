//! The report beside a prompt: what is in it, what is not, and why.

use serde::Serialize;

use crate::{
    id::{LocalId, NodeId},
    types::{AuthorType, PinTarget, TokenCalibration},
};

/// A part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextSection {
    /// The agent's system prompt.
    AgentPrompt,
    /// The tree's system prompt.
    TreePrompt,
    /// What an aware agent has to know.
    #[serde(rename = "addendum")]
    Instructions,
    /// The session's state.
    State,
    /// Operational memory, with what is pinned.
    Memory,
    /// The conversation but for its newest node, where that is the input; with the note on what is not shown.
    Conversation,
    /// Results of this turn.
    Results,
    /// The ambient block.
    Ambient,
    /// The newest node, where it is what the model is to answer.
    Input,
    /// The overhead of messages.
    Messages,
}

impl ContextSection {
    /// The part in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentPrompt => "the agent's system prompt",
            Self::TreePrompt => "the tree's system prompt",
            Self::Instructions => "how to act in the tree",
            Self::State => "the session's state",
            Self::Memory => "operational memory",
            Self::Conversation => "the conversation",
            Self::Results => "results of this turn",
            Self::Ambient => "the ambient block",
            Self::Input => "the input",
            Self::Messages => "message overhead",
        }
    }
}

/// What became of a node or a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inclusion {
    /// It is in the prompt, whole.
    #[serde(rename = "in")]
    Full,
    /// A part of it is.
    #[serde(rename = "cut")]
    Truncated(InclusionReason),
    /// It is not.
    #[serde(rename = "out")]
    Omitted(InclusionReason),
}

/// Why something is not in a prompt, or not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InclusionReason {
    /// There was no room.
    Budget,
    /// It is pruned.
    Pruned,
    /// It is kept out of contexts.
    Excluded,
    /// It is a note.
    Annotation,
    /// It is the thought of another agent, or of one that does not see the tree.
    Thought,
    /// Its content was purged.
    Purged,
    /// It has no words.
    Empty,
}

impl InclusionReason {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "no room",
            Self::Pruned => "pruned",
            Self::Excluded => "excluded",
            Self::Annotation => "a note",
            Self::Thought => "another agent's thought",
            Self::Purged => "purged",
            Self::Empty => "no words",
        }
    }
}

/// What became of a node of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// The node.
    pub id: NodeId,
    /// Its short id.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// What kind of author it has.
    pub author_type: AuthorType,
    /// Whose words they are in the conversation.
    pub role: AuthorType,
    /// Edges from the root.
    pub depth: u32,
    /// Tokens that it has in the prompt, its header included; 0 if it is out.
    pub tokens: u32,
    /// What became of it.
    #[serde(rename = "fate")]
    pub inclusion: Inclusion,
}

/// What became of a pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinReport {
    /// What is pinned.
    #[serde(flatten)]
    pub target: PinTarget,
    /// As it is named in the prompt.
    pub name: String,
    /// Tokens that it has in the prompt.
    pub tokens: u32,
    /// What became of it.
    #[serde(rename = "fate")]
    pub inclusion: Inclusion,
}

/// What is in a prompt, what is not, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextReport {
    /// The model's context window.
    pub window: u32,
    /// Tokens that the prompt may have by the estimate, as all that follows: the window without what is kept for the reply,
    /// divided by the correction.
    pub budget: u32,
    /// What the model counts of what is estimated.
    #[serde(skip_serializing_if = "TokenCalibration::is_none")]
    #[serde(rename = "correction")]
    pub calibration: TokenCalibration,
    /// Tokens of the prompt: the sum of its parts.
    pub total: u32,
    /// Its parts, in their order, with their tokens; what is empty is left out.
    #[serde(rename = "parts")]
    pub sections: Vec<(ContextSection, u32)>,
    /// Nodes further up the path that are out because there was no room and were not looked at one by one.
    pub earlier: u32,
    /// Nodes of the path that were looked at, the oldest first.
    pub path: Vec<NodeReport>,
    /// Pins, the oldest first.
    pub pins: Vec<PinReport>,
}
