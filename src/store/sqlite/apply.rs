//! Application of a change. Each mutation updates its table and the derived counts, and appends a journal entry with
//! its inverse.

use std::{borrow::Cow, sync::Arc};

use rusqlite::Connection;

use super::{
    apply_nodes::NodeBatch,
    cache::WriterCache,
    copy,
    prepared_change::PreparedChange,
    purge,
    tables::{agents, bookmarks, delegations, journal, links, nodes, registers, sessions, trees},
    undo, visibility,
};
use crate::{
    id::IdSource,
    store::{Change, ChangeKind, Mutation, Receipt, Result, StoreError},
    types::{CompiledRules, Op},
};

/// The journal data of an applied mutation.
pub(super) struct AppliedMutation {
    pub(super) tree: Option<i64>,
    pub(super) node: Option<i64>,
    /// Inverse mutation; `None` for an append (its inverse is a prune) and for irreversible changes.
    pub(super) undo: Option<Mutation>,
    pub(super) added: journal::Added,
}

impl AppliedMutation {
    pub(super) fn new(tree: Option<i64>, node: Option<i64>, undo: Option<Mutation>) -> Self {
        Self { tree, node, undo, added: journal::Added::default() }
    }
}

/// The state of applying one change inside a transaction.
pub(super) struct ChangeApplier<'a> {
    pub(super) conn: &'a Connection,
    pub(super) cache: &'a mut WriterCache,
    pub(super) ids: &'a dyn IdSource,
    pub(super) ears: &'a CompiledRules,
    pub(super) change: &'a Change,
    pub(super) work: &'a Arc<PreparedChange>,
    pub(super) agent: i64,
    pub(super) session: Option<i64>,
    group: Option<i64>,
    pub(super) receipt: Receipt,
    pub(super) batch: NodeBatch<'a>,
}

