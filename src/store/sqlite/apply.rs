//! Applying a change: each mutation does its work in its table, keeps the running counts, and leaves a journal entry
//! with the mutation that would take it back.

use std::sync::Arc;

use rusqlite::Connection;

use super::{
    cache::Cache,
    copy, history,
    index::{Entry, Work},
    purge,
    register::Hearing,
    tables::{
        agents, bookmarks, delegations, journal, links,
        nodes::{self, Anchor},
        provenance, registers, sessions, sources, trees,
    },
    visibility,
};
use crate::{
    id::IdSource,
    model::{AuthorType, ContentHash, Ears, EdgeKind, NewNode, Op, Parent},
    store::{Appended, Change, ChangeKind, Mutation, Receipt, Result, StoreError},
};

/// What a mutation leaves in the journal.
pub(super) struct Trace {
    pub(super) tree: Option<i64>,
    pub(super) node: Option<i64>,
    /// What takes it back; `None` for an append (pruning it does) and where nothing can.
    pub(super) undo: Option<Mutation>,
    pub(super) added: journal::Added,
}

impl Trace {
    pub(super) fn new(tree: Option<i64>, node: Option<i64>, undo: Option<Mutation>) -> Self {
        Self { tree, node, undo, added: journal::Added::default() }
    }
}

/// One change being applied, within a savepoint.
pub(super) struct Apply<'a> {
    pub(super) conn: &'a Connection,
    pub(super) cache: &'a mut Cache,
    pub(super) ids: &'a dyn IdSource,
    pub(super) ears: &'a Ears,
    pub(super) change: &'a Change,
    work: &'a Arc<Work>,
    pub(super) agent: i64,
    pub(super) session: Option<i64>,
    group: Option<i64>,
    pub(super) receipt: Receipt,
}

impl<'a> Apply<'a> {
    pub(super) fn begin(
        conn: &'a Connection,
        cache: &'a mut Cache,
        ids: &'a dyn IdSource,
        ears: &'a Ears,
        work: &'a Arc<Work>,
    ) -> Result<Self> {
        let receipt = Receipt::default();
        let change = &work.change;
        let mut apply = Self { conn, cache, ids, ears, change, work, agent: 0, session: None, group: None, receipt };
        apply.agent = apply.agent_row(change.agent)?;
        apply.session = change.session.map(|s| apply.session_row(s)).transpose()?;
        Ok(apply)
    }

    pub(super) fn run(mut self) -> Result<Receipt> {
        for mutation in &self.change.mutations {
            if let Mutation::Undo { group } = mutation {
                self.cache.flush(self.conn)?;
                history::undo(&mut self, *group)?;
            } else {
                self.mutate(mutation, None)?;
            }
        }
        self.touch_session()?;
        Ok(self.receipt)
    }

    /// Applies one mutation and journals it; one that changes nothing leaves no entry.
    pub(super) fn mutate(&mut self, mutation: &Mutation, target: Option<i64>) -> Result<()> {
        // Only appends do without the trees' states, and leave what is below other nodes as it is.
        if !matches!(mutation, Mutation::Append(_)) {
            self.cache.flush(self.conn)?;
            self.cache.stateless.clear();
        }
        let (kind, trace) = self.apply(mutation)?;
        let Some(trace) = trace else { return Ok(()) };
        let undo = match &trace.undo {
            Some(undo) => Some(serde_json::to_string(undo).map_err(|e| StoreError::Backend(Box::new(e)))?),
            None => None,
        };
        let entry = journal::Entry {
            group: self.group,
            at: self.change.at,
            agent: self.agent,
            session: self.session,
            tree: trace.tree,
            op: self.change.op,
            change: kind,
            node: trace.node,
            undo: undo.as_deref(),
            target,
        };
        let seq = journal::insert(self.conn, &entry, &trace.added, &mut self.cache.journal)?;
        if self.group.is_none() {
            self.group = Some(seq);
            self.receipt.group = seq.unsigned_abs();
        }
        self.receipt.seq = seq.unsigned_abs();
        Ok(())
    }

