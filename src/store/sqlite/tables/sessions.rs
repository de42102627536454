//! Statements of the table `sessions`.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::visibility_marks::hidden_by;
use crate::{
    id::{NodeId, SessionId},
    store::{Result, SessionFilter, StoreError, new_node::TurnFigures, sqlite::decode},
    types::{NewSession, Session, SessionCounts, SessionPatch, Timestamp, WorkItem},
};

pub(in crate::store::sqlite) fn insert(
    conn: &Connection,
    session: &NewSession,
    (agent, tree, position): (i64, i64, Option<i64>),
    item: Option<&WorkItem>,
    delegated_by: Option<i64>,
) -> Result<()> {
    conn.execute(
        "INSERT INTO sessions (ulid, workspace, agent, tree, position, started_at, last_active_at, expires_at, metadata,
             text_id, model, project, external_ref, delegated_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            session.id.to_bytes(),
            session.workspace,
            agent,
            tree,
            position,
            session.started_at.as_millis(),
            session.expires_at.map(Timestamp::as_millis),
            json(&session.metadata)?,
            session.id.to_string(),
            session.model,
            item.map(|item| &item.project),
            item.map(|item| &item.external_ref),
            delegated_by,
        ],
    )?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Backend(Box::new(e)))
}

pub(in crate::store::sqlite) fn row(conn: &Connection, id: SessionId) -> Result<i64> {
    conn.prepare_cached("SELECT id FROM sessions WHERE ulid = ?1")?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", id))
}

/// Adds a turn; returns its number.
pub(in crate::store::sqlite) fn next_turn(
    conn: &Connection,
    row: i64,
    figures: TurnFigures,
    at: Timestamp,
) -> Result<u64> {
    Ok(conn
        .prepare_cached(
            "UPDATE sessions SET turn_count = turn_count + 1, total_tokens = total_tokens + ?2,
                 person_turns = person_turns + ?4, last_active_at = max(last_active_at, ?3)
             WHERE id = ?1 RETURNING turn_count",
        )?
        .query_row(params![row, figures.tokens, at.as_millis(), figures.person], |r| r.get(0))?)
}

/// Sets the checksum after a turn, or another change of position, activity or counts. Triggers do so after an update of
/// other columns.
pub(in crate::store::sqlite) fn set_row_sum(conn: &Connection, row: i64) -> Result<()> {
    conn.prepare_cached(
        "UPDATE sessions SET row_sum = row_sum(id, ulid, workspace, agent, tree, position, versions, started_at,
             last_active_at, expires_at, turn_count, total_tokens, active, metadata, delegated_by, text_id, model,
             project, external_ref, focus, since, person_turns) WHERE id = ?1",
    )?
    .execute([row])?;
    Ok(())
}

/// Updates the time of last activity.
pub(in crate::store::sqlite) fn touch(conn: &Connection, row: i64, at: Timestamp) -> Result<()> {
    conn.prepare_cached("UPDATE sessions SET last_active_at = ?2 WHERE id = ?1 AND last_active_at < ?2")?
        .execute(params![row, at.as_millis()])?;
    Ok(())
}

/// Registers an imported turn with its number; returns the newest number before.
pub(in crate::store::sqlite) fn count_turn(
    conn: &Connection,
    row: i64,
    turn: u64,
    figures: TurnFigures,
) -> Result<u64> {
    let mut turns = SessionTurns::of(conn, row)?;
    let before = turns.newest;
    turns.add(turn, figures);
    count_turns(conn, row, turns)?;
    Ok(before)
}

/// Turns of one session that a change adds.
#[derive(Debug)]
pub(in crate::store::sqlite) struct SessionTurns {
    newest: u64,
    /// The turn after which the current state starts. Messages of people count from there.
    since: u64,
    tokens: u64,
    people: u64,
}

impl SessionTurns {
    /// Begins with none.
    pub(in crate::store::sqlite) fn of(conn: &Connection, row: i64) -> Result<Self> {
        Ok(Self { newest: newest_turn(conn, row)?, since: state_start(conn, row)?, tokens: 0, people: 0 })
    }

    /// Adds a turn. Returns whether it follows all others.
    pub(in crate::store::sqlite) fn add(&mut self, turn: u64, figures: TurnFigures) -> bool {
        let is_next = turn > self.newest;
        self.newest = self.newest.max(turn);
        self.tokens += figures.tokens;
        self.people += u64::from(figures.person && turn > self.since);
        is_next
    }
}

