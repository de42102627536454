//! Work that is handed over from the screen: what is heard of it as lines of a column, and the person's own arrow lines
//! that have models at work. Those take long, show what happens and can be stopped, so they are a job as generations are,
//! and not a deed, behind which every other one would wait.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{
    Setup,
    message::{Growing, Job},
    writer::speech,
};
use crate::{
    arrow::{self, Command, Event, run::Runner},
    delegate::Told,
    id::NodeId,
    model::one_line,
    ops::Actor,
    session::{Commands, Hosting},
};

/// Whether arrow lines have models at work.
pub(crate) fn are_long(lines: &str) -> bool {
    arrow::scan(lines).iter().any(|event| {
        let Event::Call(call) = event else { return false };
        matches!(arrow::run::read(call.text), Ok(Command::Delegate { .. } | Command::Continue { .. }))
    })
}

/// What happens in delegated work, as a line; nothing for what is too small.
pub(crate) fn line(told: &Told) -> Option<String> {
    Some(match told {
        Told::Planned { delegation, subtasks } => {
            let many = if subtasks.len() == 1 { "subtask" } else { "subtasks" };
            format!("{delegation}  planned: {} {many}", subtasks.len())
        }
        Told::Started { task, title, attempt, branch, .. } => {
            let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
            format!("[>] {} {}{again}  {branch}", task + 1, one_line(title))
        }
        Told::Verdict { task, title, passed: true, .. } => format!("[x] {} {}", task + 1, one_line(title)),
        Told::Verdict { task, title, why, .. } => format!("[!] {} {}: {}", task + 1, one_line(title), one_line(why)),
        Told::Skipped { task, title, needs } => {
            format!("[-] {} {}: it needs {}", task + 1, one_line(title), one_line(needs))
        }
        _ => return None,
    })
}

/// Runs the person's lines for them, in their session. Returns where they stand then.
///
/// # Errors
/// If the store fails.
pub(crate) async fn run(
    setup: &Setup,
    (job, lines): (&Job, &str),
    (actor, commands): (Actor, Commands),
    cancel: CancellationToken,
    say: impl Fn(Growing) + Clone + Send + Sync + 'static,
) -> Result<Option<NodeId>, String> {
    let session = actor.session().ok_or("there is no session")?;
    let known = setup.loom.session(session).map_err(|error| speech(&error))?;
    let node = setup.loom.node(job.from).map_err(|error| speech(&error))?;
    actor.stand(&known, &node).map_err(|error| speech(&error))?;
    say(Growing::Began(vec!["what you asked for".to_owned()]));
    let told = say.clone();
    let hosting = Hosting {
        runtime: Handle::current(),
        agent: setup.agent.id(),
        commands,
        context: setup.context,
        drafts: setup.drafts.clone(),
        prices: setup.prices.clone(),
        cancel,
        tell: Arc::new(move |happened| _ = line(&happened).map(|line| told(Growing::Noted(0, line)))),
    };
    let (loom, agent, lines) = (setup.loom.clone(), setup.agent.clone(), lines.to_owned());
    let ran = tokio::task::spawn_blocking(move || {
        let mut runner = Runner::new(loom, agent, session, &hosting);
        let calls: Vec<&str> = arrow::scan(&lines)
            .into_iter()
            .filter_map(|event| if let Event::Call(call) = event { Some(call.text) } else { None })
            .collect();
        let wanted = calls.iter().map(|call| runner.read(call)).collect();
        runner.run_each(wanted, &mut |at, reply| {
            say(Growing::Noted(0, format!("{}\n{reply}", calls.get(at).copied().unwrap_or_default().trim())));
        });
        runner.session()
    });
    let session = ran.await.map_err(|error| format!("it broke off: {error}"))?;
    Ok(setup.loom.session(session).map_err(|error| speech(&error))?.position)
}
