//! The tables that a copy moves between a file and a database, each declared once for both directions.
//!
//! A row refers to another one by its number in a file, and mostly by its ULID in a database. Names of columns are those of
//! the database; a column `id` there is `ulid` in a file, and the number of a row, `seq` there, is `id`.

use rusqlite::types::Value;
use tokio_postgres::Row;

use super::{
    decode::{get, opt_int},
    uuid::Uuid,
};
use crate::{id::SessionId, store::Result};

/// The type of a column, or what it refers to.
#[derive(Debug, Clone, Copy)]
pub(super) enum ColumnKind {
    Text,
    Int,
    Bool,
    Real,
    Bytes,
    /// ULID of the row.
    Id,
    /// Number of the row, kept by a copy in both directions.
    Row,
    /// Number of a row to which others refer. A file gives it anew: short numbers save much there.
    Number,
    /// Number of a node on both sides. A file numbers nodes without gaps.
    Node,
    /// Number of an entry of the journal on both sides, without gaps in a file.
    Entry,
    /// A node: its ULID in a database, its number in a file.
    NodeId,
    /// A row of this table: its ULID in a database, its number in a file.
    Of(&'static str),
    /// The tree of the node in this column; a file has no such column.
    TreeOf(&'static str),
    /// A column that a file lacks: the type, and the expression that computes the value in a file.
    Database(&'static str, &'static str),
    /// A column that a database lacks: the kind, and the expression that computes the value in a database.
    File(&'static Self, &'static str),
    /// The text of a session's ULID; only in [`ColumnKind::File`].
    IdText,
}

/// A column of a copied table.
pub(super) struct CopiedColumn {
    /// Name in a database.
    pub(super) name: &'static str,
    kind: ColumnKind,
}

impl CopiedColumn {
    /// The type in a database, and the expression that reads the value from a row `x` of a file. `None` if a database lacks
    /// the column.
    pub(super) fn read_from_file(&self) -> Option<(&'static str, String)> {
        let name = self.name;
        let ulid_of = |table: &str, key: &str| ("uuid", format!("(SELECT ulid FROM {table} WHERE {key} = x.{name})"));
        Some(match self.kind {
            ColumnKind::Text => ("text", format!("x.{name}")),
            ColumnKind::Int | ColumnKind::Node | ColumnKind::Entry => ("bigint", format!("x.{name}")),
            ColumnKind::Bool => ("boolean", format!("x.{name}")),
            ColumnKind::Real => ("float8", format!("x.{name}")),
            ColumnKind::Bytes => ("bytea", format!("x.{name}")),
            ColumnKind::Id => ("uuid", "x.ulid".to_owned()),
            ColumnKind::Row | ColumnKind::Number => ("bigint", "x.id".to_owned()),
            ColumnKind::NodeId => ulid_of("nodes", "seq"),
            ColumnKind::Of(table) => ulid_of(table, "id"),
            ColumnKind::TreeOf(node) => {
                let tree = "SELECT t.ulid FROM nodes n JOIN trees t ON t.id = n.tree WHERE n.seq";
                ("uuid", format!("({tree} = x.{node})"))
            }
            ColumnKind::Database(kind, expression) => (kind, expression.to_owned()),
            ColumnKind::File(..) | ColumnKind::IdText => return None,
        })
    }

    /// The column of a file. `None` if a file lacks it, or numbers the rows itself.
    fn in_file(&self) -> Option<FileColumn> {
        let (kind, expression) = match self.kind {
            ColumnKind::Number | ColumnKind::TreeOf(_) | ColumnKind::Database(..) => return None,
            ColumnKind::File(kind, expression) => (*kind, expression.to_owned()),
            kind => (kind, format!("x.{}", self.name)),
        };
        Some(FileColumn {
            name: match kind {
                ColumnKind::Id => "ulid",
                ColumnKind::Row => "id",
                _ => self.name,
            },
            expression: match kind {
                ColumnKind::NodeId => format!("(SELECT n.seq FROM nodes n WHERE n.id = {expression} LIMIT 1)"),
                _ => expression,
            },
            kind,
        })
    }
}

/// A column of a file that a copy writes.
struct FileColumn {
    name: &'static str,
    kind: ColumnKind,
    /// Reads the value from a row `x` of a database.
    expression: String,
}

/// The numbers of a database's nodes and entries.
pub(super) struct FileNumbers {
    pub(super) nodes: RankedNumbers,
    pub(super) entries: RankedNumbers,
}

/// Numbers of a database in ascending order. The rank of a number, from 1, is the number in a file.
pub(super) struct RankedNumbers(pub(super) Vec<i64>);

impl RankedNumbers {
    /// The number in a file. A number that does not exist gets that of the one before it, since an action names the last entry
    /// that its agent could see.
    pub(super) fn rank(&self, number: i64) -> i64 {
        i64::try_from(self.0.partition_point(|known| *known <= number)).unwrap_or(i64::MAX)
    }

    /// The number in the database of a rank; 0 for rank 0.
    pub(super) fn at_rank(&self, rank: u64) -> i64 {
        let place = usize::try_from(rank).ok().and_then(|rank| rank.checked_sub(1));
        place.and_then(|place| self.0.get(place)).copied().unwrap_or(0)
    }
}

/// A table that is copied.
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    columns: &'static [CopiedColumn],
    /// Columns that order the rows.
    order: &'static [&'static str],
}

