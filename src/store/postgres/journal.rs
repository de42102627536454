//! The journal's queries: entries, the horizon below which they are final, and the next undo or redo.
//!
//! A number is made of the number of its transaction and a counter. Transactions commit in any order, so a reader that
//! follows the journal of all trees reads only below the oldest transaction that still runs. Entries of one tree are final
//! at once, since a writer locks the tree.

use std::{ops::ControlFlow, sync::LazyLock};

use super::{
    connection::PostgresConnection,
    decode::{coded, entry_of, get, id, int, opt_int},
    row_numbers::offset,
    snapshot::PostgresSnapshot,
    uuid::{NO_TREE, Uuid},
};
use crate::{
    id::{AgentId, TreeId},
    store::{
        ChangeKind, Direction, JournalFilter, JournalReader, Result, StoreError, UndoReach, UndoTarget,
        undo_rules::{UndoWalk, WalkedEntry, described_by},
    },
    types::{JournalEntry, Op},
};

/// Bits of a number that count within a transaction.
pub(super) const COUNTER_BITS: u32 = 20;
/// Entries that a walk over the history reads at once.
const PAGE_ENTRIES: i64 = 64;

/// Columns of [`entry_of`].
pub(super) const ENTRY: &str =
    "SELECT j.seq, j.grp, j.at, j.agent, j.session, nullif(j.tree, '00000000-0000-0000-0000-000000000000'),
    j.op, j.change, n.id, n.local_id, j.target, NULL::bigint, j.undo
    FROM journal j LEFT JOIN nodes n ON n.tree = j.tree AND n.seq = j.node";

/// The oldest transaction of this database that still runs in the snapshot, else the next one. The server lists those of
/// other databases too; a running transaction holds a lock on its own number, which names its process. On a standby the list
/// is empty, and the oldest transaction of the whole server counts.
const OLDEST_RUNNING: &str =
    "SELECT CASE WHEN pg_snapshot_xmin(s) = pg_snapshot_xmax(s) THEN pg_snapshot_xmin(s)::text::bigint ELSE (
        SELECT coalesce(min(x::text::bigint) FILTER (WHERE NOT EXISTS (
                SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
                WHERE l.transactionid = x::xid AND l.mode = 'ExclusiveLock'
                    AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database()))),
            (CASE count(x) WHEN 0 THEN pg_snapshot_xmin(s) ELSE pg_snapshot_xmax(s) END)::text::bigint)
        FROM pg_snapshot_xip(s) x) END
    FROM pg_current_snapshot() s";

/// The number below which no further entry or node appears in this snapshot's database.
pub(super) fn horizon(conn: &PostgresConnection) -> Result<i64> {
    Ok(int(&conn.query_one(&HORIZON, &[])?, 0)? << COUNTER_BITS)
}

/// In a database that was restored into another cluster, numbers may be above those of the server's transactions until it
/// is opened for writing. All of them are final.
static HORIZON: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT CASE WHEN newest < next THEN oldest + {offset} ELSE newest + 1 END
         FROM (SELECT (coalesce((SELECT max(seq) FROM journal), 0) >> {COUNTER_BITS}) AS newest,
             pg_snapshot_xmax(pg_current_snapshot())::text::bigint + {offset} AS next,
             ({OLDEST_RUNNING}) AS oldest) n",
        offset = offset!(),
    )
});

