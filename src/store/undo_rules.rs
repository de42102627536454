//! Rules of undo and redo on every backend, based on the journal's entries alone.
//!
//! Every entry holds its inverse mutation, which `apply*.rs` of each backend makes when it applies a mutation; that of a
//! moved session is [`move_back`], that of an append is made when it is undone. Undoing a group applies the inverses, the last first, which is journaled in
//! the same way; undoing an undo is a redo. The next group is found by one walk over the entries, newest first: an undo
//! deactivates its target, and a redo deactivates the undo that it targets.

use std::{collections::HashSet, ops::ControlFlow};

use super::{Change, ChangeKind, Direction, Mutation, Result, StoreError, UndoReach};
use crate::{
    id::{NodeId, SessionId},
    types::{Op, SessionPatch},
};

impl Op {
    /// True if `undo` can revert the operation.
    ///
    /// A purge is final. Navigation, planning and a model's own turn are no changes that a user expects `undo` to
    /// revert. An import is undone with the tree that it created.
    #[must_use]
    pub const fn can_be_undone(self) -> bool {
        !matches!(
            self,
            Self::Purge
                | Self::Session
                | Self::Undo
                | Self::Redo
                | Self::Memory
                | Self::Turn
                | Self::Todo
                | Self::Delegate
        )
    }
}

/// An entry of a group that is reverted. `N` identifies a node.
pub(super) struct RevertedEntry<N> {
    pub(super) op: Op,
    /// Code of its [`ChangeKind`].
    pub(super) change: i64,
    pub(super) node: Option<N>,
    /// The inverse as JSON.
    pub(super) undo: Option<String>,
}

impl<N: Copy> RevertedEntry<N> {
    /// The inverse; `None` if there is nothing to apply. `of_append` returns that of an appended node.
    pub(super) fn inverse(
        &self,
        group: u64,
        of_append: impl FnOnce(N) -> Result<Option<Mutation>>,
    ) -> Result<Option<Mutation>> {
        if is_ignored(self.op, self.change) {
            return Ok(None);
        }
        match (&self.undo, self.node) {
            (Some(text), _) => serde_json::from_str(text)
                .map(Some)
                .map_err(|e| StoreError::Undecodable(format!("undo of entry {group}: {e}"))),
            (None, Some(node)) if self.change == ChangeKind::Append.code() => of_append(node),
            (None, _) => Ok(None),
        }
    }
}

/// The inverse of an operation's move of a session. `None` if there is none, or if the operation is not one to undo.
/// `place` reads the position and the selected versions before the move.
pub(super) fn move_back(
    (op, session, patch): (Op, SessionId, &SessionPatch),
    place: impl FnOnce() -> Result<(Option<NodeId>, Vec<NodeId>)>,
) -> Result<Option<Mutation>> {
    let is_undone = op.can_be_undone() || is_reversal(op);
    if !is_undone || patch.position.is_none() && patch.versions.is_none() {
        return Ok(None);
    }
    let (position, versions) = place()?;
    let patch = SessionPatch {
        position: patch.position.and(position),
        versions: patch.versions.is_some().then_some(versions),
        ..SessionPatch::default()
    };
    Ok(Some(Mutation::UpdateSession { session, patch }))
}

/// Reverts a group by its entries, newest first. `apply` applies the inverse of one, and returns false if it has none.
pub(super) fn revert<N>(
    (change, group): (&Change, u64),
    entries: &[RevertedEntry<N>],
    mut apply: impl FnMut(&RevertedEntry<N>) -> Result<bool>,
) -> Result<()> {
    if !is_reversal(change.op) {
        return Err(StoreError::Refused("only an undo or redo can revert changes".to_owned()));
    }
    let first = entries.last().ok_or_else(|| StoreError::not_found("operation", group))?;
    let (mut applied, mut refused) = (false, true);
    // A session moves back if its position is hidden then.
    let is_move = |entry: &&RevertedEntry<N>| entry.change == ChangeKind::UpdateSession.code();
    let (moves, others): (Vec<_>, Vec<_>) =
        entries.iter().filter(|entry| entry.op.can_be_undone() || entry.op == Op::Undo).partition(is_move);
    for entry in others.into_iter().chain(moves) {
        refused = false;
        applied |= apply(entry)?;
    }
    match (applied, refused) {
        (true, _) => Ok(()),
        (false, true) => Err(StoreError::Refused(format!("a {} cannot be undone", first.op))),
        (false, false) => Err(StoreError::Conflict("nothing of this operation is left to revert".to_owned())),
    }
}

