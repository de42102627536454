//! Trees: list, create, read, change, archive; undo and journal.

use std::collections::{HashMap, hash_map::Entry};

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::TreeId,
    ops::{NodeDraft, TreeDraft, describe_entry, tree_history},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    store::{Direction, Receipt, Snapshot, TreeFilter, UndoReach},
    tools::Tool,
    types::{Agent, JournalEntry, Mode, Node, Tree, TreePatch, deserialize_present},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_trees, create_tree))
        .routes(routes!(read_tree, update_tree, archive_tree))
        .routes(routes!(tree_nodes))
        .routes(routes!(find_node))
        .routes(routes!(bookmarks))
        .routes(routes!(pruned))
        .routes(routes!(journal))
        .routes(routes!(undo))
        .routes(routes!(redo))
}

/// Selection of trees.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TreeParams {
    /// True to include archived trees.
    #[serde(default)]
    archived: bool,
}

/// Lists trees, the most recently changed first.
#[utoipa::path(get, path = "/trees", tag = "trees", params(TreeParams, PageParams), responses((status = OK, body = Page<Tree>)))]
async fn list_trees(
    State(state): State<AppState>,
    caller: Caller,
    Params(params): Params<TreeParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Tree>>> {
    state
        .run(move |state| {
            let mut trees = state.loom().snapshot()?.trees(TreeFilter { archived: params.archived, limit: 0 })?;
            trees.retain(|tree| caller.can_see(tree));
            Ok(Json(page.cut(trees, |tree| tree.id.to_string())?))
        })
        .await
}

/// A tree to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTreeBody {
    /// Title; without one it follows the first node.
    title: Option<String>,
    /// System prompt of the tree.
    system_context: Option<String>,
    /// `dialogue` or `buffer` [default: dialogue].
    mode: Option<Mode>,
    /// Text of the first node.
    content: String,
}

/// A tree and its first node.
#[derive(Serialize, ToSchema)]
struct CreatedTree {
    tree: Tree,
    root: Node,
}

/// Creates a tree with its first node. With a token of a project, the tree belongs to that project.
#[utoipa::path(post, path = "/trees", tag = "trees", request_body = NewTreeBody, responses((status = CREATED, body = CreatedTree)))]
async fn create_tree(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<NewTreeBody>,
) -> Result<(StatusCode, Json<CreatedTree>)> {
    state
        .run(move |state| {
            let actor = state.actor_for(&caller, Tool::Respond)?;
            let mut draft = TreeDraft::new(NodeDraft::text(body.content)).mode(body.mode.unwrap_or(Mode::Dialogue));
            (draft.title, draft.system_context) = (body.title, body.system_context);
            let (tree, root) = actor.create_tree(draft)?;
            state.assign_project(&caller, tree.id, root.id)?;
            state.metrics.appends.inc();
            let tree = state.loom().tree(tree.id)?;
            Ok((StatusCode::CREATED, Json(CreatedTree { tree, root })))
        })
        .await
}

/// Returns a tree by its id or title, or a part of them that only one tree has. Changes need the whole id or title.
#[utoipa::path(get, path = "/trees/{tree}", tag = "trees", params(("tree" = String, Path)), responses((status = OK, body = Tree)))]
async fn read_tree(State(state): State<AppState>, caller: Caller, Route(tree): Route<String>) -> Result<Json<Tree>> {
    state.run(move |state| Ok(Json(state.tree(&caller, &tree)?))).await
}

/// Changes of a tree. An absent field stays as it is, null clears it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TreeBody {
    /// True archives the tree, false lists it again.
    archived: Option<bool>,
    /// New title; null restores the first words of the root.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<String>)]
    title: Option<Option<String>>,
    /// New description; null removes it.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
    /// New system prompt; null removes it.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<String>)]
    system_context: Option<Option<String>>,
}

/// Changes title, description or system prompt, archives, or lists again.
#[utoipa::path(patch, path = "/trees/{tree}", tag = "trees", params(("tree" = String, Path)), request_body = TreeBody, responses((status = OK, body = Tree)))]
async fn update_tree(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Body(body): Body<TreeBody>,
) -> Result<Json<Tree>> {
    state
        .run(move |state| {
            let (actor, id) = (state.actor_for(&caller, Tool::Respond)?, state.exact_tree(&caller, &tree)?.id);
            let TreeBody { title, description, system_context, archived } = body;
            let patch = TreePatch { title, description, system_context };
            if patch != TreePatch::default() {
                actor.rename(id, patch)?;
            }
            match archived {
                Some(true) => drop(actor.archive_tree(id)?),
                Some(false) => drop(actor.unarchive_tree(id)?),
                None => {}
            }
            Ok(Json(state.loom().tree(id)?))
        })
        .await
}

