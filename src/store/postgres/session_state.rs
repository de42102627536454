//! The states of sessions: extended by a turn, read, computed from the archive, compared with it.

use std::collections::hash_map::Entry;

use tokio_postgres::Row;

use super::{
    apply::PgChangeApplier,
    connection::PostgresConnection,
    decode::{coded, get, id, int, number, opt_int},
    pending_rows::{PgNewRow, PgNodeAnchor},
    session_reader::record,
    uuid::Uuid,
};
use crate::{
    id::TreeId,
    session_state::{CompiledRules, SessionRecord, SessionState, TurnRecord},
    store::{
        Result, StoreError,
        new_node::TurnOrder,
        session_state_rules::{self, StateReplay, StoredState, add_problems, extendable, is_current, loaded, to_json},
    },
    types::{AuthorType, EdgeKind},
};

/// Sessions that are compared with the archive at once.
const PAGE_SESSIONS: u32 = 256;

impl PgChangeApplier<'_> {
    /// Applies a turn to the state of a session.
    pub(super) fn ingest(
        &mut self,
        heard: &TurnRecord<'_>,
        node: &PgNodeAnchor,
        session: Uuid,
        order: TurnOrder,
    ) -> Result<()> {
        if !heard.is_relevant(self.rules) {
            return Ok(());
        }
        match order {
            TurnOrder::Next => {}
            TurnOrder::OutOfOrder => {
                self.state.stale.insert(session);
                return Ok(());
            }
            // The state must exist, so that showing the branch computes it again.
            TurnOrder::Hidden => {
                if self.stored_state(session)?.is_none() {
                    self.store_state(session, self.rules.fingerprint(), "{}".to_owned());
                }
                return Ok(());
            }
        }
        let tree = TreeId::from_bytes(node.tree.0);
        self.update_state(session, |state, apply| {
            let (conn, waiting) = (apply.conn, &apply.state.pending_rows.nodes);
            state.ingest(apply.rules, heard, || calls_above(conn, waiting, tree, node.seq, heard.call).ok().flatten())
        })
    }

    /// The stored state of a session, with the rules that made it.
    pub(super) fn stored_state(&mut self, session: Uuid) -> Result<&Option<StoredState>> {
        match self.state.session_states.entry(session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(stored(self.conn, session)?)),
        }
    }

    pub(super) fn store_state(&mut self, session: Uuid, rules: i64, state: String) {
        self.state.session_states.insert(session, Some((rules, state.clone())));
        self.state.pending_rows.states.insert(session, (rules, state));
    }

    pub(super) fn update_state(
        &mut self,
        session: Uuid,
        change: impl FnOnce(&mut SessionState, &Self) -> bool,
    ) -> Result<()> {
        let own = self.rules.fingerprint();
        let Some((fingerprint, mut state)) = extendable(self.stored_state(session)?.as_ref(), own) else {
            self.state.stale.insert(session);
            return Ok(());
        };
        if change(&mut state, self) {
            self.store_state(session, fingerprint, to_json(&state)?);
        }
        Ok(())
    }

    /// Marks the sessions with turns in a hidden or shown branch, whose state is computed again.
    pub(super) fn mark_stale(&mut self, tree: Uuid, branch: &[i64]) -> Result<()> {
        let sql = "SELECT DISTINCT t.session FROM (
                SELECT session FROM nodes WHERE tree = $1 AND seq = ANY($2)
                UNION SELECT session FROM received_turns WHERE tree = $1 AND node = ANY($2)) t
            JOIN registers r ON r.session = t.session";
        for row in self.conn.query(sql, &[&tree, &branch])? {
            self.state.stale.insert(get(&row, 0)?);
        }
        Ok(())
    }
}

/// Lists a session's records in order, without removed ones.
pub(super) fn records(conn: &PostgresConnection, session: Uuid) -> Result<Vec<SessionRecord>> {
    let sql = "SELECT turn, kind, content FROM records WHERE session = $1 AND NOT removed ORDER BY turn, seq";
    conn.query(sql, &[&session])?.iter().map(record).collect()
}

