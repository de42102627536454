//! Statements of the agents' operational memory: the tables of pins, stashes and actions.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    id::{DocumentId, NodeId},
    store::{PriorPlacement, Result, StoreError, sqlite::decode},
    types::{AgentAction, Memory, Pin, PinTarget, Stash, StashContent, StashKind, Timestamp},
};

/// Maximum number of stored actions of an agent in a tree.
const MAX_ACTIONS: u32 = 64;
/// Maximum number of stored results of an agent in a tree.
const MAX_RESULTS: u32 = 8;

/// Row numbers of a pin's target.
pub(in crate::store::sqlite) struct PinRow<'a> {
    pub(in crate::store::sqlite) node: Option<i64>,
    pub(in crate::store::sqlite) document: Option<i64>,
    pub(in crate::store::sqlite) section: Option<&'a str>,
}

/// Start of a query for the row number of a restored row: the former one if it is still free, else null. 0 is no former
/// number.
const FREE_NUMBER: &str = "SELECT nullif(?1, 0) WHERE NOT EXISTS (SELECT 1 FROM";

/// Inserts a pin; returns `false` if it exists.
pub(in crate::store::sqlite) fn pin(
    conn: &Connection,
    agent: i64,
    tree: i64,
    pin: &PinRow<'_>,
    placement: PriorPlacement,
) -> Result<bool> {
    let added = conn.execute(
        &format!(
            "INSERT OR IGNORE INTO pins (id, agent, tree, node, document, section, pinned_at)
             VALUES (({FREE_NUMBER} pins WHERE id = ?1)), ?2, ?3, ?4, ?5, ?6, ?7)"
        ),
        params![placement.number, agent, tree, pin.node, pin.document, pin.section, placement.since.as_millis()],
    )?;
    Ok(added > 0)
}

/// Deletes a pin; returns its placement, or `None` if it did not exist.
pub(in crate::store::sqlite) fn unpin(
    conn: &Connection,
    agent: i64,
    tree: i64,
    pin: &PinRow<'_>,
) -> Result<Option<PriorPlacement>> {
    let gone = conn
        .prepare_cached(
            "DELETE FROM pins WHERE agent = ?1 AND tree = ?2 AND node IS ?3 AND document IS ?4 AND section IS ?5
             RETURNING id, pinned_at",
        )?
        .query_row(params![agent, tree, pin.node, pin.document, pin.section], |row| decode_placement(row, 0))
        .optional()?;
    Ok(gone)
}

fn decode_placement(row: &Row<'_>, at: usize) -> rusqlite::Result<PriorPlacement> {
    Ok(PriorPlacement { number: row.get(at)?, since: Timestamp::from_millis(row.get(at + 1)?) })
}

/// A stash to be inserted.
pub(in crate::store::sqlite) struct NewStash<'a> {
    pub(in crate::store::sqlite) label: &'a str,
    pub(in crate::store::sqlite) content: &'a StashContent,
    pub(in crate::store::sqlite) node: Option<i64>,
    pub(in crate::store::sqlite) tokens: u32,
    pub(in crate::store::sqlite) placement: PriorPlacement,
}

/// Inserts a stash, replacing one of the same label. Deletes the oldest results beyond the maximum.
pub(in crate::store::sqlite) fn stash(conn: &Connection, agent: i64, tree: i64, stash: &NewStash<'_>) -> Result<()> {
    let content = match stash.content {
        StashContent::Words(text) | StashContent::Summary(text) | StashContent::Result(text) => Some(text),
        StashContent::Node(_) => None,
    };
    let kind = stash.content.kind();
    let (number, since) = (stash.placement.number, stash.placement.since.as_millis());
    conn.execute(
        &format!(
            "INSERT OR REPLACE INTO stashes (id, agent, tree, label, kind, node, content, tokens, stashed_at)
             VALUES (({FREE_NUMBER} stashes WHERE id = ?1)), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
        ),
        params![number, agent, tree, stash.label, kind.code(), stash.node, content, stash.tokens, since],
    )?;
    if kind == StashKind::Result {
        conn.execute(
            "DELETE FROM stashes WHERE agent = ?1 AND tree = ?2 AND kind = 3 AND id <= (
                 SELECT id FROM stashes WHERE agent = ?1 AND tree = ?2 AND kind = 3 ORDER BY id DESC LIMIT 1 OFFSET ?3
             )",
            params![agent, tree, MAX_RESULTS],
        )?;
    }
    Ok(())
}

/// Deletes a stash.
pub(in crate::store::sqlite) fn unstash(conn: &Connection, agent: i64, tree: i64, label: &str) -> Result<()> {
    conn.execute(
        "DELETE FROM stashes WHERE agent = ?1 AND tree = ?2 AND label = ?3 AND kind <> 3",
        params![agent, tree, label],
    )?;
    Ok(())
}

