//! Undo and redo: an agent's own operations in a tree, the newest first; those on documents and agents belong to
//! every tree. A new operation ends what could be redone.

use super::{Actor, OpDescription, OpsError, Result, describe_entry};
use crate::{
    id::{AgentId, TreeId},
    store::{Direction, Mutation, Receipt, UndoTarget},
    types::{AgentKind, Op},
};

/// What an undo or redo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    /// Which operation it took back, or did again.
    pub target: UndoTarget,
    /// What that was, in words.
    pub told: OpDescription,
    /// What the commit did.
    pub receipt: Receipt,
}

impl Actor {
    /// Takes the agent's newest operation in this tree back.
    ///
    /// # Errors
    /// If there is none, something else stands in its way, or the store fails.
    pub fn undo(&self, tree: Option<TreeId>) -> Result<UndoResult> {
        self.go(self.agent, tree, Direction::Undo)
    }

    /// Takes another agent's newest operation in this tree back.
    ///
    /// # Errors
    /// If this agent is no person and the other one is not itself; or as [`Actor::undo`].
    pub fn undo_of(&self, agent: AgentId, tree: Option<TreeId>) -> Result<UndoResult> {
        let agents = self.loom.snapshot()?.agents()?;
        let person = agents.iter().any(|known| known.id() == self.agent && known.profile.kind == AgentKind::Human);
        if agent != self.agent && !person {
            return Err(OpsError::Invalid("only a person takes back what another agent did".to_owned()));
        }
        self.go(agent, tree, Direction::Undo)
    }

    /// Does again what the agent's newest undo took back.
    ///
    /// # Errors
    /// If there is none, something else stands in its way, or the store fails.
    pub fn redo(&self, tree: Option<TreeId>) -> Result<UndoResult> {
        self.go(self.agent, tree, Direction::Redo)
    }

    fn go(&self, agent: AgentId, tree: Option<TreeId>, direction: Direction) -> Result<UndoResult> {
        let (op, word) = match direction {
            Direction::Undo => (Op::Undo, "undo"),
            Direction::Redo => (Op::Redo, "redo"),
        };
        let snapshot = self.loom.snapshot()?;
        let target = snapshot
            .undo_target(tree, agent, direction)?
            .ok_or_else(|| OpsError::Invalid(format!("there is nothing to {word}")))?;
        let told = describe_entry(&*snapshot, &target.entry)?;
        drop(snapshot);
        let receipt = self.commit(op, vec![Mutation::Undo { group: target.group }])?;
        Ok(UndoResult { target, told, receipt })
    }
}