/// Reads the stored state of a session.
fn stored(conn: &PostgresConnection, session: Uuid) -> Result<Option<StoredState>> {
    let row = conn.query_opt("SELECT rules, state FROM registers WHERE session = $1", &[&session])?;
    row.map(|row| Ok((int(&row, 0)?, get(&row, 1)?))).transpose()
}

/// Loads a session's state, or computes it if the stored one does not decode.
pub(super) fn load(conn: &PostgresConnection, session: Uuid, rules: &CompiledRules) -> Result<SessionState> {
    let sql = "SELECT n.content FROM sessions s JOIN nodes n ON n.id = s.focus
                   LEFT JOIN node_state h ON h.tree = n.tree AND h.node = n.seq
               WHERE s.id = $1 AND h.hidden_by IS NULL";
    let current_focus = conn.query_opt(sql, &[&session])?.map(|row| get(&row, 0)).transpose()?;
    let mut state = loaded(stored(conn, session)?.as_ref(), || compute(conn, session, rules))?;
    state.current_focus = current_focus;
    Ok(state)
}

/// Computes a state from the archive.
pub(super) fn compute(conn: &PostgresConnection, session: Uuid, rules: &CompiledRules) -> Result<SessionState> {
    let row = conn.query_opt("SELECT since FROM sessions WHERE id = $1", &[&session])?;
    let row = row.ok_or_else(|| StoreError::Undecodable("a session is missing".to_owned()))?;
    let (since, after) = (number(&row, 0)?, int(&row, 0)?);
    let mut replay = StateReplay::new(records(conn, session)?, since, rules);
    let sql = "SELECT n.seq, t.turn, coalesce(n.role, n.author_type), n.kind, n.content, n.tool_name, n.tool_call_id,
                   n.metadata, n.tree
               FROM (SELECT tree, seq AS node, turn FROM nodes
                         WHERE session = $1 AND turn > $2 AND (coalesce(role, author_type) = 0 OR tool_name IS NOT NULL)
                     UNION ALL SELECT tree, node, turn FROM received_turns WHERE session = $1 AND turn > $2) t
                   JOIN nodes n ON n.tree = t.tree AND n.seq = t.node
                   LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
               WHERE n.purged_at IS NULL AND s.hidden_by IS NULL ORDER BY t.turn";
    for row in conn.query(sql, &[&session, &after])? {
        let turn = TurnRecord {
            turn: number(&row, 1)?,
            author_type: coded(&row, 2, AuthorType::from_code)?,
            kind: coded(&row, 3, EdgeKind::from_code)?,
            content: get(&row, 4)?,
            tool: get(&row, 5)?,
            call: get(&row, 6)?,
            metadata: get(&row, 7)?,
        };
        let (tree, node) = (id(&row, 8, TreeId::from_bytes)?, int(&row, 0)?);
        replay.ingest(&turn, || calls_above(conn, &[], tree, node, turn.call));
    }
    Ok(replay.end())
}

/// Returns the calls of the nearest ancestor of a tool result that made any, or that made the call with this id. `waiting`
/// are nodes that are not written yet.
pub(super) fn calls_above(
    conn: &PostgresConnection,
    waiting: &[PgNewRow],
    tree: TreeId,
    node: i64,
    call: Option<&str>,
) -> Result<Option<String>> {
    session_state_rules::calls_above(node, call, |at| {
        if let Some(row) = waiting.iter().rev().find(|row| row.place.seq == at) {
            return Ok(Some((row.place.parent, row.node.tool.calls.as_ref().map(|calls| calls.as_str().to_owned()))));
        }
        let sql = "SELECT parent, tool_calls FROM nodes WHERE tree = $1 AND seq = $2";
        let row = conn.query_opt(sql, &[&Uuid(tree.to_bytes()), &at])?;
        row.map(|row| Ok((opt_int(&row, 0)?, get(&row, 1)?))).transpose()
    })
}

/// Serializes a column of JSON.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Backend(Box::new(e)))
}

