//! `loom continue`: generates continuations of a node by one or several models. A single continuation streams to
//! standard output. Several are printed as they end, and the user selects one with `loom switch`.

use std::{io::Write as _, sync::Arc};

use indicatif::{MultiProgress, ProgressBar};
use loomtree::{
    ops::require_visible,
    provider::{FinishReason, Model, Sampling},
    session::{GenerateError, GenerateRequest, Progress, actor_at, generate},
    types::{Node, Permission},
};
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    error::{CliError, Result},
    model_choice::open_all,
    output::{DIM, ID, paint},
    process_setup, program_host, progress,
    sanitize::{cut, tail},
    show::{NodeJson, StreamPrinter, turn},
    turn_args::TurnArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node to continue [default: your position]
    id: Option<String>,
    /// Continuations of each model [default: 3, or the configured number]
    #[arg(short = 'n', long = "count", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    count: Option<u16>,
    /// A model: provider:model, a URL, or a name of the configuration; may be repeated
    #[arg(long, short, value_name = "REF")]
    model: Vec<String>,
    #[command(flatten)]
    turn: TurnArgs,
    /// Seed for repeatable sampling, where the server supports it
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Store the log probability of each token and of so many alternatives, where the server supports it
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(..=20))]
    logprobs: Option<u8>,
    /// The agent that is the author of the continuations
    #[arg(long, value_name = "AGENT", default_value = "subject")]
    by: String,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let author = cx.loom.agent(&args.by)?;
    let (current, _, actor) = cx.ensure_session()?;
    let from = cx.node_or_here(&current, args.id.as_deref())?;
    require_visible(&from)?;
    let runtime = process_setup::runtime()?;
    let models = runtime.block_on(open_all(&args.model, &author, &cx.config))?;
    let n = args.count.map_or_else(|| cx.config.continuations(), usize::from);
    let ctrl_c = CtrlC::listen(&runtime);
    let cancel = ctrl_c.arm();
    // A single continuation by an agent with tree access runs commands in a session of its own.
    let runs_commands = models.len() == 1 && n == 1 && author.profile.permissions.has(Permission::LoomAware);
    if args.turn.has_workspace_tools() && !runs_commands {
        let hint = "add -n 1 --by collaborator";
        return Err(CliError::usage(format!("--tools needs one continuation by an agent that runs commands: {hint}")));
    }
    let commands = if runs_commands {
        Some(args.turn.tool_access(cx, &author, args.model.first().map(String::as_str))?)
    } else {
        None
    };
    let own = actor.clone();
    let actor = if runs_commands { actor_at(&cx.loom, &author, &cx.workspace, from.id)? } else { actor };
    let request = GenerateRequest {
        instruction: None,
        from: from.id,
        context_start: None,
        versions: current.versions().to_vec(),
        author,
        n,
        keep_position: false,
        metadata: None,
        commands,
        sampling: Sampling { seed: args.seed, logprobs: args.logprobs, ..args.turn.sampling() },
        context: args.turn.context(&cx.config),
        cancel: cancel.clone(),
        cancel_each: Vec::new(),
        partials_dir: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        models,
    };
    let mut printer =
        ContinuePrinter::new(request.continuations(), &request.models, n, &request.author.profile.name, cancel.clone());
    let done = runtime.block_on(generate(&actor, request, |progress| printer.on_progress(progress, cx)));
    if runs_commands {
        program_host::follow_agent(&own, &actor)?;
    }
    printer.finish(done, cx)
}

/// Maximum width of a model's name in a progress line.
const MAX_NAME_COLUMNS: usize = 40;

/// Prints continuations while they stream.
struct ContinuePrinter {
    total: usize,
    author: String,
    /// One progress line for each continuation; empty for a single one, which streams.
    lines: Vec<ProgressBar>,
    /// Width of the models' names in the progress lines.
    name_columns: usize,
    area: MultiProgress,
    texts: Vec<String>,
    failures: Vec<String>,
    cancel: CancellationToken,
    /// The printer of a single continuation.
    stream: StreamPrinter,
    /// The error of standard output, once it failed.
    output_error: Option<CliError>,
}

