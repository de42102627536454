//! Embedding vectors of nodes, and the search for the nearest of them. Derived data.
//!
//! The server compares the sign bits of all vectors of a model with those of the query; the vectors of the best nodes are
//! compared here.

use std::{collections::HashMap, error::Error};

use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use super::{
    apply::{PgChangeApplier, signed},
    connection::PostgresConnection,
    decode::{get, int},
    fts_query,
    journal::horizon,
    search_filter::PgConditions,
};
use crate::store::{
    EmbeddingBatch, Result, WordFilter,
    vector_similarity::{
        COMPARED_PER_RESULT, MAX_CHECKED_NODES, batch, by_similarity, code, pack_with_code, similarity,
    },
};

/// Sign bits, as a value of the type `bit varying`.
#[derive(Debug)]
struct SignBits(Vec<u8>);

impl ToSql for SignBits {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&i32::try_from(self.0.len() * 8)?.to_be_bytes());
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::VARBIT
    }

    to_sql_checked!();
}

/// Saves the vectors of a batch, except those of nodes that were purged since, and notes its range as complete. The trees are
/// locked first, so that a purge that runs meanwhile has ended.
pub(super) fn save(
    apply: &mut PgChangeApplier<'_>,
    model: &str,
    (first, last): (u64, u64),
    vectors: &[(u64, Vec<f32>)],
) -> Result<()> {
    let conn = apply.conn;
    let nodes: Vec<i64> = vectors.iter().map(|(node, _)| signed(*node)).collect();
    let trees = conn.query("SELECT DISTINCT tree FROM nodes WHERE seq = ANY($1)", &[&nodes])?;
    apply.state.lock(conn, &trees.iter().map(|row| get(row, 0)).collect::<Result<Vec<_>>>()?)?;
    let stored =
        vectors.iter().map(|(_, vector)| pack_with_code(vector)).map(|(packed, code)| (packed, SignBits(code)));
    let (packed, codes): (Vec<Vec<u8>>, Vec<SignBits>) = stored.unzip();
    conn.execute(
        "INSERT INTO vectors (tree, node, model, vector, code)
         SELECT n.tree, n.seq, $1, v.vector, v.code
         FROM unnest($2::bigint[], $3::bytea[], $4::varbit[]) v (node, vector, code) JOIN nodes n ON n.seq = v.node
         WHERE n.purged_at IS NULL
         ON CONFLICT (tree, node, model) DO UPDATE SET vector = excluded.vector, code = excluded.code",
        &[&model, &nodes, &packed, &codes],
    )?;
    // Another process may have embedded other nodes meanwhile. A range that is not adjacent is embedded again later.
    conn.execute(
        "INSERT INTO embedded_ranges (model, first, last) VALUES ($1, $2, $3)
         ON CONFLICT (model) DO UPDATE SET first = least(embedded_ranges.first, $2), last = greatest(embedded_ranges.last, $3)
         WHERE $2 <= embedded_ranges.last + 1 AND $3 >= embedded_ranges.first - 1",
        &[&model, &signed(first), &signed(last)],
    )?;
    Ok(())
}

/// Removes the vectors of nodes.
pub(super) fn remove(conn: &PostgresConnection, nodes: &[i64]) -> Result<()> {
    conn.execute(
        "DELETE FROM vectors v USING nodes n WHERE n.seq = ANY($1) AND v.tree = n.tree AND v.node = n.seq",
        &[&nodes],
    )?;
    Ok(())
}

/// Removes all vectors.
pub(super) fn clear(conn: &PostgresConnection) -> Result<()> {
    conn.batch("DELETE FROM vectors; DELETE FROM embedded_ranges")
}

