//! Planning and approval of the plan.

use std::sync::Arc;

use super::{
    super::{DelegationState, Plan, PlanRules, prompts},
    DelegationDriver, DelegationEffect, DelegationEvent,
};
use crate::{
    provider::ProviderError,
    session::{ApprovalRequest, GenerateError, SideConversation},
    tools::{ErrorCode, ToolError},
};

impl DelegationDriver {
    /// Returns the plan of an earlier run, if it is still valid here or complete: then nothing of it is left to run.
    pub(super) fn earlier_plan(&self) -> Option<Plan> {
        let made =
            |event: &DelegationEvent| if let DelegationEvent::Planned { node } = event { Some(*node) } else { None };
        let node = self.loom.node(self.events.iter().rev().find_map(made)?).ok()?;
        let is_complete =
            |plan: &Plan| DelegationState::replay(plan.clone(), self.limits(), &self.events).is_complete();
        let complete = Plan::parse_lenient(&node.content).filter(is_complete);
        complete.or_else(|| Plan::read(&node.content, &self.rules(&self.names())).ok())
    }

    fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn rules<'a>(&self, tools: &'a [String]) -> PlanRules<'a> {
        PlanRules { tools, checks: self.config.worker_tools.checks(), most: self.config.subtasks }
    }

    /// Requests a plan. An invalid plan is returned to the planner once for correction.
    pub(super) async fn plan(&mut self) -> Result<Plan, ToolError> {
        let names = self.names();
        let failures = self.earlier_failures()?;
        let checks = self.config.worker_tools.checks();
        let (system, asked) = prompts::planning_prompt(&self.goal, &self.tools, checks, &failures);
        let planner = (self.config.planner.agent.clone(), Arc::clone(&self.config.planner.model));
        let prices = self.config.prices.clone();
        let mut conversation = SideConversation::new(self.actor.clone(), planner, prices, self.head.id, &system);
        let mut node =
            conversation.ask(&asked, &self.run_context.cancel).await.map_err(|error| self.unplanned(&error))?;
        let mut read = Plan::read(&node.content, &self.rules(&names));
        if let Err(error) = &read {
            let repair = prompts::repair(error);
            node = conversation.ask(&repair, &self.run_context.cancel).await.map_err(|error| self.unplanned(&error))?;
            read = Plan::read(&node.content, &self.rules(&names));
        }
        let plan = read.map_err(|error| {
            let failure = ToolError::new(ErrorCode::ModelError, format!("no valid plan after two attempts: {error}"));
            failure.hint(format!("loom delegate --resume {} plans again", self.head.local))
        })?;
        self.record_event(DelegationEvent::Planned { node: node.id }).await?;
        Ok(plan)
    }

    fn unplanned(&self, error: &GenerateError) -> ToolError {
        let code = match error {
            GenerateError::Provider(ProviderError::Cancelled) => ErrorCode::Cancelled,
            _ => ErrorCode::ModelError,
        };
        let failure = ToolError::new(code, format!("no plan was made: {error}"));
        failure.hint(format!("loom delegate --resume {} plans again", self.head.local))
    }

    /// Asks the user to approve the plan.
    pub(super) async fn approve(&mut self) -> Result<Vec<DelegationEffect>, ToolError> {
        let Some(delegation) = &self.delegation_state else { return Ok(Vec::new()) };
        let mut detail = format!("{}\n\n{}", self.goal.head(), delegation.plan());
        let mut shared: Vec<&String> = self.shared.values().flatten().collect();
        shared.sort_unstable();
        shared.dedup();
        for shared in shared {
            detail.push_str(&format!("\n\nTake care: {shared}"));
        }
        let request = ApprovalRequest {
            tool: "delegate".to_owned(),
            // Every plan needs its own approval, also for the same goal.
            subject: String::new(),
            summary: format!("{} subtasks: {}", delegation.plan().subtasks().len(), self.goal.goal),
            details: detail,
            agent: None,
            node: Some(self.head.id),
        };
        let verdict = tokio::select! {
            verdict = self.config.approval.ask(&request) => verdict,
            () = self.run_context.cancel.cancelled() => return Err(ToolError::new(ErrorCode::Cancelled, "it was stopped")),
        };
        match verdict.into_result() {
            Ok(()) => self.record_event(DelegationEvent::Approved).await,
            Err(refused) => {
                self.record_event(DelegationEvent::Refused).await?;
                Err(refused)
            }
        }
    }
}
