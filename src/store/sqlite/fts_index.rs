//! The index of words, kept up with what is said.
//!
//! A commit of one message would write a segment of its own to the index, which costs more than the message. So nodes
//! go in by the hundred, in the commit that makes them as many; those that are not in it yet are few, and whoever
//! searches reads them as they are ([`super::recall`]). Which they are follows from one number in the file, so a word
//! is found as soon as it was said, also by another process.
//!
//! Reading words is half of the work. It is done on the thread of whoever submits a change ([`super::work`]); what came in
//! otherwise (long texts, copies, other processes' nodes) the writer reads itself.

use std::{borrow::Cow, sync::Arc};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{cache::WriterCache, insert::MultiInsert, prepared_change::PreparedChange};
use crate::{
    store::{Result, StoreError},
    text_index::{MAX_PASSAGES, Passage, TOKENIZER_VERSION, WordTokenizer},
    types::NewNode,
};

/// Nodes that wait to be indexed at the most.
const NODES: usize = 256;
/// Bytes of content that wait to be indexed, about: a search reads them all.
const BYTES: usize = 256 * 1024;
/// Milliseconds after which what is said next begins another sitting.
pub(super) const SITTING: i64 = 2 * 3_600_000;
/// How many passages a node's number makes room for.
pub(super) const ROOM: i64 = MAX_PASSAGES as i64;

/// Nodes whose rows are written together, and that there is room for after a transaction of more.
const BATCH: usize = 8_192;

/// What is said by nodes that are not in the index yet.
#[derive(Debug, Default)]
pub(super) struct Unindexed {
    nodes: usize,
    bytes: usize,
    /// Those whose words are read with their change, with their places there. Only all of them are worth anything.
    read: Vec<(IndexEntry, usize)>,
    /// Those changes, each with how many of them are its own.
    works: Vec<(Arc<PreparedChange>, usize)>,
}

impl Unindexed {
    /// A change added a node, at a place among those that it adds, or on the way (a copy).
    pub(super) fn add(&mut self, node: &NewNode, entry: IndexEntry, place: Option<usize>, work: &Arc<PreparedChange>) {
        self.nodes += 1;
        self.bytes += node.content.len();
        if let Some(place) = place.filter(|_| PreparedChange::has_words_of(node)) {
            self.read.push((entry, place));
            match self.works.last_mut() {
                Some((last, count)) if Arc::ptr_eq(last, work) => *count += 1,
                _ => self.works.push((Arc::clone(work), 1)),
            }
        }
    }

    /// The nodes whose words are read, in their order.
    fn entries<'w>(
        &'w self,
        words: &mut WordTokenizer,
    ) -> impl Iterator<Item = Result<(IndexEntry, Cow<'w, [Passage]>)>> {
        let words = self.works.iter().flat_map(move |(work, count)| std::iter::repeat_n(work.words(words), *count));
        self.read.iter().zip(words).map(|((entry, place), words)| Ok((*entry, Cow::Borrowed(words.of(*place)))))
    }

    /// None, with room for as many as a large transaction adds.
    fn clear(&mut self) {
        (self.nodes, self.bytes) = (0, 0);
        self.read.clear();
        self.read.shrink_to(BATCH);
        self.works.clear();
    }
}

/// A node as the index keeps it, beside its words.
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

/// How far the index goes.
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

/// At the end of a transaction that added `bytes` of content: indexes what waits, if that is enough.
pub(super) fn keep_up(conn: &Connection, cache: &mut WriterCache) -> Result<()> {
    if cache.unindexed.is_none() {
        cache.unindexed = Some(waiting(conn)?);
    }
    if let Some(waiting) = cache.unindexed.as_mut().filter(|waiting| waiting.nodes >= NODES || waiting.bytes >= BYTES) {
        if waiting.read.len() == waiting.nodes {
            put_in(conn, state(conn)?, waiting.entries(&mut cache.words))?;
        } else {
            catch_up(conn, &mut cache.words)?;
        }
        waiting.clear();
    }
    Ok(())
}

fn waiting(conn: &Connection) -> Result<Unindexed> {
    let mut statement = conn.prepare_cached(
        "SELECT count(*), ifnull(sum(octet_length(content)), 0) FROM nodes WHERE seq > (SELECT indexed FROM recall_state)",
    )?;
    Ok(statement.query_row([], |r| Ok(Unindexed { nodes: r.get(0)?, bytes: r.get(1)?, ..Unindexed::default() }))?)
}

