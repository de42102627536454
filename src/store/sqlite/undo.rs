//! Undo and redo, by the rules of [`undo_rules`](crate::store::undo_rules), and the journal's entries.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    apply::ChangeApplier,
    decode::{coded, entry_of},
    snapshot::SqliteSnapshot,
    tables::{agents, journal, nodes, sessions},
    ulid_cache::UlidCache,
};
use crate::{
    id::{AgentId, SessionId, TreeId},
    store::{
        ChangeKind, Direction, JournalFilter, JournalReader, Mutation, Result, StoreError, UndoReach, UndoTarget,
        undo_rules::{RevertedEntry, UndoWalk, WalkedEntry, described_by, revert},
    },
    types::{JournalEntry, Op},
};

impl JournalReader for SqliteSnapshot<'_> {
    fn last_seq(&self) -> Result<u64> {
        journal::last(&self.conn)
    }

    fn journal(&self, filter: JournalFilter) -> Result<Vec<JournalEntry>> {
        entries(&self.conn, self.tree_row(filter.tree)?, filter)
    }

    fn undo_target(
        &self,
        tree: Option<TreeId>,
        reach: UndoReach,
        agent: AgentId,
        direction: Direction,
    ) -> Result<Option<UndoTarget>> {
        let agent = agents::row(&self.conn, agent)?;
        next(&self.conn, self.tree_row(tree)?, UndoWalk::new(agent, reach, direction))
    }
}

/// Inverses of a group that are examined before the undo, since large ones are staged.
const MAX_STAGED_INVERSES: i64 = 8;

/// Applies the inverse of each entry of a group.
pub(super) fn undo(apply: &mut ChangeApplier<'_>, group: u64) -> Result<()> {
    let target = i64::try_from(group).map_err(|_| StoreError::not_found("operation", group))?;
    let entries = group_entries(apply.conn, target, -1)?;
    revert((apply.change, group), &entries, |entry| {
        let inverse = entry.inverse(group, |node| inverse_of_append(apply.conn, node))?;
        let inverse = match (inverse, entry.node) {
            (Some(Mutation::UpdateSession { session, .. }), Some(node)) if has_moved_on(apply, session, node)? => None,
            (inverse, _) => inverse,
        };
        inverse.map(|mutation| apply.apply_and_journal(&mutation, Some(target))).transpose().map(|done| done.is_some())
    })
}

/// True if the session has left `node` and stands at a visible node: undo then leaves it there.
fn has_moved_on(apply: &ChangeApplier<'_>, session: SessionId, node: i64) -> Result<bool> {
    let position = sessions::position(apply.conn, sessions::row(apply.conn, session)?)?.unwrap_or(node);
    Ok(position != node && nodes::hidden_by(apply.conn, position)?.is_none())
}

/// The last entries of a group, newest first; all if `most` is negative.
fn group_entries(conn: &Connection, group: i64, most: i64) -> Result<Vec<RevertedEntry<i64>>> {
    let mut statement = conn.prepare_cached(
        "SELECT op, change, node, undo FROM journal WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq DESC LIMIT ?3",
    )?;
    // The entries of a group are consecutive.
    let last = group_end(conn, group)?;
    let entries = statement.query_map([group, last, most], |r| {
        Ok(RevertedEntry { op: coded(r, 0, Op::from_code)?, change: r.get(1)?, node: r.get(2)?, undo: r.get(3)? })
    })?;
    Ok(entries.collect::<rusqlite::Result<_>>()?)
}

/// The inverses that an undo of a group applies first.
pub(super) fn first_inverses(conn: &Connection, group: u64) -> Result<Vec<Mutation>> {
    let entries = group_entries(conn, i64::try_from(group).unwrap_or(i64::MAX), MAX_STAGED_INVERSES)?;
    let mut found = Vec::new();
    for entry in entries {
        found.extend(entry.inverse(group, |node| inverse_of_append(conn, node))?);
    }
    Ok(found)
}

