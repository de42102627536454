//! The index of words, made in batches by transactions of their own.
//!
//! Nodes below the journal's horizon are final, so one number separates what is indexed from what a search reads itself. Any
//! server indexes the next batch; a row lock keeps two from doing the same. A row of `words` holds the occurrences of a term in
//! the nodes of a tree and a batch: node, passage and count, as variable-length numbers, each node relative to the one before.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use tokio_postgres::Row;

use super::{
    connection::PostgresConnection,
    decode::{get, int, opt_int},
    journal::horizon,
    table_statistics::{analyze, is_new_size},
    uuid::Uuid,
};
use crate::{
    store::{
        Result, StoreError, searched_text,
        word_postings::{MAX_UNINDEXED_NODES, PASSAGES_PER_NODE, burst},
    },
    text_index::{Passage, TOKENIZER_VERSION, WordTokenizer},
};

/// Nodes of a batch.
const BATCH_NODES: usize = 1_024;

/// Columns of a node's text for [`text`], from `nodes n`.
pub(super) const SEARCHED: &str = "n.content, n.tool_calls, n.tool_name,
    CASE WHEN n.tool_name IS NOT NULL AND n.tool_call_id IS NULL THEN n.metadata END";

/// Reads a node's text from the columns of [`SEARCHED`] that start at `first`.
pub(super) fn text(row: &Row, first: usize) -> Result<String> {
    let (calls, tool, metadata): (Option<&str>, Option<&str>, Option<&str>) =
        (get(row, first + 1)?, get(row, first + 2)?, get(row, first + 3)?);
    Ok(searched_text::of(get(row, first)?, calls, tool.zip(metadata)).into_owned())
}

/// Indexes all final nodes; returns their number. Called outside of a transaction. If another server is at it, `locked` decides: ` SKIP LOCKED` stops, and
/// nothing waits for it.
pub(super) fn index_missing(conn: &PostgresConnection, locked: &str) -> Result<u64> {
    let mut words = WordTokenizer::default();
    let mut indexed = 0;
    loop {
        conn.begin()?;
        // A lost batch is indexed again, so its commit does not delay the syncs of the writer's.
        conn.batch("SET LOCAL synchronous_commit = off")?;
        let done = index_batch(conn, &mut words, locked);
        conn.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        let Some(nodes) = done? else { return Ok(indexed) };
        indexed += nodes.end - nodes.start;
        if is_new_size(&nodes) {
            analyze(conn);
        }
    }
}

/// The index's extent and statistics.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgIndexState {
    pub(super) indexed: i64,
    /// Number of indexed nodes.
    pub(super) nodes: i64,
    pub(super) passages: i64,
    pub(super) words: i64,
    is_current: bool,
}

fn read_state(row: &Row) -> Result<PgIndexState> {
    let is_current = int(row, 1)? == i64::from(TOKENIZER_VERSION);
    let (indexed, passages) = (int(row, 0)?, int(row, 2)?);
    Ok(PgIndexState { indexed, passages, words: int(row, 3)?, nodes: int(row, 4)?, is_current })
}

const STATE: &str = "SELECT indexed, rules, passages, words, nodes FROM search_state WHERE name = 'words'";

pub(super) fn state(conn: &PostgresConnection) -> Result<PgIndexState> {
    read_state(&conn.query_one(STATE, &[])?)
}

/// Counts nodes that are not in the index, at most as many as make a batch due, and the bytes of their texts.
pub(super) fn count_unindexed(conn: &PostgresConnection) -> Result<(usize, usize)> {
    let row = conn.query_one(
        "SELECT count(*), coalesce(sum(octet_length(content)), 0)::bigint FROM (
             SELECT content FROM nodes WHERE seq > (
                 SELECT CASE WHEN rules = $1 THEN indexed ELSE 0 END FROM search_state WHERE name = 'words')
             ORDER BY seq LIMIT $2) n",
        &[&i64::from(TOKENIZER_VERSION), &(MAX_UNINDEXED_NODES as i64)],
    )?;
    let number = |at| Ok::<_, StoreError>(usize::try_from(int(&row, at)?).unwrap_or(usize::MAX));
    Ok((number(0)?, number(1)?))
}

