//! Model requests and their streams, each run by its own task.

use std::{ops::Range, sync::Arc, time::Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::TurnInput,
    provider::{Finish, FinishReason, Generation, Model, ProviderError, Request, StreamEvent},
};

/// Channel for reports of stream tasks, each with the index of its slot.
pub(super) type ReportSender = mpsc::Sender<(usize, super::generate::TaskReport)>;

/// Forwards the cancellation token of each continuation to the driver as [`TurnInput::Cancelled`].
pub(super) fn forward_cancellation(stops: &[CancellationToken], seats: usize, tell: &ReportSender) {
    for (index, stop) in stops.iter().take(seats).cloned().enumerate() {
        let tell = tell.clone();
        tokio::spawn(async move {
            tokio::select! {
                // A send error means that the generation has ended.
                () = stop.cancelled() => drop(tell.send((index, TurnInput::Cancelled.into())).await),
                () = tell.closed() => {}
            }
        });
    }
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
    pub(super) async fn ask(self, tell: ReportSender) {
        let lane = tokio::select! {
            biased;
            // The semaphore is never closed; if it were, the request would run without a permit.
            lane = Arc::clone(&self.request_permits).acquire_owned() => lane.ok().map(Arc::new),
            () = self.cancel.cancelled() => {
                for index in self.slots {
                    let _ = tell.send((index, TurnInput::StreamFailed(ProviderError::Cancelled).into())).await;
                }
                return;
            }
        };
        let replies = self.model.stream_several(self.request, self.slots.len());
        for ((index, generation), stop) in self.slots.zip(replies).zip(self.stops) {
            tokio::spawn(run(index, generation, stop, tell.clone(), lane.clone()));
        }
    }
}

/// Forwards one stream to the driver until the stream ends.
async fn run(
    index: usize,
    mut generation: Generation,
    stop: CancellationToken,
    tell: ReportSender,
    lane: Option<Arc<OwnedSemaphorePermit>>,
) {
    let started = Instant::now();
    let mut stopped = false;
    let ended = loop {
        let next = tokio::select! {
            next = generation.next() => next,
            () = stop.cancelled(), if !stopped => {
                // Text that was received before the cancellation is still delivered.
                stopped = true;
                generation.cancel();
                continue;
            }
        };
        match next {
            Some(Ok(StreamEvent::Text(text))) => {
                if tell.send((index, TurnInput::Text(text).into())).await.is_err() {
                    return;
                }
            }
            Some(Ok(StreamEvent::Done(finish))) => break TurnInput::StreamEnded(finish),
            Some(Err(error)) => break TurnInput::StreamFailed(error),
            None => {
                break TurnInput::StreamEnded(Finish {
                    total: started.elapsed(),
                    ..Finish::new(FinishReason::Interrupted)
                });
            }
        }
    };
    drop(lane);
    // A send error means that the caller dropped the generation.
    let _ = tell.send((index, ended.into())).await;
}
