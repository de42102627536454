//! Responses while they run: a task asks the model, keeps the events for readers, and stores the output.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    event_sequence::EventSequence,
    item::draft_of,
    response_plan::ResponsePlan,
    response_record::{RESPONSE_FIELD, ResponseRecord},
};
use crate::{
    id::{NodeId, SessionId},
    ops::Actor,
    provider::{Finish, FinishReason, ProviderError, StreamEvent, ToolCall, Usage},
    serve::{caller::Caller, error::ApiError, state::AppState},
    session::GenerationMetadata,
    store::Mutation,
    types::{Json, Op, Parent},
};

/// Time for which the events of an ended response stay in memory. Later readers get a replay from the store.
const KEEP_EVENTS: Duration = Duration::from_secs(60);

/// A response that runs or has just ended.
pub(super) struct ResponseRun {
    log: Mutex<Vec<Value>>,
    /// Number of events, and whether the response has ended.
    progress: watch::Sender<(usize, bool)>,
    pub(super) cancel: CancellationToken,
    /// Project of the token that created the response.
    project: Option<String>,
}

impl ResponseRun {
    fn new(project: Option<String>) -> Self {
        let (progress, cancel) = (watch::Sender::new((0, false)), CancellationToken::new());
        Self { log: Mutex::default(), progress, cancel, project }
    }

    fn append(&self, events: Vec<Value>, ended: bool) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend(events);
        self.progress.send_replace((log.len(), ended));
    }

    /// Ends a response whose task panicked.
    fn fail(&self, mut record: ResponseRecord) {
        fail(&mut record, "the server failed");
        let response = record.response("failed", &[]);
        let number = self.progress.borrow().0;
        let event = json!({ "type": "response.failed", "sequence_number": number, "response": response });
        self.append(vec![event], true);
    }

    /// Returns the events from number `from` on, as far as they exist.
    pub(super) fn events(&self, from: usize) -> Vec<Value> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().skip(from).cloned().collect()
    }

    /// Returns a receiver of the number of events and of the end.
    pub(super) fn progress(&self) -> watch::Receiver<(usize, bool)> {
        self.progress.subscribe()
    }

    /// Returns the newest state of the response object.
    pub(super) fn response(&self) -> Value {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().rev().find_map(|event| event.get("response").cloned()).unwrap_or_default()
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        // The sender lives as long as this run.
        let _ = self.progress().wait_for(|(_, ended)| *ended).await;
    }
}

/// Running responses by their id, and the conversations that they continue.
#[derive(Default)]
pub(in crate::serve) struct ResponseRuns {
    runs: Mutex<HashMap<NodeId, Arc<ResponseRun>>>,
    conversations: Arc<Mutex<HashSet<SessionId>>>,
}

/// Keeps other responses from a conversation until it is dropped.
pub(super) struct ConversationLock {
    conversation: SessionId,
    conversations: Arc<Mutex<HashSet<SessionId>>>,
}

impl Drop for ConversationLock {
    fn drop(&mut self) {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.conversation);
    }
}

impl ResponseRuns {
    /// Locks a conversation. Fails if a response of this server continues it.
    pub(super) fn lock_conversation(&self, conversation: SessionId) -> crate::serve::error::Result<ConversationLock> {
        let conversations = Arc::clone(&self.conversations);
        if !conversations.lock().unwrap_or_else(PoisonError::into_inner).insert(conversation) {
            let message = "another response continues this conversation";
            return Err(ApiError::new(StatusCode::CONFLICT, "conversation_locked", message));
        }
        Ok(ConversationLock { conversation, conversations })
    }

    /// Returns a response that runs or has just ended. A caller of a project sees those of its project only.
    pub(super) fn get(&self, caller: &Caller, id: NodeId) -> Option<Arc<ResponseRun>> {
        let found = self.lock().get(&id).cloned();
        found.filter(|run| caller.project.is_none() || run.project == caller.project)
    }

