//! Nodes: immutable content with one author.

use serde::{Deserialize, Serialize};

use super::{ContentHash, Json, Timestamp, coded};
use crate::id::{AgentId, LocalId, NodeId, SessionId, TreeId};

coded! {
    /// Kind of the edge between a node and its parent.
    EdgeKind {
        /// Continues the conversation. Only these children count as continuations, branch points and leaves.
        Continuation = "continuation", 0;
        /// Note on the parent.
        Annotation = "annotation", 1;
        /// Supplementary source of a generation.
        Context = "context", 2;
        /// Supplementary instruction of a generation.
        Instruction = "instruction", 3;
        /// Result of a tool call of the parent.
        Tool = "tool", 4;
        /// Thinking of a model before the parent's content.
        Thought = "thought", 5;
        /// Another version of the node that `version_of` names. Both have the same continuations.
        Version = "version", 6;
    }
}

coded! {
    /// Kind of an author.
    AuthorType {
        /// A human user.
        Human = "human", 0;
        /// A language model, reached through a provider.
        Model = "model", 1;
        /// A tool of the host.
        Tool = "tool", 2;
        /// The engine, an importer, or the host application.
        System = "system", 3;
    }
}

/// Tool-call fields of a node; all are `None` on most nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct ToolCallFields {
    /// Calls that a model's node made, in the provider's JSON.
    #[serde(rename = "tool_calls", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "serve", schema(value_type = Option<Object>))]
    pub calls: Option<Json>,
    /// Id of the call that a tool node answers.
    #[serde(rename = "tool_call_id", default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Name of the tool that returned the content of a tool node.
    #[serde(rename = "tool_name", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Mutable part of a node: counts, which every change updates, and marks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NodeState {
    /// Number of visible children that continue the conversation.
    pub continuations: u32,
    /// Number of visible annotations of this node.
    pub annotations: u32,
    /// Number of links from or to this node.
    pub links: u32,
    /// Number of other visible versions of this node.
    pub versions: u32,
    /// Pruned node that hides this one: itself or an ancestor. `None` if the node is visible.
    #[serde(rename = "pruned_by")]
    pub hidden_by: Option<NodeId>,
    /// True if the node is excluded from contexts.
    pub excluded: bool,
    /// Label of the bookmark, if the node has one.
    pub bookmark: Option<String>,
}

/// A node as read from the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Node {
    /// ULID of the node.
    pub id: NodeId,
    /// Local id: short, unique in the tree.
    #[serde(rename = "local_id")]
    #[cfg_attr(feature = "serve", schema(value_type = String))]
    pub local: LocalId,
    /// Tree of the node.
    #[serde(rename = "tree_id")]
    pub tree: TreeId,
    /// Parent; `None` for a root.
    #[serde(rename = "parent_id")]
    pub parent: Option<NodeId>,
    /// Insertion sequence number, increasing over the whole file.
    pub seq: u64,
    /// Kind of the edge to the parent. A root has the kind of a continuation.
    pub kind: EdgeKind,
    /// Author of the node.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// Kind of the author.
    pub author_type: AuthorType,
    /// Role in the conversation, if it differs from the author type: an edit has the role of its original.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<AuthorType>,
    /// Text of the node.
    pub content: String,
    /// Original output of the model, if it differs from `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Calls of this node, or the call that it answers.
    #[serde(flatten)]
    pub tool: ToolCallFields,
    /// Number of tokens; `None` if it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Number of edges from the root; 0 for a root.
    pub depth: u32,
    /// Creation time by the writer's clock.
    pub created_at: Timestamp,
    /// Node that this one is an edit of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<NodeId>,
    /// Node that this one is a version of. Both have the same continuations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_of: Option<NodeId>,
    /// Session that appended the node.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Turn number in that session, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Hash of this node. It covers the whole path through the parent's hash.
    #[cfg_attr(feature = "serve", schema(value_type = String))]
    pub hash: ContentHash,
    /// True if the generation of the content was interrupted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Time at which the content was purged; the rest of the node is its tombstone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Timestamp>,
    /// Metadata of an importer or of the host application.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "serve", schema(value_type = Option<Object>))]
    pub metadata: Option<Json>,
    /// Counts and marks that change over time.
    pub state: NodeState,
}

