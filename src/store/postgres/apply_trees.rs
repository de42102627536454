//! Application of mutations of trees.

use super::{
    apply::{Applied, HOUR, PgAppliedMutation, PgChangeApplier, unsupported},
    decode::get,
    uuid::Uuid,
};
use crate::{
    store::{ChangeKind, Mutation, Result},
    types::{NewTree, TreePatch},
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_tree(&mut self, mutation: &Mutation) -> Result<Applied> {
        Ok(match mutation {
            Mutation::CreateTree(tree) => {
                let key = self.create_tree(tree)?;
                let undo = Mutation::SetArchived { tree: tree.id, archived: true };
                (ChangeKind::CreateTree, Some(PgAppliedMutation::new(key, None, Some(undo))))
            }
            Mutation::UpdateTree { tree, patch } => {
                let key = self.tree(*tree)?;
                let before = self.update_tree(key, patch)?;
                let changed = before != *patch;
                let undo = Mutation::UpdateTree { tree: *tree, patch: before };
                (ChangeKind::UpdateTree, changed.then(|| PgAppliedMutation::new(key, None, Some(undo))))
            }
            Mutation::SetArchived { tree, archived } => {
                let key = self.tree(*tree)?;
                let sql = "UPDATE trees SET archived_at = CASE WHEN $2 THEN $3::bigint END
                           WHERE id = $1 AND (archived_at IS NOT NULL) <> $2";
                let changed = self.conn.execute(sql, &[&key, archived, &self.change.at.as_millis()])? > 0;
                let undo = Mutation::SetArchived { tree: *tree, archived: !archived };
                (ChangeKind::SetArchived, changed.then(|| PgAppliedMutation::new(key, None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }

    fn create_tree(&mut self, tree: &NewTree) -> Result<Uuid> {
        let (key, seq, at) = (Uuid::from(tree.id), self.next()?, tree.created_at.as_millis());
        self.conn.execute(
            "INSERT INTO trees (id, seq, title, description, mode, system_context, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[&key, &seq, &tree.title, &tree.description, &tree.mode.code(), &tree.system_context, &at],
        )?;
        let sql =
            format!("INSERT INTO tree_state (tree, updated_at, updated_hour) VALUES ($1, $2, $2::bigint / {HOUR})");
        self.conn.execute(&sql, &[&key, &at])?;
        self.state.locked.insert(key);
        Ok(key)
    }

    /// Updates a tree's text columns; returns the inverse patch.
    fn update_tree(&self, key: Uuid, patch: &TreePatch) -> Result<TreePatch> {
        let sql = "SELECT title, description, system_context FROM trees WHERE id = $1";
        let row = self.conn.query_one(sql, &[&key])?;
        let (title, description, system_context): (Option<String>, Option<String>, Option<String>) =
            (get(&row, 0)?, get(&row, 1)?, get(&row, 2)?);
        let before = TreePatch {
            title: patch.title.as_ref().map(|_| title.clone()),
            description: patch.description.as_ref().map(|_| description.clone()),
            system_context: patch.system_context.as_ref().map(|_| system_context.clone()),
        };
        self.conn.execute(
            "UPDATE trees SET title = $2, description = $3, system_context = $4 WHERE id = $1",
            &[
                &key,
                &patch.title.clone().unwrap_or(title),
                &patch.description.clone().unwrap_or(description),
                &patch.system_context.clone().unwrap_or(system_context),
            ],
        )?;
        Ok(before)
    }
}
