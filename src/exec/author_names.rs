//! Names of the authors of nodes, as one agent reads them.

use std::collections::HashMap;

use crate::{
    id::AgentId,
    store::{Result, Snapshot},
    types::{AuthorType, Node, one_line},
};

/// Agents that a prompt names by their kind alone.
const UNNAMED_AGENTS: [&str; 2] = ["owner", "subject"];

/// Names of all agents, for the texts that one agent reads.
pub struct AuthorNames {
    reader: AgentId,
    names: HashMap<AgentId, String>,
}

impl AuthorNames {
    /// Reads the names.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn read(snapshot: &dyn Snapshot, reader: AgentId) -> Result<Self> {
        let names = snapshot.agents()?.into_iter().map(|agent| (agent.id(), one_line(agent.name()))).collect();
        Ok(Self { reader, names })
    }

    /// Returns the name of an agent.
    #[must_use]
    pub fn name(&self, agent: AgentId) -> &str {
        self.names.get(&agent).map_or("?", String::as_str)
    }

    /// Returns kind and name of a node's author: `human owner`, `model (you)`, `tool read_file`.
    #[must_use]
    pub fn full(&self, node: &Node) -> String {
        self.label(node, |_| true)
    }

    /// Like [`Self::full`], without the names of the default human and the default subject: `human`, `model critic`.
    #[must_use]
    pub fn short(&self, node: &Node) -> String {
        self.label(node, |name| !UNNAMED_AGENTS.contains(&name))
    }

    fn label(&self, node: &Node, is_shown: impl Fn(&str) -> bool) -> String {
        let speaker = node.speaker();
        match node.author_type {
            AuthorType::Tool => node.tool.name.as_ref().map_or(speaker, |name| format!("tool {}", one_line(name))),
            AuthorType::System => speaker,
            AuthorType::Human | AuthorType::Model if node.author == self.reader => format!("{speaker} (you)"),
            AuthorType::Human | AuthorType::Model => match self.name(node.author) {
                name if is_shown(name) => format!("{speaker} {name}"),
                _ => speaker,
            },
        }
    }
}
