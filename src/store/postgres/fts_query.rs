//! Full-text queries: the postings of search terms in the index, and in nodes that are not indexed yet. The same rows are
//! read in the same order as on SQLite, so that both rank alike.

use std::collections::{HashMap, HashSet};

use super::{
    connection::PostgresConnection,
    decode::{get, int, opt_int},
    fts_index::{self, PgIndexState, Posting},
    unindexed,
    uuid::Uuid,
};
use crate::{
    id::{SessionId, TreeId},
    store::{
        Postings, Result, StoreError, WordFilter,
        word_postings::{
            FoundPassages, MAX_COMBINED_ROWS, MAX_COUNTED_PASSAGES, MAX_ENUMERATED_NODES, MAX_RARE_TERMS,
            PASSAGES_PER_NODE, ROWS_PER_STEP,
        },
    },
};

/// Rows of `words` that are read at once.
const PAGE_ROWS: i64 = 64;
/// Pages of a frequent term that are read to combine it with others.
const MAX_COMBINED_PAGES: usize = 64;

/// The postings of terms, from about `most` rows of the index. Terms take turns, each read from the newest passage
/// backwards, so rare terms are read completely. Older passages of frequent terms are found by combination with rare
/// terms or, if there are none, with each other.
pub(super) fn postings(
    conn: &PostgresConnection,
    words: &[String],
    filter: &WordFilter,
    most: usize,
) -> Result<Postings> {
    let state = fts_index::state(conn)?;
    let mut found = Postings::of_index(words.len(), state.passages, state.words);
    let range = range(conn, filter)?;
    let mut reading = PgPostingReader {
        conn,
        state,
        passages: FoundPassages::new([filter.among.as_ref(), range.as_ref().map(|range| &range.nodes)], 0),
        counts: vec![HashMap::new(); words.len()],
    };
    // Ratio between the rows in the index and the rows that were read.
    let mut ratio = 1;
    if let Some(range) = &range {
        reading.read_all(words, range, &mut found)?;
        ratio = found.passage_count / (range.nodes.len() as u64).max(1) + 1;
    } else {
        let terms = reading.read_newest_first(words, most, &mut found)?;
        reading.read_combinations(words, &terms, &mut found)?;
    }
    reading.count_repeats(MAX_COUNTED_PASSAGES / ratio, &mut found);
    unindexed::add(conn, state.indexed, words, filter, &mut found)?;
    Ok(found)
}

/// The part of the index that a filter can match.
pub(super) struct PgPassageRange {
    /// The trees of the nodes.
    pub(super) trees: Vec<Uuid>,
    /// All nodes that can match.
    pub(super) nodes: HashSet<u64>,
}

/// The range that a filter can match; `None` if it matches many nodes.
pub(super) fn range(conn: &PostgresConnection, filter: &WordFilter) -> Result<Option<PgPassageRange>> {
    let few = |sql: &str, key: &Uuid, missing: &dyn Fn() -> StoreError| -> Result<bool> {
        let row = conn.query_opt(sql, &[key])?.ok_or_else(missing)?;
        Ok(int(&row, 0)?.unsigned_abs() <= MAX_ENUMERATED_NODES)
    };
    let mut chosen = None;
    if let Some(id) = filter.tree {
        let (key, missing) = (Uuid(id.to_bytes()), || missing_tree(id));
        if few("SELECT nodes FROM tree_state WHERE tree = $1", &key, &missing)? {
            chosen = Some(("SELECT tree, seq FROM nodes WHERE tree = $1", key));
        }
    }
    if let Some(id) = filter.session {
        let (key, missing) = (Uuid(id.to_bytes()), || missing_session(id));
        if few("SELECT turn_count FROM sessions WHERE id = $1", &key, &missing)? {
            let sql = "SELECT tree, seq FROM nodes WHERE session = $1
                       UNION SELECT tree, node FROM received_turns WHERE session = $1";
            chosen = Some((sql, key));
        }
    }
    let Some((sql, key)) = chosen else { return Ok(None) };
    let (mut trees, mut nodes) = (HashSet::new(), HashSet::new());
    for row in conn.query(sql, &[&key])? {
        trees.insert(get::<Uuid>(&row, 0)?);
        nodes.insert(int(&row, 1)?.unsigned_abs());
    }
    Ok(Some(PgPassageRange { trees: trees.into_iter().collect(), nodes }))
}

