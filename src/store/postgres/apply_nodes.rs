//! Application of mutations of nodes: appends with place, hash, local id, turn and counts; exclusions, bookmarks, events of
//! delegations. Sequences of appends are kept in memory until something reads them.

use std::{collections::hash_map::Entry, sync::LazyLock};

use tokio_postgres::Row;

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{CONTINUATIONS, FROM, coded, get, id, int, opt_int},
    pending_rows::{PgNewRow, PgNodeAnchor, PgNodeState, PgTreeCountDelta},
    uuid::Uuid,
    visibility,
};
use crate::{
    id::NodeId,
    session_state::TurnRecord,
    store::{
        AppendedNode, ChangeKind, Mutation, Result, StoreError,
        new_node::{TurnFigures, TurnOrder, hash_of},
    },
    types::{AuthorType, ContentHash, EdgeKind, NewNode, Parent},
};

/// Columns of [`place`], from `nodes n`.
pub(super) const PLACE: &str =
    "SELECT n.id, n.tree, n.seq, n.parent, n.depth, n.kind, n.hash, n.version_of, n.edited_from";

/// Columns of [`place_state`], from `nodes n LEFT JOIN node_state s`.
pub(super) static PLACE_STATE: LazyLock<String> =
    LazyLock::new(|| format!("{CONTINUATIONS}, s.hidden_by, s.node IS NOT NULL"));

pub(super) fn place_state(row: &Row, at: usize) -> Result<PgNodeState> {
    Ok(PgNodeState { continuations: int(row, at)?, hidden_by: opt_int(row, at + 1)?, is_stored: get(row, at + 2)? })
}

pub(super) fn place(row: &Row) -> Result<PgNodeAnchor> {
    let hash = ContentHash::from_bytes(get(row, 6)?);
    Ok(PgNodeAnchor {
        id: id(row, 0, NodeId::from_bytes)?,
        tree: get(row, 1)?,
        seq: int(row, 2)?,
        parent: opt_int(row, 3)?,
        depth: int(row, 4)?,
        kind: coded(row, 5, EdgeKind::from_code)?,
        hash: hash.ok_or_else(|| StoreError::Undecodable("a hash does not decode".to_owned()))?,
        version_of: opt_int(row, 7)?,
        edited_from: opt_int(row, 8)?,
    })
}

/// Replaces the character NUL, which PostgreSQL cannot store, so that a reply with one is not lost.
pub(super) fn replace_nul(text: &mut String) {
    if text.contains('\0') {
        *text = text.replace('\0', "\u{fffd}");
    }
}

