//! The commands of a reply: they run in order, and their results are saved as nodes.

use std::collections::HashSet;

use super::{
    SessionHost, generate_request::HostTools, generation_driver::TaskReport, model_request_task::ReportSender,
    result_metadata::result_metadata, seen_files, stored_calls::call_id,
};
use crate::{
    arrow::Command,
    context::{CommandResult, CommandRound},
    exec::{CommandReply, ExecRequest, Executor},
    id::{NodeId, SessionId},
    ops::{Loom, NodeDraft, OpsError},
    store::Mutation,
    tools::{ErrorCode, ToolError},
    turn::{BatchOutcome, ToolRequest},
    types::{Agent, AuthorType, EdgeKind, Json, Op, Parent, Permission, TodoScope, ToolCallFields},
};

/// Limits a page of recalled or viewed conversation to a sixth of the prompt.
const READING_BUDGET_DIVISOR: u32 = 6;

/// Commands of one reply.
pub(super) struct ReplyCommands {
    pub(super) loom: Loom,
    pub(super) agent: Agent,
    pub(super) session: SessionId,
    /// True if the reply has the line `→ done`.
    pub(super) done: bool,
    /// Node with the reply.
    pub(super) after: NodeId,
    /// Owner of the todos that the commands edit.
    pub(super) scope: TodoScope,
    /// Nodes that the prompt shows.
    pub(super) in_view: HashSet<NodeId>,
    /// Earlier results of this turn.
    pub(super) before: Vec<CommandResult>,
    pub(super) host: SessionHost,
}

impl ReplyCommands {
    /// Runs the commands, saves their results as nodes and reports both.
    pub(super) fn run(self, index: usize, requests: Vec<ToolRequest>, reports: &ReportSender) {
        let runner = Executor::new(self.loom.clone(), self.agent.clone(), self.session, &self.host);
        let before = self.before.iter().filter(|result| !result.failed);
        let before = before.filter_map(|result| Some((result.line.strip_prefix("→ ")?, result.answer.as_str())));
        let runner = runner.in_turn(self.scope).answered(before).in_view(self.in_view.clone());
        let reading = self.host.context.prompt_tokens() / READING_BUDGET_DIVISOR;
        let mut runner = runner.inline(self.host.tool_access.max_inline_tokens).reading(reading);
        let parsed: Vec<ExecRequest> = requests.iter().map(|request| to_exec_request(&runner, request)).collect();
        let lines: Vec<String> =
            requests.iter().zip(&parsed).map(|(request, parsed)| format_command(request, parsed)).collect();
        self.restore_seen_files(&parsed);
        let mut results = Vec::with_capacity(requests.len());
        runner.run_each(parsed.clone(), &mut |at, reply| {
            // Lines above the batch limit have no entry.
            let line = lines.get(at).cloned().unwrap_or_default();
            if requests.get(at).is_none_or(ToolRequest::expects_result) {
                results.push((at, to_command_result(requests.get(at), &line, reply)));
            }
            // The commands run even if the driver was dropped.
            let _ = reports.blocking_send((index, TaskReport::CommandRan { line, reply: reply.clone() }));
        });
        let session = runner.session();
        let report = match self.save_results(&results, &requests, &parsed) {
            Ok(()) => {
                let outcome = batch_outcome(&results, &parsed, &self.host.tool_access.tools);
                let mut results: Vec<CommandResult> = results.into_iter().map(|(_, result)| result).collect();
                // Without a note, the model cannot see why it is asked again.
                results.extend((self.done && outcome == BatchOutcome::Answered).then(turn_continues));
                TaskReport::BatchDone { round: CommandRound { after: self.after, results }, session, outcome }
            }
            Err(error) => TaskReport::BatchFailed(error),
        };
        let _ = reports.blocking_send((index, report));
    }

    /// Restores what an earlier process recorded of the files that the prompt shows, before a request changes a file that this
    /// process has not read. After an error the agent has to read the file again.
    fn restore_seen_files(&self, requests: &[ExecRequest]) {
        let tools = &self.host.tool_access.tools;
        let Some(files) = &tools.seen_files else { return };
        let changes =
            |name: &str| tools.tools().iter().any(|tool| tool.name == *name && tool.permission == Permission::DocWrite);
        let is_unknown = |request: &ExecRequest| match request {
            ExecRequest::HostTool { name, arguments } => {
                changes(name) && arguments["path"].is_string() && files.digest(arguments).is_none()
            }
            _ => false,
        };
        if !requests.iter().any(is_unknown) {
            return;
        }
        let restored = self.loom.snapshot().and_then(|snapshot| {
            seen_files::restore(&*snapshot, &**files, self.agent.id(), &self.in_view).map_err(OpsError::from)
        });
        if let Err(error) = restored {
            tracing::warn!(%error, "files that an earlier process read are unknown");
        }
    }

