//! An agent's commands, run in its turn: the engine's door for them, with the models and tools that the program has.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    Embedding,
    background_delegations::save_report,
    generate::{TaskReport, generate},
    request::{GenerateError, GenerateRequest, ModelResolver, Progress, ToolAccess},
    stream::ReportSender,
};
use crate::{
    agent::ToolRequest,
    arrow::{
        Command,
        run::{
            CommandReply, ContinueRequest, DelegateRequest, ErrorCode, ExecRequest, Executor, Host, HostTool, NoHost,
            SummaryRequest, SummaryResponse, ToolError, WebHit, WebSearch,
        },
    },
    context::{self, CommandResult, CommandRound, RoundCall},
    delegate::{self, RunContext},
    id::{AgentId, NodeId, SessionId},
    ops::{Actor, Loom, NodeDraft, OpsError},
    provider::{ErrorClass, Message, Prices, Prompt, ProviderError, Request, Sampling, StreamEvent, ToolCall},
    recall::{self, QueryEmbedding},
    store::{Mutation, SessionFilter},
    types::{Agent, AgentKind, AuthorType, EdgeKind, Json, Op, Parent, Permission, TodoScope, ToolCallFields},
};

/// Bytes of an argument that is kept beside an answer.
const KEPT: usize = 2_000;

/// What the program does for an agent's commands: has models continue nodes, and runs tools of its own.
///
/// It blocks while it waits, so it is used where that does no harm: in a program that is not asynchronous, or on a thread
/// that may block.
pub struct SessionHost {
    /// Where models and tools run.
    pub runtime: Handle,
    /// Whose commands these are.
    pub agent: AgentId,
    /// What there is.
    pub tool_access: ToolAccess,
    /// How much models are shown.
    pub context: context::ContextOptions,
    /// Where words are kept while they stream.
    pub partials_dir: Option<PathBuf>,
    /// What tokens cost.
    pub prices: Prices,
    /// Stops what runs, and lets nothing more be begun.
    pub cancel: CancellationToken,
    /// Hears of what happens in delegated work.
    pub on_delegation: delegate::UpdateSink,
    /// Hears what comes of models that a command has continue, while it comes.
    pub on_progress: ProgressSink,
}

/// Hears of a generation; see [`SessionHost::hear`].
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

