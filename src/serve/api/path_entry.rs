//! Entries of a path as a page shows them: text as tokens, author, marks, place among branches and versions, and what is
//! attached.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    exec::{AuthorNames, authorship::authorship},
    id::{NodeId, SessionId},
    markdown_tokens::{self, MarkdownToken},
    recall::{self, cut_at},
    serve::{caller::ThoughtReader, error::Result},
    session,
    store::{ChildFilter, SiblingCursor, Snapshot},
    types::{AuthorType, EdgeKind, Node, Timestamp},
};

/// Siblings counted to find a branch's number.
const MAX_COUNTED_SIBLINGS: u32 = 2_000;
/// Attached nodes of one kind shown with a node.
const MAX_ATTACHED: u32 = 8;
/// Bytes of a node that a page edits in place. The page continues a long text by a new node far below this, and refuses longer
/// insertions, so that only texts of others exceed it.
const MAX_PROSE_BYTES: usize = 48_000;
/// Bytes of an attached node.
const MAX_ATTACHED_BYTES: usize = 4_000;

/// Number of an entry among others, and their count. A place without alternatives is 1 of 1.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ordinal {
    number: usize,
    count: usize,
}

/// Node that is attached to another one.
#[derive(Serialize, ToSchema)]
struct AttachedNode {
    id: NodeId,
    kind: EdgeKind,
    author: String,
    /// Name of the tool, for a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Beginning of the text.
    text: String,
}

/// Piece of a text by one author.
#[derive(Serialize, ToSchema)]
struct AuthoredText {
    text: String,
    /// True if a model wrote it.
    model: bool,
}

/// Marks of a node.
#[derive(Serialize, ToSchema)]
pub(super) struct NodeMarks {
    /// Number of continuations.
    pub(super) continuations: u32,
    /// Number of notes.
    #[serde(skip_serializing_if = "is_zero")]
    notes: u32,
    /// Number of links.
    #[serde(skip_serializing_if = "is_zero")]
    links: u32,
    /// Number of other versions.
    #[serde(skip_serializing_if = "is_zero")]
    versions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bookmark: Option<String>,
    /// True if models do not read the node.
    #[serde(skip_serializing_if = "is_false")]
    excluded: bool,
    /// True if the node is hidden by itself or by an ancestor.
    #[serde(skip_serializing_if = "is_false")]
    pruned: bool,
    /// True if the generation was interrupted.
    #[serde(skip_serializing_if = "is_false")]
    interrupted: bool,
    /// True if the content was removed permanently.
    #[serde(skip_serializing_if = "is_false")]
    purged: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<&Node> for NodeMarks {
    fn from(node: &Node) -> Self {
        let state = &node.state;
        Self {
            continuations: state.continuations,
            notes: state.annotations,
            links: state.links,
            versions: state.versions,
            bookmark: state.bookmark.clone(),
            excluded: state.excluded,
            pruned: state.hidden_by.is_some(),
            interrupted: node.interrupted,
            purged: node.purged_at.is_some(),
        }
    }
}

/// Node of a path.
#[derive(Serialize, ToSchema)]
pub(super) struct PathEntry {
    id: NodeId,
    local_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<NodeId>,
    /// Node that all versions share: the parent of continuations.
    place: NodeId,
    /// Name of the author.
    author: String,
    author_type: AuthorType,
    /// Role in the conversation: an edited reply keeps the role of its original.
    role: AuthorType,
    /// Reference of the model that wrote the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    created_at: Timestamp,
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    marks: NodeMarks,
    /// Number among the branches that begin at the parent.
    branch: Ordinal,
    /// Number among the versions, the original first.
    version: Ordinal,
    /// Text in pieces by author, in a buffer tree. Missing if the text is purged or too long to be edited in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    prose: Option<Vec<AuthoredText>>,
    /// Text as Markdown tokens.
    markdown: Vec<MarkdownToken>,
    /// Bytes at the end of the text that are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
    /// Calls of tools, in short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
    /// Notes, thoughts and results of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attached: Vec<AttachedNode>,
}

/// Reader of path entries.
pub(super) struct PathEntryReader<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) names: &'a AuthorNames,
    pub(super) reader: ThoughtReader,
    /// True in a buffer tree, whose entries have `prose`.
    pub(super) with_prose: bool,
}

