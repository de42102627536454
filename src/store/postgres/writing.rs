//! Rows of a transaction that are not written yet, and the statements that write many at once.

use std::collections::HashMap;

use super::{connection::PostgresConnection, uuid::Uuid};
use crate::{
    id::NodeId,
    store::{Result, StoreError, envelope},
    types::{ContentHash, EdgeKind, Json, NewNode, Timestamp},
};

/// The immutable columns of a node that a writer needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
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

/// The columns of its parent's state that an append needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PgNodeState {
    pub(super) continuations: i64,
    pub(super) hidden_by: Option<i64>,
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

/// A node with the columns that the store computes.
pub(super) struct PgNewRow {
    pub(super) node: NewNode,
    pub(super) place: Place,
    pub(super) local: String,
    pub(super) session: Option<(Uuid, i64)>,
}

/// Sums of the nodes and entries that a change adds to a tree.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PgAdded {
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
pub(super) struct Writes {
    pub(super) nodes: Vec<PgNewRow>,
    entries: Vec<NewEntry>,
    pub(super) continuations: HashMap<(Uuid, i64), i64>,
    trees: HashMap<Uuid, PgAdded>,
}

impl Writes {
    pub(super) fn add_entry(&mut self, entry: NewEntry) {
        if entry.tree != super::uuid::NO_TREE {
            let tree = self.trees.entry(entry.tree).or_default();
            tree.at = tree.at.max(entry.at);
            tree.last_journal = entry.seq;
        }
        self.entries.push(entry);
    }

    pub(super) fn add_node(&mut self, row: PgNewRow, added: &PgAdded) {
        let tree = self.trees.entry(row.place.tree).or_default();
        tree.nodes += added.nodes;
        tree.messages += added.messages;
        tree.leaves += added.leaves;
        tree.branch_points += added.branch_points;
        tree.depth = tree.depth.max(added.depth);
        tree.last_node = row.place.seq;
        self.nodes.push(row);
    }

    /// Writes everything, nodes first.
    pub(super) fn write(self, conn: &PostgresConnection) -> Result<()> {
        write_nodes(conn, &self.nodes)?;
        if !self.continuations.is_empty() {
            let (trees, nodes): (Vec<_>, Vec<_>) = self.continuations.keys().copied().unzip();
            let counts: Vec<i64> = self.continuations.values().copied().collect();
            conn.execute(
                "INSERT INTO node_state (tree, node, continuations) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[])
                 ON CONFLICT (tree, node) DO UPDATE SET continuations = excluded.continuations",
                &[&trees, &nodes, &counts],
            )?;
        }
        write_entries(conn, &self.entries)?;
        if !self.trees.is_empty() {
            let keys: Vec<Uuid> = self.trees.keys().copied().collect();
            let of = |column: fn(&PgAdded) -> i64| self.trees.values().map(column).collect::<Vec<_>>();
            conn.execute(
                "UPDATE tree_state t SET nodes = t.nodes + a.nodes, messages = t.messages + a.messages,
                     leaves = t.leaves + a.leaves, branch_points = t.branch_points + a.branch_points,
                     max_depth = greatest(t.max_depth, a.depth), updated_at = greatest(t.updated_at, a.at),
                     last_node = greatest(t.last_node, a.last_node), last_journal = greatest(t.last_journal, a.last_journal)
                 FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                     $8::bigint[], $9::bigint[])
                     a (tree, nodes, messages, leaves, branch_points, depth, at, last_node, last_journal)
                 WHERE t.tree = a.tree",
                &[
                    &keys,
                    &of(|a| a.nodes),
                    &of(|a| a.messages),
                    &of(|a| a.leaves),
                    &of(|a| a.branch_points),
                    &of(|a| a.depth),
                    &of(|a| a.at),
                    &of(|a| a.last_node),
                    &of(|a| a.last_journal),
                ],
            )?;
        }
        Ok(())
    }
}

