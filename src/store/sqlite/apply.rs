//! Application of a change. Each mutation updates its table and the derived counts, and appends a journal entry with
//! its inverse.

use std::{borrow::Cow, sync::Arc};

use rusqlite::Connection;

use super::{
    apply_nodes::NodeBatch,
    copy_branch,
    prepared_change::PreparedChange,
    purge,
    staged_change::StagedPart,
    staged_copy::StagedCopy,
    staged_visibility::StagedVisibilityChange,
    tables::{bookmarks, delegations, journal, nodes},
    undo, visibility,
    writer_cache::WriterCache,
};
pub(super) use crate::store::mutation_rules::unsupported;
use crate::{
    id::{IdSource, NodeId},
    session_state::CompiledRules,
    store::{Change, ChangeKind, Mutation, Receipt, Result, StoreError, mutation_targets::MutationFamily},
};

/// The journal data of an applied mutation.
pub(super) struct AppliedMutation {
    pub(super) tree: Option<i64>,
    pub(super) node: Option<i64>,
    /// Inverse mutation; `None` for an append (its inverse is a prune) and for irreversible changes.
    pub(super) undo: Option<Mutation>,
    pub(super) added: journal::TreeCountDelta,
}

impl AppliedMutation {
    pub(super) fn new(tree: Option<i64>, node: Option<i64>, undo: Option<Mutation>) -> Self {
        Self { tree, node, undo, added: journal::TreeCountDelta::default() }
    }
}

/// The kind of a mutation and its journal data; `None`: it changed nothing, or is not journaled.
pub(super) type Applied = (ChangeKind, Option<AppliedMutation>);

/// The state of applying one change inside a transaction.
pub(super) struct ChangeApplier<'a> {
    pub(super) conn: &'a Connection,
    pub(super) cache: &'a mut WriterCache,
    pub(super) ids: &'a dyn IdSource,
    pub(super) rules: &'a CompiledRules,
    pub(super) change: &'a Change,
    pub(super) work: &'a Arc<PreparedChange>,
    pub(super) agent: i64,
    pub(super) session: Option<i64>,
    /// Parts of this change that are staged.
    staged: &'a [StagedPart],
    /// Row number of the root of a copy that is being staged. Its nodes count as visible below it.
    pub(super) concealed: Option<i64>,
    group: Option<i64>,
    pub(super) receipt: Receipt,
    pub(super) batch: NodeBatch<'a>,
}

impl<'a> ChangeApplier<'a> {
    pub(super) fn begin(
        conn: &'a Connection,
        cache: &'a mut WriterCache,
        ids: &'a dyn IdSource,
        rules: &'a CompiledRules,
        work: &'a Arc<PreparedChange>,
        staged: &'a [StagedPart],
    ) -> Result<Self> {
        let receipt = Receipt::default();
        let change = &work.change;
        let batch = NodeBatch::default();
        let mut apply = Self {
            conn,
            cache,
            ids,
            rules,
            change,
            work,
            agent: 0,
            session: None,
            staged,
            concealed: None,
            group: None,
            receipt,
            batch,
        };
        apply.receipt.nodes.reserve(change.mutations.len());
        apply.agent = apply.agent_row(change.agent)?;
        apply.session = change.session.map(|s| apply.session_row(s)).transpose()?;
        Ok(apply)
    }

    /// Adds the change's entries to an existing group of the journal.
    pub(super) fn in_group(mut self, group: Option<i64>) -> Self {
        self.group = group;
        self
    }

    pub(super) fn run(mut self) -> Result<Receipt> {
        let change = self.change;
        let mut places = 0..;
        for mutation in &change.mutations {
            match mutation {
                Mutation::Append(node) => {
                    let trace = self.append(Cow::Borrowed(node), places.next())?;
                    self.journal(ChangeKind::Append, trace, None)?;
                }
                Mutation::Undo { group } => {
                    self.flush_pending()?;
                    undo::undo(&mut self, *group)?;
                }
                _ => self.apply_and_journal(mutation, None)?,
            }
        }
        self.flush_nodes()?;
        self.touch_session()?;
        self.cache.touched_sessions.extend(self.session);
        Ok(self.receipt)
    }

    /// Writes the nodes, entries and tree states that earlier appends left in memory.
    fn flush_pending(&mut self) -> Result<()> {
        self.flush_nodes()?;
        self.cache.flush(self.conn)
    }

