//! Statistics by which PostgreSQL plans: made as tables grow, without a wait for autovacuum.

use std::ops::Range;

use super::connection::PostgresConnection;

/// Updates the statistics of tables that no one else has locked. Without statistics PostgreSQL may choose an index by the tree
/// alone, and autovacuum makes them only once a minute. It needs the rights of the owner, without which it changes nothing.
pub(super) fn analyze(conn: &PostgresConnection) {
    let sql = "ANALYZE (SKIP_LOCKED) nodes, node_state, tree_state, sessions, journal, provenance, passages, words";
    if let Err(error) = conn.batch(sql) {
        tracing::debug!(%error, "statistics of the tables");
    }
}

/// True if the number of indexed nodes passed a power of four, up to 262,144. Autovacuum does the rest.
pub(super) fn is_new_size(nodes: &Range<u64>) -> bool {
    nodes.start < 1 << 18 && nodes.start.checked_ilog(4) != nodes.end.checked_ilog(4)
}
