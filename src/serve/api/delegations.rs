//! Delegations: start, list, follow, cancel and resume. A plan waits under `/approvals` for a person's decision.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response, sse::Event},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::ServerSentEvent;
use crate::{
    delegate::{self, DelegationEvent, DelegationSummary},
    id::NodeId,
    ops::Actor,
    serve::{
        caller::Caller,
        delegation_runs::{self, DelegationOutcome, DelegationRun},
        error::{ApiError, Result},
        event_stream::{self, ClientEvents, EventSource},
        extractors::{Body, Page, PageParams, Params, Route, last_event},
        journal_tail::JournalTail,
        state::AppState,
    },
    session::{DelegationUpdate, actor_at, saved_report},
    tools::{Tool, ToolError},
    types::Node,
};

/// Interval at which a stream checks whether another process still runs a delegation.
const HOLDER_POLL: Duration = Duration::from_secs(1);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_delegations, start_delegation))
        .routes(routes!(read_delegation, cancel_delegation))
        .routes(routes!(resume_delegation))
        .routes(routes!(delegation_events))
}

/// A delegation and its state.
#[derive(Serialize, ToSchema)]
struct DelegationEntry {
    /// Head node. Its id is the id of the delegation.
    head: Node,
    /// Goal of the delegation; empty after a purge.
    goal: String,
    /// `running`, `open` (its process ended), `stopped`, `refused` or `ended`. All but `running` can be resumed.
    state: &'static str,
    /// Agent and process that run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    /// Id of the approval that its plan waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<u64>,
}

impl DelegationEntry {
    fn of(state: &AppState, summary: DelegationSummary) -> Self {
        let id = summary.head.id;
        let folder = state.settings.partials_dir.as_deref();
        let holder = folder.and_then(|folder| delegate::lock_holder(folder, id));
        let runs_here = state.delegations.get(id).is_some_and(|run| run.outcome().is_none());
        let approvals = state.settings.approvals.list();
        let approval = approvals.into_iter().find(|waiting| waiting.node == Some(id)).map(|waiting| waiting.id);
        Self {
            state: summary.state(runs_here || holder.is_some()),
            head: summary.head,
            goal: summary.goal,
            holder,
            approval,
        }
    }
}

/// A delegation with its events.
#[derive(Serialize, ToSchema)]
struct DelegationDetail {
    #[serde(flatten)]
    entry: DelegationEntry,
    /// Events in order. They name the nodes that hold the plan, the work and the verdicts.
    #[schema(value_type = Vec<Object>)]
    events: Vec<DelegationEvent>,
    /// Report of the last run, if the run came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    report: Option<Value>,
    /// Error of the last run, if this server ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Returns the head node of a delegation that the caller may see.
fn head(state: &AppState, caller: &Caller, id: NodeId) -> Result<DelegationSummary> {
    Ok(delegate::summary(state.loom(), state.node(caller, id)?)?)
}

/// Returns an actor for the caller's agent, which must have the permission to delegate.
fn delegating_actor(state: &AppState, caller: &Caller, workspace: &str, at: NodeId) -> Result<Actor> {
    state.actor_for(caller, Tool::Delegate)?;
    Ok(actor_at(state.loom(), &state.agent(caller, None)?, workspace, at)?)
}

/// Lists delegations, the newest first.
#[utoipa::path(get, path = "/delegations", tag = "delegations", params(PageParams), responses((status = OK, body = Page<DelegationEntry>)))]
async fn list_delegations(
    State(state): State<AppState>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<DelegationEntry>>> {
    state
        .run(move |state| {
            let snapshot = state.loom().snapshot()?;
            let mut visible = Vec::new();
            for summary in delegate::list(state.loom())? {
                if snapshot.tree(summary.head.tree)?.is_some_and(|tree| caller.can_see(&tree)) {
                    visible.push(summary);
                }
            }
            let page = page.cut(visible, |summary| summary.head.id.to_string())?;
            let data = page.data.into_iter().map(|summary| DelegationEntry::of(state, summary)).collect();
            Ok(Json(Page { data, next: page.next }))
        })
        .await
}

/// A delegation to start.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewDelegationBody {
    /// Node below which it starts.
    node: NodeId,
    /// Goal of the delegation.
    goal: String,
    /// Facts that the workers need.
    #[serde(default)]
    context: String,
    /// Workspace of the delegating session [default: empty].
    #[serde(default)]
    workspace: String,
}

/// Starts a delegation: agents plan, wait for the approval of the plan, work and verify. It runs in this server. The
/// caller's agent needs the permission `delegate`.
#[utoipa::path(post, path = "/delegations", tag = "delegations", request_body = NewDelegationBody, responses((status = ACCEPTED, body = DelegationEntry)))]
async fn start_delegation(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<NewDelegationBody>,
) -> Result<(StatusCode, Json<DelegationEntry>)> {
    state
        .run(move |state| {
            let node = state.node(&caller, body.node)?;
            let actor = delegating_actor(state, &caller, &caller.workspace(body.workspace), node.id)?;
            let id = delegation_runs::orchestrator(state)?.create(&actor, node.id, &body.goal, &body.context)?;
            delegation_runs::start(state, actor, id, caller.withheld())?;
            let entry = DelegationEntry::of(state, head(state, &caller, id)?);
            Ok((StatusCode::ACCEPTED, Json(entry)))
        })
        .await
}

/// Returns a delegation with its events, and the report of its last run.
#[utoipa::path(get, path = "/delegations/{node}", tag = "delegations", params(("node" = NodeId, Path)), responses((status = OK, body = DelegationDetail)))]
async fn read_delegation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
) -> Result<Json<DelegationDetail>> {
    state
        .run(move |state| {
            let summary = head(state, &caller, id)?;
            let events = delegate::events(state.loom(), &summary.head)?;
            let outcome = state.delegations.get(id).and_then(|run| run.outcome());
            let (report, error) = match outcome {
                Some(Ok(report)) => (serde_json::to_value(&*report).ok(), None),
                Some(Err(error)) => (None, Some(error.to_string())),
                None => (saved_report(state.loom(), &summary.head)?, None),
            };
            Ok(Json(DelegationDetail { entry: DelegationEntry::of(state, summary), events, report, error }))
        })
        .await
}

