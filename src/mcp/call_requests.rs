//! The requests of a call: parsed, run in one session, and rendered.

use std::sync::{Arc, OnceLock};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    backend::{McpBackend, McpCaller, McpState},
    client_delegation::CallerOrchestrator,
    consent::{self, Consent, ConsentQuestion},
    resource, search_and_fetch,
    sessions::SessionResolver,
    tool_list::{DELEGATION_FIELD, FETCH_TOOL, ITEMS_FIELD, LINES_TOOL, NODES_FIELD, SEARCH_TOOL},
};
use crate::{
    arrow::{self, Command, Event, RecallScope},
    exec::{Answer, CommandReply, ExecRequest, ExecRights, Executor},
    id::SessionId,
    session::{Orchestrator, SessionHost},
    tools::{DEFAULT_REPLY_TOKENS, ErrorCode, MAX_BATCH_LINES, ToolError, parse_tool_call},
    types::{Node, Permissions, Todo, TodoScope, first_words},
};

/// Maximum tokens of an answer. The lines of a batch share them.
const MAX_ANSWER_TOKENS: u32 = 8_000;

/// Minimum tokens of a line's reply.
const MIN_REPLY_TOKENS: u32 = 250;

/// Maximum characters of a command above its reply.
const MAX_COMMAND_CHARS: usize = 80;

/// Progress of a batch: lines that ran, and all lines.
pub(super) type BatchProgress = (usize, usize);

/// A call of a tool.
#[derive(Clone)]
pub(super) struct ToolInput {
    pub(super) name: String,
    pub(super) arguments: JsonObject,
    pub(super) caller: McpCaller,
    pub(super) consent: Consent,
}

/// Surroundings of a call on its thread.
pub(super) struct CallContext {
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
    /// Receives progress; `None` if the client asked for none.
    pub(super) progress: Option<UnboundedSender<BatchProgress>>,
    /// Receives the id of the session once it is known.
    pub(super) session: Arc<OnceLock<SessionId>>,
}

/// End of a call's thread.
pub(super) enum CallOutcome {
    /// The result for the client.
    Done(Box<CallToolResult>),
    /// A question to the user; nothing ran.
    Question(ConsentQuestion),
}

impl From<CallToolResult> for CallOutcome {
    fn from(result: CallToolResult) -> Self {
        Self::Done(Box::new(result))
    }
}

/// Runs a call. Every failure is a result that the model can read.
pub(super) fn run(state: &McpState, input: ToolInput, context: CallContext) -> CallOutcome {
    let outcome = state.backend(&input.caller).and_then(|backend| {
        let mut input = input;
        let rights = state.rights(&backend, &input.caller);
        let given = take_text(&mut input.arguments, "session")?;
        let resolver = SessionResolver::new(&backend, &state.settings.workspace, &input.caller.client, rights);
        let session = resolver.resolve(given.as_deref())?;
        // The slot is empty: each call has its own.
        let _ = context.session.set(session);
        match input.name.as_str() {
            SEARCH_TOOL => search_and_fetch::search(&backend, session, rights, &input.arguments).map(CallOutcome::from),
            FETCH_TOOL => search_and_fetch::fetch(&backend, rights, &input.arguments).map(CallOutcome::from),
            _ => run_batch(&backend, session, rights, input, context),
        }
    });
    outcome.unwrap_or_else(|error| failure(&error).into())
}

fn run_batch(
    backend: &McpBackend,
    session: SessionId,
    mut rights: ExecRights,
    input: ToolInput,
    context: CallContext,
) -> Result<CallOutcome, ToolError> {
    let (progress, host) = (context.progress, session_host(backend, context.runtime, context.cancel));
    let executor = Executor::new(backend.loom.clone(), backend.agent.clone(), session, &host);
    let requests = requests(&executor, &input.name, input.arguments)?;
    match (input.consent, ConsentQuestion::of(&requests, rights)?) {
        (Consent::NotAsked, Some(question)) if !rights.read_only => return Ok(CallOutcome::Question(question)),
        (Consent::Given, Some(_)) => rights.permissions = rights.permissions.map(|held| granted(&requests, held)),
        _ => {}
    }
    let lines = requests.len().min(MAX_BATCH_LINES);
    let tokens = MAX_ANSWER_TOKENS / u32::try_from(lines.max(1)).unwrap_or(u32::MAX);
    let executor = executor.with_rights(rights);
    let mut executor = executor.inline(tokens.clamp(MIN_REPLY_TOKENS, DEFAULT_REPLY_TOKENS * 2));
    let mut replies = Vec::with_capacity(lines + 1);
    executor.run_each(requests.clone(), &mut |at, reply| {
        if let Some(progress) = &progress {
            // The client may have gone.
            let _ = progress.send((at + 1, lines));
        }
        replies.push(with_permission_hint(reply, input.consent));
    });
    let session = executor.session();
    let details = details(backend, &input.name, session, &replies)?;
    Ok(BatchAnswer { session, requests, replies, details }.into_result().into())
}

