//! `loom export`: writes trees as JSONL, which `import` restores exactly, or a path as Markdown.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::builder::PossibleValuesParser;
use loomtree::{
    id::TreeId,
    interchange::{
        export::{ExportReport, markdown},
        jsonl,
    },
    store::{TreeFilter, sidecar_path},
};

use super::export_formats;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{CliOutput, count},
    sanitize::{escape_json, one_line, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tree [default: the current one]
    #[arg(conflicts_with_all = ["all", "path"])]
    which: Option<String>,
    /// Export every tree
    #[arg(long, conflicts_with = "path")]
    all: bool,
    /// Export the path to this node [default: your position]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = ".")]
    path: Option<String>,
    /// The format [default: jsonl for trees, markdown for a path]
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    #[command(flatten)]
    pub(super) choice: export_formats::ChoiceArgs,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// Exports trees or a path.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if let Some(format) = args.format.as_deref().filter(|format| export_formats::is_known(format)) {
        let target = export_formats::ExportTarget {
            format,
            which: args.which.as_deref(),
            path: args.path.as_deref(),
            output: args.output.as_deref(),
            force: args.force,
        };
        if args.all {
            return Err(CliError::usage(format!("{format} is for one tree; leave out --all")));
        }
        return export_formats::run(&target, &args.choice, cx);
    }
    let markdown = match (args.format.as_deref(), &args.path) {
        (Some("jsonl"), Some(_)) => {
            return Err(CliError::usage("a path is exported as markdown or prose, a tree as jsonl"));
        }
        (Some("markdown" | "prose"), None) if args.all || args.which.is_some() => {
            return Err(CliError::usage("markdown and prose are for a path: --path ID"));
        }
        (Some("markdown" | "prose"), _) | (None, Some(_)) => true,
        _ => false,
    };
    if args.choice.names_leaves() {
        return Err(CliError::usage("--leaf, --bookmarked and --all-leaves need another --format"));
    }
    if !markdown && args.choice.includes_more() {
        return Err(CliError::usage("--include needs another --format"));
    }
    if markdown { path(args, cx) } else { trees(args, cx) }
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(["jsonl", "markdown", "prose"].into_iter().chain(export_formats::names()))
}

fn path(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let node = cx.node_or_here(&current, args.path.as_deref())?;
    let mut nodes = cx.loom.snapshot()?.path_back(node.id, current.versions(), 0)?;
    let mut report = ExportReport::default();
    report.retain(&mut nodes, args.choice.options());
    let text = match args.format.as_deref() {
        Some("prose") => markdown::prose(&nodes, current.tree.mode),
        _ => markdown::path(&nodes, cx.agents()),
    };
    export_formats::print_left_out(&report)?;
    match &args.output {
        Some(file) => {
            to_file(file, args.force, |out| Ok(out.write_all(text.as_bytes())?))?;
            cx.print_value(&serde_json::json!({ "file": file, "nodes": nodes.len() }), || {
                format!("{}  {}", one_line(&file.display().to_string()), count(nodes.len() as u64, "node"))
            })
        }
        None if cx.out.terminal => Ok(cx.out.write_all(sanitize(&text).as_bytes())?),
        None => Ok(cx.out.raw()?.write_all(text.as_bytes())?),
    }
}

fn trees(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let trees: Vec<TreeId> = if args.all {
        let all = cx.loom.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
        all.iter().map(|tree| tree.id).collect()
    } else {
        vec![match &args.which {
            Some(text) => cx.find_tree(text)?.id,
            None => cx.position()?.tree.id,
        }]
    };
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let write = |out: &mut dyn Write| Ok(jsonl::export(&*snapshot, &trees, out)?);
    match &args.output {
        Some(file) => {
            let exported = to_file(file, args.force, write)?;
            cx.print_value(&exported, || {
                let (trees, nodes) = (count(exported.trees, "tree"), count(exported.nodes, "node"));
                format!("{}  {trees}, {nodes}", one_line(&file.display().to_string()))
            })
        }
        None if cx.out.terminal => {
            write(&mut ExportJson { out: cx.out, line: Vec::new() })?;
            Ok(())
        }
        None => {
            let mut out = BufWriter::new(cx.out.raw()?);
            write(&mut out)?;
            Ok(out.flush()?)
        }
    }
}

/// Writes a file completely or not at all: a partial file is removed.
pub(super) fn to_file<T>(path: &Path, force: bool, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    if path.exists() && !force {
        return Err(CliError::Failed {
            message: format!("{} already exists; nothing was written", path.display()),
            hint: Some("--force overwrites it".to_owned()),
        });
    }
    let part = sidecar_path(path, ".part");
    let write_error = |e| CliError::io(format!("writing {}", path.display()), e);
    let unnamed = unnamed_file(path);
    let is_unnamed = unnamed.is_some();
    let file = unnamed.map_or_else(|| File::create(&part), Ok);
    let mut file = BufWriter::new(file.map_err(write_error)?);
    let written = write(&mut file).and_then(|written| {
        file.flush().and_then(|()| file.get_ref().sync_all()).map_err(write_error)?;
        if is_unnamed {
            name_file(file.get_ref(), &part).map_err(write_error)?;
        }
        std::fs::rename(&part, path).map_err(write_error)?;
        Ok(written)
    });
    if written.is_err() {
        // The first error is reported, not one of this cleanup.
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Creates an unnamed file in the folder of `path`, which disappears if the process is killed. Returns `None` where the
/// system has none.
#[cfg(target_os = "linux")]
fn unnamed_file(path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

/// Links an unnamed file to `name`, and replaces a file that a killed process left there.
#[cfg(target_os = "linux")]
fn name_file(file: &File, name: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD};
    if name.exists() {
        std::fs::remove_file(name)?;
    }
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, unnamed, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn name_file(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A writer that escapes JSON lines for a terminal.
struct ExportJson<'a> {
    out: &'a mut CliOutput,
    line: Vec<u8>,
}

impl Write for ExportJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            self.out.write_all(escape_json(&String::from_utf8_lossy(&line)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
