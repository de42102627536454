//! Embedding vectors of nodes, and the search for the nearest of them. Derived data.
//!
//! A vector is stored as bytes with a scale. A search does not read all vectors: it compares the sign bits of each
//! vector, 1,024 nodes a row, with those of the query, and then the vectors of the best nodes only.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};

use super::{
    fts_query,
    search_filter::{Conditions, numbered},
};
use crate::store::{
    EmbeddingBatch, Result, WordFilter,
    vector_similarity::{
        COMPARED_PER_RESULT, MAX_CHECKED_NODES, batch, by_similarity, code, pack_with_code, similarity, unpack, words,
    },
};

/// Nodes in a row of sign bits.
const NODES_PER_BLOCK: u64 = 1_024;

/// Saves the vectors of a batch, except those of nodes that were purged since, and notes its range as complete.
pub(super) fn save(conn: &Connection, model: &str, range: (u64, u64), vectors: &[(u64, Vec<f32>)]) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "INSERT OR REPLACE INTO vectors (model, node, vector, row_sum)
         SELECT ?1, seq, ?3, row_sum(?1, seq, ?3) FROM nodes WHERE seq = ?2 AND purged_at IS NULL",
    )?;
    let mut blocks: HashMap<u64, Vec<(u64, Vec<u8>)>> = HashMap::new();
    for (node, vector) in vectors {
        let (packed, code) = pack_with_code(vector);
        if statement.execute(params![model, node, packed])? > 0 {
            blocks.entry(node / NODES_PER_BLOCK).or_default().push((node % NODES_PER_BLOCK, code));
        }
    }
    for (block, codes) in blocks {
        write_codes(conn, model, block, &codes)?;
    }
    // Another process may have embedded other nodes meanwhile. A range that is not adjacent is embedded again later.
    conn.prepare_cached(
        "INSERT INTO embedded_ranges (model, first, last) VALUES (?1, ?2, ?3)
         ON CONFLICT (model) DO UPDATE SET first = min(first, ?2), last = max(last, ?3)
         WHERE ?2 <= last + 1 AND ?3 >= first - 1",
    )?
    .execute(params![model, range.0, range.1])?;
    Ok(())
}

/// Writes sign bits at their places in a block.
fn write_codes(conn: &Connection, model: &str, block: u64, codes: &[(u64, Vec<u8>)]) -> Result<()> {
    let old: Option<Vec<u8>> = conn
        .prepare_cached("SELECT codes FROM vector_codes WHERE model = ?1 AND block = ?2")?
        .query_row(params![model, block], |r| r.get(0))
        .optional()?;
    let mut bytes = old.unwrap_or_default();
    codes.iter().for_each(|(place, code)| put_code(&mut bytes, *place, code));
    conn.prepare_cached(
        "INSERT INTO vector_codes (model, block, codes) VALUES (?1, ?2, ?3)
         ON CONFLICT (model, block) DO UPDATE SET codes = ?3",
    )?
    .execute(params![model, block, bytes])?;
    Ok(())
}

/// Removes the vectors of deleted nodes, whose numbers may be used again.
pub(super) fn remove_deleted(conn: &Connection, first: i64, last: i64) -> Result<()> {
    remove(conn, &format!("seq <= {last} AND seq >= ?1"), first)?;
    conn.execute("UPDATE embedded_ranges SET last = min(last, ?1 - 1)", [first])?;
    conn.execute("DELETE FROM embedded_ranges WHERE first > last", [])?;
    Ok(())
}

