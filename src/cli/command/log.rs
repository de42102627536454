//! `loom log`: prints the journal, the newest entry first.

use std::io::Write as _;

use loomtree::{
    exec::escape::quoted,
    ops::{describe_entry, tree_history},
    store::JournalFilter,
    types::JournalEntry,
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{DIM, ID, paint},
    sanitize::{cut, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Maximum number of entries; 0: all
    #[arg(long, short = 'n', default_value_t = 30, value_name = "COUNT")]
    limit: u32,
    /// Show only entries before this number
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "NUMBER")]
    before: u64,
    /// Show entries of all trees, documents and agents
    #[arg(long, conflicts_with = "tree")]
    all: bool,
}

/// Entries read in one query.
const JOURNAL_PAGE_ENTRIES: u32 = 500;

#[derive(Serialize)]
struct LogEntryJson<'a> {
    #[serde(flatten)]
    entry: &'a JournalEntry,
    agent: &'a str,
    #[serde(rename = "told")]
    description: String,
}

/// Prints the journal of the tree, or of the whole database.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let tree = if args.all { None } else { cx.try_position()?.map(|current| current.tree.id) };
    let mut before = args.before;
    let mut left = if args.limit == 0 { u32::MAX } else { args.limit };
    let now = cx.now();
    while left > 0 {
        let limit = left.min(JOURNAL_PAGE_ENTRIES);
        let snapshot = cx.loom.snapshot()?;
        let entries = match tree {
            Some(tree) => tree_history(&*snapshot, tree, before, limit)?,
            None => snapshot.journal(JournalFilter { before, limit, ..JournalFilter::default() })?,
        };
        for entry in &entries {
            let name = cx.name(entry.agent).to_owned();
            let description = describe_entry(&*snapshot, entry)?;
            if cx.out.json {
                let description = description.words(&|id| id.to_string(), &quoted);
                cx.out.json(&LogEntryJson { entry, agent: &name, description })?;
                continue;
            }
            let text = description.words(&|id| paint(ID, id), &|name| quoted(&sanitize(name)));
            // Further changes of one operation are indented.
            let within = if entry.seq == entry.group { "" } else { "  " };
            let age = paint(DIM, format!("{:>8}", entry.at.age(now)));
            let line = format!("{:>6}  {age}  {:<14}  {within}{text}", entry.seq, cut(&name, 14));
            writeln!(cx.out, "{line}")?;
        }
        let Some(last) = entries.last().filter(|last| last.seq > 1) else { return Ok(()) };
        before = last.seq;
        left -= u32::try_from(entries.len()).unwrap_or(left).min(left);
    }
    Ok(())
}