/// A node of a batch.
struct IndexedNode {
    tree: Uuid,
    seq: i64,
    at: i64,
    parent: Option<i64>,
    passages: Vec<Passage>,
}

/// Indexes the next batch inside a transaction; returns the numbers of indexed nodes before and after it, if there is one.
fn index_batch(conn: &PostgresConnection, words: &mut WordTokenizer, locked: &str) -> Result<Option<Range<u64>>> {
    let Some(row) = conn.query_opt(&format!("{STATE} FOR UPDATE{locked}"), &[])? else { return Ok(None) };
    let mut state = read_state(&row)?;
    if !state.is_current {
        clear(conn)?;
        state = PgIndexState { indexed: 0, nodes: 0, passages: 0, words: 0, is_current: true };
    }
    let sql = format!(
        "SELECT n.seq, n.tree, n.created_at, n.parent, {SEARCHED} FROM nodes n
         WHERE n.seq > $1 AND n.seq < $2 ORDER BY n.seq LIMIT {BATCH_NODES}"
    );
    let nodes = conn.query(&sql, &[&state.indexed, &horizon(conn)?])?;
    let read = |row: &Row| {
        let passages = words.passages(&text(row, 4)?);
        Ok(IndexedNode { seq: int(row, 0)?, tree: get(row, 1)?, at: int(row, 2)?, parent: opt_int(row, 3)?, passages })
    };
    let nodes = nodes.iter().map(read).collect::<Result<Vec<_>>>()?;
    let Some(last) = nodes.last() else { return Ok(None) };
    let before = state.nodes;
    insert_passages(conn, &nodes, &mut state)?;
    insert_words(conn, &nodes, last.seq)?;
    conn.execute(
        "UPDATE search_state SET indexed = $1, rules = $2, passages = $3, words = $4, nodes = $5 WHERE name = 'words'",
        &[&last.seq, &i64::from(TOKENIZER_VERSION), &state.passages, &state.words, &state.nodes],
    )?;
    Ok(Some(before.unsigned_abs()..state.nodes.unsigned_abs()))
}

/// The time and burst of indexed nodes, by number.
pub(super) fn times_and_bursts(conn: &PostgresConnection, nodes: &[i64]) -> Result<HashMap<i64, (i64, i64)>> {
    let sql = "SELECT n.seq, n.created_at, p.burst FROM nodes n JOIN passages p ON p.tree = n.tree AND p.node = n.seq
               WHERE n.seq = ANY($1)";
    if nodes.is_empty() {
        return Ok(HashMap::new());
    }
    conn.query(sql, &[&nodes])?.iter().map(|row| Ok((int(row, 0)?, (int(row, 1)?, int(row, 2)?)))).collect()
}