/// Compares the sign bits with the vectors. Returns the problem, if any.
pub(super) fn problem(conn: &Connection) -> Result<Option<String>> {
    let mut blocks: HashMap<(String, u64), Vec<u8>> = HashMap::new();
    let mut vectors = conn.prepare("SELECT model, node, vector FROM vectors")?;
    let mut rows = vectors.query([])?;
    while let Some(row) = rows.next()? {
        let (model, node, vector): (String, u64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let code = code(&unpack(&vector));
        let block = blocks.entry((model, node / NODES_PER_BLOCK)).or_default();
        put_code(block, node % NODES_PER_BLOCK, &code);
    }
    let mut codes = conn.prepare("SELECT model, block, codes FROM vector_codes")?;
    let mut rows = codes.query([])?;
    let mut differs = false;
    while let Some(row) = rows.next()? {
        let stored: Vec<u8> = row.get(2)?;
        let expected = blocks.remove(&(row.get(0)?, row.get(1)?)).unwrap_or_else(|| vec![0; stored.len()]);
        differs |= stored != expected;
    }
    let message = "the sign bits of embeddings differ from the vectors; a rebuild removes both".to_owned();
    Ok((differs || !blocks.is_empty()).then_some(message))
}

/// Writes sign bits at a place of a block. Bits of another length replace the block, as they are not comparable.
fn put_code(block: &mut Vec<u8>, place: u64, code: &[u8]) {
    let size = code.len() * usize::try_from(NODES_PER_BLOCK).unwrap_or(0);
    if block.len() != size {
        *block = vec![0; size];
    }
    let start = usize::try_from(place).unwrap_or(0) * code.len();
    if let Some(target) = block.get_mut(start..start + code.len()) {
        target.copy_from_slice(code);
    }
}

/// Removes all vectors of nodes, given by a condition on `nodes` with one parameter, and their sign bits.
pub(super) fn remove(conn: &Connection, which: &str, key: i64) -> Result<()> {
    let sql = format!("SELECT model, node, vector FROM vectors WHERE node IN (SELECT seq FROM nodes WHERE {which})");
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        let (model, node, vector): (String, u64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let none = vec![0; code(&unpack(&vector)).len()];
        write_codes(conn, &model, node / NODES_PER_BLOCK, &[(node % NODES_PER_BLOCK, none)])?;
    }
    conn.execute(&format!("DELETE FROM vectors WHERE node IN (SELECT seq FROM nodes WHERE {which})"), [key])?;
    Ok(())
}

/// Removes all vectors.
pub(super) fn clear(conn: &Connection) -> Result<()> {
    Ok(conn.execute_batch("DELETE FROM vectors; DELETE FROM vector_codes; DELETE FROM embedded_ranges;")?)
}

/// Returns the next nodes that a model has not seen: the newest first, else the ones before those it has seen. `None` if
/// it has seen all.
pub(super) fn unembedded(conn: &Connection, model: &str, limit: u32) -> Result<Option<EmbeddingBatch>> {
    let range: Option<(i64, i64)> = conn
        .prepare_cached("SELECT first, last FROM embedded_ranges WHERE model = ?1")?
        .query_row([model], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let (first, last) = range.unwrap_or((i64::MAX, i64::MAX));
    let read = |which: &str, bound: i64| -> Result<Vec<(u64, String)>> {
        // A name is part of the text only if it is written as one, as in a query.
        let sql = format!(
            "SELECT n.seq, CASE WHEN n.purged_at IS NOT NULL OR trim(n.content) = '' THEN ''
                 WHEN a.name GLOB '[A-Z]*' THEN a.name || ': ' || n.content ELSE n.content END
             FROM nodes n JOIN agents a ON a.id = n.author WHERE n.seq {which} LIMIT ?2"
        );
        let mut statement = conn.prepare_cached(&sql)?;
        Ok(statement
            .query_map(params![bound, limit], |r| Ok((r.get(0)?, r.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?)
    };
    let mut texts = read("> ?1 ORDER BY n.seq", last)?;
    if texts.is_empty() {
        texts = read("< ?1 ORDER BY n.seq DESC", first)?;
    }
    Ok(batch(range, texts))
}

/// Returns the similarity of each node's vector and a query; `None` for a node without a vector of that length.
pub(super) fn similarities(conn: &Connection, model: &str, query: &[f32], nodes: &[u64]) -> Result<Vec<Option<f64>>> {
    let mut statement = conn.prepare_cached("SELECT vector FROM vectors WHERE model = ?1 AND node = ?2")?;
    let mut one = |node: &u64| -> Result<Option<f64>> {
        let mut rows = statement.query(params![model, node])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(row.get_ref(0)?.as_blob().ok().and_then(|bytes| similarity(bytes, query)))
    };
    nodes.iter().map(&mut one).collect()
}

/// Returns at most `limit` matching nodes, the most similar first.
pub(super) fn nearest(
    conn: &Connection,
    model: &str,
    query: &[f32],
    filter: &WordFilter,
    limit: usize,
) -> Result<Vec<u64>> {
    let range = fts_query::range(conn, filter)?;
    let few = filter.among.as_ref().into_iter().chain(&range.nodes).min_by_key(|nodes| nodes.len());
    let candidates: Vec<u64> = match few {
        Some(nodes) => {
            let mut nodes: Vec<u64> = nodes.iter().copied().collect();
            nodes.sort_unstable();
            sort_by_similarity(conn, model, query, nodes)?
        }
        None => nearest_by_sign(conn, model, &code(query))?,
    };
    let wanted = if few.is_some() { limit } else { limit * COMPARED_PER_RESULT };
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let sql = format!("SELECT 1 FROM nodes n WHERE n.seq = ?1{}", numbered(&conditions.sql));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for node in candidates {
        let row = Value::from(i64::try_from(node).unwrap_or(i64::MAX));
        let values = std::iter::once(row).chain(conditions.values.iter().cloned());
        if filter.among.as_ref().is_none_or(|among| among.contains(&node))
            && statement.exists(params_from_iter(values))?
        {
            found.push(node);
        }
        if found.len() >= wanted {
            break;
        }
    }
    let mut found = if few.is_some() { found } else { sort_by_similarity(conn, model, query, found)? };
    found.truncate(limit);
    Ok(found)
}

/// Sorts nodes by the similarity of their vectors, descending; drops those without one.
fn sort_by_similarity(conn: &Connection, model: &str, query: &[f32], nodes: Vec<u64>) -> Result<Vec<u64>> {
    let near = similarities(conn, model, query, &nodes)?;
    Ok(by_similarity(nodes, near))
}

/// Returns nodes by the number of sign bits that differ from the query's, ascending.
fn nearest_by_sign(conn: &Connection, model: &str, query: &[u8]) -> Result<Vec<u64>> {
    let query = words(query);
    let width = query.len() * 8;
    let mut statement = conn.prepare_cached("SELECT block, codes FROM vector_codes WHERE model = ?1")?;
    let mut rows = statement.query([model])?;
    let mut blocks: Vec<(u64, Vec<u16>)> = Vec::new();
    let mut counts = vec![0_usize; width * 8 + 1];
    while let Some(row) = rows.next()? {
        let Ok(bytes) = row.get_ref(1)?.as_blob() else { continue };
        if width == 0 || bytes.len() != width * usize::try_from(NODES_PER_BLOCK).unwrap_or(0) {
            continue;
        }
        let distance = |code: &[u8]| -> u16 {
            let differing: u32 =
                code.as_chunks().0.iter().zip(&query).map(|(a, b)| (u64::from_le_bytes(*a) ^ b).count_ones()).sum();
            u16::try_from(differing).unwrap_or(u16::MAX)
        };
        let distances: Vec<u16> = bytes.chunks_exact(width).map(distance).collect();
        distances.iter().for_each(|distance| counts[usize::from(*distance)] += 1);
        blocks.push((row.get(0)?, distances));
    }
    let (mut most, mut total) = (0_u16, 0);
    for (distance, count) in (0..).zip(counts) {
        total += count;
        most = distance;
        if total >= MAX_CHECKED_NODES {
            break;
        }
    }
    let mut found: Vec<(u16, u64)> = Vec::with_capacity(total);
    for (block, distances) in blocks {
        let near = (block * NODES_PER_BLOCK..).zip(distances).filter(|(_, distance)| *distance <= most);
        found.extend(near.map(|(node, distance)| (distance, node)));
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    Ok(found.into_iter().map(|(_, node)| node).collect())
}