/// A node as the index wants it.
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

/// The columns of [`Said::read`].
pub(super) const SAID: &str =
    "n.seq, n.tree, n.session, n.author, n.kind, n.created_at, n.parent, n.content, n.tool_calls";

impl IndexedText {
    /// What a model called is said too.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut text: String = row.get(7)?;
        if let Some(calls) = row.get::<_, Option<String>>(8)? {
            text.push('\n');
            text.push_str(&calls);
        }
        Ok(Self {
            row: row.get(0)?,
            tree: row.get(1)?,
            session: row.get(2)?,
            author: row.get(3)?,
            kind: row.get(4)?,
            at: row.get(5)?,
            parent: row.get(6)?,
            text,
        })
    }
}

/// Indexes whatever is not in the index; all of it, where the index was made by other rules.
pub(super) fn catch_up(conn: &Connection, words: &mut WordTokenizer) -> Result<u64> {
    let mut state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        clear(conn)?;
        state = IndexState { indexed: 0, rules: i64::from(TOKENIZER_VERSION), passages: 0, words: 0 };
    }
    let mut nodes = conn.prepare_cached(&format!("SELECT {SAID} FROM nodes n WHERE n.seq > ?1 ORDER BY n.seq"))?;
    let said = nodes.query_map([state.indexed], IndexedText::read)?;
    let entries = said.map(|said| {
        let IndexedText { row, tree, session, author, kind, at, parent, text } = said?;
        Ok((IndexEntry { row, tree, session, author, kind, at, parent }, Cow::Owned(words.passages(&text))))
    });
    put_in(conn, state, entries)
}

/// A row of `recall_passages`.
struct PassageRow {
    id: i64,
    entry: IndexEntry,
    sitting: i64,
    words: u32,
}

/// Writes rows that wait.
fn keep(conn: &Connection, rows: &mut Vec<PassageRow>) -> Result<()> {
    static STATEMENT: MultiInsert = MultiInsert::new(
        "INSERT OR FAIL INTO recall_passages (id, tree, session, author, kind, at, sitting, words)",
        8,
    );
    STATEMENT.run(conn, rows, |PassageRow { id, entry, sitting, words }, row| {
        row.add(id)?;
        row.add(&entry.tree)?;
        row.add(&entry.session)?;
        row.add(&entry.author)?;
        row.add(&entry.kind)?;
        row.add(&entry.at)?;
        row.add(sitting)?;
        row.add(words)
    })?;
    rows.clear();
    Ok(())
}

/// Puts nodes into an index in this state, in their order; returns how many they were.
///
/// The rows beside the words of a batch come after all of its words: a statement of several rows begins a savepoint, and at
/// each of those FTS5 writes what it gathered as a segment of its own.
fn put_in<'w>(
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
            Some(parent) => match rows.binary_search_by_key(&(parent * ROOM), |row| row.id) {
                Ok(known) => Some((rows[known].entry.at, rows[known].sitting)),
                Err(_) => place(conn, parent)?,
            },
            None => None,
        };
        let sitting = sitting(row, at, before);
        let none = [Passage::default()];
        let passages = if passages.is_empty() { &none[..] } else { &passages };
        for (id, passage) in (row * ROOM..).zip(passages) {
            if passage.count > 0 {
                index.execute(params![id, passage.words])?;
            }
            rows.push(PassageRow { id, entry, sitting, words: passage.count });
            state.passages += 1;
            state.words += i64::from(passage.count);
        }
        state.indexed = row;
        count += 1;
        if rows.len() >= BATCH {
            keep(conn, &mut rows)?;
        }
    }
    keep(conn, &mut rows)?;
    conn.prepare_cached("UPDATE recall_state SET indexed = ?1, rules = ?2, passages = ?3, words = ?4")?.execute([
        state.indexed,
        state.rules,
        state.passages,
        state.words,
    ])?;
    Ok(count)
}