/// Archives a tree. Nothing is deleted.
#[utoipa::path(delete, path = "/trees/{tree}", tag = "trees", params(("tree" = String, Path)), responses((status = OK, body = Receipt)))]
async fn archive_tree(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
) -> Result<Json<Receipt>> {
    state
        .run(move |state| {
            let id = state.exact_tree(&caller, &tree)?.id;
            Ok(Json(state.actor_for(&caller, Tool::Respond)?.archive_tree(id)?))
        })
        .await
}

/// Lists the nodes of a tree in the order of their insertion. The cursor is a node's `seq`.
#[utoipa::path(get, path = "/trees/{tree}/nodes", tag = "trees", params(("tree" = String, Path), PageParams), responses((status = OK, body = Page<Node>)))]
async fn tree_nodes(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Node>>> {
    let after = page.after_number()?;
    state
        .run(move |state| {
            let id = state.tree(&caller, &tree)?.id;
            let limit = page.limit();
            let nodes = state.loom().snapshot()?.nodes_after(id, after, page.read_limit())?;
            let reader = state.thought_reader(&caller)?;
            let mut page = Page::of(nodes, limit, |node| node.seq.to_string());
            reader.retain_readable(&mut page.data);
            Ok(Json(page))
        })
        .await
}

/// Returns a node of a tree by its local id, a prefix of it, or its ULID.
#[utoipa::path(get, path = "/trees/{tree}/nodes/{id}", tag = "trees", params(("tree" = String, Path), ("id" = String, Path)), responses((status = OK, body = Node)))]
async fn find_node(
    State(state): State<AppState>,
    caller: Caller,
    Route((tree, id)): Route<(String, String)>,
) -> Result<Json<Node>> {
    state
        .run(move |state| {
            let tree = state.tree(&caller, &tree)?.id;
            let node = state.loom().find_node(tree, &id)?;
            if node.tree == tree && state.thought_reader(&caller)?.may_read(&node) {
                Ok(Json(node))
            } else {
                Err(ApiError::not_found("node", id))
            }
        })
        .await
}

/// Returns a page of the nodes that the caller may read.
fn marked(state: &AppState, caller: &Caller, page: &PageParams, mut nodes: Vec<Node>) -> Result<Page<Node>> {
    let reader = state.thought_reader(caller)?;
    reader.retain_readable(&mut nodes);
    page.cut(nodes, |node| node.id.to_string())
}

/// Lists the bookmarked nodes of a tree.
#[utoipa::path(get, path = "/trees/{tree}/bookmarks", tag = "trees", params(("tree" = String, Path), PageParams), responses((status = OK, body = Page<Node>)))]
async fn bookmarks(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Node>>> {
    state
        .run(move |state| {
            let id = state.tree(&caller, &tree)?.id;
            Ok(Json(marked(state, &caller, &page, state.loom().snapshot()?.bookmarks(id)?)?))
        })
        .await
}

/// Lists the roots of the pruned branches of a tree.
#[utoipa::path(get, path = "/trees/{tree}/pruned", tag = "trees", params(("tree" = String, Path), PageParams), responses((status = OK, body = Page<Node>)))]
async fn pruned(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Node>>> {
    state
        .run(move |state| {
            let id = state.tree(&caller, &tree)?.id;
            Ok(Json(marked(state, &caller, &page, state.loom().snapshot()?.pruned(id)?)?))
        })
        .await
}

/// A change as a person reads it.
#[derive(Serialize, ToSchema)]
struct DescribedEntry {
    #[serde(flatten)]
    entry: JournalEntry,
    /// Name of the agent that made it.
    agent: String,
    /// Words for it, such as `edited [a7x2kq] as [b3k9mn]`. Names of trees and documents are quoted.
    description: String,
    /// True if it is the change that an undo of its agent reverts.
    undo: bool,
}

/// Adds words to the entries that the caller may see.
fn described(snapshot: &dyn Snapshot, tree: TreeId, entries: Vec<JournalEntry>) -> Result<Vec<DescribedEntry>> {
    let agents = snapshot.agents()?;
    let mut targets = HashMap::new();
    let mut shown = Vec::with_capacity(entries.len());
    for entry in entries {
        let target = match targets.entry(entry.agent) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let target = snapshot.undo_target(Some(tree), UndoReach::Tree, entry.agent, Direction::Undo)?;
                *new.insert(target.map(|target| target.group))
            }
        };
        let name = agents.iter().find(|agent| agent.id() == entry.agent).map_or("?", Agent::name);
        let description = describe_entry(snapshot, &entry)?.words(&|id| format!("[{id}]"), &|name| format!("{name:?}"));
        let undo = target == Some(entry.group) && entry.seq == entry.group;
        shown.push(DescribedEntry { agent: name.to_owned(), description, undo, entry });
    }
    Ok(shown)
}

/// Lists the changes of a tree, the newest first, with words. The cursor is an entry's `seq`.
#[utoipa::path(get, path = "/trees/{tree}/journal", tag = "trees", params(("tree" = String, Path), PageParams), responses((status = OK, body = Page<DescribedEntry>)))]
async fn journal(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<DescribedEntry>>> {
    let before = page.after_number()?;
    state
        .run(move |state| {
            let id = state.tree(&caller, &tree)?.id;
            let limit = page.limit();
            let snapshot = state.loom().snapshot()?;
            let entries = tree_history(&*snapshot, id, before, page.read_limit())?;
            let mut page = Page::of(entries, limit, |entry| entry.seq.to_string());
            // Documents are not part of a project. The cursor counts them, so that no page seems to be the last.
            page.data.retain(|entry| caller.project.is_none() || entry.tree.is_some());
            Ok(Json(Page { data: described(&*snapshot, id, page.data)?, next: page.next }))
        })
        .await
}

/// Result of an undo or redo.
#[derive(Serialize, ToSchema)]
struct UndoAnswer {
    /// Operation that was reverted or repeated.
    reverted: JournalEntry,
    receipt: Receipt,
}

/// Agent whose change is reverted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct UndoParams {
    /// Name of an agent whose last change a person reverts [default: the caller's agent].
    agent: Option<String>,
    /// Number of a journal entry: a change after it is not reverted.
    until: Option<u64>,
}

/// Reverts the last change of the caller's agent in a tree, or of another agent. Changes of documents and agents are in no
/// tree.
#[utoipa::path(post, path = "/trees/{tree}/undo", tag = "trees", params(("tree" = String, Path), UndoParams), responses((status = OK, body = UndoAnswer)))]
async fn undo(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(params): Params<UndoParams>,
) -> Result<Json<UndoAnswer>> {
    state
        .run(move |state| {
            let agent = state.agent(&caller, params.agent.as_deref())?.id();
            let actor = state.actor_for(&caller, Tool::Undo)?.reverting(UndoReach::Tree);
            let tree = Some(state.exact_tree(&caller, &tree)?.id);
            if let Some(until) = params.until {
                let last = state.loom().snapshot()?.undo_target(tree, UndoReach::Tree, agent, Direction::Undo)?;
                if last.is_some_and(|last| last.entry.seq > until) {
                    let message = "a later change would be reverted";
                    return Err(ApiError::new(StatusCode::CONFLICT, "conflict", message).hint("undo that one first"));
                }
            }
            let done = actor.undo_of(agent, tree)?;
            Ok(Json(UndoAnswer { reverted: done.target.entry, receipt: done.receipt }))
        })
        .await
}

/// Repeats the change that was reverted last.
#[utoipa::path(post, path = "/trees/{tree}/redo", tag = "trees", params(("tree" = String, Path)), responses((status = OK, body = UndoAnswer)))]
async fn redo(State(state): State<AppState>, caller: Caller, Route(tree): Route<String>) -> Result<Json<UndoAnswer>> {
    state
        .run(move |state| {
            let actor = state.actor_for(&caller, Tool::Redo)?.reverting(UndoReach::Tree);
            let done = actor.redo(Some(state.exact_tree(&caller, &tree)?.id))?;
            Ok(Json(UndoAnswer { reverted: done.target.entry, receipt: done.receipt }))
        })
        .await
}
