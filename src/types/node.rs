//! The node: one immutable piece of content by one author.

use serde::{Deserialize, Serialize};

use super::{ContentHash, Json, Timestamp, coded};
use crate::id::{AgentId, LocalId, NodeId, SessionId, TreeId};

coded! {
    /// How a node hangs on its parent.
    EdgeKind {
        /// The conversation. Only these children are counted as continuations, make branch points and leaves.
        Continuation = "continuation", 0;
        /// A note on the parent.
        Annotation = "annotation", 1;
        /// A supplementary source of a generation.
        Context = "context", 2;
        /// A supplementary instruction of a generation.
        Instruction = "instruction", 3;
        /// The result of a tool call that the parent made.
        Tool = "tool", 4;
        /// What a model thought before the parent's words.
        Thought = "thought", 5;
        /// Another wording of a place in the text: what follows that place follows this node too.
        Version = "version", 6;
    }
}

coded! {
    /// What spoke.
    AuthorType {
        /// A person.
        Human = "human", 0;
        /// A model.
        Model = "model", 1;
        /// A tool.
        Tool = "tool", 2;
        /// The engine, an importer, or the host application.
        System = "system", 3;
    }
}

/// A node's tool-call fields, all absent on most nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallFields {
    /// The calls that an assistant node made, in the provider's JSON.
    #[serde(rename = "tool_calls", default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Json>,
    /// The id of the call that a tool node answers.
    #[serde(rename = "tool_call_id", default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The name of the tool that a tool node's content came from.
    #[serde(rename = "tool_name", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What changes about a node: counts that are kept with every change, and marks that people set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// Children that continue the conversation. Pruned ones are not counted.
    pub continuations: u32,
    /// Notes on this node. Pruned ones are not counted.
    pub annotations: u32,
    /// Links from or to this node.
    pub links: u32,
    /// Other wordings of this place. Pruned ones are not counted.
    pub versions: u32,
    /// The node whose pruning hides this one: itself or an ancestor. `None` while it is visible.
    pub pruned_by: Option<NodeId>,
    /// Kept out of contexts, though visible.
    pub excluded: bool,
    /// The bookmark's label, if the node has a bookmark.
    pub bookmark: Option<String>,
}

/// A node as the store gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The node's ULID.
    pub id: NodeId,
    /// The short id, unique in the tree.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// Its tree.
    #[serde(rename = "tree_id")]
    pub tree: TreeId,
    /// Its parent; `None` for the root.
    #[serde(rename = "parent_id")]
    pub parent: Option<NodeId>,
    /// The insertion sequence: smaller than that of any node stored later in the same file.
    pub seq: u64,
    /// How it hangs on its parent. The root counts as a continuation.
    pub kind: EdgeKind,
    /// Who wrote it.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// What kind of author that was.
    pub author_type: AuthorType,
    /// Whose words these are in the conversation, where that is not the author type: an edit keeps its original's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<AuthorType>,
    /// The text.
    pub content: String,
    /// What the model really produced, where that differs from `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Tool calls, or which call this answers.
    #[serde(flatten)]
    pub tool: ToolCallFields,
    /// The number of tokens, where somebody counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Edges from the root: 0 for the root.
    pub depth: u32,
    /// When it was written, by the writer's clock.
    pub created_at: Timestamp,
    /// The node that this one rewords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<NodeId>,
    /// The node whose place this one can take: what follows that one follows this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_of: Option<NodeId>,
    /// The session that caused it.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its turn number in that session, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Covers this node and, through its parent's hash, the whole path to it.
    pub hash: ContentHash,
    /// Whether it was cut off while it was being generated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// When its content was removed for good, leaving this tombstone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Timestamp>,
    /// What an importer or host application keeps beside the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Counts and marks.
    pub state: NodeState,
}

impl Node {
    /// Whose words these are in the conversation.
    #[must_use]
    pub fn role(&self) -> AuthorType {
        self.role.unwrap_or(self.author_type)
    }

    /// The role and, where another kind of author edited it, that author: `model` or `model, edited by human`.
    #[must_use]
    pub fn speaker(&self) -> String {
        match self.role {
            Some(role) => format!("{role}, edited by {}", self.author_type),
            None => self.author_type.to_string(),
        }
    }
}

/// Where a new node goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parent {
    /// It is the root of this tree, which has none yet.
    Root(TreeId),
    /// Under this node. Under a version, it goes where the versions' common children are.
    Node(NodeId),
    /// Under the position that this session has when the change is applied, not when it was asked for: several
    /// processes of one session make one chain.
    Position(SessionId),
}

impl Node {
    /// True if a split made both nodes of one, and this one continues `before` in the middle of its text.
    #[must_use]
    pub fn is_second_half_of(&self, before: &Self) -> bool {
        let same = self.edited_from.is_some() && self.edited_from == before.edited_from;
        same && self.kind == EdgeKind::Version && self.parent == Some(before.id)
    }
}

/// A node to be appended. The store adds the local id, depth, hash, sequence and turn number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewNode {
    /// The node's ULID, made by the caller.
    pub id: NodeId,
    /// Where it goes.
    pub parent: Parent,
    /// How it hangs there.
    pub kind: EdgeKind,
    /// Who wrote it.
    pub author: AgentId,
    /// What kind of author that was.
    pub author_type: AuthorType,
    /// Whose words these are in the conversation, where that is not the author type: an edit keeps its original's role.
    #[serde(default)]
    pub role: Option<AuthorType>,
    /// The text.
    pub content: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// What the model really produced, where that differs from `content`.
    pub raw: Option<String>,
    /// Tool calls, or which call this answers.
    pub tool: ToolCallFields,
    /// The number of tokens, where known.
    pub tokens: Option<u32>,
    /// The node that this one rewords.
    pub edited_from: Option<NodeId>,
    /// The node whose place this one can take.
    pub version_of: Option<NodeId>,
    /// Whether it was cut off while it was being generated.
    pub interrupted: bool,
    /// Kept beside the node as it is.
    pub metadata: Option<Json>,
    /// The provider's response envelope, kept beside the node, compressed.
    pub provenance: Option<Json>,
    /// The local id to take if it is free: an import keeps the ids that people have noted down.
    pub local: Option<LocalId>,
    /// Where an import found it: the same source is never imported twice.
    pub source: Option<String>,
    /// Whether the session's position moves to it.
    pub advance: bool,
    /// The session and turn that an import says it had, instead of the change's own.
    pub turn: Option<(SessionId, u64)>,
    /// The hash that an import says it has; another one is refused.
    pub hash: Option<ContentHash>,
    /// For an imported tombstone: when it was purged. Its hash is taken as it is.
    pub purged_at: Option<Timestamp>,
}

impl NewNode {
    /// Whose words these are in the conversation.
    #[must_use]
    pub fn role(&self) -> AuthorType {
        self.role.unwrap_or(self.author_type)
    }

    /// A continuation with nothing but content; the rest is set by struct update.
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
