//! Generations that run, by their ids. A client lists and cancels them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::state::AppState;
use crate::id::NodeId;

/// The generations that run on this server, by their ids.
#[derive(Default)]
pub(super) struct RunningGenerations(Mutex<HashMap<String, RunningGeneration>>);

impl RunningGenerations {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, RunningGeneration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A generation that can be cancelled.
#[derive(Clone)]
pub(super) struct RunningGeneration {
    pub(super) from: NodeId,
    pub(super) cancel: CancellationToken,
}

impl AppState {
    /// Registers a generation and returns its id. The guard removes it.
    pub(super) fn register(&self, generation: RunningGeneration) -> GenerationGuard {
        let id = format!("gen_{}", self.loom().node_id());
        self.generations.lock().insert(id.clone(), generation);
        GenerationGuard { state: self.clone(), id }
    }

    /// Returns the running generations.
    pub(super) fn running(&self) -> Vec<(String, RunningGeneration)> {
        self.generations.lock().iter().map(|(id, running)| (id.clone(), running.clone())).collect()
    }
}

/// Removes a generation from the list of running ones when dropped.
pub(super) struct GenerationGuard {
    state: AppState,
    pub(super) id: String,
}

impl Drop for GenerationGuard {
    fn drop(&mut self) {
        self.state.generations.lock().remove(&self.id);
    }
}
