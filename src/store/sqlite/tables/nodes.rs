//! Statements of the tables `nodes` and `node_state`.

use std::borrow::Cow;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::{
    staged_nodes::UNSTAGED,
    visibility_marks::{HIDDEN_BY, hidden_by},
};
use crate::{
    id::{LocalId, NodeId},
    store::{
        Result, StoreError,
        choose_local_id::longer_local_id,
        sqlite::{
            decode,
            insert::{MultiInsert, in_order},
            local_ids,
            row_checksums::RowSum,
        },
    },
    types::{AuthorType, ContentHash, EdgeKind, Json, NewNode, Timestamp},
};

/// The immutable columns of a node that appending a child needs.
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
        kind: decode::coded(row, 4, EdgeKind::from_code)?,
        hash: decode::hash(row, 5)?,
        version_of: row.get(6)?,
    })
}

/// Finds a node by id. Nodes of unfinished copies are found only if `staged`.
pub(in crate::store::sqlite) fn find(conn: &Connection, id: NodeId, staged: bool) -> Result<Option<Anchor>> {
    let mut statement = conn.prepare_cached(&format!("{ANCHOR} n WHERE ulid = ?1 AND (?2 OR {UNSTAGED})"))?;
    Ok(statement.query_row(params![id.to_bytes(), staged], read).optional()?)
}

pub(in crate::store::sqlite) fn anchor(conn: &Connection, row: i64) -> Result<Anchor> {
    Ok(conn.prepare_cached(&format!("{ANCHOR} WHERE seq = ?1"))?.query_row([row], read)?)
}

/// The row number of a node's author.
pub(in crate::store::sqlite) fn author(conn: &Connection, row: i64) -> Result<i64> {
    Ok(conn.prepare_cached("SELECT author FROM nodes WHERE seq = ?1")?.query_row([row], |r| r.get(0))?)
}

/// The role of a node.
pub(in crate::store::sqlite) fn role(conn: &Connection, row: i64) -> Result<AuthorType> {
    let mut statement = conn.prepare_cached("SELECT ifnull(role, author_type) FROM nodes WHERE seq = ?1")?;
    Ok(statement.query_row([row], |row| decode::coded(row, 0, AuthorType::from_code))?)
}

/// The columns of a message that a session receives.
pub(in crate::store::sqlite) struct ReceivedMessage {
    pub(in crate::store::sqlite) session: Option<i64>,
    pub(in crate::store::sqlite) role: AuthorType,
    pub(in crate::store::sqlite) tokens: Option<u32>,
    pub(in crate::store::sqlite) content: String,
    pub(in crate::store::sqlite) hidden: bool,
}

/// Reads a node as a message.
pub(in crate::store::sqlite) fn message(conn: &Connection, row: i64) -> Result<ReceivedMessage> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT n.session, ifnull(n.role, n.author_type), n.tokens, n.content, {HIDDEN_BY} IS NOT NULL
         FROM nodes n LEFT JOIN node_state s ON s.node = n.seq WHERE n.seq = ?1"
    ))?;
    Ok(statement.query_row([row], |r| {
        let role = decode::coded(r, 1, AuthorType::from_code)?;
        Ok(ReceivedMessage { session: r.get(0)?, role, tokens: r.get(2)?, content: r.get(3)?, hidden: r.get(4)? })
    })?)
}

/// Number of local ids in the table of newest ones before they move to the main table in one batch, which then changes
/// each page once.
const MAX_NEWEST_IDS: i64 = 32_768;

/// A node to be inserted, with the columns that the store computes.
pub(in crate::store::sqlite) struct NewRow<'a> {
    pub(in crate::store::sqlite) node: Cow<'a, NewNode>,
    /// Its row number: the next one.
    pub(in crate::store::sqlite) row: i64,
    /// Its preferred local id.
    pub(in crate::store::sqlite) local: LocalId,
    pub(in crate::store::sqlite) tree: i64,
    pub(in crate::store::sqlite) parent: Option<i64>,
    pub(in crate::store::sqlite) depth: u32,
    pub(in crate::store::sqlite) author: i64,
    pub(in crate::store::sqlite) hash: ContentHash,
    pub(in crate::store::sqlite) session: Option<(i64, u64)>,
    pub(in crate::store::sqlite) edited_from: Option<i64>,
    pub(in crate::store::sqlite) version_of: Option<i64>,
}

/// Row number of the newest node, 0 if there is none.
pub(in crate::store::sqlite) fn last(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("SELECT ifnull(max(seq), 0) FROM nodes")?.query_row([], |r| r.get(0))?)
}

