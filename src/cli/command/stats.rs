//! `loom stats`: prints tokens and costs of generations, the shape of the tree, and how often continuations were used.

use std::io::Write as _;

use loomtree::{
    exec::counts::{count_grouped, thousands},
    provider::Money,
    session::{UsageTotals, path_stats, stats},
    store::GenerationFilter,
    types::{Session, Tree},
};
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::sessions;
use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::Result,
    output::{DIM, count, paint},
    sanitize::{cut, one_line},
    show::tree_line,
};

/// Width of the column of names in a terminal that is too narrow for them.
const NAME_COLUMNS: usize = 16;
/// Width of the column of models in a terminal that is too narrow for them.
const MODEL_COLUMNS: usize = 32;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Count only the path to this node [default: your position]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = ".", conflicts_with_all = ["session", "agent", "all"])]
    path: Option<String>,
    /// Count only this session: its id, a part of it, or its name [default: that of the current conversation]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    session: Option<String>,
    /// Count only this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Count all trees
    #[arg(long, conflicts_with = "tree")]
    all: bool,
}

#[derive(Serialize)]
struct StatsJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'a Tree>,
    all: SumsJson<'a>,
    shares: Vec<ShareJson<'a>>,
}

#[derive(Serialize)]
struct ShareJson<'a> {
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(flatten)]
    sums: SumsJson<'a>,
}

#[derive(Serialize)]
struct SumsJson<'a> {
    #[serde(flatten)]
    sums: &'a UsageTotals,
    cost: Vec<Money>,
}

impl<'a> From<&'a UsageTotals> for SumsJson<'a> {
    fn from(sums: &'a UsageTotals) -> Self {
        Self { sums, cost: sums.cost() }
    }
}

/// Prints sums of generations.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = if args.all { None } else { Some(cx.position()?) };
    let found = match (&args.path, &current) {
        (Some(path), Some(current)) => {
            let node = cx.node(current, path)?;
            path_stats(&*cx.loom.snapshot()?, node.id, current.versions())?
        }
        _ => {
            let filter = filter(args, current.as_ref(), cx)?;
            stats(&*cx.loom.snapshot()?, &filter)?
        }
    };
    let names: Vec<String> = found.shares.iter().map(|share| cx.name(share.agent).to_owned()).collect();
    // A session names its tree.
    let of_session = session(args, cx)?.map(|session| cx.loom.tree(session.tree)).transpose()?;
    let tree = of_session.as_ref().or(current.as_ref().map(|current| &current.tree));
    if cx.out.json {
        let shares = found.shares.iter().zip(&names).map(|(share, agent)| ShareJson {
            agent,
            model: share.model.as_deref(),
            sums: (&share.sums).into(),
        });
        let json = StatsJson { tree, all: (&found.all).into(), shares: shares.collect() };
        return Ok(cx.out.json(&json)?);
    }
    if let Some(tree) = tree {
        let width = cx.out.width;
        writeln!(cx.out, "{}", tree_line(tree, width))?;
        let counts = &tree.counts;
        let points = count(counts.branch_points, "branch point");
        let leaves = count(counts.leaves, "leaf");
        let depth = cx.loom.snapshot()?.message_depth(tree.id)?;
        let shape = format!("depth {depth} · {leaves} · {points}");
        writeln!(cx.out, "{}", paint(DIM, shape))?;
    }
    if found.shares.is_empty() {
        writeln!(cx.out, "no model wrote a node here")?;
        return Ok(());
    }
    let mut rows = vec![COLUMN_TITLES.map(str::to_owned)];
    for (share, name) in found.shares.iter().zip(&names) {
        let model = share.model.as_deref().unwrap_or("not reported");
        rows.push(row(&one_line(name), &one_line(model), &share.sums));
    }
    if found.shares.len() > 1 {
        rows.push(row("all", "", &found.all));
    }
    if cx.out.terminal && column_widths(&rows).iter().map(|width| width + 2).sum::<usize>() > cx.out.width + 2 {
        for row in &mut rows {
            row[0] = cut(&row[0], NAME_COLUMNS);
            row[1] = cut(&row[1], MODEL_COLUMNS);
        }
    }
    table(&rows, cx)?;
    for note in missing_data_notes(&found.all) {
        writeln!(cx.out, "{}", paint(DIM, note))?;
    }
    Ok(())
}

/// Returns the session that the options name.
fn session(args: &Args, cx: &CommandContext<'_>) -> Result<Option<Session>> {
    let named = args.session.as_deref().map(|text| Some(text).filter(|text| !text.is_empty()));
    named.map(|text| sessions::find_or_current(cx, text)).transpose()
}

/// Returns the filter of generations.
fn filter(args: &Args, current: Option<&CommandPosition>, cx: &CommandContext<'_>) -> Result<GenerationFilter> {
    let agent = args.agent.as_deref().map(|name| cx.loom.agent(name)).transpose()?.map(|agent| agent.id());
    let session = session(args, cx)?.map(|session| session.id);
    let tree = if session.is_some() { None } else { current.map(|current| current.tree.id) };
    Ok(GenerationFilter { tree, session, agent })
}

const COLUMN_TITLES: [&str; 8] = ["agent", "model", "replies", "continued", "prompt", "cached", "output", "cost"];

fn row(agent: &str, model: &str, sums: &UsageTotals) -> [String; 8] {
    let share = (sums.taken_up * 100).checked_div(sums.generations).unwrap_or_default();
    let is_reported = sums.uncounted < sums.generations;
    let reported = |tokens| if is_reported { thousands(tokens) } else { "not reported".to_owned() };
    let cost: Vec<String> = sums.cost().iter().map(|money| one_line(&money.to_string())).collect();
    [
        agent.to_owned(),
        model.to_owned(),
        thousands(sums.generations),
        format!("{} ({share}%)", thousands(sums.taken_up)),
        reported(sums.prompt),
        reported(sums.cached),
        reported(sums.output),
        if cost.is_empty() { "–".to_owned() } else { cost.join(" + ") },
    ]
}

fn column_widths(rows: &[[String; 8]]) -> [usize; 8] {
    std::array::from_fn(|at| rows.iter().map(|row| row[at].width()).max().unwrap_or_default())
}

/// Prints rows as columns: names left-aligned, numbers right-aligned.
fn table(rows: &[[String; 8]], cx: &mut CommandContext<'_>) -> Result<()> {
    let widths = column_widths(rows);
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                let gap = " ".repeat(width - cell.width());
                if column < 2 { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
            })
            .collect();
        let line = cells.join("  ");
        let line = if at == 0 { paint(DIM, line.trim_end()) } else { line.trim_end().to_owned() };
        writeln!(cx.out, "{line}")?;
    }
    Ok(())
}

/// Returns notes about replies without token counts or prices.
fn missing_data_notes(all: &UsageTotals) -> Vec<String> {
    let mut notes = Vec::new();
    if all.uncounted > 0 {
        notes.push(format!("{} without token counts", count_grouped(all.uncounted, "reply")));
    }
    let unpriced = all.generations - all.priced;
    if all.priced > 0 && unpriced > 0 {
        notes.push(format!("{} without a price", count_grouped(unpriced, "reply")));
    }
    notes
}
