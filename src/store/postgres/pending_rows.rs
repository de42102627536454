//! Rows of a transaction that are not written yet, and the statements that write many at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    apply::HOUR,
    connection::{OwnedParams, PgStatement, PostgresConnection, statement},
    uuid::Uuid,
};
use crate::{
    id::NodeId,
    store::{Result, envelope_compression},
    types::{ContentHash, EdgeKind, Json, NewNode, Timestamp},
};

/// Changes the rows of locked trees, though not their values. A transaction that began before the lock finds that they
/// have changed, and what was written about the trees in other tables is not overlooked.
pub(super) const CHANGE_ROWS_OF_TREES: &str = "UPDATE tree_state SET last_node = last_node WHERE tree = ANY($1)";

/// The immutable columns of a node that a writer needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgNodeAnchor {
    pub(super) id: NodeId,
    pub(super) tree: Uuid,
    pub(super) seq: i64,
    pub(super) parent: Option<i64>,
    pub(super) depth: i64,
    pub(super) kind: EdgeKind,
    pub(super) hash: ContentHash,
    pub(super) version_of: Option<i64>,
    pub(super) edited_from: Option<i64>,
}

/// The part of a node's state that an append reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PgNodeState {
    pub(super) continuations: i64,
    pub(super) hidden_by: Option<i64>,
    /// True if the node has a row in `node_state`, or gets one.
    pub(super) is_stored: bool,
}

/// The figures and the position of a session, whose row is locked.
#[derive(Debug, Clone, Default)]
pub(super) struct PgSessionRow {
    pub(super) tree: Option<Uuid>,
    pub(super) position: Option<i64>,
    pub(super) turn_count: i64,
    pub(super) since: i64,
    pub(super) active: bool,
}

/// Changes of a session that are not written yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PgSessionChange {
    pub(super) turn_count: i64,
    pub(super) tokens: i64,
    pub(super) person_turns: i64,
    /// The time of the newest turn; 0: none without a number of its own.
    pub(super) at: i64,
    pub(super) position: Option<i64>,
    pub(super) focus: Option<Uuid>,
}

/// A journal entry.
pub(super) struct NewEntry {
    pub(super) tree: Uuid,
    pub(super) seq: i64,
    pub(super) group: i64,
    pub(super) at: i64,
    pub(super) agent: Uuid,
    pub(super) session: Option<Uuid>,
    pub(super) op: i64,
    pub(super) change: i64,
    pub(super) node: Option<i64>,
    pub(super) undo: Option<String>,
    pub(super) target: Option<i64>,
}

/// The key of a journal entry, with its agent and time.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryKey {
    pub(super) tree: Uuid,
    pub(super) seq: i64,
    pub(super) agent: Uuid,
    pub(super) at: i64,
}

/// A node with the columns that the store computes.
pub(super) struct PgNewRow {
    pub(super) node: NewNode,
    pub(super) place: PgNodeAnchor,
    pub(super) local: String,
    pub(super) session: Option<(Uuid, i64)>,
}

/// Changes of a tree's counts by nodes and entries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PgTreeCountDelta {
    pub(super) nodes: i64,
    pub(super) messages: i64,
    pub(super) leaves: i64,
    pub(super) branch_points: i64,
    pub(super) depth: i64,
    pub(super) at: i64,
    pub(super) last_node: i64,
    pub(super) last_journal: i64,
}

/// Rows that are not written yet.
#[derive(Default)]
pub(super) struct PendingRows {
    pub(super) nodes: Vec<PgNewRow>,
    entries: Vec<NewEntry>,
    /// Continuations of nodes, and annotations and versions that were added to them. Sorted: a scan of a tree's states then
    /// reads the heap in order.
    children: BTreeMap<(Uuid, i64), [i64; 3]>,
    pub(super) sessions: BTreeMap<Uuid, PgSessionChange>,
    /// States of sessions: the rules that made them, and their JSON.
    pub(super) states: BTreeMap<Uuid, (i64, String)>,
    trees: HashMap<Uuid, PgTreeCountDelta>,
    /// Trees that were locked and get no new counts: see [`CHANGE_ROWS_OF_TREES`].
    locked: Vec<Uuid>,
}

