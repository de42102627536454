//! Statements of the tables `trees` and `tree_state`.

use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{journal::TreeCountDelta, staged_nodes::UNSTAGED, visibility_marks::HIDDEN_BY};
use crate::{
    id::{NodeId, TreeId},
    store::{MAX_TITLE_CHARS, Result, StoreError, TreeFilter, sqlite::decode},
    types::{EdgeKind, Mode, NewTree, Timestamp, Tree, TreeCounts, TreePatch, WorkItem, first_words},
};

pub(in crate::store::sqlite) fn insert(conn: &Connection, tree: &NewTree) -> Result<i64> {
    conn.execute(
        "INSERT INTO trees (ulid, title, description, mode, system_context, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            tree.id.to_bytes(),
            tree.title,
            tree.description,
            tree.mode.code(),
            tree.system_context,
            tree.created_at.as_millis()
        ],
    )?;
    let row = conn.last_insert_rowid();
    conn.execute(
        "INSERT INTO tree_state (tree, updated_at) VALUES (?1, ?2)",
        params![row, tree.created_at.as_millis()],
    )?;
    Ok(row)
}

pub(in crate::store::sqlite) fn row(conn: &Connection, id: TreeId) -> Result<i64> {
    find(conn, id)?.ok_or_else(|| StoreError::not_found("tree", id))
}

pub(in crate::store::sqlite) fn find(conn: &Connection, id: TreeId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT id FROM trees WHERE ulid = ?1")?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?)
}

/// Updates a tree's text columns; returns the inverse patch.
pub(in crate::store::sqlite) fn update(conn: &Connection, row: i64, patch: &TreePatch) -> Result<TreePatch> {
    let (title, description, system_context): (Option<String>, Option<String>, Option<String>) =
        conn.query_row("SELECT title, description, system_context FROM trees WHERE id = ?1", [row], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?))
        })?;
    let before = TreePatch {
        title: patch.title.as_ref().map(|_| title.clone()),
        description: patch.description.as_ref().map(|_| description.clone()),
        system_context: patch.system_context.as_ref().map(|_| system_context.clone()),
    };
    conn.execute(
        "UPDATE trees SET title = ?2, description = ?3, system_context = ?4 WHERE id = ?1",
        params![
            row,
            patch.title.clone().unwrap_or(title),
            patch.description.clone().unwrap_or(description),
            patch.system_context.clone().unwrap_or(system_context)
        ],
    )?;
    Ok(before)
}

/// Assigns a tree to a session's work item, if it has one. Fails if the tree belongs to another.
pub(in crate::store::sqlite) fn assign_work_item(conn: &Connection, row: i64, item: Option<&WorkItem>) -> Result<()> {
    let Some(item) = item else { return Ok(()) };
    let before = self::item(conn, row)?;
    if before.as_ref().is_some_and(|before| before != item) {
        return Err(StoreError::Conflict("the tree belongs to another work item".to_owned()));
    }
    conn.execute(
        "UPDATE trees SET project = ?2, external_ref = ?3 WHERE id = ?1",
        params![row, item.project, item.external_ref],
    )?;
    Ok(())
}

/// The work item of a tree.
pub(in crate::store::sqlite) fn item(conn: &Connection, row: i64) -> Result<Option<WorkItem>> {
    Ok(conn
        .prepare_cached("SELECT project, external_ref FROM trees WHERE id = ?1")?
        .query_row([row], |r| decode::item(r, 0))?)
}

/// Archives a tree or restores it; returns `false` if nothing changed.
pub(in crate::store::sqlite) fn set_archived(
    conn: &Connection,
    row: i64,
    archived: bool,
    at: Timestamp,
) -> Result<bool> {
    let changed = conn.execute(
        "UPDATE trees SET archived_at = CASE WHEN ?2 THEN ?3 END WHERE id = ?1 AND (archived_at IS NOT NULL) <> ?2",
        params![row, archived, at.as_millis()],
    )?;
    Ok(changed > 0)
}

/// The stored counts of a tree.
pub(in crate::store::sqlite) fn counts(conn: &Connection, row: i64) -> Result<TreeCounts> {
    Ok(conn
        .prepare_cached("SELECT nodes, messages, leaves, branch_points, max_depth FROM tree_state WHERE tree = ?1")?
        .query_row([row], |r| read_counts(r, 0))?)
}

/// The counts in five columns from `at` on: nodes, messages, leaves, branch points, depth.
pub(in crate::store::sqlite) fn read_counts(row: &Row<'_>, at: usize) -> rusqlite::Result<TreeCounts> {
    Ok(TreeCounts {
        nodes: row.get(at)?,
        messages: row.get(at + 1)?,
        leaves: row.get(at + 2)?,
        branch_points: row.get(at + 3)?,
        max_depth: row.get(at + 4)?,
    })
}

