//! The full-text index, updated by the writer thread.
//!
//! Indexing one message per commit would write a segment each time, which costs more than the message. So nodes are
//! indexed by the hundred, in the commit that completes a batch. A search reads the few remaining nodes directly
//! ([`super::fts_query`]). One number in the file separates the two, so new text is found at once, also by other
//! processes.
//!
//! Tokenizing is half of the work. The thread that submits a change does it ([`super::prepared_change`]); the writer
//! tokenizes the rest: long texts, copies and other processes' nodes.

use std::{borrow::Cow, sync::Arc};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    insert::MultiInsert,
    prepared_change::PreparedChange,
    searched_text::{self, searched_columns},
    writer_cache::WriterCache,
};
use crate::{
    store::{
        Result, StoreError,
        word_postings::{BURST_GAP_MS, MAX_UNINDEXED_BYTES, MAX_UNINDEXED_NODES, PASSAGES_PER_NODE, burst},
    },
    text_index::{Passage, TOKENIZER_VERSION, WordTokenizer},
    types::NewNode,
};

/// Nodes whose passages are inserted together; also the capacity that stays allocated.
const BATCH_NODES: usize = 8_192;

/// Nodes that are not in the index yet.
#[derive(Debug, Default)]
pub(super) struct Unindexed {
    nodes: usize,
    bytes: usize,
    /// Nodes that were tokenized with their change, each with its index there. Usable only if all unindexed nodes are
    /// among them.
    read: Vec<(IndexEntry, usize)>,
    /// These changes, each with the number of its nodes.
    changes: Vec<(Arc<PreparedChange>, usize)>,
}

impl Unindexed {
    /// Adds a node of a change. `place` is its index among the change's nodes; `None` for a copied node.
    pub(super) fn add(&mut self, node: &NewNode, entry: IndexEntry, place: Option<usize>, work: &Arc<PreparedChange>) {
        self.nodes += 1;
        self.bytes += node.content.len();
        if let Some(place) = place.filter(|_| PreparedChange::has_words_of(node)) {
            self.read.push((entry, place));
            match self.changes.last_mut() {
                Some((last, count)) if Arc::ptr_eq(last, work) => *count += 1,
                _ => self.changes.push((Arc::clone(work), 1)),
            }
        }
    }

    /// True if so many more nodes and bytes of text would complete a batch.
    pub(super) fn is_due_after(&self, nodes: usize, bytes: usize) -> bool {
        self.nodes + nodes >= MAX_UNINDEXED_NODES || self.bytes + bytes >= MAX_UNINDEXED_BYTES
    }

    /// The tokenized nodes, in order.
    fn entries<'w>(
        &'w self,
        words: &mut WordTokenizer,
    ) -> impl Iterator<Item = Result<(IndexEntry, Cow<'w, [Passage]>)>> {
        let words = self.changes.iter().flat_map(move |(work, count)| std::iter::repeat_n(work.words(words), *count));
        self.read.iter().zip(words).map(|((entry, place), words)| Ok((*entry, Cow::Borrowed(words.of(*place)))))
    }

    /// Removes all entries and keeps capacity for a large transaction.
    fn clear(&mut self) {
        (self.nodes, self.bytes) = (0, 0);
        self.read.clear();
        self.read.shrink_to(BATCH_NODES);
        self.changes.clear();
    }
}

/// A node's columns in the index, without its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexEntry {
    pub(super) row: i64,
    pub(super) tree: i64,
    pub(super) session: Option<i64>,
    pub(super) author: i64,
    pub(super) kind: i64,
    pub(super) at: i64,
    pub(super) parent: Option<i64>,
}

/// The index's extent and statistics.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexState {
    pub(super) indexed: i64,
    rules: i64,
    pub(super) passages: i64,
    pub(super) words: i64,
}

pub(super) fn state(conn: &Connection) -> Result<IndexState> {
    Ok(conn.prepare_cached("SELECT indexed, rules, passages, words FROM recall_state")?.query_row([], |r| {
        Ok(IndexState { indexed: r.get(0)?, rules: r.get(1)?, passages: r.get(2)?, words: r.get(3)? })
    })?)
}

