//! `loom transfer`: copies a database file into a PostgreSQL database, or back.

use std::{path::PathBuf, sync::Arc, time::Duration};

use loomtree::{
    session::system::{SystemClock, os_ids},
    store::{OpenOptions, sidecar_path},
};

use crate::cli::{
    args::GlobalArgs,
    command_context::location_of,
    config,
    error::{CliError, Result},
    output::{CliOutput, count},
    progress,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The database to read: a file, or the URL of a PostgreSQL database
    #[arg(long, value_name = "DATABASE")]
    from: PathBuf,
    /// The URL of an empty PostgreSQL database, or for one the name of a new file
    #[arg(long, value_name = "DATABASE")]
    to: PathBuf,
}

pub(crate) fn run(args: &Args, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    use std::io::Write as _;
    let ids = os_ids().map_err(|e| CliError::io("reading random numbers", e))?;
    let wait = Duration::from_secs(config::load(globals)?.wait_seconds().into());
    let options = OpenOptions::new(Arc::new(SystemClock), ids).wait(wait);
    let line = progress::line("rows copied");
    let (from, to) = (location_of(&args.from), location_of(&args.to));
    let report = options.transfer(&from, &to, &mut |rows| line.set_position(rows));
    line.finish_and_clear();
    let report = report?;
    if !report.differences.is_empty() {
        let message = format!("the copy differs: {}", report.differences.join(", "));
        let part = to.file().map(|file| sidecar_path(file, ".part"));
        let hint = part.map(|part| format!("remove {} and copy again while nobody writes", part.display()));
        return Err(CliError::Failed { message, hint });
    }
    match out.json {
        true => Ok(out.json(&report)?),
        false => Ok(writeln!(out, "{} copied; both databases are equal", count(report.rows, "row"))?),
    }
}
