//! Full-text queries: the postings of search terms in the index, and in nodes that are not indexed yet.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use rusqlite::{Connection, params, params_from_iter, types::Value};

use super::{
    fts_index::{self, INDEXED_TEXT, IndexedText},
    prepared_change::ChangePreparer,
    search_filter::{Conditions, FilterSets, number, numbered},
    tables::{received_turns, sessions, trees},
};
use crate::{
    store::{
        Postings, Result, WordFilter,
        word_postings::{
            BURST_GAP_MS, FoundPassages, MAX_COMBINED_ROWS, MAX_COUNTED_PASSAGES, MAX_ENUMERATED_NODES, MAX_RARE_TERMS,
            PASSAGES_PER_NODE, ROWS_PER_STEP,
        },
    },
    text_index::WordTokenizer,
};

/// Initial capacity for rows.
const ROW_CAPACITY: usize = 8_192;

/// The postings of terms, from about `most` rows of the index. Terms take turns, each read from the newest passage
/// backwards, so rare terms are read completely. Older passages of frequent terms are found by combination with rare
/// terms or, if there are none, with each other.
pub(super) fn postings(
    conn: &Connection,
    readers: &ChangePreparer,
    words: &[String],
    filter: &WordFilter,
    most: usize,
) -> Result<Postings> {
    let state = fts_index::state(conn)?;
    let mut found = Postings::of_index(words.len(), state.passages, state.words);
    let range = range(conn, filter)?;
    let among = [filter.among.as_ref(), range.nodes.as_ref()];
    let mut reading =
        PostingReader { conn, range: range.rows, passages: FoundPassages::new(among, most.min(ROW_CAPACITY)) };
    // Ratio between the rows in the index and the rows that were read.
    let mut ratio = 1;
    if let Some(own) = &range.nodes {
        reading.read_all(words, &mut found)?;
        ratio = found.passage_count / (own.len() as u64).max(1) + 1;
    } else {
        let horizons = reading.read_newest_first(words, most, &mut found)?;
        reading.read_combinations(words, &horizons, &mut found)?;
    }
    reading.count_repeats(words, MAX_COUNTED_PASSAGES / ratio, &mut found)?;
    let mut reader = readers.acquire();
    add_unindexed(conn, &mut reader, state.indexed, words, filter, &mut found)?;
    readers.release(reader);
    Ok(found)
}

/// The range of all rows.
const ALL_ROWS: (i64, i64) = (0, i64::MAX);

/// The part of the index that a filter can match.
pub(super) struct PassageRange {
    /// First and last row.
    pub(super) rows: (i64, i64),
    /// Matching nodes in this range; `None`: not enumerated.
    pub(super) nodes: Option<HashSet<u64>>,
}

