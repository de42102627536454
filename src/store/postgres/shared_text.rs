//! Nodes that share text: copies of branches, edits and parts, and their originals.

use std::collections::BTreeSet;

use super::{
    complete_nodes::{self, columns},
    decode::{FROM, NODE, NodeKey, get, id, int},
    snapshot::PostgresSnapshot,
    uuid::Uuid,
};
use crate::{
    id::{NodeId, TreeId},
    store::{PurgeTarget, Result},
    types::Node,
};

/// The nodes outside of `target` that are a source or a copy of a node inside, in insertion order. Excludes purged nodes.
/// Reads every node once.
pub(super) fn list(snapshot: &PostgresSnapshot<'_>, target: PurgeTarget) -> Result<Vec<Node>> {
    let (inside, key) = match target {
        PurgeTarget::Node(id) => ("i.id = $1", Uuid(id.to_bytes())),
        PurgeTarget::Session(id) => (
            "(i.session = $1 OR EXISTS (SELECT 1 FROM received_turns r WHERE r.tree = i.tree AND r.node = i.seq AND r.session = $1))",
            snapshot.session_key(id)?,
        ),
        PurgeTarget::Tree(id) => ("i.tree = $1", snapshot.tree_key(id)?),
    };
    let is_inside = |key_of: &str| format!("EXISTS (SELECT 1 FROM nodes i WHERE {key_of} AND {inside})");
    // Pairs of a node and the node that it was made from.
    let sql = format!(
        "WITH pairs (tree, made, from_tree, source) AS (
             SELECT tree, seq, tree, edited_from FROM nodes WHERE edited_from IS NOT NULL
             UNION SELECT tree, seq, tree, version_of FROM nodes WHERE version_of IS NOT NULL)
         SELECT tree, made, from_tree, source, {}, {} FROM pairs p",
        is_inside("i.tree = p.tree AND i.seq = p.made"),
        is_inside("i.tree = p.from_tree AND i.seq = p.source")
    );
    let mut found = BTreeSet::new();
    let mut add = |made: (TreeId, i64), from: (TreeId, i64), inside: (bool, bool)| match inside {
        (true, false) => _ = found.insert((from.1, from.0)),
        (false, true) => _ = found.insert((made.1, made.0)),
        _ => {}
    };
    for row in snapshot.query(&sql, &[&key])? {
        let tree = |at| id(&row, at, TreeId::from_bytes);
        add((tree(0)?, int(&row, 1)?), (tree(2)?, int(&row, 3)?), (get(&row, 4)?, get(&row, 5)?));
    }
    let copied = snapshot.query("SELECT id, metadata FROM nodes WHERE metadata LIKE '%\"copied_from\"%'", &[])?;
    let mut pairs: (Vec<Uuid>, Vec<Uuid>) = Default::default();
    for row in copied {
        let metadata: serde_json::Value = serde_json::from_str(get(&row, 1)?).unwrap_or_default();
        let from = metadata.get("copied_from").and_then(|id| id.as_str()).and_then(|id| id.parse::<NodeId>().ok());
        if let Some(from) = from {
            pairs.0.push(get(&row, 0)?);
            pairs.1.push(Uuid(from.to_bytes()));
        }
    }
    if !pairs.0.is_empty() {
        let sql = format!(
            "SELECT a.tree, a.seq, b.tree, b.seq, {}, {} FROM unnest($2::uuid[], $3::uuid[]) p (made, source)
                 JOIN nodes a ON a.id = p.made JOIN nodes b ON b.id = p.source",
            is_inside("i.tree = a.tree AND i.seq = a.seq"),
            is_inside("i.tree = b.tree AND i.seq = b.seq")
        );
        for row in snapshot.query(&sql, &[&key, &pairs.0, &pairs.1])? {
            let tree = |at| id(&row, at, TreeId::from_bytes);
            add((tree(0)?, int(&row, 1)?), (tree(2)?, int(&row, 3)?), (get(&row, 4)?, get(&row, 5)?));
        }
    }
    let keys: Vec<NodeKey> = found.into_iter().map(|(seq, tree)| NodeKey { tree, seq }).collect();
    let (trees, seqs) = columns(&keys);
    let sql = format!(
        "SELECT {NODE} {FROM} WHERE (n.tree, n.seq) IN (SELECT * FROM unnest($1::uuid[], $2::bigint[])) AND n.purged_at IS NULL
         ORDER BY n.seq"
    );
    complete_nodes::nodes(snapshot, &snapshot.query(&sql, &[&trees, &seqs])?)
}
