//! Generations, on tokio's threads: a plan is started as for every other face, and what is heard of it becomes messages.

use std::collections::HashMap;

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    ScreenSetup, command_job, delegation_lines,
    message::{BackgroundEvent, BackgroundReport, CommandJob, GenerationEvent, GenerationJob},
    write_thread::speech,
};
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, OpsError},
    session::{GenerateError, GenerateRequest, Progress, ToolAccess, actor_at, actor_in_session, spawn},
    types::{Agent, Permission},
};

/// The agent that continues.
pub(crate) const SUBJECT: &str = "subject";
/// The name of the agent that answers, and acts by commands.
pub const COLLABORATOR: &str = "collaborator";

/// What ends a job early, and what each of its continuations.
#[derive(Clone)]
struct CancelTokens {
    all: CancellationToken,
    each: Vec<CancellationToken>,
}

/// What is being generated.
pub(crate) struct GenerationJobs {
    setup: ScreenSetup,
    runtime: Handle,
    tell: UnboundedSender<BackgroundReport>,
    running: HashMap<u64, CancelTokens>,
}

impl GenerationJobs {
    pub(crate) fn new(setup: ScreenSetup, runtime: Handle, tell: UnboundedSender<BackgroundReport>) -> Self {
        Self { setup, runtime, tell, running: HashMap::new() }
    }

    /// Starts a job, in the person's session if there is one.
    pub(crate) fn start(&mut self, job: GenerationJob, session: Option<SessionId>) {
        let columns = job.n * job.models.len().max(1);
        // Each is a token of its own: a clone would be the same one.
        let each = std::iter::repeat_with(CancellationToken::new).take(columns).collect();
        let stops = CancelTokens { all: CancellationToken::new(), each };
        self.running.insert(job.number, stops.clone());
        let (setup, tell) = (self.setup.clone(), self.tell.clone());
        self.runtime.spawn(async move {
            let say = |growing| drop(tell.send(BackgroundReport(BackgroundEvent::Grew(job.number, growing))));
            let ended = carry_out(&setup, &job, session, stops, &say).await;
            let (error, stands) = match ended {
                Ok(stands) => (None, stands),
                Err(error) => (Some(error), None),
            };
            say(GenerationEvent::Ended(error, stands));
        });
    }

    /// Runs arrow lines of the person's, on a thread that may wait.
    pub(crate) fn run(&mut self, errand: CommandJob, session: Option<SessionId>) {
        let all = CancellationToken::new();
        self.running.insert(errand.number, CancelTokens { all: all.clone(), each: Vec::new() });
        let (setup, runtime, tell) = (self.setup.clone(), self.runtime.clone(), self.tell.clone());
        self.runtime.spawn_blocking(move || {
            let done = command_job::carry_out(&setup, runtime, &errand, session, all, tell.clone());
            let _ = tell.send(BackgroundReport(BackgroundEvent::Ran(errand.number, done.map(Box::new))));
        });
    }

    /// Ends a job early, or one continuation of it; what came is saved.
    pub(crate) fn cancel(&mut self, number: u64, column: Option<usize>) {
        let Some(stops) = self.running.get(&number) else { return };
        match column {
            None => stops.all.cancel(),
            Some(column) => stops.each.get(column).map_or((), CancellationToken::cancel),
        }
    }

    /// A job has ended.
    pub(crate) fn ended(&mut self, number: u64) {
        self.running.remove(&number);
    }

    /// Ends all of them early.
    pub(crate) fn cancel_all(&mut self) {
        for stops in self.running.values() {
            stops.all.cancel();
        }
    }

    /// Whether something is being generated.
    pub(crate) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }
}

