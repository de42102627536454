//! Mutations on their way in: gathered to batches, written while the next lines are read.

use super::{ArchiveError, Imported};
use crate::{
    id::AgentId,
    model::{Op, Timestamp},
    ops::{Actor, OpsError},
    store::{Change, Mutation, Pending, StoreError},
};

/// Mutations a transaction. More gains nothing and holds the writer for longer.
const MOST: usize = 512;
/// Bytes of content a transaction.
const BYTES: usize = 4 << 20;

/// A mutation and where in the file it came from.
struct Item {
    mutation: Mutation,
    place: u64,
}

/// Batches for one import.
pub(super) struct Batch<'a> {
    actor: &'a Actor,
    name: String,
    items: Vec<Item>,
    bytes: usize,
    flying: Option<(Pending, Vec<Item>)>,
    pub(super) done: Imported,
}

impl<'a> Batch<'a> {
    pub(super) fn new(actor: &'a Actor, name: &str, format: &'static str) -> Self {
        let done = Imported { format, ..Imported::default() };
        Self { actor, name: name.to_owned(), items: Vec::new(), bytes: 0, flying: None, done }
    }

    /// Adds a mutation from line `place`.
    pub(super) fn push(&mut self, place: u64, mutation: Mutation) -> Result<(), ArchiveError> {
        if let Mutation::Append(node) = &mutation {
            self.bytes += node.content.len() + node.raw.as_ref().map_or(0, String::len);
        }
        self.items.push(Item { mutation, place });
        if self.items.len() >= MOST || self.bytes >= BYTES { self.send() } else { Ok(()) }
    }

    /// Notes what is wrong at a line.
    pub(super) fn problem(&mut self, place: u64, what: impl std::fmt::Display) {
        self.done.problems.push(format!("{}, line {place}: {what}", self.name));
    }

    /// Waits until everything is on disk.
    pub(super) fn flush(&mut self) -> Result<(), ArchiveError> {
        self.send()?;
        self.land()
    }

    /// Commits one change by another agent or at another time, after everything before it.
    pub(super) fn commit_as(
        &mut self,
        agent: AgentId,
        at: Timestamp,
        mutations: Vec<Mutation>,
    ) -> Result<(), ArchiveError> {
        self.flush()?;
        let change = Change { op: Op::Import, agent, session: None, at, mutations };
        self.actor.loom().store().commit(change)?;
        Ok(())
    }

    fn send(&mut self) -> Result<(), ArchiveError> {
        self.land()?;
        if self.items.is_empty() {
            return Ok(());
        }
        let items = std::mem::take(&mut self.items);
        self.bytes = 0;
        let pending = self.actor.submit(Op::Import, items.iter().map(|i| i.mutation.clone()).collect());
        self.flying = Some((pending, items));
        Ok(())
    }

    /// Waits for the batch in the air. Where it fails because of one item, the others are written without it.
    fn land(&mut self) -> Result<(), ArchiveError> {
        let Some((pending, items)) = self.flying.take() else { return Ok(()) };
        match pending.wait() {
            Ok(receipt) => self.done.nodes += receipt.nodes.len() as u64,
            Err(error) if is_about_an_item(&error) => {
                for item in items {
                    match self.actor.commit(Op::Import, vec![item.mutation]) {
                        Ok(receipt) => self.done.nodes += receipt.nodes.len() as u64,
                        Err(OpsError::Store(error)) if is_about_an_item(&error) => self.problem(item.place, error),
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Whether an error is about what was to be stored, rather than about the store.
fn is_about_an_item(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotFound { .. } | StoreError::Conflict(_) | StoreError::Leased { .. } | StoreError::Refused(_)
    )
}
