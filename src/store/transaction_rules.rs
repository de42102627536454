//! Rules of transactions of several changes on every backend.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{self, ThreadId},
};

use super::{Change, Receipt, Result, StoreError, undo_rules::is_reversal};
use crate::id::AgentId;

/// The thread that has an open transaction, if any. A change that this thread sends past it would wait for it forever.
pub(super) type TransactionOwner = Arc<Mutex<Option<ThreadId>>>;

/// Makes this thread the owner of the open transaction until the guard is dropped.
pub(super) fn claim_transaction(owner: &TransactionOwner) -> TransactionOwnerGuard {
    let thread = thread::current().id();
    *owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    TransactionOwnerGuard { owner: Arc::clone(owner), thread }
}

/// Guard of a thread with an open transaction. The next transaction may have begun before this one is dropped.
pub(super) struct TransactionOwnerGuard {
    owner: TransactionOwner,
    thread: ThreadId,
}

impl Drop for TransactionOwnerGuard {
    fn drop(&mut self) {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if *owner == Some(self.thread) {
            *owner = None;
        }
    }
}

/// Refuses a call past the open transaction of this thread.
pub(super) fn check_no_open_transaction(owner: &TransactionOwner) -> Result<()> {
    if *owner.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id()) {
        return Err(refused("this thread has an open transaction; use the actor that the transaction passes"));
    }
    Ok(())
}

pub(super) fn refused(reason: &str) -> StoreError {
    StoreError::Refused(reason.to_owned())
}

/// The error of a call that a transaction does not answer.
pub(super) fn outside() -> StoreError {
    refused("this call reads the whole database; make it outside of the transaction")
}

/// Progress of a transaction. `C` is what its calls use while none of them has it.
pub(super) enum TransactionProgress<C> {
    Open(C),
    /// A snapshot is open.
    Reading,
    /// A change failed; everything was rolled back.
    Failed(StoreError),
    Ended,
}

impl<C> TransactionProgress<C> {
    /// Returns what a call uses; refuses the call unless the transaction is open.
    pub(super) fn open(&mut self) -> Result<&mut C> {
        match self {
            Self::Open(idle) => Ok(idle),
            Self::Reading => Err(refused("a snapshot of the transaction is open; drop it first")),
            Self::Failed(error) => Err(refused(&format!("the transaction was rolled back: {error}"))),
            Self::Ended => Err(refused("the transaction has ended")),
        }
    }
}

/// The changes of a transaction so far. All are one group of the journal and belong to one agent, so that one undo reverts
/// them.
#[derive(Default)]
pub(super) struct TransactionChanges {
    /// Number of the first journal entry; `None` before the first change.
    pub(super) group: Option<i64>,
    /// Agent of all changes; `None` before the first one.
    pub(super) agent: Option<AgentId>,
}

impl TransactionChanges {
    /// Refuses a change that one undo could not revert with the rest.
    pub(super) fn check(&self, change: &Change) -> Result<()> {
        if change.is_purge() || is_reversal(change.op) {
            return Err(refused(&format!("a transaction cannot contain an operation of the kind `{}`", change.op)));
        }
        if self.agent.is_some_and(|agent| agent != change.agent) {
            return Err(refused("all operations of a transaction belong to one agent"));
        }
        Ok(())
    }

    /// Adds a change that was applied.
    pub(super) fn add(&mut self, agent: AgentId, receipt: &Receipt) {
        self.agent.get_or_insert(agent);
        self.group = self.group.or_else(|| i64::try_from(receipt.group).ok().filter(|group| *group > 0));
    }
}

/// The error of a transaction that begins inside another one.
pub(super) fn nested() -> StoreError {
    refused("a transaction cannot contain another one")
}
