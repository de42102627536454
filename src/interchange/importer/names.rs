//! Names of an import: agents of models, sources of messages, titles.

use super::Importer;
use crate::{
    id::AgentId,
    interchange::{
        InterchangeError,
        source_record::{SourceConversation, SourcePlace},
    },
    types::{Agent, AgentKind, NewAgent, first_words},
};

/// Name of a conversation's root among its messages.
pub(super) const ROOT_KEY: &str = "session";
pub(super) const MAX_TITLE_CHARS: usize = 60;
/// Agents that one import creates at most: more models in a file are not real.
const MAX_NEW_AGENTS: usize = 256;
const MAX_NAME_CHARS: usize = 100;

impl Importer<'_> {
    /// Returns the agent of a model, and creates it if it is missing.
    pub(super) fn agent(&mut self, place: SourcePlace, model: &str) -> Result<AgentId, InterchangeError> {
        if let Some(agent) = self.agents.get(model) {
            return Ok(*agent);
        }
        let name = first_words(model, MAX_NAME_CHARS);
        let reference = model.contains(':').then(|| name.clone());
        let known = self.loom().snapshot()?.agents()?;
        let same = |agent: &&Agent| !agent.removed && agent.profile.model == reference && agent.name() == name;
        if let Some(agent) = known.iter().find(same) {
            self.agents.insert(model.to_owned(), agent.id());
            return Ok(agent.id());
        }
        if self.agents.len() >= MAX_NEW_AGENTS || name.is_empty() {
            self.problem(place, "the name of its model is not usable; the message is the importer's");
            return Ok(self.actor.agent());
        }
        let taken = |name: &str| known.iter().any(|agent| !agent.removed && agent.name() == name);
        let free = (2..).map(|n| format!("{name} ({n})")).find(|name| !taken(name));
        let profile = NewAgent {
            model: reference.clone(),
            ..NewAgent::new(
                self.loom().agent_id(),
                if taken(&name) { free.unwrap_or_default() } else { name.clone() },
                AgentKind::Model,
            )
        };
        let mut id = profile.id;
        let now = self.loom().now();
        if !self.batch.commit_agent(profile, now)? {
            // Another process imports messages of the same model, and has created its agent.
            let known = self.loom().snapshot()?.agents()?;
            let Some(agent) = known.iter().find(same) else {
                self.problem(place, "the agent of its model cannot be created; the message is the importer's");
                return Ok(self.actor.agent());
            };
            id = agent.id();
        }
        self.agents.insert(model.to_owned(), id);
        Ok(id)
    }

    /// True if the store has a person of this name.
    pub(in crate::interchange) fn is_person(&mut self, name: &str) -> Result<bool, InterchangeError> {
        let agents = self.reader()?.agents()?;
        Ok(agents.iter().any(|agent| agent.profile.kind == AgentKind::Human && agent.name() == name))
    }

    /// Returns the source of a message for the table `sources`.
    pub(super) fn source(&self, conversation: &SourceConversation, message: &str) -> String {
        if conversation.has_global_ids && message != ROOT_KEY {
            format!("{}:{message}", self.format)
        } else {
            format!("{}:{}:{message}", self.format, conversation.id)
        }
    }
}
