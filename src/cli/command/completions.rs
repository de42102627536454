//! `loom completions`: prints a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::{args::Cli, error::Result, output::CliOutput};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete commands in
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut CliOutput) -> Result<()> {
    // The generator panics on a broken pipe, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loom", &mut script);
    std::io::Write::write_all(&mut out.raw()?, &script)?;
    Ok(())
}
