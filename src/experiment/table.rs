//! Table of a tree's leaves, one row a leaf, with a column for each judge.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{ExperimentError, SampleLabel, csv::CsvWriter, leaves::Leaves, parquet::ParquetWriter};
use crate::{
    id::{NodeId, TreeId},
    interchange::export::markdown,
    ops::OpsError,
    session::path_stats,
    store::Snapshot,
    types::{AuthorType, EdgeKind, Mode, Node, Timestamp, Tree},
};

/// Format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated values, safe for spreadsheets.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl TableFormat {
    /// Names of the formats, which are also the endings of file names.
    pub const NAMES: &'static [(&'static str, Self)] =
        &[("csv", Self::Csv), ("jsonl", Self::Jsonl), ("parquet", Self::Parquet)];
}

/// Result of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableReport {
    /// Number of rows.
    pub rows: u64,
    /// Names of the columns, in order.
    pub columns: Vec<String>,
}

/// Type of a column. Every cell can be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    Text,
    Integer,
    Number,
    Flag,
}

/// Name and type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
}

impl Column {
    pub(super) fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Null,
}

impl Cell {
    fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    fn count(number: impl TryInto<i64>) -> Self {
        number.try_into().map_or(Self::Null, Self::Integer)
    }
}

/// Writer of one format.
pub(super) trait TableWriter {
    fn row(&mut self, cells: Vec<Cell>) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// One JSON object a line, its fields in the order of the columns. Empty cells are `null`.
struct JsonRowWriter<'w> {
    out: &'w mut dyn Write,
    names: Vec<String>,
}

impl TableWriter for JsonRowWriter<'_> {
    fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        for (at, (name, cell)) in self.names.iter().zip(cells).enumerate() {
            let begin = if at == 0 { '{' } else { ',' };
            write!(self.out, "{begin}{}:", serde_json::to_string(name)?)?;
            let value = match cell {
                Cell::Text(text) => text.into(),
                Cell::Integer(number) => number.into(),
                Cell::Number(number) => number.into(),
                Cell::Flag(flag) => flag.into(),
                Cell::Null => serde_json::Value::Null,
            };
            serde_json::to_writer(&mut *self.out, &value)?;
        }
        self.out.write_all(b"}\n")
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns before those of the judges.
const COLUMNS: &[(&str, ColumnType)] = &[
    ("tree", ColumnType::Text),
    ("tree_id", ColumnType::Text),
    ("leaf", ColumnType::Text),
    ("node_id", ColumnType::Text),
    ("sample", ColumnType::Text),
    ("sample_name", ColumnType::Text),
    ("index", ColumnType::Integer),
    ("models", ColumnType::Text),
    ("temperature", ColumnType::Number),
    ("seed", ColumnType::Integer),
    ("max_tokens", ColumnType::Integer),
    ("depth", ColumnType::Integer),
    ("replies", ColumnType::Integer),
    ("prompt_tokens", ColumnType::Integer),
    ("output_tokens", ColumnType::Integer),
    ("cost", ColumnType::Number),
    ("currency", ColumnType::Text),
    ("finish", ColumnType::Text),
    ("interrupted", ColumnType::Flag),
    ("bookmark", ColumnType::Text),
    ("created_at", ColumnType::Text),
    ("continuation", ColumnType::Text),
    ("text", ColumnType::Text),
];

/// Writes a table of the visible leaves of a tree, or of those below one of its nodes.
///
/// ```
/// use loomtree::{experiment::{TableFormat, write_table}, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let mut out = Vec::new();
/// let report = write_table(&*loom.snapshot()?, tree.id, None, TableFormat::Csv, &mut out)?;
/// assert_eq!(report.rows, 1);
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If the tree does not exist, the output cannot be written, or the store fails.
pub fn write_table(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    below: Option<NodeId>,
    format: TableFormat,
    out: &mut dyn Write,
) -> Result<TableReport, ExperimentError> {
    let tree = snapshot.tree(tree)?.ok_or_else(|| OpsError::missing("tree", tree))?;
    let leaves = Leaves::read(snapshot, tree.id, below)?;
    let judges = leaves.judges();
    let mut columns: Vec<Column> = COLUMNS.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
    columns.extend(judges.iter().map(|judge| Column::new(judge.column(), ColumnType::Number)));
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut writer: Box<dyn TableWriter + '_> = match format {
        TableFormat::Csv => Box::new(CsvWriter::begin(out, &columns)?),
        TableFormat::Jsonl => Box::new(JsonRowWriter { out, names: names.clone() }),
        TableFormat::Parquet => Box::new(ParquetWriter::begin(out, &columns)?),
    };
    for leaf in &leaves.nodes {
        let mut cells = row(snapshot, &tree, *leaf)?;
        cells.extend(judges.iter().map(|judge| leaves.score(*leaf, judge).map_or(Cell::Null, Cell::Number)));
        writer.row(cells)?;
    }
    writer.end()?;
    Ok(TableReport { rows: leaves.nodes.len() as u64, columns: names })
}

