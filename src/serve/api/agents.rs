//! Agents: list, create, change, remove. Changes need a token of scope admin.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    serve::{
        caller::{AdminCaller, Caller},
        error::Result,
        extractors::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    store::Receipt,
    types::{Agent, AgentKind, NewAgent, Permission, deserialize_present},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_agents, create_agent)).routes(routes!(
        read_agent,
        update_agent,
        remove_agent
    ))
}

/// Lists agents in the order of their creation.
#[utoipa::path(get, path = "/agents", tag = "agents", params(PageParams), responses((status = OK, body = Page<Agent>)))]
async fn list_agents(
    State(state): State<AppState>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Agent>>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let mut agents = state.loom().snapshot()?.agents()?;
            agents.retain(|agent| !agent.removed);
            for agent in &mut agents {
                hide_prompt(state, &caller, agent)?;
            }
            Ok(Json(page.cut(agents, |agent| agent.name().to_owned())?))
        })
        .await
}

/// An agent. In a change, absent fields stay as they are, and `null` removes a value.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AgentBody {
    /// Name, unique in the file; needed for a new agent.
    name: Option<String>,
    /// `human` or `model` [default: model].
    kind: Option<AgentKind>,
    /// Reference of the agent's model.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<String>)]
    model: Option<Option<String>>,
    /// Text that the agent's model receives first.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<String>)]
    system_prompt: Option<Option<String>>,
    /// Sampling temperature.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<f64>)]
    temperature: Option<Option<f64>>,
    /// Maximum tokens of a reply.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schema(value_type = Option<u32>)]
    max_tokens: Option<Option<u32>>,
    /// Operations that the agent may use.
    permissions: Option<Vec<Permission>>,
}

impl AgentBody {
    fn apply(self, agent: NewAgent) -> NewAgent {
        NewAgent {
            name: self.name.unwrap_or(agent.name),
            kind: self.kind.unwrap_or(agent.kind),
            model: self.model.unwrap_or(agent.model),
            system_prompt: self.system_prompt.unwrap_or(agent.system_prompt),
            temperature: self.temperature.unwrap_or(agent.temperature),
            max_tokens: self.max_tokens.unwrap_or(agent.max_tokens),
            permissions: self.permissions.map_or(agent.permissions, Into::into),
            ..agent
        }
    }
}

/// Creates an agent.
#[utoipa::path(post, path = "/agents", tag = "agents", request_body = AgentBody, responses((status = CREATED, body = Agent)))]
async fn create_agent(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    Body(body): Body<AgentBody>,
) -> Result<(StatusCode, Json<Agent>)> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let empty = NewAgent::new(state.loom().agent_id(), "", AgentKind::Model);
            let agent = body.apply(empty);
            let name = agent.name.clone();
            state.actor(&caller)?.create_agent(agent)?;
            Ok((StatusCode::CREATED, Json(state.loom().agent(&name)?)))
        })
        .await
}

/// Returns an agent by its name or ULID.
#[utoipa::path(get, path = "/agents/{name}", tag = "agents", params(("name" = String, Path)), responses((status = OK, body = Agent)))]
async fn read_agent(State(state): State<AppState>, caller: Caller, Route(name): Route<String>) -> Result<Json<Agent>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let mut agent = state.loom().agent(&name)?;
            hide_prompt(state, &caller, &mut agent)?;
            Ok(Json(agent))
        })
        .await
}

/// Removes the system prompt, unless the caller may act as a person or is the agent.
fn hide_prompt(state: &AppState, caller: &Caller, agent: &mut Agent) -> Result<()> {
    if state.thought_reader(caller)?.0.is_some_and(|reader| reader != agent.id()) {
        agent.profile.system_prompt = None;
    }
    Ok(())
}

/// Changes an agent.
#[utoipa::path(patch, path = "/agents/{name}", tag = "agents", params(("name" = String, Path)), request_body = AgentBody, responses((status = OK, body = Agent)))]
async fn update_agent(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    Route(name): Route<String>,
    Body(body): Body<AgentBody>,
) -> Result<Json<Agent>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let agent = body.apply(state.loom().agent(&name)?.profile);
            let id = agent.id.to_string();
            state.actor(&caller)?.update_agent(agent)?;
            Ok(Json(state.loom().agent(&id)?))
        })
        .await
}

/// Removes an agent from the lists. Its nodes stay.
#[utoipa::path(delete, path = "/agents/{name}", tag = "agents", params(("name" = String, Path)), responses((status = OK, body = Receipt)))]
async fn remove_agent(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    Route(name): Route<String>,
) -> Result<Json<Receipt>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let agent = state.loom().agent(&name)?;
            Ok(Json(state.actor(&caller)?.remove_agent(agent.id())?))
        })
        .await
}
