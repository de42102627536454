//! `loom sample`: grows branches by several models to a depth. What exists already is not generated again.

use std::io::Write as _;

use indicatif::ProgressBar;
use loomtree::{
    experiment::{SampleEstimate, SampleProgress, SampleReport, SampleRequest, estimate_sample, prompt_root, sample},
    ops::{Actor, OpsError, TreeDraft},
    provider::Sampling,
    types::{Mode, Node, Tree},
};
use serde::Serialize;
use serde_json::json;

use super::experiment_run::{self, RunArgs, RunDecision, RunLock, RunProgress};
use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    error::Result,
    input,
    model_choice::open_all,
    output::{ID, paint},
    process_setup,
    sanitize::cut,
    show::short_tree_id,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The prompt, which becomes the root of a tree; `-`: standard input [default: continue a node]
    #[arg(conflicts_with_all = ["from", "tree"])]
    prompt: Option<String>,
    /// The node to continue [default: your position]
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Replies of each model to each node
    #[arg(short = 'n', long = "count", value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Replies of a branch, one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// A model: provider:model, a URL, or a name of the configuration; may be repeated
    #[arg(long, short, value_name = "REF")]
    model: Vec<String>,
    /// Your message between two replies of a branch [default: a reply continues the one before]
    #[arg(long, value_name = "TEXT")]
    follow_up: Option<String>,
    /// Limit of a reply, in tokens
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: u32,
    /// Sampling temperature, 0 to 10 [default: the model's]
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f32>,
    /// Seed of the first reply to a node; the next ones get the next numbers
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// A name for the sample; another name makes another sample with the same settings
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// The agent that is the author of the replies
    #[arg(long, value_name = "AGENT", default_value = "subject")]
    by: String,
    /// The tree's title, with a prompt [default: its first words]
    #[arg(long, requires = "prompt")]
    title: Option<String>,
    /// Make the prompt a buffer: one text that the models continue
    #[arg(long, requires = "prompt")]
    buffer: bool,
    /// The system prompt, with a prompt
    #[arg(long, value_name = "TEXT", requires = "prompt")]
    system: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

impl Args {
    /// True if the command may create a tree.
    pub(crate) fn has_prompt(&self) -> bool {
        self.prompt.is_some()
    }

    /// The tree of the prompt, if there is a prompt.
    fn draft(&self) -> Result<Option<TreeDraft>> {
        let Some(prompt) = &self.prompt else { return Ok(None) };
        let mode = if self.buffer { Mode::Buffer } else { Mode::Dialogue };
        let mut draft = TreeDraft::new(input::read_text(Some(prompt.clone()), "")?).mode(mode);
        (draft.title, draft.system_context) = (self.title.clone(), self.system.clone());
        Ok(Some(draft))
    }
}

/// Generates the missing replies of a sample.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let author = cx.loom.agent(&args.by)?;
    let runtime = process_setup::runtime()?;
    let models = runtime.block_on(open_all(&args.model, &author, &cx.config))?;
    let draft = args.draft()?;
    let name = args.name.clone();
    let ctrl_c = CtrlC::listen(&runtime);
    let request_at = |start: &Node| {
        SampleRequest::new(start.id, author, models, args.count, args.depth)
            .follow_up(args.follow_up)
            .name(args.name)
            .sampling(Sampling { temperature: args.temperature, seed: args.seed, ..Sampling::default() })
            .max_tokens(args.max_tokens)
            .context(cx.config.context(None))
            .prices(cx.config.prices.clone())
            .limits(args.run.limits())
            .cancel(ctrl_c.arm())
    };
    let actor = cx.actor();
    let (mut request, estimate) = match &draft {
        Some(draft) => estimate_of_prompt(&actor, draft.clone(), &name, request_at)?,
        None => {
            let current = cx.position()?;
            let request = request_at(&cx.node_or_here(&current, args.from.as_deref())?);
            let estimate = estimate_sample(&actor, &request)?;
            (request, estimate)
        }
    };
    let work = replies(estimate.missing, "");
    if let RunDecision::OnlyEstimate = args.run.ask(&work, estimate.missing, &estimate.bound, &estimate, cx)? {
        return Ok(());
    }
    // A prompt has one tree; it becomes the current one.
    if let Some(draft) = draft {
        let (tree, root, _) = prompt_root(&actor, draft, &name)?;
        request.start = root.id;
        if cx.session(None)?.is_none_or(|session| session.tree != tree.id) {
            actor.start_session(&cx.workspace, tree.id, Some(root.id))?;
        }
    }
    let _lock = RunLock::take(&request.id(), cx)?;
    let start = cx.loom.node(request.start)?;
    let tree = cx.loom.tree(start.tree)?;
    let mut shown = RunProgress::new("sampling", estimate.missing);
    let report = runtime.block_on(sample(&actor, &request, |progress| {
        shown.print(&request.cancel, |bar| print_progress(&progress, bar, cx));
    }))?;
    shown.finish()?;
    cx.out.committed = report.added > 0;
    print_report(&tree, &start, &report, cx)?;
    experiment_run::stop_error(report.stopped, report.failed, report.error.as_deref())
}

/// Returns the request and the estimate for a prompt. Its tree is created in a transaction that is not committed, since the
/// user may refuse the estimate.
fn estimate_of_prompt(
    actor: &Actor,
    draft: TreeDraft,
    name: &str,
    request_at: impl FnOnce(&Node) -> SampleRequest,
) -> Result<(SampleRequest, SampleEstimate)> {
    let mut found = None;
    let rolled_back = actor.transaction(|actor| {
        found = Some(prompt_root(actor, draft, name).and_then(|(_, root, _)| {
            let request = request_at(&root);
            let estimate = estimate_sample(actor, &request)?;
            Ok((request, estimate))
        }));
        Err::<(), _>(OpsError::Invalid("the estimate is ready".to_owned()))
    });
    match found {
        Some(found) => Ok(found?),
        None => Err(rolled_back.err().unwrap_or_else(|| OpsError::Invalid("no estimate".to_owned())).into()),
    }
}

fn print_progress(progress: &SampleProgress, bar: &ProgressBar, cx: &mut CommandContext<'_>) -> Result<()> {
    let line = match progress {
        SampleProgress::Saved { node, label } => {
            bar.inc(1);
            json!({ "event": "saved", "sample": label, "node": node })
        }
        SampleProgress::Failed { label, error } => {
            json!({ "event": "failed", "sample": label, "error": error.to_string() })
        }
    };
    if cx.out.json {
        cx.out.json(&line)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct SampleReportJson<'a> {
    event: &'static str,
    tree: &'a Tree,
    start: &'a Node,
    report: &'a SampleReport,
}

fn print_report(tree: &Tree, start: &Node, report: &SampleReport, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Ok(cx.out.json(&SampleReportJson { event: "report", tree, start, report })?);
    }
    let (replies, spent) = (replies(report.added, "new "), experiment_run::spent(&report.spent));
    let present = if report.present > 0 { format!(", {} existed", report.present) } else { String::new() };
    writeln!(cx.out, "{}  {replies}{present}; {spent}", paint(ID, &start.local))?;
    let title = cut(&tree.title, 50);
    writeln!(cx.out, "sample {} in the tree \"{title}\" ({})", report.sample, short_tree_id(tree.id))?;
    Ok(())
}

fn replies(number: u64, kind: &str) -> String {
    if number == 1 { format!("1 {kind}reply") } else { format!("{number} {kind}replies") }
}
