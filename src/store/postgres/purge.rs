//! Purging: permanent removal of content. The node stays as a tombstone with its position, author, time and hash. What
//! contained its text elsewhere goes with it, as on SQLite. After the commit another thread runs `VACUUM`; archives of the
//! write-ahead log, replicas that lag behind and backups keep the text until they are replaced.

use super::{
    apply::{PgAppliedMutation, PgChangeApplier},
    connection::PostgresConnection,
    decode::{from_json, get, int},
    fts_index,
    server_url::PgServer,
    uuid::Uuid,
    vectors,
};
use crate::store::{PurgeTarget, Result, StoreError};

pub(super) fn purge(apply: &mut PgChangeApplier<'_>, target: PurgeTarget) -> Result<PgAppliedMutation> {
    let conn = apply.conn;
    let (which, key, applied) = match target {
        PurgeTarget::Node(id) => {
            let node = apply.node(id)?;
            ("id = $1", Uuid::from(id), PgAppliedMutation::new(node.tree, Some(node.seq), None))
        }
        PurgeTarget::Session(id) => {
            let key = Uuid::from(id);
            apply.exists("sessions", "session", key, id)?;
            let tree = apply.session_tree(key)?;
            apply.state.stale.insert(key);
            let which = "(session = $1 OR (tree, seq) IN (SELECT tree, node FROM received_turns WHERE session = $1))";
            (which, key, PgAppliedMutation::new(tree, None, None))
        }
        PurgeTarget::Tree(id) => {
            let key = apply.tree(id)?;
            ("tree = $1", key, PgAppliedMutation::new(key, None, None))
        }
    };
    let found = conn.query(&format!("SELECT tree, seq, id FROM nodes WHERE {which}"), &[&key])?;
    let trees = found.iter().map(|row| get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
    let seqs = found.iter().map(|row| int(row, 1)).collect::<Result<Vec<_>>>()?;
    let ids = found.iter().map(|row| get(row, 2)).collect::<Result<Vec<Uuid>>>()?;
    apply.state.lock(conn, &trees.iter().chain([&applied.tree]).copied().collect::<Vec<_>>())?;
    match target {
        PurgeTarget::Node(_) => {}
        PurgeTarget::Session(_) => purge_session(apply, key)?,
        PurgeTarget::Tree(_) => purge_tree(apply, key)?,
    }
    fts_index::remove(conn, &seqs)?;
    vectors::remove(conn, &seqs)?;
    purge_references(apply, &trees, &seqs, &ids)?;
    let purged = conn.execute(
        "UPDATE nodes n SET content = '', raw = NULL, metadata = NULL, tool_calls = NULL, tool_call_id = NULL,
             tool_name = NULL, purged_at = $3
         FROM unnest($1::uuid[], $2::bigint[]) p (tree, seq)
         WHERE n.tree = p.tree AND n.seq = p.seq AND n.purged_at IS NULL",
        &[&trees, &seqs, &apply.change.at.as_millis()],
    )?;
    target.check_purged(purged)?;
    let sql = "SELECT session FROM nodes WHERE id = ANY($1) AND session IS NOT NULL
               UNION SELECT session FROM received_turns WHERE node = ANY($2)";
    for row in conn.query(sql, &[&ids, &seqs])? {
        apply.state.stale.insert(get(&row, 0)?);
    }
    apply.receipt.affected += purged;
    Ok(applied)
}

/// Tables of which a purge changes rows.
const PURGED_TABLES: &str = "nodes, words, passages, search_state, vectors, provenance, bookmarks, links, journal, \
    summaries, stashes, actions, delegation_events, registers, sessions, trees, records, system_prompts, todos";

/// Removes dead rows after a purge, which still hold its text. For a thread that is in no runtime.
pub(super) fn vacuum(server: &PgServer) -> Result<()> {
    let conn = PostgresConnection::connect_alone(server);
    conn.and_then(|conn| conn.batch(&format!("VACUUM {PURGED_TABLES}"))).map_err(|error| {
        StoreError::Conflict(format!("the content is purged, but traces stay until a VACUUM succeeds: {error}"))
    })
}

/// Removes the text of a session that is not in its nodes.
fn purge_session(apply: &PgChangeApplier<'_>, key: Uuid) -> Result<()> {
    for sql in [
        "UPDATE sessions SET metadata = '{}' WHERE id = $1",
        "DELETE FROM records WHERE session = $1",
        "DELETE FROM system_prompts WHERE session = $1",
        "UPDATE todos SET title = '', context = '', criteria = '', agent_type = NULL,
             outcome = CASE WHEN status >= 2 THEN '' END WHERE session = $1",
        // A stash does not name its session; the journal entry of the same time does.
        "DELETE FROM stashes s WHERE kind IN (0, 1) AND EXISTS (
             SELECT 1 FROM journal j WHERE j.session = $1 AND j.change = 23 AND j.agent = s.agent AND j.tree = s.tree
                 AND j.at = s.stashed_at)",
    ] {
        apply.conn.execute(sql, &[&key])?;
    }
    Ok(())
}

