//! `loom completions`: a script for the shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::{args::Cli, error::Result, output::CliOutput};

/// What `completions` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args, out: &mut CliOutput) -> Result<()> {
    // Written at once: the generator does not take a broken pipe well.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loom", &mut script);
    std::io::Write::write_all(&mut out.raw()?, &script)?;
    Ok(())
}
