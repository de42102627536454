//! Copying of branches: new nodes with the same text, authors and times under another parent.

use std::collections::HashMap;

use rusqlite::params;

use super::{
    apply::{AppliedMutation, ChangeApplier},
    decode::{self, FROM, NODE, NodeRow},
    tables::nodes,
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError},
    types::{Json, NewNode, Parent},
};

/// Copies `from` and its visible descendants (annotations, sources and versions included) under `to`. The metadata of
/// each copy names its original.
pub(super) fn copy_branch(
    apply: &mut ChangeApplier<'_>,
    from: NodeId,
    to: NodeId,
    id: NodeId,
) -> Result<AppliedMutation> {
    let source = apply.node(from)?;
    let target = apply.node(to)?;
    let mark = nodes::hidden_by(apply.conn, source.row)?;
    // CROSS JOIN fixes the order of the loops; SQLite's own plan reads the whole tree for every node.
    let mut branch = apply.conn.prepare_cached(
        "WITH RECURSIVE branch (node, depth) AS (
             SELECT ?1, ?2
             UNION ALL
             SELECT n.seq, n.depth FROM branch b CROSS JOIN nodes n ON n.tree = ?3 AND n.depth = b.depth + 1 AND n.parent = b.node
                 LEFT JOIN node_state s ON s.node = n.seq WHERE s.hidden_by IS ?4
         )
         SELECT node FROM branch ORDER BY node",
    )?;
    // Reads all row numbers first: a copy inside its own branch must not copy the nodes that it adds.
    let branch: Vec<i64> = branch
        .query_map(params![source.row, source.depth, source.tree, mark], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut copies: HashMap<i64, NodeId> = HashMap::with_capacity(branch.len());
    let names = decode::NameCache::new(apply.conn);
    let mut first = None;
    for row in branch {
        let read = apply
            .conn
            .prepare_cached(&format!("SELECT {NODE} {FROM} WHERE n.seq = ?1"))?
            .query_row([row], NodeRow::read)?;
        let (parent_row, version_row, edited_row) = (read.parent, read.version_of, read.edited_from);
        let node = names.finish(vec![read])?.pop().ok_or_else(|| StoreError::not_found("node", row))?;
        let copy = if row == source.row { id } else { NodeId::new(apply.ids.ulid(apply.change.at)) };
        let parent = parent_row.and_then(|p| copies.get(&p)).copied().filter(|_| row != source.row).unwrap_or(to);
        let kind = if row == source.row { crate::types::EdgeKind::Continuation } else { node.kind };
        let mut new =
            NewNode::new(copy, Parent::Node(parent), (node.author, node.author_type), node.created_at, node.content);
        new.kind = kind;
        new.role = node.role;
        new.raw = node.raw;
        new.tool = node.tool;
        new.tokens = node.tokens;
        new.interrupted = node.interrupted;
        new.edited_from = edited_row.and_then(|e| copies.get(&e)).copied();
        new.version_of = version_row.and_then(|v| copies.get(&v)).copied();
        new.metadata = Some(origin(node.metadata.as_ref(), node.id)?);
        let trace = apply.append_unjournaled(new)?;
        copies.insert(row, copy);
        first = first.or(Some(trace));
    }
    apply.receipt.affected += copies.len() as u64;
    let root = first.ok_or_else(|| StoreError::not_found("node", from))?;
    Ok(AppliedMutation::new(Some(target.tree), Some(root), Some(Mutation::Prune { node: id })))
}

/// Adds `copied_from` to the metadata.
fn origin(metadata: Option<&Json>, from: NodeId) -> Result<Json> {
    let undecodable = |e: serde_json::Error| StoreError::Undecodable(format!("metadata of node {from}: {e}"));
    let mut map = match metadata.map(Json::value).transpose().map_err(undecodable)? {
        Some(serde_json::Value::Object(map)) => map,
        Some(other) => serde_json::Map::from_iter([("metadata".to_owned(), other)]),
        None => serde_json::Map::new(),
    };
    map.insert("copied_from".to_owned(), from.to_string().into());
    Ok(serde_json::Value::Object(map).into())
}