impl CopiedTable {
    /// Columns of the table in a database, with their types and the expressions that read them from a file.
    pub(super) fn database_columns(&self) -> Vec<(&'static str, &'static str, String)> {
        let column = |column: &CopiedColumn| {
            let (kind, expression) = column.read_from_file()?;
            Some((column.name, kind, expression))
        };
        self.columns.iter().filter_map(column).collect()
    }

    /// The query of a file's rows after the first `?1`.
    pub(super) fn select_from_file(&self) -> String {
        let columns = self.database_columns();
        let places =
            self.order.iter().filter_map(|name| Some(columns.iter().position(|(known, ..)| known == name)? + 1));
        let order: Vec<String> = places.map(|place| place.to_string()).collect();
        let columns: Vec<String> = columns.into_iter().map(|(.., expression)| expression).collect();
        format!("SELECT {} FROM {} x ORDER BY {} LIMIT -1 OFFSET ?1", columns.join(", "), self.name, order.join(", "))
    }

    /// The statement that inserts rows into a database, given as one list of texts for each column.
    pub(super) fn insert_into_database(&self) -> String {
        let columns = self.database_columns();
        let list = |each: &dyn Fn(usize, &str, &str) -> String| {
            let parts = (1..).zip(&columns).map(|(number, (name, kind, _))| each(number, name, kind));
            parts.collect::<Vec<_>>().join(", ")
        };
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM unnest({}) r ({})",
            self.name,
            list(&|_, name, _| name.to_owned()),
            list(&|_, name, kind| format!("r.{name}::{kind}")),
            list(&|number, _, _| format!("${number}::text[]")),
            list(&|_, name, _| name.to_owned()),
        )
    }

    fn file_columns(&self) -> Vec<FileColumn> {
        self.columns.iter().filter_map(CopiedColumn::in_file).collect()
    }

    /// The query of a database's rows after the first `done`.
    pub(super) fn select_from_database(&self, done: u64) -> String {
        let columns: Vec<String> = self.file_columns().into_iter().map(|column| column.expression).collect();
        let order: Vec<String> = self.order.iter().map(|name| format!("x.{name}")).collect();
        format!("SELECT {} FROM {} x ORDER BY {} OFFSET {done}", columns.join(", "), self.name, order.join(", "))
    }

    /// The statement that inserts a row into a file. `summed` are the columns of the table's checksum; empty if it has none,
    /// or triggers of the file compute it.
    pub(super) fn insert_into_file(&self, summed: &[String]) -> String {
        let columns = self.file_columns();
        let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let values: Vec<String> = (1..)
            .zip(&columns)
            .map(|(number, FileColumn { name, kind, .. })| match kind {
                ColumnKind::Of(table) => format!("(SELECT id FROM {table} WHERE ulid = ?{number}) AS {name}"),
                _ => format!("?{number} AS {name}"),
            })
            .collect();
        let mut selected = names.join(", ");
        if !summed.is_empty() && summed.iter().all(|name| names.contains(&name.as_str())) {
            names.push("row_sum");
            selected = format!("{selected}, row_sum({})", summed.join(", "));
        }
        format!(
            "INSERT INTO {} ({}) SELECT {selected} FROM (SELECT {})",
            self.name,
            names.join(", "),
            values.join(", ")
        )
    }

    /// The values of a row of a database for [`CopiedTable::insert_into_file`].
    pub(super) fn file_values(&self, row: &Row, numbers: &FileNumbers) -> Result<Vec<Value>> {
        (0..).zip(self.file_columns()).map(|(at, column)| file_value(row, at, column.kind, numbers)).collect()
    }
}