impl Host for SessionHost {
    fn generate(&self, actor: &Actor, asked: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError> {
        let author = asked.author;
        if author.id() == self.agent || self.tool_access.callers.contains(&author.id()) {
            let name = author.name();
            return Err(ToolError::new(ErrorCode::PermissionDenied, format!("{name} is acting already, further up")));
        }
        self.runtime.block_on(async {
            let model = self.tool_access.models.open(author).await?;
            let n = usize::try_from(asked.n).unwrap_or(usize::MAX);
            let mut plan = GenerateRequest {
                versions: asked.versions.to_vec(),
                sampling: Sampling { max_tokens: asked.tokens, ..Sampling::default() },
                context: self.context,
                cancel: self.cancel.clone(),
                partials_dir: self.partials_dir.clone(),
                prices: self.prices.clone(),
                // Who has another one write stays where it is, and goes there if it wants to.
                keep_position: true,
                ..GenerateRequest::new(asked.from.id, author.clone(), model, n)
            };
            let mut actor = actor.clone();
            if n == 1 && author.profile.permissions.has(Permission::LoomAware) {
                actor = self.author_actor(&actor, asked)?;
                let mut callers = self.tool_access.callers.clone();
                callers.push(self.agent);
                (plan.keep_position, plan.commands) = (false, Some(ToolAccess { callers, ..self.tool_access.clone() }));
            }
            let saved = generate(&actor, plan, |progress| (self.on_progress)(progress)).await.map_err(failure)?;
            let words: Vec<NodeId> = saved.iter().filter(|n| !n.content.is_empty()).map(|n| n.id).collect();
            Ok(if words.is_empty() { saved.last().map(|node| node.id).into_iter().collect() } else { words })
        })
    }

    fn delegate(&self, actor: &Actor, asked: &DelegateRequest<'_>) -> Result<String, ToolError> {
        let Some(orchestrator) = self.tool_access.orchestrator.clone() else {
            return Err(ToolError::new(ErrorCode::NotConfigured, "no orchestrator is set up"));
        };
        let delegation = delegate::create(actor, asked.at, asked.goal, asked.context)?;
        let local = actor.loom().node(delegation)?.local;
        if !asked.wait {
            let cancel = self.tool_access.background.cancel();
            let work = RunContext { actor: actor.clone(), delegation, cancel, on_update: Arc::new(|_| {}) };
            self.tool_access.background.run(&self.runtime, orchestrator, work);
            let hint = "its report comes later: → recall tool:delegate";
            return Ok(format!("✓ delegated [{local}] · {hint}"));
        }
        // Whoever hears of it may wait for a slow reader, and a task of the runtime may not.
        let (sender, mut heard) = mpsc::unbounded_channel();
        let tell: delegate::UpdateSink = Arc::new(move |told| _ = sender.send(told));
        let work = RunContext { actor: actor.clone(), delegation, cancel: self.cancel.child_token(), on_update: tell };
        let done = self.runtime.spawn(async move { orchestrator.run(work).await });
        while let Some(told) = heard.blocking_recv() {
            (self.on_delegation)(told);
        }
        let broken =
            |error: tokio::task::JoinError| Err(ToolError::new(ErrorCode::Conflict, format!("it broke off: {error}")));
        let done = self.runtime.block_on(done).unwrap_or_else(broken);
        // A person's line is no node with answers beside it, so the report is kept as if nobody had waited.
        if done.is_ok() && self.is_person(actor)? {
            self.runtime.block_on(save_report(actor, delegation, &done))?;
        }
        Ok(done?.to_string())
    }

    fn tools(&self) -> &[HostTool] {
        self.tool_access.tools.tools()
    }

    fn call(&self, name: &str, arguments: &Value) -> Result<String, ToolError> {
        let toolbox = &self.tool_access.tools;
        let found = toolbox.tools.iter().zip(&toolbox.handlers).find(|(tool, _)| tool.name == name);
        let Some((_, handler)) = found else {
            return Err(ToolError::new(ErrorCode::NotFound, format!("no tool {name}")));
        };
        let answer = handler(arguments.clone());
        self.runtime.block_on(async {
            tokio::select! {
                answer = answer => answer,
                () = self.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "somebody stopped it")),
            }
        })
    }

    fn search(&self, asked: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let Some(searcher) = &self.tool_access.search else { return NoHost.search(asked) };
        self.runtime.block_on(async {
            tokio::select! {
                hits = searcher.search(asked) => hits,
                () = self.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "somebody stopped it")),
            }
        })
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn meaning(&self, actor: &Actor, question: &str) -> Option<QueryEmbedding> {
        let client = self.runtime.block_on(self.tool_access.models.embeddings())?;
        let embedder = Embedding { runtime: self.runtime.clone(), client };
        let made = recall::embed(actor, &embedder, MISSING).and_then(|_| QueryEmbedding::of(&embedder, question));
        made.inspect_err(|error| tracing::warn!(%error, "recall goes by words alone")).ok()
    }

    fn summarize(&self, asked: &SummaryRequest<'_>) -> Option<SummaryResponse> {
        self.runtime.block_on(async {
            tokio::select! {
                summary = summary(&*self.tool_access.models, asked) => summary,
                () = tokio::time::sleep(PATIENCE) => None,
                () = self.cancel.cancelled() => None,
            }
        })
    }
}

/// Nodes whose vectors are made at the most before a recall goes on.
const MISSING: usize = 256;
/// How long somebody who looks waits for a summary before the first sentence serves.
const PATIENCE: Duration = Duration::from_secs(20);
/// Tokens of a summary: thirty words, twice over in a language of long words.
const SUMMARY: u32 = 120;

/// What a small model makes of something; `None` if there is none, or it does not.
async fn summary(models: &dyn ModelResolver, asked: &SummaryRequest<'_>) -> Option<SummaryResponse> {
    let model = models.summarizer().await?;
    let prompt = Prompt::Chat(vec![Message::system(asked.system), Message::user(asked.user)]);
    let sampling = Sampling { temperature: Some(0.0), max_tokens: Some(SUMMARY), ..Sampling::default() };
    let mut reply = model.stream(Request { sampling, ..Request::new(prompt) });
    let mut content = String::new();
    while let Some(event) = reply.next().await {
        match event {
            Ok(StreamEvent::Text(text)) => content.push_str(&text),
            Ok(StreamEvent::Done(_)) => {}
            Err(error) => {
                tracing::warn!(%error, "a summary is not made");
                return None;
            }
        }
    }
    Some(SummaryResponse { content, model: model.reference().to_owned() })
}

