//! Notifications about changed resources, found by a look at the store's commits several times a second.

use std::{sync::Arc, time::Duration};

use super::{backend::McpBackend, resource};
use crate::{
    id::TreeId,
    store::{JournalFilter, Watch},
    tools::ToolError,
};

/// Interval at which a subscription looks for commits. A look costs microseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A subject whose changes are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedSubject {
    /// A tree, or a node of it.
    Tree(TreeId),
    /// A document by name.
    Document(String),
}

/// Addresses and the list of trees, compared with their last known state.
pub(super) struct ChangeDetector {
    backend: Arc<McpBackend>,
    watch: Box<dyn Watch>,
    addresses: Vec<(String, WatchedSubject)>,
    /// Number of the last journal entry that was looked at.
    seen: u64,
    documents: Vec<(String, u64)>,
    trees: Vec<(TreeId, String)>,
}

/// Changes since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceChanges {
    /// Addresses whose content changed.
    pub(super) addresses: Vec<String>,
    /// True if trees were added, removed or renamed.
    pub(super) list: bool,
}

impl ChangeDetector {
    /// Begins at the current state. Addresses of nothing are refused.
    pub(super) fn new(backend: Arc<McpBackend>, addresses: &[String]) -> Result<Self, ToolError> {
        let watched = |uri: &String| Ok((uri.clone(), resource::subject(&backend, uri)?));
        let addresses = addresses.iter().map(watched).collect::<Result<Vec<_>, ToolError>>()?;
        let (watch, seen) = (backend.loom.store().watch()?, backend.loom.snapshot()?.last_seq()?);
        let (documents, trees) = (documents(&backend)?, trees(&backend)?);
        Ok(Self { backend, watch, addresses, seen, documents, trees })
    }

    /// Waits for a commit that changes something of interest.
    pub(super) async fn next(mut self) -> Result<(Self, ResourceChanges), ToolError> {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if !self.watch.has_changed()? {
                continue;
            }
            let look = tokio::task::spawn_blocking(move || {
                let changes = self.look();
                (self, changes)
            });
            let (detector, changes) = look.await.map_err(|error| {
                ToolError::new(crate::tools::ErrorCode::Conflict, format!("the subscription failed: {error}"))
            })?;
            self = detector;
            let changes = changes?;
            if changes != ResourceChanges::default() {
                return Ok((self, changes));
            }
        }
    }

    fn look(&mut self) -> Result<ResourceChanges, ToolError> {
        let (documents, trees) = (documents(&self.backend)?, trees(&self.backend)?);
        let snapshot = self.backend.loom.snapshot()?;
        let last = snapshot.last_seq()?;
        let mut changes = ResourceChanges { addresses: Vec::new(), list: trees != self.trees };
        for (address, subject) in &self.addresses {
            let changed = match subject {
                WatchedSubject::Tree(tree) => {
                    let filter =
                        JournalFilter { tree: Some(*tree), after: self.seen, limit: 1, ..JournalFilter::default() };
                    !snapshot.journal(filter)?.is_empty()
                }
                WatchedSubject::Document(name) => {
                    let version = |all: &[(String, u64)]| all.iter().find(|(own, _)| own == name).map(|(_, v)| *v);
                    version(&documents) != version(&self.documents)
                }
            };
            if changed {
                changes.addresses.push(address.clone());
            }
        }
        drop(snapshot);
        (self.seen, self.documents, self.trees) = (last, documents, trees);
        Ok(changes)
    }
}

fn documents(backend: &McpBackend) -> Result<Vec<(String, u64)>, ToolError> {
    let documents = backend.loom.snapshot()?.documents()?;
    Ok(documents.into_iter().filter(|d| !d.removed).map(|d| (d.name, d.version)).collect())
}

/// Returns ids and titles in the order of ids.
fn trees(backend: &McpBackend) -> Result<Vec<(TreeId, String)>, ToolError> {
    let mut trees: Vec<_> = resource::visible_trees(backend)?.into_iter().map(|tree| (tree.id, tree.title)).collect();
    trees.sort();
    Ok(trees)
}
