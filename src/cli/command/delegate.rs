//! `loom delegate`: hands a goal to an orchestrator, which plans, asks, has the work done beside each other and verified,
//! and reports. Ctrl-C stops it; what was done stays, and `--resume` goes on with the rest.

use std::{
    io::Write as _,
    sync::{Arc, mpsc},
};

use loomtree::{
    arrow::run::{ErrorCode, ToolError},
    delegate::{self, DelegationReport, DelegationStatus, DelegationUpdate, RunContext},
    id::NodeId,
    ops::Actor,
    session::{Approval, Decision, save_report},
    tools::Tool,
    types::Node,
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    delegation::{self, OrchestratorBuilder},
    env,
    error::{CliError, Result},
    models::CtrlC,
    output::{DIM, ID, paint},
    sanitize::{cut, sanitize},
    turn_args::TurnArgs,
};

/// What `delegate` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be done
    #[arg(required_unless_present_any = ["resume", "list"], conflicts_with_all = ["resume", "list"])]
    goal: Option<String>,
    /// What has to be known for it
    #[arg(long, value_name = "TEXT", requires = "goal")]
    context: Option<String>,
    /// Goes on with a delegation; what was verified is not done again
    #[arg(long, value_name = "ID", conflicts_with = "list")]
    resume: Option<String>,
    /// Lists what was delegated, and how it stands
    #[arg(long)]
    list: bool,
    /// Agrees to whatever plan is made, and to nothing that is done for it: see --allow and --allow-write
    #[arg(long, short)]
    yes: bool,
    /// Subtasks at once [default: 4, or what the configuration says]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: Option<u8>,
    /// The model of those who work: provider:model, a URL, or a name of the configuration
    #[arg(long, short, value_name = "REF")]
    model: Option<String>,
    /// The model that plans [default: that of those who work]
    #[arg(long, value_name = "REF")]
    planner: Option<String>,
    /// The model that verifies [default: that of those who work, without their conversation]
    #[arg(long, value_name = "REF")]
    judge: Option<String>,
    /// The model that tries where the usual one failed
    #[arg(long, value_name = "REF")]
    stronger: Option<String>,
    #[command(flatten)]
    turn: TurnArgs,
}

/// Delegates.
pub(crate) fn run(args: Args, desk: &mut CommandContext<'_>) -> Result<()> {
    desk.allow(Tool::Delegate)?;
    if args.list {
        return list(desk);
    }
    let (here, _, actor) = desk.work()?;
    let hiring = hiring(&args, desk)?;
    let delegation = match (&args.goal, &args.resume) {
        (Some(goal), _) => {
            let context = args.context.as_deref().unwrap_or("");
            delegate::create(&actor, here.position.id, goal, context).map_err(failed)?
        }
        (None, Some(id)) => desk.node(&here, id)?.id,
        (None, None) => return Err(CliError::usage("there is no goal")),
    };
    let report = carry_on(desk, hiring, (actor, delegation))?;
    if desk.out.json {
        desk.out.json(&DelegationJson { event: "ended", report: &report })?;
    } else {
        writeln!(desk.out, "{}", sanitize(&report.to_string()))?;
    }
    match report.state {
        DelegationStatus::Completed => Ok(()),
        state => Err(CliError::Failed {
            message: match state {
                DelegationStatus::Stopped => "stopped; what was done stays".to_owned(),
                _ => "not everything could be done".to_owned(),
            },
            hint: Some(format!("loom delegate --resume {} goes on with what is not verified", report.local)),
        }),
    }
}

#[derive(Serialize)]
struct DelegationJson<'a> {
    event: &'static str,
    #[serde(flatten)]
    report: &'a DelegationReport,
}

fn hiring(args: &Args, desk: &CommandContext<'_>) -> Result<OrchestratorBuilder> {
    let (worker, judge) = delegation::agents(&desk.loom, &desk.agent)?;
    let mut config = desk.config.clone();
    let roles = &mut config.delegate;
    for (role, said) in
        [(&mut roles.planner, &args.planner), (&mut roles.judge, &args.judge), (&mut roles.stronger, &args.stronger)]
    {
        if said.is_some() {
            role.clone_from(said);
        }
    }
    roles.parallel = args.parallel.map(usize::from).or(roles.parallel);
    let approval: Arc<dyn Approval> = if args.yes { Arc::new(Decision::Yes) } else { Arc::clone(&desk.asked) };
    args.turn.hiring(desk, config, (worker, judge), args.model.clone(), approval)
}