fn insert_passages(conn: &PostgresConnection, nodes: &[IndexedNode], state: &mut PgIndexState) -> Result<()> {
    let inside: HashSet<i64> = nodes.iter().map(|node| node.seq).collect();
    let outside: Vec<i64> = nodes.iter().filter_map(|node| node.parent).filter(|seq| !inside.contains(seq)).collect();
    let mut known = times_and_bursts(conn, &outside)?;
    let (mut trees, mut seqs, mut bursts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lengths, mut places) = (Vec::new(), Vec::new());
    for node in nodes {
        let burst = burst(node.seq, node.at, node.parent.and_then(|parent| known.get(&parent).copied()));
        known.insert(node.seq, (node.at, burst));
        let counts: Vec<u32> = node.passages.iter().map(|passage| passage.count).collect();
        let counts = if counts.is_empty() { vec![0] } else { counts };
        state.passages += i64::try_from(counts.len()).unwrap_or(0);
        state.words += counts.iter().copied().map(i64::from).sum::<i64>();
        state.nodes += 1;
        places.push(state.nodes);
        trees.push(node.tree);
        seqs.push(node.seq);
        bursts.push(burst);
        lengths.push(format!("{{{}}}", counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")));
    }
    conn.execute(
        "INSERT INTO passages (tree, node, burst, words, place)
         SELECT tree, node, burst, words::bigint[], place
         FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[]) p (tree, node, burst, words, place)",
        &[&trees, &seqs, &bursts, &lengths, &places],
    )?;
    Ok(())
}

fn insert_words(conn: &PostgresConnection, nodes: &[IndexedNode], block: i64) -> Result<()> {
    let mut terms: BTreeMap<(Uuid, &str), Vec<Posting>> = BTreeMap::new();
    for node in nodes {
        for (part, passage) in (0..).zip(&node.passages) {
            for term in passage.words.split_ascii_whitespace() {
                let postings = terms.entry((node.tree, term)).or_default();
                let row = node.seq * PASSAGES_PER_NODE + part;
                match postings.last_mut() {
                    Some(last) if last.row == row => last.count += 1,
                    _ => postings.push(Posting { row, count: 1 }),
                }
            }
        }
    }
    let (mut trees, mut texts, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    for ((tree, term), postings) in &terms {
        trees.push(*tree);
        texts.push(*term);
        packed.push(pack(postings));
    }
    conn.execute(
        "INSERT INTO words (tree, term, block, postings)
         SELECT tree, term, $4, postings FROM unnest($1::uuid[], $2::text[], $3::bytea[]) w (tree, term, postings)",
        &[&trees, &texts, &packed, &block],
    )?;
    Ok(())
}

/// The occurrences of a term in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    /// Number of the node times [`PASSAGES_PER_NODE`], plus the index of the passage.
    pub(super) row: i64,
    pub(super) count: u32,
}

/// Packs postings in ascending order: the difference of rows, then the count, seven bits a byte.
fn pack(postings: &[Posting]) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::with_capacity(postings.len() * 4), 0);
    let mut add = |mut value: u64| {
        while value >= 0x80 {
            bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        bytes.push(value.to_le_bytes()[0]);
    };
    for posting in postings {
        add((posting.row - before).unsigned_abs());
        add(posting.count.into());
        before = posting.row;
    }
    bytes
}

/// Unpacks postings.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<Posting>> {
    let mut values = Vec::new();
    let (mut value, mut shift) = (0_u64, 0);
    for byte in bytes {
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            values.push(value);
            (value, shift) = (0, 0);
        }
    }
    let mut row = 0_i64;
    let posting = |pair: &[u64; 2]| {
        row = row.saturating_add_unsigned(pair[0]);
        let count = u32::try_from(pair[1]).map_err(|_| StoreError::Undecodable("a posting".to_owned()))?;
        Ok(Posting { row, count })
    };
    values.as_chunks::<2>().0.iter().map(posting).collect()
}

/// Empties the index, after the batch that another server writes: a deletion before the lock would not see its rows.
fn clear(conn: &PostgresConnection) -> Result<()> {
    conn.batch(
        "SELECT 1 FROM search_state WHERE name = 'words' FOR UPDATE; DELETE FROM words; DELETE FROM passages;
         UPDATE search_state SET indexed = 0, nodes = 0, passages = 0, words = 0 WHERE name = 'words'",
    )
}

/// Rebuilds the index; returns the number of indexed nodes. Meanwhile searches read nodes themselves.
pub(super) fn rebuild(conn: &PostgresConnection) -> Result<u64> {
    clear(conn)?;
    let indexed = index_missing(conn, "")?;
    analyze(conn);
    Ok(indexed)
}

