//! The command-line front end: parses arguments, calls the library, prints results.
//!
//! Each command is a file in `command` with the same two parts: `Args`, parsed by clap, and `run`. All output goes
//! through `output`, all stored text through `sanitize`, all errors through `error`. Folders, environment
//! variables and logging are in `env`. Logic that another front end would need belongs in the library.

#[cfg(feature = "workspace")]
mod approval_prompt;
mod args;
mod cancel_on_ctrl_c;
mod changes_by_others;
mod command;
mod command_context;
pub(crate) mod config;
mod delegation;
mod embed_query;
mod embedding_models;
mod env;
mod error;
mod help;
mod input;
mod model_choice;
mod models;
mod output;
mod paths;
mod process_setup;
mod program_host;
mod progress;
pub(crate) mod sanitize;
mod show;
#[cfg(feature = "serve")]
mod stop_signal;
mod terminal_lock;
mod turn_args;
pub(crate) mod wrap;

use std::{io::Write as _, process::ExitCode};

use self::{error::CliError, output::CliOutput};

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match help::read() {
        Ok(cli) => cli,
        Err(error) => {
            let words = std::env::args_os().skip(1).take_while(|word| word != "--");
            if error.use_stderr() && words.into_iter().any(|word| word == "--json") {
                return error::print_usage(&error.to_string());
            }
            // If standard error is closed, there is nowhere left to report to.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let globals = cli.globals;
    #[cfg(feature = "local")]
    process_setup::limit_local_threads();
    process_setup::log(globals.verbose, cli.command.as_ref().is_some_and(command::CliCommand::serves));
    process_setup::handle_file_size_limit();
    process_setup::hide_environment();
    #[cfg(feature = "mcp")]
    if let Some(command::CliCommand::Mcp(args)) = &cli.command {
        // Other threads write the protocol, so this one may not lock standard output.
        return command::serve_mcp(args, &globals)
            .map_or_else(|error| error::print(&error, &globals), |()| ExitCode::SUCCESS);
    }
    let mut out = CliOutput::new(globals.color, globals.json);
    let done = command::run(cli.command, &globals, &mut out);
    // A failed flush is reported only if the command itself succeeded.
    let done = done.and(out.flush().map_err(CliError::from));
    let unsaved = input::end_edit(done.is_ok() || out.committed);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        // The change is committed. A failing exit code would make a script repeat it.
        Err(error) if out.committed && error.is_output() => {
            let _ = writeln!(
                std::io::stderr(),
                "loom: the change was saved, but its output could not be written: {}",
                error.message()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = out.flush();
            let code = error::print(&error, &globals);
            if let Some(file) = unsaved {
                let line = match globals.json {
                    true => serde_json::json!({ "text_file": file }).to_string(),
                    false => format!("your text is in {}", file.display()),
                };
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            code
        }
    }
}
