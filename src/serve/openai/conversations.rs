//! `/v1/conversations`: a conversation is a session, and its items are the nodes of the path to the session's position.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::item::{ItemId, draft_of, item_of, items_of};
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft, SessionDraft, TreeDraft},
    serve::{
        api::any_json,
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, Params, Route, limit_up_to},
        state::AppState,
    },
    store::{Mutation, Snapshot},
    tools::Tool,
    types::{AuthorType, EdgeKind, Json as NodeJson, Op, Parent, Session, SessionPatch},
};

/// Key of the session metadata that marks a conversation.
const MARK: &str = "loom.conversation";

/// Key of the session metadata with the deleted items, separated by spaces.
const DELETED: &str = "loom.deleted";

/// Largest number of items of one request.
const MAX_ITEMS: usize = 20;

/// Largest number of pairs of metadata, and the largest lengths of key and value in characters.
const MAX_METADATA: (usize, usize, usize) = (16, 64, 512);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(read, update, delete))
        .routes(routes!(list_items, add_items))
        .routes(routes!(read_item, delete_item))
}

/// A session as OpenAI's clients read it.
#[derive(Serialize, ToSchema)]
struct Conversation {
    id: String,
    object: &'static str,
    /// Seconds since 1970.
    created_at: i64,
    /// Pairs of texts.
    metadata: BTreeMap<String, String>,
}

impl From<Session> for Conversation {
    fn from(session: Session) -> Self {
        let mut metadata = session.metadata;
        metadata.retain(|key, _| !key.starts_with("loom."));
        let id = ItemId::new("conv", session.id).to_string();
        Self { id, object: "conversation", created_at: session.started_at.as_millis() / 1_000, metadata }
    }
}

/// Returns the session of a conversation.
pub(super) fn find(state: &AppState, caller: &Caller, id: SessionId) -> Result<Session> {
    let missing = || ApiError::not_found("conversation", ItemId::new("conv", id));
    let session = state.session(caller, id).map_err(|_| missing())?;
    if session.active && session.metadata.contains_key(MARK) { Ok(session) } else { Err(missing()) }
}

fn find_text(state: &AppState, caller: &Caller, text: &str) -> Result<Session> {
    find(state, caller, ItemId::parse("conversation", text)?)
}

/// Returns the items of the path to a node, without those that were deleted from the conversation.
pub(super) fn items_to(snapshot: &dyn Snapshot, to: NodeId, session: Option<&Session>) -> Result<Vec<Value>> {
    let versions = session.map_or(&[][..], |session| &session.versions);
    let deleted = session.and_then(|session| session.metadata.get(DELETED)).map_or("", String::as_str);
    let is_root_mark = |value: Value| value[MARK] == true;
    let nodes = snapshot.path_back(to, versions, 0)?.into_iter().filter(|node| {
        let metadata = node.metadata.as_ref().and_then(|metadata| metadata.value().ok());
        let is_listed = !metadata.is_some_and(is_root_mark) && !deleted.contains(&node.id.to_string());
        // A thought on the path is no item of the protocol, and not for every reader.
        is_listed && node.kind != EdgeKind::Thought
    });
    Ok(nodes.map(|node| item_of(&node)).collect())
}

/// Appends items as a chain of nodes: at a conversation's position or after a node in one commit, or as a new tree, whose root
/// is committed first. Returns the last node.
pub(super) fn append(
    state: &AppState,
    caller: &Caller,
    actor: &Actor,
    session: Option<&Session>,
    before: Option<NodeId>,
    items: &[Value],
) -> Result<NodeId> {
    if let Some(before) = before {
        check_speaker(state, caller, before, items)?;
    }
    let mut items = items.iter();
    let mut last = match (before, session) {
        (Some(before), _) => before,
        (None, _) => {
            let first = items.next().ok_or_else(|| ApiError::invalid("there is no item"))?;
            let (tree, root) = actor.create_tree(TreeDraft::new(draft_of(first)))?;
            state.assign_project(caller, tree.id, root.id)?;
            root.id
        }
    };
    let mut mutations = Vec::new();
    for item in items {
        // The first item goes to the position at commit time, so that writers of one conversation form one chain.
        let parent = match session.filter(|_| mutations.is_empty()) {
            Some(session) => Parent::Position(session.id),
            None => Parent::Node(last),
        };
        let node = actor.draft(parent, draft_of(item));
        last = node.id;
        mutations.push(Mutation::Append(Box::new(node)));
    }
    if !mutations.is_empty() {
        state.metrics.appends.inc_by(mutations.len() as u64);
        actor.commit(Op::Append, mutations)?;
    }
    Ok(last)
}

/// Returns an error if a token that is limited to a model's agent would write as a person or as system in a tree that another
/// agent began.
fn check_speaker(state: &AppState, caller: &Caller, before: NodeId, items: &[Value]) -> Result<()> {
    let Some(agent) = state.thought_reader(caller)?.0 else { return Ok(()) };
    let is_others = |item| matches!(draft_of(item).author_type, Some(AuthorType::Human | AuthorType::System));
    if items.iter().any(is_others) {
        let loom = state.loom();
        let root = loom.tree(loom.node(before)?.tree)?.root.map(|root| loom.node(root)).transpose()?;
        if root.is_none_or(|root| root.author != agent) {
            let message =
                "a model's agent does not write as a person or as system in the conversation of another agent";
            return Err(ApiError::permission(message));
        }
    }
    Ok(())
}

