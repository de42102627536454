//! `loom continue`: a model, or several, go on from a node. One continuation streams to standard output; several are
//! printed as they end, and the person chooses by `loom switch`.

use std::{io::Write as _, sync::Arc};

use indicatif::{MultiProgress, ProgressBar};
use loomtree::{
    provider::{FinishReason, Model, Sampling},
    session::{GenerateError, GenerateRequest, Progress, actor_at, generate},
    types::{Node, Permission},
};
use tokio_util::sync::CancellationToken;

use crate::cli::{
    command_context::CommandContext,
    config::Config,
    env,
    error::{CliError, Result},
    models::{self, CtrlC, open},
    output::{DIM, ID, paint},
    progress,
    sanitize::{one_line, tail},
    show::{NodeJson, StreamPrinter, turn},
    turn_args::TurnArgs,
};

/// What `continue` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node to go on from [default: where you are]
    id: Option<String>,
    /// How many continuations, of each model [default: 3, or what the configuration says]
    #[arg(short = 'n', long = "count", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    count: Option<u16>,
    /// A model: provider:model, a URL, or a name of the configuration; may be repeated
    #[arg(long, short, value_name = "REF")]
    model: Vec<String>,
    #[command(flatten)]
    turn: TurnArgs,
    /// Makes draws repeatable where the server can
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Keeps how probable each token was, with so many others in its place, where the server can say
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(..=20))]
    logprobs: Option<u8>,
    /// Which agent the continuations are by
    #[arg(long, value_name = "AGENT", default_value = "subject")]
    by: String,
}

/// Generates.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let author = desk.loom.agent(&args.by)?;
    let (here, _, actor) = desk.work()?;
    let from = desk.node_or_here(&here, args.id.as_deref())?;
    let runtime = env::runtime()?;
    let own = author.profile.model.as_deref().or(desk.config.model.as_deref());
    let models = runtime.block_on(open_all(&args.model, own, &desk.config))?;
    let n = args.count.map_or_else(|| desk.config.continuations(), usize::from);
    let stop = CtrlC::listen(&runtime);
    let cancel = stop.begin();
    // One who sees the tree acts in it, in a session of its own; of several drafts none does.
    let acts = models.len() * n == 1 && author.profile.permissions.has(Permission::LoomAware);
    if args.turn.wants_tools() && !acts {
        let hint = "-n 1 --by collaborator is one continuation by an agent that does";
        return Err(CliError::usage(format!(
            "--tools is for one continuation of an agent that acts by commands: {hint}"
        )));
    }
    let commands =
        if acts { Some(args.turn.commands(desk, &author, args.model.first().map(String::as_str))?) } else { None };
    let own = actor.clone();
    let actor = if acts { actor_at(&desk.loom, &author, &desk.workspace, from.id)? } else { actor };
    let plan = GenerateRequest {
        from: from.id,
        context_start: None,
        versions: here.versions().to_vec(),
        author,
        n,
        keep_position: false,
        commands,
        sampling: Sampling { seed: args.seed, logprobs: args.logprobs, ..args.turn.sampling() },
        context: args.turn.context(&desk.config),
        cancel: cancel.clone(),
        cancel_each: Vec::new(),
        partials_dir: Some(desk.drafts.clone()),
        prices: desk.config.prices.clone(),
        models,
    };
    let mut watch =
        ContinuePrinter::new(plan.models.len() * n, &plan.models, n, &plan.author.profile.name, cancel.clone());
    let done = runtime.block_on(generate(&actor, plan, |progress| watch.hear(progress, desk)));
    if acts {
        models::follow(&own, &actor)?;
    }
    watch.end(done, desk)
}

/// The models that were named; else the agent's or the configured one; else one that is found.
async fn open_all(named: &[String], own: Option<&str>, config: &Config) -> Result<Vec<Arc<dyn Model>>> {
    if named.is_empty() {
        return Ok(vec![open(own, config).await?]);
    }
    let mut models = Vec::with_capacity(named.len());
    for reference in named {
        models.push(open(Some(reference), config).await?);
    }
    Ok(models)
}

/// Shows what streams in.
struct ContinuePrinter {
    all: usize,
    author: String,
    /// One line a continuation; empty if there is but one, which streams.
    lines: Vec<ProgressBar>,
    area: MultiProgress,
    texts: Vec<String>,
    failures: Vec<String>,
    cancel: CancellationToken,
    /// What streams where there is but one.
    live: StreamPrinter,
    /// Standard output is gone.
    lost: Option<CliError>,
}

