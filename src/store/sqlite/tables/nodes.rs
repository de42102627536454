//! Nodes and what changes about them.

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::{
    id::{LocalId, NodeId},
    model::{ContentHash, EdgeKind, Json, NewNode, Timestamp},
    store::{Result, StoreError, sqlite::rows},
};

/// What never changes about a node and is needed to hang another one on it.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::sqlite) struct Anchor {
    pub(in crate::store::sqlite) row: i64,
    pub(in crate::store::sqlite) tree: i64,
    pub(in crate::store::sqlite) parent: Option<i64>,
    pub(in crate::store::sqlite) depth: u32,
    pub(in crate::store::sqlite) kind: EdgeKind,
    pub(in crate::store::sqlite) hash: ContentHash,
    pub(in crate::store::sqlite) version_of: Option<i64>,
}

const ANCHOR: &str = "SELECT seq, tree, parent, depth, kind, hash, version_of FROM nodes";

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Anchor> {
    Ok(Anchor {
        row: row.get(0)?,
        tree: row.get(1)?,
        parent: row.get(2)?,
        depth: row.get(3)?,
        kind: rows::coded(row, 4, EdgeKind::from_code)?,
        hash: ContentHash::from_bytes(row.get(5)?),
        version_of: row.get(6)?,
    })
}

pub(in crate::store::sqlite) fn find(conn: &Connection, id: NodeId) -> Result<Option<Anchor>> {
    Ok(conn.prepare_cached(&format!("{ANCHOR} WHERE ulid = ?1"))?.query_row([id.to_bytes()], read).optional()?)
}

pub(in crate::store::sqlite) fn anchor(conn: &Connection, row: i64) -> Result<Anchor> {
    Ok(conn.prepare_cached(&format!("{ANCHOR} WHERE seq = ?1"))?.query_row([row], read)?)
}

/// A node to be inserted, with what the store adds.
pub(in crate::store::sqlite) struct Insert<'a> {
    pub(in crate::store::sqlite) node: &'a NewNode,
    pub(in crate::store::sqlite) tree: i64,
    pub(in crate::store::sqlite) parent: Option<i64>,
    pub(in crate::store::sqlite) depth: u32,
    pub(in crate::store::sqlite) author: i64,
    pub(in crate::store::sqlite) hash: ContentHash,
    pub(in crate::store::sqlite) session: Option<(i64, u64)>,
    pub(in crate::store::sqlite) edited_from: Option<i64>,
    pub(in crate::store::sqlite) version_of: Option<i64>,
}

/// Inserts a node under the shortest local id that is free in its tree; returns its row and that id.
pub(in crate::store::sqlite) fn insert(conn: &Connection, insert: &Insert<'_>) -> Result<(i64, LocalId)> {
    let mut local = insert.node.local.clone().unwrap_or_else(|| LocalId::derive(insert.node.id, 6));
    // Rarely is an id taken, so the row is tried first; the table's own rules refuse it if it is.
    while let Err(error) = try_insert(conn, insert, &local) {
        if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) || !local_taken(conn, insert.tree, &local)?
        {
            return Err(error.into());
        }
        let longer = if insert.node.local.as_ref() == Some(&local) { 6 } else { local.len() + 1 };
        if longer > 16 {
            return Err(StoreError::Conflict(format!("node {} is there already", insert.node.id)));
        }
        local = LocalId::derive(insert.node.id, longer);
    }
    Ok((conn.last_insert_rowid(), local))
}