/// Inserts nodes, each with the shortest local id that is free in its tree.
pub(in crate::store::sqlite) fn insert(conn: &Connection, rows: &mut [NewRow<'_>]) -> Result<()> {
    let [first, ..] = rows else { return Ok(()) };
    let before = first.row - 1;
    // Local ids rarely collide, so the insert is tried first; a unique constraint refuses a collision.
    if let Err(error) = try_insert(conn, rows) {
        if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
            return Err(error.into());
        }
        let there = usize::try_from(last(conn)? - before).unwrap_or_default();
        for row in rows.iter_mut().skip(there) {
            insert_longer(conn, row)?;
        }
    }
    let last = rows.last().map_or(before, |row| row.row);
    in_order(conn, Some(last))?;
    if last / MAX_NEWEST_IDS != before / MAX_NEWEST_IDS { local_ids::move_newest(conn) } else { Ok(()) }
}

/// Inserts a node with a longer local id if its preferred one is taken.
fn insert_longer(conn: &Connection, row: &mut NewRow<'_>) -> Result<()> {
    while let Err(error) = try_insert(conn, std::slice::from_ref(row)) {
        if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation)
            || !local_ids::is_taken(conn, row.tree, &row.local)?
        {
            return Err(error.into());
        }
        row.local = longer_local_id(&row.node, &row.local)?;
    }
    Ok(())
}

fn try_insert(conn: &Connection, rows: &[NewRow<'_>]) -> rusqlite::Result<()> {
    static STATEMENT: MultiInsert = MultiInsert::new(
        "INSERT OR FAIL INTO nodes (ulid, tree, local_id, parent, depth, kind, author, author_type, created_at, hash, session,
             turn, edited_from, version_of, tokens, interrupted, tool_call_id, tool_name, tool_calls, metadata, content, raw,
             purged_at, role, row_sum)",
        25,
    );
    STATEMENT.run(conn, rows, |new, row| {
        let node = &new.node;
        row.add(&node.id.to_bytes())?;
        row.add(&new.tree)?;
        row.add(&new.local.as_str())?;
        row.add(&new.parent)?;
        row.add(&new.depth)?;
        row.add(&node.kind.code())?;
        row.add(&new.author)?;
        row.add(&node.author_type.code())?;
        row.add(&node.created_at.as_millis())?;
        row.add(&new.hash.to_bytes())?;
        row.add(&new.session.map(|s| s.0))?;
        row.add(&new.session.map(|s| s.1))?;
        row.add(&new.edited_from)?;
        row.add(&new.version_of)?;
        row.add(&node.tokens)?;
        row.add(&node.interrupted)?;
        row.add(&node.tool.call_id)?;
        row.add(&node.tool.name)?;
        row.add(&node.tool.calls.as_ref().map(Json::as_str))?;
        row.add(&node.metadata.as_ref().map(Json::as_str))?;
        row.add(&node.content)?;
        row.add(&node.raw)?;
        row.add(&node.purged_at.map(Timestamp::as_millis))?;
        row.add(&node.role.map(|role| role.code()))?;
        row.add(&row_sum(new)?)
    })
}

/// The checksum of a node: every column in the order of the table, except the content.
fn row_sum(new: &NewRow<'_>) -> rusqlite::Result<i64> {
    let (node, mut sum) = (&new.node, RowSum::default());
    sum.add(&new.row)?;
    sum.add(&node.id.to_bytes())?;
    sum.add(&new.tree)?;
    sum.add(&new.local.as_str())?;
    sum.add(&new.parent)?;
    sum.add(&new.depth)?;
    sum.add(&node.kind.code())?;
    sum.add(&new.author)?;
    sum.add(&node.author_type.code())?;
    sum.add(&node.created_at.as_millis())?;
    sum.add(&new.hash.to_bytes())?;
    sum.add(&new.session.map(|s| s.0))?;
    sum.add(&new.session.map(|s| s.1))?;
    sum.add(&new.edited_from)?;
    sum.add(&new.version_of)?;
    sum.add(&node.tokens)?;
    sum.add(&node.interrupted)?;
    sum.add(&node.purged_at.map(Timestamp::as_millis))?;
    sum.add(&node.tool.call_id)?;
    sum.add(&node.tool.name)?;
    sum.add(&node.tool.calls.as_ref().map(Json::as_str))?;
    sum.add(&node.metadata.as_ref().map(Json::as_str))?;
    sum.add(&node.raw)?;
    sum.add(&node.role.map(|role| role.code()))?;
    Ok(sum.finish())
}

/// SQL for the number of continuations (0 or 1) of a node `n` without a row in `node_state`.
///
/// A row is created when it holds information. An only child with its parent's visibility needs none, so a linear
/// conversation writes one page less per message. Code that creates a row must set its counts.
pub(in crate::store::sqlite) const ONLY_CHILD: &str = "(SELECT count(*) FROM nodes c
    WHERE c.tree = n.tree AND c.depth = n.depth + 1 AND c.parent = n.seq AND c.kind = 0)";

/// Deletes the rows of `node_state` that hold no information.
#[cfg(feature = "postgres")]
pub(in crate::store::sqlite) fn delete_needless_states(conn: &Connection) -> Result<()> {
    let sql = format!(
        "DELETE FROM node_state WHERE (annotations, links, versions, bookmarked, excluded) = (0, 0, 0, 0, 0)
             AND hidden_by IS NULL AND continuations = (SELECT {ONLY_CHILD} FROM nodes n WHERE n.seq = node)
             AND continuations < 2"
    );
    conn.execute(&sql, [])?;
    Ok(())
}

