//! Embedding vectors of nodes: one for each node and model, as little-endian `f32`. Derived data.

use rusqlite::{Connection, params, params_from_iter, types::Value};

use super::search_filter::{Conditions, numbered};
use crate::store::{Result, WordFilter};

/// Saves vectors, except those of nodes that were purged since.
pub(super) fn save(conn: &Connection, model: &str, vectors: &[(u64, Vec<f32>)]) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "INSERT OR REPLACE INTO vectors (model, node, vector, row_sum)
         SELECT ?1, seq, ?3, row_sum(?1, seq, ?3) FROM nodes WHERE seq = ?2 AND purged_at IS NULL",
    )?;
    for (node, vector) in vectors {
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        statement.execute(params![model, node, bytes])?;
    }
    Ok(())
}

/// Calls `each` with every vector of a model for matching nodes.
pub(super) fn each(
    conn: &Connection,
    model: &str,
    filter: &WordFilter,
    each: &mut dyn FnMut(u64, &[f32]),
) -> Result<()> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let sql = format!(
        "SELECT v.node, v.vector FROM vectors v JOIN nodes n ON n.seq = v.node WHERE v.model = ?1{}",
        numbered(&conditions.sql)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(model.to_owned())).chain(conditions.values.iter().cloned());
    let mut rows = statement.query(params_from_iter(values))?;
    let mut numbers: Vec<f32> = Vec::new();
    while let Some(row) = rows.next()? {
        let node: u64 = row.get(0)?;
        if filter.among.as_ref().is_some_and(|among| !among.contains(&node)) {
            continue;
        }
        let bytes: Vec<u8> = row.get(1)?;
        numbers.clear();
        numbers.extend(bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        each(node, &numbers);
    }
    Ok(())
}
