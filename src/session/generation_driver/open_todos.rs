//! Todos that are open when a turn ends: a note at the turn's last node, and an event.

use super::{GenerationDriver, NodeId, OpsError, Progress};
use crate::{
    exec::todo_name,
    ops::{Actor, NodeDraft},
    store::Mutation,
    types::{AuthorType, EdgeKind, Op, Parent, Todo},
};

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Returns the open todos of the turn. A read error is logged and yields none.
    pub(super) fn open_todos(&self) -> Vec<Todo> {
        let Some(scope) = self.scope else { return Vec::new() };
        let read = self.actor.loom().todos(scope);
        let mut todos =
            read.inspect_err(|error| tracing::warn!(%error, "the open todos could not be read")).unwrap_or_default();
        todos.retain(|todo| todo.status.is_open());
        todos
    }

    /// Notes the open todos at the turn's last node and reports them.
    pub(super) async fn report_open_todos(&mut self, index: usize) {
        let (todos, last) = (self.open_todos(), self.saved.last());
        let (Some(last), false) = (last, todos.is_empty()) else { return };
        if let Err(error) = append_open_todos_note(&self.actor, last.id, &todos).await {
            tracing::warn!(%error, "the open todos could not be noted");
        }
        (self.on_progress)(Progress::TodosLeftOpen { index, todos });
    }
}

/// Appends a note with the open todos of a turn to its last node.
async fn append_open_todos_note(actor: &Actor, at: NodeId, todos: &[Todo]) -> Result<(), OpsError> {
    let names: Vec<String> = todos.iter().map(todo_name).collect();
    let draft = NodeDraft {
        kind: Some(EdgeKind::Annotation),
        author_type: Some(AuthorType::System),
        ..NodeDraft::text(format!("The turn ended with open todos: {}", names.join(" · ")))
    };
    actor.submit(Op::Turn, vec![Mutation::Append(Box::new(actor.draft(Parent::Node(at), draft)))]).await?;
    Ok(())
}