/// Indexes the unindexed nodes if there are enough of them. Called at the end of a transaction.
pub(super) fn index_if_due(conn: &Connection, cache: &mut WriterCache) -> Result<()> {
    if cache.unindexed.is_none() {
        cache.unindexed = Some(count_unindexed(conn)?);
    }
    if let Some(unindexed) = cache.unindexed.as_mut().filter(|unindexed| unindexed.is_due_after(0, 0)) {
        if unindexed.read.len() == unindexed.nodes {
            insert_batch(conn, state(conn)?, unindexed.entries(&mut cache.words))?;
        } else {
            index_missing(conn, &mut cache.words)?;
        }
        unindexed.clear();
    }
    Ok(())
}

/// Counts the nodes that are not in the index.
pub(super) fn count_unindexed(conn: &Connection) -> Result<Unindexed> {
    let mut statement = conn.prepare_cached(
        "SELECT count(*), ifnull(sum(octet_length(content)), 0) FROM nodes WHERE seq > (SELECT indexed FROM recall_state)",
    )?;
    Ok(statement.query_row([], |r| Ok(Unindexed { nodes: r.get(0)?, bytes: r.get(1)?, ..Unindexed::default() }))?)
}

/// A node's text and columns for indexing.
pub(super) struct IndexedText {
    pub(super) row: i64,
    pub(super) tree: i64,
    pub(super) session: Option<i64>,
    pub(super) author: i64,
    pub(super) kind: i64,
    pub(super) at: i64,
    pub(super) parent: Option<i64>,
    pub(super) text: String,
}

/// Columns for [`IndexedText::read`].
pub(super) const INDEXED_TEXT: &str =
    concat!("n.seq, n.tree, n.session, n.author, n.kind, n.created_at, n.parent, ", searched_columns!());

impl IndexedText {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            tree: row.get(1)?,
            session: row.get(2)?,
            author: row.get(3)?,
            kind: row.get(4)?,
            at: row.get(5)?,
            parent: row.get(6)?,
            text: searched_text::read(row, 7)?.into_owned(),
        })
    }
}

/// Indexes all missing nodes. Rebuilds the index if it was made by other tokenizer rules.
pub(super) fn index_missing(conn: &Connection, words: &mut WordTokenizer) -> Result<u64> {
    let mut state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        clear(conn)?;
        state = IndexState { indexed: 0, rules: i64::from(TOKENIZER_VERSION), passages: 0, words: 0 };
    }
    let mut nodes =
        conn.prepare_cached(&format!("SELECT {INDEXED_TEXT} FROM nodes n WHERE n.seq > ?1 ORDER BY n.seq"))?;
    let said = nodes.query_map([state.indexed], IndexedText::read)?;
    let entries = said.map(|said| {
        let IndexedText { row, tree, session, author, kind, at, parent, text } = said?;
        Ok((IndexEntry { row, tree, session, author, kind, at, parent }, Cow::Owned(words.passages(&text))))
    });
    insert_batch(conn, state, entries)
}

/// A row of `recall_passages`.
struct PassageRow {
    id: i64,
    entry: IndexEntry,
    burst: i64,
    words: u32,
}

/// Inserts the queued rows.
fn insert_passages(conn: &Connection, rows: &mut Vec<PassageRow>) -> Result<()> {
    static STATEMENT: MultiInsert = MultiInsert::new(
        "INSERT OR FAIL INTO recall_passages (id, tree, session, author, kind, at, sitting, words)",
        8,
    );
    STATEMENT.run(conn, rows, |PassageRow { id, entry, burst, words }, row| {
        row.add(id)?;
        row.add(&entry.tree)?;
        row.add(&entry.session)?;
        row.add(&entry.author)?;
        row.add(&entry.kind)?;
        row.add(&entry.at)?;
        row.add(burst)?;
        row.add(words)
    })?;
    rows.clear();
    Ok(())
}

