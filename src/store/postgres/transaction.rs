//! Transactions of several changes: a connection of their own, and one group of the journal. Trees that it changes stay
//! locked until it ends; other trees can be written meanwhile.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{
    connection::PostgresConnection,
    snapshot::PostgresSnapshot,
    writer::{WriteConnection, may_retry},
};
use crate::{
    session_state::CompiledRules,
    store::{
        Change, PendingCommit, RebuildReport, Receipt, Result, Snapshot, Store, StoreError, Transaction, VerifyReport,
        Watch,
        transaction_rules::{
            TransactionChanges, TransactionOwner, TransactionOwnerGuard, TransactionProgress, claim_transaction,
            nested, outside,
        },
    },
};

struct PgTransactionState {
    writer: WriteConnection,
    progress: TransactionProgress<()>,
    changes: TransactionChanges,
    /// True if the transaction was read: what follows depends on it.
    has_read: bool,
    /// Until the transaction ends.
    owner_guard: Option<TransactionOwnerGuard>,
}

/// An open transaction.
pub(super) struct PostgresTransaction {
    state: Mutex<PgTransactionState>,
}

impl PostgresTransaction {
    pub(super) fn begin(mut writer: WriteConnection, owner: &TransactionOwner) -> Result<Self> {
        begin_alone(&mut writer)?;
        let owner_guard = Some(claim_transaction(owner));
        let (progress, changes) = (TransactionProgress::Open(()), TransactionChanges::default());
        Ok(Self { state: Mutex::new(PgTransactionState { writer, progress, changes, has_read: false, owner_guard }) })
    }

    fn state(&self) -> MutexGuard<'_, PgTransactionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PgTransactionState {
    fn apply(&mut self, change: &Change) -> Result<Receipt> {
        self.progress.open()?;
        self.changes.check(change)?;
        let start = Instant::now();
        let mut applied = self.writer.lock_trees(change).and_then(|()| self.writer.apply(change, self.changes.group));
        // If nothing was read or answered, the first change may begin again.
        for _ in 0..FIRST_ATTEMPTS {
            match &applied {
                Err(error)
                    if may_retry(error)
                        && self.changes.agent.is_none()
                        && !self.has_read
                        && start.elapsed() < self.writer.wait =>
                {
                    self.writer.roll_back();
                    applied = begin_alone(&mut self.writer)
                        .and_then(|()| self.writer.lock_trees(change))
                        .and_then(|()| self.writer.apply(change, None));
                }
                _ => break,
            }
        }
        match applied {
            Ok(receipt) => {
                self.changes.add(change.agent, &receipt);
                Ok(receipt)
            }
            Err(error) => {
                // The caller's work cannot be run again from here.
                let error = match error {
                    StoreError::Busy { .. } => StoreError::Conflict(
                        "another process wrote the tree meanwhile; repeat the transaction".to_owned(),
                    ),
                    error => error,
                };
                self.fail(&error);
                Err(error)
            }
        }
    }

    fn fail(&mut self, error: &StoreError) {
        self.writer.roll_back();
        self.progress = TransactionProgress::Failed(error.duplicate());
    }
}

/// Number of the lock that lets one transaction of several changes run at a time: "TRAN".
const TRANSACTION_LOCK: i64 = 0x5452_414E;

/// Begins a transaction when no other one runs on the database, so that what it reads first stays so until it writes.
/// Single changes do not wait for it.
fn begin_alone(writer: &mut WriteConnection) -> Result<()> {
    writer.begin()?;
    let conn = writer.shared().ok_or(StoreError::Closed)?;
    conn.query("SELECT pg_advisory_xact_lock($1)", &[&TRANSACTION_LOCK]).map(drop)
}

/// Attempts of a transaction's first change.
const FIRST_ATTEMPTS: u32 = 10;

impl Store for PostgresTransaction {
    fn submit(&self, change: Change) -> PendingCommit {
        PendingCommit::ready(self.state().apply(&change))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        let mut state = self.state();
        state.progress.open()?;
        if let Err(error) = state.writer.flush() {
            state.fail(&error);
            return Err(error);
        }
        let reader = PgTransactionReader {
            conn: state.writer.shared().ok_or(StoreError::Closed)?,
            rules: Arc::clone(&state.writer.rules),
            transaction: self,
        };
        state.progress = TransactionProgress::Reading;
        state.has_read = true;
        Ok(Box::new(PostgresSnapshot::inside(reader)))
    }

    fn begin(&self) -> Result<Arc<dyn Transaction>> {
        Err(nested())
    }

    fn watch(&self) -> Result<Box<dyn Watch>> {
        Err(outside())
    }

    fn verify(&self, _: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        Err(outside())
    }

    fn rebuild(&self) -> Result<RebuildReport> {
        Err(outside())
    }

    fn backup(&self, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        Err(outside())
    }
}

impl Transaction for PostgresTransaction {
    fn end(&self, commit: bool) -> Result<()> {
        let mut state = self.state();
        let result = match (&state.progress, commit) {
            (TransactionProgress::Ended, _) => return Ok(()),
            (TransactionProgress::Open(()), true) => state.writer.commit(),
            (_, true) => state.progress.open().map(drop),
            (_, false) => Ok(()),
        };
        if !commit || result.is_err() {
            state.writer.roll_back();
        }
        state.progress = TransactionProgress::Ended;
        state.owner_guard = None;
        result
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        // Rolls back what is not committed.
        let _ = self.end(false);
    }
}

/// The connection of a transaction while a snapshot reads it; returned when dropped.
pub(super) struct PgTransactionReader<'t> {
    conn: Arc<PostgresConnection>,
    rules: Arc<CompiledRules>,
    transaction: &'t PostgresTransaction,
}

impl PgTransactionReader<'_> {
    pub(super) fn conn(&self) -> &PostgresConnection {
        &self.conn
    }

    pub(super) fn rules(&self) -> Arc<CompiledRules> {
        Arc::clone(&self.rules)
    }
}

impl Drop for PgTransactionReader<'_> {
    fn drop(&mut self) {
        let mut state = self.transaction.state();
        if matches!(state.progress, TransactionProgress::Reading) {
            state.progress = TransactionProgress::Open(());
        }
    }
}
