//! Formats of `loom export` for other programs.

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    path::Path,
};

use loomtree::interchange::export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice};

use super::export::to_file;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::count,
    sanitize::{one_line, sanitize},
};

/// Options that choose the conversations and nodes of an export.
#[derive(Debug, clap::Args)]
pub(crate) struct ChoiceArgs {
    /// Export the conversation that ends at this node
    #[arg(long, value_name = "ID", conflicts_with_all = ["bookmarked", "all_leaves", "path"])]
    leaf: Option<String>,
    /// Export the conversations that end at bookmarked nodes
    #[arg(long, conflicts_with_all = ["all_leaves", "path"])]
    bookmarked: bool,
    /// Export every conversation of the tree, with the beginnings that they share
    #[arg(long, conflicts_with = "path")]
    all_leaves: bool,
    /// Include what is left out otherwise
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = ["pruned", "excluded", "thoughts"])]
    include: Vec<String>,
}

impl ChoiceArgs {
    /// True if the conversations were chosen.
    pub(super) fn names_leaves(&self) -> bool {
        self.leaf.is_some() || self.bookmarked || self.all_leaves
    }

    /// True if something is included that is left out otherwise.
    pub(super) fn includes_more(&self) -> bool {
        !self.include.is_empty()
    }

    /// Options that include these kinds.
    pub(super) fn options(&self) -> ExportOptions {
        let includes = |kind: &str| self.include.iter().any(|included| included == kind);
        ExportOptions::default()
            .pruned(includes("pruned"))
            .excluded(includes("excluded"))
            .thoughts(includes("thoughts"))
    }
}

/// Format, source and destination of an export.
pub(super) struct ExportTarget<'a> {
    pub(super) format: &'a str,
    pub(super) which: Option<&'a str>,
    pub(super) path: Option<&'a str>,
    pub(super) output: Option<&'a Path>,
    pub(super) force: bool,
}

const OBSIDIAN: &str = "obsidian";

/// Names of the formats.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ExportFormat::NAMES.iter().map(|(name, _)| *name).chain([OBSIDIAN])
}

/// True if a format is one of this file.
pub(super) fn is_known(format: &str) -> bool {
    names().any(|name| name == format)
}

pub(super) fn run(target: &ExportTarget<'_>, choice: &ChoiceArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let format = ExportFormat::NAMES.iter().find(|(name, _)| *name == target.format).map(|(_, format)| *format);
    let is_part = choice.leaf.is_some() || choice.bookmarked || target.path.is_some();
    if is_part && format.is_none_or(ExportFormat::is_of_whole_tree) {
        let message = "holds the whole tree; --path, --leaf and --bookmarked are not for it";
        return Err(CliError::usage(format!("{} {message}", target.format)));
    }
    let tree = match target.which {
        Some(text) => cx.find_tree(text)?,
        None => cx.position()?.tree,
    };
    let leaves = match choice.leaf.as_deref().or(target.path.filter(|path| *path != ".")) {
        Some(id) if target.which.is_some() => LeafChoice::One(cx.loom.find_node(tree.id, id)?.id),
        Some(id) => LeafChoice::One(cx.node(&cx.position()?, id)?.id),
        None if choice.bookmarked => LeafChoice::Bookmarked,
        None if choice.all_leaves => LeafChoice::All,
        None => here(target, cx)?,
    };
    let options = choice.options().leaves(leaves);
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let Some(format) = format else {
        let (notes, report) = export::notes(&*snapshot, tree.id, options)?;
        write_notes(target, &notes)?;
        return finish(target, &report, cx);
    };
    let write = |out: &mut dyn io::Write| Ok(export::write(&*snapshot, tree.id, format, options, out)?);
    let report = match target.output {
        Some(file) => to_file(file, target.force, write)?,
        None if cx.out.terminal => {
            let mut text = Vec::new();
            let report = write(&mut text)?;
            cx.out.write_all(sanitize(&String::from_utf8_lossy(&text)).as_bytes())?;
            report
        }
        None => {
            let mut out = BufWriter::new(cx.out.raw()?);
            let report = write(&mut out)?;
            out.flush()?;
            report
        }
    };
    finish(target, &report, cx)
}

/// Returns the position in the exported tree; every leaf of another tree than the current one.
fn here(target: &ExportTarget<'_>, cx: &CommandContext<'_>) -> Result<LeafChoice> {
    if target.which.is_some() {
        return Ok(LeafChoice::All);
    }
    let position = cx.position()?;
    Ok(LeafChoice::One(cx.node_or_here(&position, None)?.id))
}

/// Writes notes into a folder, which must be new or empty.
fn write_notes(target: &ExportTarget<'_>, notes: &[(String, String)]) -> Result<()> {
    let Some(folder) = target.output else {
        return Err(CliError::usage("obsidian writes a folder: -o FOLDER"));
    };
    let write_error = |e| CliError::io(format!("writing {}", folder.display()), e);
    fs::create_dir_all(folder).map_err(write_error)?;
    let is_empty = fs::read_dir(folder).map_err(write_error)?.next().is_none();
    if !is_empty && !target.force {
        return Err(CliError::Failed {
            message: format!("{} is not empty; nothing was written", folder.display()),
            hint: Some("--force writes into it".to_owned()),
        });
    }
    for (name, text) in notes {
        to_file(&folder.join(name), true, |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    Ok(())
}

/// Reports on standard error what was left out.
pub(super) fn print_left_out(report: &ExportReport) -> Result<()> {
    let left_out: Vec<String> = report.left_out.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
    if !left_out.is_empty() {
        writeln!(io::stderr(), "left out: {}", left_out.join(", ")).map_err(|e| CliError::io("writing", e))?;
    }
    Ok(())
}

/// Reports what was written and what was left out.
fn finish(target: &ExportTarget<'_>, report: &ExportReport, cx: &mut CommandContext<'_>) -> Result<()> {
    print_left_out(report)?;
    let Some(file) = target.output else { return Ok(()) };
    let json = serde_json::json!({ "file": file, "written": report.written, "left_out": report.left_out });
    cx.print_value(&json, || format!("{}  {}", one_line(&file.display().to_string()), count(report.written, "item")))
}
