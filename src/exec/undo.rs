//! The commands `undo` and `redo`.

use super::{Answer, AnswerResult, Executor, Position};
use crate::{
    store::UndoReach,
    tools::{ErrorCode, MAX_UNDO_STEPS, ToolError},
    types::Permission,
};

impl Executor<'_> {
    /// Undoes the agent's last operations in this tree, or redoes them.
    pub(super) fn revert(&self, here: &Position, n: u32, redo: bool) -> AnswerResult {
        if n == 0 {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "n counts operations from 1"));
        }
        if n > MAX_UNDO_STEPS {
            let message = format!("one line takes at most {MAX_UNDO_STEPS} operations back");
            return Err(ToolError::new(ErrorCode::LimitExceeded, message));
        }
        // No command changes agents.
        let writes = self.agent.profile.permissions.has(Permission::DocWrite);
        let reach = if writes { UndoReach::Documents } else { UndoReach::Tree };
        let (actor, tree) = (self.actor().reverting(reach), Some(here.tree.id));
        let (mut operations, mut stopped) = (Vec::new(), None);
        for _ in 0..n {
            match if redo { actor.redo(tree) } else { actor.undo(tree) } {
                Ok(undone) => operations.push(undone),
                Err(error) if operations.is_empty() => return Err(error.into()),
                Err(error) => {
                    stopped = Some(error.to_string());
                    break;
                }
            }
        }
        Ok(Answer::Reverted { redo, operations, stopped })
    }
}
