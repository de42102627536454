//! `loom import`: conversations from files. What is there already is skipped, so an import can be repeated.

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

/// What `import` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The files; `-`: standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What they are; `auto` looks at each
    #[arg(long, default_value = "auto", value_parser = ["auto", "loomtree", "pi"])]
    format: String,
}

#[derive(Serialize)]
struct ImportJson<'a> {
    file: &'a Path,
    #[serde(flatten)]
    imported: &'a Imported,
}

/// Imports each file.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let format = match args.format.as_str() {
        "loomtree" => Some(Format::Loomtree),
        "pi" => Some(Format::Pi),
        _ => None,
    };
    for file in &args.files {
        let imported = import(file, format, desk)?;
        tell(file, &imported, desk)?;
    }
    Ok(())
}

/// Whether a file is a device; a pipe is none.
fn is_device(found: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        found.file_type().is_char_device() || found.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    !found.is_file()
}

fn import(path: &Path, format: Option<Format>, desk: &CommandContext<'_>) -> Result<Imported> {
    let name = path.display().to_string();
    let cannot = |e| CliError::io(format!("reading {name}"), e);
    let (mut input, size): (Box<dyn BufRead>, u64) = if path == Path::new("-") {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path).map_err(cannot)?;
        let found = file.metadata().map_err(cannot)?;
        if !found.is_file() && is_device(&found) {
            return Err(CliError::failed(format!("{name} is a device, which has no end")));
        }
        let size = found.len();
        (Box::new(BufReader::with_capacity(1 << 16, file)), size)
    };
    let bar = progress::bar("importing", size, true);
    let imported = archive::import(&desk.actor(), format, &name, &mut *input, &mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    imported.map_err(|error| match error {
        ArchiveError::Io(error) => cannot(error),
        other => other.into(),
    })
}

fn tell(file: &Path, imported: &Imported, desk: &mut CommandContext<'_>) -> Result<()> {
    if desk.out.json {
        return Ok(desk.out.json(&ImportJson { file, imported })?);
    }
    let mut facts = vec![
        count(imported.trees.len() as u64, "tree"),
        count(imported.messages, "message"),
        count(imported.nodes, "new node"),
    ];
    if imported.skipped > 0 {
        facts.push(format!("{} there already", imported.skipped));
    }
    let name = one_line(&file.display().to_string());
    writeln!(desk.out, "{}  {}: {}", paint(BOLD, name), imported.format, facts.join(", "))?;
    for problem in &imported.problems {
        writeln!(desk.out, "  {}", one_line(problem))?;
    }
    for tree in imported.trees.iter().take(3) {
        writeln!(desk.out, "  loom trees --use {}", short(*tree))?;
    }
    Ok(())
}
