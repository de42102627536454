//! Rebuilding everything that is derived, in one transaction.

use rusqlite::{Connection, TransactionBehavior, params};

use super::{
    index, recount, register,
    tables::{nodes, trees},
};
use crate::{
    model::Ears,
    store::{Rebuilt, Result},
};

pub(super) fn rebuild(conn: &mut Connection, ears: &Ears) -> Result<Rebuilt> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    nodes::rebuild_local_ids(&tx)?;
    let nodes = recount::wrong_nodes(&tx)?;
    for node in &nodes {
        let [c, a, v, l, b] = node.counted;
        tx.prepare_cached(
            "INSERT INTO node_state (node, continuations, annotations, versions, links, bookmarked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (node) DO UPDATE SET continuations = ?2, annotations = ?3,
                 versions = ?4, links = ?5, bookmarked = ?6",
        )?
        .execute(params![node.row, c, a, v, l, b])?;
    }
    let wrong = recount::wrong_trees(&tx)?;
    for tree in &wrong {
        trees::set_counts(&tx, tree.row, tree.counted)?;
    }
    let indexed = index::rebuild(&tx)?;
    // They cost a model's time, and are made when they are wanted.
    tx.execute("DELETE FROM vectors", [])?;
    let registers = register::rebuild(&tx, ears)?;
    tx.commit()?;
    Ok(Rebuilt { nodes: nodes.len() as u64, trees: wrong.len() as u64, indexed, registers })
}
