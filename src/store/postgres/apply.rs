//! Application of a change inside a write transaction. Each mutation changes its table and the derived counts, and appends
//! a journal entry with its inverse. Appended nodes, entries and counts are kept in memory and written together, before a
//! mutation that reads them and at the end of the transaction.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    connection::PostgresConnection,
    decode::{get, int},
    journal::COUNTER_BITS,
    pending_rows::{PendingRows, PgNodeAnchor, PgNodeState, PgSessionRow},
    row_numbers::offset,
    uuid::{NO_TREE, Uuid},
};
pub(super) use crate::store::mutation_rules::unsupported;
use crate::{
    id::{AgentId, IdSource, NodeId},
    session_state::CompiledRules,
    store::{Change, ChangeKind, Mutation, Receipt, Result, StoreError, mutation_targets::MutationFamily},
};

/// The number before the first of a transaction, in SQL: see [`row_numbers`](super::row_numbers).
pub(super) const BASE: &str = concat!("(pg_current_xact_id()::text::bigint + ", offset!(), ") << 20");

/// Milliseconds of an hour, in SQL: lists are indexed by the hour of the last change.
pub(super) const HOUR: &str = "3600000";

/// State of a write transaction: rows that it has read, and rows that it has not written yet.
#[derive(Default)]
pub(super) struct WriteState {
    /// Number before the first of this transaction; 0 until it is read.
    base: i64,
    counter: i64,
    /// Trees that are locked.
    pub(super) locked: BTreeSet<Uuid>,
    /// The newest number in them.
    last: i64,
    pub(super) nodes: HashMap<NodeId, PgNodeAnchor>,
    places: HashMap<(Uuid, i64), NodeId>,
    pub(super) states: HashMap<(Uuid, i64), PgNodeState>,
    /// Agents that exist.
    pub(super) agents: BTreeSet<Uuid>,
    /// Sessions whose rows are locked, with the changes that are not written yet.
    pub(super) sessions: HashMap<Uuid, PgSessionRow>,
    /// The states of sessions, with the rules that made them; `None`: not stored.
    pub(super) session_states: HashMap<Uuid, Option<(i64, String)>>,
    /// Nodes with leases, by tree.
    pub(super) leases: HashMap<Uuid, BTreeSet<i64>>,
    /// New nodes whose wanted local id was looked up, and the local ids that are taken.
    pub(super) compared_ids: HashSet<NodeId>,
    pub(super) taken_ids: HashSet<(Uuid, String)>,
    pub(super) pending_rows: PendingRows,
    /// Receipts of appends that were written already.
    pub(super) written: HashMap<NodeId, Receipt>,
    /// Sessions whose state is computed again at the end.
    pub(super) stale: BTreeSet<Uuid>,
    pub(super) appended: usize,
    pub(super) bytes: usize,
}

impl WriteState {
    /// Number of this transaction with the offset of numbers; `None` if it has written nothing.
    pub(super) fn transaction(&self) -> Option<i64> {
        (self.base > 0).then_some(self.base >> COUNTER_BITS)
    }

    pub(super) fn set_base(&mut self, base: i64) {
        self.base = base;
    }

    /// The next number of a node, an entry or a row.
    pub(super) fn next(&mut self, conn: &PostgresConnection) -> Result<i64> {
        if self.base == 0 {
            self.base = int(&conn.query_one(&format!("SELECT {BASE}"), &[])?, 0)?;
        }
        self.counter += 1;
        if self.counter >> COUNTER_BITS > 0 {
            return Err(StoreError::Refused("a change has too many nodes for one transaction".to_owned()));
        }
        Ok(self.base + self.counter)
    }

    /// Locks trees in the order of their ids.
    pub(super) fn lock(&mut self, conn: &PostgresConnection, trees: &[Uuid]) -> Result<()> {
        let new: Vec<Uuid> = trees.iter().filter(|tree| !self.locked.contains(tree)).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let sql = "SELECT tree, greatest(last_node, last_journal) FROM tree_state WHERE tree = ANY($1)
                   ORDER BY tree FOR UPDATE";
        for row in conn.query(sql, &[&new])? {
            self.add_lock(get(&row, 0)?, int(&row, 1)?);
        }
        if self.base == 0 {
            self.next(conn)?;
        }
        self.check_order()
    }

    /// Notes that a tree is locked; `last` is its newest number.
    pub(super) fn add_lock(&mut self, tree: Uuid, last: i64) {
        self.locked.insert(tree);
        self.last = self.last.max(last);
    }

    /// Fails if a later transaction wrote a locked tree already: this one must begin again.
    pub(super) fn check_order(&self) -> Result<()> {
        let is_later = self.base > 0 && self.base <= self.last;
        if is_later { Err(StoreError::Busy { waited: std::time::Duration::ZERO }) } else { Ok(()) }
    }

    pub(super) fn add_place(&mut self, place: PgNodeAnchor) {
        self.nodes.insert(place.id, place);
        self.places.insert((place.tree, place.seq), place.id);
    }

    pub(super) fn place_at(&self, tree: Uuid, seq: i64) -> Option<PgNodeAnchor> {
        self.nodes.get(self.places.get(&(tree, seq))?).copied()
    }

