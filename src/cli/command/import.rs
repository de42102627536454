//! `loom import`: imports conversations from files and folders. Known nodes are skipped, so an import can be repeated.

use std::{
    collections::BTreeSet,
    fs::Metadata,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::SystemTime,
};

use clap::builder::PossibleValuesParser;
use loomtree::{
    id::TreeId,
    interchange::{self, Format, ImportOptions, Imported, InterchangeError},
    ops::OpsError,
    store::{Mutation, StoreError},
    types::Op,
};
use serde::Serialize;

use super::import_sources;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, DIM, count, paint},
    progress,
    sanitize::one_line,
    show::short_tree_id,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The files to import, or folders with them; `-`: standard input [default: the usual places of other programs]
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// The format; `auto` detects it for each file
    #[arg(long, visible_alias = "format", value_name = "FORMAT", default_value = "auto", value_parser = formats())]
    from: String,
    /// Read and count only
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Import the conversations of the usual places without asking
    #[arg(long, short, conflicts_with_all = ["paths", "dry_run"])]
    pub(super) yes: bool,
    /// Import again whenever a file changes, until interrupted
    #[arg(long, conflicts_with_all = ["dry_run", "yes"])]
    watch: bool,
    /// Take the import of these files back: archive the trees that their conversations are in
    #[arg(long, requires = "paths", conflicts_with_all = ["dry_run", "yes", "watch"])]
    undo: bool,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once("auto").chain(Format::names()))
}

/// Extensions of files that are imported from a folder.
const EXTENSIONS: &[&str] = &["jsonl", "json", "zip", "db", "vscdb", "zst"];
/// Maximum depth of folders below the given one.
const MAX_FOLDER_DEPTH: usize = 12;

#[derive(Serialize)]
struct ImportJson<'a> {
    file: &'a Path,
    #[serde(flatten)]
    imported: &'a Imported,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let options = ImportOptions::default().dry_run(args.dry_run || args.undo).format(Format::of_name(&args.from));
    if args.watch {
        return import_sources::watch(args, options, cx);
    }
    if args.paths.is_empty() {
        return import_sources::offer(args, cx);
    }
    let mut total = (0_u64, Imported::default());
    let (mut damaged, mut failed) = (0, None);
    let mut paths: Vec<&PathBuf> = args.paths.iter().collect();
    paths.sort_by_key(|path| is_of_subagent(path));
    for path in paths {
        let (files, is_folder) = match files_of(path) {
            Ok(files) => (files, path.is_dir()),
            Err(error) => {
                note_failure(error, &mut failed)?;
                continue;
            }
        };
        for file in files {
            let imported = match import(&file, options, cx) {
                Ok(imported) => imported,
                // A folder may hold files of other programs.
                Err(error @ CliError::Failed { .. }) if is_folder => {
                    print_failure(&error)?;
                    continue;
                }
                Err(error) => {
                    note_failure(error, &mut failed)?;
                    continue;
                }
            };
            cx.out.committed |= imported.nodes > 0 && !args.dry_run && !args.undo;
            if !args.undo {
                print_summary(&file, &imported, cx)?;
            }
            // The program's own format is read whole, so what cannot be imported is missing. Of other formats a file of which
            // nothing is readable is damaged.
            let is_empty = imported.messages + imported.skipped == 0;
            let is_lossless = imported.format == Format::Loomtree.as_str();
            damaged += u64::from((is_lossless || is_empty) && !imported.problems.is_empty());
            total.0 += 1;
            total.1.add(&imported);
        }
    }
    if args.undo && failed.is_none() {
        return undo(total.1.trees, cx);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if total.0 == 0 {
        return Err(CliError::Failed {
            message: "these folders have no file that can be imported".to_owned(),
            hint: Some("a file of any name is imported by its own path; Markdown only so".to_owned()),
        });
    }
    if total.0 > 1 && !cx.out.json {
        writeln!(cx.out, "{}  {}", paint(BOLD, count(total.0, "file")), facts(&total.1))?;
    }
    match damaged {
        0 => Ok(()),
        _ => Err(CliError::failed(format!("{} could not be imported as a whole", count(damaged, "file")))),
    }
}

/// Keeps the first error of a file, and prints the others: the files after it are imported all the same. An error of the
/// database ends the import.
fn note_failure(error: CliError, first: &mut Option<CliError>) -> Result<()> {
    let is_of_file = matches!(
        error,
        CliError::Failed { .. }
            | CliError::Io { .. }
            | CliError::Ops(OpsError::Store(StoreError::CannotOpen { .. } | StoreError::NotADatabase { .. }))
    );
    if !is_of_file {
        return Err(error);
    }
    if first.is_none() {
        *first = Some(error);
        return Ok(());
    }
    print_failure(&error)
}

fn print_failure(error: &CliError) -> Result<()> {
    writeln!(io::stderr(), "{}", one_line(&error.message())).map_err(|e| CliError::io("writing", e))
}