/// Returns the inverse of an append: pruning the node. `None` for a root, whose tree is archived, and for a node pruned
/// since.
fn inverse_of_append(conn: &Connection, node: i64) -> Result<Option<Mutation>> {
    let anchor = nodes::anchor(conn, node)?;
    if anchor.parent.is_none() || nodes::hidden_by(conn, node)? == Some(node) {
        return Ok(None);
    }
    Ok(Some(Mutation::Prune { node: UlidCache::new(conn).node(node)? }))
}

fn group_end(conn: &Connection, group: i64) -> Result<i64> {
    Ok(conn.query_row(
        "SELECT coalesce((SELECT seq FROM journal WHERE seq > ?1 AND grp IS NOT ?1 ORDER BY seq LIMIT 1),
             (SELECT max(seq) + 1 FROM journal)) - 1",
        [group],
        |r| r.get(0),
    )?)
}

/// Reads an entry for the walk, and the number of the previous one in its chain.
fn step(conn: &Connection, seq: i64) -> Result<(WalkedEntry<i64>, Option<i64>)> {
    let read = conn
        .prepare_cached("SELECT coalesce(grp, seq), agent, op, target, previous FROM journal WHERE seq = ?1")?
        .query_row([seq], |r| {
            let (group, agent, op) = (r.get(0)?, r.get(1)?, coded(r, 2, Op::from_code)?);
            Ok((WalkedEntry { group, agent, op, target: r.get(3)? }, r.get(4)?))
        })?;
    Ok(read)
}

/// Finds the next group to undo or redo for an agent in a tree. Merges the chain of the tree and that of entries
/// without tree.
pub(super) fn next(conn: &Connection, tree: Option<i64>, mut walk: UndoWalk<i64>) -> Result<Option<UndoTarget>> {
    let mut ours = tree.map(|t| journal::tree_head(conn, t)).transpose()?.flatten();
    let mut shared = if walk.reach == UndoReach::Tree { None } else { journal::head(conn)? };
    while let Some(seq) = ours.max(shared) {
        let (entry, previous) = step(conn, seq)?;
        let own = ours == Some(seq);
        let before = if entry.group == seq || !entry.counts() {
            previous
        } else {
            before_group(conn, entry.group, tree.filter(|_| own))?
        };
        // A damaged chain could be a circle.
        if before.is_some_and(|before| before >= seq) {
            let what = format!("journal entry {seq} names entry {} as the previous one", before.unwrap_or_default());
            return Err(StoreError::Undecodable(what));
        }
        *(if own { &mut ours } else { &mut shared }) = before;
        if let ControlFlow::Break(found) = walk.step(&entry, || description(conn, entry.group))? {
            let found = found.map(|(group, operation)| target_of(conn, group, operation)).transpose()?;
            return Ok(found.filter(|target| walk.reaches(target.entry.op)));
        }
    }
    Ok(None)
}

/// The entry before a group in the chain of a tree, or of entries without tree.
fn before_group(conn: &Connection, group: i64, tree: Option<i64>) -> Result<Option<i64>> {
    let mut statement =
        conn.prepare_cached("SELECT previous FROM journal WHERE seq >= ?1 AND tree IS ?2 ORDER BY seq LIMIT 1")?;
    Ok(statement.query_row(params![group, tree], |r| r.get(0))?)
}

/// The entry that describes a group, if the group has an inverse.
fn description(conn: &Connection, group: i64) -> Result<Option<i64>> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, op, change, undo IS NOT NULL OR change = ?3 FROM journal WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
    )?;
    let entries = statement.query_map(params![group, group_end(conn, group)?, ChangeKind::Append.code()], |r| {
        Ok((r.get(0)?, coded(r, 1, Op::from_code)?, r.get(2)?, r.get(3)?))
    })?;
    described_by(entries.map(|entry| Ok(entry?)))
}

/// Returns the group with the first entry of the operation that it reverts or repeats.
fn target_of(conn: &Connection, group: i64, operation: i64) -> Result<UndoTarget> {
    let entry = read_entry(conn, operation)?.ok_or_else(|| StoreError::not_found("operation", operation))?.0;
    Ok(UndoTarget { group: group.unsigned_abs(), entry })
}

