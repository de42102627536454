//! Requests and their streams, each a task of its own.

use std::{ops::Range, sync::Arc, time::Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::TurnInput,
    provider::{Finish, FinishReason, Generation, Model, ProviderError, Request, StreamEvent},
};

/// What a stream tells, with the index of its seat.
pub(super) type ReportSender = mpsc::Sender<(usize, super::generate::TaskReport)>;

/// Has single continuations of so many end when they are stopped.
pub(super) fn forward_cancellation(stops: &[CancellationToken], seats: usize, tell: &ReportSender) {
    for (index, stop) in stops.iter().take(seats).cloned().enumerate() {
        let tell = tell.clone();
        tokio::spawn(async move {
            tokio::select! {
                // If nobody hears it any more, it has ended.
                () = stop.cancelled() => drop(tell.send((index, TurnInput::Cancelled.into())).await),
                () = tell.closed() => {}
            }
        });
    }
}

/// One request to a model, for the seats in `wanted`, with what stops each of their streams.
pub(super) struct ModelRequestTask {
    pub(super) model: Arc<dyn Model>,
    pub(super) request_permits: Arc<Semaphore>,
    pub(super) request: Request,
    pub(super) slots: Range<usize>,
    pub(super) stops: Vec<CancellationToken>,
    /// Stops all of it.
    pub(super) cancel: CancellationToken,
}

impl ModelRequestTask {
    /// From its place in the queue to its streams.
    pub(super) async fn ask(self, tell: ReportSender) {
        let lane = tokio::select! {
            biased;
            // The semaphore is never closed; were it, the request would simply not wait.
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

/// One stream to its end.
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
                // What was received already is still given out.
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
    // Nobody listens any more only when the caller dropped the whole generation.
    let _ = tell.send((index, ended.into())).await;
}
