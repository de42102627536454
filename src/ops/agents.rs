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
    /// If the name is empty or taken, or the store fails.
    pub fn create_agent(&self, agent: NewAgent) -> Result<Receipt> {
        check_profile(&agent)?;
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
        check_profile(&agent)?;
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

/// Checks the name and the sampling of an agent.
fn check_profile(agent: &NewAgent) -> Result<()> {
    let name = agent.name.trim();
    let invalid = |message: String| Err(OpsError::Invalid(message));
    if name.is_empty() {
        return invalid("an agent needs a name".to_owned());
    }
    if name.to_lowercase().parse::<AuthorType>().is_ok() {
        return invalid(format!("{name:?} names all authors of a kind, so no agent has this name"));
    }
    if agent.temperature.is_some_and(|temperature| !TEMPERATURES.contains(&temperature)) {
        return invalid("the temperature must be between 0 and 10".to_owned());
    }
    if agent.max_tokens == Some(0) {
        return invalid("the limit of a reply is at least one token".to_owned());
    }
    Ok(())
}
