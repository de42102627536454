//! `loom purge`: removes content permanently after confirmation, and lists where copies may remain.

use std::{io::Write as _, path::PathBuf};

use clap::ValueEnum;
use loomtree::{
    store::{PurgeTarget, count_bytes, sidecar_files, sidecar_path},
    types::{Node, Op},
};
use serde::Serialize;

use super::sessions;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    input,
    output::count,
    sanitize::{cut, one_line},
    show::short_tree_id,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kind of content to purge
    #[arg(value_enum, required_unless_present = "check")]
    what: Option<PurgeKind>,
    /// The id; for a tree also its title
    #[arg(required_unless_present = "check")]
    id: Option<String>,
    /// Count occurrences of this text in the database's files, and purge nothing
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["what", "id", "yes"])]
    check: Option<String>,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

/// The kind of content to purge.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PurgeKind {
    /// One node
    Node,
    /// Every node that a session wrote or received
    Session,
    /// A whole tree
    Tree,
}

/// Asks for confirmation and purges.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if let Some(text) = &args.check {
        return check(text, cx);
    }
    let (Some(kind), Some(id)) = (args.what, args.id.as_deref()) else {
        return Err(CliError::usage("name the kind of content and its id"));
    };
    let (target, word, what) = match kind {
        PurgeKind::Node => {
            let current = cx.position()?;
            let node = cx.node(&current, id)?;
            (PurgeTarget::Node(node.id), node.local.to_string(), format!("the node \"{}\"", cut(&node.content, 50)))
        }
        PurgeKind::Session => {
            let session = sessions::find(cx, id)?;
            let what = format!("{} turns of a session of {}", session.turns, cx.name(session.agent));
            (PurgeTarget::Session(session.id), session.id.to_string(), what)
        }
        PurgeKind::Tree => {
            let tree = cx.find_tree(id)?;
            let what = format!("the tree \"{}\" with {}", cut(&tree.title, 50), count(tree.counts.nodes, "node"));
            (PurgeTarget::Tree(tree.id), short_tree_id(tree.id), what)
        }
    };
    let question = format!("This removes {what} permanently; undo cannot restore it. Backups and exports keep it.");
    input::confirm(&question, &[&word, id], args.yes)?;
    let copies = cx.loom.snapshot()?.copies(target)?;
    let receipt = cx.actor().purge(target)?;
    cx.print_receipt(Op::Purge, &receipt, || format!("{} purged", count(receipt.affected, "node")))?;
    name_leftovers(&copies, cx)
}

/// Lists where copies of purged text may remain: nodes and files.
fn name_leftovers(copies: &[Node], cx: &mut CommandContext<'_>) -> Result<()> {
    let mut err = std::io::stderr().lock();
    let mut print_leftover = |line: String| writeln!(err, "{line}").map_err(|e| CliError::io("writing", e));
    for node in copies {
        print_leftover(format!(
            "left: [{}], a copy, edit or half of the same words: `loom purge node {}`",
            node.local, node.id
        ))?;
    }
    if cx.location.file().is_none() {
        let left = "left: archives of the server's log, backups, and replicas until they have caught up";
        print_leftover(format!("{left}; see \"Purging on PostgreSQL\" in the operators' guide"))?;
    }
    for file in sidecar_files(&cx.db).unwrap_or_default().into_iter().filter(|file| !is_database(file, cx)) {
        print_leftover(format!("left: {}, which may hold the same words", one_line(&file.display().to_string())))?;
    }
    Ok(())
}

/// True if a file is the database, its write-ahead log or its shared memory file.
fn is_database(file: &std::path::Path, cx: &CommandContext<'_>) -> bool {
    ["", "-wal", "-shm"].iter().any(|ending| file.file_name() == sidecar_path(&cx.db, ending).file_name())
}

/// A file with the number of occurrences of a text.
#[derive(Serialize)]
struct TextMatches {
    file: PathBuf,
    count: u64,
}

/// Searches the database's files for a text. Finding it is an error.
fn check(text: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let cannot = |e| CliError::io("reading the database's files", e);
    if text.is_empty() {
        return Err(CliError::usage("no text given"));
    }
    if cx.location.file().is_none() {
        let hint = Some("`grep -c` over the server's data folder and log archives finds text that is left".to_owned());
        return Err(CliError::Failed {
            message: "the files of a PostgreSQL server are not read from here".to_owned(),
            hint,
        });
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
        0 => cx.print_value(&files, || format!("not found in {}", count(files.len() as u64, "file"))),
        left => Err(CliError::failed(format!("{} of the database still contain it", count(left, "file")))),
    }
}
