//! Postings of the nodes that are not in the index yet.

use std::collections::HashMap;

use super::{
    connection::PostgresConnection,
    decode::{get, int, opt_int},
    fts_index::{self, SEARCHED},
    search_filter::PgConditions,
};
use crate::{
    store::{Postings, Result, WordFilter, word_postings::burst},
    text_index::WordTokenizer,
};

/// A node that is not indexed yet.
struct UnindexedNode {
    seq: i64,
    at: i64,
    parent: Option<i64>,
    /// Its text, if it matches the filter.
    text: Option<String>,
}

/// Adds postings from nodes that are not indexed yet.
pub(super) fn add(
    conn: &PostgresConnection,
    indexed: i64,
    words: &[String],
    filter: &WordFilter,
    found: &mut Postings,
) -> Result<()> {
    let conditions = PgConditions::of(filter, 2);
    let sql = format!(
        "SELECT n.seq, n.created_at, n.parent, (true{}), {SEARCHED} FROM nodes n WHERE n.seq > $1 ORDER BY n.seq",
        conditions.sql
    );
    let rows = conn.query(&sql, &conditions.with(&[&indexed]))?;
    let mut nodes = Vec::with_capacity(rows.len());
    for row in &rows {
        let seq = int(row, 0)?;
        let among = filter.among.as_ref().is_none_or(|among| among.contains(&seq.unsigned_abs()));
        let fits = among && get::<Option<bool>>(row, 3)?.unwrap_or(false);
        let text = fits.then(|| fts_index::text(row, 4)).transpose()?;
        nodes.push(UnindexedNode { seq, at: int(row, 1)?, parent: opt_int(row, 2)?, text });
    }
    let parents: Vec<i64> = nodes.iter().filter_map(|node| node.parent).filter(|parent| *parent <= indexed).collect();
    let mut known = fts_index::times_and_bursts(conn, &parents)?;
    let wanted: HashMap<&str, usize> = words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    let mut tokenizer = WordTokenizer::default();
    for node in nodes {
        let burst = burst(node.seq, node.at, node.parent.and_then(|parent| known.get(&parent).copied()));
        known.insert(node.seq, (node.at, burst));
        let Some(text) = node.text else { continue };
        let passages = tokenizer.passages(&text);
        found.add_unindexed(node.seq.unsigned_abs(), &passages, &wanted, || Ok(burst))?;
    }
    Ok(())
}
