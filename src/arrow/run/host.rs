//! What the program around the engine does for commands: models, tools, summaries.

use super::{Code, Extra, Failure, Summarized, Summary, frame};
use crate::{
    id::NodeId,
    model::{Agent, Node},
    ops::Actor,
};

/// What continues a node: which, by whom, how often, how long.
#[derive(Debug)]
pub struct Generation<'a> {
    /// The node to continue.
    pub from: &'a Node,
    /// The versions to read on the way to it.
    pub versions: &'a [NodeId],
    /// Who writes.
    pub author: &'a Agent,
    /// How many continuations.
    pub n: u32,
    /// At most so many tokens each.
    pub tokens: Option<u32>,
}

/// What the program around the engine does for it. A [`Runner`] blocks while it waits, so an asynchronous program runs
/// it where that does no harm.
pub trait Host: Send + Sync {
    /// Has a model continue a node; returns what was saved, in the order in which it ended.
    ///
    /// # Errors
    /// If there is no model, it failed, or somebody stopped it, and nothing was saved.
    fn generate(&self, actor: &Actor, asked: &Generation<'_>) -> Result<Vec<NodeId>, Failure>;

    /// The program's own tools. [`Extra::check`] has to hold for them.
    fn tools(&self) -> &[Extra] {
        &[]
    }

    /// Runs one of [`Host::tools`] with arguments as its schema has them; returns what it says.
    ///
    /// # Errors
    /// If there is no such tool, or it failed.
    fn call(&self, name: &str, _arguments: &serde_json::Value) -> Result<String, Failure> {
        Err(Failure::new(Code::NotFound, format!("no tool {}", frame::quoted(name))))
    }

    /// Whether somebody stopped the work. Lines of a batch that are not run yet are then answered so.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Has a small model sum something up. `None`: there is none, or it failed; then the first sentence serves, and this
    /// runner asks no more. The answer is kept, and asked for only once.
    fn summarize(&self, asked: &Summary<'_>) -> Option<Summarized> {
        let _ = asked;
        None
    }
}

/// A host without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Host for Alone {
    fn generate(&self, _: &Actor, _: &Generation<'_>) -> Result<Vec<NodeId>, Failure> {
        Err(Failure::new(Code::NotConfigured, "no model is set up"))
    }
}