    /// Writes what is in memory, and forgets what other statements may change.
    pub(super) fn flush(&mut self, conn: &PostgresConnection) -> Result<()> {
        self.states.clear();
        self.sessions.clear();
        self.session_states.clear();
        self.leases.clear();
        std::mem::take(&mut self.pending_rows).write(conn, false)
    }
}

/// The journal data of an applied mutation.
pub(super) struct PgAppliedMutation {
    pub(super) tree: Uuid,
    pub(super) node: Option<i64>,
    pub(super) undo: Option<Mutation>,
}

impl PgAppliedMutation {
    pub(super) fn new(tree: Uuid, node: Option<i64>, undo: Option<Mutation>) -> Self {
        Self { tree, node, undo }
    }

    /// That of a mutation of no tree.
    pub(super) fn shared(undo: Mutation) -> Self {
        Self::new(NO_TREE, None, Some(undo))
    }
}

/// `None`: the mutation changed nothing, or is not journaled.
pub(super) type Applied = (ChangeKind, Option<PgAppliedMutation>);

/// The number as PostgreSQL stores it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The state of applying one change.
pub(super) struct PgChangeApplier<'a> {
    pub(super) conn: &'a PostgresConnection,
    pub(super) state: &'a mut WriteState,
    pub(super) ids: &'a dyn IdSource,
    pub(super) rules: &'a CompiledRules,
    pub(super) change: &'a Change,
    pub(super) agent: Uuid,
    pub(super) session: Option<Uuid>,
    pub(super) group: Option<i64>,
    pub(super) receipt: Receipt,
}

impl PgChangeApplier<'_> {
    pub(super) fn run(mut self) -> Result<Receipt> {
        let change = self.change;
        self.agent(change.agent)?;
        if let (Some(session), Some(id)) = (self.session, change.session)
            && !self.state.sessions.contains_key(&session)
        {
            self.exists("sessions", "session", session, id)?;
        }
        for mutation in &change.mutations {
            match mutation {
                Mutation::Append(node) => {
                    let applied = self.append(node)?;
                    self.journal(ChangeKind::Append, applied, None)?;
                }
                Mutation::Undo { group } => super::undo::undo(&mut self, *group)?,
                _ => self.apply_and_journal(mutation, None)?,
            }
        }
        self.touch_session()?;
        Ok(self.receipt)
    }

    /// Fails if a row with this id is missing.
    pub(super) fn exists(&self, table: &str, what: &'static str, key: Uuid, id: impl ToString) -> Result<()> {
        let found = self.conn.query_opt(&format!("SELECT 1 FROM {table} WHERE id = $1"), &[&key])?;
        found.map(|_| ()).ok_or_else(|| StoreError::not_found(what, id))
    }

    /// Fails if an agent is missing.
    pub(super) fn agent(&mut self, id: AgentId) -> Result<Uuid> {
        let key = Uuid::from(id);
        if !self.state.agents.contains(&key) {
            self.exists("agents", "agent", key, id)?;
            self.state.agents.insert(key);
        }
        Ok(key)
    }

    /// The next number of a node, an entry or a row.
    pub(super) fn next(&mut self) -> Result<i64> {
        self.state.next(self.conn)
    }

    /// Writes what earlier appends left in memory.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.state.flush(self.conn)
    }

    /// Applies a mutation and appends its journal entry, unless it changed nothing.
    pub(super) fn apply_and_journal(&mut self, mutation: &Mutation, target: Option<i64>) -> Result<()> {
        self.flush()?;
        let (kind, applied) = self.apply_one(mutation)?;
        match applied {
            Some(applied) => self.journal(kind, applied, target),
            None => Ok(()),
        }
    }

    fn journal(&mut self, kind: ChangeKind, applied: PgAppliedMutation, target: Option<i64>) -> Result<()> {
        if applied.tree != NO_TREE {
            self.state.lock(self.conn, &[applied.tree])?;
        }
        let undo = applied.undo.as_ref().map(serde_json::to_string).transpose();
        let undo = undo.map_err(|e| StoreError::Backend(Box::new(e)))?;
        let seq = self.next()?;
        let group = *self.group.get_or_insert(seq);
        let entry = super::pending_rows::NewEntry {
            tree: applied.tree,
            seq,
            group,
            at: self.change.at.as_millis(),
            agent: self.agent,
            session: self.session,
            op: self.change.op.code(),
            change: kind.code(),
            node: applied.node,
            undo,
            target,
        };
        self.state.pending_rows.add_entry(entry);
        self.receipt.group = group.unsigned_abs();
        self.receipt.seq = seq.unsigned_abs();
        Ok(())
    }

    fn apply_one(&mut self, mutation: &Mutation) -> Result<Applied> {
        mutation.check()?;
        match mutation.family() {
            MutationFamily::Node => self.apply_node(mutation),
            MutationFamily::Tree => self.apply_tree(mutation),
            MutationFamily::Agent => self.apply_agent(mutation),
            MutationFamily::Session => self.apply_session(mutation),
            MutationFamily::Document => self.apply_document(mutation),
            MutationFamily::Memory => self.apply_memory(mutation),
            MutationFamily::Unjournaled => self.apply_unjournaled(mutation),
            MutationFamily::Todo => self.apply_todo(mutation),
            MutationFamily::Purge(target) => Ok((ChangeKind::Purge, Some(super::purge::purge(self, target)?))),
            MutationFamily::Undo => Err(StoreError::Refused("an undo cannot be part of an undo".to_owned())),
        }
    }
}