impl JournalReader for PostgresSnapshot<'_> {
    fn last_seq(&self) -> Result<u64> {
        let sql = "SELECT coalesce(max(seq), 0) FROM journal WHERE seq < $1";
        Ok(get::<i64>(&self.query_one(sql, &[&horizon(self)?])?, 0)?.unsigned_abs())
    }

    fn journal_version(&self) -> Result<u64> {
        let row = self.query_one("SELECT pg_current_snapshot()::text", &[])?;
        let hash = blake3::hash(get::<&str>(&row, 0)?.as_bytes());
        Ok(hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn journal(&self, filter: JournalFilter) -> Result<Vec<JournalEntry>> {
        let signed = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let mut before = if filter.before == 0 { i64::MAX } else { signed(filter.before) };
        let tree =
            if filter.of_no_tree { Some(NO_TREE) } else { filter.tree.map(|id| self.tree_key(id)).transpose()? };
        if filter.oldest_first && tree.is_none() {
            before = before.min(horizon(self)?);
        }
        let order = if filter.oldest_first { "ASC" } else { "DESC" };
        let (after, limit) = (signed(filter.after), super::node_reader::limit(filter.limit));
        let rows = match tree {
            Some(tree) => {
                let sql =
                    format!("{ENTRY} WHERE j.tree = $1 AND j.seq > $2 AND j.seq < $3 ORDER BY j.seq {order} LIMIT $4");
                self.query(&sql, &[&tree, &after, &before, &limit])?
            }
            None => {
                let sql = format!("{ENTRY} WHERE j.seq > $1 AND j.seq < $2 ORDER BY j.seq {order} LIMIT $3");
                self.query(&sql, &[&after, &before, &limit])?
            }
        };
        rows.iter().map(entry_of).collect()
    }

    fn undo_target(
        &self,
        tree: Option<TreeId>,
        reach: UndoReach,
        agent: AgentId,
        direction: Direction,
    ) -> Result<Option<UndoTarget>> {
        let tree = tree.map(|id| self.tree_key(id)).transpose()?;
        self.agent_key(agent)?;
        next(self, tree, UndoWalk::new(agent, reach, direction))
    }
}

/// Finds the next group to undo or redo for an agent in a tree, by a walk over the entries of the tree and those of no
/// tree, a page at a time.
fn next(conn: &PostgresConnection, tree: Option<Uuid>, mut walk: UndoWalk<AgentId>) -> Result<Option<UndoTarget>> {
    let shared = Some(NO_TREE).filter(|_| walk.reach > UndoReach::Tree);
    let trees: Vec<Uuid> = tree.into_iter().chain(shared).collect();
    let mut before = i64::MAX;
    loop {
        let sql = "SELECT j.seq, j.grp, j.agent, j.op, j.target FROM unnest($1::uuid[]) t (tree) CROSS JOIN LATERAL (
                       SELECT seq, grp, agent, op, target FROM journal
                       WHERE tree = t.tree AND seq < $2 ORDER BY seq DESC LIMIT $3) j ORDER BY j.seq DESC LIMIT $3";
        let page = conn.query(sql, &[&trees, &before, &PAGE_ENTRIES])?;
        let Some(last) = page.last() else { return Ok(None) };
        before = int(last, 0)?;
        for row in &page {
            let (group, agent) = (int(row, 1)?, id(row, 2, AgentId::from_bytes)?);
            let entry = WalkedEntry { group, agent, op: coded(row, 3, Op::from_code)?, target: opt_int(row, 4)? };
            if let ControlFlow::Break(found) = walk.step(&entry, || description(conn, group))? {
                let found = found.map(|(group, operation)| target_of(conn, group, operation)).transpose()?;
                return Ok(found.filter(|target| walk.reaches(target.entry.op)));
            }
        }
    }
}

/// The number of the first entry after the group `$1`, in SQL: the entries of a group follow each other. Those that were
/// transferred from a file have its numbers.
pub(super) const END_OF_GROUP: &str = "coalesce((SELECT x.seq FROM journal x WHERE x.seq > $1 AND x.grp <> $1
    ORDER BY x.seq LIMIT 1), 9223372036854775807)";

/// The entry that describes a group, if the group has an inverse.
fn description(conn: &PostgresConnection, group: i64) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT seq, op, change, undo IS NOT NULL OR change = $2 FROM journal
         WHERE seq >= $1 AND seq < {END_OF_GROUP} AND grp = $1 ORDER BY seq"
    );
    let entries = conn.query(&sql, &[&group, &ChangeKind::Append.code()])?;
    described_by(entries.iter().map(|r| Ok((int(r, 0)?, coded(r, 1, Op::from_code)?, int(r, 2)?, get(r, 3)?))))
}

/// Returns the group with the first entry of the operation that it reverts or repeats.
fn target_of(conn: &PostgresConnection, group: i64, operation: i64) -> Result<UndoTarget> {
    let row = conn.query_opt(&format!("{ENTRY} WHERE j.seq = $1"), &[&operation])?;
    let entry = row.ok_or_else(|| StoreError::not_found("operation", operation))?;
    Ok(UndoTarget { group: group.unsigned_abs(), entry: entry_of(&entry)? })
}
