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
    session::{Approval, Decision, keep_report},
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
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    cx.allow(Tool::Delegate)?;
    if args.list {
        return list(cx);
    }
    let (current, _, actor) = cx.ensure_session()?;
    let builder = orchestrator_builder(&args, cx)?;
    let delegation = match (&args.goal, &args.resume) {
        (Some(goal), _) => {
            let context = args.context.as_deref().unwrap_or("");
            delegate::begin(&actor, current.position.id, goal, context).map_err(tool_failure)?
        }
        (None, Some(id)) => cx.node(&current, id)?.id,
        (None, None) => return Err(CliError::usage("there is no goal")),
    };
    let report = run_delegation(cx, builder, (actor, delegation))?;
    if cx.out.json {
        cx.out.json(&DelegationJson { event: "ended", report: &report })?;
    } else {
        writeln!(cx.out, "{}", sanitize(&report.to_string()))?;
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

fn orchestrator_builder(args: &Args, cx: &CommandContext<'_>) -> Result<OrchestratorBuilder> {
    let (worker, judge) = delegation::select_agents(&cx.loom, &cx.agent)?;
    let mut config = cx.config.clone();
    let roles = &mut config.delegate;
    for (role, argument) in
        [(&mut roles.planner, &args.planner), (&mut roles.judge, &args.judge), (&mut roles.stronger, &args.stronger)]
    {
        if argument.is_some() {
            role.clone_from(argument);
        }
    }
    roles.parallel = args.parallel.map(usize::from).or(roles.parallel);
    let approval: Arc<dyn Approval> = if args.yes { Arc::new(Decision::Yes) } else { Arc::clone(&cx.approval) };
    args.turn.builder(cx, config, (worker, judge), args.model.clone(), approval)
}

/// Carries a delegation on while this thread prints what is heard of it.
fn run_delegation(
    cx: &mut CommandContext<'_>,
    builder: OrchestratorBuilder,
    (actor, delegation): (Actor, NodeId),
) -> Result<DelegationReport> {
    let runtime = env::runtime()?;
    let ctrl_c = CtrlC::listen(&runtime);
    let cancel = ctrl_c.arm();
    let (sender, updates) = mpsc::channel();
    let sink: delegate::UpdateSink = Arc::new(move |update| _ = sender.send(update));
    let work = RunContext { actor: actor.clone(), delegation, cancel: cancel.clone(), tell: sink };
    let orchestrator = delegation::lazy(builder);
    let done = runtime.spawn(async move { orchestrator.carry_on(work).await });
    // The channel closes when the work is done, for nobody else tells.
    let (mut output_error, mut has_worked) = (None, false);
    for update in updates {
        has_worked |= !matches!(update, DelegationUpdate::Planning { .. } | DelegationUpdate::Planned { .. });
        if let Err(error) = show(cx, &update) {
            // Nobody reads any more, so nobody needs the rest now.
            cancel.cancel();
            output_error.get_or_insert(error);
        }
    }
    let done = runtime.block_on(done).map_err(|error| CliError::failed(format!("it broke off: {error}")))?;
    ctrl_c.disarm();
    if let Some(output_error) = output_error {
        return Err(output_error);
    }
    if has_worked && done.is_ok() {
        // The conversation finds it where it was delegated, as it would have if it had waited.
        runtime.block_on(keep_report(&actor, delegation, &done))?;
    }
    done.map_err(|failure| with_resume_hint(failure, &actor, delegation))
}

/// What can be done where nobody agreed.
fn with_resume_hint(failure: ToolError, actor: &Actor, delegation: NodeId) -> CliError {
    let head = actor.loom().node(delegation).ok().filter(|_| failure.code == ErrorCode::Cancelled);
    tool_failure(match head {
        Some(head) => failure.hint(format!("loom delegate --resume {} asks again; --yes agrees to it", head.local)),
        None => failure,
    })
}

fn show(cx: &mut CommandContext<'_>, update: &DelegationUpdate) -> Result<()> {
    if cx.out.json {
        cx.out.json(update)?;
    } else if let Some(line) = delegation::update_line(update, cx.out.width) {
        writeln!(cx.out, "{}", line.trim_end())?;
    }
    cx.out.flush()?;
    Ok(())
}

fn tool_failure(failure: ToolError) -> CliError {
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
fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let all = delegate::all(&cx.loom).map_err(tool_failure)?;
    let now = cx.now();
    for entry in &all {
        let carried_on_by = delegate::carried_on_by(&cx.partials_dir, entry.head.id);
        let state = match entry.last {
            _ if carried_on_by.is_some() => "running",
            delegate::DelegationEvent::Ended => "ended",
            delegate::DelegationEvent::Stopped => "stopped",
            delegate::DelegationEvent::Refused => "refused",
            _ => "open",
        };
        if cx.out.json {
            let (goal, open) = (&*entry.goal, entry.is_open());
            cx.out.json(&DelegationRow { head: &entry.head, goal, last: &entry.last, open, carried_on_by })?;
            continue;
        }
        let age = entry.head.created_at.age(now).to_string();
        let goal = cut(&crate::cli::sanitize::one_line(&entry.goal), cx.out.width.saturating_sub(32));
        writeln!(cx.out, "{}  {state:<8} {}  {goal}", paint(ID, &entry.head.local), paint(DIM, format!("{age:<10}")))?;
    }
    if all.is_empty() && !cx.out.json {
        writeln!(cx.out, "nothing was delegated here")?;
    }
    Ok(())
}
