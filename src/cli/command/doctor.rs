//! `loom doctor`: checks the program, its files, its models and the terminal, with advice for each problem.
//!
//! It changes nothing: the database is inspected without being opened as a store. API keys appear only by the names of
//! their variables.

mod database;
mod finding;
mod models;
mod setup;
mod terminal;
#[cfg(unix)]
mod write_lock;

use std::io::Write as _;

use serde::Serialize;

use self::finding::{Finding, Severity};
use crate::cli::{
    args::GlobalArgs,
    config,
    error::{CliError, Result},
    output::{BOLD, CliOutput, DIM, MARK, count, paint},
    sanitize::one_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also recompute every hash and count of the database, as `loom verify` does
    #[arg(long)]
    full: bool,
}

/// The features of this build.
const FEATURES: [(&str, bool); 5] = [
    ("cli", cfg!(feature = "cli")),
    ("tui", cfg!(feature = "tui")),
    ("workspace", cfg!(feature = "workspace")),
    ("local", cfg!(feature = "local")),
    ("tiktoken", cfg!(feature = "tiktoken")),
];

/// The result of all checks, as printed with `--json`.
#[derive(Serialize)]
struct Checkup {
    version: &'static str,
    features: Vec<&'static str>,
    os: &'static str,
    arch: &'static str,
    problems: usize,
    notes: usize,
    findings: Vec<Finding>,
}

/// Runs all checks and prints the findings. A problem exits with code 1.
pub(crate) fn run(args: &Args, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let checkup = check(args, globals, out)?;
    if out.json {
        out.json(&checkup)?;
    } else {
        print(&checkup, out)?;
    }
    match checkup.problems {
        0 => Ok(()),
        problems => Err(CliError::Failed {
            message: format!("{} found", count(problems as u64, "problem")),
            hint: Some("each problem above has advice".to_owned()),
        }),
    }
}

fn check(args: &Args, globals: &GlobalArgs, out: &CliOutput) -> Result<Checkup> {
    let read = config::load(globals);
    let mut findings = terminal::check(out);
    findings.extend(setup::configuration(globals, read.as_ref().err()));
    let config = read.unwrap_or_default();
    findings.extend(database::check(globals, &config, args.full));
    findings.extend(models::check(&config)?);
    findings.extend(setup::services(&config));
    findings.extend(setup::workspace(globals, &config));
    let number = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    Ok(Checkup {
        version: env!("CARGO_PKG_VERSION"),
        features: FEATURES.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect(),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        problems: number(Severity::Problem),
        notes: number(Severity::Note),
        findings,
    })
}

fn print(checkup: &Checkup, out: &mut CliOutput) -> Result<()> {
    let Checkup { version, os, arch, .. } = checkup;
    writeln!(out, "loom {version} on {os} {arch}, built with {}", checkup.features.join(", "))?;
    let mut area = "";
    for finding in &checkup.findings {
        if finding.area != area {
            area = finding.area;
            writeln!(out, "\n{}", paint(BOLD, area))?;
        }
        let style = if finding.severity == Severity::Ok { DIM } else { MARK };
        let severity = format!("{:<7}", finding.severity.name());
        writeln!(out, "  {}  {}", paint(style, severity), one_line(&finding.message))?;
        if let Some(advice) = &finding.advice {
            writeln!(out, "           {}", paint(BOLD, one_line(advice)))?;
        }
    }
    let (problems, notes) = (count(checkup.problems as u64, "problem"), count(checkup.notes as u64, "note"));
    writeln!(out, "\n{problems}, {notes}")?;
    Ok(())
}
