//! `loom parse`: what arrow lines come to, as one JSON object a line. For checks and editors; it needs no database.

use std::io::{self, BufRead as _};

use loomtree::arrow::{self, ParseErrorCode};
use serde::Serialize;

use crate::cli::{
    error::{CliError, Result},
    output::CliOutput,
};

/// What `parse` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Explain for each line how it was understood; fenced code is passed over, as `loom do` does
    #[arg(long)]
    explain: bool,
}

/// A line that is not run, as it is printed.
#[derive(Serialize)]
struct RefusedLine<'a> {
    error: ParseErrorCode,
    message: &'a str,
    understood: &'a str,
    probable: &'a [String],
}

/// Reads lines on standard input and prints what each asks for.
pub(crate) fn run(args: &Args, out: &mut CliOutput) -> Result<()> {
    let mut input = io::stdin().lock();
    let (mut bytes, mut fenced) = (Vec::new(), false);
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
            let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
            fenced ^= fence;
            if fence || fenced {
                continue;
            }
            out.json(&arrow::explain(line))?;
            continue;
        }
        match arrow::parse(line) {
            Ok(understood) => out.json(&understood.command)?,
            Err(refusal) => out.json(&RefusedLine {
                error: refusal.code,
                message: &refusal.message,
                understood: &refusal.understood,
                probable: &refusal.suggestions,
            })?,
        }
    }
}
