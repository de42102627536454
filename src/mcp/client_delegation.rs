//! Orchestrator for delegations of the client's model.
//!
//! The user consents to calls of that model. An agent that the model has continue could delegate by its own permission
//! without a question, so its delegations are refused.

use std::sync::Arc;

use crate::{
    id::{AgentId, NodeId},
    ops::Actor,
    session::{BoxFuture, DelegationReport, Orchestrator, RunContext},
    tools::{ErrorCode, ToolError},
};

/// Orchestrator that serves one agent and refuses all others.
pub(super) struct CallerOrchestrator {
    inner: Arc<dyn Orchestrator>,
    agent: AgentId,
}

impl CallerOrchestrator {
    pub(super) fn new(inner: Arc<dyn Orchestrator>, agent: AgentId) -> Self {
        Self { inner, agent }
    }

    fn check(&self, actor: &Actor) -> Result<(), ToolError> {
        if actor.agent() == self.agent {
            return Ok(());
        }
        let message = "this needs the permission delegate: the user cannot be asked about the plan of an invoked agent";
        Err(ToolError::new(ErrorCode::PermissionDenied, message)
            .hint("`delegate.allow` in the configuration allows it"))
    }
}

impl Orchestrator for CallerOrchestrator {
    fn create(&self, actor: &Actor, parent: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError> {
        self.check(actor)?;
        self.inner.create(actor, parent, goal, context)
    }

    fn run(&self, run: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>> {
        match self.check(&run.actor) {
            Ok(()) => self.inner.run(run),
            Err(refused) => Box::pin(async { Err(refused) }),
        }
    }
}
