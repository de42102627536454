//! Background generation whose progress is read as a stream of events.

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

/// Running generation, as a [`Stream`] of progress events that ends with the generation. Dropping it does not cancel
/// the generation: see [`GenerationStream::cancel`].
#[derive(Debug)]
pub struct GenerationStream {
    events: mpsc::UnboundedReceiver<Progress>,
    task: JoinHandle<Result<Vec<Node>, GenerateError>>,
    cancel: CancellationToken,
}

/// Starts [`generate()`] as a task of the current tokio runtime. The event queue is unbounded, so a slow reader does
/// not delay the generation.
///
/// ```
/// use std::sync::Arc;
///
/// use loomtree::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> loomtree::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let model = Arc::new(Scripted::named("words")?);
/// let request = GenerateRequest::new(root.id, loom.agent("subject")?, model, 2);
/// let mut generation = session::spawn(owner, request);
/// while let Some(progress) = generation.next().await {
///     if let Progress::Saved { node, .. } = progress {
///         println!("{}", node.content);
///     }
/// }
/// assert_eq!(generation.end().await?.len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Outside of a tokio runtime.
#[must_use]
pub fn spawn(actor: Actor, request: GenerateRequest) -> GenerationStream {
    let (sender, events) = mpsc::unbounded_channel();
    let cancel = request.cancel.clone();
    // The generation continues if the reader was dropped.
    let on_progress = move |progress| _ = sender.send(progress);
    let task = tokio::spawn(async move { generate(&actor, request, on_progress).await });
    GenerationStream { events, task, cancel }
}

impl GenerationStream {
    /// Waits for the next event; `None` after the generation has ended.
    pub async fn next(&mut self) -> Option<Progress> {
        self.events.recv().await
    }

    /// Cancels all continuations. Partial replies are saved and reported.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end and returns the result of [`generate()`].
    ///
    /// # Errors
    /// The errors of [`generate()`].
    pub async fn end(self) -> Result<Vec<Node>, GenerateError> {
        drop(self.events);
        let broken = |error: tokio::task::JoinError| OpsError::Invalid(format!("the turn failed: {error}"));
        self.task.await.map_err(broken)?
    }
}

impl Stream for GenerationStream {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Progress>> {
        self.events.poll_recv(context)
    }
}
