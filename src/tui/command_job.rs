//! Arrow lines of the user, run as a job: without blocking the screen, with progress reports, and cancelled by a key.
//! Continuations that a line requests appear in columns, like those of a generation.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    ScreenSetup,
    generation_jobs::generation_event,
    message::{BackgroundEvent, BackgroundReport, CommandJob, GenerationEvent, WriteResult},
    queries,
    write_thread::error_line,
};
use crate::{
    arrow::{self, Event},
    exec::Executor,
    id::SessionId,
    ops::OpsError,
    session::{Progress, SessionHost, actor_at, actor_in_session},
};

/// Progress reports of a running command job.
struct CommandProgress {
    number: u64,
    reports: UnboundedSender<BackgroundReport>,
    columns: Mutex<CommandColumns>,
}

/// Maps continuations to columns; every line counts its continuations from zero.
#[derive(Default)]
struct CommandColumns {
    line: String,
    by_continuation: HashMap<usize, usize>,
    opened: usize,
}

impl CommandProgress {
    fn columns(&self) -> std::sync::MutexGuard<'_, CommandColumns> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn emit(&self, event: GenerationEvent) {
        // The job finishes even if the screen is closed.
        let _ = self.reports.send(BackgroundReport(BackgroundEvent::Generation(self.number, event)));
    }

    /// Starts the columns of the next line.
    fn begin_line(&self, line: &str) {
        let mut columns = self.columns();
        columns.line = line.to_owned();
        columns.by_continuation.clear();
    }

    /// Reports progress to its column; the first report of a continuation opens one.
    fn on_progress(&self, progress: Progress) {
        let Some(event) = generation_event(progress) else { return };
        let mut columns = self.columns();
        let opened = columns.opened;
        let column_of =
            |columns: &mut CommandColumns, index: usize| *columns.by_continuation.entry(index).or_insert(opened);
        let column = match &event {
            GenerationEvent::Text(index, _)
            | GenerationEvent::Saved(index, ..)
            | GenerationEvent::CommandRan(index, ..)
            | GenerationEvent::DelegationNote(index, _)
            | GenerationEvent::TodosLeftOpen(index, _)
            | GenerationEvent::Failed(index, ..) => column_of(&mut columns, *index),
            GenerationEvent::Started(_) | GenerationEvent::Finished(..) => return,
        };
        if column == opened {
            columns.opened += 1;
            self.emit(GenerationEvent::Started(vec![columns.line.clone()]));
        }
        self.emit(match event {
            GenerationEvent::Text(_, text) => GenerationEvent::Text(column, text),
            GenerationEvent::Saved(_, node, words) => GenerationEvent::Saved(column, node, words),
            GenerationEvent::CommandRan(_, line, answer) => GenerationEvent::CommandRan(column, line, answer),
            GenerationEvent::DelegationNote(_, line) => GenerationEvent::DelegationNote(column, line),
            GenerationEvent::TodosLeftOpen(_, line) => GenerationEvent::TodosLeftOpen(column, line),
            GenerationEvent::Failed(_, error, saved) => GenerationEvent::Failed(column, error, saved),
            other => other,
        });
    }
}

/// Runs the lines in the user's session. Blocks until all are done or the job is cancelled.
pub(crate) fn run_job(
    setup: &ScreenSetup,
    runtime: Handle,
    command_job: &CommandJob,
    session: Option<SessionId>,
    cancel: CancellationToken,
    reports: UnboundedSender<BackgroundReport>,
) -> Result<WriteResult, String> {
    run(setup, runtime, command_job, session, cancel, reports).map_err(|error| error_line(&error))
}

fn run(
    setup: &ScreenSetup,
    runtime: Handle,
    command_job: &CommandJob,
    session: Option<SessionId>,
    cancel: CancellationToken,
    reports: UnboundedSender<BackgroundReport>,
) -> Result<WriteResult, OpsError> {
    let actor = match session {
        Some(session) => actor_in_session(&setup.loom, &setup.agent, session, command_job.from)?,
        None => actor_at(&setup.loom, &setup.agent, &setup.workspace, command_job.from)?,
    };
    let session = actor.session().ok_or_else(|| OpsError::Invalid("there is no session".to_owned()))?;
    let progress_sink = Arc::new(CommandProgress { number: command_job.number, reports, columns: Mutex::default() });
    let (on_progress, on_delegation) = (Arc::clone(&progress_sink), Arc::clone(&progress_sink));
    let commands = setup.tools.as_ref().filter(|_| command_job.tools).unwrap_or(&setup.commands).clone();
    let host = SessionHost {
        runtime,
        agent: setup.agent.id(),
        tool_access: commands,
        context: setup.context,
        partials_dir: setup.drafts.clone(),
        prices: setup.prices.clone(),
        cancel,
        on_delegation: Arc::new(move |told| on_delegation.on_progress(Progress::Delegated { index: 0, update: told })),
        on_progress: Arc::new(move |progress| on_progress.on_progress(progress)),
    };
    let mut runner = Executor::new(setup.loom.clone(), setup.agent.clone(), session, &host);
    let mut lines: Vec<String> = arrow::scan(&command_job.text)
        .into_iter()
        .filter_map(|event| match event {
            Event::Call(call) => Some(call.text.to_owned()),
            _ => None,
        })
        .collect();
    let commands = lines.iter().map(|line| crate::exec::read(line).into()).collect();
    lines.reverse();
    let mut next = || progress_sink.begin_line(&lines.pop().unwrap_or_default());
    next();
    let mut results: Vec<String> = Vec::new();
    runner.run_each(commands, &mut |_, reply| {
        results.push(reply.to_string());
        next();
    });
    let session = setup.loom.session(runner.session())?;
    let text = results.join("\n\n");
    let (message, page) = match text.lines().count() {
        0 | 1 if text.chars().count() < 100 => (text, None),
        _ => (String::new(), Some(("results".to_owned(), queries::plain_page(&text)))),
    };
    Ok(WriteResult {
        message,
        page,
        position: session.position,
        tree: Some(session.tree),
        session: Some(session.id),
        versions: Some(session.versions),
        ..WriteResult::default()
    })
}