/// Returns the cells of a leaf without its scores.
fn row(snapshot: &dyn Snapshot, tree: &Tree, leaf: NodeId) -> Result<Vec<Cell>, ExperimentError> {
    let path = snapshot.path_back(leaf, &[], 0)?;
    let node = path.last().ok_or_else(|| OpsError::missing("node", leaf))?;
    let label = SampleLabel::of(node);
    let usage = path_stats(snapshot, leaf, &[])?;
    let mut models: Vec<&str> = usage.shares.iter().filter_map(|share| share.model.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    let cost = usage.all.cost();
    // A sum of several currencies has no meaning.
    let cost = if let [cost] = cost.as_slice() { Some(cost) } else { None };
    let provenance = snapshot.provenance(leaf)?.and_then(|json| json.value().ok());
    let setting = |name: &str| provenance.as_ref().map(|provenance| &provenance[name]);
    // Replies of earlier versions have their settings only in the label.
    let labelled = label.as_ref().and_then(|label| label.temperature);
    let temperature = setting("temperature").and_then(Value::as_f64).or_else(|| labelled?.to_string().parse().ok());
    let seed = setting("seed").and_then(Value::as_u64).or(label.as_ref().and_then(|label| label.seed));
    let finish = provenance.as_ref().and_then(|provenance| provenance["finish"].as_str());
    let replies = path.iter().filter(|node| node.role() == AuthorType::Model).count();
    Ok(vec![
        Cell::Text(tree.title.clone()),
        Cell::Text(tree.id.to_string()),
        Cell::Text(node.local.to_string()),
        Cell::Text(node.id.to_string()),
        Cell::text(label.as_ref().map(|label| label.id.as_str())),
        Cell::text(label.as_ref().map(|label| label.name.as_str()).filter(|name| !name.is_empty())),
        label.as_ref().map_or(Cell::Null, |label| Cell::Integer(label.index.into())),
        Cell::text(Some(models.join(", ")).filter(|models| !models.is_empty())),
        temperature.map_or(Cell::Null, Cell::Number),
        seed.map_or(Cell::Null, Cell::count),
        setting("max_tokens").and_then(Value::as_u64).map_or(Cell::Null, Cell::count),
        Cell::Integer(node.depth.into()),
        Cell::count(replies),
        Cell::count(usage.all.prompt),
        Cell::count(usage.all.output),
        cost.map_or(Cell::Null, |cost| Cell::Number(cost.amount)),
        Cell::text(cost.map(|cost| cost.currency.as_str())),
        Cell::text(finish),
        Cell::Flag(node.interrupted),
        Cell::text(node.state.bookmark.as_deref()),
        Cell::Text(rfc3339(node.created_at)),
        Cell::Text(continuation(&path, label.as_ref(), tree.mode)),
        Cell::Text(markdown::text(&path, tree.mode)),
    ])
}

/// Returns the text of a branch after the beginning that it shares: all nodes of its sample, or the last node.
fn continuation(path: &[Node], label: Option<&SampleLabel>, mode: Mode) -> String {
    let is_sampled = |node: &Node| {
        label.is_some() && SampleLabel::of(node).is_some_and(|own| label.is_some_and(|label| label.id == own.id))
    };
    let is_text = |node: &Node| matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version);
    let begin = path.iter().position(|node| is_text(node) && is_sampled(node));
    let begin = begin.unwrap_or(path.len().saturating_sub(1));
    markdown::text(path.get(begin..).unwrap_or_default(), mode)
}

fn rfc3339(at: Timestamp) -> String {
    // Always with milliseconds: readers guess one format for the column.
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