/// True for an operation whose entries name the group that they revert.
pub(super) fn is_reversal(op: Op) -> bool {
    matches!(op, Op::Undo | Op::Redo)
}

/// True if undoing the operation ignores this change: undoing an import only archives its trees.
fn is_ignored(op: Op, change: i64) -> bool {
    op == Op::Import && change != ChangeKind::CreateTree.code()
}

/// The entry that describes a group, if the group has an inverse: the first one that can be undone, or for an import
/// the one that created the tree. Takes the entries in order: number, operation, kind of change, and whether it has an
/// inverse.
pub(super) fn described_by(entries: impl IntoIterator<Item = Result<(i64, Op, i64, bool)>>) -> Result<Option<i64>> {
    let mut first = None;
    for entry in entries {
        let (seq, op, change, has_inverse) = entry?;
        if op.can_be_undone() && !is_ignored(op, change) {
            let first = *first.get_or_insert(seq);
            if has_inverse {
                return Ok(Some(first));
            }
        }
    }
    Ok(None)
}

/// An entry of the walk. `A` identifies an agent.
pub(super) struct WalkedEntry<A> {
    pub(super) group: i64,
    pub(super) agent: A,
    pub(super) op: Op,
    /// The group that an undo or redo reverts.
    pub(super) target: Option<i64>,
}

impl<A> WalkedEntry<A> {
    /// False for an operation that cannot be undone: a transaction may contain both kinds, and these do not decide.
    pub(super) fn counts(&self) -> bool {
        self.op.can_be_undone() || is_reversal(self.op)
    }
}

/// The walk from the newest entry of a tree, and of no tree, to the next group to undo or redo for an agent.
pub(super) struct UndoWalk<A> {
    agent: A,
    pub(super) reach: UndoReach,
    direction: Direction,
    /// Groups that a newer entry reverted.
    off: HashSet<i64>,
    seen: HashSet<i64>,
}

impl<A: PartialEq> UndoWalk<A> {
    pub(super) fn new(agent: A, reach: UndoReach, direction: Direction) -> Self {
        Self { agent, reach, direction, off: HashSet::new(), seen: HashSet::new() }
    }

    /// True if an operation is within the reach.
    pub(super) fn reaches(&self, op: Op) -> bool {
        op != Op::Agent || self.reach == UndoReach::Agents
    }

    /// Examines the next older entry. Breaks with the group and the first entry of the operation that it reverts or
    /// repeats; with `None` if there is nothing. `described_by` describes the entry's group.
    pub(super) fn step(
        &mut self,
        entry: &WalkedEntry<A>,
        described_by: impl FnOnce() -> Result<Option<i64>>,
    ) -> Result<ControlFlow<Option<(i64, i64)>>> {
        // A human may undo operations of other agents, so undo and redo entries of every agent count.
        let others = entry.agent != self.agent;
        if !entry.counts()
            || !self.reaches(entry.op)
            || !self.seen.insert(entry.group)
            || others && !is_reversal(entry.op)
        {
            return Ok(ControlFlow::Continue(()));
        }
        let active = !self.off.contains(&entry.group);
        match (entry.op, entry.target) {
            (Op::Undo, Some(target)) if active => {
                if self.direction == Direction::Redo && !others {
                    return Ok(ControlFlow::Break(Some((entry.group, target))));
                }
                self.off.insert(target);
            }
            (Op::Redo, Some(target)) if active => {
                self.off.insert(target);
            }
            // A purged operation has no inverse left.
            (op, _) if op.can_be_undone() && active => match described_by()? {
                Some(_) if self.direction == Direction::Redo => return Ok(ControlFlow::Break(None)),
                Some(first) => return Ok(ControlFlow::Break(Some((entry.group, first)))),
                None => {}
            },
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}