fn missing_tree(id: TreeId) -> StoreError {
    StoreError::not_found("tree", id)
}

fn missing_session(id: SessionId) -> StoreError {
    StoreError::not_found("session", id)
}

/// The postings of a term, read from the newest batch backwards.
struct TermReader<'c, 'w> {
    conn: &'c PostgresConnection,
    term: &'w str,
    /// Only batches below this number are still to be read.
    below: i64,
    /// Postings that were read and not taken, the newest last.
    waiting: Vec<(Posting, TermBlock)>,
    is_read: bool,
    /// All postings that were taken, the newest first.
    taken: Vec<(Posting, TermBlock)>,
}

/// A tree and a batch, which name the rows of all terms of a passage.
type TermBlock = (Uuid, i64);

impl<'c, 'w> TermReader<'c, 'w> {
    fn new(conn: &'c PostgresConnection, term: &'w str) -> Self {
        Self { conn, term, below: i64::MAX, waiting: Vec::new(), is_read: false, taken: Vec::new() }
    }

    /// Takes the next older posting.
    fn next(&mut self) -> Result<Option<Posting>> {
        if self.waiting.is_empty() && !self.is_read {
            self.read_page()?;
        }
        let next = self.waiting.pop();
        self.taken.extend(next);
        Ok(next.map(|(posting, _)| posting))
    }

    /// Reads the next page. A batch has a row for each tree, so the last batch of a full page is read completely.
    fn read_page(&mut self) -> Result<()> {
        let sql = "SELECT tree, block, postings FROM words WHERE term = $1 AND block < $2 ORDER BY block DESC LIMIT $3";
        let mut rows = self.conn.query(sql, &[&self.term, &self.below, &PAGE_ROWS])?;
        if (rows.len() as i64) < PAGE_ROWS {
            self.is_read = true;
        } else if let Some(last) = rows.last().map(|row| int(row, 1)).transpose()? {
            let mut whole = Vec::with_capacity(rows.len());
            for row in rows {
                if int(&row, 1)? != last {
                    whole.push(row);
                }
            }
            rows = whole;
            let sql = "SELECT tree, block, postings FROM words WHERE term = $1 AND block = $2";
            rows.extend(self.conn.query(sql, &[&self.term, &last])?);
            self.below = last;
        }
        for row in &rows {
            let block = (get(row, 0)?, int(row, 1)?);
            self.waiting.extend(fts_index::unpack(get(row, 2)?)?.into_iter().map(|posting| (posting, block)));
        }
        self.waiting.sort_unstable_by_key(|(posting, _)| posting.row);
        Ok(())
    }
}

/// The state of reading postings.
struct PgPostingReader<'c> {
    conn: &'c PostgresConnection,
    state: PgIndexState,
    passages: FoundPassages<'c>,
    /// Repeated occurrences of each term, by index of the passage.
    counts: Vec<HashMap<usize, u32>>,
}

impl<'c> PgPostingReader<'c> {
    /// Adds a term's occurrence in a row.
    fn add_hit(&mut self, posting: Posting, word: usize, found: &mut Postings) {
        if let Some(place) = self.passages.add_hit(posting.row, word, found)
            && posting.count > 1
        {
            self.counts[word].insert(place, posting.count);
        }
    }

    /// Reads all rows of a narrow range.
    fn read_all(&mut self, words: &[String], range: &PgPassageRange, found: &mut Postings) -> Result<()> {
        let sql = "SELECT term, postings FROM words WHERE tree = ANY($1) AND term = ANY($2)";
        let mut terms: HashMap<String, Vec<Posting>> = HashMap::new();
        for row in self.conn.query(sql, &[&range.trees, &words])? {
            terms.entry(get(&row, 0)?).or_default().extend(fts_index::unpack(get(&row, 1)?)?);
        }
        for (at, word) in words.iter().enumerate() {
            let mut postings = terms.get(word).cloned().unwrap_or_default();
            postings.sort_unstable_by_key(|posting| posting.row);
            postings.into_iter().for_each(|posting| self.add_hit(posting, at, found));
            let said = &mut found.words[at];
            (said.complete, said.estimated_passages) = (true, said.hits.len() as u64);
        }
        Ok(())
    }

