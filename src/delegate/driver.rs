//! Orchestrator within this process. The driver performs the effects of [`DelegationState`] and commits each event
//! before the next effect.

use std::{collections::HashMap, sync::Arc};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    DelegationEffect, DelegationEvent, DelegationReport, DelegationState, DelegationUpdate, Orchestrator,
    OrchestratorConfig, Plan, RunContext, TaskStatus, delegation_store,
    lock::DelegationLock,
    prompts,
    verification::{self, VerificationOutcome},
};
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, Loom, NodeDraft, OpsError},
    provider::Model,
    session::{BoxFuture, GenerateRequest, HostTools, Progress, ToolAccess, generate},
    store::{Mutation, StoreError},
    tools::{ErrorCode, HostTool, ToolError},
    types::{AuthorType, NewSession, Node, Op, Parent, SessionPatch},
};

mod failures;
mod planning;
mod report;
mod spawn_verification;

use spawn_verification::PANICKED;

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
        delegation_store::create(actor, parent, goal, context)
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
            DelegationEffect::Work { task, stronger } => self.start_attempt(task, stronger).await?,
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

    fn model(&self, stronger: bool) -> Arc<dyn Model> {
        let model = self.config.fallback_model.as_ref().filter(|_| stronger).unwrap_or(&self.config.worker.model);
        Arc::clone(model)
    }

    /// Starts an attempt: saves the instructions and spawns the worker.
    async fn start_attempt(&mut self, task: usize, stronger: bool) -> Result<(), ToolError> {
        let Some(delegation) = &self.delegation_state else { return Ok(()) };
        let (state, plan) = (delegation.tasks()[task].clone(), delegation.plan());
        let subtask = plan.subtasks()[task].clone();
        let mut mutations = Vec::new();
        let (session, parent, asked) = match state.session {
            Some(session) => {
                let at = self.loom.session(session)?.position.or(state.brief).unwrap_or(self.head.id);
                // A killed process may still hold a lease at the worker's position.
                let worker = &self.config.worker.agent;
                let held = self.loom.actor(worker).in_session(session);
                held.release(at, worker.id()).await.map_err(OpsError::from)?;
                (session, at, self.retry_message(&state, stronger)?)
            }
            None => {
                let session = self.loom.session_id();
                mutations.push(Mutation::CreateSession(self.worker_session(session)?));
                let mut results = Vec::new();
                for need in plan.needs(task) {
                    if let TaskStatus::Verified(node) = delegation.tasks()[*need].status {
                        results.push((&plan.subtasks()[*need], self.loom.node(node)?));
                    }
                }
                let others = self.shared.get(&task).map_or(&[][..], Vec::as_slice);
                (session, self.head.id, prompts::instructions(&self.goal, plan, task, &results, others))
            }
        };
        let draft = NodeDraft { author_type: Some(AuthorType::Tool), keep_position: true, ..NodeDraft::text(asked) };
        let node = self.actor.draft(Parent::Node(parent), draft);
        let brief = node.id;
        let stand = SessionPatch { position: Some(brief), ..SessionPatch::default() };
        mutations.extend([Mutation::Append(Box::new(node)), Mutation::UpdateSession { session, patch: stand }]);
        let started = DelegationEvent::Started { task, session, brief, stronger };
        // A started attempt has no further effects.
        self.commit_event(started, mutations).await?;
        let model = self.model(stronger);
        (self.run_context.on_update)(DelegationUpdate::Started {
            task,
            title: subtask.title.clone(),
            attempt: state.attempts + 1,
            branch: self.loom.node(brief)?.local,
            model: model.reference().to_owned(),
        });
        let turn = self.worker_turn((task, &subtask), (brief, state.brief.unwrap_or(brief)), model)?;
        let actor = self.loom.actor(&self.config.worker.agent).in_session(session);
        let work = run_worker(actor, turn, task, Arc::clone(&self.run_context.on_update));
        self.spawn(work, DelegationEvent::WorkFailed { task, why: PANICKED.to_owned() });
        Ok(())
    }

    /// Returns a new session for a worker.
    fn worker_session(&self, id: SessionId) -> Result<NewSession, ToolError> {
        let own = self.loom.session(self.session)?;
        Ok(NewSession {
            id,
            workspace: own.workspace,
            agent: self.config.worker.agent.id(),
            tree: own.tree,
            position: None,
            started_at: self.loom.now(),
            expires_at: None,
            metadata: std::collections::BTreeMap::new(),
            model: None,
            item: own.item,
            delegated_by: Some(self.session),
        })
    }

    /// Returns the message for another attempt, with the reason of the last failure.
    fn retry_message(&self, state: &super::SubtaskState, stronger: bool) -> Result<String, ToolError> {
        Ok(match (state.verdict, &state.last_error) {
            (Some(verdict), _) => {
                let why = verification::verdict_reason(&self.loom.node(verdict)?);
                prompts::retry(&why, stronger && !state.use_fallback)
            }
            (None, trouble) => prompts::resume(trouble.as_deref().unwrap_or("it was interrupted")),
        })
    }

    /// Builds the worker's turn. `from` is the node with the instructions; `context_start` is the first node of the subtask's
    /// branch.
    fn worker_turn(
        &self,
        (task, subtask): (usize, &super::Subtask),
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
    fn worker_name(&self, task: usize) -> String {
        format!("{}, subtask {} of [{}]", self.config.worker.agent.name(), task + 1, self.head.local)
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

/// Runs one attempt as a whole turn; `None` if it was cancelled.
async fn run_worker(actor: Actor, turn: GenerateRequest, task: usize, on_update: super::UpdateSink) -> TaskOutcome {
    let cancel: CancellationToken = turn.cancel.clone();
    let mut failed = None;
    let done = generate(&actor, turn, |progress| match progress {
        Progress::Failed { error, .. } => failed = Some(error.to_string()),
        Progress::Ran { line, reply, .. } => on_update(DelegationUpdate::Ran { task, line, ok: reply.is_ok() }),
        _ => {}
    })
    .await;
    if cancel.is_cancelled() {
        return None;
    }
    let work_failed =
        |why: String| Some(VerificationOutcome { event: DelegationEvent::WorkFailed { task, why: why.clone() }, why });
    match (done, failed) {
        (Err(error), _) => work_failed(error.to_string()),
        (Ok(_), Some(why)) => work_failed(why),
        (Ok(nodes), None) => match nodes.iter().rev().find(|node| !node.content.trim().is_empty()) {
            Some(result) => Some(VerificationOutcome {
                event: DelegationEvent::Finished { task, node: result.id },
                why: String::new(),
            }),
            None => work_failed("it ended without a report of its work".to_owned()),
        },
    }
}
