//! Generation jobs on tokio's threads. They start the same requests as other front ends and translate progress into
//! messages.

use std::{collections::HashMap, sync::Arc};

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    ScreenSetup, command_job, delegation_lines,
    message::{BackgroundEvent, BackgroundReport, CommandJob, GenerationEvent, GenerationJob},
    write_thread::error_line,
};
use crate::{
    exec::todo_name,
    id::{NodeId, SessionId},
    ops::{Actor, OpsError},
    session::{GenerateError, GenerateRequest, Progress, ToolAccess, actor_at, actor_in_session, spawn},
    types::{Agent, Permission, literal_line},
};

/// Agent that writes continuations.
pub(crate) const SUBJECT: &str = "subject";
/// Name of the agent that answers and runs commands.
pub const COLLABORATOR: &str = "collaborator";

/// Cancellation tokens of a job and of each of its continuations.
#[derive(Clone)]
struct CancelTokens {
    all: CancellationToken,
    each: Vec<CancellationToken>,
}

/// Running generation and command jobs.
pub(crate) struct GenerationJobs {
    setup: ScreenSetup,
    runtime: Handle,
    reports: UnboundedSender<BackgroundReport>,
    running: HashMap<u64, CancelTokens>,
}

impl GenerationJobs {
    pub(crate) fn new(setup: ScreenSetup, runtime: Handle, reports: UnboundedSender<BackgroundReport>) -> Self {
        observe_background(&setup.commands, reports.clone());
        Self { setup, runtime, reports, running: HashMap::new() }
    }

    /// Starts a job, in the user's session if there is one.
    pub(crate) fn start(&mut self, job: GenerationJob, session: Option<SessionId>) {
        let columns = job.n * job.models.len().max(1);
        // Tokens are created one by one: clones would be cancelled together.
        let each = std::iter::repeat_with(CancellationToken::new).take(columns).collect();
        let tokens = CancelTokens { all: CancellationToken::new(), each };
        self.running.insert(job.number, tokens.clone());
        let (setup, reports) = (self.setup.clone(), self.reports.clone());
        self.runtime.spawn(async move {
            let emit = |event| drop(reports.send(BackgroundReport(BackgroundEvent::Generation(job.number, event))));
            let ended = run_job(&setup, &job, session, tokens, &emit).await;
            let (error, position) = match ended {
                Ok(position) => (None, position),
                Err(error) => (Some(error), None),
            };
            emit(GenerationEvent::Finished(error, position));
        });
    }

    /// Runs a command job on a blocking thread.
    pub(crate) fn run(&mut self, command_job: CommandJob, session: Option<SessionId>) {
        let all = CancellationToken::new();
        self.running.insert(command_job.number, CancelTokens { all: all.clone(), each: Vec::new() });
        let (setup, runtime, reports) = (self.setup.clone(), self.runtime.clone(), self.reports.clone());
        self.runtime.spawn_blocking(move || {
            let done = command_job::run_job(&setup, runtime, &command_job, session, all, reports.clone());
            let _ =
                reports.send(BackgroundReport(BackgroundEvent::CommandsDone(command_job.number, done.map(Box::new))));
        });
    }

    /// Cancels a job, or one continuation of it. Received text is saved.
    pub(crate) fn cancel(&mut self, number: u64, column: Option<usize>) {
        let Some(tokens) = self.running.get(&number) else { return };
        match column {
            None => tokens.all.cancel(),
            Some(column) => tokens.each.get(column).map_or((), CancellationToken::cancel),
        }
    }

    /// Forgets a finished job.
    pub(crate) fn remove(&mut self, number: u64) {
        self.running.remove(&number);
    }

    pub(crate) fn cancel_all(&mut self) {
        for tokens in self.running.values() {
            tokens.all.cancel();
        }
    }

    /// Returns whether a job runs.
    pub(crate) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }
}

/// Reports progress and ends of delegations in the background. The tools of a folder share them.
fn observe_background(commands: &ToolAccess, reports: UnboundedSender<BackgroundReport>) {
    commands.background.observe(Arc::new(move |update| {
        if let Some(line) = delegation_lines::line(&update) {
            // A delegation outlives the screen for a moment.
            let _ = reports.send(BackgroundReport(BackgroundEvent::DelegationNotice(literal_line(&line))));
        }
    }));
}

