//! Waits for the module it calls.

use crate::cli::{
    desk::Desk,
    error::{CliError, Result},
};

/// Read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs.
pub(crate) fn run(_: &Args, _: &mut Desk<'_>) -> Result<()> {
    Err(CliError::failed("not built in"))
}