pub(in crate::store::sqlite) fn set_counts(conn: &Connection, row: i64, counts: TreeCounts) -> Result<()> {
    conn.prepare_cached(
        "UPDATE tree_state SET nodes = ?2, leaves = ?3, branch_points = ?4, max_depth = ?5, messages = ?6 WHERE tree = ?1",
    )?
    .execute(params![row, counts.nodes, counts.leaves, counts.branch_points, counts.max_depth, counts.messages])?;
    Ok(())
}

/// Adds a visible node's contribution to the counts.
pub(in crate::store::sqlite) fn add(conn: &Connection, row: i64, added: &TreeCountDelta) -> Result<()> {
    conn.prepare_cached(
        "UPDATE tree_state SET nodes = nodes + ?2, leaves = leaves + ?3, branch_points = branch_points + ?4,
             max_depth = max(max_depth, ?5), messages = messages + ?6 WHERE tree = ?1",
    )?
    .execute(params![row, added.nodes, added.leaves, added.branch_points, added.depth, added.messages])?;
    Ok(())
}

/// The depth of the deepest visible node, of one kind or of any; 0 without one.
pub(in crate::store::sqlite) fn deepest(conn: &Connection, row: i64, kind: Option<EdgeKind>) -> Result<u32> {
    Ok(conn
        .query_row(
            &format!(
                "SELECT n.depth FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
             WHERE n.tree = ?1 AND (?2 IS NULL OR +n.kind = ?2) AND {HIDDEN_BY} IS NULL AND {UNSTAGED}
             ORDER BY n.depth DESC LIMIT 1"
            ),
            params![row, kind.map(EdgeKind::code)],
            |r| r.get(0),
        )
        .optional()?
        .unwrap_or(0))
}

const TREE: &str =
    "SELECT t.ulid, t.title, t.description, t.mode, t.system_context, su.content, t.created_at, s.updated_at,
    t.archived_at, r.ulid,
    coalesce(nullif(substr(r.content, 1, 400), ''), (SELECT substr(c.content, 1, 400) FROM nodes c
        WHERE c.tree = t.id AND c.depth = 1 ORDER BY c.seq LIMIT 1)), s.nodes, s.messages, s.leaves,
    s.branch_points, s.max_depth, t.id, t.project, t.external_ref
    FROM trees t JOIN tree_state s ON s.tree = t.id LEFT JOIN nodes r ON r.tree = t.id AND r.depth = 0
    LEFT JOIN summaries su ON su.tree = t.id";

fn read(row: &Row<'_>) -> rusqlite::Result<Tree> {
    let given: Option<String> = row.get(1)?;
    let titled = given.is_some();
    let title = match given {
        Some(title) => title,
        None => match first_words(row.get::<_, Option<String>>(10)?.as_deref().unwrap_or(""), MAX_TITLE_CHARS) {
            words if words.is_empty() => "untitled".to_owned(),
            words => words,
        },
    };
    Ok(Tree {
        id: TreeId::from_bytes(row.get(0)?),
        title,
        titled,
        description: row.get(2)?,
        mode: decode::coded(row, 3, Mode::from_code)?,
        system_context: row.get(4)?,
        summary: row.get(5)?,
        created_at: Timestamp::from_millis(row.get(6)?),
        updated_at: Timestamp::from_millis(row.get(7)?),
        archived_at: row.get::<_, Option<i64>>(8)?.map(Timestamp::from_millis),
        root: row.get::<_, Option<[u8; 16]>>(9)?.map(NodeId::from_bytes),
        counts: read_counts(row, 11)?,
        item: decode::item(row, 17)?,
    })
}

pub(in crate::store::sqlite) fn get(conn: &Connection, id: TreeId) -> Result<Option<Tree>> {
    static BY_ID: LazyLock<String> = LazyLock::new(|| format!("{TREE} WHERE t.ulid = ?1"));
    Ok(conn.prepare_cached(&BY_ID)?.query_row([id.to_bytes()], read).optional()?)
}

pub(in crate::store::sqlite) fn list(conn: &Connection, filter: TreeFilter) -> Result<Vec<Tree>> {
    let mut statement = conn.prepare_cached(&format!(
        "{TREE} WHERE ?1 OR t.archived_at IS NULL ORDER BY s.updated_at DESC, t.id DESC LIMIT ?2"
    ))?;
    let limit = if filter.limit == 0 { -1 } else { i64::from(filter.limit) };
    let trees = statement.query_map(params![filter.archived, limit], read)?.collect::<rusqlite::Result<_>>()?;
    Ok(trees)
}