impl PathEntryReader<'_> {
    /// Returns the entry of a node.
    pub(super) fn entry(&self, node: &Node) -> Result<PathEntry> {
        let place = self.snapshot.original(node)?;
        let (markdown, left_out) = markdown_tokens::tokens(&node.content);
        let mut marks = NodeMarks::from(node);
        (marks.continuations, marks.versions) = (place.state.continuations, place.state.versions);
        Ok(PathEntry {
            id: node.id,
            local_id: node.local.to_string(),
            parent_id: place.parent,
            place: place.id,
            author: self.author(node),
            author_type: node.author_type,
            role: node.role(),
            model: self.model(node)?,
            session_id: node.session,
            created_at: node.created_at,
            depth: node.depth,
            tokens: node.tokens,
            branch: self.branch(&place)?,
            version: self.version(node, &place)?,
            marks,
            prose: self.prose(node)?,
            markdown,
            left_out: Some(left_out).filter(|left_out| *left_out > 0),
            calls: recall::calls(node),
            attached: self.attached(node)?,
        })
    }

    /// Returns the name of a node's author: of the tool for a result of a tool.
    pub(super) fn author(&self, node: &Node) -> String {
        node.tool.name.clone().unwrap_or_else(|| self.names.name(node.author).to_owned())
    }

    fn model(&self, node: &Node) -> Result<Option<String>> {
        if node.author_type != AuthorType::Model {
            return Ok(None);
        }
        Ok(self.snapshot.provenance(node.id)?.and_then(|envelope| session::model_name(envelope.as_str())))
    }

    fn branch(&self, place: &Node) -> Result<Ordinal> {
        let one = Ordinal { number: 1, count: 1 };
        let Some(parent) = place.parent.filter(|_| place.kind == EdgeKind::Continuation) else { return Ok(one) };
        let count = self.snapshot.node(parent)?.map_or(1, |parent| parent.state.continuations as usize);
        if count < 2 {
            return Ok(one);
        }
        let before = self.snapshot.continuations(parent, SiblingCursor::Before(place.seq), MAX_COUNTED_SIBLINGS)?.len();
        Ok(Ordinal { number: before + 1, count: count.max(before + 1) })
    }

    fn version(&self, node: &Node, place: &Node) -> Result<Ordinal> {
        if place.state.versions == 0 {
            return Ok(Ordinal { number: 1, count: 1 });
        }
        let versions = self.snapshot.versions(place.id)?;
        let number = versions.iter().position(|version| version.id == node.id).unwrap_or(0) + 1;
        Ok(Ordinal { number, count: versions.len().max(number) })
    }

    fn prose(&self, node: &Node) -> Result<Option<Vec<AuthoredText>>> {
        if !self.with_prose || node.purged_at.is_some() || node.content.len() > MAX_PROSE_BYTES {
            return Ok(None);
        }
        let mut rest = node.content.as_str();
        let mut pieces = Vec::new();
        for (length, model) in authorship(self.snapshot, node)? {
            let Some((text, after)) = rest.split_at_checked(length) else { break };
            pieces.push(AuthoredText { text: text.to_owned(), model });
            rest = after;
        }
        Ok(Some(pieces).filter(|_| rest.is_empty()))
    }

    fn attached(&self, node: &Node) -> Result<Vec<AttachedNode>> {
        let mut attached = Vec::new();
        for kind in [EdgeKind::Thought, EdgeKind::Tool, EdgeKind::Annotation] {
            let filter = ChildFilter { kind: Some(kind), pruned: false, limit: MAX_ATTACHED };
            let children = self.snapshot.children(node.id, &filter)?;
            for child in children.into_iter().filter(|child| self.reader.may_read(child)) {
                attached.push(AttachedNode {
                    id: child.id,
                    kind,
                    author: self.author(&child),
                    tool: child.tool.name.clone(),
                    text: cut_at(&child.content, MAX_ATTACHED_BYTES).to_owned(),
                });
            }
        }
        Ok(attached)
    }
}
