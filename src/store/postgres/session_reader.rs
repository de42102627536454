//! The snapshot's queries of agents, sessions, and data that belongs to them.

use super::{
    decode::{coded, from_json, get, id, number, opt_id, opt_int, opt_time, small, time, undecodable},
    session_state,
    snapshot::PostgresSnapshot,
    tables::{memory, sessions},
    uuid::Uuid,
};
use crate::{
    id::{AgentId, NodeId, SessionId, TodoId, TreeId},
    session_state::{RecordKind, SessionRecord, SessionState},
    store::{Result, SessionFilter, SessionReader},
    tokens::TokenCalibration,
    types::{
        Agent, AgentKind, Json, Lease, Memory, NewAgent, Permissions, Session, SessionCounts, StashContent, Timestamp,
        Todo, TodoStatus,
    },
};

impl SessionReader for PostgresSnapshot<'_> {
    fn agents(&self) -> Result<Vec<Agent>> {
        let sql = "SELECT id, name, kind, model, system_prompt, temperature, max_tokens, stop, permissions, created_at,
                       removed FROM agents ORDER BY seq, id";
        let agent = |row: &tokio_postgres::Row| {
            Ok(Agent {
                profile: NewAgent {
                    id: id(row, 0, AgentId::from_bytes)?,
                    name: get(row, 1)?,
                    kind: coded(row, 2, AgentKind::from_code)?,
                    model: get(row, 3)?,
                    system_prompt: get(row, 4)?,
                    temperature: get(row, 5)?,
                    max_tokens: opt_int(row, 6)?.and_then(|tokens| u32::try_from(tokens).ok()),
                    stop: from_json(row, 7)?,
                    permissions: coded(row, 8, Permissions::from_bits)?,
                },
                created_at: time(row, 9)?,
                removed: get(row, 10)?,
            })
        };
        self.query(sql, &[])?.iter().map(agent).collect()
    }

    fn session(&self, id: SessionId) -> Result<Option<Session>> {
        sessions::get_session(self, id)
    }

    fn session_state(&self, id: SessionId) -> Result<SessionState> {
        session_state::load(self, self.session_key(id)?, &self.rules)
    }

    fn system_prompt(&self, id: SessionId) -> Result<Option<String>> {
        let sql = "SELECT content FROM system_prompts WHERE session = $1 ORDER BY turn DESC LIMIT 1";
        self.query_opt(sql, &[&self.session_key(id)?])?.map(|row| get(&row, 0)).transpose()
    }

    fn records(&self, id: SessionId) -> Result<Vec<SessionRecord>> {
        session_state::records(self, self.session_key(id)?)
    }

    fn received_turns(&self, id: SessionId, node: Option<NodeId>) -> Result<Vec<(u64, NodeId)>> {
        let sql = "SELECT r.turn, n.id FROM received_turns r JOIN nodes n ON n.tree = r.tree AND n.seq = r.node
                   WHERE r.session = $1 AND ($2::uuid IS NULL OR n.id = $2) ORDER BY r.turn";
        let rows = self.query(sql, &[&self.session_key(id)?, &node.map(|id| Uuid(id.to_bytes()))])?;
        rows.iter().map(|row| Ok((number(row, 0)?, super::decode::id(row, 1, NodeId::from_bytes)?))).collect()
    }

    fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        filter.agent.map(|id| self.agent_key(id)).transpose()?;
        filter.tree.map(|id| self.tree_key(id)).transpose()?;
        sessions::list(self, filter)
    }

    fn session_counts(&self, now: Timestamp) -> Result<SessionCounts> {
        sessions::counts(self, now)
    }

    fn leases(&self, tree: TreeId) -> Result<Vec<Lease>> {
        let sql = "SELECT n.id, l.agent, l.session, l.expires_at
                   FROM leases l JOIN nodes n ON n.tree = l.tree AND n.seq = l.node WHERE l.tree = $1 ORDER BY l.node";
        let lease = |row: &tokio_postgres::Row| {
            Ok(Lease {
                node: id(row, 0, NodeId::from_bytes)?,
                agent: id(row, 1, AgentId::from_bytes)?,
                session: opt_id(row, 2, SessionId::from_bytes)?,
                until: time(row, 3)?,
            })
        };
        self.query(sql, &[&self.tree_key(tree)?])?.iter().map(lease).collect()
    }

    fn memory(&self, agent: AgentId, tree: TreeId) -> Result<Memory> {
        memory::load(self, self.agent_key(agent)?, self.tree_key(tree)?)
    }

    fn stashed(&self, agent: AgentId, tree: TreeId, label: &str, result: bool) -> Result<Option<StashContent>> {
        memory::stashed(self, [self.agent_key(agent)?, self.tree_key(tree)?], label, result)
    }

    fn todos(&self, session: SessionId, turn: Option<u64>) -> Result<Vec<Todo>> {
        let sql = "SELECT id, turn, made_in, number, title, context, criteria, agent_type, status, outcome, created_at,
                       started_at, completed_at FROM todos
                   WHERE session = $1 AND ($2::bigint IS NULL OR turn = $2) ORDER BY turn, place, seq DESC";
        let turn = turn.map(|turn| i64::try_from(turn).unwrap_or(i64::MAX));
        let todo = |row: &tokio_postgres::Row| {
            Ok(Todo {
                id: id(row, 0, TodoId::from_bytes)?,
                session,
                turn: number(row, 1)?,
                made_in: number(row, 2)?,
                number: small(row, 3)?,
                title: get(row, 4)?,
                context: get(row, 5)?,
                criteria: get(row, 6)?,
                agent_type: get(row, 7)?,
                status: coded(row, 8, TodoStatus::from_code)?,
                outcome: get(row, 9)?,
                created_at: time(row, 10)?,
                started_at: opt_time(row, 11)?,
                completed_at: opt_time(row, 12)?,
            })
        };
        self.query(sql, &[&Uuid(session.to_bytes()), &turn])?.iter().map(todo).collect()
    }

    fn delegation(&self, head: NodeId) -> Result<Vec<Json>> {
        let sql = "SELECT e.event FROM nodes n JOIN delegation_events e ON e.tree = n.tree AND e.delegation = n.seq
                   WHERE n.id = $1 ORDER BY e.number";
        let rows = self.query(sql, &[&Uuid(head.to_bytes())])?;
        rows.iter().map(|row| Json::parse(get::<String>(row, 0)?).map_err(undecodable)).collect()
    }

    fn delegations(&self) -> Result<Vec<(NodeId, Json)>> {
        let sql = "SELECT n.id, e.event FROM (
                       SELECT DISTINCT ON (delegation) tree, delegation, event FROM delegation_events
                       ORDER BY delegation, number DESC) e
                   JOIN nodes n ON n.tree = e.tree AND n.seq = e.delegation ORDER BY e.delegation DESC";
        let read = |row: &tokio_postgres::Row| {
            Ok((id(row, 0, NodeId::from_bytes)?, Json::parse(get::<String>(row, 1)?).map_err(undecodable)?))
        };
        self.query(sql, &[])?.iter().map(read).collect()
    }

    fn correction(&self, model: &str) -> Result<Option<TokenCalibration>> {
        let sql = "SELECT estimated, reported FROM estimates WHERE model = $1";
        let Some(row) = self.query_opt(sql, &[&model])? else { return Ok(None) };
        Ok(TokenCalibration::of(number(&row, 0)?, number(&row, 1)?))
    }
}

/// Decodes a record from its turn, kind and content.
pub(super) fn record(row: &tokio_postgres::Row) -> Result<SessionRecord> {
    Ok(SessionRecord { turn: number(row, 0)?, kind: coded(row, 1, RecordKind::from_code)?, content: get(row, 2)? })
}