impl ContinuePrinter {
    fn new(total: usize, models: &[Arc<dyn Model>], n: usize, author: &str, cancel: CancellationToken) -> Self {
        let area = MultiProgress::new();
        let names: Vec<String> = models.iter().map(|model| cut(model.reference(), MAX_NAME_COLUMNS)).collect();
        let name_columns = names.iter().map(|name| name.width()).max().unwrap_or_default();
        let lines = if total > 1 {
            let names = names.into_iter().flat_map(|name| std::iter::repeat_n(name, n));
            names.map(|name| progress::streaming(&area, name, name_columns)).collect()
        } else {
            Vec::new()
        };
        if !lines.is_empty() {
            progress::return_cursor(&area);
        }
        let texts = vec![String::new(); total];
        Self {
            total,
            author: author.to_owned(),
            lines,
            name_columns,
            area,
            texts,
            failures: Vec::new(),
            stream: StreamPrinter::default(),
            cancel,
            output_error: None,
        }
    }

    fn on_progress(&mut self, progress: Progress, cx: &mut CommandContext<'_>) {
        let printed = match progress {
            Progress::Text { index, text } if !self.lines.is_empty() => self.on_text(index, &text, cx.out.width),
            Progress::Saved { index, node, reason, .. } => self.on_saved(index, &node, &reason, cx),
            Progress::Failed { index, error, saved } => self.on_failed(index, &error, saved.as_deref(), cx),
            other if !cx.out.json => self.stream.on_progress(&other, cx.out).map_err(Into::into),
            _ => Ok(()),
        };
        if let Err(error) = printed {
            // Without a reader the rest is not needed.
            self.cancel.cancel();
            self.output_error.get_or_insert(error);
        }
        if !self.lines.is_empty() {
            progress::return_cursor(&self.area);
        }
    }

    fn on_text(&mut self, index: usize, text: &str, width: usize) -> Result<()> {
        if let Some(line) = self.lines.get(index) {
            self.texts[index].push_str(text);
            line.set_message(tail(&self.texts[index], width.saturating_sub(self.name_columns + 10)));
            line.tick();
        }
        Ok(())
    }

    fn on_saved(
        &mut self,
        index: usize,
        node: &Node,
        reason: &FinishReason,
        cx: &mut CommandContext<'_>,
    ) -> Result<()> {
        if let Some(line) = self.lines.get(index) {
            line.finish_and_clear();
        }
        let note = match reason {
            FinishReason::Length => "  cut off at the token limit",
            FinishReason::Refused => "  refused",
            _ => "",
        };
        cx.out.committed = true;
        let streamed = self.lines.is_empty();
        let (author, now) = (&self.author, cx.now());
        self.area.suspend(|| {
            if cx.out.json {
                cx.out.json(&NodeJson { node, author, position: streamed })?;
            } else if streamed {
                self.stream.end_line(cx.out)?;
                if cx.out.terminal {
                    writeln!(cx.out, "{}  {}", paint(ID, &node.local), paint(DIM, format!("you are here{note}")))?;
                }
            } else {
                writeln!(cx.out, "{}", turn(node, author, now, false, cx.out.wrap()))?;
            }
            Ok(cx.out.flush()?)
        })
    }

    fn on_failed(
        &mut self,
        index: usize,
        error: &GenerateError,
        saved: Option<&Node>,
        cx: &mut CommandContext<'_>,
    ) -> Result<()> {
        match saved {
            Some(node) => {
                self.on_saved(index, node, &FinishReason::Interrupted, cx)?;
                self.failures.push(format!("{error}; the partial reply is saved as {}", node.local));
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

    fn finish(mut self, done: Result<Vec<Node>, GenerateError>, cx: &mut CommandContext<'_>) -> Result<()> {
        if let Some(output_error) = self.output_error.take() {
            return Err(output_error);
        }
        let nodes = done?;
        if self.total > 1 && !cx.out.json {
            let hints: Vec<String> = nodes.iter().map(|node| format!("loom switch {}", node.local)).collect();
            writeln!(cx.out, "{}", paint(DIM, hints.join("\n")))?;
        }
        if self.cancel.is_cancelled() {
            return Err(CliError::Cancelled);
        }
        match self.failures.first() {
            None => Ok(()),
            Some(failure) if self.total == 1 => Err(CliError::Generation(failure.clone())),
            Some(failure) => {
                let count = self.failures.len();
                Err(CliError::Generation(format!("{count} of {} failed: {failure}", self.total)))
            }
        }
    }
}