/// Removes the words of nodes that are about to be purged, inside the transaction of the purge. One passage without words
/// remains of each.
pub(super) fn remove(conn: &PostgresConnection, nodes: &[i64]) -> Result<()> {
    let state = read_state(&conn.query_one(&format!("{STATE} FOR UPDATE"), &[])?)?;
    if !state.is_current {
        return clear(conn);
    }
    let purged: HashSet<i64> = nodes.iter().copied().collect();
    let (mut passages, mut words) = (0_i64, 0_i64);
    for nodes in nodes.chunks(BATCH_NODES) {
        let gone = remove_batch(conn, nodes, &purged, state.indexed)?;
        passages += gone.0;
        words += gone.1;
    }
    conn.execute(
        "UPDATE search_state SET passages = passages - $1, words = words - $2 WHERE name = 'words'",
        &[&passages, &words],
    )?;
    Ok(())
}

/// Removes the words of some of the purged nodes; returns the number of removed passages and words.
fn remove_batch(conn: &PostgresConnection, nodes: &[i64], purged: &HashSet<i64>, indexed: i64) -> Result<(i64, i64)> {
    let mut tokenizer = WordTokenizer::default();
    let sql = format!(
        "SELECT n.seq, n.tree, {SEARCHED} FROM nodes n WHERE n.seq = ANY($1) AND n.seq <= $2 AND n.purged_at IS NULL"
    );
    let (mut trees, mut seqs) = (Vec::new(), Vec::new());
    let mut occurrences: HashSet<(Uuid, String, i64)> = HashSet::new();
    let (mut gone, mut counted) = (0_i64, 0_i64);
    for row in conn.query(&sql, &[&nodes, &indexed])? {
        let (seq, tree): (i64, Uuid) = (int(&row, 0)?, get(&row, 1)?);
        let passages = tokenizer.passages(&text(&row, 2)?);
        for term in passages.iter().flat_map(|passage| passage.words.split_ascii_whitespace()) {
            occurrences.insert((tree, term.to_owned(), seq));
        }
        gone += i64::try_from(passages.len().saturating_sub(1)).unwrap_or(0);
        counted += passages.iter().map(|passage| i64::from(passage.count)).sum::<i64>();
        trees.push(tree);
        seqs.push(seq);
    }
    remove_postings(conn, &occurrences, purged)?;
    conn.execute(
        "UPDATE passages p SET words = '{0}' FROM unnest($1::uuid[], $2::bigint[]) g (tree, node)
         WHERE p.tree = g.tree AND p.node = g.node",
        &[&trees, &seqs],
    )?;
    Ok((gone, counted))
}

/// Removes purged nodes from the rows of terms in trees: those of the batch of each node.
fn remove_postings(
    conn: &PostgresConnection,
    occurrences: &HashSet<(Uuid, String, i64)>,
    purged: &HashSet<i64>,
) -> Result<()> {
    let rows = conn.query(
        "SELECT w.tree, w.term, w.block, w.postings FROM (
             SELECT DISTINCT o.tree, o.term, b.block
             FROM unnest($1::uuid[], $2::text[], $3::bigint[]) o (tree, term, node) CROSS JOIN LATERAL (
                 SELECT block FROM words WHERE tree = o.tree AND term = o.term AND block >= o.node
                 ORDER BY block LIMIT 1) b) f
             JOIN words w ON w.tree = f.tree AND w.term = f.term AND w.block = f.block",
        &[
            &occurrences.iter().map(|occurrence| occurrence.0).collect::<Vec<_>>(),
            &occurrences.iter().map(|occurrence| occurrence.1.as_str()).collect::<Vec<_>>(),
            &occurrences.iter().map(|occurrence| occurrence.2).collect::<Vec<_>>(),
        ],
    )?;
    let (mut trees, mut terms, mut blocks, mut packed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let mut postings = unpack(get(row, 3)?)?;
        postings.retain(|posting| !purged.contains(&(posting.row / PASSAGES_PER_NODE)));
        trees.push(get::<Uuid>(row, 0)?);
        terms.push(get::<&str>(row, 1)?);
        blocks.push(int(row, 2)?);
        packed.push((!postings.is_empty()).then(|| pack(&postings)));
    }
    let changed = "unnest($1::uuid[], $2::text[], $3::bigint[], $4::bytea[]) c (tree, term, block, postings)
        WHERE w.tree = c.tree AND w.term = c.term AND w.block = c.block";
    for sql in [
        format!("UPDATE words w SET postings = c.postings FROM {changed} AND c.postings IS NOT NULL"),
        format!("DELETE FROM words w USING {changed} AND c.postings IS NULL"),
    ] {
        conn.execute(&sql, &[&trees, &terms, &blocks, &packed])?;
    }
    Ok(())
}