impl PendingRows {
    pub(super) fn add_entry(&mut self, entry: NewEntry) {
        if entry.tree != super::uuid::NO_TREE {
            let tree = self.trees.entry(entry.tree).or_default();
            tree.at = tree.at.max(entry.at);
            tree.last_journal = entry.seq;
        }
        self.entries.push(entry);
    }

    /// The newest entry.
    pub(super) fn last_entry(&self) -> Option<EntryKey> {
        self.entries.last().map(|&NewEntry { tree, seq, agent, at, .. }| EntryKey { tree, seq, agent, at })
    }

    pub(super) fn add_locked(&mut self, trees: &BTreeSet<Uuid>) {
        self.locked = trees.iter().filter(|tree| !self.trees.contains_key(tree)).copied().collect();
    }

    /// Counts a new child of a node of a tree, which has so many continuations now.
    pub(super) fn count_child(&mut self, node: (Uuid, i64), continuations: i64, kind: EdgeKind) {
        let counts = self.children.entry(node).or_default();
        counts[0] = continuations;
        counts[1] += i64::from(kind == EdgeKind::Annotation);
        counts[2] += i64::from(kind == EdgeKind::Version);
    }

    pub(super) fn add_node(&mut self, row: PgNewRow, added: &PgTreeCountDelta) {
        let tree = self.trees.entry(row.place.tree).or_default();
        tree.nodes += added.nodes;
        tree.messages += added.messages;
        tree.leaves += added.leaves;
        tree.branch_points += added.branch_points;
        tree.depth = tree.depth.max(added.depth);
        tree.last_node = row.place.seq;
        self.nodes.push(row);
    }

    /// Writes everything in one round trip, and commits if asked.
    pub(super) fn write(self, conn: &PostgresConnection, commit: bool) -> Result<()> {
        let mut statements = Vec::new();
        if !self.nodes.is_empty() {
            statements.push(insert_nodes(&self.nodes));
            statements.extend(insert_envelopes(&self.nodes)?);
            statements.extend(insert_sources(&self.nodes));
        }
        if !self.children.is_empty() {
            statements.push(self.count_children());
        }
        if !self.sessions.is_empty() {
            statements.push(self.update_sessions());
        }
        if !self.states.is_empty() {
            statements.push(statement!(
                "INSERT INTO registers (session, rules, state) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[])
                 ON CONFLICT (session) DO UPDATE SET rules = excluded.rules, state = excluded.state",
                self.states.keys().copied().collect::<Vec<_>>(),
                self.states.values().map(|state| state.0).collect::<Vec<_>>(),
                self.states.values().map(|state| state.1.as_str()).collect::<Vec<_>>(),
            ));
        }
        if !self.entries.is_empty() {
            statements.push(insert_entries(&self.entries));
        }
        if !self.trees.is_empty() {
            statements.push(self.count_trees());
        }
        if !self.locked.is_empty() {
            statements.push(statement!(CHANGE_ROWS_OF_TREES, self.locked.as_slice()));
        }
        let mut statements: Vec<_> = PgStatement::joined(statements).into_iter().collect();
        if commit {
            statements.push(statement!("COMMIT"));
        }
        conn.pipeline(None, &statements).map(drop)
    }