/// Inserts nodes into an index with this state, in order; returns their number.
///
/// The other rows of a batch follow all of its words: a multi-row statement starts a savepoint, and FTS5 flushes a
/// segment at each savepoint.
fn insert_batch<'w>(
    conn: &Connection,
    mut state: IndexState,
    entries: impl Iterator<Item = Result<(IndexEntry, Cow<'w, [Passage]>)>>,
) -> Result<u64> {
    let mut index = conn.prepare_cached("INSERT INTO recall_words (rowid, words) VALUES (?1, ?2)")?;
    let mut rows: Vec<PassageRow> = Vec::new();
    let mut count = 0;
    for entry in entries {
        let (entry, passages) = entry?;
        let IndexEntry { row, at, .. } = entry;
        let before = match entry.parent {
            Some(parent) => match rows.binary_search_by_key(&(parent * PASSAGES_PER_NODE), |row| row.id) {
                Ok(known) => Some((rows[known].entry.at, rows[known].burst)),
                Err(_) => time_and_burst(conn, parent)?,
            },
            None => None,
        };
        let burst = burst(row, at, before);
        let none = [Passage::default()];
        let passages = if passages.is_empty() { &none[..] } else { &passages };
        for (id, passage) in (row * PASSAGES_PER_NODE..).zip(passages) {
            if passage.count > 0 {
                index.execute(params![id, passage.words])?;
            }
            rows.push(PassageRow { id, entry, burst, words: passage.count });
            state.passages += 1;
            state.words += i64::from(passage.count);
        }
        state.indexed = row;
        count += 1;
        if rows.len() >= BATCH_NODES {
            insert_passages(conn, &mut rows)?;
        }
    }
    insert_passages(conn, &mut rows)?;
    conn.prepare_cached("UPDATE recall_state SET indexed = ?1, rules = ?2, passages = ?3, words = ?4")?.execute([
        state.indexed,
        state.rules,
        state.passages,
        state.words,
    ])?;
    Ok(count)
}

