//! Batched writes of an import: the writer thread commits batches while the next lines are parsed.

use std::collections::VecDeque;

use super::{Imported, InterchangeError, source_record::SourcePlace};
use crate::{
    id::AgentId,
    ops::{Actor, OpsError},
    store::{Change, Mutation, PendingCommit, Receipt, StoreError},
    types::{NewAgent, Op, Timestamp},
};

/// Maximum mutations per transaction. Local ids are random, so each node of a small transaction touches another index
/// page; nodes of a large transaction share pages.
const MAX_BATCH_MUTATIONS: usize = 4_096;
/// Maximum bytes of content per transaction.
const MAX_BATCH_BYTES: usize = 4 << 20;
/// Maximum submitted batches: the writer commits one while the next ones wait, so that it is not idle while a slow line is
/// parsed.
const MAX_SUBMITTED_BATCHES: usize = 3;
/// Batches after which an import that reads while it writes waits for all commits.
const MAX_UNFLUSHED_BATCHES: usize = 8;
/// Maximum number of reported problems; more are counted.
pub(super) const MAX_PROBLEMS: usize = 1_000;

/// Batches of one import.
pub(super) struct ImportBatch<'a> {
    actor: &'a Actor,
    name: String,
    mutations: Vec<Mutation>,
    /// Places of the mutations in the file.
    places: Vec<SourcePlace>,
    bytes: usize,
    /// Submitted batches without a receipt, oldest first, with the places of their mutations.
    submitted: VecDeque<(PendingCommit, Vec<SourcePlace>)>,
    /// Batches submitted since the last flush.
    unflushed: usize,
    pub(super) done: Imported,
}

impl<'a> ImportBatch<'a> {
    /// Begins an import. A dry run counts the nodes and writes nothing.
    pub(super) fn new(actor: &'a Actor, name: &str, format: &'static str, is_dry_run: bool) -> Self {
        let done = Imported { format, is_dry_run, ..Imported::default() };
        let (mutations, places, submitted) = Default::default();
        Self { actor, name: name.to_owned(), mutations, places, bytes: 0, submitted, unflushed: 0, done }
    }

    /// Adds a mutation from a line.
    pub(super) fn push(&mut self, place: impl Into<SourcePlace>, mutation: Mutation) -> Result<(), InterchangeError> {
        if self.done.is_dry_run {
            self.done.nodes += u64::from(matches!(mutation, Mutation::Append(_)));
            return Ok(());
        }
        if let Mutation::Append(node) = &mutation {
            self.bytes += node.content.len() + node.raw.as_ref().map_or(0, String::len);
        }
        // A tree, its sessions and its first node are in one batch.
        let is_end = !matches!(mutation, Mutation::CreateTree(_) | Mutation::CreateSession(_));
        self.mutations.push(mutation);
        self.places.push(place.into());
        let is_full = self.mutations.len() >= MAX_BATCH_MUTATIONS || self.bytes >= MAX_BATCH_BYTES;
        if is_full && is_end { self.send() } else { Ok(()) }
    }

    /// Records a problem of a line.
    pub(super) fn problem(&mut self, place: impl Into<SourcePlace>, what: impl std::fmt::Display) {
        if self.done.problems.len() < MAX_PROBLEMS {
            self.done.problems.push(format!("{}, {}: {what}", self.name, place.into()));
        } else {
            self.done.more_problems += 1;
        }
    }

    /// Submits the current batch and waits for all commits.
    pub(super) fn flush(&mut self) -> Result<(), InterchangeError> {
        self.send()?;
        while !self.submitted.is_empty() {
            self.wait_for_oldest()?;
        }
        self.unflushed = 0;
        Ok(())
    }

    /// True if so many batches were submitted that the store needs a moment without a reader and a writer, in which its
    /// write-ahead log is copied to the database and begins anew. Else the log grows as long as the import runs.
    pub(super) fn needs_flush(&self) -> bool {
        self.unflushed >= MAX_UNFLUSHED_BATCHES
    }

    /// Commits one change by another agent or at another time, after all earlier changes. A change that the store refuses
    /// is a problem of the line.
    pub(super) fn commit_as(
        &mut self,
        place: impl Into<SourcePlace>,
        agent: AgentId,
        at: Timestamp,
        mutations: Vec<Mutation>,
    ) -> Result<(), InterchangeError> {
        self.flush()?;
        if self.done.is_dry_run {
            return Ok(());
        }
        let change = Change { op: Op::Import, agent, session: None, at, mutations };
        match self.actor.loom().store().commit(change) {
            Err(error) if is_about_an_item(&error) => self.problem(place, error),
            committed => drop(committed?),
        }
        Ok(())
    }

