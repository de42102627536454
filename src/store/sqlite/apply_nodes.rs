//! Application of appended nodes: position, hash, turn number, and the counts of parents and trees.
//!
//! A change with many nodes inserts them and their journal entries in batches ([`insert`](super::insert)). Until then
//! they exist in memory only. Code that reads the file calls [`ChangeApplier::flush_nodes`] first.

use std::borrow::Cow;

use super::{
    apply::{AppliedMutation, ChangeApplier},
    fts_index::IndexEntry,
    insert::WIDE_ROWS,
    tables::{
        journal,
        nodes::{self, Anchor},
        provenance,
        sessions::{self, SessionTurns},
        sources,
    },
    visibility,
    visible_position::nearest_visible,
};
use crate::{
    store::{
        AppendedNode, Result, StoreError,
        choose_local_id::wanted_local_id,
        new_node::{TurnFigures, TurnOrder, hash_of},
    },
    types::{AuthorType, EdgeKind, NewNode, Parent},
};

/// Nodes of a change that are placed and counted, but not inserted yet.
#[derive(Default)]
pub(super) struct NodeBatch<'a> {
    nodes: Vec<nodes::NewRow<'a>>,
    /// References from other tables to these nodes, written after them.
    follows: Vec<PendingReferences>,
    /// Sessions of nodes that have turn numbers already, with these turns.
    turns: Vec<(i64, SessionTurns)>,
    pub(super) entries: Vec<journal::NewRow>,
}

/// Move of a session: its row, the node with its tree, and the two flags of [`PendingReferences::advance`].
type SessionAdvance = (i64, (i64, i64), [bool; 2]);

struct PendingReferences {
    /// Index of the node among those that the change adds.
    place: Option<usize>,
    /// Two flags: move the session's position to the node, and make it the session's newest human message.
    advance: [bool; 2],
    hearing: TurnOrder,
}

impl<'a> ChangeApplier<'a> {
    /// Appends a node as part of a larger mutation, without a journal entry. The caller adds the returned contribution
    /// to the tree's counts.
    pub(super) fn append_unjournaled(&mut self, node: NewNode) -> Result<(i64, journal::TreeCountDelta)> {
        let trace = self.append(Cow::Owned(node), None)?;
        let row = trace.node.ok_or_else(|| StoreError::Undecodable("an appended node has no row".to_owned()))?;
        Ok((row, trace.added))
    }

    /// Appends a node: assigns position, hash, local id and turn, and updates all counts. `place` is its index among
    /// the nodes that the change adds; `None` for a copied node.
    pub(super) fn append(&mut self, node: Cow<'a, NewNode>, place: Option<usize>) -> Result<AppliedMutation> {
        // The next turn of a session follows those of the batch.
        let is_next = node.turn.is_none() && self.session.is_some() && !self.batch.turns.is_empty();
        if self.batch.nodes.len() >= WIDE_ROWS || is_next {
            self.flush_nodes()?;
        }
        let (tree, parent) = self.parent_of(&node)?;
        let author = self.agent_row(node.author)?;
        if let (EdgeKind::Continuation, Some(parent)) = (node.kind, parent) {
            self.check_append_lease(parent.row, author)?;
        }
        let edited_from = node.edited_from.map(|n| self.node(n)).transpose()?.map(|a| a.row);
        let node = self.with_role(node, edited_from)?;
        let version_of = node.version_of.map(|n| self.node_of(n, tree)).transpose()?.map(|a| a.row);
        let depth = parent.map_or(0, |p| p.depth + 1);
        let above = parent.map(|p| p.hash);
        let hash = hash_of(&node, above, || place.and_then(|place| self.work.hash(place, above)))?;
        let person = node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation;
        let (session, in_order) = match (node.turn, self.session) {
            (Some((session, turn)), _) => {
                let row = self.session_row(session)?;
                (Some((row, turn)), self.count_turn(row, turn, TurnFigures::of(&node, person))?)
            }
            (None, Some(row)) => {
                let figures = TurnFigures::of(&node, person);
                (Some((row, sessions::next_turn(self.conn, row, figures, self.change.at)?)), true)
            }
            (None, None) => (None, true),
        };
        self.cache.touched_sessions.extend(session.map(|s| s.0));
        let spoken = session.is_some() && person;
        if let (Some((session, _)), true, false) = (session, spoken, in_order) {
            self.cache.stale_sessions.insert(session);
        }
        let row = self.next_row()?;
        let parent_row = parent.map(|p| p.row);
        let anchor = Anchor { row, tree, parent: parent_row, depth, kind: node.kind, hash, version_of };
        let added = self.count_new(&anchor, parent, version_of.or(edited_from))?;
        self.remember(node.id, anchor)?;
        if added.nodes == 1 && self.concealed != Some(row) {
            self.cache.stateless.insert(row, 0);
        }
        if let Some(waiting) = &mut self.cache.unindexed {
            let entry = IndexEntry {
                row,
                tree,
                session: session.map(|s| s.0),
                author,
                kind: node.kind.code(),
                at: node.created_at.as_millis(),
                parent: parent_row,
            };
            waiting.add(&node, entry, place, self.work);
        }
        let local = wanted_local_id(&node);
        let turn = session.map(|s| s.1);
        self.receipt.nodes.push(AppendedNode { id: node.id, local: local.clone(), seq: row.unsigned_abs(), turn });
        self.batch.follows.push(PendingReferences {
            place,
            advance: [session.is_some() && node.advance, spoken && in_order],
            hearing: TurnOrder::new(in_order, added.nodes > 0),
        });
        self.batch.nodes.push(nodes::NewRow {
            node,
            row,
            local,
            tree,
            parent: parent_row,
            depth,
            author,
            hash,
            session,
            edited_from,
            version_of,
        });
        Ok(AppliedMutation { tree: Some(tree), node: Some(row), undo: None, added })
    }