    /// Applies a mutation and appends its journal entry, unless it changed nothing.
    pub(super) fn apply_and_journal(&mut self, mutation: &Mutation, target: Option<i64>) -> Result<()> {
        // Only appends work without the stored tree states, and leave descendants of other nodes unchanged.
        self.flush_pending()?;
        self.cache.stateless.clear();
        let (kind, trace) = self.apply_one(mutation)?;
        match trace {
            Some(trace) => self.journal(kind, trace, target),
            None => Ok(()),
        }
    }

    /// Queues a journal entry, which is written after the queued nodes.
    fn journal(&mut self, change: ChangeKind, trace: AppliedMutation, target: Option<i64>) -> Result<()> {
        let undo = trace.undo.as_ref().map(serde_json::to_string).transpose();
        let entry = journal::Entry {
            group: self.group,
            at: self.change.at,
            agent: self.agent,
            session: self.session,
            tree: trace.tree,
            op: self.change.op,
            change,
            node: trace.node,
            undo: undo.map_err(|e| StoreError::Backend(Box::new(e)))?,
            target,
        };
        let (seq, row) = journal::number(self.conn, entry, &trace.added, &mut self.cache.journal)?;
        self.batch.entries.push(row);
        self.receipt.group = self.group.get_or_insert(seq).unsigned_abs();
        self.receipt.seq = seq.unsigned_abs();
        Ok(())
    }

    fn apply_one(&mut self, mutation: &Mutation) -> Result<Applied> {
        mutation.check()?;
        match mutation.family() {
            MutationFamily::Node => self.apply_node(mutation),
            MutationFamily::Tree => self.apply_tree(mutation),
            MutationFamily::Agent => self.apply_agent(mutation),
            MutationFamily::Session => self.apply_session(mutation),
            MutationFamily::Document => self.apply_document(mutation),
            MutationFamily::Memory => self.apply_memory(mutation),
            MutationFamily::Unjournaled => self.apply_unjournaled(mutation),
            MutationFamily::Todo => self.apply_todo(mutation),
            MutationFamily::Purge(target) => Ok((ChangeKind::Purge, Some(purge::purge(self, target)?))),
            MutationFamily::Undo => Err(StoreError::Refused("an undo cannot be part of an undo".to_owned())),
        }
    }

    fn apply_node(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::Append(node) => (ChangeKind::Append, Some(self.append(Cow::Owned((**node).clone()), None)?)),
            Mutation::Prune { node } => (ChangeKind::Prune, Some(visibility::prune(self, *node)?)),
            Mutation::Restore { node } => (ChangeKind::Restore, Some(visibility::restore(self, *node)?)),
            Mutation::SetExcluded { node, excluded } => {
                let row = self.node(*node)?;
                let undo = Mutation::SetExcluded { node: *node, excluded: !excluded };
                let changed = nodes::set_excluded(self.conn, row.row, *excluded)?;
                (
                    ChangeKind::SetExcluded,
                    changed.then(|| AppliedMutation::new(Some(row.tree), Some(row.row), Some(undo))),
                )
            }
            Mutation::SetBookmark { node, label } => {
                let row = self.node(*node)?;
                let before = bookmarks::label(self.conn, row.row)?;
                let changed = before != *label;
                bookmarks::set(self.conn, row.row, row.tree, label.as_deref(), at)?;
                let undo = Mutation::SetBookmark { node: *node, label: before };
                (
                    ChangeKind::SetBookmark,
                    changed.then(|| AppliedMutation::new(Some(row.tree), Some(row.row), Some(undo))),
                )
            }
            Mutation::CopyBranch { from, to, id } => {
                let copied = copy_branch::copy_branch(self, *from, *to, *id)?;
                (ChangeKind::CopyBranch, Some(copied))
            }
            Mutation::AppendDelegationEvent { node, number, event } => {
                let head = self.node(*node)?;
                delegations::insert(self.conn, (head.row, *number), event, at)?;
                let applied = AppliedMutation::new(Some(head.tree), Some(head.row), None);
                (ChangeKind::AppendDelegationEvent, Some(applied))
            }
            _ => return Err(unsupported()),
        })
    }

    /// The staged form of a copy with this id.
    pub(super) fn staged_copy(&self, id: NodeId) -> Option<&'a StagedCopy> {
        self.staged.iter().find_map(|part| match part {
            StagedPart::Copy(copy) => Some(copy).filter(|copy| copy.id == id),
            StagedPart::Visibility(_) => None,
        })
    }

    /// The staged form of a node's prune or restore.
    pub(super) fn staged_visibility(&self, id: NodeId, is_restore: bool) -> Option<&'a StagedVisibilityChange> {
        self.staged.iter().find_map(|part| match part {
            StagedPart::Visibility(change) => Some(change).filter(|change| change.is_of(id, is_restore)),
            StagedPart::Copy(_) => None,
        })
    }
}
