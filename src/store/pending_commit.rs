//! A queued change, which a caller waits for or awaits.

use std::{fmt, future::Future, pin::Pin, sync::Arc, task, thread};

use tokio::sync::oneshot;

use super::{Change, Receipt, Result, StoreError};

/// A queued change: block on it with [`PendingCommit::wait`] or await it. Dropping it does not cancel the change.
#[derive(Debug)]
pub struct PendingCommit {
    pub(super) receipt: oneshot::Receiver<Result<Receipt>>,
    /// Shared with the writer thread, so that the waiting thread frees it: the writer is the bottleneck.
    pub(super) shared: Option<Arc<dyn QueuedChange>>,
    /// Polls of [`PendingCommit::wait`] before it parks the thread.
    pub(super) polls: u32,
}

/// A change that a queue and its caller share.
pub(crate) trait QueuedChange: fmt::Debug + Send + Sync {
    /// Returns the mutations with their author and time.
    fn change(&self) -> &Change;
}

impl PendingCommit {
    pub(super) fn ready(result: Result<Receipt>) -> Self {
        let (reply, receipt) = oneshot::channel();
        // The receiver exists, so the reply is stored.
        drop(reply.send(result));
        Self { receipt, shared: None, polls: 1 }
    }

    /// Returns the queued change, for a caller that repeats it in parts. `None` if it was refused at once.
    pub(crate) fn queued(&self) -> Option<Arc<dyn QueuedChange>> {
        self.shared.clone()
    }

    /// Blocks this thread until the receipt arrives.
    ///
    /// # Errors
    /// If the change is refused or cannot be written. [`StoreError`] names the two errors after which it may be written.
    pub fn wait(mut self) -> Result<Receipt> {
        // On fast storage the receipt of a file arrives sooner than a parked thread would wake.
        for _ in 0..self.polls {
            if let Ok(receipt) = self.receipt.try_recv() {
                return receipt;
            }
            std::hint::spin_loop();
        }
        block_on(self)
    }
}

impl Future for PendingCommit {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        Pin::new(&mut self.receipt).poll(cx).map(|sent| sent.unwrap_or(Err(StoreError::Closed)))
    }
}

/// Blocks this thread until a future is ready.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = task::Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = task::Context::from_waker(&waker);
    // In a task of a runtime a channel appears empty once the task's budget is used up, until the task yields. A
    // blocked thread never yields, so the budget is disabled.
    let mut future = std::pin::pin!(tokio::task::coop::unconstrained(future));
    loop {
        match future.as_mut().poll(&mut context) {
            task::Poll::Ready(output) => return output,
            task::Poll::Pending => thread::park(),
        }
    }
}

/// Polls of a change in a file before its caller parks: a few times the duration of an append in memory. Parking
/// costs the caller and the writer about as much as the append.
pub(super) const MAX_RECEIPT_POLLS: u32 = 4_096;

/// A waker that unparks the waiting thread: one system call and no lock, unlike a condition variable.
struct Unpark(thread::Thread);

impl task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