/// The range that a filter can match; the whole index if it matches many nodes.
pub(super) fn range(conn: &Connection, filter: &WordFilter) -> Result<PassageRange> {
    let few = |sql: &str, row: i64| -> Result<bool> {
        Ok(conn
            .prepare_cached(sql)?
            .query_row([row], |r| r.get::<_, i64>(0))
            .is_ok_and(|nodes| number(nodes) <= MAX_ENUMERATED_NODES))
    };
    let mut chosen = None;
    if let Some(id) = filter.tree {
        let row = trees::row(conn, id)?;
        let narrow = few("SELECT nodes FROM tree_state WHERE tree = ?1", row)?;
        chosen = narrow.then_some(("tree", row));
    }
    if let Some(id) = filter.session {
        let row = sessions::row(conn, id)?;
        let narrow = few("SELECT turn_count FROM sessions WHERE id = ?1", row)?;
        chosen = narrow.then_some(("session", row)).or(chosen);
    }
    let Some((column, row)) = chosen else { return Ok(PassageRange { rows: ALL_ROWS, nodes: None }) };
    let mut nodes = conn.prepare_cached(&format!("SELECT seq FROM nodes WHERE {column} = ?1"))?;
    let mut nodes: HashSet<u64> = nodes.query_map([row], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    if column == "session" {
        nodes.extend(received_turns::nodes(conn, row)?);
    }
    let (first, last) = (nodes.iter().min().copied().unwrap_or(0), nodes.iter().max().copied().unwrap_or(0));
    let at = |node: u64| i64::try_from(node).unwrap_or(i64::MAX / PASSAGES_PER_NODE - 1) * PASSAGES_PER_NODE;
    Ok(PassageRange { rows: (at(first), at(last) + PASSAGES_PER_NODE - 1), nodes: Some(nodes) })
}

/// Quotes a word as an FTS5 term.
fn term(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// Rows of an FTS5 expression within a range, descending.
const DESCENDING_ROWS: &str =
    "SELECT rowid FROM recall_words WHERE recall_words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3 ORDER BY rowid DESC";
/// The same, ascending. FTS5 skips rows before the range, but not those after it.
const ASCENDING_ROWS: &str =
    "SELECT rowid FROM recall_words WHERE recall_words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3";

/// The state of reading postings.
struct PostingReader<'c> {
    conn: &'c Connection,
    /// First and last row to read.
    range: (i64, i64),
    passages: FoundPassages<'c>,
}

impl PostingReader<'_> {
    /// Reads all rows of a narrow range.
    fn read_all(&mut self, words: &[String], found: &mut Postings) -> Result<()> {
        let (first, last) = self.range;
        let mut statement = self.conn.prepare_cached(ASCENDING_ROWS)?;
        for (at, word) in words.iter().enumerate() {
            let mut rows = statement.query(params![term(word), first, last])?;
            while let Some(row) = rows.next()? {
                self.passages.add_hit(row.get(0)?, at, found);
            }
            let said = &mut found.words[at];
            (said.complete, said.estimated_passages) = (true, said.hits.len() as u64);
        }
        Ok(())
    }

    /// Reads the terms in turns, newest passage first. Returns the lowest row read for each term.
    fn read_newest_first(&mut self, words: &[String], most: usize, found: &mut Postings) -> Result<Vec<i64>> {
        let (first, last) = self.range;
        let mut statements: Vec<_> =
            words.iter().map(|_| self.conn.prepare_cached(DESCENDING_ROWS)).collect::<rusqlite::Result<_>>()?;
        let mut open = Vec::with_capacity(words.len());
        for (statement, word) in statements.iter_mut().zip(words) {
            open.push(Some(statement.query(params![term(word), first, last])?));
        }
        let mut horizons = vec![last; words.len()];
        let mut read = 0;
        while read < most && open.iter().any(Option::is_some) {
            for (word, rows) in open.iter_mut().enumerate() {
                for _ in 0..ROWS_PER_STEP {
                    let Some(reading) = rows else { break };
                    let Some(row) = reading.next()? else {
                        (*rows, found.words[word].complete, horizons[word]) = (None, true, first);
                        break;
                    };
                    read += 1;
                    horizons[word] = row.get(0)?;
                    self.passages.add_hit(horizons[word], word, found);
                }
            }
        }
        let newest =
            self.conn.prepare_cached("SELECT ifnull(max(id), 0) FROM recall_passages")?.query_row([], |r| r.get(0))?;
        let last = last.min(newest);
        for (word, horizon) in found.words.iter_mut().zip(&horizons) {
            let (all, read) = ((last - first).max(1), (last - horizon).max(1));
            let hits = word.hits.len() as u64;
            // Extrapolates from the rows that were read.
            word.estimated_passages =
                if word.complete { hits } else { number(all) / (number(read) / hits.max(1)).max(1) };
        }
        Ok(horizons)
    }

    /// Counts repeated occurrences for terms with at most `most` passages.
    fn count_repeats(&self, words: &[String], most: u64, found: &mut Postings) -> Result<()> {
        let sql = "SELECT doc, count(*) FROM recall_terms WHERE term = ?1 GROUP BY doc HAVING count(*) > 1";
        let mut statement = self.conn.prepare_cached(sql)?;
        for (word, said) in words
            .iter()
            .zip(&mut found.words)
            .filter(|(_, said)| said.complete && (1..=most).contains(&said.estimated_passages))
        {
            let mut rows = statement.query([word])?;
            let mut counts: HashMap<usize, u32, RandomState> = HashMap::default();
            while let Some(row) = rows.next()? {
                if let Some(place) = self.passages.place(row.get(0)?) {
                    counts.insert(place, row.get(1)?);
                }
            }
            for (place, count) in said.hits.iter_mut().filter(|_| !counts.is_empty()) {
                *count = counts.get(place).copied().unwrap_or(1);
            }
        }
        Ok(())
    }

    /// Finds combinations of frequent terms in rows older than those read.
    fn read_combinations(&mut self, words: &[String], horizons: &[i64], found: &mut Postings) -> Result<()> {
        let (mut frequent, rare) = found.frequent_and_rare();
        if frequent.is_empty() {
            return Ok(());
        }
        if rare.is_empty() {
            // First all terms together, then without the most frequent ones.
            while frequent.len() > 1 {
                let all = frequent.iter().map(|word| term(&words[*word])).collect::<Vec<_>>().join(" AND ");
                let rows = self.rows(&all, frequent.iter().map(|word| horizons[*word]).max().unwrap_or(0))?;
                for row in &rows {
                    for word in &frequent {
                        if *row < horizons[*word] {
                            self.passages.add_hit(*row, *word, found);
                        }
                    }
                }
                if !rows.is_empty() {
                    break;
                }
                frequent.pop();
            }
            return Ok(());
        }
        let any = rare.iter().take(MAX_RARE_TERMS).map(|word| term(&words[*word])).collect::<Vec<_>>().join(" OR ");
        for word in frequent {
            for row in self.rows(&format!("{} AND ({any})", term(&words[word])), horizons[word])? {
                self.passages.add_hit(row, word, found);
            }
        }
        Ok(())
    }

    /// The newest rows of an expression below a row number.
    fn rows(&self, expression: &str, before: i64) -> Result<Vec<i64>> {
        let mut statement = self.conn.prepare_cached(DESCENDING_ROWS)?;
        let rows = statement.query_map(params![expression, self.range.0, before - 1], |r| r.get(0))?;
        Ok(rows.take(MAX_COMBINED_ROWS).collect::<rusqlite::Result<_>>()?)
    }
}