    fn count_children(&self) -> PgStatement<'_> {
        let (trees, nodes): (Vec<_>, Vec<_>) = self.children.keys().copied().unzip();
        let of = |kind: usize| self.children.values().map(|counts| counts[kind]).collect::<Vec<_>>();
        statement!(
            "INSERT INTO node_state AS s (tree, node, continuations, annotations, versions)
             SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
             ON CONFLICT (tree, node) DO UPDATE SET continuations = excluded.continuations,
                 annotations = s.annotations + excluded.annotations, versions = s.versions + excluded.versions",
            trees,
            nodes,
            of(0),
            of(1),
            of(2),
        )
    }

    fn update_sessions(&self) -> PgStatement<'_> {
        let of = |column: fn(&PgSessionChange) -> i64| self.sessions.values().map(column).collect::<Vec<_>>();
        let sql = format!(
            "UPDATE sessions s SET turn_count = greatest(s.turn_count, c.turn_count),
                 total_tokens = s.total_tokens + c.tokens, person_turns = s.person_turns + c.person_turns,
                 last_active_at = greatest(s.last_active_at, c.at),
                 active_hour = greatest(s.last_active_at, c.at) / {HOUR}, position = coalesce(c.position, s.position),
                 focus = coalesce(c.focus, s.focus)
             FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::uuid[])
                 c (id, turn_count, tokens, person_turns, at, position, focus)
             WHERE s.id = c.id"
        );
        statement!(
            sql,
            self.sessions.keys().copied().collect::<Vec<_>>(),
            of(|c| c.turn_count),
            of(|c| c.tokens),
            of(|c| c.person_turns),
            of(|c| c.at),
            self.sessions.values().map(|c| c.position).collect::<Vec<_>>(),
            self.sessions.values().map(|c| c.focus).collect::<Vec<_>>(),
        )
    }

    fn count_trees(&self) -> PgStatement<'_> {
        let of = |column: fn(&PgTreeCountDelta) -> i64| self.trees.values().map(column).collect::<Vec<_>>();
        let sql = format!(
            "UPDATE tree_state t SET nodes = t.nodes + a.nodes, messages = t.messages + a.messages,
                 leaves = t.leaves + a.leaves, branch_points = t.branch_points + a.branch_points,
                 max_depth = greatest(t.max_depth, a.depth), updated_at = greatest(t.updated_at, a.at),
                 updated_hour = greatest(t.updated_at, a.at) / {HOUR},
                 last_node = greatest(t.last_node, a.last_node), last_journal = greatest(t.last_journal, a.last_journal)
             FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                 $8::bigint[], $9::bigint[])
                 a (tree, nodes, messages, leaves, branch_points, depth, at, last_node, last_journal)
             WHERE t.tree = a.tree"
        );
        statement!(
            sql,
            self.trees.keys().copied().collect::<Vec<_>>(),
            of(|a| a.nodes),
            of(|a| a.messages),
            of(|a| a.leaves),
            of(|a| a.branch_points),
            of(|a| a.depth),
            of(|a| a.at),
            of(|a| a.last_node),
            of(|a| a.last_journal),
        )
    }
}

fn insert_entries(rows: &[NewEntry]) -> PgStatement<'_> {
    let int = |column: fn(&NewEntry) -> i64| rows.iter().map(column).collect::<Vec<_>>();
    let opt = |column: fn(&NewEntry) -> Option<i64>| rows.iter().map(column).collect::<Vec<_>>();
    statement!(
        "INSERT INTO journal (tree, seq, grp, at, agent, session, op, change, node, undo, target)
         SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[], $7::bigint[],
             $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])",
        rows.iter().map(|r| r.tree).collect::<Vec<_>>(),
        int(|r| r.seq),
        int(|r| r.group),
        int(|r| r.at),
        rows.iter().map(|r| r.agent).collect::<Vec<_>>(),
        rows.iter().map(|r| r.session).collect::<Vec<_>>(),
        int(|r| r.op),
        int(|r| r.change),
        opt(|r| r.node),
        rows.iter().map(|r| r.undo.as_deref()).collect::<Vec<_>>(),
        opt(|r| r.target),
    )
}

/// Columns of `nodes`, and their types.
pub(super) const NODE_COLUMNS: &str = "tree, seq, id, local_id, parent, depth, kind, author, author_type, role, created_at, \
    hash, session, turn, edited_from, version_of, tokens, interrupted, purged_at, tool_call_id, tool_name, tool_calls, \
    metadata, content, raw";
pub(super) const NODE_TYPES: [&str; 25] = [
    "uuid", "bigint", "uuid", "text", "bigint", "bigint", "bigint", "uuid", "bigint", "bigint", "bigint", "bytea",
    "uuid", "bigint", "bigint", "bigint", "bigint", "boolean", "bigint", "text", "text", "text", "text", "text",
    "text",
];

/// Parameters `$1` to the number of types, as arrays of these types.
pub(super) fn arrays(types: &[&str]) -> String {
    let arrays: Vec<String> = (1..).zip(types).map(|(number, of)| format!("${number}::{of}[]")).collect();
    arrays.join(", ")
}