/// Cancels a delegation that runs in this server. Results so far are stored, and it can be resumed.
#[utoipa::path(delete, path = "/delegations/{node}", tag = "delegations", params(("node" = NodeId, Path)), responses((status = ACCEPTED, description = "The delegation ends soon")))]
async fn cancel_delegation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
) -> Result<StatusCode> {
    state
        .run(move |state| {
            head(state, &caller, id)?;
            state.actor_for(&caller, Tool::Delegate)?;
            match state.delegations.get(id).filter(|run| run.outcome().is_none()) {
                Some(run) => run.cancel.cancel(),
                None => {
                    let message = "the delegation does not run in this server";
                    return Err(ApiError::new(StatusCode::CONFLICT, "conflict", message));
                }
            }
            Ok(StatusCode::ACCEPTED)
        })
        .await
}

/// Resumes a delegation that was stopped, refused or interrupted. Verified subtasks are not repeated.
#[utoipa::path(post, path = "/delegations/{node}/resume", tag = "delegations", params(("node" = NodeId, Path)), responses((status = ACCEPTED, body = DelegationEntry)))]
async fn resume_delegation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
) -> Result<(StatusCode, Json<DelegationEntry>)> {
    state
        .run(move |state| {
            let summary = head(state, &caller, id)?;
            let actor = delegating_actor(state, &caller, "", summary.head.parent.unwrap_or(id))?;
            delegation_runs::start(state, actor, id, caller.withheld())?;
            Ok((StatusCode::ACCEPTED, Json(DelegationEntry::of(state, summary))))
        })
        .await
}

/// Start of a stream of a delegation's events.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct DelegationEventParams {
    /// Number of the last known event [default: 0, all events]. `Last-Event-ID` has precedence.
    after: Option<u64>,
}

