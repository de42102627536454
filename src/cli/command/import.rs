//! `loom import`: imports conversations from files. Known nodes are skipped, so an import can be repeated.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
};

use loomtree::archive::{self, ArchiveError, Format, Imported};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, count, paint},
    progress,
    sanitize::one_line,
    show::short,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The files to import; `-`: standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format; `auto` detects it for each file
    #[arg(long, default_value = "auto", value_parser = ["auto", "loomtree", "pi"])]
    format: String,
}

#[derive(Serialize)]
struct ImportJson<'a> {
    file: &'a Path,
    #[serde(flatten)]
    imported: &'a Imported,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let format = match args.format.as_str() {
        "loomtree" => Some(Format::Loomtree),
        "pi" => Some(Format::Pi),
        _ => None,
    };
    for file in &args.files {
        let imported = import(file, format, cx)?;
        print_summary(file, &imported, cx)?;
    }
    Ok(())
}

/// True if a file is a device. A pipe is not one.
fn is_device(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    !metadata.is_file()
}

fn import(path: &Path, format: Option<Format>, cx: &CommandContext<'_>) -> Result<Imported> {
    let name = path.display().to_string();
    let read_error = |e| CliError::io(format!("reading {name}"), e);
    let (mut input, size): (Box<dyn BufRead>, u64) = if path == Path::new("-") {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path).map_err(read_error)?;
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() && is_device(&metadata) {
            return Err(CliError::failed(format!("{name} is a device, not a file")));
        }
        let size = metadata.len();
        (Box::new(BufReader::with_capacity(1 << 16, file)), size)
    };
    let bar = progress::bar("importing", size, true);
    let imported = archive::import(&cx.actor(), format, &name, &mut *input, &mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    imported.map_err(|error| match error {
        ArchiveError::Io(error) => read_error(error),
        other => other.into(),
    })
}

fn print_summary(file: &Path, imported: &Imported, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Ok(cx.out.json(&ImportJson { file, imported })?);
    }
    let mut facts = vec![
        count(imported.trees.len() as u64, "tree"),
        count(imported.messages, "message"),
        count(imported.nodes, "new node"),
    ];
    if imported.skipped > 0 {
        facts.push(format!("{} known already", imported.skipped));
    }
    let name = one_line(&file.display().to_string());
    writeln!(cx.out, "{}  {}: {}", paint(BOLD, name), imported.format, facts.join(", "))?;
    for problem in &imported.problems {
        writeln!(cx.out, "  {}", one_line(problem))?;
    }
    for tree in imported.trees.iter().take(3) {
        writeln!(cx.out, "  loom trees --use {}", short(*tree))?;
    }
    Ok(())
}
