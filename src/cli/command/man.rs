//! `loom man`: prints the manual page, or writes a page for each command.

use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::cli::{
    args::Cli,
    error::{CliError, Result},
    output::CliOutput,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write one page for each command into this folder, which is created
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the page, or writes all of them.
pub(crate) fn run(args: Args, out: &mut CliOutput) -> Result<()> {
    if let Some(folder) = args.out {
        let doing = format!("writing to {}", folder.display());
        let written = std::fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &folder));
        return written.map_err(|e| CliError::io(doing, e));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    std::io::Write::write_all(&mut out.raw()?, &page)?;
    Ok(())
}
