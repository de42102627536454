//! The command line: reads arguments, calls the library, prints.
//!
//! Each command is a file in [`command`] of one shape: what clap reads, and `run`. Everything printed goes through
//! [`out`], every text of others through [`sanitize`], every error through [`error`]. What only a rim may touch
//! (folders, the environment, the log) is in [`host`]. Left out here: anything that another face would
//! need too; that belongs in the library.

#[cfg(feature = "workspace")]
mod approval_prompt;
mod args;
mod command;
mod command_context;
mod config;
mod delegation;
mod env;
mod error;
mod help;
mod input;
mod models;
mod output;
mod progress;
mod sanitize;
mod show;
mod terminal_lock;
mod turn_args;
mod wrap;

use std::{io::Write as _, process::ExitCode};

use self::{error::CliError, output::CliOutput};

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let cli = match help::read() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell if this cannot be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let globals = cli.globals;
    #[cfg(feature = "local")]
    env::limit_local_threads();
    env::log(globals.verbose);
    env::hide_environment();
    let mut out = CliOutput::new(globals.color, globals.json);
    let done = command::run(cli.command, &globals, &mut out);
    // What cannot be written any more is the first error only if there was none before.
    match done.and(out.flush().map_err(CliError::from)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        // A script would repeat a change that is saved.
        Err(error) if out.committed && error.is_output() => {
            let _ =
                writeln!(std::io::stderr(), "loom: it is done and saved; only the answer is lost: {}", error.message());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = out.flush();
            error::print(&error, &globals)
        }
    }
}