fn write_entries(conn: &PostgresConnection, rows: &[NewEntry]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let int = |column: fn(&NewEntry) -> i64| rows.iter().map(column).collect::<Vec<_>>();
    let opt = |column: fn(&NewEntry) -> Option<i64>| rows.iter().map(column).collect::<Vec<_>>();
    conn.execute(
        "INSERT INTO journal (tree, seq, grp, at, agent, session, op, change, node, undo, target)
         SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[], $7::bigint[],
             $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])",
        &[
            &rows.iter().map(|r| r.tree).collect::<Vec<_>>(),
            &int(|r| r.seq),
            &int(|r| r.group),
            &int(|r| r.at),
            &rows.iter().map(|r| r.agent).collect::<Vec<_>>(),
            &rows.iter().map(|r| r.session).collect::<Vec<_>>(),
            &int(|r| r.op),
            &int(|r| r.change),
            &opt(|r| r.node),
            &rows.iter().map(|r| r.undo.as_deref()).collect::<Vec<_>>(),
            &opt(|r| r.target),
        ],
    )?;
    Ok(())
}

fn write_nodes(conn: &PostgresConnection, rows: &[PgNewRow]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let int = |column: fn(&PgNewRow) -> i64| rows.iter().map(column).collect::<Vec<_>>();
    let opt = |column: fn(&PgNewRow) -> Option<i64>| rows.iter().map(column).collect::<Vec<_>>();
    let text = |column: fn(&PgNewRow) -> Option<&str>| rows.iter().map(column).collect::<Vec<_>>();
    conn.execute(
        "INSERT INTO nodes (tree, seq, id, local_id, parent, depth, kind, author, author_type, role, created_at, hash, session,
             turn, edited_from, version_of, tokens, interrupted, purged_at, tool_call_id, tool_name, tool_calls, metadata,
             content, raw)
         SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
             $8::uuid[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::uuid[], $14::bigint[], $15::bigint[],
             $16::bigint[], $17::bigint[], $18::boolean[], $19::bigint[], $20::text[], $21::text[], $22::text[], $23::text[],
             $24::text[], $25::text[])",
        &[
            &rows.iter().map(|r| r.place.tree).collect::<Vec<_>>(),
            &int(|r| r.place.seq),
            &rows.iter().map(|r| Uuid::from(r.node.id)).collect::<Vec<_>>(),
            &rows.iter().map(|r| r.local.as_str()).collect::<Vec<_>>(),
            &opt(|r| r.place.parent),
            &int(|r| r.place.depth),
            &int(|r| r.node.kind.code()),
            &rows.iter().map(|r| Uuid::from(r.node.author)).collect::<Vec<_>>(),
            &int(|r| r.node.author_type.code()),
            &opt(|r| r.node.role.map(|role| role.code())),
            &int(|r| r.node.created_at.as_millis()),
            &rows.iter().map(|r| r.place.hash.to_bytes().to_vec()).collect::<Vec<_>>(),
            &rows.iter().map(|r| r.session.map(|s| s.0)).collect::<Vec<_>>(),
            &opt(|r| r.session.map(|s| s.1)),
            &opt(|r| r.place.edited_from),
            &opt(|r| r.place.version_of),
            &opt(|r| r.node.tokens.map(i64::from)),
            &rows.iter().map(|r| r.node.interrupted).collect::<Vec<_>>(),
            &opt(|r| r.node.purged_at.map(Timestamp::as_millis)),
            &text(|r| r.node.tool.call_id.as_deref()),
            &text(|r| r.node.tool.name.as_deref()),
            &text(|r| r.node.tool.calls.as_ref().map(Json::as_str)),
            &text(|r| r.node.metadata.as_ref().map(Json::as_str)),
            &text(|r| Some(r.node.content.as_str())),
            &text(|r| r.node.raw.as_deref()),
        ],
    )?;
    for row in rows {
        if let Some(envelope) = &row.node.provenance {
            let packed = envelope::pack(envelope.as_str()).map_err(|e| StoreError::Io { detail: e.to_string() })?;
            let sql = "INSERT INTO provenance (tree, node, envelope) VALUES ($1, $2, $3)";
            conn.execute(sql, &[&row.place.tree, &row.place.seq, &packed])?;
        }
        if let Some(source) = &row.node.source {
            let sql = "INSERT INTO sources (source, tree, node) VALUES ($1, $2, $3)";
            conn.execute(sql, &[source, &row.place.tree, &row.place.seq])?;
        }
    }
    Ok(())
}
