//! Lossless JSONL format of loomtree: one JSON object per line, with everything in a tree except its journal.
//!
//! Ids, local ids, hashes, times, turns, marks and metadata survive, so an export of an import is byte-equal. Nodes are
//! in insertion order, parents first. The journal is excluded because its numbers belong to one database file; `backup`
//! copies it.

mod export;
mod import;

use serde::{Deserialize, Serialize};

pub use export::{Exported, export, export_trees};
pub(super) use import::import;

use crate::{
    id::{AgentId, DocumentId, LocalId, NodeId, SessionId, TreeId},
    types::{
        AuthorType, ContentHash, DocumentVersion, EdgeKind, Json, Link, Mode, NewAgent, NewNode, Parent, SessionPatch,
        Timestamp, ToolCallFields, WorkItem,
    },
};

/// Format version of exports.
const VERSION: u32 = 1;

/// Record as it is written. [`import`] reads it in two steps, because serde cannot keep raw JSON inside an internally
/// tagged enum.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum JsonlRecord {
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
struct AgentLine {
    #[serde(flatten)]
    profile: NewAgent,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

#[derive(Serialize, Deserialize)]
struct DocumentLine {
    id: DocumentId,
    name: String,
    versions: Vec<DocumentVersion>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

#[derive(Serialize, Deserialize)]
struct TreeLine {
    id: TreeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_context: Option<String>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct SessionLine {
    id: SessionId,
    workspace: String,
    agent_id: AgentId,
    tree_id: TreeId,
    started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegated_by: Option<SessionId>,
    item: Option<WorkItem>,
}

/// A turn that a session received from another one.
#[derive(Serialize, Deserialize)]
struct ReceivedLine {
    session_id: SessionId,
    turn: u64,
    node_id: NodeId,
}

/// Facts that were recorded in a session explicitly.
#[derive(Serialize, Deserialize)]
struct RecordedLine {
    session_id: SessionId,
    #[serde(flatten)]
    record: crate::session_state::SessionRecord,
}

/// Position of a session; follows the nodes that it refers to.
#[derive(Serialize, Deserialize)]
struct PositionLine {
    session_id: SessionId,
    last_active_at: Timestamp,
    patch: SessionPatch,
}

#[derive(Serialize, Deserialize)]
struct NodeLine {
    id: NodeId,
    local_id: LocalId,
    tree_id: TreeId,
    parent_id: Option<NodeId>,
    kind: EdgeKind,
    author_id: AgentId,
    author_type: AuthorType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<AuthorType>,
    created_at: Timestamp,
    hash: ContentHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_from: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version_of: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purged_at: Option<Timestamp>,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bookmark: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    excluded: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pruned: bool,
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