    fn apply(&mut self, mutation: &Mutation) -> Result<(ChangeKind, Option<Trace>)> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::Append(node) => (ChangeKind::Append, Some(self.append(node)?)),
            Mutation::CreateTree(tree) => {
                let row = trees::insert(self.conn, tree)?;
                self.cache.trees.insert(tree.id, row);
                let undo = Mutation::SetArchived { tree: tree.id, archived: true };
                (ChangeKind::CreateTree, Some(Trace::new(Some(row), None, Some(undo))))
            }
            Mutation::Prune { node } => (ChangeKind::Prune, Some(visibility::prune(self, *node)?)),
            Mutation::Restore { node } => (ChangeKind::Restore, Some(visibility::restore(self, *node)?)),
            Mutation::SetExcluded { node, excluded } => {
                let row = self.node(*node)?;
                let undo = Mutation::SetExcluded { node: *node, excluded: !excluded };
                let changed = nodes::set_excluded(self.conn, row.row, *excluded)?;
                (ChangeKind::SetExcluded, changed.then(|| Trace::new(Some(row.tree), Some(row.row), Some(undo))))
            }
            Mutation::SetBookmark { node, label } => {
                let row = self.node(*node)?;
                let before = bookmarks::label(self.conn, row.row)?;
                let changed = before != *label;
                bookmarks::set(self.conn, row.row, row.tree, label.as_deref(), at)?;
                let undo = Mutation::SetBookmark { node: *node, label: before };
                (ChangeKind::SetBookmark, changed.then(|| Trace::new(Some(row.tree), Some(row.row), Some(undo))))
            }
            Mutation::Link(link) => (ChangeKind::Link, Some(self.link(link)?)),
            Mutation::SetLinkRemoved { link, removed } => {
                let source = links::set_removed(self.conn, *link, *removed)?;
                let undo = Mutation::SetLinkRemoved { link: *link, removed: !removed };
                let tree = source.map(|s| nodes::anchor(self.conn, s)).transpose()?.map(|a| a.tree);
                (ChangeKind::SetLinkRemoved, source.map(|source| Trace::new(tree, Some(source), Some(undo))))
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
                (ChangeKind::UpdateTree, changed.then(|| Trace::new(Some(row), None, Some(undo))))
            }
            Mutation::SetArchived { tree, archived } => {
                let row = self.tree_row(*tree)?;
                let changed = trees::set_archived(self.conn, row, *archived, at)?;
                let undo = Mutation::SetArchived { tree: *tree, archived: !archived };
                (ChangeKind::SetArchived, changed.then(|| Trace::new(Some(row), None, Some(undo))))
            }
            Mutation::CreateAgent(agent) => {
                agents::insert(self.conn, agent, at)?;
                let undo = Mutation::SetAgentRemoved { agent: agent.id, removed: true };
                (ChangeKind::CreateAgent, Some(Trace::new(None, None, Some(undo))))
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
                (ChangeKind::UpdateAgent, changed.then(|| Trace::new(None, None, Some(undo))))
            }
            Mutation::SetAgentRemoved { agent, removed } => {
                let row = self.agent_row(*agent)?;
                let changed = agents::get(self.conn, row)?.removed != *removed;
                agents::set_removed(self.conn, row, *removed)?;
                let undo = Mutation::SetAgentRemoved { agent: *agent, removed: !removed };
                (ChangeKind::SetAgentRemoved, changed.then(|| Trace::new(None, None, Some(undo))))
            }
            Mutation::CreateSession(session) => {
                let (agent, tree) = (self.agent_row(session.agent)?, self.tree_row(session.tree)?);
                let position = session.position.map(|n| self.node_of(n, tree)).transpose()?;
                trees::belong(self.conn, tree, session.item.as_ref())?;
                let item = trees::item(self.conn, tree)?;
                let by = session.delegated_by.map(|by| self.session_row(by)).transpose()?;
                sessions::insert(self.conn, session, (agent, tree, position.map(|p| p.row)), item.as_ref(), by)?;
                (ChangeKind::CreateSession, Some(Trace::new(Some(tree), position.map(|p| p.row), None)))
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
                (ChangeKind::UpdateSession, Some(Trace::new(Some(tree), position, None)))
            }
            Mutation::Record { session, kind, content, turn } => {
                let row = self.session_row(*session)?;
                let undo = self.record(row, *kind, content, *turn)?;
                let tree = sessions::tree(self.conn, row)?;
                (ChangeKind::Record, Some(Trace::new(Some(tree), None, Some(undo))))
            }
            Mutation::SetRecordRemoved { record, removed } => {
                let session = registers::set_removed(self.conn, *record, *removed)?;
                self.cache.unheard.extend(session);
                let undo = Mutation::SetRecordRemoved { record: *record, removed: !removed };
                let tree = session.map(|session| sessions::tree(self.conn, session)).transpose()?;
                (ChangeKind::SetRecordRemoved, session.map(|_| Trace::new(tree, None, Some(undo))))
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
                (ChangeKind::Delegation, Some(Trace::new(Some(head.tree), Some(head.row), None)))
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

    /// Adds a node that is part of a larger mutation: it is counted, and not journaled by itself.
    pub(super) fn append_quietly(&mut self, node: &NewNode) -> Result<i64> {
        let trace = self.append(node)?;
        if let (Some(tree), Some(row)) = (trace.tree, trace.node) {
            trees::add(self.conn, tree, &trace.added)?;
            return Ok(row);
        }
        Err(StoreError::Undecodable("an appended node has no row".to_owned()))
    }

    /// Adds a node: its place, hash, local id, turn, and everybody's counts.
    pub(super) fn append(&mut self, node: &NewNode) -> Result<Trace> {
        let (tree, parent) = match node.parent {
            Parent::Root(tree) => (self.tree_row(tree)?, None),
            Parent::Node(id) => self.node(id).map(|p| (p.tree, Some(p)))?,
            Parent::Position(session) => {
                let row = self.session_row(session)?;
                let position: Option<i64> = self
                    .conn
                    .prepare_cached("SELECT position FROM sessions WHERE id = ?1")?
                    .query_row([row], |r| r.get(0))?;
                let position =
                    position.ok_or_else(|| StoreError::Conflict("the session stands nowhere yet".to_owned()))?;
                let parent = visibility::nearest_visible(self.conn, position)?;
                (parent.tree, Some(parent))
            }
        };
        // What follows one version follows all: their continuations hang on the first one.
        let parent = match parent {
            Some(p) if node.kind == EdgeKind::Continuation => Some(visibility::common(self.conn, p)?),
            other => other,
        };
        if parent.is_none() && node.kind != EdgeKind::Continuation {
            return Err(StoreError::Refused("a root is a continuation".to_owned()));
        }
        let author = self.agent_row(node.author)?;
        if let (EdgeKind::Continuation, Some(parent)) = (node.kind, parent) {
            self.may_continue(parent.row, author)?;
        }
        let edited_from = node.edited_from.map(|n| self.node(n)).transpose()?.map(|a| a.row);
        let version_of = node.version_of.map(|n| self.node_of(n, tree)).transpose()?.map(|a| a.row);
        let depth = parent.map_or(0, |p| p.depth + 1);
        let hash = match (node.purged_at, node.hash) {
            (Some(_), Some(kept)) if node.content.is_empty() => kept,
            (Some(_), _) => return Err(StoreError::Refused("a tombstone has a hash and no content".to_owned())),
            (None, said) => {
                let hash = ContentHash::of(parent.map(|p| p.hash), node.author, node.kind, &node.content);
                if said.is_some_and(|said| said != hash) {
                    return Err(StoreError::Refused(format!("node {} is not what its hash says", node.id)));
                }
                hash
            }
        };
        let (session, in_order) = match (node.turn, self.session) {
            (Some((session, turn)), _) => {
                let row = self.session_row(session)?;
                let before = sessions::count_turn(self.conn, row, turn, node.tokens)?;
                (Some((row, turn)), turn > before)
            }
            (None, Some(row)) => (Some((row, sessions::next_turn(self.conn, row, node.tokens, self.change.at)?)), true),
            (None, None) => (None, true),
        };
        let insert = nodes::Insert {
            node,
            tree,
            parent: parent.map(|p| p.row),
            depth,
            author,
            hash,
            session,
            edited_from,
            version_of,
        };
        let (row, local) = nodes::insert(self.conn, &insert)?;
        if let Some((session, _)) = session {
            let spoken = node.author_type == AuthorType::Human && node.kind == EdgeKind::Continuation;
            if spoken && !in_order {
                self.cache.unheard.insert(session);
            }
            if node.advance || spoken {
                sessions::advance(self.conn, session, (row, tree), [node.advance, spoken && in_order])?;
            }
        }
        if let Some(envelope) = &node.provenance {
            provenance::insert(self.conn, row, envelope)?;
        }
        if let Some(source) = &node.source {
            sources::insert(self.conn, source, row)?;
        }
        let anchor = Anchor { row, tree, parent: parent.map(|p| p.row), depth, kind: node.kind, hash, version_of };
        let added = self.count_new(&anchor, parent)?;
        if let Some((session, turn)) = session {
            let heard = if !in_order {
                Hearing::OutOfOrder
            } else if added.nodes == 0 {
                Hearing::Hidden
            } else {
                Hearing::Next
            };
            self.hear(node, row, (session, turn), heard)?;
        }
        self.remember(node.id, anchor);
        if let Some(waiting) = &mut self.cache.unindexed {
            let entry = Entry {
                row,
                tree,
                session: session.map(|s| s.0),
                author,
                kind: node.kind.code(),
                at: node.created_at.as_millis(),
                parent: parent.map(|p| p.row),
            };
            waiting.add(node, entry, self.work);
        }
        if added.nodes == 1 {
            self.cache.stateless.insert(row, 0);
        }
        let turn = session.map(|s| s.1);
        self.receipt.nodes.push(Appended { id: node.id, local, seq: row.unsigned_abs(), turn });
        Ok(Trace { tree: Some(tree), node: Some(row), undo: None, added })
    }

    /// Counts a new node at its parent and says what it adds to its tree.
    fn count_new(&mut self, node: &Anchor, parent: Option<Anchor>) -> Result<journal::Added> {
        let mut added = journal::Added { nodes: 1, depth: node.depth, ..Default::default() };
        let Some(parent) = parent else {
            added.leaves = 1;
            return Ok(added);
        };
        let (children, hidden) = match (node.kind, node.version_of) {
            (EdgeKind::Version, place) => {
                if let Some(place) = place {
                    self.cache.stateless.remove(&place);
                    nodes::count_child(self.conn, place, node.kind, 1)?;
                }
                (0, visibility::support_mark(self.conn, *node)?)
            }
            (EdgeKind::Continuation, _) => match self.cache.stateless.remove(&parent.row) {
                Some(0) => {
                    self.cache.stateless.insert(parent.row, 1);
                    (1, None)
                }
                Some(children) => {
                    nodes::start_count(self.conn, parent.row, children + 1)?;
                    (children + 1, None)
                }
                None => nodes::count_continuation(self.conn, parent.row, node)?,
            },
            _ => {
                self.cache.stateless.remove(&parent.row);
                nodes::count_child(self.conn, parent.row, node.kind, 1)?
            }
        };
        if let Some(by) = hidden {
            nodes::set_hidden(self.conn, node.row, by)?;
            return Ok(journal::Added::default());
        }
        if node.kind == EdgeKind::Continuation {
            let parent_was_leaf = children == 1 && parent.kind == EdgeKind::Continuation;
            added.leaves = i64::from(!parent_was_leaf);
            added.branch_points = i64::from(children == 2);
        }
        Ok(added)
    }

    /// Whether undoing is what is being done: its entries are marked with what they take back.
    pub(super) fn is_undo(&self) -> bool {
        matches!(self.change.op, Op::Undo | Op::Redo)
    }
}
