//! `loom backup`: copies the whole database while other processes may write.

use std::path::PathBuf;

use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    progress,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to write; it must not exist
    file: PathBuf,
}

#[derive(Serialize)]
struct BackupJson {
    file: PathBuf,
    bytes: u64,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if args.file.exists() {
        return Err(CliError::failed(format!("{} already exists; nothing was written", args.file.display())));
    }
    let bar = progress::bar("copying", 0, false);
    let done = cx.loom.store().backup(&args.file, &mut |pages, all| {
        bar.set_length(all);
        bar.set_position(pages);
    });
    bar.finish_and_clear();
    done?;
    let bytes = std::fs::metadata(&args.file).map_err(|e| CliError::io("reading the copy", e))?.len();
    let written = BackupJson { file: args.file.clone(), bytes };
    cx.print_saved(&written, || format!("{}  {} KiB", written.file.display(), bytes.div_ceil(1024)))
}