    /// Sets the role of a node from an export that predates roles: an edit inherits the role of the edited node.
    fn with_role(&mut self, mut node: Cow<'a, NewNode>, edited_from: Option<i64>) -> Result<Cow<'a, NewNode>> {
        if let Some(from) = edited_from
            && node.role.is_none()
            && node.hash.is_some_and(|hash| hash.version() == 1)
        {
            self.flush_nodes()?;
            let role = nodes::role(self.conn, from)?;
            node.to_mut().role = Some(role).filter(|role| *role != node.author_type);
        }
        Ok(node)
    }

    /// Inserts queued nodes, the rows that refer to them, and their journal entries.
    pub(super) fn flush_nodes(&mut self) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        nodes::insert(self.conn, &mut batch.nodes)?;
        let first = self.receipt.nodes.len() - batch.nodes.len();
        for (told, node) in self.receipt.nodes[first..].iter_mut().zip(&batch.nodes) {
            told.local.clone_from(&node.local);
        }
        let rows = batch.nodes.iter().filter_map(|new| Some((new.node.source.as_deref()?, new.row)));
        sources::insert(self.conn, &rows.collect::<Vec<_>>())?;
        for (session, figures) in batch.turns.drain(..) {
            sessions::count_turns(self.conn, session, figures)?;
        }
        let mut advance: Option<SessionAdvance> = None;
        for (new, follow) in batch.nodes.iter().zip(batch.follows.drain(..)) {
            let next = self.follow(new, &follow)?;
            // A later node of the session replaces an earlier one.
            if let Some((session, node, wanted)) = next
                && let Some((before, at, earlier)) = advance.replace((session, node, wanted))
                && (before != session || earlier[0] && !wanted[0] || earlier[1] && !wanted[1])
            {
                sessions::advance(self.conn, before, at, earlier)?;
            }
        }
        if let Some((session, at, wanted)) = advance {
            sessions::advance(self.conn, session, at, wanted)?;
        }
        journal::write(self.conn, &batch.entries)?;
        batch.nodes.clear();
        batch.entries.clear();
        self.batch = batch;
        Ok(())
    }

    /// Counts a turn that has its number. Returns whether it follows all other turns of its session.
    fn count_turn(&mut self, session: i64, turn: u64, figures: TurnFigures) -> Result<bool> {
        let known = self.batch.turns.iter().position(|(known, _)| *known == session);
        let at = match known {
            Some(at) => at,
            None => {
                self.batch.turns.push((session, SessionTurns::of(self.conn, session)?));
                self.batch.turns.len() - 1
            }
        };
        Ok(self.batch.turns[at].1.add(turn, figures))
    }

