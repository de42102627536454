//! What the program around the engine does for commands: models, tools, summaries.

use super::escape;
use crate::{
    id::NodeId,
    ops::Actor,
    recall::QueryEmbedding,
    tools::{ErrorCode, HostTool, SummaryRequest, SummaryResponse, ToolError, WebHit, WebSearch},
    types::{Agent, Node},
};

/// What continues a node: which, by whom, how often, how long.
#[derive(Debug)]
pub struct ContinueRequest<'a> {
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

/// Work that is handed over.
#[derive(Debug)]
pub struct DelegateRequest<'a> {
    /// The node below which it is done.
    pub at: NodeId,
    /// What is wanted.
    pub goal: &'a str,
    /// What is to be known for that.
    pub context: &'a str,
    /// Whether the report is waited for.
    pub wait: bool,
}

/// What the program around the engine does for it. A [`super::Executor`] blocks while it waits, so an asynchronous program runs
/// it where that does no harm.
pub trait Host: Send + Sync {
    /// Has a model continue a node; returns what was saved, in the order in which it ended.
    ///
    /// # Errors
    /// If there is no model, it failed, or somebody stopped it, and nothing was saved.
    fn generate(&self, actor: &Actor, asked: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError>;

    /// Hands work over to an orchestrator; returns its report, or, where nobody waits, what it is to be asked for by.
    ///
    /// # Errors
    /// If there is no orchestrator, the person does not agree, or it failed.
    fn delegate(&self, actor: &Actor, asked: &DelegateRequest<'_>) -> Result<String, ToolError> {
        let _ = (actor, asked);
        Err(ToolError::new(ErrorCode::NotConfigured, "no orchestrator is set up"))
    }

    /// The program's own tools. [`Extra::check`] has to hold for them.
    fn tools(&self) -> &[HostTool] {
        &[]
    }

    /// Runs one of [`Host::tools`] with arguments as its schema has them; returns what it says.
    ///
    /// # Errors
    /// If there is no such tool, or it failed.
    fn call(&self, name: &str, _arguments: &serde_json::Value) -> Result<String, ToolError> {
        Err(ToolError::new(ErrorCode::NotFound, format!("no tool {}", escape::quoted(name))))
    }

    /// Searches the web.
    ///
    /// # Errors
    /// If there is no service, or it failed.
    fn search(&self, _asked: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let failure = ToolError::new(ErrorCode::NotConfigured, "no search service is set up");
        Err(failure.hint("set TAVILY_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or `search` in the configuration"))
    }

    /// Whether somebody stopped the work. Lines of a batch that are not run yet are then answered so.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// What a question means, for a recall that goes by more than words; `None`: there is no model for that, or it failed.
    fn meaning(&self, actor: &Actor, question: &str) -> Option<QueryEmbedding> {
        let _ = (actor, question);
        None
    }

    /// Has a small model sum something up. `None`: there is none, or it failed; then the first sentence serves, and this
    /// runner asks no more. The answer is kept, and asked for only once.
    fn summarize(&self, asked: &SummaryRequest<'_>) -> Option<SummaryResponse> {
        let _ = asked;
        None
    }
}

/// A host without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn generate(&self, _: &Actor, _: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError> {
        Err(ToolError::new(ErrorCode::NotConfigured, "no model is set up"))
    }
}
