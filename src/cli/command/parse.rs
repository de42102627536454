//! `loom parse`: what arrow lines come to, as one JSON object a line. For checks and editors; it needs no database.

use std::io::{self, BufRead as _};

use loomtree::arrow::{self, ParseErrorCode};
use serde::Serialize;

use crate::cli::{
    error::{CliError, Result},
    out::Out,
};

/// What `parse` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say for each line why it was taken for that
    #[arg(long)]
    explain: bool,
}

/// A line that is not run, as it is printed.
#[derive(Serialize)]
struct Refused<'a> {
    error: ParseErrorCode,
    message: &'a str,
    understood: &'a str,
    probable: &'a [String],
}

/// Reads lines on standard input and prints what each asks for.
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<()> {
    let mut input = io::stdin().lock();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read =
            input.read_until(b'\n', &mut bytes).map_err(|error| CliError::io("reading standard input", error))?;
        if read == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&bytes);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if args.explain {
            out.json(&arrow::explain(line))?;
            continue;
        }
        match arrow::parse(line) {
            Ok(understood) => out.json(&understood.command)?,
            Err(refusal) => out.json(&Refused {
                error: refusal.code,
                message: &refusal.message,
                understood: &refusal.understood,
                probable: &refusal.suggestions,
            })?,
        }
    }
}
