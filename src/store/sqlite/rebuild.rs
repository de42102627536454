//! Recomputation of all derived data in one transaction.

use rusqlite::{Connection, TransactionBehavior, params};

use super::{fts_index, local_ids, recount, session_state, tables::trees, vectors};
use crate::{
    session_state::CompiledRules,
    store::{RebuildReport, Result},
};

pub(super) fn rebuild(conn: &mut Connection, rules: &CompiledRules) -> Result<RebuildReport> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    local_ids::rebuild(&tx)?;
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
    let indexed = fts_index::rebuild(&tx)?;
    // Vectors cost a model's time; they are computed again on demand.
    vectors::clear(&tx)?;
    let registers = session_state::rebuild(&tx, rules)?;
    tx.commit()?;
    Ok(RebuildReport { nodes: nodes.len() as u64, trees: wrong.len() as u64, indexed, registers })
}
