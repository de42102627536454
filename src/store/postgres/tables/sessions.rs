//! Queries of the table `sessions`.

use tokio_postgres::Row;

use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{
        Result, SessionFilter,
        postgres::{
            connection::PostgresConnection,
            decode::{NodeKey, from_json, get, id, item, number, opt_id, opt_int, opt_time, time},
            node_reader::limit,
            path,
            uuid::Uuid,
            visible_position::visible_position,
        },
    },
    types::{Session, SessionCounts, Timestamp},
};

/// Columns of a session. The last two are its position and cursor if they are visible, so that one statement reads most lists.
/// As subqueries they are read for the rows of a limit only.
const SESSION: &str = "SELECT s.id, s.workspace, s.agent, s.tree, s.position, s.versions, s.started_at, s.last_active_at,
    s.expires_at, s.turn_count, s.total_tokens, s.active, s.metadata, s.model, s.project, s.external_ref, s.delegated_by,
    s.since, (SELECT c.node FROM cursors c WHERE c.session = s.id AND c.seen_at >= s.last_active_at), s.person_turns,
    (SELECT n.id FROM nodes n LEFT JOIN node_state h ON h.tree = n.tree AND h.node = n.seq
     WHERE n.tree = s.tree AND n.seq = s.position AND h.hidden_by IS NULL),
    (SELECT n.id FROM cursors c JOIN nodes n ON n.id = c.node
         LEFT JOIN node_state h ON h.tree = n.tree AND h.node = n.seq
     WHERE c.session = s.id AND c.seen_at >= s.last_active_at AND h.hidden_by IS NULL)
    FROM sessions s";

/// The id of a node, or of its nearest visible ancestor if it is hidden, in the version that is shown.
fn visible(conn: &PostgresConnection, key: NodeKey, versions: &[NodeId]) -> Result<NodeId> {
    let key = visible_position(conn, key, versions)?;
    let sql = "SELECT id FROM nodes WHERE tree = $1 AND seq = $2";
    id(&conn.query_one(sql, &[&Uuid(key.tree.to_bytes()), &key.seq])?, 0, NodeId::from_bytes)
}

fn read(conn: &PostgresConnection, row: &Row) -> Result<Session> {
    let tree = id(row, 3, TreeId::from_bytes)?;
    let versions: Vec<NodeId> = from_json(row, 5)?;
    let position = match opt_id(row, 20, NodeId::from_bytes)? {
        None => opt_int(row, 4)?.map(|seq| visible(conn, NodeKey { tree, seq }, &versions)).transpose()?,
        found => found,
    };
    let cursor = match opt_id(row, 21, NodeId::from_bytes)? {
        None => {
            let at = opt_id(row, 18, NodeId::from_bytes)?.map(|id| path::find(conn, id)).transpose()?.flatten();
            at.map(|at| visible(conn, at.key, &versions)).transpose()?
        }
        found => found,
    };
    Ok(Session {
        id: id(row, 0, SessionId::from_bytes)?,
        workspace: get(row, 1)?,
        agent: id(row, 2, AgentId::from_bytes)?,
        tree,
        position,
        cursor,
        versions,
        started_at: time(row, 6)?,
        last_active_at: time(row, 7)?,
        expires_at: opt_time(row, 8)?,
        turns: number(row, 9)?,
        since: number(row, 17)?,
        person_turns: number(row, 19)?,
        tokens: number(row, 10)?,
        active: get(row, 11)?,
        metadata: from_json(row, 12)?,
        model: get(row, 13)?,
        item: item(row, 14)?,
        delegated_by: opt_id(row, 16, SessionId::from_bytes)?,
    })
}

pub(in crate::store::postgres) fn get_session(conn: &PostgresConnection, id: SessionId) -> Result<Option<Session>> {
    let row = conn.query_opt(&format!("{SESSION} WHERE s.id = $1"), &[&Uuid(id.to_bytes())])?;
    row.map(|row| read(conn, &row)).transpose()
}

pub(in crate::store::postgres) fn list(conn: &PostgresConnection, filter: &SessionFilter) -> Result<Vec<Session>> {
    let sql = format!(
        "{SESSION} WHERE ($1::text IS NULL OR s.workspace = $1) AND ($2::uuid IS NULL OR s.agent = $2)
             AND ($3::uuid IS NULL OR s.tree = $3) AND (NOT $4 OR s.active)
             AND ($5::bigint IS NULL OR s.expires_at IS NULL OR s.expires_at > $5)
             AND (NOT $6 OR s.project IS NOT DISTINCT FROM $7 AND s.external_ref IS NOT DISTINCT FROM $8)
             AND (NOT $9 OR s.turn_count > 0) AND ($11 OR s.delegated_by IS NULL)
             AND ($12::bigint IS NULL OR s.active AND s.expires_at IS NOT NULL AND s.expires_at <= $12)
         ORDER BY s.active_hour DESC, s.last_active_at DESC, s.seq DESC LIMIT $10"
    );
    let item = filter.item.as_ref().and_then(Option::as_ref);
    let rows = conn.query(
        &sql,
        &[
            &filter.workspace,
            &filter.agent.map(|id| Uuid(id.to_bytes())),
            &filter.tree.map(|id| Uuid(id.to_bytes())),
            &filter.active,
            &filter.unexpired.map(Timestamp::as_millis),
            &filter.item.is_some(),
            &item.map(|item| &item.project),
            &item.map(|item| &item.external_ref),
            &filter.spoken,
            &limit(filter.limit),
            &filter.delegated,
            &filter.expired.map(Timestamp::as_millis),
        ],
    )?;
    rows.iter().map(|row| read(conn, row)).collect()
}

/// Counts sessions by what became of them. The update that ends a session sets its last activity.
pub(in crate::store::postgres) fn counts(conn: &PostgresConnection, now: Timestamp) -> Result<SessionCounts> {
    let sql = "SELECT count(*) FILTER (WHERE active AND coalesce(expires_at > $1, true)),
                   count(*) FILTER (WHERE NOT active AND coalesce(expires_at > last_active_at, true)), count(*)
               FROM sessions";
    let row = conn.query_one(sql, &[&now.as_millis()])?;
    let (active, ended) = (number(&row, 0)?, number(&row, 1)?);
    Ok(SessionCounts { active, ended, expired: number(&row, 2)?.saturating_sub(active + ended) })
}