async fn run_job(
    setup: &ScreenSetup,
    job: &GenerationJob,
    session: Option<SessionId>,
    tokens: CancelTokens,
    emit: &impl Fn(GenerationEvent),
) -> Result<Option<NodeId>, String> {
    let name = match &job.responder {
        Some(responder) if job.turn => &responder.name,
        _ if job.turn => COLLABORATOR,
        _ => SUBJECT,
    };
    let author = setup.loom.agent(name).map_err(|error| error_line(&error))?;
    let mut models = Vec::new();
    let references = if job.models.is_empty() || job.turn { vec![None] } else { job.models.iter().map(Some).collect() };
    for reference in references {
        let agent = match reference {
            Some(reference) => with_model(&author, reference),
            None => match session_model(setup, job) {
                Some(reference) => with_model(&author, &reference),
                None => author.clone(),
            },
        };
        let opened = setup.commands.models.open(&agent).await;
        models.push(opened.map_err(|failure| match failure.hint {
            Some(hint) => format!("{}; {hint}", failure.message),
            None => failure.message,
        })?);
    }
    let uses_commands = job.turn && author.profile.permissions.has(Permission::LoomAware);
    let actor = actor(setup, &author, job, session, uses_commands).map_err(|error| error_line(&error))?;
    emit(GenerationEvent::Started(
        models.iter().flat_map(|model| std::iter::repeat_n(model.reference().to_owned(), job.n)).collect(),
    ));
    let plan = GenerateRequest {
        instruction: None,
        from: job.from,
        context_start: None,
        versions: job.versions.clone(),
        author,
        n: job.n,
        context: setup.context,
        cancel: tokens.all,
        cancel_each: tokens.each,
        partials_dir: setup.drafts.clone(),
        prices: setup.prices.clone(),
        keep_position: !uses_commands,
        metadata: None,
        commands: uses_commands.then(|| tool_access(setup, job)),
        models,
        sampling: crate::provider::Sampling::default(),
    };
    let mut running = spawn(actor.clone(), plan);
    while let Some(progress) = running.next().await {
        if let Some(event) = generation_event(progress) {
            emit(event);
        }
    }
    match running.end().await {
        Ok(_) if uses_commands => Ok(actor.session().and_then(|session| setup.loom.session(session).ok()?.position)),
        Ok(_) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Commands of the job's agent, with the tools of the folder if enabled.
fn tool_access(setup: &ScreenSetup, job: &GenerationJob) -> ToolAccess {
    setup.tools.as_ref().filter(|_| job.tools).unwrap_or(&setup.commands).clone()
}

/// Returns the agent with another model.
fn with_model(author: &Agent, reference: &str) -> Agent {
    let mut author = author.clone();
    author.profile.model = Some(reference.to_owned());
    author
}

/// Returns the model of the session that the user resumed.
fn session_model(setup: &ScreenSetup, job: &GenerationJob) -> Option<String> {
    let responder = job.responder.as_ref().filter(|_| job.turn)?;
    setup.loom.session(responder.session).ok()?.model
}

/// Actor of the job: the agent if it uses commands, else the user.
fn actor(
    setup: &ScreenSetup,
    author: &Agent,
    job: &GenerationJob,
    session: Option<SessionId>,
    uses_commands: bool,
) -> Result<Actor, OpsError> {
    if uses_commands {
        if let Some(responder) = &job.responder {
            return actor_in_session(&setup.loom, author, responder.session, job.from);
        }
        return actor_at(&setup.loom, author, &setup.workspace, job.from);
    }
    match session {
        Some(session) => Ok(setup.loom.actor(&setup.agent).in_session(session)),
        None => actor_at(&setup.loom, &setup.agent, &setup.workspace, job.from),
    }
}

pub(super) fn generation_event(progress: Progress) -> Option<GenerationEvent> {
    Some(match progress {
        Progress::Text { index, text } => GenerationEvent::Text(index, text),
        Progress::Saved { index, node, .. } => GenerationEvent::Saved(index, node.id, node.content),
        Progress::Ran { index, line, reply } => {
            let answer = reply.to_string();
            let more = answer.lines().count().saturating_sub(1);
            let first = answer.lines().next().unwrap_or_default().to_owned();
            let answer = if more > 0 { format!("{first}  (+{more} lines)") } else { first };
            GenerationEvent::CommandRan(index, line, answer)
        }
        Progress::Failed { index, error, saved } => {
            let cancelled = matches!(error, GenerateError::Provider(crate::provider::ProviderError::Cancelled));
            let error = if cancelled { "stopped; the received text is saved".to_owned() } else { error.to_string() };
            GenerationEvent::Failed(index, error, saved.map(|node| node.id))
        }
        Progress::OutOfRounds { index } => {
            GenerationEvent::Failed(index, "the turn reached its round limit".to_owned(), None)
        }
        Progress::Delegated { index, update: told } => {
            GenerationEvent::DelegationNote(index, delegation_lines::line(&told)?)
        }
        Progress::TodosLeftOpen { index, todos } => {
            let names: Vec<String> = todos.iter().map(|todo| literal_line(&todo_name(todo))).collect();
            GenerationEvent::TodosLeftOpen(index, format!("left open: {}", names.join(" · ")))
        }
        Progress::Round { .. } => return None,
    })
}
