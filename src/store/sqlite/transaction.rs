//! Transactions of several changes: the caller borrows the writer, and all changes are one group of the journal.
//!
//! The writer thread lends its state to the caller's thread instead of running the caller's code: a closure that borrows
//! from its surroundings cannot be sent, and a panic in it must not end the writer thread. Queued changes of other callers
//! wait, as do other processes. A failed change rolls everything back at once, because it may be applied in part.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use rusqlite::Connection;

use super::{
    pool::PooledConnection,
    prepared_change::{ChangePreparer, PreparedChange},
    session_state,
    snapshot::SqliteSnapshot,
    writer::WriterThread,
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

/// The writer in the hands of a caller. Dropping it rolls back what is not committed and returns the writer.
pub(super) struct LentWriter {
    writer: Option<Box<WriterThread>>,
    back: mpsc::SyncSender<Box<WriterThread>>,
    /// Until the writer is returned.
    owner_guard: Option<TransactionOwnerGuard>,
    changes: TransactionChanges,
}

impl LentWriter {
    pub(super) fn new(writer: WriterThread, back: mpsc::SyncSender<Box<WriterThread>>) -> Self {
        Self { writer: Some(Box::new(writer)), back, owner_guard: None, changes: TransactionChanges::default() }
    }

    /// Marks this thread as the owner of the transaction until the writer is returned.
    pub(super) fn owned_by_this_thread(mut self, owner: &TransactionOwner) -> Self {
        self.owner_guard = Some(claim_transaction(owner));
        self
    }

    fn apply(&mut self, change: Change) -> Result<Receipt> {
        let (agent, group) = (change.agent, self.changes.group);
        let applied = self.apply_in_group(&PreparedChange::new(change), group);
        let receipt = applied.map_err(|error| self.with_context(error))?;
        self.changes.add(agent, &receipt);
        Ok(receipt)
    }
}

impl WriterThread {
    /// Begins a transaction, lends this writer to a caller, and waits until it is returned.
    pub(super) fn lend(mut self, caller: &mpsc::SyncSender<Result<LentWriter>>) -> Option<Self> {
        if let Err(error) = self.begin() {
            let _ = caller.send(Err(error));
            return Some(self);
        }
        self.uncheckpointed += 1;
        let (back, returned) = mpsc::sync_channel(1);
        // If the caller is gone, the writer is dropped with the message, and so returned.
        drop(caller.send(Ok(LentWriter::new(self, back))));
        returned.recv().ok().map(|writer| *writer)
    }

    /// Makes uncommitted changes visible to queries on the writer's connection.
    fn prepare_read(&mut self) -> Result<()> {
        self.cache.flush(&self.conn)?;
        session_state::refresh_stale(&self.conn, &mut self.cache.stale_sessions, &self.rules)
    }

    /// Rolls back what is not committed.
    pub(super) fn roll_back(&mut self) {
        if self.cache.is_uncommitted {
            self.cache.clear();
        }
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }
}

#[allow(clippy::expect_used)] // `writer` is only taken by `drop`
impl Deref for LentWriter {
    type Target = WriterThread;

    fn deref(&self) -> &WriterThread {
        self.writer.as_deref().expect("present until dropped")
    }
}

#[allow(clippy::expect_used)] // `writer` is only taken by `drop`
impl DerefMut for LentWriter {
    fn deref_mut(&mut self) -> &mut WriterThread {
        self.writer.as_deref_mut().expect("present until dropped")
    }
}

impl Drop for LentWriter {
    fn drop(&mut self) {
        self.owner_guard = None;
        if let Some(mut writer) = self.writer.take() {
            writer.roll_back();
            // The writer thread waits for it.
            let _ = self.back.send(writer);
        }
    }
}

/// An open transaction.
pub(super) struct SqliteTransaction {
    state: Mutex<TransactionProgress<LentWriter>>,
    tokenizers: ChangePreparer,
}

impl SqliteTransaction {
    pub(super) fn new(lent: LentWriter) -> Self {
        Self { state: Mutex::new(TransactionProgress::Open(lent)), tokenizers: ChangePreparer::default() }
    }

    fn state(&self) -> MutexGuard<'_, TransactionProgress<LentWriter>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, change: Change) -> Result<Receipt> {
        let mut state = self.state();
        let lent = state.open()?;
        lent.changes.check(&change)?;
        lent.apply(change).inspect_err(|error| *state = TransactionProgress::Failed(error.duplicate()))
    }
}

impl Store for SqliteTransaction {
    fn submit(&self, change: Change) -> PendingCommit {
        PendingCommit::ready(self.apply(change))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        let mut state = self.state();
        state.open()?.prepare_read().inspect_err(|error| *state = TransactionProgress::Failed(error.duplicate()))?;
        match std::mem::replace(&mut *state, TransactionProgress::Reading) {
            TransactionProgress::Open(lent) => {
                let conn = ReadConnection::Transaction(TransactionReader { transaction: self, lent: Some(lent) });
                Ok(Box::new(SqliteSnapshot::new(conn)))
            }
            _ => Err(StoreError::Closed),
        }
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

    fn backup(&self, _: &std::path::Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        Err(outside())
    }
}

impl Transaction for SqliteTransaction {
    fn end(&self, commit: bool) -> Result<()> {
        let mut state = self.state();
        if matches!(*state, TransactionProgress::Ended) {
            return Ok(());
        }
        let result = match state.open() {
            Ok(lent) if commit => lent.commit(),
            Ok(_) => Ok(()),
            Err(_) if !commit => Ok(()),
            Err(error) => Err(error),
        };
        *state = TransactionProgress::Ended;
        result
    }
}

/// The connection of a snapshot.
pub(super) enum ReadConnection<'p> {
    /// A reader in a read transaction.
    Pooled(PooledConnection<'p>),
    /// The writer inside a transaction, whose uncommitted changes are visible.
    Transaction(TransactionReader<'p>),
}

/// A borrowed writer, returned to its transaction when dropped.
pub(super) struct TransactionReader<'t> {
    transaction: &'t SqliteTransaction,
    lent: Option<LentWriter>,
}

impl ReadConnection<'_> {
    /// Rules that extract session states.
    pub(super) fn rules(&self) -> &CompiledRules {
        match self {
            Self::Pooled(conn) => conn.rules(),
            Self::Transaction(reader) => &reader.writer().rules,
        }
    }

    /// Tokenizers for unindexed nodes.
    pub(super) fn tokenizers(&self) -> &ChangePreparer {
        match self {
            Self::Pooled(conn) => conn.tokenizers(),
            Self::Transaction(reader) => &reader.transaction.tokenizers,
        }
    }
}

impl Deref for ReadConnection<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Self::Pooled(conn) => conn,
            Self::Transaction(reader) => &reader.writer().conn,
        }
    }
}

impl TransactionReader<'_> {
    #[allow(clippy::expect_used)] // `lent` is only taken by `drop`
    fn writer(&self) -> &WriterThread {
        self.lent.as_ref().expect("present until dropped")
    }
}

impl Drop for TransactionReader<'_> {
    fn drop(&mut self) {
        let mut state = self.transaction.state();
        // If the transaction ended meanwhile, the writer is rolled back and returned by its own `drop`.
        if let (TransactionProgress::Reading, Some(lent)) = (&*state, self.lent.take()) {
            *state = TransactionProgress::Open(lent);
        }
    }
}
