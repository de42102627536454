//! The person's own arrow lines, run as a generation is: beside everything else, told of while it goes on, and stopped by
//! a key. What a model says that a line has continue comes in columns, to be chosen from like any other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    ScreenSetup,
    generate::heard,
    message::{BackgroundEvent, BackgroundReport, CommandJob, GenerationEvent, WriteResult},
    queries,
    write_thread::speech,
};
use crate::{
    arrow::{self, Event, run::Executor},
    id::SessionId,
    ops::OpsError,
    session::{Progress, SessionHost, actor_at, actor_in_session},
};

/// What is told of an errand while it runs.
struct CommandProgress {
    number: u64,
    tell: UnboundedSender<BackgroundReport>,
    columns: Mutex<CommandColumns>,
}

/// Which column the words of which continuation go to. Every line counts its continuations from none.
#[derive(Default)]
struct CommandColumns {
    line: String,
    known: HashMap<usize, usize>,
    opened: usize,
}

impl CommandProgress {
    fn columns(&self) -> std::sync::MutexGuard<'_, CommandColumns> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, growing: GenerationEvent) {
        // If nobody is there to hear it, it is done all the same.
        let _ = self.tell.send(BackgroundReport(BackgroundEvent::Grew(self.number, growing)));
    }

    /// The next line is run.
    fn begins(&self, line: &str) {
        let mut columns = self.columns();
        columns.line = line.to_owned();
        columns.known.clear();
    }

    /// A column for what was heard, opened by the first that is heard of it.
    fn hears(&self, progress: Progress) {
        let Some(growing) = heard(progress) else { return };
        let mut columns = self.columns();
        let opened = columns.opened;
        let place = |columns: &mut CommandColumns, index: usize| *columns.known.entry(index).or_insert(opened);
        let at = match &growing {
            GenerationEvent::Text(index, _)
            | GenerationEvent::Saved(index, ..)
            | GenerationEvent::Ran(index, ..)
            | GenerationEvent::Noted(index, _)
            | GenerationEvent::Failed(index, ..) => place(&mut columns, *index),
            GenerationEvent::Began(_) | GenerationEvent::Ended(..) => return,
        };
        if at == opened {
            columns.opened += 1;
            self.say(GenerationEvent::Began(vec![columns.line.clone()]));
        }
        self.say(match growing {
            GenerationEvent::Text(_, text) => GenerationEvent::Text(at, text),
            GenerationEvent::Saved(_, node, words) => GenerationEvent::Saved(at, node, words),
            GenerationEvent::Ran(_, line, answer) => GenerationEvent::Ran(at, line, answer),
            GenerationEvent::Noted(_, line) => GenerationEvent::Noted(at, line),
            GenerationEvent::Failed(_, error, saved) => GenerationEvent::Failed(at, error, saved),
            other => other,
        });
    }
}

/// Runs the lines as a model's are, in the person's session. Blocks until all are done or it was cancelled.
pub(crate) fn carry_out(
    setup: &ScreenSetup,
    runtime: Handle,
    errand: &CommandJob,
    session: Option<SessionId>,
    cancel: CancellationToken,
    tell: UnboundedSender<BackgroundReport>,
) -> Result<WriteResult, String> {
    run(setup, runtime, errand, session, cancel, tell).map_err(|error| speech(&error))
}

fn run(
    setup: &ScreenSetup,
    runtime: Handle,
    errand: &CommandJob,
    session: Option<SessionId>,
    cancel: CancellationToken,
    tell: UnboundedSender<BackgroundReport>,
) -> Result<WriteResult, OpsError> {
    let actor = match session {
        Some(session) => actor_in_session(&setup.loom, &setup.agent, session, errand.from)?,
        None => actor_at(&setup.loom, &setup.agent, &setup.workspace, errand.from)?,
    };
    let session = actor.session().ok_or_else(|| OpsError::Invalid("there is no session".to_owned()))?;
    let told = Arc::new(CommandProgress { number: errand.number, tell, columns: Mutex::default() });
    let (hears, delegated) = (Arc::clone(&told), Arc::clone(&told));
    let commands = setup.tools.as_ref().filter(|_| errand.tools).unwrap_or(&setup.commands).clone();
    let hosting = SessionHost {
        runtime,
        agent: setup.agent.id(),
        tool_access: commands,
        context: setup.context,
        partials_dir: setup.drafts.clone(),
        prices: setup.prices.clone(),
        cancel,
        on_delegation: Arc::new(move |told| delegated.hears(Progress::Delegated { index: 0, update: told })),
        on_progress: Arc::new(move |progress| hears.hears(progress)),
    };
    let mut runner = Executor::new(setup.loom.clone(), setup.agent.clone(), session, &hosting);
    let mut lines: Vec<String> = arrow::scan(&errand.text)
        .into_iter()
        .filter_map(|event| match event {
            Event::Call(call) => Some(call.text.to_owned()),
            _ => None,
        })
        .collect();
    let commands = lines.iter().map(|line| arrow::run::read(line).into()).collect();
    lines.reverse();
    let mut next = || told.begins(&lines.pop().unwrap_or_default());
    next();
    let mut answers: Vec<String> = Vec::new();
    runner.run_each(commands, &mut |_, reply| {
        answers.push(reply.to_string());
        next();
    });
    let stands = setup.loom.session(runner.session())?;
    let text = answers.join("\n\n");
    let (said, page) = match text.lines().count() {
        0 | 1 if text.chars().count() < 100 => (text, None),
        _ => (String::new(), Some(("answers".to_owned(), queries::plain_page(&text)))),
    };
    Ok(WriteResult {
        said,
        page,
        go: stands.position,
        tree: Some(stands.tree),
        session: Some(stands.id),
        versions: Some(stands.versions),
        ..WriteResult::default()
    })
}