/// Lists journal entries, newest first, of a tree, of no tree, or of the whole file.
pub(super) fn entries(conn: &Connection, tree: Option<i64>, filter: JournalFilter) -> Result<Vec<JournalEntry>> {
    if filter.oldest_first {
        // Entry numbers have no gaps, so the oldest page of all trees ends at a known number.
        let end = filter.after.saturating_add(u64::from(filter.limit)).saturating_add(1);
        let page =
            tree.is_none() && !filter.of_no_tree && filter.limit > 0 && (filter.before == 0 || end < filter.before);
        let (before, limit) = if page { (end, filter.limit) } else { (filter.before, 0) };
        let mut all = entries(conn, tree, JournalFilter { before, limit, oldest_first: false, ..filter })?;
        all.reverse();
        all.truncate(if filter.limit == 0 { usize::MAX } else { filter.limit as usize });
        return Ok(all);
    }
    let is_chain = tree.is_some() || filter.of_no_tree;
    let mut next = match tree {
        _ if filter.of_no_tree => journal::head(conn)?,
        Some(tree) => journal::tree_head(conn, tree)?,
        // Entry numbers have no gaps, so a page is read by number.
        None => {
            let newest = journal::last(conn)?;
            let from = if filter.before == 0 { newest } else { newest.min(filter.before - 1) };
            Some(i64::try_from(from).unwrap_or(i64::MAX))
        }
    };
    if is_chain && filter.before > 0 {
        next = journal::chain_before(conn, tree.filter(|_| !filter.of_no_tree), next, filter.before)?;
    }
    if let (true, Some(head), 0, 1..) = (is_chain, next, filter.after, filter.limit) {
        return read_chain(conn, head, filter.limit);
    }
    let most = if filter.limit == 0 { usize::MAX } else { filter.limit as usize };
    let mut entries = Vec::new();
    let after = i64::try_from(filter.after).unwrap_or(i64::MAX);
    while entries.len() < most
        && let Some(seq) = next.filter(|seq| *seq > after)
    {
        let Some((entry, previous)) = read_entry(conn, seq)? else {
            break;
        };
        next = if is_chain { previous } else { Some(seq - 1) };
        entries.push(entry);
    }
    Ok(entries)
}

/// Columns of a journal entry; column 11 is the previous entry in its chain.
const ENTRY: &str = "j.seq, coalesce(j.grp, j.seq), j.at, a.ulid, se.ulid, t.ulid, j.op, j.change, n.ulid, n.local_id,
         j.target, j.previous, j.undo
     FROM journal j JOIN agents a ON a.id = j.agent LEFT JOIN sessions se ON se.id = j.session
         LEFT JOIN trees t ON t.id = j.tree LEFT JOIN nodes n ON n.seq = j.node";

/// Reads a journal entry and the number of the previous one in its chain.
fn read_entry(conn: &Connection, seq: i64) -> Result<Option<(JournalEntry, Option<i64>)>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {ENTRY} WHERE j.seq = ?1"))?;
    Ok(statement.query_row([seq], |row| Ok((entry_of(row)?, row.get(11)?))).optional()?)
}

/// Reads the newest entries of a chain in one statement: starting a statement costs more than ten rows.
fn read_chain(conn: &Connection, head: i64, most: u32) -> Result<Vec<JournalEntry>> {
    let mut statement = conn.prepare_cached(&format!(
        "WITH RECURSIVE chain(seq) AS (
             SELECT ?1 UNION ALL
             SELECT p.previous FROM chain c JOIN journal p ON p.seq = c.seq WHERE p.previous IS NOT NULL LIMIT ?2
         )
         SELECT {ENTRY} WHERE j.seq IN (SELECT seq FROM chain) ORDER BY j.seq DESC"
    ))?;
    let entries = statement.query_map(params![head, most], entry_of)?;
    Ok(entries.collect::<rusqlite::Result<_>>()?)
}