/// Creates a node's row in `node_state` if it has none.
pub(in crate::store::sqlite) fn ensure_state(conn: &Connection, node: i64) -> Result<()> {
    conn.prepare_cached(&format!(
        "INSERT OR IGNORE INTO node_state (node, continuations) SELECT seq, {ONLY_CHILD} FROM nodes n WHERE n.seq = ?1"
    ))?
    .execute([node])?;
    Ok(())
}

/// The statements that read and update a parent's count of children of a kind.
fn counted(kind: EdgeKind) -> Option<[&'static str; 2]> {
    macro_rules! statements {
        ($column:literal) => {
            Some([
                concat!("SELECT s.", $column, ", ", hidden_by!("s"), " FROM node_state s WHERE s.node = ?1"),
                concat!("UPDATE node_state SET ", $column, " = ?2 WHERE node = ?1"),
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

/// Updates the parent's count when a child of `kind` is added, hidden or shown. Returns the count (0 for kinds without
/// count) and the parent's `hidden_by`.
pub(in crate::store::sqlite) fn count_child(
    conn: &Connection,
    node: i64,
    kind: EdgeKind,
    by: i64,
) -> Result<(i64, Option<i64>)> {
    let Some([read, change]) = counted(kind) else { return Ok((0, hidden_by(conn, node)?)) };
    let read = || -> Result<Option<(i64, Option<i64>)>> {
        Ok(conn.prepare_cached(read)?.query_row([node], |r| Ok((r.get(0)?, r.get(1)?))).optional()?)
    };
    let kept = match read()? {
        Some(kept) => kept,
        None => {
            ensure_state(conn, node)?;
            read()?.ok_or_else(|| StoreError::Undecodable(format!("node {node} is missing")))?
        }
    };
    let count = kept.0 + by;
    conn.prepare_cached(change)?.execute([node, count])?;
    Ok((count, kept.1))
}

/// Counts a continuation `child` that is about to be inserted at `parent`. The first one needs no row in `node_state`.
/// Returns the new count and the parent's `hidden_by`.
pub(in crate::store::sqlite) fn count_continuation(
    conn: &Connection,
    parent: i64,
    child: &Anchor,
) -> Result<(i64, Option<i64>)> {
    let (kept, hidden, there): (Option<i64>, Option<i64>, i64) = conn
        .prepare_cached(concat!(
            "SELECT s.continuations, ",
            hidden_by!("s"),
            ", CASE WHEN s.node IS NULL THEN
                     (SELECT count(*) FROM nodes WHERE tree = ?2 AND depth = ?3 AND parent = ?1 AND kind = 0) END
                 FROM (SELECT ?1 AS node) p LEFT JOIN node_state s ON s.node = p.node"
        ))?
        .query_row(params![parent, child.tree, child.depth], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get::<_, Option<i64>>(2)?.unwrap_or(0)))
        })?;
    let count = kept.unwrap_or(there) + 1;
    if kept.is_some() {
        conn.prepare_cached("UPDATE node_state SET continuations = ?2 WHERE node = ?1")?.execute([parent, count])?;
    } else if count > 1 {
        start_count(conn, parent, count)?;
    }
    Ok((count, hidden))
}

/// Creates a node's row in `node_state` with its number of continuations.
pub(in crate::store::sqlite) fn start_count(conn: &Connection, node: i64, continuations: i64) -> Result<()> {
    conn.prepare_cached("INSERT INTO node_state (node, continuations) VALUES (?1, ?2)")?
        .execute([node, continuations])?;
    Ok(())
}

/// The `hidden_by` of a node.
pub(in crate::store::sqlite) fn hidden_by(conn: &Connection, node: i64) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached(concat!("SELECT ", hidden_by!("s"), " FROM node_state s WHERE s.node = ?1"))?
        .query_row([node], |r| r.get(0))
        .optional()?
        .flatten())
}

/// Sets the `hidden_by` of a node, which may be about to be inserted.
pub(in crate::store::sqlite) fn set_hidden(conn: &Connection, node: i64, by: Option<i64>) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO node_state (node, hidden_by) VALUES (?1, ?2)
         ON CONFLICT (node) DO UPDATE SET hidden_by = excluded.hidden_by",
    )?
    .execute(params![node, by])?;
    Ok(())
}

/// Excludes a node from contexts or includes it; returns `false` if nothing changed.
pub(in crate::store::sqlite) fn set_excluded(conn: &Connection, node: i64, excluded: bool) -> Result<bool> {
    let was: bool = conn
        .query_row("SELECT excluded FROM node_state WHERE node = ?1", [node], |r| r.get(0))
        .optional()?
        .unwrap_or(false);
    if was != excluded {
        ensure_state(conn, node)?;
        conn.execute("UPDATE node_state SET excluded = ?2 WHERE node = ?1", params![node, excluded])?;
    }
    Ok(was != excluded)
}
