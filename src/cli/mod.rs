//! The command line: reads arguments, calls the library, prints.
//!
//! Each command is a file in [`command`] of one shape: what clap reads, and `run`. Everything printed goes through
//! [`out`], every text of others through [`sanitize`], every error through [`error`]. What only a rim may touch
//! (folders, the environment, the log) is in [`host`]. Left out here: anything that another face would
//! need too; that belongs in the library.

mod acting;
mod args;
mod attach;
mod command;
mod config;
#[cfg(feature = "workspace")]
mod consent;
mod crew;
mod desk;
mod error;
mod floor;
mod host;
mod input;
mod out;
mod progress;
mod sanitize;
mod show;

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;

use self::{args::Cli, error::CliError, out::Out};

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell if this cannot be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let globals = cli.globals;
    #[cfg(feature = "local")]
    host::calculate_alone();
    host::log(globals.verbose);
    host::hide_environment();
    let mut out = Out::new(globals.color, globals.json);
    let done = command::run(cli.command, &globals, &mut out);
    // What cannot be written any more is the first error only if there was none before.
    match done.and(out.flush().map_err(CliError::from)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = out.flush();
            error::tell(&error, &globals)
        }
    }
}