/// A conversation to create.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct NewConversation {
    /// At most 20 items.
    #[schema(schema_with = any_json)]
    items: Value,
    /// At most 16 pairs of texts.
    metadata: Option<BTreeMap<String, String>>,
}

pub(super) fn checked_metadata(metadata: Option<BTreeMap<String, String>>) -> Result<BTreeMap<String, String>> {
    let metadata = metadata.unwrap_or_default();
    let (pairs, key, value) = MAX_METADATA;
    let fits =
        |(k, v): (&String, &String)| k.chars().count() <= key && v.chars().count() <= value && !k.starts_with("loom.");
    if metadata.len() > pairs || !metadata.iter().all(fits) {
        return Err(ApiError::invalid("metadata has at most 16 pairs; keys of 64, values of 512 characters"));
    }
    Ok(metadata)
}

fn checked_items(items: Value) -> Result<Vec<Value>> {
    let items = items_of(items)?;
    if items.len() > MAX_ITEMS {
        return Err(ApiError::invalid(format!("a request has at most {MAX_ITEMS} items")));
    }
    Ok(items)
}

/// Creates a conversation.
#[utoipa::path(post, path = "/conversations", tag = "openai", request_body = NewConversation, responses((status = OK, body = Conversation)))]
async fn create(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<NewConversation>,
) -> Result<Json<Conversation>> {
    state
        .run(move |state| {
            let (items, mut metadata) = (checked_items(body.items)?, checked_metadata(body.metadata)?);
            metadata.insert(MARK.to_owned(), "1".to_owned());
            let actor = state.actor_for(&caller, Tool::Respond)?;
            let mark = Some(NodeJson::from(json!({ MARK: true })));
            let root = NodeDraft { author_type: Some(AuthorType::System), metadata: mark, ..NodeDraft::default() };
            let (tree, root) = actor.create_tree(TreeDraft::new(root).title("Conversation"))?;
            let item = state.assign_project(&caller, tree.id, root.id)?;
            let draft = SessionDraft { metadata, item, ..SessionDraft::of("") };
            let session = actor.open_session(tree.id, Some(root.id), draft)?;
            let session = state.loom().session(session)?;
            let writer = actor.in_session(session.id);
            append(state, &caller, &writer, Some(&session), session.position, &items)?;
            Ok(Json(session.into()))
        })
        .await
}

/// Returns a conversation.
#[utoipa::path(get, path = "/conversations/{id}", tag = "openai", params(("id" = String, Path)), responses((status = OK, body = Conversation)))]
async fn read(State(state): State<AppState>, caller: Caller, Route(id): Route<String>) -> Result<Json<Conversation>> {
    state.run(move |state| Ok(Json(find_text(state, &caller, &id)?.into()))).await
}

/// New metadata.
#[derive(Deserialize, ToSchema)]
struct ConversationPatch {
    metadata: Option<BTreeMap<String, String>>,
}

/// Replaces the metadata of a conversation.
#[utoipa::path(post, path = "/conversations/{id}", tag = "openai", params(("id" = String, Path)), request_body = ConversationPatch, responses((status = OK, body = Conversation)))]
async fn update(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<String>,
    Body(body): Body<ConversationPatch>,
) -> Result<Json<Conversation>> {
    state
        .run(move |state| {
            let session = find_text(state, &caller, &id)?;
            state.require_own_session(&caller, &session)?;
            let new = match body.metadata {
                Some(metadata) => checked_metadata(Some(metadata))?,
                None => return Ok(Json(session.into())),
            };
            let own = session.metadata.into_keys().filter(|key| !key.starts_with("loom."));
            let mut patch = own.fold(SessionPatch::default(), |patch, key| patch.metadata(key, None));
            patch.metadata.extend(new.into_iter().map(|(key, value)| (key, Some(value))));
            state.actor_for(&caller, Tool::Respond)?.update_session(session.id, patch)?;
            Ok(Json(state.loom().session(session.id)?.into()))
        })
        .await
}

/// Ends a conversation. Its items stay in the tree.
#[utoipa::path(delete, path = "/conversations/{id}", tag = "openai", params(("id" = String, Path)), responses((status = OK, body = Value)))]
async fn delete(State(state): State<AppState>, caller: Caller, Route(id): Route<String>) -> Result<Json<Value>> {
    state
        .run(move |state| {
            let session = find_text(state, &caller, &id)?;
            state.require_own_session(&caller, &session)?;
            state.actor_for(&caller, Tool::Respond)?.end_session(session.id)?;
            Ok(Json(json!({ "id": id, "object": "conversation.deleted", "deleted": true })))
        })
        .await
}