impl<'a> ChangeApplier<'a> {
    pub(super) fn begin(
        conn: &'a Connection,
        cache: &'a mut WriterCache,
        ids: &'a dyn IdSource,
        ears: &'a CompiledRules,
        work: &'a Arc<PreparedChange>,
    ) -> Result<Self> {
        let receipt = Receipt::default();
        let change = &work.change;
        let batch = NodeBatch::default();
        let mut apply =
            Self { conn, cache, ids, ears, change, work, agent: 0, session: None, group: None, receipt, batch };
        apply.receipt.nodes.reserve(change.mutations.len());
        apply.agent = apply.agent_row(change.agent)?;
        apply.session = change.session.map(|s| apply.session_row(s)).transpose()?;
        Ok(apply)
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
                    self.settle()?;
                    undo::undo(&mut self, *group)?;
                }
                _ => self.mutate(mutation, None)?,
            }
        }
        self.write()?;
        self.touch_session()?;
        Ok(self.receipt)
    }

    /// Writes the nodes, entries and tree states that earlier appends left in memory.
    fn settle(&mut self) -> Result<()> {
        self.write()?;
        self.cache.flush(self.conn)
    }

    /// Applies a mutation and appends its journal entry, unless it changed nothing.
    pub(super) fn mutate(&mut self, mutation: &Mutation, target: Option<i64>) -> Result<()> {
        // Only appends work without the stored tree states, and leave descendants of other nodes unchanged.
        self.settle()?;
        self.cache.stateless.clear();
        let (kind, trace) = self.apply(mutation)?;
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
        if self.group.is_none() {
            self.group = Some(seq);
            self.receipt.group = seq.unsigned_abs();
        }
        self.receipt.seq = seq.unsigned_abs();
        Ok(())
    }

    fn apply(&mut self, mutation: &Mutation) -> Result<(ChangeKind, Option<AppliedMutation>)> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::Append(node) => (ChangeKind::Append, Some(self.append(Cow::Owned((**node).clone()), None)?)),
            Mutation::CreateTree(tree) => {
                let row = trees::insert(self.conn, tree)?;
                self.cache.trees.insert(tree.id, row);
                let undo = Mutation::SetArchived { tree: tree.id, archived: true };
                (ChangeKind::CreateTree, Some(AppliedMutation::new(Some(row), None, Some(undo))))
            }
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
            Mutation::Link(link) => (ChangeKind::Link, Some(self.link(link)?)),
            Mutation::SetLinkRemoved { link, removed } => {
                let source = links::set_removed(self.conn, *link, *removed)?;
                let undo = Mutation::SetLinkRemoved { link: *link, removed: !removed };
                let tree = source.map(|s| nodes::anchor(self.conn, s)).transpose()?.map(|a| a.tree);
                (ChangeKind::SetLinkRemoved, source.map(|source| AppliedMutation::new(tree, Some(source), Some(undo))))
            }
            Mutation::CopyBranch { from, to, id } => {
                let copied = copy::copy_branch(self, *from, *to, *id)?;
                (ChangeKind::CopyBranch, Some(copied))
            }
            Mutation::UpdateTree { tree, patch } => {
                let row = self.tree_row(*tree)?;
                let before = trees::update(self.conn, row, patch)?;
                let changed = before != *patch;
                let undo = Mutation::UpdateTree { tree: *tree, patch: before };
                (ChangeKind::UpdateTree, changed.then(|| AppliedMutation::new(Some(row), None, Some(undo))))
            }
            Mutation::SetArchived { tree, archived } => {
                let row = self.tree_row(*tree)?;
                let changed = trees::set_archived(self.conn, row, *archived, at)?;
                let undo = Mutation::SetArchived { tree: *tree, archived: !archived };
                (ChangeKind::SetArchived, changed.then(|| AppliedMutation::new(Some(row), None, Some(undo))))
            }
            Mutation::CreateAgent(agent) => {
                agents::insert(self.conn, agent, at)?;
                let undo = Mutation::SetAgentRemoved { agent: agent.id, removed: true };
                (ChangeKind::CreateAgent, Some(AppliedMutation::new(None, None, Some(undo))))
            }
            Mutation::UpdateAgent(agent) => {
                let row = self.agent_row(agent.id)?;
                let before = agents::get(self.conn, row)?.profile;
                if before.kind != agent.kind {
                    return Err(StoreError::Refused("an agent stays what it is: human or model".to_owned()));
                }
                agents::update(self.conn, row, agent)?;
                let changed = before != *agent;
                let undo = Mutation::UpdateAgent(before);
                (ChangeKind::UpdateAgent, changed.then(|| AppliedMutation::new(None, None, Some(undo))))
            }
            Mutation::SetAgentRemoved { agent, removed } => {
                let row = self.agent_row(*agent)?;
                let changed = agents::get(self.conn, row)?.removed != *removed;
                agents::set_removed(self.conn, row, *removed)?;
                let undo = Mutation::SetAgentRemoved { agent: *agent, removed: !removed };
                (ChangeKind::SetAgentRemoved, changed.then(|| AppliedMutation::new(None, None, Some(undo))))
            }
            Mutation::CreateSession(session) => {
                let (agent, tree) = (self.agent_row(session.agent)?, self.tree_row(session.tree)?);
                let position = session.position.map(|n| self.node_of(n, tree)).transpose()?;
                trees::belong(self.conn, tree, session.item.as_ref())?;
                let item = trees::item(self.conn, tree)?;
                let by = session.delegated_by.map(|by| self.session_row(by)).transpose()?;
                sessions::insert(self.conn, session, (agent, tree, position.map(|p| p.row)), item.as_ref(), by)?;
                (ChangeKind::CreateSession, Some(AppliedMutation::new(Some(tree), position.map(|p| p.row), None)))
            }
            Mutation::UpdateSession { session, patch } => {
                let row = self.session_row(*session)?;
                if let Some(tree) = patch.tree {
                    let tree = self.tree_row(tree)?;
                    trees::belong(self.conn, tree, sessions::item(self.conn, row)?.as_ref())?;
                    sessions::begin_anew(self.conn, row, tree)?;
                    self.cache.unheard.insert(row);
                }
                let tree = sessions::tree(self.conn, row)?;
                let position = patch.position.map(|n| self.node_of(n, tree)).transpose()?.map(|p| p.row);
                for version in patch.versions.iter().flatten() {
                    self.node_of(*version, tree)?;
                }
                sessions::update(self.conn, row, patch, position, at)?;
                (ChangeKind::UpdateSession, Some(AppliedMutation::new(Some(tree), position, None)))
            }
            Mutation::Record { session, kind, content, turn } => {
                let row = self.session_row(*session)?;
                let undo = self.record(row, *kind, content, *turn)?;
                let tree = sessions::tree(self.conn, row)?;
                (ChangeKind::Record, Some(AppliedMutation::new(Some(tree), None, Some(undo))))
            }
            Mutation::SetRecordRemoved { record, removed } => {
                let session = registers::set_removed(self.conn, *record, *removed)?;
                self.cache.unheard.extend(session);
                let undo = Mutation::SetRecordRemoved { record: *record, removed: !removed };
                let tree = session.map(|session| sessions::tree(self.conn, session)).transpose()?;
                (ChangeKind::SetRecordRemoved, session.map(|_| AppliedMutation::new(tree, None, Some(undo))))
            }
            Mutation::Purge(target) => (ChangeKind::Purge, Some(purge::purge(self, *target)?)),
            Mutation::Pin { .. }
            | Mutation::Unpin { .. }
            | Mutation::Stash { .. }
            | Mutation::Unstash { .. }
            | Mutation::Act { .. } => self.memory(mutation)?,
            Mutation::Lease { .. }
            | Mutation::Release { .. }
            | Mutation::Summarize { .. }
            | Mutation::Embed { .. }
            | Mutation::Reckon { .. } => self.turn(mutation)?,
            Mutation::Delegation { node, number, event } => {
                let head = self.node(*node)?;
                delegations::insert(self.conn, (head.row, *number), event, at)?;
                (ChangeKind::Delegation, Some(AppliedMutation::new(Some(head.tree), Some(head.row), None)))
            }
            Mutation::AddTodo(_) | Mutation::FinishTodo { .. } | Mutation::TakeUpTodo { .. } => self.plan(mutation)?,
            Mutation::CreateDocument { .. }
            | Mutation::WriteDocument { .. }
            | Mutation::RevertDocument { .. }
            | Mutation::SetDocumentRemoved { .. } => self.document(mutation)?,
            Mutation::Undo { .. } => {
                return Err(StoreError::Refused("an undo cannot be part of an undo".to_owned()));
            }
        })
    }

    /// True if the change is an undo or redo, whose entries name the group that they revert.
    pub(super) fn is_undo(&self) -> bool {
        matches!(self.change.op, Op::Undo | Op::Redo)
    }
}
