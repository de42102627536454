//! Application of mutations of agents and sessions.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::{
        agents,
        nodes::{self, Anchor},
        received_turns, session_states, sessions, trees,
    },
    ulid_cache::UlidCache,
};
use crate::{
    session_state::TurnRecord,
    store::{
        ChangeKind, Mutation, Result, StoreError,
        new_node::{TurnFigures, TurnOrder},
        undo_rules::move_back,
    },
    types::{AuthorType, EdgeKind},
};

impl ChangeApplier<'_> {
    pub(super) fn apply_agent(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::CreateAgent(agent) => {
                agents::insert(self.conn, agent, at)?;
                let undo = Mutation::SetAgentRemoved { agent: agent.id, removed: true };
                (ChangeKind::CreateAgent, Some(AppliedMutation::new(None, None, Some(undo))))
            }
            Mutation::UpdateAgent(agent) => {
                let row = self.agent_row(agent.id)?;
                let before = agents::get(self.conn, row)?.profile;
                if before.kind != agent.kind {
                    return Err(StoreError::Refused("the kind of an agent, human or model, cannot change".to_owned()));
                }
                agents::update(self.conn, row, agent)?;
                let changed = before != *agent;
                let undo = Mutation::UpdateAgent(before);
                (ChangeKind::UpdateAgent, changed.then(|| AppliedMutation::new(None, None, Some(undo))))
            }
            Mutation::SetAgentRemoved { agent, removed } => {
                let row = self.agent_row(*agent)?;
                let changed = agents::get(self.conn, row)?.removed != *removed;
                agents::set_removed(self.conn, row, *removed)?;
                let undo = Mutation::SetAgentRemoved { agent: *agent, removed: !removed };
                (ChangeKind::SetAgentRemoved, changed.then(|| AppliedMutation::new(None, None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }

    pub(super) fn apply_session(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::CreateSession(session) => {
                let (agent, tree) = (self.agent_row(session.agent)?, self.tree_row(session.tree)?);
                let position = session.position.map(|n| self.node_of(n, tree)).transpose()?;
                trees::assign_work_item(self.conn, tree, session.item.as_ref())?;
                let item = trees::item(self.conn, tree)?;
                let by = session.delegated_by.map(|by| self.session_row(by)).transpose()?;
                sessions::insert(self.conn, session, (agent, tree, position.map(|p| p.row)), item.as_ref(), by)?;
                (ChangeKind::CreateSession, Some(AppliedMutation::new(Some(tree), position.map(|p| p.row), None)))
            }
            Mutation::UpdateSession { session, patch } => {
                let row = self.session_row(*session)?;
                if let Some(tree) = patch.tree {
                    let tree = self.tree_row(tree)?;
                    trees::assign_work_item(self.conn, tree, sessions::item(self.conn, row)?.as_ref())?;
                    sessions::reset(self.conn, row, tree)?;
                    self.cache.stale_sessions.insert(row);
                }
                let tree = sessions::tree(self.conn, row)?;
                let position = patch.position.map(|n| self.node_of(n, tree)).transpose()?.map(|p| p.row);
                for version in patch.versions.iter().flatten() {
                    self.node_of(*version, tree)?;
                }
                let undo = move_back((self.change.op, *session, patch), || {
                    let (position, versions) = sessions::place(self.conn, row)?;
                    Ok((position.map(|node| UlidCache::new(self.conn).node(node)).transpose()?, versions))
                })?;
                sessions::update(self.conn, row, patch, position, at)?;
                (ChangeKind::UpdateSession, Some(AppliedMutation::new(Some(tree), position, undo)))
            }
            Mutation::Record { session, kind, content, turn } => {
                let row = self.session_row(*session)?;
                let undo = self.record(row, *kind, content, *turn)?;
                let tree = sessions::tree(self.conn, row)?;
                (ChangeKind::Record, Some(AppliedMutation::new(Some(tree), None, Some(undo))))
            }
            Mutation::ReceiveTurn { session, node, turn } => {
                let (row, node) = (self.session_row(*session)?, self.node(*node)?);
                let received = self.receive_turn(row, &node, *turn)?;
                let applied = AppliedMutation::new(Some(node.tree), Some(node.row), None);
                (ChangeKind::ReceiveTurn, received.then_some(applied))
            }
            Mutation::SetRecordRemoved { record, removed } => {
                let session = session_states::set_removed(self.conn, *record, *removed)?;
                self.cache.stale_sessions.extend(session);
                let undo = Mutation::SetRecordRemoved { record: *record, removed: !removed };
                let tree = session.map(|session| sessions::tree(self.conn, session)).transpose()?;
                (ChangeKind::SetRecordRemoved, session.map(|_| AppliedMutation::new(tree, None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }

    /// Makes a message a turn of a session. False if it is one already.
    fn receive_turn(&mut self, session: i64, node: &Anchor, turn: Option<u64>) -> Result<bool> {
        let message = nodes::message(self.conn, node.row)?;
        if message.session == Some(session) || received_turns::turn(self.conn, session, node.row)?.is_some() {
            return Ok(false);
        }
        if (message.role, node.kind) != (AuthorType::Human, EdgeKind::Continuation) {
            return Err(StoreError::Refused("only a person's message can be received".to_owned()));
        }
        let figures = TurnFigures { tokens: message.tokens.unwrap_or(0).into(), person: true };
        let (turn, order) = match turn {
            None => (sessions::next_turn(self.conn, session, figures, self.change.at)?, TurnOrder::Next),
            Some(turn) if received_turns::is_taken(self.conn, session, turn)? => {
                return Err(StoreError::Conflict(format!("turn {turn} of the session exists already")));
            }
            Some(turn) => {
                let before = sessions::count_turn(self.conn, session, turn, figures)?;
                (turn, if turn > before { TurnOrder::Next } else { TurnOrder::OutOfOrder })
            }
        };
        received_turns::insert(self.conn, session, turn, node.row)?;
        self.cache.touched_sessions.insert(session);
        match order {
            TurnOrder::Next => sessions::advance(self.conn, session, (node.row, node.tree), [false, true])?,
            _ => drop(self.cache.stale_sessions.insert(session)),
        }
        let order = if message.hidden { TurnOrder::Hidden } else { order };
        let heard = TurnRecord {
            turn,
            author_type: message.role,
            kind: node.kind,
            content: &message.content,
            tool: None,
            call: None,
            metadata: None,
        };
        self.ingest_record(&heard, node.row, session, order)?;
        Ok(true)
    }
}
