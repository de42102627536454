//! `loom score`: scores branches by a model with a rubric, or by a command.

use std::{io::Write as _, path::PathBuf};

use indicatif::ProgressBar;
use loomtree::experiment::{Judge, ModelJudge, ScoreProgress, ScoreRequest, estimate_scores, score};
use serde_json::json;
use tokio::runtime::Runtime;

use super::experiment_run::{self, RunArgs, RunDecision, RunLock, RunProgress};
use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    error::{CliError, Result},
    model_choice::open,
    output::{ID, count, paint},
    process_setup,
    sanitize::{cut, one_line},
};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("by").required(true).args(["judge", "command"]))]
pub(crate) struct Args {
    /// The node whose branches are scored [default: the root]
    id: Option<String>,
    /// The model that judges; needs a rubric
    #[arg(long, value_name = "REF", requires = "rubrics")]
    judge: Option<String>,
    /// The rubric of the judging model
    #[arg(long, value_name = "TEXT", group = "rubrics", conflicts_with = "command")]
    rubric: Option<String>,
    /// A file with the rubric
    #[arg(long, value_name = "FILE", group = "rubrics", conflicts_with = "command")]
    rubric_file: Option<PathBuf>,
    /// The lowest score of the judging model
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    lowest: f64,
    /// The highest score of the judging model
    #[arg(long, value_name = "NUMBER", default_value_t = 10.0, allow_negative_numbers = true)]
    highest: f64,
    /// The command that judges: it reads the text of a branch from standard input and prints a number
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// The name under which the scores are stored [default: the model or the command]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// The time limit of a command, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// The number of commands that run at the same time [default: the number of processors]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    parallel: Option<u16>,
    #[command(flatten)]
    run: RunArgs,
}

/// Scores the branches that have no score of the judge.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let below = args.id.as_deref().map(|id| cx.node(&current, id)).transpose()?.map(|node| node.id);
    let runtime = process_setup::runtime()?;
    let judge = open_judge(args, &runtime, cx)?;
    let ctrl_c = CtrlC::listen(&runtime);
    let request =
        ScoreRequest::new(current.tree.id, &*judge).below(below).limits(args.run.limits()).cancel(ctrl_c.arm());
    let actor = cx.actor();
    let estimate = estimate_scores(&actor, &request)?;
    let work = count(estimate.missing, "score");
    if let RunDecision::OnlyEstimate = args.run.ask(&work, estimate.missing, &estimate.bound, &estimate, cx)? {
        return Ok(());
    }
    let _lock = RunLock::take(&format!("{} {} {}", current.tree.id, judge.digest(), judge.name()), cx)?;
    let mut shown = RunProgress::new("scoring", estimate.missing);
    let report = runtime.block_on(score(&actor, &request, |progress| {
        shown.print(&request.cancel, |bar| print_progress(&progress, bar, cx));
    }))?;
    shown.finish()?;
    cx.out.committed = report.added > 0;
    if cx.out.json {
        cx.out.json(&json!({ "event": "report", "report": report }))?;
    } else {
        let present = if report.present > 0 { format!(", {} existed", report.present) } else { String::new() };
        let mean = report.mean.map(|mean| format!(", mean {mean:.3}")).unwrap_or_default();
        let spent = if report.spent.requests > 0 {
            format!("; {}", experiment_run::spent(&report.spent))
        } else {
            String::new()
        };
        let judge = cut(&report.judge, 50);
        writeln!(cx.out, "{} by {judge}{present}{mean}{spent}", count(report.added, "new score"))?;
    }
    experiment_run::stop_error(report.stopped, report.failed, report.error.as_deref())
}

fn open_judge(args: &Args, runtime: &Runtime, cx: &CommandContext<'_>) -> Result<Box<dyn Judge>> {
    if let Some(command) = &args.command {
        return command_judge(command, args);
    }
    let rubric = match (&args.rubric, &args.rubric_file) {
        (Some(rubric), _) => rubric.clone(),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|error| CliError::io(format!("reading {}", one_line(&file.display().to_string())), error))?,
        (None, None) => return Err(CliError::usage("a judging model needs --rubric or --rubric-file")),
    };
    let model = runtime.block_on(open(args.judge.as_deref(), &cx.config))?;
    let range = (args.lowest, args.highest);
    let judge = ModelJudge::new(model, &rubric, range, args.name.clone(), cx.config.prices.clone())?;
    judge.check_limits(args.run.limits())?;
    Ok(Box::new(judge))
}

#[cfg(feature = "workspace")]
fn command_judge(command: &str, args: &Args) -> Result<Box<dyn Judge>> {
    if command.trim().is_empty() {
        return Err(CliError::usage("the command is empty"));
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parallel = args.parallel.map_or(processors, usize::from);
    let timeout = std::time::Duration::from_secs(args.timeout);
    Ok(Box::new(loomtree::experiment::CommandJudge::new(command, timeout, parallel, args.name.clone())))
}

#[cfg(not(feature = "workspace"))]
fn command_judge(_: &str, _: &Args) -> Result<Box<dyn Judge>> {
    Err(CliError::usage("--command: this program was built without the cargo feature workspace"))
}

fn print_progress(progress: &ScoreProgress, bar: &ProgressBar, cx: &mut CommandContext<'_>) -> Result<()> {
    match progress {
        ScoreProgress::Saved { leaf, value, why } => {
            bar.inc(1);
            if cx.out.json {
                return Ok(cx
                    .out
                    .json(&json!({ "event": "saved", "leaf": leaf.local, "score": value, "why": why }))?);
            }
            let why = why.as_deref().map(|why| format!("  {}", cut(why, 80))).unwrap_or_default();
            let line = format!("{}  {value}{why}", paint(ID, &leaf.local));
            bar.suspend(|| writeln!(cx.out, "{line}"))?;
        }
        ScoreProgress::Failed { leaf, error } if cx.out.json => {
            cx.out.json(&json!({ "event": "failed", "leaf": leaf.local, "error": error.message }))?;
        }
        _ => {}
    }
    Ok(())
}