impl ContinuePrinter {
    fn new(all: usize, models: &[Arc<dyn Model>], n: usize, author: &str, cancel: CancellationToken) -> Self {
        let area = MultiProgress::new();
        let lines = if all > 1 {
            models
                .iter()
                .flat_map(|model| std::iter::repeat_n(one_line(model.reference()), n))
                .map(|name| progress::streaming(&area, name))
                .collect()
        } else {
            Vec::new()
        };
        let texts = vec![String::new(); all];
        Self {
            all,
            author: author.to_owned(),
            lines,
            area,
            texts,
            failures: Vec::new(),
            live: StreamPrinter::default(),
            cancel,
            lost: None,
        }
    }

    fn hear(&mut self, progress: Progress, desk: &mut CommandContext<'_>) {
        let told = match progress {
            Progress::Text { index, text } if !self.lines.is_empty() => self.text(index, &text, desk.out.width),
            Progress::Saved { index, node, reason, .. } => self.saved(index, &node, &reason, desk),
            Progress::Failed { index, error, saved } => self.failed(index, &error, saved.as_deref(), desk),
            other if !desk.out.json => self.live.hear(&other, desk.out).map_err(Into::into),
            _ => Ok(()),
        };
        if let Err(error) = told {
            // Nobody reads any more, so nobody needs the rest.
            self.cancel.cancel();
            self.lost.get_or_insert(error);
        }
    }

    fn text(&mut self, index: usize, text: &str, width: usize) -> Result<()> {
        if let Some(line) = self.lines.get(index) {
            self.texts[index].push_str(text);
            line.set_message(tail(&self.texts[index], width.saturating_sub(30)));
            line.tick();
        }
        Ok(())
    }

    fn saved(&mut self, index: usize, node: &Node, reason: &FinishReason, desk: &mut CommandContext<'_>) -> Result<()> {
        if let Some(line) = self.lines.get(index) {
            line.finish_and_clear();
        }
        let note = match reason {
            FinishReason::Length => "  cut at the limit of tokens",
            FinishReason::Refused => "  refused",
            _ => "",
        };
        let streamed = self.lines.is_empty();
        let (author, now) = (&self.author, desk.now());
        self.area.suspend(|| {
            if desk.out.json {
                desk.out.json(&NodeJson { node, author, position: streamed })?;
            } else if streamed {
                self.live.end_line(desk.out)?;
                if desk.out.terminal {
                    writeln!(desk.out, "{}  {}", paint(ID, &node.local), paint(DIM, format!("you are here{note}")))?;
                }
            } else {
                writeln!(desk.out, "{}", turn(node, author, now, false, desk.out.wrap()))?;
            }
            Ok(desk.out.flush()?)
        })
    }

    fn failed(
        &mut self,
        index: usize,
        error: &GenerateError,
        saved: Option<&Node>,
        desk: &mut CommandContext<'_>,
    ) -> Result<()> {
        match saved {
            Some(node) => {
                self.saved(index, node, &FinishReason::Interrupted, desk)?;
                self.failures.push(format!("{error}; what came is saved as {}", node.local));
            }
            None => {
                if let Some(line) = self.lines.get(index) {
                    line.finish_and_clear();
                }
                self.failures.push(error.to_string());
            }
        }
        Ok(())
    }

    fn end(mut self, done: Result<Vec<Node>, GenerateError>, desk: &mut CommandContext<'_>) -> Result<()> {
        if let Some(lost) = self.lost.take() {
            return Err(lost);
        }
        let nodes = done?;
        if self.all > 1 && !desk.out.json {
            let hints: Vec<String> = nodes.iter().map(|node| format!("loom switch {}", node.local)).collect();
            writeln!(desk.out, "{}", paint(DIM, hints.join("\n")))?;
        }
        if self.cancel.is_cancelled() {
            return Err(CliError::Cancelled);
        }
        match self.failures.first() {
            None => Ok(()),
            Some(failure) if self.all == 1 => Err(CliError::Generation(failure.clone())),
            Some(failure) => {
                let count = self.failures.len();
                Err(CliError::Generation(format!("{count} of {} failed: {failure}", self.all)))
            }
        }
    }
}