fn file_value(row: &Row, at: usize, kind: ColumnKind, numbers: &FileNumbers) -> Result<Value> {
    let id = || get::<Option<Uuid>>(row, at);
    Ok(match kind {
        ColumnKind::Text => get::<Option<String>>(row, at)?.into(),
        ColumnKind::Bool => get::<Option<bool>>(row, at)?.into(),
        ColumnKind::Real => get::<Option<f64>>(row, at)?.into(),
        ColumnKind::Bytes => get::<Option<Vec<u8>>>(row, at)?.into(),
        ColumnKind::Id | ColumnKind::Of(_) => id()?.map(|id| id.0.to_vec()).into(),
        ColumnKind::IdText => id()?.map(|id| SessionId::from_bytes(id.0).to_string()).into(),
        ColumnKind::Node | ColumnKind::NodeId => opt_int(row, at)?.map(|n| numbers.nodes.rank(n)).into(),
        ColumnKind::Entry => opt_int(row, at)?.map(|n| numbers.entries.rank(n)).into(),
        _ => opt_int(row, at)?.into(),
    })
}

macro_rules! table {
    ($name:literal by $($order:ident)+: $($column:ident $kind:ident $(($($argument:expr),+))?),+ $(,)?) => {
        CopiedTable {
            name: $name,
            columns: &[$(CopiedColumn { name: stringify!($column), kind: ColumnKind::$kind $(($($argument),+))? }),+],
            order: &[$(stringify!($order)),+],
        }
    };
}

