//! `loom delegate`: gives a goal to an orchestrator, which plans, asks for approval, runs subtasks in parallel,
//! verifies them and reports. Ctrl-C stops it; finished subtasks stay, and `--resume` continues with the rest.

use std::{
    io::Write as _,
    sync::{Arc, mpsc},
};

use loomtree::{
    delegate::{self, DelegationReport, DelegationStatus, DelegationUpdate, RunContext},
    id::NodeId,
    ops::Actor,
    session::{Approval, Decision, save_report},
    tools::{ErrorCode, Tool, ToolError},
    types::Node,
};
use serde::Serialize;

use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    delegation::{self, OrchestratorBuilder},
    error::{CliError, Result},
    output::{DIM, ID, paint},
    process_setup,
    sanitize::{cut, sanitize},
    turn_args::TurnArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The goal of the delegation
    #[arg(required_unless_present_any = ["resume", "list"], conflicts_with_all = ["resume", "list"])]
    goal: Option<String>,
    /// Facts that the workers need
    #[arg(long, value_name = "TEXT", requires = "goal")]
    context: Option<String>,
    /// Continue a delegation; verified subtasks are not repeated
    #[arg(long, value_name = "ID", conflicts_with = "list")]
    resume: Option<String>,
    /// List delegations with their state
    #[arg(long)]
    list: bool,
    /// Approve the plan without asking; commands and file changes still need --allow and --allow-write
    #[arg(long, short)]
    yes: bool,
    /// Maximum concurrent subtasks, 1 to 64 [default: 4, or the configured number]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: Option<u8>,
    /// The workers' model: provider:model, a URL, or a name of the configuration
    #[arg(long, short, value_name = "REF")]
    model: Option<String>,
    /// The planner's model [default: the workers' model]
    #[arg(long, value_name = "REF")]
    planner: Option<String>,
    /// The judge's model [default: the workers' model, without their conversation]
    #[arg(long, value_name = "REF")]
    judge: Option<String>,
    /// The model that retries subtasks that failed with the workers' model
    #[arg(long = "stronger", value_name = "REF")]
    fallback: Option<String>,
    #[command(flatten)]
    turn: TurnArgs,
}

/// Starts, resumes or lists delegations.
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
            delegate::create(&actor, current.position.id, goal, context).map_err(tool_failure)?
        }
        (None, Some(id)) => cx.node(&current, id)?.id,
        (None, None) => return Err(CliError::usage("no goal given")),
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
                DelegationStatus::Stopped => "stopped; finished subtasks stay".to_owned(),
                _ => "not all subtasks could be completed".to_owned(),
            },
            hint: Some(format!(
                "loom delegate --resume {} continues with the subtasks that are not verified",
                report.local
            )),
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
        [(&mut roles.planner, &args.planner), (&mut roles.judge, &args.judge), (&mut roles.fallback, &args.fallback)]
    {
        if argument.is_some() {
            role.clone_from(argument);
        }
    }
    roles.parallel = args.parallel.map(usize::from).or(roles.parallel);
    let approval: Arc<dyn Approval> = if args.yes { Arc::new(Decision::Yes) } else { args.turn.plan_approval(cx) };
    args.turn.builder(cx, config, (worker, judge), args.model.clone(), approval)
}

/// Runs a delegation while this thread prints its updates.
fn run_delegation(
    cx: &mut CommandContext<'_>,
    builder: OrchestratorBuilder,
    (actor, delegation): (Actor, NodeId),
) -> Result<DelegationReport> {
    let runtime = process_setup::runtime()?;
    let ctrl_c = CtrlC::listen(&runtime);
    let cancel = ctrl_c.arm();
    let (sender, updates) = mpsc::channel();
    let sink: delegate::UpdateSink = Arc::new(move |update| _ = sender.send(update));
    let work = RunContext::new(actor.clone(), delegation, cancel.clone(), sink);
    let orchestrator = delegation::lazy(builder);
    let done = runtime.spawn(async move { orchestrator.run(work).await });
    // The orchestrator holds the only sender, so the channel closes when it ends.
    let (mut output_error, mut has_worked) = (None, false);
    for update in updates {
        has_worked |= !matches!(update, DelegationUpdate::Planning { .. } | DelegationUpdate::Planned { .. });
        if let Err(error) = show(cx, &update) {
            // Without a reader the rest is not needed now.
            cancel.cancel();
            output_error.get_or_insert(error);
        }
    }
    let done =
        runtime.block_on(done).map_err(|error| CliError::failed(format!("the delegation task failed: {error}")))?;
    ctrl_c.disarm();
    if let Some(output_error) = output_error {
        return Err(output_error);
    }
    if has_worked && done.is_ok() {
        // Appends the report to the conversation where the goal was delegated.
        runtime.block_on(save_report(&actor, delegation, &done))?;
    }
    done.map_err(|failure| with_resume_hint(failure, &actor, delegation))
}

/// Adds a hint about `--resume` to a failure without approval.
fn with_resume_hint(failure: ToolError, actor: &Actor, delegation: NodeId) -> CliError {
    let head = actor.loom().node(delegation).ok().filter(|_| failure.code == ErrorCode::Cancelled);
    tool_failure(match head {
        Some(head) => {
            failure.hint(format!("loom delegate --resume {} asks again; --yes approves the plan", head.local))
        }
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

/// Lists the delegations of the database.
fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let all = delegate::list(&cx.loom).map_err(tool_failure)?;
    let now = cx.now();
    for entry in &all {
        let carried_on_by = delegate::lock_holder(&cx.partials_dir, entry.head.id);
        let state = entry.state(carried_on_by.is_some());
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
        writeln!(cx.out, "there are no delegations")?;
    }
    Ok(())
}
