//! Application of mutations of agents.

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, unsupported},
    decode::{coded, from_json, get, opt_int},
    session_state::json,
    uuid::Uuid,
};
use crate::{
    store::{ChangeKind, Mutation, Result, StoreError},
    types::{AgentKind, NewAgent, Permissions},
};

impl PgChangeApplier<'_> {
    /// Fails if another agent or document has this name.
    pub(super) fn check_name(&self, table: &str, what: &str, name: &str, own: Uuid) -> Result<()> {
        let sql = format!("SELECT 1 FROM {table} WHERE name = $1 AND NOT removed AND id <> $2");
        match self.conn.query_opt(&sql, &[&name, &own])? {
            Some(_) => Err(StoreError::Conflict(format!("{what} named {name:?} exists already"))),
            None => Ok(()),
        }
    }

    pub(super) fn apply_agent(&mut self, mutation: &Mutation) -> Result<Applied> {
        let (kind, undo) = match mutation {
            Mutation::CreateAgent(agent) => {
                self.check_name("agents", "an agent", &agent.name, Uuid::from(agent.id))?;
                let seq = self.next()?;
                self.conn.execute(
                    "INSERT INTO agents (id, seq, kind, created_at, name, model, system_prompt, temperature, max_tokens, stop,
                         permissions) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                    &[
                        &Uuid::from(agent.id),
                        &seq,
                        &agent.kind.code(),
                        &self.change.at.as_millis(),
                        &agent.name,
                        &agent.model,
                        &agent.system_prompt,
                        &agent.temperature,
                        &agent.max_tokens.map(i64::from),
                        &json(&agent.stop)?,
                        &agent.permissions.bits(),
                    ],
                )?;
                (ChangeKind::CreateAgent, Some(Mutation::SetAgentRemoved { agent: agent.id, removed: true }))
            }
            Mutation::UpdateAgent(agent) => {
                let before = self.profile(agent)?;
                if before.kind != agent.kind {
                    return Err(StoreError::Refused("the kind of an agent, human or model, cannot change".to_owned()));
                }
                self.check_name("agents", "an agent", &agent.name, Uuid::from(agent.id))?;
                self.conn.execute(
                    "UPDATE agents SET name = $2, model = $3, system_prompt = $4, temperature = $5, max_tokens = $6,
                         stop = $7, permissions = $8 WHERE id = $1",
                    &[
                        &Uuid::from(agent.id),
                        &agent.name,
                        &agent.model,
                        &agent.system_prompt,
                        &agent.temperature,
                        &agent.max_tokens.map(i64::from),
                        &json(&agent.stop)?,
                        &agent.permissions.bits(),
                    ],
                )?;
                let changed = before != *agent;
                (ChangeKind::UpdateAgent, changed.then_some(Mutation::UpdateAgent(before)))
            }
            Mutation::SetAgentRemoved { agent, removed } => {
                let key = Uuid::from(*agent);
                let row = self.conn.query_opt("SELECT name, removed FROM agents WHERE id = $1 FOR UPDATE", &[&key])?;
                let row = row.ok_or_else(|| StoreError::not_found("agent", agent))?;
                if !removed {
                    self.check_name("agents", "an agent", get(&row, 0)?, key)?;
                }
                self.conn.execute("UPDATE agents SET removed = $2 WHERE id = $1", &[&key, removed])?;
                let undo = Mutation::SetAgentRemoved { agent: *agent, removed: !removed };
                (ChangeKind::SetAgentRemoved, (get::<bool>(&row, 1)? != *removed).then_some(undo))
            }
            _ => return Err(unsupported()),
        };
        Ok((kind, undo.map(PgAppliedMutation::shared)))
    }

    /// The stored profile of an agent.
    fn profile(&self, agent: &NewAgent) -> Result<NewAgent> {
        let sql = "SELECT name, kind, model, system_prompt, temperature, max_tokens, stop, permissions FROM agents
                   WHERE id = $1 FOR UPDATE";
        let row = self.conn.query_opt(sql, &[&Uuid::from(agent.id)])?;
        let row = row.ok_or_else(|| StoreError::not_found("agent", agent.id))?;
        let mut before = agent.clone();
        before.name = get(&row, 0)?;
        before.kind = coded(&row, 1, AgentKind::from_code)?;
        before.model = get(&row, 2)?;
        before.system_prompt = get(&row, 3)?;
        before.temperature = get(&row, 4)?;
        before.max_tokens = opt_int(&row, 5)?.and_then(|most| most.try_into().ok());
        before.stop = from_json(&row, 6)?;
        before.permissions = coded(&row, 7, Permissions::from_bits)?;
        Ok(before)
    }
}