/// Registers imported turns.
pub(in crate::store::sqlite) fn count_turns(conn: &Connection, row: i64, turns: SessionTurns) -> Result<()> {
    conn.prepare_cached(
        "UPDATE sessions SET turn_count = max(turn_count, ?2), total_tokens = total_tokens + ?3,
             person_turns = person_turns + ?4 WHERE id = ?1",
    )?
    .execute(params![row, turns.newest, turns.tokens, turns.people])?;
    Ok(())
}

/// The number of the newest turn.
pub(in crate::store::sqlite) fn newest_turn(conn: &Connection, row: i64) -> Result<u64> {
    Ok(conn.prepare_cached("SELECT turn_count FROM sessions WHERE id = ?1")?.query_row([row], |r| r.get(0))?)
}

/// The turn after which the current state starts.
pub(in crate::store::sqlite) fn state_start(conn: &Connection, row: i64) -> Result<u64> {
    Ok(conn.prepare_cached("SELECT since FROM sessions WHERE id = ?1")?.query_row([row], |r| r.get(0))?)
}

/// The tree of a session.
pub(in crate::store::sqlite) fn tree(conn: &Connection, row: i64) -> Result<i64> {
    Ok(conn.prepare_cached("SELECT tree FROM sessions WHERE id = ?1")?.query_row([row], |r| r.get(0))?)
}

/// The agent of a session.
pub(in crate::store::sqlite) fn agent(conn: &Connection, row: i64) -> Result<i64> {
    Ok(conn.prepare_cached("SELECT agent FROM sessions WHERE id = ?1")?.query_row([row], |r| r.get(0))?)
}

/// The work item of a session.
pub(in crate::store::sqlite) fn item(conn: &Connection, row: i64) -> Result<Option<WorkItem>> {
    Ok(conn
        .prepare_cached("SELECT project, external_ref FROM sessions WHERE id = ?1")?
        .query_row([row], |r| decode::item(r, 0))?)
}

/// Moves a session to another tree, without a position there, and starts a new state. A session without turns skips the
/// first number, because `since` 0 means that there was no reset.
pub(in crate::store::sqlite) fn reset(conn: &Connection, row: i64, tree: i64) -> Result<()> {
    conn.execute(
        "UPDATE sessions SET tree = ?2, position = NULL, versions = '[]', since = max(turn_count, 1),
             turn_count = max(turn_count, 1), person_turns = 0 WHERE id = ?1",
        [row, tree],
    )?;
    Ok(())
}

/// The position of a session.
pub(in crate::store::sqlite) fn position(conn: &Connection, row: i64) -> Result<Option<i64>> {
    Ok(conn.prepare_cached("SELECT position FROM sessions WHERE id = ?1")?.query_row([row], |r| r.get(0))?)
}

/// Returns the position at which a session appends; fails if the session has ended.
pub(in crate::store::sqlite) fn open_position(conn: &Connection, row: i64) -> Result<Option<i64>> {
    let mut statement = conn.prepare_cached("SELECT position, active FROM sessions WHERE id = ?1")?;
    let (position, active) = statement.query_row([row], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if active { Ok(position) } else { Err(StoreError::SessionEnded) }
}

/// Returns the position of a session and its selected versions.
pub(in crate::store::sqlite) fn place(conn: &Connection, row: i64) -> Result<(Option<i64>, Vec<NodeId>)> {
    let mut statement = conn.prepare_cached("SELECT position, versions FROM sessions WHERE id = ?1")?;
    Ok(statement.query_row([row], |r| Ok((r.get(0)?, decode::from_json(r, 1)?)))?)
}

/// Moves a session to a node of its own tree, and sets it as the newest human message; each if requested.
pub(in crate::store::sqlite) fn advance(
    conn: &Connection,
    row: i64,
    (node, tree): (i64, i64),
    [position, focus]: [bool; 2],
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE sessions SET position = CASE WHEN ?4 AND tree = ?3 THEN ?2 ELSE position END,
             focus = CASE WHEN ?5 THEN ?2 ELSE focus END WHERE id = ?1",
    )?
    .execute(params![row, node, tree, position, focus])?;
    Ok(())
}

/// SQL for the newest human message, computed from the nodes.
const NEWEST_HUMAN_MESSAGE: &str = "(SELECT node FROM (
        SELECT * FROM (SELECT n.seq AS node, n.turn AS turn FROM nodes n
            WHERE n.session = sessions.id AND n.turn > sessions.since
                AND ifnull(n.role, n.author_type) = 0 AND n.kind = 0 ORDER BY n.turn DESC LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT r.node AS node, r.turn AS turn FROM received_turns r
            WHERE r.session = sessions.id AND r.turn > sessions.since ORDER BY r.turn DESC LIMIT 1)
    ) ORDER BY turn DESC LIMIT 1)";