impl SessionHost {
    /// Whether these are a person's commands.
    fn is_person(&self, actor: &Actor) -> Result<bool, OpsError> {
        let agents = actor.loom().snapshot()?.agents()?;
        Ok(agents.iter().any(|agent| agent.id() == self.agent && agent.profile.kind == AgentKind::Human))
    }

    /// The agent that is to act, in a session of its own at the node.
    fn author_actor(&self, caller: &Actor, asked: &ContinueRequest<'_>) -> Result<Actor, OpsError> {
        let loom = caller.loom();
        let workspace = match caller.session() {
            Some(session) => loom.session(session)?.workspace,
            None => String::new(),
        };
        actor_at(loom, asked.author, &workspace, asked.from.id)
    }
}

/// An agent at a node, in its newest session of that workspace and tree, or in a new one.
///
/// # Errors
/// If there is no such node, or the store fails.
pub fn actor_at(loom: &Loom, agent: &Agent, workspace: &str, at: NodeId) -> Result<Actor, OpsError> {
    let (node, actor) = (loom.node(at)?, loom.actor(agent));
    let filter = SessionFilter {
        workspace: Some(workspace.to_owned()),
        agent: Some(agent.id()),
        tree: Some(node.tree),
        active: true,
        unexpired: Some(loom.now()),
        limit: 1,
        ..SessionFilter::default()
    };
    let known = loom.snapshot()?.sessions(&filter)?.pop();
    let session = match known {
        Some(session) => return actor_in_session(loom, agent, session.id, at),
        None => actor.start_session(workspace, node.tree, Some(at))?,
    };
    Ok(actor.in_session(session))
}

/// An agent at a node, in one of its sessions.
///
/// # Errors
/// If there is no such session, the node is in another tree, or the store fails.
pub fn actor_in_session(loom: &Loom, agent: &Agent, session: SessionId, at: NodeId) -> Result<Actor, OpsError> {
    let (session, actor) = (loom.session(session)?, loom.actor(agent));
    if session.position != Some(at) {
        actor.stand(&session, &loom.node(at)?)?;
    }
    Ok(actor.in_session(session.id))
}

/// Commands of one reply.
pub(super) struct CommandBatch {
    pub(super) loom: Loom,
    pub(super) agent: Agent,
    pub(super) session: SessionId,
    /// The node that asked.
    pub(super) after: NodeId,
    /// Whose plan they work on.
    pub(super) scope: TodoScope,
    /// What was answered before in this turn.
    pub(super) before: Vec<CommandResult>,
    pub(super) host: SessionHost,
}

impl CommandBatch {
    /// Runs what was asked for, keeps the answers, and tells of both.
    pub(super) fn run(self, index: usize, asked: Vec<ToolRequest>, tell: &ReportSender) {
        let runner = Executor::new(self.loom.clone(), self.agent.clone(), self.session, &self.host);
        let before = self.before.iter().filter(|outcome| !outcome.failed);
        let before = before.filter_map(|outcome| Some((outcome.line.strip_prefix("→ ")?, outcome.answer.as_str())));
        let runner = runner.in_turn(self.scope).answered(before);
        let mut runner = runner.inline(self.host.tool_access.max_inline_tokens);
        let wanted: Vec<ExecRequest> = asked.iter().map(|asked| wanted(&runner, asked)).collect();
        let lines: Vec<String> = asked.iter().zip(&wanted).map(|(asked, wanted)| line(asked, wanted)).collect();
        let meant = wanted.clone();
        let mut outcomes = Vec::with_capacity(asked.len());
        runner.run_each(wanted, &mut |at, reply| {
            // A line over the limit of a batch has no place in it.
            let line = lines.get(at).cloned().unwrap_or_default();
            if asked.get(at).is_none_or(ToolRequest::expects_result) {
                outcomes.push((at, outcome(asked.get(at), &line, reply)));
            }
            // If nobody listens any more, the commands are run all the same: they were asked for.
            let _ = tell.blocking_send((index, TaskReport::CommandRan { line, reply: reply.clone() }));
        });
        let session = runner.session();
        let report = match self.keep(&outcomes, &meant) {
            Ok(()) => {
                let outcomes = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
                TaskReport::BatchDone { exchange: CommandRound { after: self.after, results: outcomes }, session }
            }
            Err(error) => TaskReport::BatchFailed(error),
        };
        let _ = tell.blocking_send((index, report));
    }