    /// Commits a new agent now. Returns false if another process has taken its name meanwhile.
    pub(super) fn commit_agent(&mut self, profile: NewAgent, at: Timestamp) -> Result<bool, InterchangeError> {
        self.flush()?;
        if self.done.is_dry_run {
            return Ok(true);
        }
        let (agent, mutations) = (self.actor.agent(), vec![Mutation::CreateAgent(profile)]);
        let change = Change { op: Op::Import, agent, session: None, at, mutations };
        match self.actor.loom().store().commit(change) {
            Err(error) if is_about_an_item(&error) => Ok(false),
            committed => Ok(committed.map(|_| true)?),
        }
    }

    /// Submits the current batch before waiting for older ones, so that the writer is never idle.
    fn send(&mut self) -> Result<(), InterchangeError> {
        if !self.mutations.is_empty() {
            let (mutations, places) = (std::mem::take(&mut self.mutations), std::mem::take(&mut self.places));
            self.bytes = 0;
            self.submitted.push_back((self.actor.submit(Op::Import, mutations), places));
            self.unflushed += 1;
        }
        while self.submitted.len() >= MAX_SUBMITTED_BATCHES {
            self.wait_for_oldest()?;
        }
        Ok(())
    }

    /// Waits for the oldest submitted batch. A later batch that depends on a failed one fails too and is retried in its
    /// turn.
    fn wait_for_oldest(&mut self) -> Result<(), InterchangeError> {
        let Some((pending, places)) = self.submitted.pop_front() else { return Ok(()) };
        let queued = pending.queued();
        match (pending.wait(), queued) {
            (Ok(receipt), _) => self.count(&receipt),
            (Err(error), Some(queued)) if is_about_an_item(&error) => {
                self.commit_parts(error, &queued.change().mutations, &places)?;
            }
            (Err(error), _) => return Err(error.into()),
        }
        Ok(())
    }

    fn count(&mut self, receipt: &Receipt) {
        self.done.nodes += receipt.nodes.len() as u64;
    }

    /// Commits a failed batch in halves until the failing item is found.
    fn commit_parts(
        &mut self,
        error: StoreError,
        mutations: &[Mutation],
        places: &[SourcePlace],
    ) -> Result<(), InterchangeError> {
        let mut middle = item_len(mutations);
        if middle == mutations.len() {
            if self.was_imported_meanwhile(mutations)? {
                let message = "another import stores the same conversation; repeat this one after it";
                return Err(StoreError::Conflict(message.to_owned()).into());
            }
            self.problem(places[middle - 1], error);
            return Ok(());
        }
        while middle < mutations.len() / 2 {
            let next = middle + item_len(&mutations[middle..]);
            if next == mutations.len() {
                break;
            }
            middle = next;
        }
        for part in [0..middle, middle..places.len()] {
            let (mutations, places) = (&mutations[part.clone()], &places[part]);
            match self.actor.commit(Op::Import, mutations.to_vec()) {
                Ok(receipt) => self.count(&receipt),
                Err(OpsError::Store(error)) if is_about_an_item(&error) => {
                    self.commit_parts(error, mutations, places)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl ImportBatch<'_> {
    /// True if a node of the mutations is in the store by now. It was not when the import looked it up.
    fn was_imported_meanwhile(&self, mutations: &[Mutation]) -> Result<bool, InterchangeError> {
        let snapshot = self.actor.loom().snapshot()?;
        for mutation in mutations {
            if let Mutation::Append(node) = mutation
                && let Some(source) = &node.source
                && snapshot.source(source)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Number of mutations of the first item. A tree, its sessions and its first node are one: a tree without a root is of no use.
fn item_len(mutations: &[Mutation]) -> usize {
    let [Mutation::CreateTree(_), rest @ ..] = mutations else { return 1 };
    let sessions = rest.iter().take_while(|mutation| matches!(mutation, Mutation::CreateSession(_))).count();
    if matches!(rest.get(sessions), Some(Mutation::Append(_))) { sessions + 2 } else { 1 }
}

/// True if the error concerns an item, false if it concerns the store.
fn is_about_an_item(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotFound { .. }
            | StoreError::Conflict(_)
            | StoreError::SessionEnded
            | StoreError::Leased { .. }
            | StoreError::Refused(_)
    )
}