/// All tables but those of derived data, in an order in which references are there before. Only a session's position and
/// focus refer to later rows.
pub(super) const TABLES: &[CopiedTable] = &[
    table!("agents" by seq: id Id, seq Number, name Text, kind Int, model Text, system_prompt Text, temperature Real,
        max_tokens Int, stop Text, permissions Int, created_at Int, removed Bool),
    table!("trees" by seq: id Id, seq Number, title Text, description Text, mode Int, system_context Text, created_at Int,
        archived_at Int, project Text, external_ref Text),
    table!("tree_state" by tree: tree Of("trees"), nodes Int, messages Int, leaves Int, branch_points Int, max_depth Int,
        updated_at Int, updated_hour Database("bigint", "x.updated_at / 3600000"), last_journal Entry,
        last_node Database("bigint", "(SELECT coalesce(max(n.seq), 0) FROM nodes n WHERE n.tree = x.tree)")),
    table!("sessions" by seq: id Id, seq Number, workspace Text, agent Of("agents"), tree Of("trees"), position Node,
        versions Text, started_at Int, last_active_at Int,
        active_hour Database("bigint", "x.last_active_at / 3600000"), expires_at Int, turn_count Int, person_turns Int,
        total_tokens Int, active Bool, metadata Text, delegated_by Of("sessions"), model Text, project Text,
        external_ref Text, focus NodeId, since Int, text_id File(&ColumnKind::IdText, "x.id")),
    table!("nodes" by seq: tree Of("trees"), seq Node, id Id, local_id Text, parent Node, depth Int, kind Int,
        author Of("agents"), author_type Int, role Int, created_at Int, hash Bytes, session Of("sessions"), turn Int,
        edited_from Node, version_of Node, tokens Int, interrupted Bool, purged_at Int, tool_call_id Text, tool_name Text,
        tool_calls Text, metadata Text, content Text, raw Text),
    table!("node_state" by node: tree TreeOf("node"), node Node, continuations Int, annotations Int, links Int,
        versions Int, bookmarked Bool, hidden_by Node, excluded Bool),
    table!("bookmarks" by node: tree Of("trees"), node Node, label Text, created_at Int),
    table!("documents" by seq: id Id, seq Number, name Text, created_at Int, removed Bool),
    table!("document_versions" by document version: document Of("documents"), version Int, author Of("agents"),
        created_at Int, content Text),
    table!("links" by seq: tree TreeOf("source"), id Id, seq Row, source Node, target_node NodeId, target_tree Of("trees"),
        target_document Of("documents"), section Text, note Text, author Of("agents"), created_at Int, removed Bool),
    table!("provenance" by node: tree TreeOf("node"), node Node, envelope Bytes),
    table!("sources" by source: source Text, tree TreeOf("node"), node Node),
    table!("journal" by seq: seq Entry, at Int, agent Of("agents"), session Of("sessions"), op Int, change Int, node Node,
        undo Text, target Entry,
        tree Database("uuid", "coalesce((SELECT ulid FROM trees WHERE id = x.tree), x'00000000000000000000000000000000')"),
        tree File(&ColumnKind::Of("trees"), "x.tree"),
        grp Database("bigint", "coalesce(x.grp, x.seq)"), grp File(&ColumnKind::Entry, "nullif(x.grp, x.seq)"),
        previous File(&ColumnKind::Entry, "lag(x.seq) OVER (PARTITION BY x.tree ORDER BY x.seq)")),
    table!("pins" by seq: tree Of("trees"), agent Of("agents"), seq Row, node NodeId, document Of("documents"),
        section Text, pinned_at Int),
    table!("stashes" by seq: tree Of("trees"), agent Of("agents"), result Database("boolean", "x.kind = 3"), label Text,
        seq Row, kind Int, node NodeId, content Text, tokens Int, stashed_at Int),
    table!("actions" by seq: tree Of("trees"), agent Of("agents"), seq Row, at Int, after Entry, tool Text, about Text),
    table!("delegation_events" by delegation number: tree TreeOf("delegation"), delegation Node, number Int, at Int,
        event Text),
    table!("summaries" by kind subject:
        kind Database("bigint", "CASE WHEN x.node IS NOT NULL THEN 0 WHEN x.document IS NOT NULL THEN 1 ELSE 2 END"),
        subject Database("uuid", "coalesce((SELECT ulid FROM nodes WHERE seq = x.node),
            (SELECT ulid FROM documents WHERE id = x.document), (SELECT ulid FROM trees WHERE id = x.tree))"),
        node File(&ColumnKind::NodeId, "CASE WHEN x.kind = 0 THEN x.subject END"),
        document File(&ColumnKind::Of("documents"), "CASE WHEN x.kind = 1 THEN x.subject END"),
        tree File(&ColumnKind::Of("trees"), "CASE WHEN x.kind = 2 THEN x.subject END"),
        made_of Int, model Text, made_at Int, content Text),
    table!("registers" by session: session Of("sessions"), rules Int, state Text),
    table!("records" by seq: session Of("sessions"), seq Row, turn Int, kind Int, content Text, removed Bool),
    table!("received_turns" by session turn: session Of("sessions"), turn Int, tree TreeOf("node"), node Node),
    table!("system_prompts" by session turn: session Of("sessions"), turn Int, content Text),
    table!("cursors" by session: session Of("sessions"), node NodeId, seen_at Int),
    table!("todos" by seq: session Of("sessions"), id Id, seq Row, turn Int, made_in Int, number Int, place Int, title Text,
        context Text, criteria Text, agent_type Text, status Int, outcome Text, created_at Int, started_at Int,
        completed_at Int),
    table!("estimates" by model: model Text, estimated Int, reported Int),
];
