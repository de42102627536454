//! The states of sessions, updated by the writer thread.
//!
//! The commit that adds a turn also applies it to the state; most turns change nothing. Some changes affect earlier
//! turns: hiding or showing a branch, a purge, a turn added out of order. Then the state is rebuilt from the archive at
//! the end of the transaction. A damaged state is rebuilt when it is read.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    apply::ChangeApplier,
    decode::coded,
    tables::{session_states, sessions, visibility_marks::HIDDEN_BY},
};
use crate::{
    session_state::{CompiledRules, RecordKind, SessionRecord, SessionState, TurnRecord},
    store::{
        Mutation, Result,
        new_node::TurnOrder,
        session_state_rules::{self, StateReplay, add_problems, extendable, is_current, loaded, to_json},
    },
    types::{AuthorType, EdgeKind, NewNode},
};

impl ChangeApplier<'_> {
    /// Applies a turn that was just added to its session's state.
    pub(super) fn ingest_turn(
        &mut self,
        node: &NewNode,
        row: i64,
        (session, turn): (i64, u64),
        order: TurnOrder,
    ) -> Result<()> {
        let heard = TurnRecord::of(node, turn);
        self.ingest_record(&heard, row, session, order)
    }

    /// Applies a turn to the state of a session.
    pub(super) fn ingest_record(
        &mut self,
        heard: &TurnRecord<'_>,
        row: i64,
        session: i64,
        order: TurnOrder,
    ) -> Result<()> {
        if !heard.is_relevant(self.rules) {
            return Ok(());
        }
        match order {
            TurnOrder::Next => {}
            TurnOrder::OutOfOrder => {
                self.cache.stale_sessions.insert(session);
                return Ok(());
            }
            // The state must exist, so that showing the branch rebuilds it.
            TurnOrder::Hidden => {
                return match session_states::load(self.conn, session)? {
                    Some(_) => Ok(()),
                    None => session_states::save(self.conn, session, self.rules.fingerprint(), "{}"),
                };
            }
        }
        let (conn, rules) = (self.conn, self.rules);
        self.update_state(session, |register| {
            register.ingest(rules, heard, || calls_above(conn, row, heard.call).ok().flatten())
        })
    }

    /// Adds a record and returns its inverse.
    pub(super) fn record(
        &mut self,
        session: i64,
        kind: RecordKind,
        content: &str,
        turn: Option<u64>,
    ) -> Result<Mutation> {
        let record = session_states::record(self.conn, session, kind, content, turn)?;
        match turn {
            // An import adds the record before all of its turns exist.
            Some(_) => drop(self.cache.stale_sessions.insert(session)),
            None => {
                let turn = sessions::newest_turn(self.conn, session)?;
                self.update_state(session, |register| {
                    register.record(&SessionRecord { kind, content: content.to_owned(), turn });
                    true
                })?;
            }
        }
        Ok(Mutation::SetRecordRemoved { record: record.unsigned_abs(), removed: true })
    }

    fn update_state(&mut self, session: i64, change: impl FnOnce(&mut SessionState) -> bool) -> Result<()> {
        let stored = session_states::load(self.conn, session)?;
        let Some((fingerprint, mut register)) = extendable(stored.as_ref(), self.rules.fingerprint()) else {
            self.cache.stale_sessions.insert(session);
            return Ok(());
        };
        if change(&mut register) {
            session_states::save(self.conn, session, fingerprint, &to_json(&register)?)
        } else {
            Ok(())
        }
    }
}

/// Rebuilds the marked sessions' states at the end of a transaction.
pub(super) fn refresh_stale(conn: &Connection, sessions: &mut BTreeSet<i64>, rules: &CompiledRules) -> Result<()> {
    while let Some(session) = sessions.pop_first() {
        rebuild_session_state(conn, session, rules)?;
    }
    Ok(())
}

/// Recomputes a session's state and newest human message, and stores them. Returns whether either changed.
fn rebuild_session_state(conn: &Connection, session: i64, rules: &CompiledRules) -> Result<bool> {
    let register = compute(conn, session, rules)?;
    let focus = sessions::refresh_newest_human_message(conn, session)?;
    let turns = sessions::recount_person_turns(conn, session)?;
    let same = is_current(session_states::load(conn, session)?.as_ref(), &register, rules.fingerprint());
    if !same {
        session_states::save(conn, session, rules.fingerprint(), &to_json(&register)?)?;
    }
    Ok(focus || turns || !same)
}

