//! The shape of a tree, for maps.

use std::collections::HashMap;

use super::{
    decode::{coded, envelope_text, get, id, int, number, opt_int, small},
    row_cursor,
    snapshot::PostgresSnapshot,
};
use crate::{
    id::{AgentId, NodeId, TreeId},
    store::{MapNode, Result, ShapeReader, ShapeRow},
    types::AuthorType,
};

impl ShapeReader for PostgresSnapshot<'_> {
    fn shape(&self, tree: TreeId, each: &mut dyn FnMut(ShapeRow)) -> Result<()> {
        let sql =
            "SELECT n.seq, n.parent, n.depth FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
                   WHERE n.tree = $1 AND n.kind = 0 AND s.hidden_by IS NULL ORDER BY n.depth, n.parent, n.seq";
        row_cursor::each_page(self, "shape", (sql, &[&self.tree_key(tree)?]), |rows| {
            for row in rows {
                let parent = opt_int(row, 1)?.map(i64::unsigned_abs);
                each(ShapeRow { seq: number(row, 0)?, parent, depth: small(row, 2)? });
            }
            Ok(())
        })
    }

    fn message_depth(&self, tree: TreeId) -> Result<u32> {
        let sql = "SELECT n.depth FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
                   WHERE n.tree = $1 AND n.kind = 0 AND s.hidden_by IS NULL ORDER BY n.depth DESC LIMIT 1";
        self.query(sql, &[&self.tree_key(tree)?])?.first().map_or(Ok(0), |row| small(row, 0))
    }

    fn map_nodes(&self, nodes: &[u64]) -> Result<Vec<Option<MapNode>>> {
        let seqs: Vec<i64> = nodes.iter().map(|seq| i64::try_from(*seq).unwrap_or(i64::MAX)).collect();
        let mut found = HashMap::with_capacity(seqs.len());
        let sql = "SELECT n.seq, n.id, n.author, n.author_type, p.envelope
                   FROM nodes n LEFT JOIN provenance p ON p.tree = n.tree AND p.node = n.seq WHERE n.seq = ANY($1)";
        for row in self.query(sql, &[&seqs])? {
            let packed: Option<&[u8]> = get(&row, 4)?;
            let node = MapNode {
                id: id(&row, 1, NodeId::from_bytes)?,
                author: id(&row, 2, AgentId::from_bytes)?,
                author_type: coded(&row, 3, AuthorType::from_code)?,
                envelope: packed.map(envelope_text).transpose()?,
            };
            found.insert(int(&row, 0)?, node);
        }
        Ok(seqs.iter().map(|seq| found.get(seq).cloned()).collect())
    }
}
