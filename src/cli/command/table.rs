//! `loom table`: writes a table of the branches, one row a leaf, for data frames and spreadsheets.

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
};

use clap::builder::PossibleValuesParser;
use loomtree::experiment::{TableFormat, write_table};

use super::export::to_file;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::count,
    sanitize::{one_line, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node whose branches are listed [default: the root]
    id: Option<String>,
    /// The format [default: the ending of the file's name; else csv, or jsonl with --json]
    #[arg(long, value_parser = PossibleValuesParser::new(TableFormat::NAMES.iter().map(|(name, _)| *name)))]
    format: Option<String>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

impl Args {
    fn format(&self, is_json: bool) -> Result<TableFormat> {
        let ending = self.output.as_deref().and_then(|file| file.extension()?.to_str());
        let known = |name: &str| {
            let is_name = |(known, _): &&(&str, TableFormat)| known.eq_ignore_ascii_case(name);
            TableFormat::NAMES.iter().find(is_name).map(|(_, format)| *format)
        };
        match self.format.as_deref().or(ending) {
            Some(name) => known(name).ok_or_else(|| {
                CliError::usage(format!("no table has the ending {name:?}; name csv, jsonl or parquet with --format"))
            }),
            None if is_json && self.output.is_none() => Ok(TableFormat::Jsonl),
            None => Ok(TableFormat::Csv),
        }
    }
}

/// Writes the table.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let below = args.id.as_deref().map(|id| cx.node(&current, id)).transpose()?.map(|node| node.id);
    let format = args.format(cx.out.json)?;
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let write = |out: &mut dyn Write| Ok(write_table(&*snapshot, current.tree.id, below, format, out)?);
    match &args.output {
        Some(file) => {
            let report = to_file(file, args.force, write)?;
            cx.print_value(&serde_json::json!({ "file": file, "report": report }), || {
                let (rows, columns) = (count(report.rows, "row"), count(report.columns.len() as u64, "column"));
                format!("{}  {rows}, {columns}", one_line(&file.display().to_string()))
            })
        }
        None if cx.out.terminal && format == TableFormat::Parquet => {
            Err(CliError::usage("parquet is binary; name a file with --output"))
        }
        None if cx.out.terminal => {
            let mut text = Vec::new();
            write(&mut text)?;
            Ok(cx.out.write_all(sanitize(&String::from_utf8_lossy(&text)).as_bytes())?)
        }
        None => {
            let mut out = BufWriter::new(cx.out.raw()?);
            write(&mut out)?;
            Ok(out.flush()?)
        }
    }
}
