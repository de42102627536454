//! Application of mutations of agents and sessions.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::{agents, registers, sessions, trees},
};
use crate::store::{ChangeKind, Mutation, Result, StoreError};

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
                sessions::update(self.conn, row, patch, position, at)?;
                (ChangeKind::UpdateSession, Some(AppliedMutation::new(Some(tree), position, None)))
            }
            Mutation::Record { session, kind, content, turn } => {
                let row = self.session_row(*session)?;
                let undo = self.record(row, *kind, content, *turn)?;
                let tree = sessions::tree(self.conn, row)?;
                (ChangeKind::Record, Some(AppliedMutation::new(Some(tree), None, Some(undo))))
            }
            Mutation::SetRecordRemoved { record, removed } => {
                let session = registers::set_removed(self.conn, *record, *removed)?;
                self.cache.stale_sessions.extend(session);
                let undo = Mutation::SetRecordRemoved { record: *record, removed: !removed };
                let tree = session.map(|session| sessions::tree(self.conn, session)).transpose()?;
                (ChangeKind::SetRecordRemoved, session.map(|_| AppliedMutation::new(tree, None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }
}
