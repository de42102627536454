//! Request of a worker's turn: its model, the tools of its subtask, the limit of rounds, and no orchestrator.

use std::sync::Arc;

use super::{super::Subtask, DelegationDriver};
use crate::{
    id::NodeId,
    provider::Model,
    session::{GenerateRequest, HostTools, ToolAccess},
    tools::{ErrorCode, ToolError},
};

impl DelegationDriver {
    pub(super) fn model(&self, fallback: bool) -> Arc<dyn Model> {
        let model = self.config.fallback.as_ref().filter(|_| fallback).unwrap_or(&self.config.worker.model);
        Arc::clone(model)
    }

    /// Builds the request of a worker's turn. `from` is the node with the instructions; `context_start` is the first node of the subtask's
    /// branch.
    pub(super) fn worker_request(
        &self,
        (task, subtask): (usize, &Subtask),
        (from, context_start): (NodeId, NodeId),
        model: Arc<dyn Model>,
    ) -> Result<GenerateRequest, ToolError> {
        let config = &self.config;
        let who = self.worker_name(task);
        let tools_of_subtask =
            config.worker_tools.tools(&who).into_iter().filter(|(tool, _)| subtask.tools.contains(&tool.name));
        let tools =
            tools_of_subtask.into_iter().try_fold(HostTools::default(), |all, (tool, handler)| all.with(tool, handler));
        let commands = ToolAccess {
            rounds: config.rounds,
            native: config.native,
            max_inline_tokens: config.max_inline_tokens,
            withheld: self.run_context.withheld,
            // A worker does not delegate.
            orchestrator: None,
            tools: Arc::new(tools.map_err(|error| ToolError::new(ErrorCode::NotConfigured, error.to_string()))?),
            ..ToolAccess::new(Arc::clone(&config.models))
        };
        Ok(GenerateRequest {
            context_start: Some(context_start),
            context: config.context,
            cancel: self.run_context.cancel.child_token(),
            partials_dir: config.partials_dir.clone(),
            prices: config.prices.clone(),
            ..GenerateRequest::turn(from, config.worker.agent.clone(), model, commands)
        })
    }

    /// Returns the worker's name as other agents see it.
    pub(super) fn worker_name(&self, task: usize) -> String {
        format!("{}, subtask {} of [{}]", self.config.worker.agent.name(), task + 1, self.head.local)
    }
}