/// Carries a delegation on while this thread prints what is heard of it.
fn carry_on(
    desk: &mut CommandContext<'_>,
    hiring: OrchestratorBuilder,
    (actor, delegation): (Actor, NodeId),
) -> Result<DelegationReport> {
    let runtime = env::runtime()?;
    let stop = CtrlC::listen(&runtime);
    let cancel = stop.begin();
    let (sender, heard) = mpsc::channel();
    let tell: delegate::UpdateSink = Arc::new(move |told| _ = sender.send(told));
    let work = RunContext { actor: actor.clone(), delegation, cancel: cancel.clone(), on_update: tell };
    let orchestrator = delegation::lazy(hiring);
    let done = runtime.spawn(async move { orchestrator.run(work).await });
    // The channel closes when the work is done, for nobody else tells.
    let (mut lost, mut worked) = (None, false);
    for told in heard {
        worked |= !matches!(told, DelegationUpdate::Planning { .. } | DelegationUpdate::Planned { .. });
        if let Err(error) = show(desk, &told) {
            // Nobody reads any more, so nobody needs the rest now.
            cancel.cancel();
            lost.get_or_insert(error);
        }
    }
    let done =
        runtime.block_on(done).map_err(|error| CliError::failed(format!("the delegation task failed: {error}")))?;
    stop.end();
    if let Some(lost) = lost {
        return Err(lost);
    }
    if worked && done.is_ok() {
        // The conversation finds it where it was delegated, as it would have if it had waited.
        runtime.block_on(save_report(&actor, delegation, &done))?;
    }
    done.map_err(|failure| refused(failure, &actor, delegation))
}

/// What can be done where nobody agreed.
fn refused(failure: ToolError, actor: &Actor, delegation: NodeId) -> CliError {
    let head = actor.loom().node(delegation).ok().filter(|_| failure.code == ErrorCode::Cancelled);
    failed(match head {
        Some(head) => failure.hint(format!("loom delegate --resume {} asks again; --yes agrees to it", head.local)),
        None => failure,
    })
}

fn show(desk: &mut CommandContext<'_>, told: &DelegationUpdate) -> Result<()> {
    if desk.out.json {
        desk.out.json(told)?;
    } else if let Some(line) = delegation::line(told, desk.out.width) {
        writeln!(desk.out, "{}", line.trim_end())?;
    }
    desk.out.flush()?;
    Ok(())
}

fn failed(failure: ToolError) -> CliError {
    CliError::Failed { message: failure.to_string(), hint: failure.hint }
}

#[derive(Serialize)]
struct DelegationRow<'a> {
    #[serde(flatten)]
    head: &'a Node,
    goal: &'a str,
    last: &'a delegate::DelegationEvent,
    open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    carried_on_by: Option<String>,
}

/// Lists the delegations of the file.
fn list(desk: &mut CommandContext<'_>) -> Result<()> {
    let all = delegate::list(&desk.loom).map_err(failed)?;
    let now = desk.now();
    for one in &all {
        let carried_on_by = delegate::lock_holder(&desk.drafts, one.head.id);
        let state = match one.last {
            _ if carried_on_by.is_some() => "running",
            delegate::DelegationEvent::Ended => "ended",
            delegate::DelegationEvent::Stopped => "stopped",
            delegate::DelegationEvent::Refused => "refused",
            _ => "open",
        };
        if desk.out.json {
            let (goal, open) = (&*one.goal, one.is_open());
            desk.out.json(&DelegationRow { head: &one.head, goal, last: &one.last, open, carried_on_by })?;
            continue;
        }
        let age = one.head.created_at.age(now).to_string();
        let goal = cut(&crate::cli::sanitize::one_line(&one.goal), desk.out.width.saturating_sub(32));
        writeln!(desk.out, "{}  {state:<8} {}  {goal}", paint(ID, &one.head.local), paint(DIM, format!("{age:<10}")))?;
    }
    if all.is_empty() && !desk.out.json {
        writeln!(desk.out, "nothing was delegated here")?;
    }
    Ok(())
}
