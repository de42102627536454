//! Mutations on their way in: gathered to batches, written while the next lines are read.

use std::collections::VecDeque;

use super::{ArchiveError, Imported};
use crate::{
    id::AgentId,
    ops::{Actor, OpsError},
    store::{Change, Mutation, Pending, Receipt, StoreError},
    types::{Op, Timestamp},
};

/// Mutations a transaction. Local ids are random, so in a large file nearly every node of a small transaction writes
/// another page of their index; the larger it is, the more of them share one.
const MOST: usize = 4_096;
/// Bytes of content a transaction.
const BYTES: usize = 4 << 20;
/// Batches that the writer may have while the next one is gathered: one to write, and one to go on with.
const IN_FLIGHT: usize = 2;

/// A mutation and where in the file it came from.
struct ImportItem {
    mutation: Mutation,
    line: u64,
}

/// Batches for one import.
pub(super) struct ImportBatch<'a> {
    actor: &'a Actor,
    name: String,
    items: Vec<ImportItem>,
    bytes: usize,
    /// What the writer has and has not answered yet, the oldest first.
    flying: VecDeque<(Pending, Vec<ImportItem>)>,
    pub(super) done: Imported,
}

impl<'a> ImportBatch<'a> {
    pub(super) fn new(actor: &'a Actor, name: &str, format: &'static str) -> Self {
        let done = Imported { format, ..Imported::default() };
        Self { actor, name: name.to_owned(), items: Vec::new(), bytes: 0, flying: VecDeque::new(), done }
    }

    /// Adds a mutation from line `place`.
    pub(super) fn push(&mut self, place: u64, mutation: Mutation) -> Result<(), ArchiveError> {
        if let Mutation::Append(node) = &mutation {
            self.bytes += node.content.len() + node.raw.as_ref().map_or(0, String::len);
        }
        self.items.push(ImportItem { mutation, line: place });
        if self.items.len() >= MOST || self.bytes >= BYTES { self.send() } else { Ok(()) }
    }

    /// Notes what is wrong at a line.
    pub(super) fn problem(&mut self, place: u64, what: impl std::fmt::Display) {
        self.done.problems.push(format!("{}, line {place}: {what}", self.name));
    }

    /// Waits until everything is on disk.
    pub(super) fn flush(&mut self) -> Result<(), ArchiveError> {
        self.send()?;
        while !self.flying.is_empty() {
            self.land()?;
        }
        Ok(())
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

    /// Hands what was gathered to the writer, before waiting for what it had: so it always has a batch to go on with.
    fn send(&mut self) -> Result<(), ArchiveError> {
        if !self.items.is_empty() {
            let items = std::mem::take(&mut self.items);
            self.bytes = 0;
            let pending = self.actor.submit(Op::Import, items.iter().map(|i| i.mutation.clone()).collect());
            self.flying.push_back((pending, items));
        }
        while self.flying.len() >= IN_FLIGHT {
            self.land()?;
        }
        Ok(())
    }

    /// Waits for the oldest batch in the air. One after it that needed what it did not bring in has failed too, and is
    /// written again when its turn comes.
    fn land(&mut self) -> Result<(), ArchiveError> {
        let Some((pending, items)) = self.flying.pop_front() else { return Ok(()) };
        let landed = pending.wait().map_err(OpsError::from);
        self.count(landed, items)
    }

    /// Counts what was written. Where that failed because of an item, halves are tried until it is found.
    fn count(&mut self, landed: Result<Receipt, OpsError>, mut items: Vec<ImportItem>) -> Result<(), ArchiveError> {
        match landed {
            Ok(receipt) => self.done.nodes += receipt.nodes.len() as u64,
            Err(OpsError::Store(error)) if is_about_an_item(&error) => match items.as_slice() {
                [] => {}
                [item] => self.problem(item.line, error),
                _ => {
                    let rest = items.split_off(items.len() / 2);
                    for half in [items, rest] {
                        let mutations = half.iter().map(|i| i.mutation.clone()).collect();
                        let landed = self.actor.commit(Op::Import, mutations);
                        self.count(landed, half)?;
                    }
                }
            },
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
