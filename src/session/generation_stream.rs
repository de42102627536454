//! A plan that runs by itself, heard of as a stream of events.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::Stream;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{GenerateError, GenerateRequest, Progress, generate};
use crate::{
    ops::{Actor, OpsError},
    types::Node,
};

/// A plan that is being carried out. Dropping it does not stop it: see [`Running::cancel`].
///
/// It is a [`Stream`] of what happens, which ends when the plan has.
#[derive(Debug)]
pub struct GenerationStream {
    events: mpsc::UnboundedReceiver<Progress>,
    task: JoinHandle<Result<Vec<Node>, GenerateError>>,
    cancel: CancellationToken,
}

/// Starts a plan on the current tokio runtime; what [`generate()`] hears comes out of the stream. Events wait for a slow
/// reader, and the plan does not.
///
/// # Panics
/// Outside of a tokio runtime.
#[must_use]
pub fn spawn(actor: Actor, plan: GenerateRequest) -> GenerationStream {
    let (sender, events) = mpsc::unbounded_channel();
    let cancel = plan.cancel.clone();
    // A reader that is gone does not want the rest; the plan goes on all the same.
    let tell = move |progress| _ = sender.send(progress);
    let task = tokio::spawn(async move { generate(&actor, plan, tell).await });
    GenerationStream { events, task, cancel }
}

impl GenerationStream {
    /// Waits for the next event; `None` once the plan has ended.
    pub async fn next(&mut self) -> Option<Progress> {
        self.events.recv().await
    }

    /// Ends everything early; what came is saved, and told of.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end; what [`generate()`] returns.
    ///
    /// # Errors
    /// As [`generate()`].
    pub async fn end(self) -> Result<Vec<Node>, GenerateError> {
        drop(self.events);
        let broken = |error: tokio::task::JoinError| OpsError::Invalid(format!("the turn broke off: {error}"));
        self.task.await.map_err(broken)?
    }
}

impl Stream for GenerationStream {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Progress>> {
        self.events.poll_recv(context)
    }
}
