//! The choice of the local ids of new nodes: the shortest that is free in the tree.

use super::{apply::PgChangeApplier, uuid::Uuid};
use crate::{
    id::LocalId,
    store::{
        Result,
        choose_local_id::{longer_local_id, wanted_local_id},
    },
    types::NewNode,
};

impl PgChangeApplier<'_> {
    /// The shortest local id that is free in the tree.
    pub(super) fn local_id(&mut self, node: &NewNode, tree: Uuid) -> Result<LocalId> {
        let mut local = wanted_local_id(node);
        loop {
            let key = (tree, local.as_str().to_owned());
            let sql = "SELECT id FROM nodes WHERE tree = $1 AND local_id = $2";
            // The group's reads compare only the wanted one.
            let is_compared = self.state.compared_ids.remove(&node.id);
            let taken = self.state.taken_ids.contains(&key)
                || !is_compared && self.conn.query_opt(sql, &[&tree, &key.1])?.is_some();
            if !taken {
                self.state.taken_ids.insert(key);
                return Ok(local);
            }
            local = longer_local_id(node, &local)?;
        }
    }
}
