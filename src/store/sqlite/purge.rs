//! Purging: permanent removal of content, as privacy law requires.
//!
//! The node stays as a tombstone with its position, author, time and hash, so that the rest of the tree still verifies.
//! Its text is removed: content, raw output, tool fields, metadata, envelope, bookmark label, notes of its links, its
//! summary and that of its tree, stashes of its tree, stored pages of all trees, its words in the index, and the inverses in
//! the journal. Action traces in its tree are removed too, because they contain recall queries, and the error messages of its
//! delegations. No count changes. Afterwards the whole file is rewritten ([`purge_rewrite::scrub`]).

use rusqlite::{Connection, params};

use super::{
    apply::{AppliedMutation, ChangeApplier},
    fts_index, purge_rewrite,
    tables::{delegations, journal, received_turns, sessions, system_prompts, todos},
    vectors,
};
use crate::store::{PurgeTarget, Result};

pub(super) fn purge(apply: &mut ChangeApplier<'_>, target: PurgeTarget) -> Result<AppliedMutation> {
    let (conn, at) = (apply.conn, apply.change.at.as_millis());
    let (which, key, trace) = match target {
        PurgeTarget::Node(id) => {
            let node = apply.node(id)?;
            ("seq = ?1", node.row, AppliedMutation::new(Some(node.tree), Some(node.row), None))
        }
        PurgeTarget::Session(id) => {
            let row = apply.session_row(id)?;
            purge_session(conn, row)?;
            let tree = sessions::tree(conn, row)?;
            apply.cache.stale_sessions.insert(row);
            (received_turns::IN_SESSION, row, AppliedMutation::new(Some(tree), None, None))
        }
        PurgeTarget::Tree(id) => {
            let row = apply.tree_row(id)?;
            apply.cache.stale_sessions.extend(purge_tree(conn, row)?);
            ("tree = ?1", row, AppliedMutation::new(Some(row), None, None))
        }
    };
    fts_index::remove(conn, which, key)?;
    // The index may be rebuilt.
    apply.cache.unindexed = None;
    purge_references(conn, which, key)?;
    let purged = conn.execute(
        &format!(
            "UPDATE nodes SET content = '', raw = NULL, metadata = NULL, tool_calls = NULL, tool_call_id = NULL,
                 tool_name = NULL, purged_at = ?2,
                 row_sum = row_sum(seq, ulid, tree, local_id, parent, depth, kind, author, author_type, created_at, hash,
                     session, turn, edited_from, version_of, tokens, interrupted, ?2, NULL, NULL, NULL, NULL, NULL, role)
             WHERE {which} AND purged_at IS NULL"
        ),
        params![key, at],
    )?;
    target.check_purged(purged as u64)?;
    let sql = format!("SELECT DISTINCT session FROM nodes WHERE {which} AND session IS NOT NULL");
    let mut statement = conn.prepare(&sql)?;
    let sessions = statement.query_map([key], |r| r.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    apply.cache.stale_sessions.extend(sessions);
    apply.cache.stale_sessions.extend(received_turns::receivers(conn, which, key)?);
    purge_rewrite::set_mark(conn)?;
    apply.receipt.affected += purged as u64;
    Ok(trace)
}

/// Removes the text of a session that is not in its nodes.
fn purge_session(conn: &Connection, row: i64) -> Result<()> {
    conn.execute("UPDATE sessions SET metadata = '{}' WHERE id = ?1", [row])?;
    conn.execute("DELETE FROM records WHERE session = ?1", [row])?;
    system_prompts::remove(conn, "session = ?1", row)?;
    todos::clear_text(conn, "session = ?1", row)?;
    // A stash does not name its session; the journal entry of the same time does.
    conn.execute(
        "DELETE FROM stashes WHERE kind IN (0, 1) AND EXISTS (
             SELECT 1 FROM journal j WHERE j.session = ?1 AND j.change = 23 AND j.agent = stashes.agent
                 AND j.tree = stashes.tree AND j.at = stashes.stashed_at)",
        [row],
    )?;
    Ok(())
}

/// Condition on rows with a session and a turn: they belong to the tree with row number `?1`. A session that was reset has
/// rows of several trees; the turn names the tree. Rows of turn 0 belong to each.
const ROWS_OF_TREE: &str = "(
    EXISTS (SELECT 1 FROM sessions s WHERE s.id = session AND s.tree = ?1 AND (s.since = 0 OR turn > s.since))
    OR (session, turn) IN (
        WITH turns (session, turn) AS (
            SELECT session, turn FROM nodes WHERE tree = ?1 AND session IS NOT NULL
            UNION ALL SELECT r.session, r.turn FROM received_turns r JOIN nodes n ON n.seq = r.node WHERE n.tree = ?1)
        SELECT session, turn FROM turns UNION SELECT session, 0 FROM turns))";

/// Removes the text of a tree that is not in its nodes; returns its sessions.
fn purge_tree(conn: &Connection, row: i64) -> Result<Vec<i64>> {
    conn.execute("UPDATE trees SET title = 'purged', description = NULL, system_context = NULL WHERE id = ?1", [row])?;
    conn.execute("UPDATE sessions SET metadata = '{}' WHERE tree = ?1", [row])?;
    conn.execute("DELETE FROM stashes WHERE tree = ?1", [row])?;
    conn.execute(&format!("DELETE FROM records WHERE {ROWS_OF_TREE}"), [row])?;
    todos::clear_text(conn, ROWS_OF_TREE, row)?;
    system_prompts::remove(conn, ROWS_OF_TREE, row)?;
    // The inverse of an update of the tree (change 9) contains its former title and description.
    journal::clear_undo(conn, "tree = ?1 AND change = 9", row)?;
    let mut sessions = conn.prepare("SELECT id FROM sessions WHERE tree = ?1")?;
    Ok(sessions.query_map([row], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Removes data in other tables that contains text of the nodes.
fn purge_references(conn: &Connection, which: &str, key: i64) -> Result<()> {
    vectors::remove(conn, which, key)?;
    let nodes = format!("SELECT seq FROM nodes WHERE {which}");
    for sql in [
        format!("DELETE FROM provenance WHERE node IN ({nodes})"),
        format!("UPDATE bookmarks SET label = 'purged' WHERE node IN ({nodes})"),
        format!("UPDATE links SET note = NULL WHERE source IN ({nodes}) OR target_node IN ({nodes})"),
        format!("DELETE FROM summaries WHERE node IN ({nodes})"),
        // A summary of the tree may contain text of the purged nodes.
        format!("DELETE FROM summaries WHERE tree IN (SELECT tree FROM nodes WHERE {which})"),
        // A stored page may contain results of a search in all trees.
        format!("DELETE FROM stashes WHERE kind = 3 OR kind = 2 AND tree IN (SELECT tree FROM nodes WHERE {which})"),
        format!("DELETE FROM actions WHERE tree IN (SELECT tree FROM nodes WHERE {which})"),
    ] {
        conn.execute(&sql, [key])?;
    }
    let trees = format!("SELECT tree FROM nodes WHERE {which}");
    // The inverse of a stash (changes 23 and 24) is its former content, which may contain text of the purged nodes.
    journal::clear_undo(conn, &format!("change IN (23, 24) AND tree IN ({trees})"), key)?;
    // The inverse of a bookmark (change 5) contains its former label; other entries of a node contain no text.
    journal::clear_undo(conn, &format!("change = 5 AND node IN ({nodes})"), key)?;
    delegations::clear_errors(conn, &trees, key)
}
