//! `loom purge`: content removed for good, and what is left of it elsewhere named. The only command that asks.

use std::{io::Write as _, path::PathBuf};

use clap::ValueEnum;
use loomtree::{
    id::SessionId,
    store::{PurgeTarget, count_bytes, sidecar_files},
    types::{Node, Op},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    input,
    output::count,
    sanitize::{cut, one_line},
    show::short,
};

/// What `purge` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to empty
    #[arg(value_enum, required_unless_present = "check")]
    what: Option<PurgeKind>,
    /// Its id; a tree also by its title
    #[arg(required_unless_present = "check")]
    id: Option<String>,
    /// Count the places where the database's files still hold this text, and purge nothing
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["what", "id", "yes"])]
    check: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// What can be purged.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PurgeKind {
    /// One node.
    Node,
    /// Every node that a session wrote.
    Session,
    /// A whole tree.
    Tree,
}

/// Asks, and purges.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if let Some(text) = &args.check {
        return check(text, cx);
    }
    let (Some(kind), Some(id)) = (args.what, args.id.as_deref()) else {
        return Err(CliError::usage("say what to purge, and its id"));
    };
    let (target, word, what) = match kind {
        PurgeKind::Node => {
            let current = cx.position()?;
            let node = cx.node(&current, id)?;
            (PurgeTarget::Node(node.id), node.local.to_string(), format!("the node \"{}\"", cut(&node.content, 50)))
        }
        PurgeKind::Session => {
            let id: SessionId = id.parse().map_err(|_| CliError::usage("a session is named by its whole ULID"))?;
            let session = cx.loom.session(id)?;
            let what = format!("what {} wrote in {} turns of a session", cx.name(session.agent), session.turns);
            (PurgeTarget::Session(id), id.to_string(), what)
        }
        PurgeKind::Tree => {
            let tree = cx.loom.find_tree(id)?;
            let what = format!("the tree \"{}\" with {}", cut(&tree.title, 50), count(tree.counts.nodes, "node"));
            (PurgeTarget::Tree(tree.id), short(tree.id), what)
        }
    };
    let question = format!("This removes {what} for good; undo cannot bring it back. Backups and exports keep it.");
    input::confirm(&question, &[&word, id], args.yes)?;
    let copies = cx.loom.snapshot()?.copies(target)?;
    let receipt = cx.actor().purge(target)?;
    cx.print_receipt(Op::Purge, &receipt, || format!("{} purged", count(receipt.affected, "node")))?;
    name_leftovers(&copies, cx)
}

/// Names what may hold the same words and was not purged: nodes on standard output, files on standard error.
fn name_leftovers(copies: &[Node], cx: &mut CommandContext<'_>) -> Result<()> {
    let mut err = std::io::stderr().lock();
    let mut print_leftover = |line: String| writeln!(err, "{line}").map_err(|e| CliError::io("writing", e));
    for node in copies {
        print_leftover(format!(
            "left: [{}], a copy, edit or half of the same words: `loom purge node {}`",
            node.local, node.id
        ))?;
    }
    for file in sidecar_files(&cx.db).unwrap_or_default().into_iter().filter(|file| !is_database(file, cx)) {
        print_leftover(format!("left: {}, which may hold the same words", one_line(&file.display().to_string())))?;
    }
    Ok(())
}

/// Whether a file is the database or one that SQLite keeps beside it.
fn is_database(file: &std::path::Path, cx: &CommandContext<'_>) -> bool {
    ["", "-wal", "-shm"].iter().any(|ending| {
        let mut name = cx.db.clone().into_os_string();
        name.push(ending);
        file.file_name() == PathBuf::from(name).file_name()
    })
}

/// A file and the places where it holds a text.
#[derive(Serialize)]
struct TextMatches {
    file: PathBuf,
    count: u64,
}

/// Looks for a text in the database's files; finding it is an error.
fn check(text: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let cannot = |e| CliError::io("reading the database's files", e);
    if text.is_empty() {
        return Err(CliError::usage("there is no text to look for"));
    }
    let mut files = Vec::new();
    for file in sidecar_files(&cx.db).map_err(cannot)? {
        let count = count_bytes(&file, text.as_bytes()).map_err(cannot)?;
        files.push(TextMatches { file, count });
    }
    let found: Vec<&TextMatches> = files.iter().filter(|file| file.count > 0).collect();
    for TextMatches { file, count: times } in found.iter().copied() {
        let line = || format!("{}  {}", one_line(&file.display().to_string()), count(*times, "place"));
        cx.print_value(&TextMatches { file: file.clone(), count: *times }, line)?;
    }
    match found.len() as u64 {
        0 => cx.print_value(&files, || format!("none of {} holds it", count(files.len() as u64, "file"))),
        left => Err(CliError::failed(format!("{} of the database still hold it", count(left, "file")))),
    }
}