/// Position, size and order of a page of items.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ItemParams {
    /// Id of the previous page's last item.
    after: Option<String>,
    /// Number of items, 1 to 100 [default: 20].
    #[param(minimum = 1, maximum = 100)]
    #[serde(default, deserialize_with = "limit_up_to::<100, _>")]
    limit: Option<u32>,
    /// `asc` or `desc` [default: desc].
    order: Option<String>,
}

/// A page of items.
#[derive(Serialize, ToSchema)]
pub(super) struct ItemPage {
    object: &'static str,
    data: Vec<Value>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

impl ItemParams {
    /// Returns the page of a complete list of items, which is in the order of the conversation.
    pub(super) fn page(&self, mut items: Vec<Value>) -> Result<ItemPage> {
        match self.order.as_deref() {
            None | Some("desc") => items.reverse(),
            Some("asc") => {}
            Some(other) => return Err(ApiError::invalid(format!("order {other:?} is none of: asc, desc"))),
        }
        let start = match &self.after {
            None => 0,
            Some(after) => {
                let at = items.iter().position(|item| item["id"] == after.as_str());
                at.ok_or_else(|| ApiError::invalid(format!("no item {after:?}")))? + 1
            }
        };
        let limit = self.limit.unwrap_or(20) as usize;
        let has_more = items.len() > start + limit;
        Ok(item_page(items.into_iter().skip(start).take(limit).collect(), has_more))
    }
}

fn item_page(data: Vec<Value>, has_more: bool) -> ItemPage {
    let id = |item: Option<&Value>| item.and_then(|item| item["id"].as_str()).map(str::to_owned);
    ItemPage { object: "list", first_id: id(data.first()), last_id: id(data.last()), data, has_more }
}

fn all_items(state: &AppState, session: &Session) -> Result<Vec<Value>> {
    match session.position {
        Some(position) => items_to(&*state.loom().snapshot()?, position, Some(session)),
        None => Ok(Vec::new()),
    }
}

/// Lists the items of a conversation.
#[utoipa::path(get, path = "/conversations/{id}/items", tag = "openai", params(("id" = String, Path), ItemParams), responses((status = OK, body = ItemPage)))]
async fn list_items(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<String>,
    Params(params): Params<ItemParams>,
) -> Result<Json<ItemPage>> {
    state.run(move |state| params.page(all_items(state, &find_text(state, &caller, &id)?)?).map(Json)).await
}

/// Items to add.
#[derive(Deserialize, ToSchema)]
struct NewItems {
    /// At most 20 items.
    #[schema(schema_with = any_json)]
    items: Value,
}

/// Adds items at the end of a conversation.
#[utoipa::path(post, path = "/conversations/{id}/items", tag = "openai", params(("id" = String, Path)), request_body = NewItems, responses((status = OK, body = ItemPage)))]
async fn add_items(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<String>,
    Body(body): Body<NewItems>,
) -> Result<Json<ItemPage>> {
    state
        .run(move |state| {
            let session = find_text(state, &caller, &id)?;
            let items = checked_items(body.items)?;
            let actor = state.actor_for(&caller, Tool::Respond)?.in_session(session.id);
            append(state, &caller, &actor, Some(&session), session.position, &items)?;
            let session = state.loom().session(session.id)?;
            let mut all = all_items(state, &session)?;
            Ok(Json(item_page(all.split_off(all.len().saturating_sub(items.len())), false)))
        })
        .await
}

fn find_item(state: &AppState, session: &Session, id: &str) -> Result<Value> {
    let found = all_items(state, session)?.into_iter().find(|item| item["id"] == id);
    found.ok_or_else(|| ApiError::not_found("item", id))
}

/// Returns an item of a conversation.
#[utoipa::path(get, path = "/conversations/{id}/items/{item}", tag = "openai", params(("id" = String, Path), ("item" = String, Path)), responses((status = OK, body = Value)))]
async fn read_item(
    State(state): State<AppState>,
    caller: Caller,
    Route((id, item)): Route<(String, String)>,
) -> Result<Json<Value>> {
    state.run(move |state| find_item(state, &find_text(state, &caller, &id)?, &item).map(Json)).await
}

/// Removes an item from a conversation. Its node stays in the tree.
#[utoipa::path(delete, path = "/conversations/{id}/items/{item}", tag = "openai", params(("id" = String, Path), ("item" = String, Path)), responses((status = OK, body = Conversation)))]
async fn delete_item(
    State(state): State<AppState>,
    caller: Caller,
    Route((id, item)): Route<(String, String)>,
) -> Result<Json<Conversation>> {
    state
        .run(move |state| {
            let session = find_text(state, &caller, &id)?;
            state.require_own_session(&caller, &session)?;
            find_item(state, &session, &item)?;
            let node: NodeId = ItemId::parse("item", &item)?;
            // Two deletions at the same time must keep each other's item.
            state.actor_for(&caller, Tool::Respond)?.transaction(|actor| {
                let session = actor.loom().session(session.id)?;
                let deleted = session.metadata.get(DELETED).map_or("", String::as_str);
                let patch = SessionPatch::default().metadata(DELETED, format!("{deleted} {node}"));
                actor.update_session(session.id, patch)
            })?;
            Ok(Json(state.loom().session(session.id)?.into()))
        })
        .await
}