/// Recomputes the newest human message; returns whether it changed.
pub(in crate::store::sqlite) fn refresh_newest_human_message(conn: &Connection, row: i64) -> Result<bool> {
    let sql = format!(
        "UPDATE sessions SET focus = {NEWEST_HUMAN_MESSAGE} WHERE id = ?1 AND focus IS NOT {NEWEST_HUMAN_MESSAGE}"
    );
    let changed = conn.prepare_cached(&sql)?.execute([row])? > 0;
    if changed {
        set_row_sum(conn, row)?;
    }
    Ok(changed)
}

/// True if the stored newest human message differs from the nodes.
pub(in crate::store::sqlite) fn is_newest_human_message_wrong(conn: &Connection, row: i64) -> Result<bool> {
    let sql = format!("SELECT 1 FROM sessions WHERE id = ?1 AND focus IS NOT {NEWEST_HUMAN_MESSAGE}");
    Ok(conn.prepare_cached(&sql)?.exists([row])?)
}

/// SQL for the messages of people, counted from the nodes.
const PERSON_TURNS: &str = "((SELECT count(*) FROM nodes n
        WHERE n.session = sessions.id AND n.turn > sessions.since AND ifnull(n.role, n.author_type) = 0 AND n.kind = 0)
    + (SELECT count(*) FROM received_turns r WHERE r.session = sessions.id AND r.turn > sessions.since))";

/// Recounts the messages of people; returns whether the number changed.
pub(in crate::store::sqlite) fn recount_person_turns(conn: &Connection, row: i64) -> Result<bool> {
    let sql =
        format!("UPDATE sessions SET person_turns = {PERSON_TURNS} WHERE id = ?1 AND person_turns <> {PERSON_TURNS}");
    let changed = conn.prepare_cached(&sql)?.execute([row])? > 0;
    if changed {
        set_row_sum(conn, row)?;
    }
    Ok(changed)
}

/// True if the stored number of messages of people differs from the nodes.
pub(in crate::store::sqlite) fn is_person_turns_wrong(conn: &Connection, row: i64) -> Result<bool> {
    let sql = format!("SELECT 1 FROM sessions WHERE id = ?1 AND person_turns <> {PERSON_TURNS}");
    Ok(conn.prepare_cached(&sql)?.exists([row])?)
}

/// Sets the sum of tokens.
pub(in crate::store::sqlite) fn set_tokens(conn: &Connection, row: i64, tokens: u64) -> Result<()> {
    conn.prepare_cached("UPDATE sessions SET total_tokens = ?2 WHERE id = ?1")?.execute(params![row, tokens])?;
    set_row_sum(conn, row)
}

/// The text of the newest visible human message.
pub(in crate::store::sqlite) fn newest_human_message(conn: &Connection, row: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached(concat!(
            "SELECT n.content FROM sessions s JOIN nodes n ON n.seq = s.focus LEFT JOIN node_state h ON h.node = n.seq
                 WHERE s.id = ?1 AND (",
            hidden_by!("h"),
            ") IS NULL"
        ))?
        .query_row([row], |r| r.get(0))
        .optional()?)
}

