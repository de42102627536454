//! The shape of a tree: which node continues which, read from the index of children without reading a node.

use rusqlite::params;

use super::{
    snapshot::SqliteSnapshot,
    tables::{provenance, trees, visibility_marks::HIDDEN_BY},
    ulid_cache::UlidCache,
};
use crate::{
    id::{NodeId, TreeId},
    store::{MapNode, Result, ShapeReader, ShapeRow},
    types::{AuthorType, EdgeKind},
};

impl ShapeReader for SqliteSnapshot<'_> {
    fn shape(&self, tree: TreeId, each: &mut dyn FnMut(ShapeRow)) -> Result<()> {
        let tree = trees::row(&self.conn, tree)?;
        // Few nodes are hidden or staged, so two sorted lists cost less than a join of every node.
        let hidden: Vec<i64> = self
            .conn
            .prepare_cached(&format!("SELECT s.node FROM node_state s WHERE {HIDDEN_BY} IS NOT NULL ORDER BY s.node"))?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let staged: Vec<(i64, i64)> = self
            .conn
            .prepare_cached("SELECT first, last FROM staged_nodes ORDER BY first")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut statement = self.conn.prepare_cached(
            "SELECT n.seq, n.parent, n.depth FROM nodes n WHERE n.tree = ?1 AND +n.kind = ?2
             ORDER BY n.depth, n.parent, n.kind, n.seq",
        )?;
        let mut rows = statement.query(params![tree, EdgeKind::Continuation.code()])?;
        while let Some(row) = rows.next()? {
            let seq: i64 = row.get(0)?;
            let is_staged = || {
                let after = staged.partition_point(|(first, _)| *first <= seq);
                staged[..after].last().is_some_and(|(_, last)| *last >= seq)
            };
            if hidden.binary_search(&seq).is_ok() || (!staged.is_empty() && is_staged()) {
                continue;
            }
            each(ShapeRow { seq: row.get(0)?, parent: row.get(1)?, depth: row.get(2)? });
        }
        Ok(())
    }

    fn message_depth(&self, tree: TreeId) -> Result<u32> {
        let tree = trees::row(&self.conn, tree)?;
        trees::deepest(&self.conn, tree, Some(EdgeKind::Continuation))
    }

    fn map_nodes(&self, nodes: &[u64]) -> Result<Vec<Option<MapNode>>> {
        let names = UlidCache::new(&self.conn);
        let mut statement = self.conn.prepare_cached(
            "SELECT n.ulid, n.author, n.author_type, p.envelope
             FROM nodes n LEFT JOIN provenance p ON p.node = n.seq WHERE n.seq = ?1",
        )?;
        let mut found = Vec::with_capacity(nodes.len());
        for seq in nodes {
            let mut rows = statement.query([seq])?;
            let Some(row) = rows.next()? else {
                found.push(None);
                continue;
            };
            let packed = row.get_ref(3)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
            found.push(Some(MapNode {
                id: NodeId::from_bytes(row.get(0)?),
                author: names.agent(row.get(1)?)?,
                author_type: super::decode::coded(row, 2, AuthorType::from_code)?,
                envelope: packed
                    .map(|packed| provenance::text(i64::try_from(*seq).unwrap_or(i64::MAX), packed))
                    .transpose()?,
            }));
        }
        Ok(found)
    }
}
