//! Saves and versions of a buffer tree's text.

use super::{Result, WriteThread, undoable};
use crate::{
    id::NodeId,
    ops::{OpsError, require_parent},
    tui::{buffer_editor::BufferEdit, message::WriteResult, queries::current_version},
    types::EdgeKind,
};

impl WriteThread {
    /// Saves an edited path: each changed node as a version, appended text as a new node.
    pub(super) fn save_buffer(&mut self, at: NodeId, edit: &BufferEdit) -> Result<WriteResult> {
        require_parent(&self.setup.loom.node(at)?, EdgeKind::Continuation)?;
        let actor = self.actor_at(at)?;
        self.report_other_versions(edit)?;
        actor.edit_path(at, &edit.edits, edit.appended.as_deref())?;
        let position =
            self.session.map(|session| self.setup.loom.session(session)).transpose()?.and_then(|s| s.position);
        let count = edit.edits.len() + usize::from(edit.appended.is_some());
        let what = if count == 1 { "saved".to_owned() } else { format!("saved, {count} nodes") };
        Ok(WriteResult { position, versions: self.versions()?, ..undoable(&what) })
    }

    /// Checks that the edited nodes are current versions: a version of another window would no longer be shown.
    ///
    /// # Errors
    /// If a node has another current version that was not reported before.
    fn report_other_versions(&mut self, edit: &BufferEdit) -> Result<()> {
        let versions = self.versions()?.unwrap_or_default();
        let snapshot = self.setup.loom.snapshot()?;
        for (id, _) in &edit.edits {
            let node = snapshot.node(*id)?.ok_or_else(|| OpsError::missing("node", *id))?;
            let current = current_version(&*snapshot, &node, &versions)?;
            if current.id != node.id && self.reported_versions.insert(current.id) {
                return Err(OpsError::Invalid(format!(
                    "not saved: [{}] is a newer version of [{}], saved by another window; ctrl-s again saves your text as \
                     one more version",
                    current.local, node.local
                )));
            }
        }
        Ok(())
    }

    pub(super) fn cycle_version(&mut self, at: NodeId, node: NodeId, forward: bool) -> Result<WriteResult> {
        let versions = self.setup.loom.snapshot()?.versions(node)?;
        let index = versions.iter().position(|version| version.id == node).unwrap_or(0);
        let next = if forward { versions.get(index + 1) } else { index.checked_sub(1).and_then(|at| versions.get(at)) };
        let Some(next) = next else {
            return Ok(WriteResult {
                message: "no other version in this direction".to_owned(),
                ..WriteResult::default()
            });
        };
        let actor = self.actor_at(at)?;
        if let Some(session) = actor.session() {
            actor.choose_version(session, next.id)?;
        }
        let position = if at == node { next.id } else { at };
        let message = format!("version {} of {}", if forward { index + 2 } else { index }, versions.len());
        Ok(WriteResult { message, position: Some(position), versions: self.versions()?, ..WriteResult::default() })
    }
}