/// Lists the row number and the id of every session.
pub(in crate::store::sqlite) fn names(conn: &Connection) -> Result<Vec<(i64, String)>> {
    let mut statement = conn.prepare_cached("SELECT id, text_id FROM sessions ORDER BY id")?;
    Ok(statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
}

pub(in crate::store::sqlite) fn update(
    conn: &Connection,
    row: i64,
    patch: &SessionPatch,
    position: Option<i64>,
    at: Timestamp,
) -> Result<()> {
    conn.execute(
        "UPDATE sessions SET last_active_at = max(last_active_at, ?2), position = coalesce(?3, position),
             versions = coalesce(?4, versions), active = coalesce(?5, active),
             expires_at = CASE WHEN ?6 THEN ?7 ELSE expires_at END, metadata = json_patch(metadata, ?8),
             model = coalesce(?9, model)
         WHERE id = ?1",
        params![
            row,
            patch.active_at.unwrap_or(at).as_millis(),
            position,
            patch.versions.as_ref().map(json).transpose()?,
            patch.active,
            patch.expires_at.is_some(),
            patch.expires_at.flatten().map(Timestamp::as_millis),
            json(&patch.metadata)?,
            patch.model
        ],
    )?;
    Ok(())
}

/// Counts sessions by what became of them. The update that ends a session sets its last activity.
pub(in crate::store::sqlite) fn counts(conn: &Connection, now: Timestamp) -> Result<SessionCounts> {
    let mut statement = conn.prepare_cached(
        "SELECT ifnull(sum(active AND ifnull(expires_at > ?1, 1)), 0),
             ifnull(sum(NOT active AND ifnull(expires_at > last_active_at, 1)), 0), count(*) FROM sessions",
    )?;
    Ok(statement.query_row([now.as_millis()], |r| {
        let (active, ended, all): (u64, u64, u64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        Ok(SessionCounts { active, ended, expired: all.saturating_sub(active + ended) })
    })?)
}

/// A session, and the row numbers of its agent, tree, position and cursor.
pub(in crate::store::sqlite) type SessionRow = (Session, i64, i64, [Option<i64>; 2]);

/// Sets the cursor of a session, which no entry of the journal holds.
pub(in crate::store::sqlite) fn set_cursor(conn: &Connection, row: i64, node: i64, at: Timestamp) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO cursors (session, node, seen_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (session) DO UPDATE SET node = ?2, seen_at = ?3",
    )?
    .execute(params![row, node, at.as_millis()])?;
    Ok(())
}

const SESSION: &str = "SELECT ulid, workspace, agent, tree, position, versions, started_at, last_active_at, expires_at,
    turn_count, total_tokens, active, metadata, model, project, external_ref,
    (SELECT by.ulid FROM sessions by WHERE by.id = sessions.delegated_by), since,
    (SELECT c.node FROM cursors c WHERE c.session = sessions.id AND c.seen_at >= last_active_at), person_turns FROM sessions";

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let session = Session {
        id: SessionId::from_bytes(row.get(0)?),
        workspace: row.get(1)?,
        agent: crate::id::AgentId::from_bytes([0; 16]),
        tree: crate::id::TreeId::from_bytes([0; 16]),
        position: None,
        cursor: None,
        versions: decode::from_json(row, 5)?,
        started_at: Timestamp::from_millis(row.get(6)?),
        last_active_at: Timestamp::from_millis(row.get(7)?),
        expires_at: row.get::<_, Option<i64>>(8)?.map(Timestamp::from_millis),
        turns: row.get(9)?,
        since: row.get(17)?,
        person_turns: row.get(19)?,
        tokens: row.get(10)?,
        active: row.get(11)?,
        metadata: decode::from_json(row, 12)?,
        model: row.get(13)?,
        item: decode::item(row, 14)?,
        delegated_by: row.get::<_, Option<[u8; 16]>>(16)?.map(SessionId::from_bytes),
    };
    Ok((session, row.get(2)?, row.get(3)?, [row.get(4)?, row.get(18)?]))
}

pub(in crate::store::sqlite) fn get(conn: &Connection, id: SessionId) -> Result<Option<SessionRow>> {
    Ok(conn.prepare_cached(&format!("{SESSION} WHERE ulid = ?1"))?.query_row([id.to_bytes()], read).optional()?)
}

pub(in crate::store::sqlite) fn list(
    conn: &Connection,
    filter: &SessionFilter,
    agent: Option<i64>,
    tree: Option<i64>,
) -> Result<Vec<SessionRow>> {
    // Plain comparisons let SQLite use the index of a tree's sessions, which has this order, and that of expiry times.
    let of_tree = if tree.is_some() { "tree = ?3" } else { "?3 IS NULL" };
    let expired = if filter.expired.is_some() {
        "active = 1 AND expires_at IS NOT NULL AND expires_at <= ?12"
    } else {
        "?12 IS NULL"
    };
    let mut statement = conn.prepare_cached(&format!(
        "{SESSION} WHERE (?1 IS NULL OR workspace = ?1) AND (?2 IS NULL OR agent = ?2) AND {of_tree}
             AND {expired} AND (?4 = 0 OR active = 1) AND (?5 IS NULL OR expires_at IS NULL OR expires_at > ?5)
             AND (?6 = 0 OR project IS ?7 AND external_ref IS ?8) AND (?9 = 0 OR turn_count > 0)
             AND (?11 OR delegated_by IS NULL)
         ORDER BY last_active_at DESC, id DESC LIMIT ?10"
    ))?;
    let item = filter.item.as_ref().and_then(Option::as_ref);
    let limit = if filter.limit == 0 { -1 } else { i64::from(filter.limit) };
    let found = statement
        .query_map(
            params![
                filter.workspace,
                agent,
                tree,
                filter.active,
                filter.unexpired.map(Timestamp::as_millis),
                filter.item.is_some(),
                item.map(|item| &item.project),
                item.map(|item| &item.external_ref),
                filter.spoken,
                limit,
                filter.delegated,
                filter.expired.map(Timestamp::as_millis),
            ],
            read,
        )?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found)
}