/// Returns the permissions that are held, and those that the requests need.
fn granted(requests: &[ExecRequest], held: Permissions) -> Permissions {
    held.iter().chain(consent::missing(requests, held).iter()).collect()
}

/// Adds to a refused command how the user can allow it.
fn with_permission_hint(reply: &CommandReply, consent: Consent) -> CommandReply {
    let mut reply = reply.clone();
    if let Err(error) = &mut reply.result
        && error.code == ErrorCode::PermissionDenied
        && error.hint.is_none()
    {
        let hint = match consent {
            Consent::Refused => "the user refused it",
            _ => "the user allows it by `loom mcp --permissions LIST`, and delegations by `delegate.allow` too",
        };
        error.hint = Some(hint.to_owned());
    }
    reply
}

fn session_host(backend: &McpBackend, runtime: Handle, cancel: CancellationToken) -> SessionHost {
    let mut tool_access = backend.tool_access.clone();
    if !backend.allow_delegate {
        let agent = backend.agent.id();
        let wrap = |orchestrator| Arc::new(CallerOrchestrator::new(orchestrator, agent)) as Arc<dyn Orchestrator>;
        tool_access.orchestrator = tool_access.orchestrator.map(wrap);
    }
    SessionHost {
        runtime,
        agent: backend.agent.id(),
        tool_access,
        context: backend.context,
        partials_dir: backend.partials_dir.clone(),
        prices: backend.prices.clone(),
        cancel,
        on_delegation: Arc::new(|_| {}),
        on_progress: Arc::new(|_| {}),
    }
}

/// Removes an argument that must be text if it is present.
pub(super) fn take_text(arguments: &mut JsonObject, name: &str) -> Result<Option<String>, ToolError> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::new(ErrorCode::InvalidSyntax, format!("{name} must be text"))),
    }
}

/// Parses the arguments of a tool to requests.
fn requests(executor: &Executor<'_>, tool: &str, mut arguments: JsonObject) -> Result<Vec<ExecRequest>, ToolError> {
    if tool == LINES_TOOL {
        let lines = arguments.remove("lines");
        if let Some(name) = arguments.keys().next() {
            let message = format!("there is no argument {name:?}");
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint("lines, task, session"));
        }
        return Ok(line_requests(executor, lines)?.into_iter().map(in_background).collect());
    }
    let scope = take_text(&mut arguments, "scope")?;
    let mut request = executor.read_arguments(tool, Ok(parse_tool_call::without_null(arguments)));
    set_scope(&mut request, scope.as_deref())?;
    Ok(vec![in_background(request)])
}

/// Parses the lines: a list with one line each, or a text in which every line is a command.
fn line_requests(executor: &Executor<'_>, lines: Option<Value>) -> Result<Vec<ExecRequest>, ToolError> {
    let invalid = || {
        ToolError::new(ErrorCode::InvalidSyntax, "lines must be a list of arrow lines").hint("[\"→ view\", \"→ help\"]")
    };
    let requests: Vec<ExecRequest> = match lines {
        Some(Value::String(text)) => scanned_requests(executor, &text),
        Some(Value::Array(lines)) => {
            let line = |line: Value| line.as_str().map(|line| executor.read(line)).ok_or_else(invalid);
            lines.into_iter().map(line).collect::<Result<_, _>>()?
        }
        _ => return Err(invalid()),
    };
    if requests.is_empty() { Err(invalid()) } else { Ok(requests) }
}