fn try_insert(conn: &Connection, insert: &Insert<'_>, local: &str) -> rusqlite::Result<usize> {
    let node = insert.node;
    conn.prepare_cached(
        "INSERT OR FAIL INTO nodes (ulid, tree, local_id, parent, depth, kind, author, author_type, created_at, hash, session,
             turn, edited_from, version_of, tokens, interrupted, tool_call_id, tool_name, tool_calls, metadata, content, raw,
             purged_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
    )?
    .execute(params![
        node.id.to_bytes(),
        insert.tree,
        local,
        insert.parent,
        insert.depth,
        node.kind.code(),
        insert.author,
        node.author_type.code(),
        node.created_at.as_millis(),
        insert.hash.as_bytes(),
        insert.session.map(|s| s.0),
        insert.session.map(|s| s.1),
        insert.edited_from,
        insert.version_of,
        node.tokens,
        node.interrupted,
        node.tool.call_id,
        node.tool.name,
        node.tool.calls.as_ref().map(Json::as_str),
        node.metadata.as_ref().map(Json::as_str),
        node.content,
        node.raw,
        node.purged_at.map(Timestamp::as_millis)
    ])
}

fn local_taken(conn: &Connection, tree: i64, local: &str) -> Result<bool> {
    Ok(conn.prepare_cached("SELECT 1 FROM nodes WHERE tree = ?1 AND local_id = ?2")?.exists(params![tree, local])?)
}

/// The statements that read, change and start the count which children of a kind have at their parent. (An upsert with
/// RETURNING is one statement and costs more than these three.)
fn counted(kind: EdgeKind) -> Option<[&'static str; 3]> {
    macro_rules! statements {
        ($column:literal) => {
            Some([
                concat!("SELECT ", $column, ", hidden_by FROM node_state WHERE node = ?1"),
                concat!("UPDATE node_state SET ", $column, " = ?2 WHERE node = ?1"),
                concat!("INSERT INTO node_state (node, ", $column, ") VALUES (?1, ?2)"),
            ])
        };
    }
    match kind {
        EdgeKind::Continuation => statements!("continuations"),
        EdgeKind::Annotation => statements!("annotations"),
        EdgeKind::Version => statements!("versions"),
        EdgeKind::Context | EdgeKind::Instruction | EdgeKind::Tool | EdgeKind::Thought => None,
    }
}

/// Adds `by` to the count that children of `kind` have at `node`. Returns that count (0 for kinds that are not
/// counted) and what hides the node.
pub(in crate::store::sqlite) fn count_child(
    conn: &Connection,
    node: i64,
    kind: EdgeKind,
    by: i64,
) -> Result<(i64, Option<i64>)> {
    let Some([read, change, start]) = counted(kind) else { return Ok((0, hidden_by(conn, node)?)) };
    let kept: Option<(i64, Option<i64>)> =
        conn.prepare_cached(read)?.query_row([node], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
    let count = kept.map_or(0, |k| k.0) + by;
    conn.prepare_cached(if kept.is_some() { change } else { start })?.execute([node, count])?;
    Ok((count, kept.and_then(|k| k.1)))
}

/// What hides a node.
pub(in crate::store::sqlite) fn hidden_by(conn: &Connection, node: i64) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT hidden_by FROM node_state WHERE node = ?1")?
        .query_row([node], |r| r.get(0))
        .optional()?
        .flatten())
}

/// Says what hides a node that was just added.
pub(in crate::store::sqlite) fn set_hidden(conn: &Connection, node: i64, by: i64) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO node_state (node, hidden_by) VALUES (?1, ?2)
         ON CONFLICT (node) DO UPDATE SET hidden_by = excluded.hidden_by",
    )?
    .execute([node, by])?;
    Ok(())
}

/// Keeps a node out of contexts, or lets it in; `false` if it was so already.
pub(in crate::store::sqlite) fn set_excluded(conn: &Connection, node: i64, excluded: bool) -> Result<bool> {
    let was: bool = conn
        .query_row("SELECT excluded FROM node_state WHERE node = ?1", [node], |r| r.get(0))
        .optional()?
        .unwrap_or(false);
    if was != excluded {
        conn.execute(
            "INSERT INTO node_state (node, excluded) VALUES (?1, ?2)
             ON CONFLICT (node) DO UPDATE SET excluded = excluded.excluded",
            params![node, excluded],
        )?;
    }
    Ok(was != excluded)
}