/// The token count and the placement of a stash.
pub(in crate::store::sqlite) fn stash_placement(
    conn: &Connection,
    agent: i64,
    tree: i64,
    label: &str,
) -> Result<Option<(u32, PriorPlacement)>> {
    Ok(conn
        .prepare_cached(
            "SELECT tokens, id, stashed_at FROM stashes WHERE agent = ?1 AND tree = ?2 AND label = ?3 AND kind <> 3",
        )?
        .query_row(params![agent, tree, label], |row| Ok((row.get(0)?, decode_placement(row, 1)?)))
        .optional()?)
}

/// Inserts an action and deletes the oldest beyond the maximum.
pub(in crate::store::sqlite) fn add_action(
    conn: &Connection,
    agent: i64,
    tree: i64,
    action: &AgentAction,
    at: Timestamp,
) -> Result<()> {
    conn.execute(
        "INSERT INTO actions (agent, tree, at, after, tool, about) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![agent, tree, at.as_millis(), action.after, action.tool, action.about],
    )?;
    conn.execute(
        "DELETE FROM actions WHERE agent = ?1 AND tree = ?2 AND id <= (
             SELECT id FROM actions WHERE agent = ?1 AND tree = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
         )",
        params![agent, tree, MAX_ACTIONS],
    )?;
    Ok(())
}

/// Loads an agent's operational memory in a tree, without the content of stashes.
pub(in crate::store::sqlite) fn load(conn: &Connection, agent: i64, tree: i64) -> Result<Memory> {
    Ok(Memory {
        pins: pins(conn, agent, tree)?,
        stashes: stashes(conn, agent, tree)?,
        actions: actions(conn, agent, tree)?,
    })
}

fn pins(conn: &Connection, agent: i64, tree: i64) -> Result<Vec<Pin>> {
    let mut statement = conn.prepare_cached(
        "SELECT n.ulid, d.ulid, p.section, p.pinned_at FROM pins p LEFT JOIN nodes n ON n.seq = p.node
             LEFT JOIN documents d ON d.id = p.document WHERE p.agent = ?1 AND p.tree = ?2 ORDER BY p.id",
    )?;
    let read = statement.query_map([agent, tree], |row| {
        let target = match row.get::<_, Option<[u8; 16]>>(0)? {
            Some(node) => PinTarget::Node(NodeId::from_bytes(node)),
            None => PinTarget::Document { id: DocumentId::from_bytes(row.get(1)?), section: row.get(2)? },
        };
        Ok(Pin { target, at: Timestamp::from_millis(row.get(3)?) })
    })?;
    Ok(read.collect::<rusqlite::Result<_>>()?)
}

fn stashes(conn: &Connection, agent: i64, tree: i64) -> Result<Vec<Stash>> {
    let mut statement = conn.prepare_cached(
        "SELECT label, kind, tokens, stashed_at FROM stashes WHERE agent = ?1 AND tree = ?2 AND kind <> 3 ORDER BY id",
    )?;
    let read = statement.query_map([agent, tree], |row| {
        let kind = decode::coded(row, 1, StashKind::from_code)?;
        Ok(Stash { label: row.get(0)?, kind, tokens: row.get(2)?, at: Timestamp::from_millis(row.get(3)?) })
    })?;
    Ok(read.collect::<rusqlite::Result<_>>()?)
}

fn actions(conn: &Connection, agent: i64, tree: i64) -> Result<Vec<AgentAction>> {
    let mut statement =
        conn.prepare_cached("SELECT tool, about, after FROM actions WHERE agent = ?1 AND tree = ?2 ORDER BY id")?;
    let read = statement.query_map([agent, tree], |row| {
        Ok(AgentAction { tool: row.get(0)?, about: row.get(1)?, after: row.get(2)? })
    })?;
    Ok(read.collect::<rusqlite::Result<_>>()?)
}

/// Loads the content under a label, of results or of the agent's own stashes.
pub(in crate::store::sqlite) fn stashed(
    conn: &Connection,
    agent: i64,
    tree: i64,
    label: &str,
    result: bool,
) -> Result<Option<StashContent>> {
    let found = conn
        .prepare_cached(
            "SELECT s.kind, s.content, n.ulid FROM stashes s LEFT JOIN nodes n ON n.seq = s.node
             WHERE s.agent = ?1 AND s.tree = ?2 AND s.label = ?3 AND (s.kind = 3) = ?4",
        )?
        .query_row(params![agent, tree, label, result], |row| {
            let content: Option<String> = row.get(1)?;
            let node: Option<[u8; 16]> = row.get(2)?;
            Ok((decode::coded(row, 0, StashKind::from_code)?, content, node.map(NodeId::from_bytes)))
        })
        .optional()?;
    let broken = || StoreError::Undecodable(format!("stash {label:?} holds nothing"));
    found
        .map(|(kind, content, node)| {
            Ok(match kind {
                StashKind::Words => StashContent::Words(content.ok_or_else(broken)?),
                StashKind::Summary => StashContent::Summary(content.ok_or_else(broken)?),
                StashKind::Result => StashContent::Result(content.ok_or_else(broken)?),
                StashKind::Node => StashContent::Node(node.ok_or_else(broken)?),
            })
        })
        .transpose()
}
