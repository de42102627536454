//! `loom` without a command: opens the screen in a terminal. Elsewhere it prints the tree of this folder, or an
//! introduction.

use std::io::{IsTerminal as _, Write as _};

use super::tree;
#[cfg(feature = "tui")]
use super::tui;
use crate::cli::{
    args::GlobalArgs,
    command_context::{self, CommandContext},
    env,
    error::{CliError, Result},
    output::{BOLD, CliOutput, DIM, paint},
};

const FIRST_STEPS: [(&str, &str); 4] = [
    ("loom demo", "shows the commands on a sample tree"),
    ("loom new \"Once upon a time\"", "starts a tree with its first words"),
    ("loom continue", "generates three continuations with a model"),
    ("loom tree", "draws the tree; `loom switch ID` moves to a node"),
];

/// Opens the screen. Without a terminal it prints the tree if there is one, else the introduction, and creates no
/// database.
pub(crate) fn run(globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let dumb = env::env("TERM").is_none_or(|terminal| terminal == "dumb");
    let drawable = out.terminal && std::io::stdin().is_terminal() && !dumb && !out.json;
    #[cfg(feature = "tui")]
    if drawable {
        return tui::run(globals, out);
    }
    #[cfg(not(feature = "tui"))]
    if drawable {
        writeln!(out, "{}\n", paint(DIM, "This build has no screen; the feature `tui` adds it."))?;
    }
    if command_context::location(globals)?.exists() {
        let mut cx = CommandContext::open(globals, out, false)?;
        if cx.try_position()?.is_some() {
            tree::run(&tree::Args::default(), &mut cx)?;
            return print_hint(out);
        }
    }
    writeln!(out, "{} stores and runs branching LLM conversations: every branch is kept.\n", paint(BOLD, "loom"))?;
    for (command, what) in FIRST_STEPS {
        writeln!(out, "  {command:<30}  {}", paint(DIM, what))?;
    }
    writeln!(out, "\n`loom --help` lists all commands.")?;
    print_hint(out)
}

/// Prints a hint for use without a terminal to standard error, so that it does not mix with data.
fn print_hint(out: &mut CliOutput) -> Result<()> {
    out.flush()?;
    if !out.json && cfg!(feature = "tui") {
        let said = "hint: in a terminal, `loom` opens the tree on the screen; here use `loom tree`, `loom view` and `loom chat`";
        writeln!(std::io::stderr(), "{said}").map_err(|error| CliError::io("writing", error))?;
    }
    Ok(())
}