    /// Forgets a response. Its task continues.
    pub(super) fn remove(&self, id: NodeId) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, Arc<ResponseRun>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the task of a response.
pub(super) fn start(state: &AppState, plan: ResponsePlan) -> Arc<ResponseRun> {
    let run = Arc::new(ResponseRun::new(plan.project.clone()));
    let id = plan.record.id;
    let mut sequence = EventSequence::start(plan.record.clone());
    run.append(sequence.take(), false);
    state.responses.lock().insert(id, Arc::clone(&run));
    let (state, task, is_stored) = (state.clone(), Arc::clone(&run), plan.actor.is_some());
    tokio::spawn(async move {
        let open = state.metrics.open_stream();
        let record = plan.record.clone();
        let work = std::panic::AssertUnwindSafe(execute(&state, &task, plan, sequence));
        if work.catch_unwind().await.is_err() {
            // Readers wait for the last event.
            task.fail(record);
        }
        drop(open);
        if is_stored {
            tokio::time::sleep(KEEP_EVENTS).await;
        }
        state.responses.lock().remove(&id);
    });
    run
}

/// Reply of a model so far.
#[derive(Default)]
struct Reply {
    text: String,
    deltas: Vec<usize>,
    calls: Vec<ToolCall>,
}

async fn execute(state: &AppState, run: &ResponseRun, plan: ResponsePlan, mut sequence: EventSequence) {
    let ResponsePlan { mut record, model, request, actor, lock, .. } = plan;
    let mut generation = model.stream(request);
    let mut reply = Reply::default();
    let end = loop {
        match generation.next_until(&run.cancel).await {
            Some(Ok(StreamEvent::Text(text))) => {
                sequence.text(record.id, &text);
                reply.deltas.push(text.len());
                reply.text.push_str(&text);
                run.append(sequence.take(), false);
            }
            Some(Ok(StreamEvent::Done(finish))) => break Ok(finish),
            Some(Err(error)) => break Err(error),
            None => break Err(ProviderError::Cancelled),
        }
    };
    let metadata = end
        .as_ref()
        .ok()
        .and_then(|finish| GenerationMetadata::of(model.reference(), finish, &state.settings.prices).json().ok());
    finish(state, &mut record, &mut reply, end, generation.is_cancelled());
    if reply.text.is_empty() && reply.calls.is_empty() {
        // Every response has an item, and thus a node that names it.
        sequence.text(record.id, "");
        reply.deltas.push(0);
    }
    sequence.end_text(if record.status == "completed" { "completed" } else { "incomplete" });
    let mut calls = Vec::with_capacity(reply.calls.len());
    for call in reply.calls.drain(..) {
        let first = reply.deltas.is_empty() && calls.is_empty();
        let id = if first { record.id } else { state.loom().node_id() };
        sequence.call(id, &call);
        calls.push((id, call));
    }
    record.deltas = reply.deltas;
    record.output = (!record.deltas.is_empty()).then_some(record.id).into_iter().collect();
    record.output.extend(calls.iter().map(|(id, _)| *id));
    if let Some(actor) = actor
        && let Err(error) = store(state, &actor, &record, sequence.output(), metadata).await
    {
        tracing::error!(?error, "a response was not stored");
        fail(&mut record, "the reply of the model could not be stored");
    }
    sequence.end(record);
    // Whoever has read the end can continue the conversation.
    drop(lock);
    run.append(sequence.take(), true);
}

/// Sets status, usage and error of a record by the end of the model's stream.
fn finish(
    state: &AppState,
    record: &mut ResponseRecord,
    reply: &mut Reply,
    end: Result<Finish, ProviderError>,
    cancelled: bool,
) {
    record.status = "completed".to_owned();
    match end {
        Ok(finish) => {
            reply.calls = finish.calls;
            if let Some(usage) = &finish.usage {
                state.metrics.used(usage.prompt, usage.output);
                record.usage = Some(usage_json(usage));
            }
            match finish.reason {
                FinishReason::Length => record.incomplete = Some("max_output_tokens".to_owned()),
                FinishReason::Refused => record.incomplete = Some("content_filter".to_owned()),
                FinishReason::Interrupted if !cancelled => fail(record, "the model's reply was interrupted"),
                _ => {}
            }
            if record.incomplete.is_some() {
                record.status = "incomplete".to_owned();
            }
        }
        Err(_) if cancelled => {}
        Err(error) => fail(record, &error.to_string()),
    }
    if cancelled {
        record.status = "cancelled".to_owned();
    }
    record.completed_at = (record.status == "completed").then(|| state.loom().now().as_millis() / 1_000);
}

fn fail(record: &mut ResponseRecord, message: &str) {
    record.status = "failed".to_owned();
    record.completed_at = None;
    record.error = Some(json!({ "code": "server_error", "message": message }));
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.prompt,
        "input_tokens_details": { "cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.prompt + usage.output,
    })
}

