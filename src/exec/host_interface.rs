//! The interface that the embedding program implements for the executor: models, host tools, search, summaries.

use super::escape;
use crate::{
    id::{LocalId, NodeId},
    ops::Actor,
    recall::QueryEmbedding,
    tools::{ErrorCode, HostTool, SummaryRequest, SummaryResponse, ToolError, WebHit, WebSearch},
    types::{Agent, Node, Permissions},
};

/// The parameters of a `continue` command.
#[derive(Debug)]
#[non_exhaustive]
pub struct ContinueRequest<'a> {
    /// The node to continue.
    pub from: &'a Node,
    /// Versions chosen on the path to the node.
    pub versions: &'a [NodeId],
    /// The agent that writes the continuations.
    pub author: &'a Agent,
    /// The number of continuations.
    pub n: u32,
    /// The maximum tokens of each continuation; `None` leaves it to the agent's settings.
    pub tokens: Option<u32>,
    /// The caller's instruction to the author.
    pub instruction: Option<&'a str>,
}

/// The parameters of a `delegate` command.
#[derive(Debug)]
#[non_exhaustive]
pub struct DelegateRequest<'a> {
    /// The node under which the delegation works.
    pub at: NodeId,
    /// The goal of the delegation; empty if `resume` names one.
    pub goal: &'a str,
    /// The head node of a delegation to resume instead of a new one.
    pub resume: Option<NodeId>,
    /// Context for the goal; empty if none was given.
    pub context: &'a str,
    /// True if the call blocks until the report exists.
    pub wait: bool,
}

/// A delegation and what its command answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegated {
    /// Local id of the delegation's first node.
    pub node: LocalId,
    /// The report or, without waiting, the command that shows the state.
    pub text: String,
}

/// The services of the embedding program. Every method blocks, so an asynchronous program runs the
/// [`Executor`](super::Executor) on a thread that may block.
pub trait Host: Send + Sync {
    /// Generates continuations of a node. Returns the saved nodes in the order of completion.
    ///
    /// # Errors
    /// If nothing was saved: no model is configured, it failed, or the user cancelled.
    fn generate(&self, actor: &Actor, asked: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError>;

    /// Delegates a goal to an orchestrator.
    ///
    /// # Errors
    /// If no orchestrator is configured, the user rejects the plan, or the delegation fails.
    fn delegate(&self, actor: &Actor, asked: &DelegateRequest<'_>) -> Result<Delegated, ToolError> {
        let _ = (actor, asked);
        Err(ToolError::new(ErrorCode::NotConfigured, "no orchestrator is set up"))
    }

    /// Returns the permissions that no agent has here, whatever its profile says.
    fn withheld(&self) -> Permissions {
        Permissions::default()
    }

    /// Returns the program's own tools. [`HostTool::check`] must accept them.
    fn tools(&self) -> &[HostTool] {
        &[]
    }

    /// Runs one of [`Host::tools`] with arguments that match its schema. Returns its output. If the first line is `exit 1` or
    /// another code than 0, the reply and the record of the call count as failed.
    ///
    /// # Errors
    /// If there is no such tool, or it fails.
    fn call(&self, name: &str, _arguments: &serde_json::Value) -> Result<String, ToolError> {
        Err(ToolError::new(ErrorCode::NotFound, format!("no tool {}", escape::quoted(name))))
    }

    /// Searches the web.
    ///
    /// # Errors
    /// If no service is configured, or it fails.
    fn search(&self, _asked: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let failure = ToolError::new(ErrorCode::NotConfigured, "no search service is set up");
        Err(failure.hint("set TAVILY_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or `search` in the configuration"))
    }

    /// Returns whether the user cancelled the work. The remaining lines of a batch then fail with `CANCELLED`.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Embeds a query for semantic recall; `None` if there is no embedding model or it failed.
    fn embed_query(&self, actor: &Actor, question: &str) -> Option<QueryEmbedding> {
        let _ = (actor, question);
        None
    }

    /// Requests a summary from a small model. `None` if there is no model or it failed: the executor then uses the
    /// first sentence and requests no more. A response is stored and requested only once.
    fn summarize(&self, asked: &SummaryRequest<'_>) -> Option<SummaryResponse> {
        let _ = asked;
        None
    }
}

/// A host without models, tools and services.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn generate(&self, _: &Actor, _: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError> {
        Err(ToolError::new(ErrorCode::NotConfigured, "no model is set up"))
    }
}