/// Streams a delegation: `event` for each stored event with its number as id, `progress` for what its workers do in this
/// server, and `end` with the report or the error. `bye` comes when the server stops.
#[utoipa::path(get, path = "/delegations/{node}/events", tag = "delegations", params(("node" = NodeId, Path), DelegationEventParams), responses((status = OK, description = "Server-sent events", content_type = "text/event-stream", body = ServerSentEvent)))]
async fn delegation_events(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    headers: HeaderMap,
    Params(params): Params<DelegationEventParams>,
) -> Result<Response> {
    let slot = state.rates.open_stream(&caller)?;
    let reader = caller.clone();
    let summary = state.run(move |state| head(state, &reader, id)).await?;
    let after = last_event(&headers, params.after)?.unwrap_or(0);
    let run = state.delegations.get(id);
    let reader = DelegationReader {
        journal: state.journal.clone(),
        after,
        updates: run.as_ref().map(|run| run.updates()),
        events: ClientEvents::new(state, caller, slot),
        head: summary.head,
        run,
    };
    Ok(event_stream::from_source(reader).into_response())
}

/// Reads the events of one delegation for one client.
struct DelegationReader {
    events: ClientEvents,
    head: Node,
    run: Option<Arc<DelegationRun>>,
    updates: Option<broadcast::Receiver<DelegationUpdate>>,
    journal: watch::Receiver<JournalTail>,
    /// Number of stored events that were sent.
    after: u64,
}

impl EventSource for DelegationReader {
    fn events(&mut self) -> &mut ClientEvents {
        &mut self.events
    }

    async fn read(&mut self) -> Option<()> {
        self.journal.mark_unchanged();
        match self.fill().await {
            Ok(false) => {
                self.drain_updates();
                let head = self.head.clone();
                let saved = self.events.state.run(move |state| Ok(saved_report(state.loom(), &head)?)).await;
                let outcome = self.run.as_ref().and_then(|run| run.outcome());
                self.events.end(end_event(outcome, saved.ok().flatten()));
            }
            Ok(true) if self.events.is_empty() => self.wait().await,
            Ok(true) => {}
            Err(error) => {
                tracing::warn!(error = error.message(), "a stream of a delegation ended");
                return None;
            }
        }
        Some(())
    }
}

impl DelegationReader {
    /// Reads the next stored events into the queue. Returns whether a process runs the delegation.
    async fn fill(&mut self) -> Result<bool> {
        let head = self.head.clone();
        let (events, is_running) = self
            .events
            .state
            .run(move |state| {
                let summary = delegate::summary(state.loom(), head.clone())?;
                let is_running = DelegationEntry::of(state, summary).state == "running";
                // Read after the state: a run that has ended appends no more.
                Ok((delegate::events(state.loom(), &head)?, is_running))
            })
            .await?;
        let known = usize::try_from(self.after).unwrap_or(usize::MAX);
        for (at, event) in events.iter().enumerate().skip(known) {
            let sent = Event::default().event("event").id((at + 1).to_string()).json_data(event);
            self.events.push(sent.map_err(ApiError::internal)?);
        }
        self.after = self.after.max(events.len() as u64);
        Ok(is_running)
    }

    /// Puts progress events into the queue that have not been sent.
    fn drain_updates(&mut self) {
        while let Some(updates) = &mut self.updates {
            match updates.try_recv() {
                Ok(update) => self.events.push(progress_event(&update)),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return,
            }
        }
    }

    /// Waits for something new.
    async fn wait(&mut self) {
        let run = self.run.clone();
        let ended = async {
            match &run {
                Some(run) => run.ended().await,
                None => tokio::time::sleep(HOLDER_POLL).await,
            }
        };
        let updates = &mut self.updates;
        let update = async {
            match updates {
                Some(updates) => updates.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.events.state.shutdown.cancelled() => self.events.say_bye(),
            update = update => match update {
                Ok(update) => self.events.push(progress_event(&update)),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => self.updates = None,
            },
            () = self.events.state.revoked(&self.events.caller) => {}
            _ = self.journal.changed() => {}
            () = ended => {}
        }
    }
}

fn progress_event(update: &DelegationUpdate) -> Event {
    Event::default().event("progress").json_data(update).unwrap_or_default()
}

/// Returns the last event of a stream, with the outcome of the run in this server, else with the report of an earlier one.
fn end_event(outcome: Option<DelegationOutcome>, saved: Option<Value>) -> Event {
    let data = match outcome {
        Some(Ok(report)) => json!({ "report": *report }),
        Some(Err(ToolError { code, message, .. })) => json!({ "error": { "code": code.as_str(), "message": message } }),
        None => saved.map_or_else(|| json!({}), |report| json!({ "report": report })),
    };
    Event::default().event("end").data(data.to_string())
}