    /// Saves the results as children of the reply, with the executed command as metadata for the session state.
    fn save_results(
        &self,
        results: &[(usize, CommandResult)],
        requests: &[ToolRequest],
        parsed: &[ExecRequest],
    ) -> Result<(), OpsError> {
        let actor = self.loom.actor(&self.agent).in_session(self.session);
        let answers = results.iter().map(|(at, result)| {
            let parsed = parsed.get(*at);
            let draft = NodeDraft {
                kind: Some(EdgeKind::Tool),
                author_type: Some(AuthorType::Tool),
                tool: ToolCallFields {
                    calls: None,
                    call_id: Some(call_id(self.after, *at, requests.get(*at))),
                    name: parsed.and_then(ExecRequest::name).map(str::to_owned),
                },
                metadata: Json::parse(result_metadata(result, parsed, &self.host.tool_access.tools).to_string()).ok(),
                ..NodeDraft::text(result.answer.clone())
            };
            Mutation::Append(Box::new(actor.draft(Parent::Node(self.after), draft)))
        });
        let answers: Vec<Mutation> = answers.collect();
        if !answers.is_empty() {
            actor.commit(Op::Turn, answers)?;
        }
        Ok(())
    }
}

/// Returns whether the model has to read the results of a batch. Each has the index of its request.
fn batch_outcome(results: &[(usize, CommandResult)], parsed: &[ExecRequest], tools: &HostTools) -> BatchOutcome {
    let confirms = |request: &ExecRequest| match request {
        ExecRequest::HostTool { name, .. } => tools.tools().iter().any(|tool| tool.name == *name && tool.only_confirms),
        request => request.only_confirms(),
    };
    let all = |is: &dyn Fn(&ExecRequest) -> bool| {
        results.iter().all(|(at, result)| !result.failed && parsed.get(*at).is_some_and(is))
    };
    match () {
        () if all(&ExecRequest::keeps_records) => BatchOutcome::Recorded,
        () if all(&confirms) => BatchOutcome::Changed,
        () => BatchOutcome::Answered,
    }
}

/// Returns the note on a line `→ done` that did not end its turn.
fn turn_continues() -> CommandResult {
    CommandResult {
        call: None,
        line: "→ done".to_owned(),
        answer: "the turn continues, because an answer above says more than ✓".to_owned(),
        failed: false,
        nodes: None,
    }
}

fn to_exec_request(runner: &Executor<'_>, request: &ToolRequest) -> ExecRequest {
    match request {
        ToolRequest::Line { text, closed: true } => runner.read(text),
        ToolRequest::Line { closed: false, .. } => {
            let failure =
                ToolError::new(ErrorCode::InvalidSyntax, "the reply ended within this line, so it did not run");
            ExecRequest::Refused(failure.hint("write it again, whole"))
        }
        ToolRequest::Thought(words) => ExecRequest::Command(Command::Think { content: Some(words.clone()) }),
        ToolRequest::Call(call) => runner.read_call(&call.name, &call.arguments),
    }
}

/// Formats a command in canonical form, or as written if it could not be parsed.
fn format_command(request: &ToolRequest, parsed: &ExecRequest) -> String {
    match (parsed, request) {
        (ExecRequest::Refused(_), ToolRequest::Line { text, .. }) => text.clone(),
        (ExecRequest::Refused(_), ToolRequest::Call(call)) => format!("{} {}", call.name, call.arguments),
        (_, ToolRequest::Thought(_)) => "→ think".to_owned(),
        (parsed, _) => format!("→ {parsed}"),
    }
}

fn to_command_result(request: Option<&ToolRequest>, line: &str, reply: &CommandReply) -> CommandResult {
    let call = match request {
        Some(ToolRequest::Call(call)) => Some(call.clone()),
        _ => None,
    };
    let answer = reply.to_string();
    // The report of a delegation that did not complete is an answer, and starts with the mark of a failure.
    let failed = !reply.is_ok() || answer.starts_with('✗');
    let nodes = reply.result.as_ref().ok().and_then(|outcome| outcome.answer.named_nodes());
    CommandResult { call, line: line.to_owned(), answer, failed, nodes }
}