/// Computes a state from the archive.
fn compute(conn: &Connection, session: i64, rules: &CompiledRules) -> Result<SessionState> {
    let since = sessions::state_start(conn, session)?;
    let mut replay = StateReplay::new(session_states::records(conn, session)?, since, rules);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT n.seq, t.turn, ifnull(n.role, n.author_type), n.kind, n.content, n.tool_name, n.tool_call_id, n.metadata
         FROM (SELECT seq AS node, turn FROM nodes
                   WHERE session = ?1 AND turn > ?2 AND (ifnull(role, author_type) = 0 OR tool_name IS NOT NULL)
               UNION ALL SELECT node, turn FROM received_turns WHERE session = ?1 AND turn > ?2) t
             JOIN nodes n ON n.seq = t.node LEFT JOIN node_state s ON s.node = n.seq
         WHERE n.purged_at IS NULL AND {HIDDEN_BY} IS NULL
         ORDER BY t.turn"
    ))?;
    let mut rows = statement.query(params![session, since])?;
    while let Some(row) = rows.next()? {
        let text = |at: usize| -> rusqlite::Result<Option<&str>> { Ok(row.get_ref(at)?.as_str_or_null()?) };
        let turn = TurnRecord {
            turn: row.get(1)?,
            author_type: coded(row, 2, AuthorType::from_code)?,
            kind: coded(row, 3, EdgeKind::from_code)?,
            content: text(4)?.unwrap_or(""),
            tool: text(5)?,
            call: text(6)?,
            metadata: text(7)?,
        };
        let node: i64 = row.get(0)?;
        replay.ingest(&turn, || calls_above(conn, node, turn.call));
    }
    Ok(replay.end())
}

/// Returns the calls of the nearest ancestor of a tool result that made any, or that made the call with this id.
fn calls_above(conn: &Connection, node: i64, call: Option<&str>) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached("SELECT parent, tool_calls FROM nodes WHERE seq = ?1")?;
    session_state_rules::calls_above(node, call, |at| {
        Ok(statement.query_row([at], |r| Ok((r.get(0)?, r.get(1)?))).optional()?)
    })
}

/// Loads a session's state, or computes it if the stored one does not decode.
pub(super) fn load(conn: &Connection, session: i64, rules: &CompiledRules) -> Result<SessionState> {
    let current_focus = sessions::newest_human_message(conn, session)?;
    let mut register = loaded(session_states::load(conn, session)?.as_ref(), || compute(conn, session, rules))?;
    register.current_focus = current_focus;
    Ok(register)
}

/// Compares the stored states with the archive and returns the problems.
pub(super) fn problems(conn: &Connection, rules: &CompiledRules) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (session, name) in sessions::names(conn)? {
        let made = compute(conn, session, rules)?;
        let stored = session_states::load(conn, session)?;
        let wrong_newest = sessions::is_newest_human_message_wrong(conn, session)?;
        let wrong_turns = sessions::is_person_turns_wrong(conn, session)?;
        let states = (stored.as_ref(), &made);
        add_problems(&mut problems, &name, states, rules.fingerprint(), [wrong_newest, wrong_turns]);
    }
    Ok(problems)
}

/// Recomputes all states; returns the number of changed ones.
pub(super) fn rebuild(conn: &Connection, rules: &CompiledRules) -> Result<u64> {
    let mut changed = 0;
    for (session, _) in sessions::names(conn)? {
        changed += u64::from(rebuild_session_state(conn, session, rules)?);
    }
    Ok(changed)
}

/// Recomputes the states of sessions with edits whose role differs from their author's type.
pub(super) fn rebuild_with_roles(conn: &Connection, rules: &CompiledRules) -> Result<()> {
    let mut statement =
        conn.prepare("SELECT DISTINCT session FROM nodes WHERE role IS NOT NULL AND session IS NOT NULL")?;
    let mut sessions = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
    refresh_stale(conn, &mut sessions, rules)
}

/// Migrates a file without states: records were stored as YAML, each ending with its turn number.
pub(super) fn migrate_legacy(conn: &Connection, rules: &CompiledRules) -> Result<()> {
    for (session, _) in sessions::names(conn)? {
        let Some((_, state)) = session_states::load(conn, session)? else { continue };
        let Ok(old) = serde_yaml::from_str::<serde_yaml::Value>(&state) else { continue };
        for (key, kind) in [("key_decisions", RecordKind::Decision), ("constraints", RecordKind::Constraint)] {
            for line in old[key].as_sequence().into_iter().flatten().filter_map(serde_yaml::Value::as_str) {
                let said = line.strip_suffix(')').and_then(|line| line.rsplit_once(" (turn "));
                let (words, turn) = said.map_or((line, None), |(words, turn)| (words, turn.parse().ok()));
                session_states::record(conn, session, kind, words, turn)?;
            }
        }
    }
    rebuild(conn, rules)?;
    Ok(())
}