async fn carry_out(
    setup: &ScreenSetup,
    job: &GenerationJob,
    session: Option<SessionId>,
    stops: CancelTokens,
    say: &impl Fn(GenerationEvent),
) -> Result<Option<NodeId>, String> {
    let name = match &job.with {
        Some(with) if job.turn => &with.name,
        _ if job.turn => COLLABORATOR,
        _ => SUBJECT,
    };
    let author = setup.loom.agent(name).map_err(|error| speech(&error))?;
    let mut models = Vec::new();
    let wanted = if job.models.is_empty() || job.turn { vec![None] } else { job.models.iter().map(Some).collect() };
    for reference in wanted {
        let asked = match reference {
            Some(reference) => with_model(&author, reference),
            None => author.clone(),
        };
        let opened = setup.commands.models.open(&asked).await;
        models.push(opened.map_err(|failure| match failure.hint {
            Some(hint) => format!("{}; {hint}", failure.message),
            None => failure.message,
        })?);
    }
    let acts = job.turn && author.profile.permissions.has(Permission::LoomAware);
    let actor = actor(setup, &author, job, session, acts).map_err(|error| speech(&error))?;
    say(GenerationEvent::Began(
        models.iter().flat_map(|model| std::iter::repeat_n(model.reference().to_owned(), job.n)).collect(),
    ));
    let plan = GenerateRequest {
        from: job.from,
        context_start: None,
        versions: job.versions.clone(),
        author,
        n: job.n,
        context: setup.context,
        cancel: stops.all,
        cancel_each: stops.each,
        partials_dir: setup.drafts.clone(),
        prices: setup.prices.clone(),
        keep_position: !acts,
        commands: acts.then(|| commands(setup, job)),
        models,
        sampling: crate::provider::Sampling::default(),
    };
    let mut running = spawn(actor.clone(), plan);
    while let Some(progress) = running.next().await {
        if let Some(growing) = heard(progress) {
            say(growing);
        }
    }
    match running.end().await {
        Ok(_) if acts => Ok(actor.session().and_then(|session| setup.loom.session(session).ok()?.position)),
        Ok(_) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// What the agent may do: with the tools for the folder, if it has them.
fn commands(setup: &ScreenSetup, job: &GenerationJob) -> ToolAccess {
    setup.tools.as_ref().filter(|_| job.tools).unwrap_or(&setup.commands).clone()
}

/// An agent that has another model.
fn with_model(author: &Agent, reference: &str) -> Agent {
    let mut author = author.clone();
    author.profile.model = Some(reference.to_owned());
    author
}

/// Who carries it out: the agent itself where it acts by commands, else the person.
fn actor(
    setup: &ScreenSetup,
    author: &Agent,
    job: &GenerationJob,
    session: Option<SessionId>,
    acts: bool,
) -> Result<Actor, OpsError> {
    if acts {
        if let Some(with) = &job.with {
            return actor_in_session(&setup.loom, author, with.session, job.from);
        }
        return actor_at(&setup.loom, author, &setup.workspace, job.from);
    }
    match session {
        Some(session) => Ok(setup.loom.actor(&setup.agent).in_session(session)),
        None => actor_at(&setup.loom, &setup.agent, &setup.workspace, job.from),
    }
}

pub(super) fn heard(progress: Progress) -> Option<GenerationEvent> {
    Some(match progress {
        Progress::Text { index, text } => GenerationEvent::Text(index, text),
        Progress::Saved { index, node, .. } => GenerationEvent::Saved(index, node.id, node.content),
        Progress::Ran { index, line, reply } => {
            let answer = reply.to_string();
            let more = answer.lines().count().saturating_sub(1);
            let first = answer.lines().next().unwrap_or_default().to_owned();
            let answer = if more > 0 { format!("{first}  (+{more} lines)") } else { first };
            GenerationEvent::Ran(index, line, answer)
        }
        Progress::Failed { index, error, saved } => {
            let cancelled = matches!(error, GenerateError::Provider(crate::provider::ProviderError::Cancelled));
            let error = if cancelled { "stopped; what came is kept".to_owned() } else { error.to_string() };
            GenerationEvent::Failed(index, error, saved.map(|node| node.id))
        }
        Progress::OutOfRounds { index } => {
            GenerationEvent::Failed(index, "it asked for more rounds than it has".to_owned(), None)
        }
        Progress::Delegated { index, update: told } => GenerationEvent::Noted(index, delegation_lines::line(&told)?),
        Progress::Round { .. } | Progress::TodosLeftOpen { .. } => return None,
    })
}
