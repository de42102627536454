//! Orchestrator within this process. The driver performs the effects of [`DelegationState`] and commits each event
//! before the next effect.

use std::{collections::HashMap, sync::Arc};

use tokio::task::JoinSet;

use super::{
    DelegationEffect, DelegationEvent, DelegationReport, DelegationState, DelegationUpdate, Orchestrator,
    OrchestratorConfig, Plan, RunContext, create, delegation_store,
    lock::DelegationLock,
    prompts,
    verification::{self, VerificationOutcome},
};
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, Loom, OpsError},
    session::BoxFuture,
    store::{Mutation, StoreError},
    tools::{ErrorCode, HostTool, ToolError},
    types::{Node, Op},
};

mod attempt;
mod failures;
mod planning;
mod report;
mod spawn_verification;
mod worker_request;

/// Orchestrator that plans, runs workers and verifies results in this process.
pub struct LocalOrchestrator(Arc<OrchestratorConfig>);

impl LocalOrchestrator {
    /// Creates an orchestrator.
    #[must_use]
    pub fn new(config: OrchestratorConfig) -> Self {
        Self(Arc::new(config))
    }
}

impl Orchestrator for LocalOrchestrator {
    fn create(&self, actor: &Actor, parent: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError> {
        create(actor, parent, goal, context)
    }

    fn run(&self, run_context: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>> {
        let config = Arc::clone(&self.0);
        Box::pin(async move {
            let mut driver = DelegationDriver::open(config, run_context)?;
            driver.run().await
        })
    }
}

/// Result of a spawned task; `None` if it was cancelled.
type TaskOutcome = Option<VerificationOutcome>;

struct DelegationDriver {
    config: Arc<OrchestratorConfig>,
    loom: Loom,
    run_context: RunContext,
    head: Node,
    goal: prompts::DelegationGoal,
    /// Actor of the delegation, in the session that plans and verifies.
    actor: Actor,
    session: SessionId,
    /// Committed events.
    events: Vec<DelegationEvent>,
    delegation_state: Option<DelegationState>,
    running: JoinSet<TaskOutcome>,
    /// Host tools that the planner can assign.
    tools: Vec<HostTool>,
    /// Warnings about files that other delegations change, by subtask.
    shared: HashMap<usize, Vec<String>>,
    /// Keeps other processes out while the driver exists.
    _lock: Option<DelegationLock>,
}

impl DelegationDriver {
    fn open(config: Arc<OrchestratorConfig>, run_context: RunContext) -> Result<Self, ToolError> {
        let loom = run_context.actor.loom().clone();
        let head = loom.node(run_context.delegation)?;
        let lock = take_lock(&config, &run_context, &head)?;
        // The events are read under the lock, so that no other process appends more.
        let events = delegation_store::events(&loom, &head)?;
        let Some(&DelegationEvent::Begun { session }) = events.first() else {
            return Err(ToolError::new(ErrorCode::Conflict, "the delegation has no beginning"));
        };
        let purged =
            || ToolError::new(ErrorCode::NotFound, format!("the goal of the delegation [{}] was purged", head.local));
        let goal = delegation_store::task_of(&head).ok_or_else(purged)?;
        let tools = config.worker_tools.tools("planner").into_iter().map(|(tool, _)| tool).collect();
        Ok(Self {
            actor: run_context.actor.clone().in_session(session),
            config,
            loom,
            run_context,
            head,
            goal,
            session,
            events,
            delegation_state: None,
            running: JoinSet::new(),
            tools,
            shared: HashMap::new(),
            _lock: lock,
        })
    }

    async fn run(&mut self) -> Result<DelegationReport, ToolError> {
        let is_resumed = self.events.len() > 1;
        let plan = match self.earlier_plan() {
            Some(plan) => plan,
            None => {
                let model = self.config.planner.model.reference().to_owned();
                (self.run_context.on_update)(DelegationUpdate::Planning { delegation: self.head.local.clone(), model });
                match self.plan().await {
                    Err(_) if self.run_context.cancel.is_cancelled() => return self.report(),
                    planned => planned?,
                }
            }
        };
        let titles = plan.subtasks().iter().map(|subtask| subtask.title.clone()).collect();
        (self.run_context.on_update)(DelegationUpdate::Planned {
            delegation: self.head.local.clone(),
            subtasks: titles,
        });
        self.shared = self.shared_files(&plan)?;
        let delegation = DelegationState::replay(plan, self.limits(), &self.events);
        let (approved, complete) = (delegation.is_approved(), delegation.is_complete());
        self.delegation_state = Some(delegation);
        if complete {
            // A process may have stopped between the last verdict and the end.
            if self.events.last() != Some(&DelegationEvent::Ended) {
                self.record_event(DelegationEvent::Ended).await?;
            }
            return self.report();
        }
        let effects = if approved {
            self.record_event(DelegationEvent::Resumed).await?
        } else {
            if is_resumed {
                self.record_event(DelegationEvent::Resumed).await?;
            }
            self.approve().await?
        };
        self.run_effects(effects).await?;
        self.report()
    }

    /// Runs subtasks until none is left or the delegation is cancelled, and commits its end.
    async fn run_effects(&mut self, effects: Vec<DelegationEffect>) -> Result<(), ToolError> {
        let ended = self.perform_all(effects).await;
        if let Ok(true) = ended {
            self.record_event(DelegationEvent::Ended).await?;
            return Ok(());
        }
        // After an error too, no task may outlive the lock.
        let stopped = self.stop().await;
        ended.and(stopped)
    }

    /// Performs effects. Returns true if no subtask is left to run, and false if the delegation is to stop.
    async fn perform_all(&mut self, effects: Vec<DelegationEffect>) -> Result<bool, ToolError> {
        let cancel = self.run_context.cancel.clone();
        let mut next = effects;
        loop {
            for effect in next {
                if self.perform(effect).await? {
                    return Ok(true);
                }
            }
            let done = tokio::select! {
                done = self.running.join_next() => done,
                () = cancel.cancelled() => return Ok(false),
            };
            next = match done {
                Some(Ok(Some(outcome))) => self.on_outcome(outcome).await?,
                Some(Ok(None) | Err(_)) | None => return Ok(false),
            };
        }
    }

    /// Cancels the running tasks, waits for all of them and commits their results. Returns the first error.
    async fn stop(&mut self) -> Result<(), ToolError> {
        self.run_context.cancel.cancel();
        let mut committed = Ok(Vec::new());
        while let Some(done) = self.running.join_next().await {
            if let Ok(Some(outcome)) = done {
                committed = committed.and(self.on_outcome(outcome).await);
            }
        }
        committed.and(self.record_event(DelegationEvent::Stopped).await).map(drop)
    }

    /// Commits the outcome of a task and reports it.
    async fn on_outcome(&mut self, outcome: VerificationOutcome) -> Result<Vec<DelegationEffect>, ToolError> {
        let effects = self.record_event(outcome.event.clone()).await?;
        let (task, passed) = match outcome.event {
            DelegationEvent::Verified { task, passed, .. } => (task, passed),
            DelegationEvent::WorkFailed { task, .. } | DelegationEvent::VerifyFailed { task, .. } => (task, false),
            _ => return Ok(effects),
        };
        (self.run_context.on_update)(DelegationUpdate::Verdict {
            task,
            title: self.title(task),
            passed,
            why: outcome.why,
        });
        Ok(effects)
    }

    /// Commits an event and applies it to the state.
    async fn record_event(&mut self, event: DelegationEvent) -> Result<Vec<DelegationEffect>, ToolError> {
        self.commit_event(event, Vec::new()).await
    }

    /// Commits an event together with other mutations and applies it to the state.
    async fn commit_event(
        &mut self,
        event: DelegationEvent,
        mut with: Vec<Mutation>,
    ) -> Result<Vec<DelegationEffect>, ToolError> {
        let number = u32::try_from(self.events.len() + 1).unwrap_or(u32::MAX);
        with.push(delegation_store::event_mutation(self.head.id, number, &event)?);
        self.actor.submit(Op::Delegate, with).await.map_err(|error| match error {
            StoreError::Conflict(message) => {
                let hint = format!("loom delegate --resume {} shows its status", self.head.local);
                ToolError::new(ErrorCode::Conflict, message).hint(hint)
            }
            error => OpsError::from(error).into(),
        })?;
        let effects = self.delegation_state.as_mut().map(|delegation| delegation.step(&event)).unwrap_or_default();
        self.events.push(event);
        Ok(effects)
    }

    /// Performs an effect. Returns true if no subtask is left to run.
    async fn perform(&mut self, effect: DelegationEffect) -> Result<bool, ToolError> {
        match effect {
            DelegationEffect::Work { task, fallback } => self.start_attempt(task, fallback).await?,
            DelegationEffect::CheckFirst { task } => self.check_first(task),
            DelegationEffect::Verify { task, node } => self.verify(task, node),
            DelegationEffect::Skip { task, because } => {
                let (title, needs) = (self.title(task), self.title(because));
                (self.run_context.on_update)(DelegationUpdate::Skipped { task, title, needs });
            }
            DelegationEffect::End => return Ok(true),
        }
        Ok(false)
    }

    fn title(&self, task: usize) -> String {
        let subtasks = self.delegation_state.as_ref().map_or(&[][..], |delegation| delegation.plan().subtasks());
        subtasks.get(task).map(|subtask| subtask.title.clone()).unwrap_or_default()
    }
}

/// Takes the delegation's lock; `None` without a folder for lock files.
fn take_lock(
    config: &OrchestratorConfig,
    run_context: &RunContext,
    head: &Node,
) -> Result<Option<DelegationLock>, ToolError> {
    let Some(folder) = &config.partials_dir else { return Ok(None) };
    let agents = run_context.actor.loom().snapshot()?.agents().map_err(OpsError::from)?;
    let who = agents
        .iter()
        .find(|agent| agent.id() == run_context.actor.agent())
        .map_or("another agent", |agent| agent.name());
    DelegationLock::take(folder, head, who)
}
