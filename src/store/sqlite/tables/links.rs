//! Statements of the table `links`. A removed link is only marked, so that it can be restored.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::nodes;
use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, TreeId},
    store::{Result, StoreError},
    types::{Link, LinkTarget, Timestamp},
};

/// Row numbers of a link's target: node, tree or document, and the section.
pub(in crate::store::sqlite) struct Target<'a> {
    pub(in crate::store::sqlite) node: Option<i64>,
    pub(in crate::store::sqlite) tree: Option<i64>,
    pub(in crate::store::sqlite) document: Option<i64>,
    pub(in crate::store::sqlite) section: Option<&'a str>,
}

pub(in crate::store::sqlite) fn insert(
    conn: &Connection,
    link: &Link,
    source: i64,
    target: &Target<'_>,
    author: i64,
) -> Result<()> {
    let twice: bool = conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM links WHERE source = ?1 AND target_node IS ?2 AND target_tree IS ?3
             AND target_document IS ?4 AND section IS ?5 AND removed = 0)",
        params![source, target.node, target.tree, target.document, target.section],
        |r| r.get(0),
    )?;
    if twice {
        return Err(StoreError::Conflict("these two are linked already".to_owned()));
    }
    conn.execute(
        "INSERT INTO links (ulid, source, target_node, target_tree, target_document, section, note, author, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            link.id.to_bytes(),
            source,
            target.node,
            target.tree,
            target.document,
            target.section,
            link.note,
            author,
            link.created_at.as_millis()
        ],
    )?;
    count(conn, source, target.node, 1)
}

/// Marks a link as removed or restores it; returns its source, or `None` if nothing changed.
pub(in crate::store::sqlite) fn set_removed(conn: &Connection, id: LinkId, removed: bool) -> Result<Option<i64>> {
    let (row, source, target, was): (i64, i64, Option<i64>, bool) = conn
        .query_row("SELECT id, source, target_node, removed FROM links WHERE ulid = ?1", [id.to_bytes()], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })
        .optional()?
        .ok_or_else(|| StoreError::not_found("link", id))?;
    if was == removed {
        return Ok(None);
    }
    conn.execute("UPDATE links SET removed = ?2 WHERE id = ?1", params![row, removed])?;
    count(conn, source, target, if removed { -1 } else { 1 })?;
    Ok(Some(source))
}

/// Counts a link at both of its nodes, once if they are the same.
fn count(conn: &Connection, source: i64, target: Option<i64>, by: i64) -> Result<()> {
    for end in [Some(source), target.filter(|t| *t != source)].into_iter().flatten() {
        nodes::ensure_state(conn, end)?;
        conn.execute("UPDATE node_state SET links = links + ?2 WHERE node = ?1", [end, by])?;
    }
    Ok(())
}

const LINK: &str =
    "SELECT l.ulid, s.ulid, tn.ulid, tt.ulid, td.ulid, l.section, l.note, a.ulid, l.created_at, l.removed
    FROM links l JOIN nodes s ON s.seq = l.source JOIN agents a ON a.id = l.author
    LEFT JOIN nodes tn ON tn.seq = l.target_node LEFT JOIN trees tt ON tt.id = l.target_tree
    LEFT JOIN documents td ON td.id = l.target_document";

fn read(row: &Row<'_>) -> rusqlite::Result<(Link, bool)> {
    let node: Option<[u8; 16]> = row.get(2)?;
    let tree: Option<[u8; 16]> = row.get(3)?;
    let target = match (node, tree) {
        (Some(node), _) => LinkTarget::Node(NodeId::from_bytes(node)),
        (None, Some(tree)) => LinkTarget::Tree(TreeId::from_bytes(tree)),
        (None, None) => LinkTarget::Document { id: DocumentId::from_bytes(row.get(4)?), section: row.get(5)? },
    };
    let link = Link {
        id: LinkId::from_bytes(row.get(0)?),
        source: NodeId::from_bytes(row.get(1)?),
        target,
        note: row.get(6)?,
        author: AgentId::from_bytes(row.get(7)?),
        created_at: Timestamp::from_millis(row.get(8)?),
    };
    Ok((link, row.get(9)?))
}

pub(in crate::store::sqlite) fn get(conn: &Connection, id: LinkId) -> Result<Option<(Link, bool)>> {
    Ok(conn.query_row(&format!("{LINK} WHERE l.ulid = ?1"), [id.to_bytes()], read).optional()?)
}

/// Lists the links from and to a node, without removed ones.
pub(in crate::store::sqlite) fn list(conn: &Connection, node: i64) -> Result<Vec<Link>> {
    let mut statement = conn.prepare_cached(&format!(
        "{LINK} WHERE (l.source = ?1 OR l.target_node = ?1) AND l.removed = 0 ORDER BY l.id"
    ))?;
    let links = statement.query_map([node], |r| Ok(read(r)?.0))?.collect::<rusqlite::Result<_>>()?;
    Ok(links)
}
