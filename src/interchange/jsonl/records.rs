//! Records of the format, one for each line, and their fields in the order of the JSON.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, DocumentId, LocalId, NodeId, SessionId, TreeId},
    types::{
        AuthorType, ContentHash, DocumentVersion, EdgeKind, Json, Link, Mode, NewAgent, NewNode, Parent, SessionPatch,
        Timestamp, ToolCallFields, WorkItem,
    },
};

/// Format version of exports.
pub(super) const VERSION: u32 = 1;

/// Record as it is written. [`import`](super::import()) reads it in two steps, because serde cannot keep raw JSON inside
/// an internally tagged enum.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum JsonlRecord {
    Loomtree { version: u32 },
    Agent(AgentLine),
    Document(DocumentLine),
    Tree(TreeLine),
    Session(SessionLine),
    Node(Box<NodeLine>),
    Link(Link),
    Received(ReceivedLine),
    Recorded(RecordedLine),
    Position(PositionLine),
}

#[derive(Serialize, Deserialize)]
pub(super) struct AgentLine {
    #[serde(flatten)]
    pub(super) profile: NewAgent,
    pub(super) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) removed: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct DocumentLine {
    pub(super) id: DocumentId,
    pub(super) name: String,
    pub(super) versions: Vec<DocumentVersion>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) removed: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TreeLine {
    pub(super) id: TreeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system_context: Option<String>,
    pub(super) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) archived_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SessionLine {
    pub(super) id: SessionId,
    pub(super) workspace: String,
    pub(super) agent_id: AgentId,
    pub(super) tree_id: TreeId,
    pub(super) started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delegated_by: Option<SessionId>,
    pub(super) item: Option<WorkItem>,
}

/// A turn that a session received from another one.
#[derive(Serialize, Deserialize)]
pub(super) struct ReceivedLine {
    pub(super) session_id: SessionId,
    pub(super) turn: u64,
    pub(super) node_id: NodeId,
}

/// Facts that were recorded in a session explicitly.
#[derive(Serialize, Deserialize)]
pub(super) struct RecordedLine {
    pub(super) session_id: SessionId,
    #[serde(flatten)]
    pub(super) record: crate::session_state::SessionRecord,
}

/// Position of a session; follows the nodes that it refers to.
#[derive(Serialize, Deserialize)]
pub(super) struct PositionLine {
    pub(super) session_id: SessionId,
    pub(super) last_active_at: Timestamp,
    pub(super) patch: SessionPatch,
}

#[derive(Serialize, Deserialize)]
pub(super) struct NodeLine {
    pub(super) id: NodeId,
    pub(super) local_id: LocalId,
    pub(super) tree_id: TreeId,
    pub(super) parent_id: Option<NodeId>,
    pub(super) kind: EdgeKind,
    pub(super) author_id: AgentId,
    pub(super) author_type: AuthorType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<AuthorType>,
    pub(super) created_at: Timestamp,
    pub(super) hash: ContentHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edited_from: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version_of: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) purged_at: Option<Timestamp>,
    pub(super) content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provenance: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bookmark: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) excluded: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pruned: bool,
}

impl From<NodeLine> for NewNode {
    fn from(line: NodeLine) -> Self {
        Self {
            id: line.id,
            parent: line.parent_id.map_or(Parent::Root(line.tree_id), Parent::Node),
            kind: line.kind,
            author: line.author_id,
            author_type: line.author_type,
            role: line.role,
            content: line.content,
            created_at: line.created_at,
            raw: line.raw,
            tool: ToolCallFields { calls: line.tool_calls, call_id: line.tool_call_id, name: line.tool_name },
            tokens: line.tokens,
            edited_from: line.edited_from,
            version_of: line.version_of,
            interrupted: line.interrupted,
            metadata: line.metadata,
            provenance: line.provenance,
            local: Some(line.local_id),
            source: line.source,
            advance: false,
            turn: line.session_id.zip(line.turn),
            hash: Some(line.hash),
            purged_at: line.purged_at,
        }
    }
}