    /// Reads the terms in turns, newest passage first. Returns the readers.
    fn read_newest_first<'w>(
        &mut self,
        words: &'w [String],
        most: usize,
        found: &mut Postings,
    ) -> Result<Vec<TermReader<'c, 'w>>> {
        let mut terms: Vec<_> = words.iter().map(|word| TermReader::new(self.conn, word)).collect();
        let mut read = 0;
        while read < most && found.words.iter().any(|word| !word.complete) {
            for (word, term) in terms.iter_mut().enumerate() {
                for _ in 0..ROWS_PER_STEP {
                    if found.words[word].complete {
                        break;
                    }
                    match term.next()? {
                        Some(posting) => self.add_hit(posting, word, found),
                        None => found.words[word].complete = true,
                    }
                    read += usize::from(!found.words[word].complete);
                }
            }
        }
        let places = self.places(&terms)?;
        for ((term, word), place) in terms.iter().zip(&mut found.words).zip(places) {
            let hits = word.hits.len() as u64;
            word.estimated_passages = match term.taken.last() {
                Some((oldest, _)) if !word.complete => {
                    // Extrapolates from the rows that were read, as numbers of nodes in the index.
                    let all = (self.state.nodes * PASSAGES_PER_NODE).max(1);
                    let horizon = place * PASSAGES_PER_NODE + oldest.row % PASSAGES_PER_NODE;
                    all.unsigned_abs() / ((all - horizon).max(1).unsigned_abs() / hits.max(1)).max(1)
                }
                _ => hits,
            };
        }
        Ok(terms)
    }

    /// The number in the index of the oldest node that each term was read back to; 0 if the term is complete.
    fn places(&self, terms: &[TermReader<'_, '_>]) -> Result<Vec<i64>> {
        let oldest: Vec<i64> =
            terms.iter().map(|t| t.taken.last().map_or(0, |(posting, _)| posting.row / PASSAGES_PER_NODE)).collect();
        let sql = "SELECT n.seq, p.place FROM nodes n JOIN passages p ON p.tree = n.tree AND p.node = n.seq WHERE n.seq = ANY($1)";
        let mut places = HashMap::new();
        for row in self.conn.query(sql, &[&oldest])? {
            places.insert(int(&row, 0)?, int(&row, 1)?);
        }
        Ok(oldest.iter().map(|seq| places.get(seq).copied().unwrap_or(0)).collect())
    }

    /// Counts repeated occurrences for terms with at most `most` passages.
    fn count_repeats(&self, most: u64, found: &mut Postings) {
        for (word, counts) in found.words.iter_mut().zip(&self.counts) {
            if word.complete && (1..=most).contains(&word.estimated_passages) {
                word.hits.iter_mut().for_each(|(place, count)| *count = counts.get(place).copied().unwrap_or(1));
            }
        }
    }

    /// Finds combinations of frequent terms in rows older than those read.
    fn read_combinations(
        &mut self,
        words: &[String],
        terms: &[TermReader<'_, '_>],
        found: &mut Postings,
    ) -> Result<()> {
        let horizon = |word: usize| match (found.words[word].complete, terms[word].taken.last()) {
            (false, Some((oldest, _))) => oldest.row,
            _ => 0,
        };
        let horizons: Vec<i64> = (0..words.len()).map(horizon).collect();
        let (frequent, mut rare) = found.frequent_and_rare();
        if frequent.is_empty() {
            return Ok(());
        }
        if rare.is_empty() {
            return self.combine_frequent(words, frequent, &horizons, found);
        }
        rare.truncate(MAX_RARE_TERMS);
        let mut rows: HashMap<i64, TermBlock> = HashMap::new();
        rare.iter()
            .flat_map(|word| &terms[*word].taken)
            .for_each(|(posting, block)| _ = rows.insert(posting.row, *block));
        for word in frequent {
            let older: HashMap<i64, TermBlock> =
                rows.iter().filter(|(row, _)| **row < horizons[word]).map(|(row, block)| (*row, *block)).collect();
            let mut both = self.containing(&words[word], &older)?;
            both.sort_unstable_by_key(|posting| std::cmp::Reverse(posting.row));
            both.truncate(MAX_COMBINED_ROWS);
            both.into_iter().for_each(|posting| self.add_hit(posting, word, found));
        }
        Ok(())
    }

    /// The postings of a term in given rows.
    fn containing(&self, term: &str, rows: &HashMap<i64, TermBlock>) -> Result<Vec<Posting>> {
        let blocks: HashSet<TermBlock> = rows.values().copied().collect();
        let (trees, blocks): (Vec<Uuid>, Vec<i64>) = blocks.into_iter().unzip();
        let sql = "SELECT w.postings FROM unnest($1::uuid[], $2::bigint[]) b (tree, block)
                       JOIN words w ON w.tree = b.tree AND w.term = $3 AND w.block = b.block";
        let mut found = Vec::new();
        for row in self.conn.query(sql, &[&trees, &blocks, &term])? {
            found.extend(
                fts_index::unpack(get(&row, 0)?)?.into_iter().filter(|posting| rows.contains_key(&posting.row)),
            );
        }
        Ok(found)
    }

    /// Finds rows that contain all frequent terms together; if there are none, without the most frequent ones.
    fn combine_frequent(
        &mut self,
        words: &[String],
        mut frequent: Vec<usize>,
        horizons: &[i64],
        found: &mut Postings,
    ) -> Result<()> {
        while frequent.len() > 1 {
            let before = frequent.iter().map(|word| horizons[*word]).max().unwrap_or(0);
            let mut first = TermReader::new(self.conn, &words[frequent[0]]);
            first.below = before / PASSAGES_PER_NODE + 1;
            let mut all: Vec<Vec<(usize, Posting)>> = Vec::new();
            // A batch is named after its last node, so the batch of the horizon itself is read too.
            let next: Option<i64> = opt_int(
                &self.conn.query_one(
                    "SELECT min(block) FROM words WHERE term = $1 AND block >= $2",
                    &[&first.term, &first.below],
                )?,
                0,
            )?;
            first.below = next.map_or(first.below, |block| block + 1);
            for _ in 0..MAX_COMBINED_PAGES {
                first.read_page()?;
                let page: Vec<(Posting, TermBlock)> = first.waiting.drain(..).filter(|(p, _)| p.row < before).collect();
                let mut rows: HashMap<i64, TermBlock> = page.iter().map(|(p, block)| (p.row, *block)).collect();
                let mut postings: HashMap<i64, Vec<(usize, Posting)>> =
                    page.iter().map(|(posting, _)| (posting.row, vec![(frequent[0], *posting)])).collect();
                for word in &frequent[1..] {
                    let with: HashMap<i64, Posting> =
                        self.containing(&words[*word], &rows)?.into_iter().map(|p| (p.row, p)).collect();
                    rows.retain(|row, _| with.contains_key(row));
                    postings.retain(|row, own| with.get(row).map(|p| own.push((*word, *p))).is_some());
                }
                let mut page: Vec<_> = postings.into_iter().collect();
                page.sort_unstable_by_key(|(row, _)| std::cmp::Reverse(*row));
                all.extend(page.into_iter().map(|(_, own)| own));
                if first.is_read || all.len() >= MAX_COMBINED_ROWS {
                    break;
                }
            }
            all.truncate(MAX_COMBINED_ROWS);
            let is_empty = all.is_empty();
            for (word, posting) in all.into_iter().flatten() {
                if posting.row < horizons[word] {
                    self.add_hit(posting, word, found);
                }
            }
            if !is_empty {
                break;
            }
            frequent.pop();
        }
        Ok(())
    }
}