fn insert_nodes(rows: &[PgNewRow]) -> PgStatement<'_> {
    let sql = format!("INSERT INTO nodes ({NODE_COLUMNS}) SELECT * FROM unnest({})", arrays(&NODE_TYPES));
    PgStatement { sql: sql.into(), params: node_params(rows.iter()) }
}

/// An array for each of [`NODE_COLUMNS`].
pub(super) fn node_params<'r>(rows: impl Iterator<Item = &'r PgNewRow> + Clone) -> OwnedParams<'r> {
    let int = |column: fn(&PgNewRow) -> i64| rows.clone().map(column).collect::<Vec<_>>();
    let opt = |column: fn(&PgNewRow) -> Option<i64>| rows.clone().map(column).collect::<Vec<_>>();
    let text = |column: fn(&PgNewRow) -> Option<&str>| rows.clone().map(column).collect::<Vec<_>>();
    vec![
        Box::new(rows.clone().map(|r| r.place.tree).collect::<Vec<_>>()),
        Box::new(int(|r| r.place.seq)),
        Box::new(rows.clone().map(|r| Uuid::from(r.node.id)).collect::<Vec<_>>()),
        Box::new(rows.clone().map(|r| r.local.as_str()).collect::<Vec<_>>()),
        Box::new(opt(|r| r.place.parent)),
        Box::new(int(|r| r.place.depth)),
        Box::new(int(|r| r.node.kind.code())),
        Box::new(rows.clone().map(|r| Uuid::from(r.node.author)).collect::<Vec<_>>()),
        Box::new(int(|r| r.node.author_type.code())),
        Box::new(opt(|r| r.node.role.map(|role| role.code()))),
        Box::new(int(|r| r.node.created_at.as_millis())),
        Box::new(rows.clone().map(|r| r.place.hash.to_bytes().to_vec()).collect::<Vec<_>>()),
        Box::new(rows.clone().map(|r| r.session.map(|s| s.0)).collect::<Vec<_>>()),
        Box::new(opt(|r| r.session.map(|s| s.1))),
        Box::new(opt(|r| r.place.edited_from)),
        Box::new(opt(|r| r.place.version_of)),
        Box::new(opt(|r| r.node.tokens.map(i64::from))),
        Box::new(rows.clone().map(|r| r.node.interrupted).collect::<Vec<_>>()),
        Box::new(opt(|r| r.node.purged_at.map(Timestamp::as_millis))),
        Box::new(text(|r| r.node.tool.call_id.as_deref())),
        Box::new(text(|r| r.node.tool.name.as_deref())),
        Box::new(text(|r| r.node.tool.calls.as_ref().map(Json::as_str))),
        Box::new(text(|r| r.node.metadata.as_ref().map(Json::as_str))),
        Box::new(text(|r| Some(r.node.content.as_str()))),
        Box::new(text(|r| r.node.raw.as_deref())),
    ]
}

/// The insertion of the nodes' envelopes, if they have any.
fn insert_envelopes(rows: &[PgNewRow]) -> Result<Option<PgStatement<'_>>> {
    let (mut trees, mut nodes, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    for (row, envelope) in rows.iter().filter_map(|row| Some((row, row.node.provenance.as_ref()?))) {
        trees.push(row.place.tree);
        nodes.push(row.place.seq);
        packed.push(envelope_compression::pack(envelope.as_str())?);
    }
    let sql =
        "INSERT INTO provenance (tree, node, envelope) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])";
    Ok((!nodes.is_empty()).then(|| statement!(sql, trees, nodes, packed)))
}

/// The insertion of the names of the nodes' sources, if they have any.
fn insert_sources(rows: &[PgNewRow]) -> Option<PgStatement<'_>> {
    let named: Vec<_> = rows.iter().filter_map(|row| Some((row.node.source.as_deref()?, row.place))).collect();
    (!named.is_empty()).then(|| {
        statement!(
            "INSERT INTO sources (source, tree, node) SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[])",
            named.iter().map(|row| row.0).collect::<Vec<_>>(),
            named.iter().map(|row| row.1.tree).collect::<Vec<_>>(),
            named.iter().map(|row| row.1.seq).collect::<Vec<_>>(),
        )
    })
}
