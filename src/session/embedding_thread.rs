//! A thread that creates missing embeddings in the background.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use crate::{
    ops::{Actor, OpsError},
    recall::{self, EmbedError, Embedder},
};

/// Interval at which the background thread looks for new nodes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A thread that creates missing embeddings, a batch a transaction, while the program does other work. It ends after its
/// current batch when this is dropped.
#[derive(Debug)]
pub struct EmbeddingIndexer {
    stop: Arc<AtomicBool>,
    thread: Thread,
}

impl EmbeddingIndexer {
    /// Starts the thread. It ends at the first error, which it logs.
    ///
    /// # Errors
    /// If the system refuses another thread.
    pub fn start(actor: Actor, embedder: Arc<dyn Embedder>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            if let Err(error) = embed_until(&actor, &*embedder, &stopped) {
                tracing::warn!(%error, "no more embeddings are made");
            }
        };
        let thread = thread::Builder::new().name("loomtree-embed".to_owned()).spawn(work)?.thread().clone();
        Ok(Self { stop, thread })
    }
}

impl Drop for EmbeddingIndexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// Creates embeddings whenever nodes were added, until `stop` is set.
fn embed_until(actor: &Actor, embedder: &dyn Embedder, stop: &AtomicBool) -> Result<(), EmbedError> {
    let mut watch = actor.loom().store().watch().map_err(OpsError::from)?;
    while !stop.load(Ordering::Relaxed) {
        if recall::embed(actor, embedder, 1)? > 0 {
            continue;
        }
        while !stop.load(Ordering::Relaxed) && !watch.has_changed().map_err(OpsError::from)? {
            thread::park_timeout(POLL_INTERVAL);
        }
    }
    Ok(())
}