/// The time and the burst of an indexed node.
pub(super) fn time_and_burst(conn: &Connection, node: i64) -> Result<Option<(i64, i64)>> {
    Ok(conn
        .prepare_cached("SELECT at, sitting FROM recall_passages WHERE id = ?1")?
        .query_row([node * PASSAGES_PER_NODE], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Empties the index.
fn clear(conn: &Connection) -> Result<()> {
    conn.execute("INSERT INTO recall_words (recall_words) VALUES ('delete-all')", [])?;
    conn.execute("DELETE FROM recall_passages", [])?;
    conn.execute("UPDATE recall_state SET indexed = 0, passages = 0, words = 0", [])?;
    Ok(())
}

/// True if any node has tool calls or is the result of one.
pub(super) fn has_calls(conn: &Connection) -> Result<bool> {
    let sql =
        "SELECT 1 FROM nodes WHERE tool_name IS NOT NULL UNION ALL SELECT 1 FROM nodes WHERE tool_calls IS NOT NULL";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// Rebuilds the index; returns the number of indexed nodes.
pub(super) fn rebuild(conn: &Connection) -> Result<u64> {
    clear(conn)?;
    index_missing(conn, &mut WordTokenizer::default())
}

/// Removes the words of nodes that are about to be purged, and rewrites the affected parts of the index.
pub(super) fn remove(conn: &Connection, which: &str, key: i64) -> Result<()> {
    remove_words(conn, &format!("SELECT seq FROM nodes WHERE {which}"), &[key])?;
    conn.execute("INSERT INTO recall_words (recall_words) VALUES ('optimize')", [])?;
    Ok(())
}

/// Removes nodes that are about to be deleted.
pub(super) fn delete(conn: &Connection, first: i64, last: i64) -> Result<()> {
    remove_words(conn, "SELECT seq FROM nodes WHERE seq BETWEEN ?1 AND ?2", &[first, last])?;
    let passages = [first * PASSAGES_PER_NODE, (last + 1) * PASSAGES_PER_NODE];
    let deleted = conn.execute("DELETE FROM recall_passages WHERE id >= ?1 AND id < ?2", passages)?;
    conn.execute("UPDATE recall_state SET passages = passages - ?1", [deleted])?;
    Ok(())
}

/// Lowers the end of the index after the last nodes were deleted, so that nodes with their row numbers are indexed.
pub(super) fn lower(conn: &Connection) -> Result<()> {
    conn.execute("UPDATE recall_state SET indexed = min(indexed, (SELECT ifnull(max(seq), 0) FROM nodes))", [])?;
    Ok(())
}

/// Removes the words of nodes, given as a query of row numbers. One passage without words remains of each.
fn remove_words(conn: &Connection, rows: &str, keys: &[i64]) -> Result<()> {
    let state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        // Only the words that were inserted can be removed.
        return clear(conn);
    }
    let mut words = WordTokenizer::default();
    let mut statement = conn.prepare(&format!(
        "SELECT {INDEXED_TEXT} FROM nodes n WHERE n.seq IN ({rows}) AND n.seq <= {} AND n.purged_at IS NULL",
        state.indexed
    ))?;
    let mut rows = statement.query(rusqlite::params_from_iter(keys))?;
    while let Some(row) = rows.next()? {
        let said = IndexedText::read(row)?;
        let first = said.row * PASSAGES_PER_NODE;
        let (mut passages, mut count) = (0, 0);
        for (id, passage) in (first..).zip(words.passages(&said.text)) {
            conn.prepare_cached("INSERT INTO recall_words (recall_words, rowid, words) VALUES ('delete', ?1, ?2)")?
                .execute(params![id, passage.words])?;
            passages += 1;
            count += i64::from(passage.count);
        }
        conn.prepare_cached("DELETE FROM recall_passages WHERE id > ?1 AND id < ?1 + ?2")?
            .execute([first, PASSAGES_PER_NODE])?;
        conn.prepare_cached("UPDATE recall_passages SET words = 0 WHERE id = ?1")?.execute([first])?;
        conn.prepare_cached("UPDATE recall_state SET passages = passages - ?1, words = words - ?2")?
            .execute([(passages - 1).max(0), count])?;
    }
    Ok(())
}

/// Compares the index with the nodes by a checksum over every word and position. Returns the problem, if any.
pub(super) fn problem(conn: &Connection) -> Result<Option<String>> {
    let state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        return Ok(None);
    }
    let (mut said, mut kept) = (0_u64, 0_u64);
    let (mut passages, mut count) = (0, 0);
    let mut words = WordTokenizer::default();
    let mut nodes = conn.prepare(&format!("SELECT {INDEXED_TEXT} FROM nodes n WHERE n.seq <= ?1 ORDER BY n.seq"))?;
    let mut rows = nodes.query([state.indexed])?;
    while let Some(row) = rows.next()? {
        let node = IndexedText::read(row)?;
        let cut = words.passages(&node.text);
        passages += i64::try_from(cut.len().max(1)).unwrap_or(i64::MAX);
        for (id, passage) in (node.row * PASSAGES_PER_NODE..).zip(cut) {
            count += i64::from(passage.count);
            for (offset, word) in (0..).zip(passage.words.split_ascii_whitespace()) {
                said = said.wrapping_add(checksum(word, id, offset));
            }
        }
    }
    let mut terms = conn.prepare("SELECT term, doc, offset FROM recall_terms")?;
    let mut rows = terms.query([])?;
    while let Some(row) = rows.next()? {
        let term = row.get_ref(0)?.as_str().map_err(|e| StoreError::Backend(Box::new(e)))?;
        kept = kept.wrapping_add(checksum(term, row.get(1)?, row.get(2)?));
    }
    let rows: (i64, i64) = conn
        .query_row("SELECT count(*), ifnull(sum(words), 0) FROM recall_passages", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let misplaced: bool = conn.query_row(
        &format!(
            "SELECT EXISTS (
                 SELECT 1 FROM recall_passages p LEFT JOIN nodes n ON n.seq = p.id / {PASSAGES_PER_NODE}
                     LEFT JOIN recall_passages q ON q.id = n.parent * {PASSAGES_PER_NODE}
                 WHERE n.seq IS NULL OR p.tree <> n.tree OR p.session IS NOT n.session OR p.author <> n.author
                     OR p.kind <> n.kind OR p.at <> n.created_at
                     OR p.sitting <> CASE WHEN n.created_at - q.at < {BURST_GAP_MS} THEN q.sitting ELSE n.seq END)"
        ),
        [],
        |r| r.get(0),
    )?;
    let whole = !misplaced && said == kept && rows == (passages, count) && rows == (state.passages, state.words);
    Ok((!whole).then(|| "the full-text index differs from the nodes; a rebuild recomputes it".to_owned()))
}

/// A checksum for a word at a position. Sums of these do not depend on the order.
fn checksum(word: &str, id: i64, offset: i64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(word.as_bytes()).update(&id.to_le_bytes()).update(&offset.to_le_bytes());
    let hash = hasher.finalize();
    hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
