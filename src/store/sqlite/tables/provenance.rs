//! Statements of the table `provenance`: provider envelopes as deflate streams.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    store::{
        GenerationRow, Result, StoreError,
        envelope_compression::{pack, unpack},
        sqlite::{tables::nodes::ONLY_CHILD, ulid_cache::UlidCache},
    },
    types::{AuthorType, Json},
};

pub(in crate::store::sqlite) fn insert(conn: &Connection, node: i64, envelope: &Json) -> Result<()> {
    let packed = pack(envelope.as_str())?;
    conn.prepare_cached("INSERT INTO provenance (node, envelope, row_sum) VALUES (?1, ?2, row_sum(?1, ?2))")?
        .execute(params![node, packed])?;
    Ok(())
}

pub(in crate::store::sqlite) fn get(conn: &Connection, node: i64) -> Result<Option<Json>> {
    let packed: Option<Vec<u8>> = conn
        .prepare_cached("SELECT envelope FROM provenance WHERE node = ?1")?
        .query_row([node], |r| r.get(0))
        .optional()?;
    let Some(packed) = packed else {
        return Ok(None);
    };
    Json::parse(text(node, &packed)?).map(Some).map_err(|e| undecodable(node, e))
}

/// Decodes the envelope of a node.
pub(in crate::store::sqlite) fn text(node: i64, packed: &[u8]) -> Result<String> {
    let mut text = String::new();
    unpack(packed, &mut text).map_err(|e| undecodable(node, e))?;
    Ok(text)
}

fn undecodable(node: i64, error: impl std::fmt::Display) -> StoreError {
    StoreError::Undecodable(format!("envelope of node {node}: {error}"))
}

/// Calls `each` with every generated node of a tree, a session and an agent, each if given.
///
/// Nodes of a session, or of a `small` tree, are found by index. Otherwise all nodes are scanned in row order, and
/// their envelopes with them: by index, a tree's nodes would be read by depth, each from another page.
pub(in crate::store::sqlite) fn each(
    conn: &Connection,
    [tree, session, agent]: [Option<i64>; 3],
    small: bool,
    each: &mut dyn FnMut(GenerationRow<'_>),
) -> Result<()> {
    let names = UlidCache::new(conn);
    let within = match session {
        Some(_) => {
            "n.session IN (
                 WITH RECURSIVE own (id) AS (
                     SELECT ?2 UNION ALL SELECT sessions.id FROM sessions JOIN own ON sessions.delegated_by = own.id
                 ) SELECT id FROM own
             ) AND (?1 IS NULL OR +n.tree = ?1)"
        }
        None if small => "n.tree = ?1 AND ?2 IS NULL",
        None => "(?1 IS NULL OR +n.tree = ?1) AND ?2 IS NULL",
    };
    let sql = format!(
        "SELECT n.seq, n.author, n.tokens, ifnull(s.continuations, {ONLY_CHILD}) > 0, p.envelope
         FROM nodes n LEFT JOIN provenance p ON p.node = n.seq LEFT JOIN node_state s ON s.node = n.seq
         WHERE {within} AND n.author_type = {model} AND (?3 IS NULL OR +n.author = ?3)",
        model = AuthorType::Model.code(),
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![tree, session, agent])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let packed = row.get_ref(4)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        if let Some(packed) = packed {
            let node = row.get(0)?;
            unpack(packed, &mut text).map_err(|e| undecodable(node, e))?;
        }
        each(GenerationRow {
            author: names.agent(row.get(1)?)?,
            tokens: row.get(2)?,
            continued: row.get(3)?,
            envelope: packed.map(|_| text.as_str()),
        });
    }
    Ok(())
}

/// Calls `each` with the session, the envelope and the counted tokens of every turn that has an envelope or a count.
pub(in crate::store::sqlite) fn each_turn(
    conn: &Connection,
    each: &mut dyn FnMut(i64, Option<&str>, u64),
) -> Result<()> {
    let mut statement = conn.prepare(
        "SELECT n.seq, t.session, ifnull(n.tokens, 0), CASE WHEN t.own THEN p.envelope END
         FROM (SELECT seq AS node, session, 1 AS own FROM nodes WHERE session IS NOT NULL
               UNION ALL SELECT node, session, 0 FROM received_turns) t
             JOIN nodes n ON n.seq = t.node LEFT JOIN provenance p ON p.node = n.seq
         WHERE n.tokens IS NOT NULL OR p.node IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let packed = row.get_ref(3)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        if let Some(packed) = packed {
            unpack(packed, &mut text).map_err(|e| undecodable(row.get(0).unwrap_or_default(), e))?;
        }
        each(row.get(1)?, packed.map(|_| text.as_str()), row.get(2)?);
    }
    Ok(())
}