/// Adds postings from nodes that are not indexed yet.
fn add_unindexed(
    conn: &Connection,
    reader: &mut WordTokenizer,
    indexed: i64,
    words: &[String],
    filter: &WordFilter,
    found: &mut Postings,
) -> Result<()> {
    // Selects by row number: unindexed nodes are few, and an index on another column would read more rows.
    let (infos, own) = (FilterSets::of(conn, filter)?, filter.session.map(|id| sessions::row(conn, id)).transpose()?);
    let here = WordFilter { session: None, ..FilterSets::residual_filter(filter) };
    let conditions = Conditions::of(conn, &here, "n", "created_at")?;
    let sql =
        format!("SELECT {INDEXED_TEXT} FROM nodes n WHERE n.seq > ?1{} ORDER BY n.seq", numbered(&conditions.sql));
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(indexed)).chain(conditions.values.iter().cloned());
    let mut rows = statement.query(params_from_iter(values))?;
    let wanted: HashMap<&str, usize> = words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    while let Some(row) = rows.next()? {
        let said = IndexedText::read(row)?;
        let among = filter.among.as_ref().is_none_or(|among| among.contains(&number(said.row)));
        let own = match own {
            Some(own) => said.session == Some(own) || received_turns::turn(conn, own, said.row)?.is_some(),
            None => true,
        };
        if !among || !own || !infos.fit(said.tree, said.session) {
            continue;
        }
        let passages = reader.passages(&said.text);
        found.add_unindexed(number(said.row), &passages, &wanted, || burst(conn, &said, indexed))?;
    }
    Ok(())
}

/// The burst of an unindexed node: that of its nearest indexed ancestor, unless a gap lies between them.
fn burst(conn: &Connection, said: &IndexedText, indexed: i64) -> Result<i64> {
    let (mut first, mut at, mut next) = (said.row, said.at, said.parent);
    while let Some(parent) = next {
        let before: Option<(i64, i64)> =
            if parent <= indexed { fts_index::time_and_burst(conn, parent)? } else { None };
        let (then, above, burst) = match before {
            Some((then, burst)) => (then, None, burst),
            None => {
                let (then, above) = conn
                    .prepare_cached("SELECT created_at, parent FROM nodes WHERE seq = ?1")?
                    .query_row([parent], |r| Ok((r.get::<_, i64>(0)?, r.get(1)?)))?;
                (then, above, parent)
            }
        };
        if at.saturating_sub(then) >= BURST_GAP_MS {
            break;
        }
        (first, at, next) = (burst, then, above);
    }
    Ok(first)
}
