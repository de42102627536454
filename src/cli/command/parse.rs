//! `loom parse`: prints the parsed form of arrow lines, one JSON object a line. For tests and editors; it needs no
//! database.

use std::io::{self, BufRead as _};

use loomtree::arrow::{self, ParseErrorCode};
use serde::Serialize;

use crate::cli::{
    error::{CliError, Result},
    output::CliOutput,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print how each line was interpreted; fenced code is skipped, as in `loom do`
    #[arg(long)]
    explain: bool,
}

/// The JSON form of a refused line.
#[derive(Serialize)]
struct RefusedLine<'a> {
    error: ParseErrorCode,
    message: &'a str,
    understood: &'a str,
    probable: &'a [String],
}

/// Parses lines of standard input and prints the results.
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