    /// Writes the rows that refer to an inserted node, and applies its turn. Returns the move of its session.
    fn follow(&mut self, new: &nodes::NewRow<'_>, follow: &PendingReferences) -> Result<Option<SessionAdvance>> {
        if let Some(envelope) = &new.node.provenance {
            provenance::insert(self.conn, new.row, envelope)?;
        }
        let Some((session, turn)) = new.session else { return Ok(None) };
        let advance = (follow.advance != [false; 2]).then_some((session, (new.row, new.tree), follow.advance));
        let is_checked = new.node.tool.name.is_none() && follow.place.is_some_and(|at| self.work.has_no_directive(at));
        if !is_checked {
            self.ingest_turn(&new.node, new.row, (session, turn), follow.hearing)?;
        }
        Ok(advance)
    }

    /// The tree and the parent of a new node.
    fn parent_of(&mut self, node: &NewNode) -> Result<(i64, Option<Anchor>)> {
        let (tree, parent) = match node.parent {
            Parent::Root(tree) => (self.tree_row(tree)?, None),
            Parent::Node(id) => self.node(id).map(|p| (p.tree, Some(p)))?,
            Parent::Position(session) => {
                self.flush_nodes()?;
                let row = self.session_row(session)?;
                let position = sessions::open_position(self.conn, row)?
                    .ok_or_else(|| StoreError::Conflict("the session has no position yet".to_owned()))?;
                let parent = nearest_visible(self.conn, position)?;
                (parent.tree, Some(parent))
            }
        };
        match (parent, node.kind) {
            // Continuations of any version have the original as their parent.
            (Some(p), EdgeKind::Continuation) => Ok((tree, Some(visibility::original_of(self.conn, p)?))),
            (None, kind) if kind != EdgeKind::Continuation => {
                Err(StoreError::Refused("a root is a continuation".to_owned()))
            }
            _ => Ok((tree, parent)),
        }
    }

    /// The row number for the next node.
    fn next_row(&mut self) -> Result<i64> {
        let last = match self.cache.last_node {
            Some(last) => last,
            None => nodes::last(self.conn)?,
        };
        self.cache.last_node = Some(last + 1);
        Ok(last + 1)
    }

    /// Counts a node that is not inserted yet at its parent, and returns its contribution to the tree's counts. `place`
    /// determines the visibility of a version.
    fn count_new(
        &mut self,
        node: &Anchor,
        parent: Option<Anchor>,
        place: Option<i64>,
    ) -> Result<journal::TreeCountDelta> {
        let messages = i64::from(node.kind == EdgeKind::Continuation);
        let mut added = journal::TreeCountDelta { nodes: 1, messages, depth: node.depth, ..Default::default() };
        let Some(parent) = parent else {
            added.leaves = 1;
            return Ok(added);
        };
        if self.concealed == Some(node.row) {
            // A parent without a stored count has as many continuations as there are, concealed ones included.
            nodes::ensure_state(self.conn, parent.row)?;
            self.cache.stateless.remove(&parent.row);
            nodes::set_hidden(self.conn, node.row, Some(node.row))?;
            added.leaves = 1;
            return Ok(added);
        }
        let (children, hidden) = match (node.kind, self.cache.stateless.remove(&parent.row)) {
            (EdgeKind::Continuation, Some(0)) => {
                self.cache.stateless.insert(parent.row, 1);
                (1, None)
            }
            (EdgeKind::Continuation, Some(children)) => {
                nodes::start_count(self.conn, parent.row, children + 1)?;
                (children + 1, None)
            }
            (kind, _) => {
                self.flush_nodes()?;
                match kind {
                    EdgeKind::Continuation => nodes::count_continuation(self.conn, parent.row, node)?,
                    EdgeKind::Version => {
                        if let Some(original) = node.version_of {
                            self.cache.stateless.remove(&original);
                            nodes::count_child(self.conn, original, kind, 1)?;
                        }
                        (0, visibility::inherited_hidden_by(self.conn, Some(parent.row), place)?)
                    }
                    _ => nodes::count_child(self.conn, parent.row, kind, 1)?,
                }
            }
        };
        if let Some(by) = hidden.filter(|by| self.concealed != Some(*by)) {
            nodes::set_hidden(self.conn, node.row, Some(by))?;
            return Ok(journal::TreeCountDelta::default());
        }
        if node.kind == EdgeKind::Continuation {
            let parent_was_leaf = children == 1 && parent.kind == EdgeKind::Continuation;
            added.leaves = i64::from(!parent_was_leaf);
            added.branch_points = i64::from(children == 2);
        }
        Ok(added)
    }
}