/// Stores a session's state, and the rules that made it.
pub(super) fn save_state(conn: &PostgresConnection, session: Uuid, rules: i64, state: &str) -> Result<()> {
    let sql = "INSERT INTO registers (session, rules, state) VALUES ($1, $2, $3)
               ON CONFLICT (session) DO UPDATE SET rules = $2, state = $3";
    conn.execute(sql, &[&session, &rules, &state]).map(drop)
}

/// SQL for the newest message of a person, computed from the nodes.
const FOCUS: &str = "(SELECT id FROM (
    SELECT n.id, n.turn FROM nodes n WHERE n.session = s.id AND n.turn > s.since
        AND coalesce(n.role, n.author_type) = 0 AND n.kind = 0
    UNION ALL SELECT n.id, r.turn FROM received_turns r JOIN nodes n ON n.tree = r.tree AND n.seq = r.node
        WHERE r.session = s.id AND r.turn > s.since) f ORDER BY turn DESC LIMIT 1)";

/// SQL for the messages of people, counted from the nodes.
const PERSON_TURNS: &str = "((SELECT count(*) FROM nodes n WHERE n.session = s.id AND n.turn > s.since
        AND coalesce(n.role, n.author_type) = 0 AND n.kind = 0)
    + (SELECT count(*) FROM received_turns r WHERE r.session = s.id AND r.turn > s.since))";

/// Computes a session's state and newest message again; returns whether either changed.
pub(super) fn rebuild_state(conn: &PostgresConnection, session: Uuid, rules: &CompiledRules) -> Result<bool> {
    let made = compute(conn, session, rules)?;
    let figures = conn.execute(
        &format!(
            "UPDATE sessions s SET focus = {FOCUS}, person_turns = {PERSON_TURNS} WHERE id = $1
             AND (focus IS DISTINCT FROM {FOCUS} OR person_turns <> {PERSON_TURNS})"
        ),
        &[&session],
    )?;
    let same = is_current(stored(conn, session)?.as_ref(), &made, rules.fingerprint());
    if !same {
        save_state(conn, session, rules.fingerprint(), &to_json(&made)?)?;
    }
    Ok(figures > 0 || !same)
}

/// Computes the states of the sessions in trees again; returns the number of changed ones.
pub(super) fn rebuild_states(conn: &PostgresConnection, trees: &[Uuid], rules: &CompiledRules) -> Result<u64> {
    let mut changed = 0;
    for row in conn.query("SELECT id FROM sessions WHERE tree = ANY($1) ORDER BY id FOR UPDATE", &[&trees])? {
        changed += u64::from(rebuild_state(conn, get(&row, 0)?, rules)?);
    }
    Ok(changed)
}

/// Compares the stored states with the archive and returns the problems.
pub(super) fn problems(conn: &PostgresConnection, rules: &CompiledRules) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let sql = format!(
        "SELECT s.id, s.focus IS DISTINCT FROM {FOCUS}, s.person_turns <> {PERSON_TURNS}, r.rules, r.state
         FROM sessions s LEFT JOIN registers r ON r.session = s.id WHERE s.id > $1 ORDER BY s.id LIMIT {PAGE_SESSIONS}"
    );
    let mut after = Uuid([0; 16]);
    loop {
        let rows = conn.query(&sql, &[&after])?;
        let Some(last) = rows.last() else { return Ok(problems) };
        after = get(last, 0)?;
        for row in &rows {
            compare(conn, row, rules, &mut problems)?;
        }
    }
}

/// Compares the stored state of a row's session with the archive.
fn compare(conn: &PostgresConnection, row: &Row, rules: &CompiledRules, problems: &mut Vec<String>) -> Result<()> {
    let key: Uuid = get(row, 0)?;
    let (made, name) = (compute(conn, key, rules)?, crate::id::SessionId::from_bytes(key.0).to_string());
    let stored = get::<Option<String>>(row, 4)?.map(|state| Ok::<_, StoreError>((int(row, 3)?, state))).transpose()?;
    add_problems(problems, &name, (stored.as_ref(), &made), rules.fingerprint(), [get(row, 1)?, get(row, 2)?]);
    Ok(())
}
