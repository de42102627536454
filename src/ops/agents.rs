//! Agents: made, changed, taken out of use.

use super::{Actor, OpsError, Result};
use crate::{
    id::AgentId,
    store::{Mutation, Receipt},
    types::{NewAgent, Op},
};

impl Actor {
    /// Makes an agent.
    ///
    /// # Errors
    /// If the name is empty or taken, or the store fails.
    pub fn create_agent(&self, agent: NewAgent) -> Result<Receipt> {
        if agent.name.trim().is_empty() {
            return Err(OpsError::Invalid("an agent needs a name".to_owned()));
        }
        self.commit(Op::Agent, vec![Mutation::CreateAgent(agent)])
    }

    /// Gives an agent a new profile.
    ///
    /// # Errors
    /// If it is not there, its kind would change, the name is taken, or the store fails.
    pub fn update_agent(&self, agent: NewAgent) -> Result<Receipt> {
        self.commit(Op::Agent, vec![Mutation::UpdateAgent(agent)])
    }

    /// Takes an agent out of use. What it wrote stays.
    ///
    /// # Errors
    /// If it is the one that acts, or not there, or the store fails.
    pub fn remove_agent(&self, agent: AgentId) -> Result<Receipt> {
        if agent == self.agent {
            return Err(OpsError::Invalid("an agent cannot remove itself".to_owned()));
        }
        self.commit(Op::Agent, vec![Mutation::SetAgentRemoved { agent, removed: true }])
    }
}
