//! The way of a call: consent, a thread for the store, a time limit, progress.

use std::sync::{Arc, OnceLock};

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, ProgressNotificationParam},
    service::RequestContext,
};
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    backend::{McpCaller, McpState},
    call_requests::{self, BatchProgress, CallContext, CallOutcome, ToolInput},
    consent::{self, Consent},
    running_calls::{ANSWER_TIME, RunningCall},
    tool_list::LINES_TOOL,
};
use crate::tools::{ErrorCode, ToolError};

/// Answers a call of a tool.
pub(super) async fn handle(
    state: &Arc<McpState>,
    call: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let caller = McpCaller::of(&context);
    // A token for an agent gives its permissions; the client that holds it could answer every question itself.
    let consent = match caller.agent {
        None => consent::on_arrival(&context, call.input_responses.as_ref()),
        Some(_) => Consent::Unavailable,
    };
    let arguments = call.arguments.unwrap_or_default();
    let mut input = ToolInput { name: call.name.into_owned(), arguments, caller, consent };
    let question = match answer(state, &input, &context).await? {
        CallOutcome::Done(result) => return Ok((*result).into()),
        CallOutcome::Question(question) => question,
    };
    if consent::is_stateless(&context) {
        let question = question.into_result(&input.caller.client);
        let question = question.ok_or_else(|| ErrorData::internal_error("the question could not be formed", None))?;
        return Ok(question.into());
    }
    input.consent = question.ask(&input.caller.client, &context).await;
    match answer(state, &input, &context).await? {
        CallOutcome::Done(result) => Ok((*result).into()),
        CallOutcome::Question(_) => Err(ErrorData::internal_error("the user's answer was lost", None)),
    }
}

/// Runs the arguments of the tool for lines without questions to the user, and returns their replies.
pub(super) async fn run_lines(
    state: &Arc<McpState>,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let caller = McpCaller::of(context);
    let input = ToolInput { name: LINES_TOOL.to_owned(), arguments, caller, consent: Consent::Unavailable };
    match answer(state, &input, context).await? {
        CallOutcome::Done(result) => Ok(*result),
        CallOutcome::Question(_) => Err(ErrorData::internal_error("the call asked a question", None)),
    }
}

/// Runs a call, or fetches the answer of one that took longer.
async fn answer(
    state: &Arc<McpState>,
    input: &ToolInput,
    context: &RequestContext<RoleServer>,
) -> Result<CallOutcome, ErrorData> {
    let mut input = input.clone();
    let call = match call_requests::take_text(&mut input.arguments, "task") {
        Err(error) => return Ok(call_requests::failure(&error).into()),
        Ok(Some(id)) if !id.is_empty() => match state.running.take(&id) {
            Some(call) => call,
            None => return Ok(unknown_task(&id).into()),
        },
        Ok(_) => start(state, input, context),
    };
    let RunningCall { mut thread, cancel, session } = call;
    tokio::select! {
        outcome = &mut thread => return outcome.map_err(|_| ErrorData::internal_error("the call failed; try again", None)),
        () = context.ct.cancelled() => {
            // Lines that have begun end first. The client does not read the answer.
            cancel.cancel();
            return thread.await.map_err(|_| ErrorData::internal_error("the call was cancelled", None));
        }
        () = tokio::time::sleep(ANSWER_TIME) => {}
    }
    let known = session.get().map_or_else(String::new, ToString::to_string);
    let id = state.running.keep(RunningCall { thread, cancel, session });
    let text = format!("The call is still running. Fetch its answer later: call loom with {{\"task\": \"{id}\"}}.");
    Ok(call_requests::session_result(&known, text).into())
}

/// Starts a call on a thread of its own.
fn start(state: &Arc<McpState>, input: ToolInput, context: &RequestContext<RoleServer>) -> RunningCall {
    let (cancel, session) = (CancellationToken::new(), Arc::new(OnceLock::new()));
    let call_context = CallContext {
        runtime: Handle::current(),
        cancel: cancel.clone(),
        progress: progress_sender(context),
        session: Arc::clone(&session),
    };
    let state = Arc::clone(state);
    let thread = tokio::task::spawn_blocking(move || call_requests::run(&state, input, call_context));
    RunningCall { thread, cancel, session }
}

/// Spawns the task that reports progress. Returns `None` if the client asked for none.
fn progress_sender(context: &RequestContext<RoleServer>) -> Option<mpsc::UnboundedSender<BatchProgress>> {
    let (token, peer) = (context.meta.get_progress_token()?, context.peer.clone());
    let (sender, mut receiver) = mpsc::unbounded_channel::<BatchProgress>();
    tokio::spawn(async move {
        while let Some((done, all)) = receiver.recv().await {
            #[allow(clippy::cast_precision_loss)] // at most 33 lines
            let progress = ProgressNotificationParam::new(token.clone(), done as f64).with_total(all as f64);
            if peer.notify_progress(progress).await.is_err() {
                return;
            }
        }
    });
    Some(sender)
}

fn unknown_task(id: &str) -> CallToolResult {
    let error = ToolError::new(ErrorCode::NotFound, format!("no running call {id:?}"));
    call_requests::failure(&error.hint("its answer was fetched already, or the server was restarted; repeat the call"))
}