impl PgChangeApplier<'_> {
    /// Looks up a node and locks its tree; fails if it does not exist.
    pub(super) fn node(&mut self, id: NodeId) -> Result<PgNodeAnchor> {
        let found = match self.state.nodes.get(&id) {
            Some(place) => *place,
            None => {
                let row = self.conn.query_opt(&format!("{PLACE} FROM nodes n WHERE n.id = $1"), &[&Uuid::from(id)])?;
                let found = row.as_ref().map(place).transpose()?.ok_or_else(|| StoreError::not_found("node", id))?;
                self.state.add_place(found);
                found
            }
        };
        self.state.lock(self.conn, &[found.tree])?;
        Ok(found)
    }

    /// Looks up a node; fails if it is not in this tree.
    pub(super) fn node_of(&mut self, id: NodeId, tree: Uuid) -> Result<PgNodeAnchor> {
        let node = self.node(id)?;
        if node.tree == tree { Ok(node) } else { Err(StoreError::Conflict(format!("node {id} is in another tree"))) }
    }

    /// Reads a node of a tree by its number.
    pub(super) fn place_at(&self, tree: Uuid, seq: i64) -> Result<PgNodeAnchor> {
        if let Some(known) = self.state.place_at(tree, seq) {
            return Ok(known);
        }
        place(&self.conn.query_one(&format!("{PLACE} FROM nodes n WHERE n.tree = $1 AND n.seq = $2"), &[&tree, &seq])?)
    }

    /// The original of a place, which is the parent of all versions' continuations.
    pub(super) fn original_of(&self, mut node: PgNodeAnchor) -> Result<PgNodeAnchor> {
        while let Some(first) = node.version_of {
            node = self.place_at(node.tree, first)?;
        }
        Ok(node)
    }

    pub(super) fn tree(&mut self, id: crate::id::TreeId) -> Result<Uuid> {
        let tree = Uuid::from(id);
        self.exists("trees", "tree", tree, id)?;
        self.state.lock(self.conn, &[tree])?;
        Ok(tree)
    }

    /// The continuations and the tag of a node.
    fn node_state(&mut self, tree: Uuid, seq: i64) -> Result<&mut PgNodeState> {
        Ok(match self.state.states.entry((tree, seq)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let sql = format!("SELECT {} {FROM} WHERE n.tree = $1 AND n.seq = $2", *PLACE_STATE);
                let read = self.conn.query_opt(&sql, &[&tree, &seq])?.map(|row| place_state(&row, 0)).transpose()?;
                // A root that is not written yet is not found.
                unknown.insert(read.unwrap_or_default())
            }
        })
    }

    /// Counts a new child of a node; returns the node's state before. The first continuation makes no row.
    fn count_child(&mut self, tree: Uuid, node: i64, kind: EdgeKind) -> Result<PgNodeState> {
        let state = self.node_state(tree, node)?;
        let before = *state;
        state.continuations += i64::from(kind == EdgeKind::Continuation);
        let is_counted =
            matches!(kind, EdgeKind::Annotation | EdgeKind::Version) || state.is_stored || state.continuations > 1;
        if is_counted {
            state.is_stored = true;
            let continuations = state.continuations;
            self.state.pending_rows.count_child((tree, node), continuations, kind);
        }
        Ok(before)
    }

    /// Appends a node: assigns place, hash, local id and turn, and updates all counts.
    pub(super) fn append(&mut self, node: &NewNode) -> Result<PgAppliedMutation> {
        let (tree, parent) = self.parent_of(node)?;
        let author = self.agent(node.author)?;
        if let (EdgeKind::Continuation, Some(parent)) = (node.kind, parent) {
            self.check_append_lease(&parent, author)?;
        }
        let edited = node.edited_from.map(|id| self.node(id)).transpose()?;
        let version = node.version_of.map(|id| self.node_of(id, tree)).transpose()?;
        let mut node = node.clone();
        // An imported hash is of the text as it was.
        if node.hash.is_none() {
            [Some(&mut node.content), node.raw.as_mut()].into_iter().flatten().for_each(replace_nul);
        }
        self.inherit_role(&mut node, edited.as_ref())?;
        let hash = hash_of(&node, parent.map(|p| p.hash), || None)?;
        let person = node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation;
        let (session, in_order) = self.turn_of(&node, person)?;
        let local = self.local_id(&node, tree)?;
        let seq = self.next()?;
        let place = PgNodeAnchor {
            id: node.id,
            tree,
            seq,
            parent: parent.map(|p| p.seq),
            depth: parent.map_or(0, |p| p.depth + 1),
            kind: node.kind,
            hash,
            version_of: version.map(|v| v.seq),
            edited_from: edited.map(|e| e.seq),
        };
        let added = self.count_new(&place, parent.as_ref())?;
        self.state.add_place(place);
        self.state.appended += 1;
        self.state.bytes += node.content.len();
        let turn = session.map(|s| s.1.unsigned_abs());
        self.receipt.nodes.push(AppendedNode { id: node.id, local: local.clone(), seq: seq.unsigned_abs(), turn });
        let heard = node.clone();
        self.state.pending_rows.add_node(PgNewRow { node, place, local: local.as_str().to_owned(), session }, &added);
        if let Some((session, turn)) = session {
            let order = TurnOrder::new(in_order, added.nodes > 0);
            self.follow(&heard, &place, (session, turn), order, person)?;
        }
        Ok(PgAppliedMutation::new(tree, Some(seq), None))
    }

    /// Moves the session of a new node and applies its turn to the session's state.
    fn follow(
        &mut self,
        node: &NewNode,
        place: &PgNodeAnchor,
        (session, turn): (Uuid, i64),
        order: TurnOrder,
        person: bool,
    ) -> Result<()> {
        let spoken = person && order != TurnOrder::OutOfOrder;
        if person && !spoken {
            self.state.stale.insert(session);
        }
        self.advance(session, place, [node.advance, spoken])?;
        let heard = TurnRecord::of(node, turn.unsigned_abs());
        self.ingest(&heard, place, session, order)
    }

    /// Sets the role of a node from an export that predates roles: an edit inherits the role of the edited node.
    fn inherit_role(&mut self, node: &mut NewNode, edited: Option<&PgNodeAnchor>) -> Result<()> {
        if let Some(from) = edited
            && node.role.is_none()
            && node.hash.is_some_and(|hash| hash.version() == 1)
        {
            self.flush()?;
            let sql = "SELECT coalesce(role, author_type) FROM nodes WHERE tree = $1 AND seq = $2";
            let role = coded(&self.conn.query_one(sql, &[&from.tree, &from.seq])?, 0, AuthorType::from_code)?;
            node.role = Some(role).filter(|role| *role != node.author_type);
        }
        Ok(())
    }

    /// The session and the turn of a new node, and whether the turn follows all others.
    fn turn_of(&mut self, node: &NewNode, person: bool) -> Result<(Option<(Uuid, i64)>, bool)> {
        let figures = TurnFigures::of(node, person);
        match (node.turn, self.session) {
            (Some((id, turn)), _) => {
                let session = Uuid::from(id);
                let before = self.count_turn(session, turn, figures)?;
                Ok((Some((session, signed(turn))), turn > before))
            }
            (None, Some(session)) => Ok((Some((session, signed(self.next_turn(session, figures)?))), true)),
            (None, None) => Ok((None, true)),
        }
    }

    /// The tree and the parent of a new node.
    fn parent_of(&mut self, node: &NewNode) -> Result<(Uuid, Option<PgNodeAnchor>)> {
        let (tree, parent) = match node.parent {
            Parent::Root(id) => {
                let tree = self.tree(id)?;
                let sql = "SELECT 1 FROM nodes WHERE tree = $1 AND parent IS NULL LIMIT 1";
                let queued =
                    self.state.pending_rows.nodes.iter().any(|r| r.place.tree == tree && r.place.parent.is_none());
                if queued || self.conn.query_opt(sql, &[&tree])?.is_some() {
                    return Err(StoreError::Conflict("the tree has a root already".to_owned()));
                }
                (tree, None)
            }
            Parent::Node(id) => self.node(id).map(|p| (p.tree, Some(p)))?,
            Parent::Position(id) => {
                // The tree is locked before the session, as in a group.
                let tree = match self.state.sessions.get(&Uuid::from(id)) {
                    Some(known) => known.tree,
                    None => Some(self.session_tree(Uuid::from(id))?),
                };
                self.state.lock(self.conn, &tree.into_iter().collect::<Vec<_>>())?;
                let session = self.session_row(Uuid::from(id))?;
                if !session.active {
                    return Err(StoreError::SessionEnded);
                }
                let (Some(tree), Some(position)) = (session.tree, session.position) else {
                    return Err(StoreError::Conflict("the session has no position yet".to_owned()));
                };
                self.state.lock(self.conn, &[tree])?;
                (tree, Some(visibility::nearest_visible(self, tree, position)?))
            }
        };
        match (parent, node.kind) {
            // Continuations of any version have the original as their parent.
            (Some(p), EdgeKind::Continuation) => Ok((tree, Some(self.original_of(p)?))),
            (None, kind) if kind != EdgeKind::Continuation => {
                Err(StoreError::Refused("a root is a continuation".to_owned()))
            }
            _ => Ok((tree, parent)),
        }
    }

    /// Counts a new node at its parent, and returns its contribution to the tree's counts.
    fn count_new(&mut self, node: &PgNodeAnchor, parent: Option<&PgNodeAnchor>) -> Result<PgTreeCountDelta> {
        let messages = i64::from(node.kind == EdgeKind::Continuation);
        let mut added = PgTreeCountDelta { nodes: 1, messages, depth: node.depth, ..PgTreeCountDelta::default() };
        let Some(parent) = parent else {
            added.leaves = 1;
            return Ok(added);
        };
        let (state, hidden) = match node.kind {
            EdgeKind::Version => {
                if let Some(original) = node.version_of {
                    self.count_child(node.tree, original, node.kind)?;
                }
                let place = node.version_of.or(node.edited_from);
                let hidden = visibility::inherited_hidden_by(self, node.tree, Some(parent.seq), place)?;
                (PgNodeState::default(), hidden)
            }
            kind => {
                let state = self.count_child(parent.tree, parent.seq, kind)?;
                (state, state.hidden_by)
            }
        };
        if let Some(by) = hidden {
            let sql = "INSERT INTO node_state (tree, node, hidden_by) VALUES ($1, $2, $3)";
            self.conn.execute(sql, &[&node.tree, &node.seq, &by])?;
            let state = PgNodeState { hidden_by: Some(by), is_stored: true, ..PgNodeState::default() };
            self.state.states.insert((node.tree, node.seq), state);
            return Ok(PgTreeCountDelta::default());
        }
        self.state.states.insert((node.tree, node.seq), PgNodeState::default());
        if node.kind == EdgeKind::Continuation {
            let parent_was_leaf = state.continuations == 0 && parent.kind == EdgeKind::Continuation;
            added.leaves = i64::from(!parent_was_leaf);
            added.branch_points = i64::from(state.continuations == 1);
        }
        Ok(added)
    }

    pub(super) fn apply_node(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at.as_millis();
        Ok(match mutation {
            Mutation::Append(node) => (ChangeKind::Append, Some(self.append(node)?)),
            Mutation::Prune { node } => (ChangeKind::Prune, Some(visibility::prune(self, *node)?)),
            Mutation::Restore { node } => (ChangeKind::Restore, Some(visibility::restore(self, *node)?)),
            Mutation::SetExcluded { node, excluded } => {
                let row = self.node(*node)?;
                if *excluded {
                    visibility::ensure_state(self.conn, row.tree, row.seq)?;
                }
                let sql = "UPDATE node_state SET excluded = $3 WHERE tree = $1 AND node = $2 AND excluded <> $3";
                let changed = self.conn.execute(sql, &[&row.tree, &row.seq, excluded])?;
                let undo = Mutation::SetExcluded { node: *node, excluded: !excluded };
                let applied = PgAppliedMutation::new(row.tree, Some(row.seq), Some(undo));
                (ChangeKind::SetExcluded, (changed > 0).then_some(applied))
            }
            Mutation::SetBookmark { node, label } => {
                let row = self.node(*node)?;
                let key = (&row.tree, &row.seq);
                let sql = "SELECT label FROM bookmarks WHERE tree = $1 AND node = $2";
                let before: Option<String> =
                    self.conn.query_opt(sql, &[key.0, key.1])?.map(|row| get(&row, 0)).transpose()?;
                match label {
                    Some(label) => self.conn.execute(
                        "INSERT INTO bookmarks (tree, node, label, created_at) VALUES ($1, $2, $3, $4)
                         ON CONFLICT (tree, node) DO UPDATE SET label = excluded.label",
                        &[key.0, key.1, label, &at],
                    )?,
                    None => {
                        let sql = "DELETE FROM bookmarks WHERE tree = $1 AND node = $2";
                        self.conn.execute(sql, &[key.0, key.1])?
                    }
                };
                visibility::ensure_state(self.conn, row.tree, row.seq)?;
                let sql = "UPDATE node_state SET bookmarked = $3 WHERE tree = $1 AND node = $2";
                self.conn.execute(sql, &[key.0, key.1, &label.is_some()])?;
                let changed = before != *label;
                let undo = Mutation::SetBookmark { node: *node, label: before };
                let applied = PgAppliedMutation::new(row.tree, Some(row.seq), Some(undo));
                (ChangeKind::SetBookmark, changed.then_some(applied))
            }
            Mutation::CopyBranch { from, to, id } => {
                (ChangeKind::CopyBranch, Some(super::copy_branch::copy_branch(self, *from, *to, *id)?))
            }
            Mutation::AppendDelegationEvent { node, number, event } => {
                let head = self.node(*node)?;
                let sql = "SELECT coalesce(max(number), 0) FROM delegation_events WHERE tree = $1 AND delegation = $2";
                let last = int(&self.conn.query_one(sql, &[&head.tree, &head.seq])?, 0)?;
                if last + 1 != i64::from(*number) {
                    return Err(StoreError::Conflict("another process runs this delegation".to_owned()));
                }
                self.conn.execute(
                    "INSERT INTO delegation_events (tree, delegation, number, at, event) VALUES ($1, $2, $3, $4, $5)",
                    &[&head.tree, &head.seq, &i64::from(*number), &at, &event.as_str()],
                )?;
                let applied = PgAppliedMutation::new(head.tree, Some(head.seq), None);
                (ChangeKind::AppendDelegationEvent, Some(applied))
            }
            _ => return Err(unsupported()),
        })
    }
}
