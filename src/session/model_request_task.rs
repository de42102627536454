//! Model requests and their streams, each run by its own task.

use std::{ops::Range, sync::Arc};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    provider::{Generation, Model, ProviderError, Request, StreamError, StreamEvent},
    turn::TurnInput,
};

/// Channel for reports of stream tasks, each with the index of its slot.
pub(super) type ReportSender = mpsc::Sender<(usize, super::generation_driver::TaskReport)>;

/// Forwards the cancellation token of each continuation to the driver as [`TurnInput::Cancelled`].
pub(super) fn forward_cancellation(stops: &[CancellationToken], slots: usize, reports: &ReportSender) {
    for (index, stop) in stops.iter().take(slots).cloned().enumerate() {
        let reports = reports.clone();
        tokio::spawn(async move {
            tokio::select! {
                // A send error means that the generation has ended.
                () = stop.cancelled() => drop(reports.send((index, TurnInput::Cancelled.into())).await),
                () = reports.closed() => {}
            }
        });
    }
}

/// Reports a failure of slots if their task panics, so that their turns end. Models and tools may be code of the embedding
/// program.
pub(super) fn report_panic(task: JoinHandle<()>, slots: Range<usize>, reports: &ReportSender, failure: PanicReport) {
    let reports = reports.clone();
    tokio::spawn(async move {
        if task.await.is_err_and(|error| error.is_panic()) {
            for index in slots {
                let _ = reports.send((index, failure())).await;
            }
        }
    });
}

/// Makes the report of a task that panicked.
type PanicReport = fn() -> super::generation_driver::TaskReport;

/// Report of a model whose client panicked or has no reply for a slot.
pub(super) fn stream_broken() -> super::generation_driver::TaskReport {
    TurnInput::StreamFailed(ProviderError::Broken { cause: StreamError::Panicked }).into()
}

/// One model request that fills the slots of `slots`, with a cancellation token for each.
pub(super) struct ModelRequestTask {
    pub(super) model: Arc<dyn Model>,
    pub(super) request_permits: Arc<Semaphore>,
    pub(super) request: Request,
    pub(super) slots: Range<usize>,
    pub(super) stops: Vec<CancellationToken>,
    /// Token that cancels the request while it waits for a permit.
    pub(super) cancel: CancellationToken,
}

impl ModelRequestTask {
    /// Waits for a permit, sends the request and spawns one task per stream.
    pub(super) async fn run(self, reports: ReportSender) {
        let permit = tokio::select! {
            biased;
            // A cancelled stream frees its permit, which the next request must not take.
            () = self.cancel.cancelled() => {
                for index in self.slots {
                    let _ = reports.send((index, TurnInput::StreamFailed(ProviderError::Cancelled).into())).await;
                }
                return;
            }
            // The semaphore is never closed; if it were, the request would run without a permit.
            permit = Arc::clone(&self.request_permits).acquire_owned() => permit.ok().map(Arc::new),
        };
        let replies = self.model.stream_n(self.request, self.slots.len());
        for ((index, generation), stop) in self.slots.zip(replies).zip(self.stops) {
            let stream = tokio::spawn(run_stream(index, generation, stop, reports.clone(), permit.clone()));
            report_panic(stream, index..index + 1, &reports, stream_broken);
        }
    }
}

/// Forwards one stream to the driver until the stream ends.
async fn run_stream(
    index: usize,
    mut generation: Generation,
    stop: CancellationToken,
    reports: ReportSender,
    permit: Option<Arc<OwnedSemaphorePermit>>,
) {
    let outcome = loop {
        match generation.next_until(&stop).await {
            Some(Ok(StreamEvent::Text(text))) => {
                if reports.send((index, TurnInput::Text(text).into())).await.is_err() {
                    return;
                }
            }
            Some(Ok(StreamEvent::Done(finish))) => break TurnInput::StreamEnded(finish),
            Some(Err(error)) => break TurnInput::StreamFailed(error),
            None => break TurnInput::StreamFailed(ProviderError::Cancelled),
        }
    };
    drop(permit);
    // A send error means that the caller dropped the generation.
    let _ = reports.send((index, outcome.into())).await;
}
