//! Statements of the table `journal`. Entries of a tree form a chain through `previous`, so that a tree's history is
//! read without an index, whose page every append would have to write. Entries without tree form a chain of their own.

use std::collections::hash_map;

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    store::{
        ChangeKind, Result,
        sqlite::{
            insert::{MultiInsert, in_order},
            row_checksums::RowSum,
            writer_cache::RowMap,
        },
    },
    types::{Op, Timestamp},
};

/// Entries below a page's end among which the next one of a chain is searched before the chain is followed.
const NEAR_ENTRIES: i64 = 4_096;

pub(in crate::store::sqlite) struct Entry {
    pub(in crate::store::sqlite) group: Option<i64>,
    pub(in crate::store::sqlite) at: Timestamp,
    pub(in crate::store::sqlite) agent: i64,
    pub(in crate::store::sqlite) session: Option<i64>,
    pub(in crate::store::sqlite) tree: Option<i64>,
    pub(in crate::store::sqlite) op: Op,
    pub(in crate::store::sqlite) change: ChangeKind,
    pub(in crate::store::sqlite) node: Option<i64>,
    pub(in crate::store::sqlite) undo: Option<String>,
    pub(in crate::store::sqlite) target: Option<i64>,
}

/// An entry with its number and the previous entry of its chain.
pub(in crate::store::sqlite) struct NewRow {
    entry: Entry,
    seq: i64,
    previous: Option<i64>,
}

/// The contribution of a visible node to its tree's counts.
#[derive(Default)]
pub(in crate::store::sqlite) struct TreeCountDelta {
    pub(in crate::store::sqlite) nodes: i64,
    pub(in crate::store::sqlite) messages: i64,
    pub(in crate::store::sqlite) leaves: i64,
    pub(in crate::store::sqlite) branch_points: i64,
    pub(in crate::store::sqlite) depth: u32,
}

impl TreeCountDelta {
    /// Adds the contribution of another node.
    pub(in crate::store::sqlite) fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        self.messages += other.messages;
        self.leaves += other.leaves;
        self.branch_points += other.branch_points;
        self.depth = self.depth.max(other.depth);
    }
}

/// The last entries of the chains, and changes to `tree_state` that are written once per transaction. Valid until
/// another connection commits or a transaction is rolled back.
#[derive(Default)]
pub(in crate::store::sqlite) struct JournalChainCache {
    /// Number of the newest entry, unwritten ones included; `None` until it is read.
    last: Option<i64>,
    heads: RowMap<i64, Option<i64>>,
    unwritten: RowMap<i64, Unwritten>,
}

struct Unwritten {
    at: i64,
    added: TreeCountDelta,
}

impl JournalChainCache {
    /// Writes the deferred changes to `tree_state`. Clears the cache if it holds more than `most` trees.
    pub(in crate::store::sqlite) fn write(&mut self, conn: &Connection, most: usize) -> Result<()> {
        for (tree, Unwritten { at, added }) in self.unwritten.drain() {
            conn.prepare_cached(
                "UPDATE tree_state SET last_journal = ?2, updated_at = max(updated_at, ?3), nodes = nodes + ?4,
                     leaves = leaves + ?5, branch_points = branch_points + ?6, max_depth = max(max_depth, ?7),
                     messages = messages + ?8
                 WHERE tree = ?1",
            )?
            .execute(params![
                tree,
                self.heads.get(&tree).copied().flatten(),
                at,
                added.nodes,
                added.leaves,
                added.branch_points,
                added.depth,
                added.messages
            ])?;
        }
        if self.heads.len() > most {
            self.heads.clear();
        }
        Ok(())
    }

    /// The newest entry of a tree, unwritten ones included.
    fn head(&mut self, conn: &Connection, tree: i64) -> Result<Option<i64>> {
        Ok(*match self.heads.entry(tree) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => new.insert(tree_head(conn, tree)?),
        })
    }
}

/// Numbers an entry and defers its change of `tree_state` to `chains`. The caller must write the row ([`write`]) before
/// it reads the journal. Returns the number and the row.
pub(in crate::store::sqlite) fn number(
    conn: &Connection,
    entry: Entry,
    added: &TreeCountDelta,
    chains: &mut JournalChainCache,
) -> Result<(i64, NewRow)> {
    let seq = 1 + match chains.last {
        Some(last) => last,
        None => conn.prepare_cached(LAST)?.query_row([], |r| r.get(0))?,
    };
    chains.last = Some(seq);
    let previous = match entry.tree {
        Some(tree) => {
            let previous = chains.head(conn, tree)?;
            chains.heads.insert(tree, Some(seq));
            let at = entry.at.as_millis();
            let state = chains.unwritten.entry(tree).or_insert(Unwritten { at, added: TreeCountDelta::default() });
            state.at = state.at.max(at);
            state.added.add(added);
            previous
        }
        None => {
            let previous = head(conn)?;
            conn.prepare_cached("INSERT OR REPLACE INTO settings (name, value) VALUES ('journal_head', ?1)")?
                .execute([seq.to_string()])?;
            previous
        }
    };
    Ok((seq, NewRow { entry, seq, previous }))
}

/// Number of the newest entry, 0 if there is none.
const LAST: &str = "SELECT ifnull(max(seq), 0) FROM journal";

