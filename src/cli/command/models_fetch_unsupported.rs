//! `loom models fetch` in a build without local models: explains how to build one with them.

use crate::cli::{
    error::{CliError, Result},
    output::CliOutput,
};

/// Accepts and ignores all arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Returns the explanation as an error.
pub(crate) fn run(_: &Args, _: &mut CliOutput) -> Result<()> {
    Err(CliError::Failed {
        message: "this program was built without local models".to_owned(),
        hint: Some("build it with them: cargo install --path . --features local".to_owned()),
    })
}