/// When a node of the index was said, and in which sitting.
pub(super) fn place(conn: &Connection, node: i64) -> Result<Option<(i64, i64)>> {
    Ok(conn
        .prepare_cached("SELECT at, sitting FROM recall_passages WHERE id = ?1")?
        .query_row([node * ROOM], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// The sitting of the node at `row`, said at `now`, where what it hangs on has this time and sitting.
pub(super) fn sitting(row: i64, now: i64, before: Option<(i64, i64)>) -> i64 {
    match before {
        Some((at, sitting)) if now.saturating_sub(at) < SITTING => sitting,
        _ => row,
    }
}

/// Empties the index.
fn clear(conn: &Connection) -> Result<()> {
    conn.execute("INSERT INTO recall_words (recall_words) VALUES ('delete-all')", [])?;
    conn.execute("DELETE FROM recall_passages", [])?;
    conn.execute("UPDATE recall_state SET indexed = 0, passages = 0, words = 0", [])?;
    Ok(())
}

/// Makes the index anew; returns how many nodes it has.
pub(super) fn rebuild(conn: &Connection) -> Result<u64> {
    clear(conn)?;
    catch_up(conn, &mut WordTokenizer::default())
}

/// Takes the words of nodes that are about to be purged out of the index, for good: what they stood in is written anew.
pub(super) fn forget(conn: &Connection, which: &str, key: i64) -> Result<()> {
    let state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        // Only the words that went in can be taken out.
        clear(conn)?;
        return Ok(());
    }
    let mut words = WordTokenizer::default();
    let mut statement = conn.prepare(&format!(
        "SELECT {SAID} FROM nodes n WHERE n.seq IN (SELECT seq FROM nodes WHERE {which}) AND n.seq <= ?2 AND n.purged_at IS NULL"
    ))?;
    let mut rows = statement.query([key, state.indexed])?;
    while let Some(row) = rows.next()? {
        let said = IndexedText::read(row)?;
        let first = said.row * ROOM;
        let (mut passages, mut count) = (0, 0);
        for (id, passage) in (first..).zip(words.passages(&said.text)) {
            conn.prepare_cached("INSERT INTO recall_words (recall_words, rowid, words) VALUES ('delete', ?1, ?2)")?
                .execute(params![id, passage.words])?;
            passages += 1;
            count += i64::from(passage.count);
        }
        conn.prepare_cached("DELETE FROM recall_passages WHERE id > ?1 AND id < ?1 + ?2")?.execute([first, ROOM])?;
        conn.prepare_cached("UPDATE recall_passages SET words = 0 WHERE id = ?1")?.execute([first])?;
        conn.prepare_cached("UPDATE recall_state SET passages = passages - ?1, words = words - ?2")?
            .execute([(passages - 1).max(0), count])?;
    }
    conn.execute("INSERT INTO recall_words (recall_words) VALUES ('optimize')", [])?;
    Ok(())
}

/// What is wrong with the index, if anything: a sum over every word at its place, as the index has it and as the nodes
/// say it.
pub(super) fn problem(conn: &Connection) -> Result<Option<String>> {
    let state = state(conn)?;
    if state.rules != i64::from(TOKENIZER_VERSION) {
        return Ok(None);
    }
    let (mut said, mut kept) = (0_u64, 0_u64);
    let (mut passages, mut count) = (0, 0);
    let mut words = WordTokenizer::default();
    let mut nodes = conn.prepare(&format!("SELECT {SAID} FROM nodes n WHERE n.seq <= ?1 ORDER BY n.seq"))?;
    let mut rows = nodes.query([state.indexed])?;
    while let Some(row) = rows.next()? {
        let node = IndexedText::read(row)?;
        let cut = words.passages(&node.text);
        passages += i64::try_from(cut.len().max(1)).unwrap_or(i64::MAX);
        for (id, passage) in (node.row * ROOM..).zip(cut) {
            count += i64::from(passage.count);
            for (offset, word) in (0..).zip(passage.words.split_ascii_whitespace()) {
                said = said.wrapping_add(mark(word, id, offset));
            }
        }
    }
    let mut terms = conn.prepare("SELECT term, doc, offset FROM recall_terms")?;
    let mut rows = terms.query([])?;
    while let Some(row) = rows.next()? {
        let term = row.get_ref(0)?.as_str().map_err(|e| StoreError::Backend(Box::new(e)))?;
        kept = kept.wrapping_add(mark(term, row.get(1)?, row.get(2)?));
    }
    let rows: (i64, i64) = conn
        .query_row("SELECT count(*), ifnull(sum(words), 0) FROM recall_passages", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let whole = said == kept && rows == (passages, count) && rows == (state.passages, state.words);
    Ok((!whole).then(|| "the index of words is not what the nodes say; a rebuild makes it anew".to_owned()))
}

/// A number for a word at its place; sums of these do not depend on the order.
fn mark(word: &str, id: i64, offset: i64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(word.as_bytes()).update(&id.to_le_bytes()).update(&offset.to_le_bytes());
    let hash = hasher.finalize();
    hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
