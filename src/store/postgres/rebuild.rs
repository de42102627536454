//! Recomputation of all derived data: the counts of nodes and trees and the states of sessions, page by page of trees, then
//! the index.

use super::{
    connection::PostgresConnection,
    fts_index,
    pending_rows::CHANGE_ROWS_OF_TREES,
    recount::{PAGE_SETTINGS, WRONG_NODES, WRONG_TREES, each_tree_page},
    session_state,
    uuid::Uuid,
    vectors,
};
use crate::{
    session_state::CompiledRules,
    store::{RebuildReport, Result},
};

/// Runs a function in a transaction that counts pages.
fn in_transaction<T>(conn: &PostgresConnection, run: impl FnOnce() -> Result<T>) -> Result<T> {
    conn.batch(&format!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {PAGE_SETTINGS}"))?;
    let done = run();
    let ended = conn.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    done.and_then(|done| ended.map(|()| done))
}

/// Recomputes all derived data. The trees of a page are locked while it is recomputed.
pub(super) fn rebuild(conn: &PostgresConnection, rules: &CompiledRules) -> Result<RebuildReport> {
    let (mut nodes, mut trees, mut registers) = (0, 0, 0);
    each_tree_page(conn, |page| {
        let counted = in_transaction(conn, || recount(conn, page, rules))?;
        nodes += counted.0;
        trees += counted.1;
        registers += counted.2;
        Ok(())
    })?;
    // Vectors cost a model's time; they are computed again on demand.
    vectors::clear(conn)?;
    let indexed = fts_index::rebuild(conn)?;
    Ok(RebuildReport { nodes, trees, indexed, registers })
}

/// Corrects the counts of the nodes of trees; returns the number of wrong ones.
fn recount_nodes(conn: &PostgresConnection, trees: &[Uuid]) -> Result<u64> {
    conn.execute(
        &format!(
            "INSERT INTO node_state (tree, node, continuations, annotations, versions, links, bookmarked)
             SELECT tree, seq, c, a, v, l, b FROM ({WRONG_NODES}) w
             ON CONFLICT (tree, node) DO UPDATE SET continuations = excluded.continuations,
                 annotations = excluded.annotations, versions = excluded.versions, links = excluded.links,
                 bookmarked = excluded.bookmarked"
        ),
        &[&trees],
    )
}

/// Corrects the counts of trees, of their nodes, and the states of their sessions. Locks the trees first, as a writer does.
fn recount(conn: &PostgresConnection, trees: &[Uuid], rules: &CompiledRules) -> Result<(u64, u64, u64)> {
    conn.query("SELECT 1 FROM tree_state WHERE tree = ANY($1) ORDER BY tree FOR UPDATE", &[&trees])?;
    conn.execute(CHANGE_ROWS_OF_TREES, &[&trees])?;
    let nodes = recount_nodes(conn, trees)?;
    let wrong_trees = conn.execute(
        &format!(
            "UPDATE tree_state t SET nodes = w.nodes, messages = w.messages, leaves = w.leaves,
                 branch_points = w.branch_points, max_depth = w.max_depth FROM ({WRONG_TREES}) w
             WHERE t.tree = w.tree AND t.tree = ANY($1)"
        ),
        &[&trees],
    )?;
    conn.batch("SET LOCAL enable_nestloop = on")?;
    Ok((nodes, wrong_trees, session_state::rebuild_states(conn, trees, rules)?))
}
