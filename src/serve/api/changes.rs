//! Changes of nodes: one route, whose body names the operation. Each is undone by one undo.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::{NodeId, TreeId},
    ops::{Actor, SplitAt},
    serve::{
        caller::{AdminCaller, Caller},
        error::{ApiError, Result},
        extractors::{Body, Route},
        state::AppState,
    },
    store::{PurgeTarget, Receipt},
    tools::Tool,
    types::{LinkTarget, Node, PinTarget},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(change))
        .routes(routes!(save_text))
        .routes(routes!(merge))
        .routes(routes!(purge))
}

/// A change of a node.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum ChangeBody {
    /// Appends an edited copy; the original stays. In a dialogue tree the copy is a new branch without continuations. In a
    /// buffer tree, and at a root, it is a version, which has the continuations of the original.
    Edit {
        /// New text.
        content: String,
    },
    /// Adds a note.
    Annotate {
        /// Text of the note.
        content: String,
    },
    /// Sets a bookmark.
    Bookmark {
        /// Label of the bookmark.
        label: String,
    },
    /// Removes the bookmark.
    Unbookmark,
    /// Hides the node and its descendants.
    Prune,
    /// Shows a pruned branch again.
    Restore,
    /// Excludes the node from contexts.
    Exclude,
    /// Includes it again.
    Include,
    /// Splits the node in two.
    Split {
        /// Text after whose first occurrence to split.
        after: Option<String>,
        /// Character before which to split, counted from 0.
        at: Option<usize>,
    },
    /// Pins the node in the context of the caller's agent.
    Pin,
    /// Removes the pin.
    Unpin,
    /// Copies the node with its descendants.
    Copy {
        /// Parent of the copy.
        to: NodeId,
    },
    /// Moves the node with its descendants.
    Move {
        /// New parent.
        to: NodeId,
    },
    /// Links the node to a node or a tree.
    Link {
        /// Node to link to.
        node: Option<NodeId>,
        /// Tree to link to.
        tree: Option<TreeId>,
        /// Note on the link.
        note: Option<String>,
    },
    /// Removes the links to a node or a tree.
    Unlink {
        /// Node at the other end.
        node: Option<NodeId>,
        /// Tree at the other end.
        tree: Option<TreeId>,
    },
}

impl ChangeBody {
    /// Returns the tool whose permission the acting agent needs.
    fn tool(&self) -> Tool {
        match self {
            Self::Edit { .. } => Tool::Edit,
            Self::Annotate { .. } => Tool::Annotate,
            Self::Bookmark { .. } | Self::Unbookmark => Tool::Bookmark,
            Self::Prune => Tool::Prune,
            Self::Restore => Tool::Restore,
            Self::Exclude => Tool::Exclude,
            Self::Include => Tool::Include,
            Self::Split { .. } => Tool::Split,
            Self::Pin => Tool::Pin,
            Self::Unpin => Tool::Drop,
            Self::Copy { .. } => Tool::Copy,
            Self::Move { .. } => Tool::Move,
            Self::Link { .. } => Tool::Link,
            Self::Unlink { .. } => Tool::Unlink,
        }
    }

    /// Returns the node or tree at the other end.
    fn other_end(&self) -> (Option<NodeId>, Option<TreeId>) {
        match self {
            Self::Copy { to } | Self::Move { to } => (Some(*to), None),
            Self::Link { node, tree, .. } | Self::Unlink { node, tree } => (*node, *tree),
            _ => (None, None),
        }
    }

    fn run(self, actor: &Actor, id: NodeId, tree: TreeId) -> Result<Receipt> {
        let target = |node: Option<NodeId>, tree: Option<TreeId>| match (node, tree) {
            (Some(node), None) => Ok(LinkTarget::Node(node)),
            (None, Some(tree)) => Ok(LinkTarget::Tree(tree)),
            _ => Err(ApiError::invalid("name a node or a tree, not both")),
        };
        Ok(match self {
            Self::Edit { content } => actor.edit(id, &content)?,
            Self::Annotate { content } => actor.annotate(id, &content)?,
            Self::Bookmark { label } if label.trim().is_empty() => {
                return Err(ApiError::invalid("the label of a bookmark is empty"));
            }
            Self::Bookmark { label } => actor.bookmark(id, &label)?,
            Self::Unbookmark => actor.unbookmark(id)?,
            Self::Prune => actor.prune(id)?,
            Self::Restore => actor.restore(id)?,
            Self::Exclude => actor.exclude(id)?,
            Self::Include => actor.include(id)?,
            Self::Split { after: Some(words), at: None } => actor.split(id, &SplitAt::After(words))?,
            Self::Split { after: None, at: Some(at) } => actor.split(id, &SplitAt::Character(at))?,
            Self::Split { .. } => return Err(ApiError::invalid("name a text or a character, not both")),
            Self::Pin => actor.pin(tree, PinTarget::Node(id))?,
            Self::Unpin => actor.unpin(tree, PinTarget::Node(id))?,
            Self::Copy { to } => actor.copy_branch(id, to)?,
            Self::Move { to } => actor.move_branch(id, to)?,
            Self::Link { node, tree, note } => actor.link(id, target(node, tree)?, note)?,
            Self::Unlink { node, tree } => actor.unlink(id, &target(node, tree)?)?,
        })
    }
}

