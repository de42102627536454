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

/// Nodes that are read at once.
const PAGE_NODES: i64 = 1_024;

/// Adds postings from nodes that are not indexed yet. Of a node that the filter leaves out only the place in its tree is read,
/// by which bursts are found.
pub(super) fn add(
    conn: &PostgresConnection,
    indexed: i64,
    words: &[String],
    filter: &WordFilter,
    found: &mut Postings,
) -> Result<()> {
    let conditions = PgConditions::of(filter, 3);
    let sql = format!(
        "SELECT n.seq, n.created_at, n.parent, t.* FROM nodes n LEFT JOIN LATERAL (SELECT {SEARCHED}) t ON true{}
         WHERE n.seq > $1 ORDER BY n.seq LIMIT $2",
        conditions.sql
    );
    let wanted: HashMap<&str, usize> = words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    let mut tokenizer = WordTokenizer::default();
    let mut known = HashMap::new();
    let mut after = indexed;
    loop {
        let rows = conn.query(&sql, &conditions.with(&[&after, &PAGE_NODES]))?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = int(last, 0)?;
        let mut parents = rows.iter().filter_map(|row| opt_int(row, 2).transpose()).collect::<Result<Vec<_>>>()?;
        parents.retain(|parent| *parent <= indexed && !known.contains_key(parent));
        known.extend(fts_index::times_and_bursts(conn, &parents)?);
        for row in &rows {
            let (seq, at, parent) = (int(row, 0)?, int(row, 1)?, opt_int(row, 2)?);
            let burst = burst(seq, at, parent.and_then(|parent| known.get(&parent).copied()));
            known.insert(seq, (at, burst));
            let is_among = filter.among.as_ref().is_none_or(|among| among.contains(&seq.unsigned_abs()));
            if is_among && get::<Option<&str>>(row, 3)?.is_some() {
                let passages = tokenizer.passages(&fts_index::text(row, 3)?);
                found.add_unindexed(seq.unsigned_abs(), &passages, &wanted, || Ok(burst))?;
            }
        }
    }
}
