//! Rules of transactions of several changes on every backend.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{self, ThreadId},
};

use super::{Change, Mutation, Result, StoreError, undo_rules::is_reversal};
use crate::id::AgentId;

/// The thread that has an open transaction, if any. A change that this thread sends past it would wait for it forever.
pub(super) type Borrower = Arc<Mutex<Option<ThreadId>>>;

/// Marks this thread as the one with the open transaction until the mark is dropped.
pub(super) fn borrow_here(borrower: &Borrower) -> BorrowMark {
    let thread = thread::current().id();
    *borrower.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    BorrowMark { borrower: Arc::clone(borrower), thread }
}

/// The mark of a thread with an open transaction. The next transaction may have begun before this one is dropped.
pub(super) struct BorrowMark {
    borrower: Borrower,
    thread: ThreadId,
}

impl Drop for BorrowMark {
    fn drop(&mut self) {
        let mut borrower = self.borrower.lock().unwrap_or_else(PoisonError::into_inner);
        if *borrower == Some(self.thread) {
            *borrower = None;
        }
    }
}

/// Refuses a call past the open transaction of this thread.
pub(super) fn check_not_borrowed_here(borrower: &Borrower) -> Result<()> {
    if *borrower.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id()) {
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

/// Refuses what one undo could not revert with the rest. `agent` is that of the first change.
pub(super) fn refuse_unsupported(change: &Change, agent: Option<AgentId>) -> Result<()> {
    let is_purge = change.mutations.iter().any(|mutation| matches!(mutation, Mutation::Purge(_)));
    if is_purge || is_reversal(change.op) {
        return Err(refused(&format!("a transaction cannot contain an operation of the kind `{}`", change.op)));
    }
    if agent.is_some_and(|agent| agent != change.agent) {
        return Err(refused("all operations of a transaction belong to one agent"));
    }
    Ok(())
}
