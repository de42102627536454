//! Report of a prompt: included parts, omitted parts and reasons.

use std::collections::HashSet;

use serde::Serialize;

use crate::{
    id::{LocalId, NodeId},
    tokens::TokenCalibration,
    types::{AuthorType, PinTarget},
};

/// Section of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContextSection {
    /// System prompt of the agent.
    AgentPrompt,
    /// System prompt of the tree.
    TreePrompt,
    /// Instructions for an agent with the `loom_aware` permission.
    #[serde(rename = "addendum")]
    Instructions,
    /// Session state.
    State,
    /// Operational memory with pins.
    Memory,
    /// Conversation with the note on omitted nodes, without the newest node if that is the input.
    Conversation,
    /// Command results of this turn.
    Results,
    /// Ambient block.
    Ambient,
    /// Message that the model must answer.
    Input,
    /// Token overhead of messages.
    Messages,
}

impl ContextSection {
    /// Returns the name of the section.
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

/// Inclusion of a node or pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inclusion {
    /// Completely in the prompt.
    #[serde(rename = "in")]
    Full,
    /// Partly in the prompt.
    #[serde(rename = "cut")]
    Truncated(OmissionReason),
    /// Not in the prompt.
    #[serde(rename = "out")]
    Omitted(OmissionReason),
}

/// Reason why a node or pin is omitted or truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// The token budget is used up.
    Budget,
    /// The node is pruned.
    Pruned,
    /// The node is excluded from contexts.
    Excluded,
    /// The node is an annotation.
    Annotation,
    /// The node is a thought of another agent, or the reader is not aware of the tree.
    Thought,
    /// The content was purged.
    Purged,
    /// The node has no content.
    Empty,
}

impl OmissionReason {
    /// Returns the reason in words.
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

/// Report of a node on the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeReport {
    /// Id of the node.
    pub id: NodeId,
    /// Local id of the node.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// Type of the author.
    pub author_type: AuthorType,
    /// Role of the author in the conversation.
    pub role: AuthorType,
    /// Number of edges from the root.
    pub depth: u32,
    /// Tokens in the prompt, including the header; 0 if omitted.
    pub tokens: u32,
    /// Inclusion in the prompt.
    #[serde(rename = "fate")]
    pub inclusion: Inclusion,
}

/// Report of a pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PinReport {
    /// Pinned object.
    #[serde(flatten)]
    pub target: PinTarget,
    /// Name of the pin in the prompt.
    pub name: String,
    /// Tokens in the prompt.
    pub tokens: u32,
    /// Inclusion in the prompt.
    #[serde(rename = "fate")]
    pub inclusion: Inclusion,
}

/// Included and omitted parts of a prompt. All token numbers are estimates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextReport {
    /// Context window of the model, in tokens.
    pub window: u32,
    /// Token budget of the prompt: the window minus the reserve, divided by the calibration.
    pub budget: u32,
    /// Measured ratio of the model's token counts to the estimates.
    #[serde(skip_serializing_if = "TokenCalibration::is_none")]
    #[serde(rename = "correction")]
    pub calibration: TokenCalibration,
    /// Tokens of the prompt: the sum over its sections.
    pub total: u32,
    /// Tokens of each section that is not empty, in order.
    #[serde(rename = "parts")]
    pub sections: Vec<(ContextSection, u32)>,
    /// Number of omitted nodes above the first one in `path`.
    pub earlier: u32,
    /// Nodes of the path that were considered, oldest first.
    pub path: Vec<NodeReport>,
    /// Pins, oldest first.
    pub pins: Vec<PinReport>,
}

impl ContextReport {
    /// Returns the nodes of the path that the prompt shows whole.
    #[must_use]
    pub fn nodes_in_full(&self) -> HashSet<NodeId> {
        self.path.iter().filter(|node| node.inclusion == Inclusion::Full).map(|node| node.id).collect()
    }
}
