//! Provider envelopes, deflated.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    model::Json,
    store::{Result, StoreError},
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
    DeflateDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .map_err(|e| StoreError::Undecodable(format!("envelope of node {node}: {e}")))?;
    Json::parse(text).map(Some).map_err(|e| StoreError::Undecodable(format!("envelope of node {node}: {e}")))
}