/// Result of a change.
#[derive(Serialize, ToSchema)]
struct ChangeAnswer {
    receipt: Receipt,
    /// The changed node, or the first node that the change appended.
    node: Node,
}

/// Changes a node.
#[utoipa::path(post, path = "/nodes/{node}/changes", tag = "nodes", params(("node" = NodeId, Path)), request_body = ChangeBody, responses((status = OK, body = ChangeAnswer)))]
async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Body(body): Body<ChangeBody>,
) -> Result<Json<ChangeAnswer>> {
    state
        .run(move |state| {
            let own_tree = state.node(&caller, id)?.tree;
            let (node, tree) = body.other_end();
            let node = node.map(|node| state.node(&caller, node)).transpose()?;
            let tree = tree.map(|tree| state.tree(&caller, &tree.to_string())).transpose()?;
            if tree.is_some() || node.is_some_and(|node| node.tree != own_tree) {
                state.require_cross_tree(&caller)?;
            }
            let actor = state.actor_for(&caller, body.tool())?;
            let receipt = body.run(&actor, id, own_tree)?;
            state.metrics.appends.inc_by(receipt.nodes.len() as u64);
            let node = state.loom().node(receipt.nodes.first().map_or(id, |node| node.id))?;
            Ok(Json(ChangeAnswer { receipt, node }))
        })
        .await
}

/// New text of a node of a path.
#[derive(Deserialize, ToSchema)]
struct NodeEdit {
    node: NodeId,
    content: String,
}

/// Edited text of the end of a path.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PathTextBody {
    /// Changed nodes of the path, each once.
    #[serde(default)]
    edits: Vec<NodeEdit>,
    /// Text of a new node after the end of the path.
    appended: Option<String>,
}

/// Nodes that an edited text made: one for each edit, then the appended one.
#[derive(Serialize, ToSchema)]
struct PathTextAnswer {
    nodes: Vec<NodeId>,
}

/// Saves an edited text of the path that ends at a node: one undo reverts all of it.
#[utoipa::path(post, path = "/nodes/{node}/text", tag = "nodes", params(("node" = NodeId, Path)), request_body = PathTextBody, responses((status = OK, body = PathTextAnswer)))]
async fn save_text(
    State(state): State<AppState>,
    caller: Caller,
    Route(end): Route<NodeId>,
    Body(body): Body<PathTextBody>,
) -> Result<Json<PathTextAnswer>> {
    state
        .run(move |state| {
            state.node(&caller, end)?;
            for edit in &body.edits {
                state.node(&caller, edit.node)?;
            }
            if body.edits.is_empty() && body.appended.is_none() {
                return Err(ApiError::invalid("there is nothing to save"));
            }
            let actor = state.actor_for(&caller, Tool::Edit)?;
            let edits: Vec<_> = body.edits.into_iter().map(|edit| (edit.node, edit.content)).collect();
            let nodes = actor.edit_path(end, &edits, body.appended.as_deref())?;
            state.metrics.appends.inc_by(nodes.len() as u64);
            Ok(Json(PathTextAnswer { nodes }))
        })
        .await
}

/// Nodes to merge.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MergeBody {
    /// Merged nodes; the new node continues the first.
    nodes: Vec<NodeId>,
    /// Text of the new node.
    content: String,
}

/// Appends a node that merges several.
#[utoipa::path(post, path = "/merge", tag = "nodes", request_body = MergeBody, responses((status = OK, body = ChangeAnswer)))]
async fn merge(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<MergeBody>,
) -> Result<Json<ChangeAnswer>> {
    state
        .run(move |state| {
            for node in &body.nodes {
                state.node(&caller, *node)?;
            }
            let receipt = state.actor_for(&caller, Tool::Merge)?.merge(&body.nodes, &body.content)?;
            let id = receipt.nodes.first().ok_or_else(|| ApiError::invalid("nothing was merged"))?.id;
            Ok(Json(ChangeAnswer { node: state.loom().node(id)?, receipt }))
        })
        .await
}

/// Result of a purge.
#[derive(Serialize, ToSchema)]
struct PurgeAnswer {
    #[serde(flatten)]
    receipt: Receipt,
    /// Visible copies of the node, edits and halves of a split: they may contain the same text and are not purged.
    copies: Vec<NodeId>,
}

/// Removes the content of a node permanently and returns its copies, which are not purged. Needs a token of scope admin.
#[utoipa::path(post, path = "/nodes/{node}/purge", tag = "nodes", params(("node" = NodeId, Path)), responses((status = OK, body = PurgeAnswer)))]
async fn purge(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    Route(id): Route<NodeId>,
) -> Result<Json<PurgeAnswer>> {
    state
        .run(move |state| {
            state.node(&caller, id)?;
            let target = PurgeTarget::Node(id);
            let mut copies: Vec<_> = state.loom().snapshot()?.copies(target)?.into_iter().map(|node| node.id).collect();
            copies.retain(|copy| state.node(&caller, *copy).is_ok());
            let receipt = state.actor_for(&caller, Tool::Prune)?.purge(target)?;
            Ok(Json(PurgeAnswer { receipt, copies }))
        })
        .await
}
