//! Provider envelopes, deflated.

use std::io::{self, Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    model::{AuthorType, Json},
    store::{
        Generated, Result, StoreError,
        sqlite::{rows::Names, tables::nodes::ONLY_CHILD},
    },
};

pub(in crate::store::sqlite) fn insert(conn: &Connection, node: i64, envelope: &Json) -> Result<()> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let packed = encoder
        .write_all(envelope.as_str().as_bytes())
        .and_then(|()| encoder.finish())
        .map_err(|e| StoreError::Io { detail: e.to_string() })?;
    conn.prepare_cached("INSERT INTO provenance (node, envelope) VALUES (?1, ?2)")?.execute(params![node, packed])?;
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
    let mut text = String::new();
    unpack(&mut DeflateDecoder::new(packed.as_slice()), node, &mut text)?;
    Json::parse(text).map(Some).map_err(|e| StoreError::Undecodable(format!("envelope of node {node}: {e}")))
}

fn unpack(decoder: &mut impl Read, node: i64, text: &mut String) -> Result<()> {
    text.clear();
    decoder
        .read_to_string(text)
        .map(|_| ())
        .map_err(|e| StoreError::Undecodable(format!("envelope of node {node}: {e}")))
}

/// Goes through what models wrote: of a tree, a session and an agent, each if it is given.
///
/// A session's nodes are found by index, and those of a `small` tree. Otherwise all nodes are scanned in the order of
/// their rows, and the envelopes beside them: by index, a tree's are read in the order of their depth, each from another
/// page.
pub(in crate::store::sqlite) fn each(
    conn: &Connection,
    [tree, session, agent]: [Option<i64>; 3],
    small: bool,
    each: &mut dyn FnMut(Generated<'_>),
) -> Result<()> {
    let names = Names::new(conn);
    let within = match session {
        Some(_) => "n.session = ?2 AND (?1 IS NULL OR +n.tree = ?1)",
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
    // The decoder's tables are as large as many envelopes; one is used for all.
    let mut decoder = DeflateDecoder::new(io::Cursor::new(Vec::new()));
    let (mut spare, mut text) = (Vec::new(), String::new());
    while let Some(row) = rows.next()? {
        let packed = row.get_ref(4)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        if let Some(packed) = packed {
            let mut bytes = std::mem::take(&mut spare);
            bytes.clear();
            bytes.extend_from_slice(packed);
            spare = decoder.reset(io::Cursor::new(bytes)).into_inner();
            unpack(&mut decoder, row.get(0)?, &mut text)?;
        }
        each(Generated {
            author: names.agent(row.get(1)?)?,
            tokens: row.get(2)?,
            continued: row.get(3)?,
            envelope: packed.map(|_| text.as_str()),
        });
    }
    Ok(())
}
