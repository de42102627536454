//! Options and output that `sample` and `score` share: limits, the estimate and the question before a run.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
};

use indicatif::ProgressBar;
use loomtree::{
    experiment::{RunLimits, Spending, StopReason},
    provider::Money,
};
use tokio_util::sync::CancellationToken;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    input,
    output::count,
    paths, progress,
    sanitize::one_line,
};

/// Keeps other processes of this machine from the same run until it is dropped: both would request what is missing. The
/// file stays: another process may be about to lock it.
#[derive(Debug)]
pub(super) struct RunLock {
    _file: File,
}

impl RunLock {
    /// Locks a run by its id.
    pub(super) fn take(id: &str, cx: &CommandContext<'_>) -> Result<Self> {
        let failed = |error| CliError::io("locking the run", error);
        paths::create_private_dir(&cx.partials_dir)?;
        let path = cx.partials_dir.join(format!("{}.run", blake3::hash(id.as_bytes()).to_hex()));
        let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(CliError::Failed {
                message: "another process is at this run".to_owned(),
                hint: Some("when it has ended, the same command does what is missing".to_owned()),
            }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Progress bar of a run, and the first error of its output.
pub(super) struct RunProgress {
    bar: ProgressBar,
    output_error: Option<CliError>,
}

impl RunProgress {
    pub(super) fn new(title: &'static str, all: u64) -> Self {
        Self { bar: progress::bar(title, all, false), output_error: None }
    }

    /// Prints a step of the run. An error of the output cancels the run.
    pub(super) fn print(&mut self, cancel: &CancellationToken, print: impl FnOnce(&ProgressBar) -> Result<()>) {
        if let Err(error) = print(&self.bar) {
            self.output_error.get_or_insert(error);
            cancel.cancel();
        }
    }

    /// Removes the bar.
    ///
    /// # Errors
    /// If the output failed.
    pub(super) fn finish(self) -> Result<()> {
        self.bar.finish_and_clear();
        self.output_error.map_or(Ok(()), Err)
    }
}

/// The limits of a run and the consent to it.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Stop before the run costs more, in the currency of the configured prices
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    max_cost: Option<f64>,
    /// Stop before the run uses more tokens of prompts and replies
    #[arg(long, value_name = "TOKENS")]
    max_total_tokens: Option<u64>,
    /// Print the number of requests, tokens and cost, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Run without asking
    #[arg(long, short)]
    yes: bool,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "an amount of money is a number, 0 or more".to_owned())
}

/// The decision after an estimate: the run, or the estimate alone.
pub(super) enum RunDecision {
    Run,
    /// The estimate was all that was asked for.
    OnlyEstimate,
}

impl RunArgs {
    pub(super) fn limits(&self) -> RunLimits {
        RunLimits::default().cost(self.max_cost).tokens(self.max_total_tokens)
    }

    /// Shows an estimate and asks for consent. `work` names what is missing, such as `39 replies`.
    pub(super) fn ask(
        &self,
        work: &str,
        missing: u64,
        bound: &Spending,
        estimate: &impl serde::Serialize,
        cx: &mut CommandContext<'_>,
    ) -> Result<RunDecision> {
        if self.dry_run {
            cx.print_value(estimate, || format!("{work}: {}", upper_bound(bound)))?;
            return Ok(RunDecision::OnlyEstimate);
        }
        if missing > 0 && bound.requests > 0 {
            input::confirm(&format!("{work}: {}", upper_bound(bound)), &["yes", "y"], self.yes)?;
        }
        Ok(RunDecision::Run)
    }
}

/// Returns the words for an upper bound.
fn upper_bound(bound: &Spending) -> String {
    let tokens = format!(
        "up to about {} of prompts and {} of replies",
        count(bound.prompt_tokens, "token"),
        bound.output_tokens
    );
    let requests = count(bound.requests, "request");
    let mut cost = amounts(&bound.cost);
    if bound.unpriced_requests > 0 {
        cost.push(format!("cost unknown for {}: no price is configured", count(bound.unpriced_requests, "request")));
    }
    format!("{requests}, {tokens}, {}", if cost.is_empty() { "no cost".to_owned() } else { cost.join(" + ") })
}

/// Returns the words for what was spent.
pub(super) fn spent(spent: &Spending) -> String {
    let tokens = format!("{} of prompts, {} of replies", count(spent.prompt_tokens, "token"), spent.output_tokens);
    let cost = amounts(&spent.cost);
    if cost.is_empty() { tokens } else { format!("{tokens}, {}", cost.join(" + ")) }
}

fn amounts(cost: &BTreeMap<String, f64>) -> Vec<String> {
    let money = |(currency, amount): (&String, &f64)| Money { amount: *amount, currency: currency.clone() };
    cost.iter().map(|each| one_line(&money(each).to_string())).collect()
}

/// Returns the error of a run that left something out; none if it is complete.
pub(super) fn stop_error(stopped: Option<StopReason>, failed: u64, error: Option<&str>) -> Result<()> {
    let again = "the same command does what is missing";
    let message = match stopped {
        None => return Ok(()),
        Some(StopReason::Cancelled) => return Err(CliError::Cancelled),
        Some(StopReason::Limit) => "stopped at the limit".to_owned(),
        Some(_) => format!("{failed} failed: {}", error.unwrap_or("no reason was given")),
    };
    Err(CliError::Failed { message, hint: Some(again.to_owned()) })
}
