//! Preparation of a response: the node that it continues, from its conversation or `previous_response_id`, its prompt, and
//! the stored input.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    conversations,
    item::{ItemId, items_of, messages_of},
    response_record::{ResponseRecord, stored},
    response_request::CreateResponse,
    response_run::ConversationLock,
};
use crate::{
    ops::Actor,
    provider::{Model, Prompt, Request, Sampling},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        state::AppState,
    },
    tools::Tool,
};

/// Everything that a response needs to run.
pub(super) struct ResponsePlan {
    pub(super) record: ResponseRecord,
    pub(super) model: Arc<dyn Model>,
    pub(super) request: Request,
    /// Writer of the output; `None` if the response is not stored.
    pub(super) actor: Option<Actor>,
    /// Project of the token that creates the response.
    pub(super) project: Option<String>,
    /// Lock of the conversation that the response continues.
    pub(super) lock: Option<ConversationLock>,
}

/// Stores the input, and returns what the response needs to run.
pub(super) fn prepare(
    state: &AppState,
    caller: &Caller,
    actor: &Actor,
    body: CreateResponse,
    (model, sampling, name): (Arc<dyn Model>, Sampling, String),
) -> Result<ResponsePlan> {
    conversations::checked_metadata(body.metadata.clone())?;
    let conversation = body.conversation_id()?;
    if conversation.is_some() && body.previous_response_id.is_some() {
        return Err(ApiError::invalid("conversation and previous_response_id exclude each other"));
    }
    let (request, tools) = (body.echo(&name), body.tools()?);
    let items = items_of(body.input)?;
    let loom = state.loom();
    let session = conversation.map(|id| conversations::find(state, caller, id)).transpose()?;
    let before = match (&session, &body.previous_response_id) {
        (Some(session), _) => session.position,
        (None, Some(previous)) => {
            let record = stored(state, caller, ItemId::parse("response", previous)?)?.0;
            record.output.last().copied()
        }
        (None, None) => None,
    };
    if items.is_empty() && before.is_none() {
        return Err(ApiError::invalid("input is missing"));
    }
    let mut history: Vec<Value> = Vec::new();
    if let Some(instructions) = &body.instructions {
        history.push(json!({ "type": "message", "role": "system", "content": instructions }));
    }
    if let Some(before) = before {
        history.extend(conversations::items_to(&*loom.snapshot()?, before, session.as_ref())?);
    }
    history.extend(items.iter().cloned());
    let messages = messages_of(&history);
    let is_stored = body.store.unwrap_or(true);
    let of_session = |actor: Actor| match &session {
        Some(session) => actor.in_session(session.id),
        None => actor,
    };
    let actor = of_session(actor.clone());
    let parent = if is_stored {
        // The caller wrote the input, and the model's agent will write the output.
        let writer = of_session(state.actor_for(caller, Tool::Respond)?);
        Some(conversations::append(state, caller, &writer, session.as_ref(), before, &items)?)
    } else {
        None
    };
    let record = ResponseRecord {
        id: loom.node_id(),
        created_at: loom.now().as_millis() / 1_000,
        completed_at: None,
        status: "in_progress".to_owned(),
        request,
        previous: body.previous_response_id,
        conversation,
        parent,
        output: Vec::new(),
        usage: None,
        error: None,
        incomplete: None,
        deltas: Vec::new(),
        next_event: 0,
    };
    let request = Request { tools, sampling, ..Request::new(Prompt::Chat(messages)) };
    Ok(ResponsePlan {
        record,
        model,
        request,
        actor: is_stored.then_some(actor),
        project: caller.project.clone(),
        lock: None,
    })
}