/// Archives the trees of an import in one change.
fn undo(trees: Vec<TreeId>, cx: &mut CommandContext<'_>) -> Result<()> {
    let mut archived = BTreeSet::new();
    for id in trees {
        // A dry run of a file that was never imported names trees that do not exist.
        if cx.loom.snapshot()?.tree(id)?.is_some_and(|tree| tree.archived_at.is_none()) {
            archived.insert(id);
        }
    }
    if archived.is_empty() {
        return Err(CliError::failed("no tree of these files is in the database, or all are archived"));
    }
    let first = archived.first().copied().map(short_tree_id).unwrap_or_default();
    let mutations = archived.iter().map(|tree| Mutation::SetArchived { tree: *tree, archived: true }).collect();
    cx.actor().commit(Op::Archive, mutations)?;
    cx.print_saved(&serde_json::json!({ "archived": archived }), || {
        format!("{} archived; `loom --tree {first} undo` restores all", count(archived.len() as u64, "tree"))
    })
}

/// Returns a file, or what is imported of a folder.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_dir() && !interchange::is_source_folder(path) { files_below(path) } else { Ok(vec![path.to_owned()]) }
}

/// True for the file of a subagent, as Claude Code names it.
fn is_of_subagent(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
}

/// Lists the files below a folder, and the folders that are imported as a whole. A subagent, whose file lies deeper or is
/// named as one, follows its session. A rollout of Codex has its time of start in its name; of other files the least recently
/// changed is first, so that a session that continues another one follows it.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    type Place = (usize, bool, Option<String>, SystemTime);
    fn walk(folder: &Path, depth: usize, files: &mut Vec<(Place, PathBuf)>) -> io::Result<()> {
        // What vanishes meanwhile or may not be read leaves the other files.
        let entries = match folder.read_dir() {
            Err(error) if depth > 0 && is_unreadable(&error) => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            let is_known = path.extension().is_some_and(|own| EXTENSIONS.iter().any(|known| own == *known));
            if kind.is_file() && is_known || kind.is_dir() && interchange::is_source_folder(&path) {
                let changed = match entry.metadata() {
                    Err(error) if is_unreadable(&error) => continue,
                    metadata => metadata?.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                };
                let rollout = entry.file_name().into_string().ok().filter(|name| name.starts_with("rollout-"));
                files.push(((depth, is_of_subagent(&path), rollout, changed), path));
            } else if kind.is_dir() && depth < MAX_FOLDER_DEPTH {
                walk(&path, depth + 1, files)?;
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    walk(folder, 0, &mut files).map_err(|e| CliError::io(format!("reading {}", folder.display()), e))?;
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

fn is_unreadable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// True if a file is a device. A pipe is not one.
fn is_device(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    !metadata.is_file()
}

pub(super) fn import(path: &Path, options: ImportOptions, cx: &CommandContext<'_>) -> Result<Imported> {
    let name = path.display().to_string();
    let read_error = |e| CliError::io(format!("reading {name}"), e);
    let actor = cx.actor();
    let metadata = if path == Path::new("-") { None } else { Some(path.metadata().map_err(read_error)?) };
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_file() && is_device(metadata)) {
        return Err(CliError::failed(format!("{name} is a device, not a file")));
    }
    // What a compressed file holds is longer than the file.
    let is_plain = path.extension().is_none_or(|extension| extension != "zst" && extension != "zip");
    let size = metadata.as_ref().filter(|metadata| metadata.is_file() && is_plain).map_or(0, Metadata::len);
    let bar = progress::bar("importing", size, true);
    let mut show = |bytes| bar.set_position(bytes);
    let imported = match metadata {
        None => interchange::import_with(&actor, options, &name, &mut io::stdin().lock(), &mut show),
        Some(_) => interchange::import_path(&actor, options, path, &mut show, &AtomicBool::new(false)),
    };
    bar.finish_and_clear();
    imported.map_err(|error| match error {
        InterchangeError::Io(error) => read_error(error),
        other => other.into(),
    })
}

pub(super) fn print_summary(file: &Path, imported: &Imported, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Ok(cx.out.json(&ImportJson { file, imported })?);
    }
    let name = one_line(&file.display().to_string());
    writeln!(cx.out, "{}  {}: {}", paint(BOLD, name), imported.format, facts(imported))?;
    for problem in &imported.problems {
        writeln!(cx.out, "  {}", one_line(problem))?;
    }
    if imported.more_problems > 0 {
        writeln!(cx.out, "  and {} more", count(imported.more_problems, "problem"))?;
    }
    let left_out: Vec<String> =
        imported.left_out.iter().map(|(kind, number)| format!("{number} {}", one_line(kind))).collect();
    if !left_out.is_empty() {
        writeln!(cx.out, "  {}", paint(DIM, format!("not imported: {}", left_out.join(", "))))?;
    }
    for tree in imported.trees.iter().take(3).filter(|_| !imported.is_dry_run) {
        writeln!(cx.out, "  loom trees --use {}", short_tree_id(*tree))?;
        if cx.loom.tree(*tree)?.archived_at.is_some() {
            writeln!(
                cx.out,
                "  this tree is archived; `loom archive --undo -t {}` shows it in lists",
                short_tree_id(*tree)
            )?;
        }
    }
    Ok(())
}

/// Returns the counts of an import in words.
fn facts(imported: &Imported) -> String {
    let mut facts = vec![count(imported.trees.len() as u64, "tree"), count(imported.messages, "message")];
    if imported.branches > 0 {
        facts.push(count(imported.branches, "new branch"));
    }
    if imported.versions > 0 {
        facts.push(count(imported.versions, "new version"));
    }
    facts.push(count(imported.nodes, "new node"));
    if imported.skipped > 0 {
        facts.push(format!("{} known already", imported.skipped));
    }
    if imported.is_dry_run {
        facts.push("nothing was written".to_owned());
    }
    facts.join(", ")
}