/// Appends the output as a chain of nodes in one commit.
async fn store(
    state: &AppState,
    actor: &Actor,
    record: &ResponseRecord,
    output: &[Value],
    generation: Option<Json>,
) -> crate::serve::error::Result<()> {
    let Some(asked) = record.parent else { return Ok(()) };
    let (mut parent, keep_position) = match record.conversation {
        Some(session) => state.run(move |state| place_of_output(state, session, asked)).await?,
        None => (Parent::Node(asked), false),
    };
    let mut mutations = Vec::with_capacity(output.len());
    for (item, id) in output.iter().zip(&record.output) {
        let mut stored = item.clone();
        if let Some(fields) = stored.as_object_mut() {
            fields.remove("id");
        }
        let mut node = actor.draft(parent, draft_of(&stored).keep_position(keep_position));
        node.id = *id;
        if *id == record.id {
            let mut metadata = json!({ "item": stored });
            metadata[RESPONSE_FIELD] = json!(record);
            node.metadata = Some(Json::from(metadata));
            node.provenance.clone_from(&generation);
            node.interrupted = matches!(record.status.as_str(), "cancelled" | "failed");
        }
        mutations.push(Mutation::Append(Box::new(node)));
        parent = Parent::Node(*id);
    }
    Ok(actor.submit(Op::Generate, mutations).await.map(drop)?)
}

/// Returns the parent of a response's output, and whether the conversation's session stays where it is. Items that were
/// added while the response ran precede the output. A session that was switched to another branch stays there.
fn place_of_output(state: &AppState, session: SessionId, asked: NodeId) -> crate::serve::error::Result<(Parent, bool)> {
    let Ok(record) = state.loom().session(session) else { return Ok((Parent::Node(asked), true)) };
    let has_followed = match record.position {
        // A conversation that was deleted meanwhile gets no more items.
        Some(position) if record.active => {
            let path = state.loom().snapshot()?.path_back(position, &record.versions, 0)?;
            path.iter().any(|node| node.id == asked || node.version_of == Some(asked))
        }
        _ => false,
    };
    Ok(if has_followed { (Parent::Position(session), false) } else { (Parent::Node(asked), true) })
}

/// Returns the events of a stored response, the same as those of the live one.
pub(super) fn replay(record: &ResponseRecord, text: &str, calls: &[(NodeId, ToolCall)]) -> Vec<Value> {
    let start = ResponseRecord {
        completed_at: None,
        usage: None,
        error: None,
        incomplete: None,
        next_event: 0,
        status: "in_progress".to_owned(),
        ..record.clone()
    };
    let mut sequence = EventSequence::start(start);
    let mut rest = text;
    for length in &record.deltas {
        // A purged text is shorter than its deltas.
        let (delta, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
        sequence.text(record.id, delta);
        rest = after;
    }
    sequence.end_text(if record.status == "completed" { "completed" } else { "incomplete" });
    for (id, call) in calls {
        sequence.call(*id, call);
    }
    sequence.end(record.clone());
    sequence.take()
}
