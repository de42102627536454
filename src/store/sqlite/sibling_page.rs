//! Paged reading of a node's continuations from a cursor. The index of children has their order, so a view of twenty
//! out of a million siblings reads twenty.

use rusqlite::{Connection, params};

use super::{
    decode::{FROM, NODE, NodeRow},
    tables::{
        nodes::{anchor, hidden_by},
        visibility_marks::HIDDEN_BY,
    },
    ulid_cache::UlidCache,
    visibility::{self, row_of},
};
use crate::{
    id::NodeId,
    store::{Result, SiblingCursor},
    types::{EdgeKind, Node},
};

/// Loads at most `most` continuations of a node.
pub(super) fn list(conn: &Connection, of: NodeId, from: SiblingCursor, most: u32) -> Result<Vec<Node>> {
    let Some(row) = row_of(conn, of)? else {
        return Ok(Vec::new());
    };
    let at = visibility::original_of(conn, anchor(conn, row)?)?;
    // Inside a pruned branch, children with the same `hidden_by` count as visible.
    let hidden = hidden_by(conn, row)?;
    let (seq, sign, order) = match from {
        SiblingCursor::First => (0, ">", "ASC"),
        SiblingCursor::After(seq) => (seq, ">", "ASC"),
        SiblingCursor::Last => (i64::MAX.unsigned_abs(), "<", "DESC"),
        SiblingCursor::Before(seq) => (seq, "<", "DESC"),
    };
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {NODE} {FROM} WHERE n.tree = ?1 AND n.depth = ?2 AND n.parent = ?3 AND n.seq {sign} ?4
             AND +n.kind = ?5 AND ({HIDDEN_BY} IS NULL OR {HIDDEN_BY} IS ?6)
         ORDER BY n.seq {order} LIMIT ?7"
    ))?;
    let kind = EdgeKind::Continuation.code();
    let rows = statement
        .query_map(params![at.tree, at.depth + 1, at.row, seq, kind, hidden, most], NodeRow::read)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    UlidCache::new(conn).finish(rows)
}