/// Condition on rows with a session and a turn: they belong to the tree `$1`. A session that was reset has rows of several
/// trees; the turn names the tree. Rows of turn 0 belong to each.
const ROWS_OF_TREE: &str = "(
    EXISTS (SELECT 1 FROM sessions s WHERE s.id = session AND s.tree = $1 AND (s.since = 0 OR turn > s.since))
    OR (session, turn) IN (
        WITH turns (session, turn) AS (
            SELECT session, turn FROM nodes WHERE tree = $1 AND session IS NOT NULL
            UNION ALL SELECT session, turn FROM received_turns WHERE tree = $1)
        SELECT session, turn FROM turns UNION SELECT session, 0 FROM turns))";

/// Removes the text of a tree that is not in its nodes.
fn purge_tree(apply: &mut PgChangeApplier<'_>, key: Uuid) -> Result<()> {
    for sql in [
        "UPDATE trees SET title = 'purged', description = NULL, system_context = NULL WHERE id = $1",
        "UPDATE sessions SET metadata = '{}' WHERE tree = $1",
        "DELETE FROM stashes WHERE tree = $1",
        &format!("DELETE FROM records WHERE {ROWS_OF_TREE}"),
        &format!("DELETE FROM system_prompts WHERE {ROWS_OF_TREE}"),
        &format!(
            "UPDATE todos SET title = '', context = '', criteria = '', agent_type = NULL,
                 outcome = CASE WHEN status >= 2 THEN '' END WHERE {ROWS_OF_TREE}"
        ),
        // The inverse of an update of the tree (change 9) contains its former title and description.
        "UPDATE journal SET undo = NULL WHERE tree = $1 AND change = 9 AND undo IS NOT NULL",
    ] {
        apply.conn.execute(sql, &[&key])?;
    }
    for row in apply.conn.query("SELECT id FROM sessions WHERE tree = $1", &[&key])? {
        apply.state.stale.insert(get(&row, 0)?);
    }
    Ok(())
}

/// Removes data in other tables that contains text of the nodes.
fn purge_references(apply: &PgChangeApplier<'_>, trees: &[Uuid], seqs: &[i64], ids: &[Uuid]) -> Result<()> {
    for sql in [
        "DELETE FROM provenance WHERE tree = ANY($1) AND node = ANY($2)",
        "UPDATE bookmarks SET label = 'purged' WHERE tree = ANY($1) AND node = ANY($2)",
        "UPDATE links SET note = NULL WHERE tree = ANY($1) AND source = ANY($2)",
        // The inverse of a bookmark (change 5) contains its former label; other entries of a node contain no text.
        "UPDATE journal SET undo = NULL WHERE tree = ANY($1) AND node = ANY($2) AND change = 5 AND undo IS NOT NULL",
    ] {
        apply.conn.execute(sql, &[&trees, &seqs])?;
    }
    apply.conn.execute("UPDATE links SET note = NULL WHERE target_node = ANY($1)", &[&ids])?;
    apply.conn.execute("DELETE FROM summaries WHERE kind = 0 AND subject = ANY($1)", &[&ids])?;
    for sql in [
        // A summary of the tree may contain text of the purged nodes.
        "DELETE FROM summaries WHERE kind = 2 AND subject = ANY($1)",
        // A stored page may contain results of a search in all trees.
        "DELETE FROM stashes WHERE kind = 3 OR kind = 2 AND tree = ANY($1)",
        "DELETE FROM actions WHERE tree = ANY($1)",
        // The inverse of a stash (changes 23 and 24) is its former content.
        "UPDATE journal SET undo = NULL WHERE tree = ANY($1) AND change IN (23, 24) AND undo IS NOT NULL",
    ] {
        apply.conn.execute(sql, &[&trees])?;
    }
    purge_failures(apply, trees)
}

/// Removes the causes of failures from delegation events: they may quote purged text. The `jsonb` of PostgreSQL refuses the
/// character NUL.
fn purge_failures(apply: &PgChangeApplier<'_>, trees: &[Uuid]) -> Result<()> {
    let with_cause = "SELECT tree, delegation, number, event FROM delegation_events
                      WHERE tree = ANY($1) AND event LIKE '%\"why\"%'";
    let update = "UPDATE delegation_events SET event = $4 WHERE tree = $1 AND delegation = $2 AND number = $3";
    for row in apply.conn.query(with_cause, &[&trees])? {
        let mut event: serde_json::Value = from_json(&row, 3)?;
        if let Some(why) = event.get_mut("why") {
            *why = "".into();
            let key: (Uuid, i64, i64) = (get(&row, 0)?, int(&row, 1)?, int(&row, 2)?);
            apply.conn.execute(update, &[&key.0, &key.1, &key.2, &event.to_string()])?;
        }
    }
    Ok(())
}
