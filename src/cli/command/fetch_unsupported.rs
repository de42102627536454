//! `loom models fetch` in a program that runs no models itself: says how to build one that does.

use crate::cli::{
    error::{CliError, Result},
    output::CliOutput,
};

/// What `models fetch` reads, whatever it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Says what is missing.
pub(crate) fn run(_: &Args, _: &mut CliOutput) -> Result<()> {
    Err(CliError::Failed {
        message: "this program was built without models of its own".to_owned(),
        hint: Some("build it with them: cargo install --path . --features local".to_owned()),
    })
}