    /// Keeps answers as nodes beside the one that asked, each with what was done: the session's state learns from that.
    fn keep(&self, outcomes: &[(usize, CommandResult)], meant: &[ExecRequest]) -> Result<(), OpsError> {
        let actor = self.loom.actor(&self.agent).in_session(self.session);
        let answers = outcomes.iter().map(|(at, outcome)| {
            let wanted = meant.get(*at);
            let draft = NodeDraft {
                kind: Some(EdgeKind::Tool),
                author_type: Some(AuthorType::Tool),
                tool: ToolCallFields {
                    calls: None,
                    call_id: outcome.call.as_ref().map(|call| call.id.clone()),
                    name: wanted.and_then(ExecRequest::name).map(str::to_owned),
                },
                metadata: Json::parse(done(outcome, wanted).to_string()).ok(),
                ..NodeDraft::text(outcome.answer.clone())
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

/// What was done, as it is kept beside the answer: the same whether a line or a call asked for it. Long arguments are in the
/// reply itself.
fn done(outcome: &CommandResult, wanted: Option<&ExecRequest>) -> Value {
    let mut done = json!({ "command": outcome.line });
    if let Some(ExecRequest::Extra { arguments: Value::Object(given), .. }) = wanted {
        let short = given.iter().filter(|(_, value)| value.as_str().is_none_or(|text| text.len() <= KEPT));
        done["arguments"] = short.map(|(name, value)| (name.clone(), value.clone())).collect::<Value>();
    }
    if outcome.failed {
        done["failed"] = true.into();
    }
    done
}

fn wanted(runner: &Executor<'_>, asked: &ToolRequest) -> ExecRequest {
    match asked {
        ToolRequest::Line { text, closed: true } => runner.read(text),
        ToolRequest::Line { closed: false, .. } => {
            let failure =
                ToolError::new(ErrorCode::InvalidSyntax, "the reply ended within this line, so it was not run");
            ExecRequest::Refused(failure.hint("write it again, whole"))
        }
        ToolRequest::Thought(words) => ExecRequest::Command(Command::Think { content: Some(words.clone()) }),
        ToolRequest::Call(call) => runner.read_call(&call.name, &call.arguments),
    }
}

/// A command as it is shown: as it was understood, or as it was written.
fn line(asked: &ToolRequest, wanted: &ExecRequest) -> String {
    match (wanted, asked) {
        (ExecRequest::Refused(_), ToolRequest::Line { text, .. }) => text.clone(),
        (ExecRequest::Refused(_), ToolRequest::Call(call)) => format!("{} {}", call.name, call.arguments),
        (_, ToolRequest::Thought(_)) => "→ think".to_owned(),
        (wanted, _) => format!("→ {wanted}"),
    }
}

fn outcome(asked: Option<&ToolRequest>, line: &str, reply: &CommandReply) -> CommandResult {
    let call = match asked {
        Some(ToolRequest::Call(ToolCall { id, name, arguments })) => {
            Some(RoundCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() })
        }
        _ => None,
    };
    CommandResult { call, line: line.to_owned(), answer: reply.to_string(), failed: !reply.is_ok() }
}

/// A failed generation as a command's answer.
fn failure(error: GenerateError) -> ToolError {
    match error {
        GenerateError::Ops(error) => error.into(),
        GenerateError::Provider(error) => provider_error(&error),
        other => ToolError::new(ErrorCode::ModelError, other.to_string()),
    }
}

/// A model's failure as a command's answer.
#[must_use]
pub fn provider_error(error: &ProviderError) -> ToolError {
    let code = match error.class() {
        ErrorClass::Configuration => ErrorCode::NotConfigured,
        ErrorClass::Cancelled => ErrorCode::Cancelled,
        ErrorClass::Refused | ErrorClass::Retryable => ErrorCode::ModelError,
    };
    ToolError::new(code, error.to_string())
}