/// Inserts entries in order.
pub(in crate::store::sqlite) fn write(conn: &Connection, rows: &[NewRow]) -> Result<()> {
    static STATEMENT: MultiInsert = MultiInsert::new(
        "INSERT INTO journal (grp, at, agent, session, tree, op, change, node, undo, target, previous, row_sum)",
        12,
    );
    STATEMENT.run(conn, rows, |new @ NewRow { entry, previous, .. }, row| {
        row.add(&entry.group)?;
        row.add(&entry.at.as_millis())?;
        row.add(&entry.agent)?;
        row.add(&entry.session)?;
        row.add(&entry.tree)?;
        row.add(&entry.op.code())?;
        row.add(&entry.change.code())?;
        row.add(&entry.node)?;
        row.add(&entry.undo)?;
        row.add(&entry.target)?;
        row.add(previous)?;
        row.add(&row_sum(new)?)
    })?;
    in_order(conn, rows.last().map(|row| row.seq))
}

/// The checksum of an entry: every column in the order of the table.
fn row_sum(NewRow { entry, seq, previous }: &NewRow) -> rusqlite::Result<i64> {
    let mut sum = RowSum::default();
    sum.add(seq)?;
    sum.add(&entry.group)?;
    sum.add(&entry.at.as_millis())?;
    sum.add(&entry.agent)?;
    sum.add(&entry.session)?;
    sum.add(&entry.tree)?;
    sum.add(&entry.op.code())?;
    sum.add(&entry.change.code())?;
    sum.add(&entry.node)?;
    sum.add(&entry.undo)?;
    sum.add(&entry.target)?;
    sum.add(previous)?;
    Ok(sum.finish())
}

/// Removes the inverses of entries, which may contain purged text. `which` selects the entries.
pub(in crate::store::sqlite) fn clear_undo(conn: &Connection, which: &str, key: i64) -> Result<()> {
    conn.execute(
        &format!(
            "UPDATE journal SET undo = NULL,
                 row_sum = row_sum(seq, grp, at, agent, session, tree, op, change, node, NULL, target, previous)
             WHERE undo IS NOT NULL AND {which}"
        ),
        [key],
    )?;
    Ok(())
}

/// The newest entry without tree.
pub(in crate::store::sqlite) fn head(conn: &Connection) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'journal_head'")?
        .query_row([], |r| r.get(0))
        .optional()?)
}

/// The newest entry of a tree.
pub(in crate::store::sqlite) fn tree_head(conn: &Connection, tree: i64) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT nullif(last_journal, 0) FROM tree_state WHERE tree = ?1")?
        .query_row([tree], |r| r.get(0))?)
}

/// The newest entry below `before` in the chain of a tree, or of no tree, whose newest entry is `head`.
pub(in crate::store::sqlite) fn chain_before(
    conn: &Connection,
    tree: Option<i64>,
    head: Option<i64>,
    before: u64,
) -> Result<Option<i64>> {
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    if head.is_none_or(|head| head < before) {
        return Ok(head);
    }
    // A page begins below the entry with which the one before it ended, mostly one of this chain.
    let near = conn
        .prepare_cached(
            "SELECT seq FROM journal WHERE seq < ?1 AND seq >= ?2 AND tree IS ?3 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![before, before.saturating_sub(NEAR_ENTRIES), tree], |r| r.get(0))
        .optional()?;
    if near.is_some() {
        return Ok(near);
    }
    let mut previous = conn.prepare_cached("SELECT previous FROM journal WHERE seq = ?1")?;
    let mut next = head;
    while let Some(seq) = next.filter(|seq| *seq >= before) {
        next = previous.query_row([seq], |r| r.get(0)).optional()?.flatten();
    }
    Ok(next)
}

/// True if a change of this kind follows an entry.
pub(in crate::store::sqlite) fn has_since(conn: &Connection, after: u64, kind: ChangeKind) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM journal WHERE seq > ?1 AND change = ?2")?
        .exists(params![after, kind.code()])?)
}

/// The prunes, restores and copies of branches in a tree that follow an entry: the root of each with its parent, its place
/// and its original.
pub(in crate::store::sqlite) fn visibility_changes(
    conn: &Connection,
    tree: i64,
    after: u64,
) -> Result<Vec<[Option<i64>; 4]>> {
    let [prune, restore, copy] = [ChangeKind::Prune, ChangeKind::Restore, ChangeKind::CopyBranch].map(ChangeKind::code);
    let mut changes = conn.prepare_cached(
        "SELECT n.seq, n.parent, n.version_of, n.edited_from FROM journal j JOIN nodes n ON n.seq = j.node
         WHERE j.seq > ?1 AND j.tree = ?2 AND j.change IN (?3, ?4, ?5)",
    )?;
    let changes = changes
        .query_map(params![after, tree, prune, restore, copy], |r| Ok([r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?]))?;
    Ok(changes.collect::<rusqlite::Result<_>>()?)
}

/// Number of the newest entry, 0 if there is none.
pub(in crate::store::sqlite) fn last(conn: &Connection) -> Result<u64> {
    Ok(conn.prepare_cached(LAST)?.query_row([], |r| r.get(0))?)
}
