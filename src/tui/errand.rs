//! The person's own arrow lines, run as a generation is: beside everything else, told of while it goes on, and stopped by
//! a key. What a model says that a line has continue comes in columns, to be chosen from like any other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::{
    Setup,
    generate::heard,
    lookup,
    message::{Errand, Growing, Heard, Outcome, Report},
    writer::speech,
};
use crate::{
    arrow::{self, Event, run::Runner},
    id::SessionId,
    ops::OpsError,
    session::{Hosting, Progress, seat, seat_in},
};

/// What is told of an errand while it runs.
struct Told {
    number: u64,
    tell: UnboundedSender<Report>,
    columns: Mutex<Columns>,
}

/// Which column the words of which continuation go to. Every line counts its continuations from none.
#[derive(Default)]
struct Columns {
    line: String,
    known: HashMap<usize, usize>,
    opened: usize,
}

impl Told {
    fn columns(&self) -> std::sync::MutexGuard<'_, Columns> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, growing: Growing) {
        // If nobody is there to hear it, it is done all the same.
        let _ = self.tell.send(Report(Heard::Grew(self.number, growing)));
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
        let place = |columns: &mut Columns, index: usize| *columns.known.entry(index).or_insert(opened);
        let at = match &growing {
            Growing::Text(index, _)
            | Growing::Saved(index, ..)
            | Growing::Ran(index, ..)
            | Growing::Noted(index, _)
            | Growing::Failed(index, ..) => place(&mut columns, *index),
            Growing::Began(_) | Growing::Ended(..) => return,
        };
        if at == opened {
            columns.opened += 1;
            self.say(Growing::Began(vec![columns.line.clone()]));
        }
        self.say(match growing {
            Growing::Text(_, text) => Growing::Text(at, text),
            Growing::Saved(_, node, words) => Growing::Saved(at, node, words),
            Growing::Ran(_, line, answer) => Growing::Ran(at, line, answer),
            Growing::Noted(_, line) => Growing::Noted(at, line),
            Growing::Failed(_, error, saved) => Growing::Failed(at, error, saved),
            other => other,
        });
    }
}

/// Runs the lines as a model's are, in the person's session. Blocks until all are done or it was cancelled.
pub(crate) fn carry_out(
    setup: &Setup,
    runtime: Handle,
    errand: &Errand,
    session: Option<SessionId>,
    cancel: CancellationToken,
    tell: UnboundedSender<Report>,
) -> Result<Outcome, String> {
    run(setup, runtime, errand, session, cancel, tell).map_err(|error| speech(&error))
}

fn run(
    setup: &Setup,
    runtime: Handle,
    errand: &Errand,
    session: Option<SessionId>,
    cancel: CancellationToken,
    tell: UnboundedSender<Report>,
) -> Result<Outcome, OpsError> {
    let actor = match session {
        Some(session) => seat_in(&setup.loom, &setup.agent, session, errand.from)?,
        None => seat(&setup.loom, &setup.agent, &setup.workspace, errand.from)?,
    };
    let session = actor.session().ok_or_else(|| OpsError::Invalid("there is no session".to_owned()))?;
    let told = Arc::new(Told { number: errand.number, tell, columns: Mutex::default() });
    let (hears, delegated) = (Arc::clone(&told), Arc::clone(&told));
    let commands = setup.tools.as_ref().filter(|_| errand.tools).unwrap_or(&setup.commands).clone();
    let hosting = Hosting {
        runtime,
        agent: setup.agent.id(),
        commands,
        context: setup.context,
        drafts: setup.drafts.clone(),
        prices: setup.prices.clone(),
        cancel,
        tell: Arc::new(move |told| delegated.hears(Progress::Delegated { index: 0, told })),
        hear: Arc::new(move |progress| hears.hears(progress)),
    };
    let mut runner = Runner::new(setup.loom.clone(), setup.agent.clone(), session, &hosting);
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
        _ => (String::new(), Some(("answers".to_owned(), lookup::plain_page(&text)))),
    };
    Ok(Outcome {
        said,
        page,
        go: stands.position,
        tree: Some(stands.tree),
        session: Some(stands.id),
        versions: Some(stands.versions),
        ..Outcome::default()
    })
}
