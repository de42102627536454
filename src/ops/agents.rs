//! Operations on agents: create, update, remove.

use std::ops::RangeInclusive;

use super::{Actor, OpsError, Result};
use crate::{
    id::AgentId,
    store::{Mutation, Receipt},
    types::{AuthorType, NewAgent, Op},
};

/// Name of the agent as which programs act by default.
const OWNER: &str = "owner";

/// Sampling temperatures that an agent may have.
const TEMPERATURES: RangeInclusive<f64> = 0.0..=10.0;

impl Actor {
    /// Creates an agent from its profile.
    ///
    /// # Errors
    /// If the name is empty, taken or stands for all authors of a kind, the sampling is out of range, or the store fails.
    pub fn create_agent(&self, agent: NewAgent) -> Result<Receipt> {
        check_name(&agent.name)?;
        check_sampling(&agent)?;
        self.commit(Op::Agent, vec![Mutation::CreateAgent(agent)])
    }

    /// Replaces the profile of an agent.
    ///
    /// # Errors
    /// If the agent does not exist, its kind would change, the name is taken, it is the owner and would be renamed, or the
    /// store fails.
    pub fn update_agent(&self, agent: NewAgent) -> Result<Receipt> {
        if agent.name != OWNER && self.is_owner(agent.id) {
            return Err(OpsError::Invalid(format!("the agent {OWNER:?} keeps its name: programs act as it")));
        }
        // An agent of an older file or an import keeps its name.
        let agents = self.loom.snapshot()?.agents()?;
        if !agents.iter().any(|known| known.id() == agent.id && known.name() == agent.name) {
            check_name(&agent.name)?;
        }
        check_sampling(&agent)?;
        self.commit(Op::Agent, vec![Mutation::UpdateAgent(agent)])
    }

    /// Removes an agent. Its nodes remain.
    ///
    /// # Errors
    /// If the agent is the acting one, the owner, or does not exist, or the store fails.
    pub fn remove_agent(&self, agent: AgentId) -> Result<Receipt> {
        if agent == self.agent {
            return Err(OpsError::Invalid("an agent cannot remove itself".to_owned()));
        }
        if self.is_owner(agent) {
            return Err(OpsError::Invalid(format!("the agent {OWNER:?} stays: programs act as it")));
        }
        self.commit(Op::Agent, vec![Mutation::SetAgentRemoved { agent, removed: true }])
    }

    /// True for the agent as which programs act by default.
    fn is_owner(&self, agent: AgentId) -> bool {
        self.loom.agent(OWNER).is_ok_and(|owner| owner.id() == agent)
    }
}

/// Checks the name of an agent.
fn check_name(name: &str) -> Result<()> {
    let name = name.trim();
    if name.is_empty() {
        return Err(OpsError::Invalid("an agent needs a name".to_owned()));
    }
    if name.to_lowercase().parse::<AuthorType>().is_ok() {
        return Err(OpsError::Invalid(format!("{name:?} names all authors of a kind, so no agent has this name")));
    }
    Ok(())
}

/// Checks the sampling of an agent.
fn check_sampling(agent: &NewAgent) -> Result<()> {
    if agent.temperature.is_some_and(|temperature| !TEMPERATURES.contains(&temperature)) {
        return Err(OpsError::Invalid("the temperature must be between 0 and 10".to_owned()));
    }
    if agent.max_tokens == Some(0) {
        return Err(OpsError::Invalid("the limit of a reply is at least one token".to_owned()));
    }
    Ok(())
}
