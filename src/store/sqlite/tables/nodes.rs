//! Nodes and what changes about them.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    id::{LocalId, NodeId},
    model::{ContentHash, EdgeKind, NewNode},
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
    let node = insert.node;
    let mut local = match &node.local {
        Some(wanted) if !local_taken(conn, insert.tree, wanted)? => wanted.clone(),
        _ => LocalId::derive(node.id, 6),
    };
    while local_taken(conn, insert.tree, &local)? {
        if local.len() == 16 {
            return Err(StoreError::Conflict(format!("node {} is there already", node.id)));
        }
        local = LocalId::derive(node.id, local.len() + 1);
    }
    conn.prepare_cached(
        "INSERT INTO nodes (ulid, tree, local_id, parent, depth, kind, author, author_type, created_at, hash, session,
             turn, edited_from, version_of, tokens, interrupted, tool_call_id, tool_name, tool_calls, metadata, content, raw)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
    )?
    .execute(params![
        node.id.to_bytes(),
        insert.tree,
        local.as_str(),
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
        node.tool.calls.as_ref().map(crate::model::Json::as_str),
        node.metadata.as_ref().map(crate::model::Json::as_str),
        node.content,
        node.raw
    ])?;
    Ok((conn.last_insert_rowid(), local))
}

fn local_taken(conn: &Connection, tree: i64, local: &str) -> Result<bool> {
    Ok(conn.prepare_cached("SELECT 1 FROM nodes WHERE tree = ?1 AND local_id = ?2")?.exists(params![tree, local])?)
}

/// Which of a node's counts a child of a kind adds to.
fn counted(kind: EdgeKind) -> Option<&'static str> {
    match kind {
        EdgeKind::Continuation => Some(
            "INSERT INTO node_state (node, continuations) VALUES (?1, max(0, ?2)) ON CONFLICT (node)
             DO UPDATE SET continuations = continuations + ?2 RETURNING continuations, hidden_by",
        ),
        EdgeKind::Annotation => Some(
            "INSERT INTO node_state (node, annotations) VALUES (?1, max(0, ?2)) ON CONFLICT (node)
             DO UPDATE SET annotations = annotations + ?2 RETURNING annotations, hidden_by",
        ),
        EdgeKind::Version => Some(
            "INSERT INTO node_state (node, versions) VALUES (?1, max(0, ?2)) ON CONFLICT (node)
             DO UPDATE SET versions = versions + ?2 RETURNING versions, hidden_by",
        ),
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
    match counted(kind) {
        Some(sql) => Ok(conn.prepare_cached(sql)?.query_row([node, by], |r| Ok((r.get(0)?, r.get(1)?)))?),
        None => Ok((0, hidden_by(conn, node)?)),
    }
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