/// Returns the next nodes that a model has not seen: the newest first, else the ones before those it has seen. `None` if
/// it has seen all. Nodes that are not final yet are left for later.
pub(super) fn unembedded(conn: &PostgresConnection, model: &str, limit: u32) -> Result<Option<EmbeddingBatch>> {
    let row = conn.query_opt("SELECT first, last FROM embedded_ranges WHERE model = $1", &[&model])?;
    let range = row.map(|row| Ok::<_, crate::store::StoreError>((int(&row, 0)?, int(&row, 1)?))).transpose()?;
    let end = horizon(conn)?;
    let (first, last) = range.unwrap_or((end, i64::MAX));
    let read = |sign: &str, order: &str, bound: i64| -> Result<Vec<(u64, String)>> {
        // A name is part of the text only if it is written as one, as in a query.
        let sql = format!(
            "SELECT n.seq, CASE WHEN n.purged_at IS NOT NULL OR btrim(n.content) = '' THEN ''
                 WHEN a.name ~ '^[A-Z]' THEN a.name || ': ' || n.content ELSE n.content END
             FROM nodes n JOIN agents a ON a.id = n.author WHERE n.seq {sign} $1 AND n.seq < $3
             ORDER BY n.seq {order} LIMIT $2"
        );
        conn.query(&sql, &[&bound, &i64::from(limit), &end])?
            .iter()
            .map(|row| Ok((int(row, 0)?.unsigned_abs(), get(row, 1)?)))
            .collect()
    };
    let mut texts = read(">", "ASC", last)?;
    if texts.is_empty() {
        texts = read("<", "DESC", first)?;
    }
    Ok(batch(range, texts))
}

/// Returns the similarity of each node's vector and a query; `None` for a node without a vector of that length.
pub(super) fn similarities(
    conn: &PostgresConnection,
    model: &str,
    query: &[f32],
    nodes: &[i64],
) -> Result<Vec<Option<f64>>> {
    let mut found = HashMap::with_capacity(nodes.len());
    for row in conn.query("SELECT node, vector FROM vectors WHERE model = $1 AND node = ANY($2)", &[&model, &nodes])? {
        found.insert(int(&row, 0)?, similarity(get(&row, 1)?, query));
    }
    Ok(nodes.iter().map(|node| found.get(node).copied().flatten()).collect())
}

/// Returns at most `limit` matching nodes, the most similar first.
pub(super) fn nearest(
    conn: &PostgresConnection,
    model: &str,
    query: &[f32],
    filter: &WordFilter,
    limit: usize,
) -> Result<Vec<u64>> {
    let range = fts_query::range(conn, filter)?;
    let few = filter.among.as_ref().into_iter().chain(range.as_ref().map(|range| &range.nodes)).min_by_key(|n| n.len());
    let candidates: Vec<i64> = match few {
        Some(nodes) => {
            let mut nodes: Vec<i64> = nodes.iter().map(|seq| i64::try_from(*seq).unwrap_or(i64::MAX)).collect();
            nodes.sort_unstable();
            sort_by_similarity(conn, model, query, nodes)?
        }
        None => {
            let (code, most) = (SignBits(code(query)), i64::try_from(MAX_CHECKED_NODES).unwrap_or(i64::MAX));
            let sql = "SELECT node FROM vectors WHERE model = $1 AND bit_length(code) = bit_length($2::varbit)
                       ORDER BY bit_count(code # $2::varbit), node DESC LIMIT $3";
            conn.query(sql, &[&model, &code, &most])?.iter().map(|row| int(row, 0)).collect::<Result<_>>()?
        }
    };
    let conditions = PgConditions::of(filter, 2);
    let sql = format!("SELECT n.seq FROM nodes n WHERE n.seq = ANY($1){}", conditions.sql);
    let mut passing = std::collections::HashSet::new();
    for row in conn.query(&sql, &conditions.with(&[&candidates]))? {
        passing.insert(int(&row, 0)?);
    }
    let fits =
        |node: &i64| passing.contains(node) && filter.among.as_ref().is_none_or(|a| a.contains(&node.unsigned_abs()));
    let mut found: Vec<i64> = candidates.into_iter().filter(fits).collect();
    if few.is_none() {
        found.truncate(limit * COMPARED_PER_RESULT);
        found = sort_by_similarity(conn, model, query, found)?;
    }
    found.truncate(limit);
    Ok(found.into_iter().map(i64::unsigned_abs).collect())
}

/// Sorts nodes by the similarity of their vectors, descending; drops those without one.
fn sort_by_similarity(conn: &PostgresConnection, model: &str, query: &[f32], nodes: Vec<i64>) -> Result<Vec<i64>> {
    let near = similarities(conn, model, query, &nodes)?;
    Ok(by_similarity(nodes, near))
}
