//! Undo and redo of an agent's own operations in a tree, the newest first. Operations on documents and agents belong to
//! every tree. A new operation clears the redo history.

use super::{Actor, OpDescription, OpsError, Result, describe_entry};
use crate::{
    id::{AgentId, TreeId},
    store::{Direction, Mutation, Receipt, UndoTarget},
    types::{AgentKind, Op},
};

/// Result of an undo or redo.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoResult {
    /// Undone or redone operation.
    pub target: UndoTarget,
    /// Description of that operation.
    pub description: OpDescription,
    /// Receipt of the commit.
    pub receipt: Receipt,
}

impl Actor {
    /// Undoes the agent's newest operation in this tree. Operations on documents and agents belong to every tree, and to
    /// `None`. The earlier text of a document and the earlier profile of an agent replace later changes of others, too.
    ///
    /// # Errors
    /// [`OpsError::NothingToRevert`] if there is none; or if a later change conflicts with it, or the store fails.
    pub fn undo(&self, tree: Option<TreeId>) -> Result<UndoResult> {
        self.revert(self.agent, tree, Direction::Undo)
    }

    /// Undoes another agent's newest operation in this tree.
    ///
    /// # Errors
    /// If the agent is not human and `agent` is another agent, or as [`Actor::undo`].
    pub fn undo_of(&self, agent: AgentId, tree: Option<TreeId>) -> Result<UndoResult> {
        let agents = self.loom.snapshot()?.agents()?;
        let person = agents.iter().any(|known| known.id() == self.agent && known.profile.kind == AgentKind::Human);
        if agent != self.agent && !person {
            return Err(OpsError::Invalid("only a human can undo another agent's operations".to_owned()));
        }
        self.revert(agent, tree, Direction::Undo)
    }

    /// Redoes the operation that the agent's newest undo reverted.
    ///
    /// # Errors
    /// [`OpsError::NothingToRevert`] if there is none; or if a later change conflicts with it, or the store fails.
    pub fn redo(&self, tree: Option<TreeId>) -> Result<UndoResult> {
        self.revert(self.agent, tree, Direction::Redo)
    }

    fn revert(&self, agent: AgentId, tree: Option<TreeId>, direction: Direction) -> Result<UndoResult> {
        let op = match direction {
            Direction::Undo => Op::Undo,
            Direction::Redo => Op::Redo,
        };
        let snapshot = self.loom.snapshot()?;
        let target = snapshot.undo_target(tree, self.undo_reach, agent, direction)?;
        let target = target.ok_or(OpsError::NothingToRevert(direction))?;
        let description = describe_entry(&*snapshot, &target.entry)?;
        drop(snapshot);
        let receipt = self.commit(op, vec![Mutation::Undo { group: target.group }])?;
        Ok(UndoResult { target, description, receipt })
    }
}