fn scanned_requests(executor: &Executor<'_>, text: &str) -> Vec<ExecRequest> {
    let request = |event: Event<'_>| match event {
        Event::Call(call) if call.closed => Some(executor.read(call.text)),
        Event::Call(_) => {
            let failure = ToolError::new(ErrorCode::InvalidSyntax, "the quote or block is not closed");
            Some(ExecRequest::Refused(failure))
        }
        Event::Thought(thought) => {
            Some(ExecRequest::Command(Command::Think { content: Some(thought.text.to_owned()) }))
        }
        Event::Prose(_) | Event::BatchEnd => None,
    };
    arrow::scan_commands(text).into_iter().filter_map(request).collect()
}

/// Sets the part of the archive that a recall searches.
fn set_scope(request: &mut ExecRequest, scope: Option<&str>) -> Result<(), ToolError> {
    let ExecRequest::Command(Command::Recall { only, summary: false, .. }) = request else { return Ok(()) };
    let Some(scope) = scope else { return Ok(()) };
    let parsed = scope.parse::<RecallScope>();
    only.scope = Some(parsed.map_err(|error| ToolError::new(ErrorCode::InvalidSyntax, format!("scope: {error}")))?);
    Ok(())
}

/// Makes a delegation return its id at once: clients end calls that take a minute.
fn in_background(mut request: ExecRequest) -> ExecRequest {
    if let ExecRequest::Command(Command::Delegate { wait, .. }) = &mut request {
        *wait = Some(false);
    }
    request
}

/// Returns the typed fields of a tool's result: the nodes that a recall found, the plan, or the id of a delegation.
fn details(
    backend: &McpBackend,
    tool: &str,
    session: SessionId,
    replies: &[CommandReply],
) -> Result<JsonObject, ToolError> {
    let mut fields = JsonObject::new();
    let [CommandReply { result: Ok(outcome), .. }] = replies else { return Ok(fields) };
    match (tool, &outcome.answer) {
        ("conversation_recall", Answer::Found { nodes, .. }) => {
            let node = |node: &Node| json!({ "id": node.local, "uri": resource::node_address(node) });
            fields.insert(NODES_FIELD.to_owned(), nodes.iter().map(node).collect());
        }
        ("delegate_task", Answer::Delegated(delegated)) => {
            fields.insert(DELEGATION_FIELD.to_owned(), delegated.node.to_string().into());
        }
        ("create_todo" | "list_todo" | "complete_todo", _) => {
            let item = |todo: &Todo| json!({ "number": todo.number, "title": todo.title, "status": todo.status });
            let plan = backend.loom.todos(TodoScope { session, turn: 0 })?;
            fields.insert(ITEMS_FIELD.to_owned(), plan.iter().map(item).collect());
        }
        _ => {}
    }
    Ok(fields)
}

/// The replies of a call.
struct BatchAnswer {
    session: SessionId,
    requests: Vec<ExecRequest>,
    replies: Vec<CommandReply>,
    details: JsonObject,
}

impl BatchAnswer {
    /// Returns the replies, each below its command if there are several.
    fn text(&self) -> String {
        if let [reply] = self.replies.as_slice() {
            return reply.to_string();
        }
        let mut text = String::new();
        for (at, reply) in self.replies.iter().enumerate() {
            let gap = if at > 0 { "\n\n" } else { "" };
            match self.requests.get(at) {
                Some(ExecRequest::Refused(_)) | None => text.push_str(&format!("{gap}{}. {reply}", at + 1)),
                Some(request) => {
                    let command = first_words(&request.to_string(), MAX_COMMAND_CHARS);
                    text.push_str(&format!("{gap}{}. → {command}\n{reply}", at + 1));
                }
            }
        }
        text
    }

    fn into_result(self) -> CallToolResult {
        let mut result = session_result(&self.session.to_string(), self.text());
        result.is_error = Some(self.replies.iter().all(|reply| !reply.is_ok()));
        if let Some(Value::Object(fields)) = &mut result.structured_content {
            fields.extend(self.details);
        }
        result
    }
}

/// Returns a result with a text and the session to pass on.
pub(super) fn session_result(session: &str, text: String) -> CallToolResult {
    let mut result = CallToolResult::structured(json!({ "session": session, "text": text }));
    // Some clients show a model the blocks only. The session has its own, which content cannot forge.
    result.content = vec![ContentBlock::text(text), ContentBlock::text(format!("session: {session}"))];
    result
}

/// Returns an error in the form of a reply.
pub(super) fn failure(error: &ToolError) -> CallToolResult {
    let reply = CommandReply { tool: None, result: Err(error.clone()) };
    CallToolResult::error(vec![ContentBlock::text(reply.to_string())])
}