impl Node {
    /// True if a path begins with the node: a root, or a version of it.
    #[must_use]
    pub fn begins_path(&self) -> bool {
        self.parent.is_none() || self.kind == EdgeKind::Version && self.version_of == self.parent
    }

    /// Role of the content in the conversation.
    #[must_use]
    pub fn role(&self) -> AuthorType {
        self.role.unwrap_or(self.author_type)
    }

    /// False for a thought of another agent.
    pub(crate) fn is_readable_by(&self, reader: AgentId) -> bool {
        self.kind != EdgeKind::Thought || self.author == reader
    }

    /// Role of the content, with the editor's kind if it differs: `model` or `model, edited by human`.
    #[must_use]
    pub fn speaker(&self) -> String {
        match self.role {
            Some(role) => format!("{role}, edited by {}", self.author_type),
            None => self.author_type.to_string(),
        }
    }
}

/// Parent of a new node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parent {
    /// None: the node becomes the root of this tree.
    Root(TreeId),
    /// The given node. A continuation of a version is attached to the node that all versions share.
    Node(NodeId),
    /// Position of the session at commit time, not at request time. Concurrent processes of a session thus append to
    /// one chain.
    Position(SessionId),
}

impl From<NodeId> for Parent {
    fn from(node: NodeId) -> Self {
        Self::Node(node)
    }
}

impl Node {
    /// True if both nodes are halves of one split node and this one continues `before`.
    #[must_use]
    pub fn is_second_half_of(&self, before: &Self) -> bool {
        let same = self.edited_from.is_some() && self.edited_from == before.edited_from;
        same && self.kind == EdgeKind::Version && self.parent == Some(before.id)
    }
}

/// A node to be appended. The store assigns local id, depth, hash, sequence and turn number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewNode {
    /// ULID, created by the caller.
    pub id: NodeId,
    /// Parent of the node.
    pub parent: Parent,
    /// Kind of the edge to the parent.
    pub kind: EdgeKind,
    /// Author of the node.
    pub author: AgentId,
    /// Kind of the author.
    pub author_type: AuthorType,
    /// Role in the conversation, if it differs from the author type: an edit has the role of its original.
    #[serde(default)]
    pub role: Option<AuthorType>,
    /// Text of the node.
    pub content: String,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// Original output of the model, if it differs from `content`.
    pub raw: Option<String>,
    /// Calls of this node, or the call that it answers.
    pub tool: ToolCallFields,
    /// Number of tokens; `None` if it was not counted.
    pub tokens: Option<u32>,
    /// Node that this one is an edit of.
    pub edited_from: Option<NodeId>,
    /// Node that this one is a version of.
    pub version_of: Option<NodeId>,
    /// True if the generation of the content was interrupted.
    pub interrupted: bool,
    /// Metadata as JSON, stored verbatim.
    pub metadata: Option<Json>,
    /// Provider's response metadata; stored compressed.
    pub provenance: Option<Json>,
    /// Preferred local id, used if it is free. An import preserves known ids by it.
    pub local: Option<LocalId>,
    /// Source of an imported node. The store imports each source at most once.
    pub source: Option<String>,
    /// True if the session's position moves to the new node.
    pub advance: bool,
    /// Session and turn of an imported node; `None`: those of the change.
    pub turn: Option<(SessionId, u64)>,
    /// Expected hash of an imported node. The store rejects a node with another hash.
    pub hash: Option<ContentHash>,
    /// Purge time of an imported tombstone. The store accepts its hash without verification.
    pub purged_at: Option<Timestamp>,
}

impl NewNode {
    /// Role of the content in the conversation.
    #[must_use]
    pub fn role(&self) -> AuthorType {
        self.role.unwrap_or(self.author_type)
    }

    /// Creates a continuation with content only. Callers set other fields by struct update.
    #[must_use]
    pub fn new(
        id: NodeId,
        parent: Parent,
        author: (AgentId, AuthorType),
        created_at: Timestamp,
        content: impl Into<String>,
    ) -> Self {
        Self {
            id,
            parent,
            kind: EdgeKind::Continuation,
            author: author.0,
            author_type: author.1,
            role: None,
            content: content.into(),
            created_at,
            raw: None,
            tool: ToolCallFields::default(),
            tokens: None,
            edited_from: None,
            version_of: None,
            interrupted: false,
            metadata: None,
            provenance: None,
            local: None,
            source: None,
            advance: false,
            turn: None,
            hash: None,
            purged_at: None,
        }
    }
}