/// Compares the index with the nodes by a checksum over every posting. Returns the problem, if any.
pub(super) fn problem(conn: &PostgresConnection) -> Result<Option<String>> {
    let state = state(conn)?;
    if !state.is_current {
        return Ok(None);
    }
    let (mut expected, mut stored) = (0_u64, 0_u64);
    let (mut passages, mut words, mut after) = (0_i64, 0_i64, 0_i64);
    let mut tokenizer = WordTokenizer::default();
    let sql = format!(
        "SELECT n.seq, {SEARCHED} FROM nodes n WHERE n.seq > $1 AND n.seq <= $2 ORDER BY n.seq LIMIT {BATCH_NODES}"
    );
    loop {
        let rows = conn.query(&sql, &[&after, &state.indexed])?;
        let Some(last) = rows.last() else { break };
        after = int(last, 0)?;
        for row in &rows {
            let cut = tokenizer.passages(&text(row, 1)?);
            passages += i64::try_from(cut.len().max(1)).unwrap_or(0);
            for (at, passage) in (int(row, 0)? * PASSAGES_PER_NODE..).zip(&cut) {
                words += i64::from(passage.count);
                for word in passage.words.split_ascii_whitespace() {
                    expected = expected.wrapping_add(checksum(word, at));
                }
            }
        }
    }
    let mut key = (Uuid([0; 16]), String::new(), 0_i64);
    loop {
        let sql = "SELECT tree, term, block, postings FROM words WHERE (tree, term, block) > ($1, $2, $3)
                   ORDER BY tree, term, block LIMIT 1000";
        let rows = conn.query(sql, &[&key.0, &key.1, &key.2])?;
        let Some(last) = rows.last() else { break };
        key = (get(last, 0)?, get(last, 1)?, int(last, 2)?);
        for row in &rows {
            for posting in unpack(get(row, 3)?)? {
                let sum = checksum(get(row, 1)?, posting.row);
                stored = stored.wrapping_add(sum.wrapping_mul(posting.count.into()));
            }
        }
    }
    let row = conn.query_one(
        "SELECT coalesce(sum(cardinality(words)), 0)::bigint, coalesce(sum((SELECT sum(w) FROM unnest(words) w)), 0)::bigint
         FROM passages",
        &[],
    )?;
    let counted = (int(&row, 0)?, int(&row, 1)?);
    let is_whole = expected == stored && counted == (passages, words) && counted == (state.passages, state.words);
    Ok((!is_whole).then(|| "the full-text index differs from the nodes; a rebuild recomputes it".to_owned()))
}

/// A checksum for a word in a passage. Sums of these do not depend on the order.
fn checksum(word: &str, row: i64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(word.as_bytes()).update(&row.to_le_bytes());
    hasher.finalize().as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_postings_come_back() {
        let postings: Vec<Posting> =
            (1..2_000_i64).map(|n| Posting { row: n * n * 1_000_003, count: u32::try_from(n).unwrap() }).collect();
        assert_eq!(unpack(&pack(&postings)).unwrap(), postings);
        assert!(pack(&postings[..1]).len() <= 4);
    }
}
