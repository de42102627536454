//! Driver of generations: runs one turn ([`crate::turn`]) for each continuation; their streams run concurrently.
//!
//! Each reply is saved when it and all replies requested before it have ended, so siblings are stored in the order of
//! the request. An interrupted or cancelled reply is saved with the text so far and marked
//! as interrupted. A reply that fails before its first text leaves no node. The model limits its concurrent requests,
//! because some servers abort a stream when the next request arrives.

mod generation_lease;
mod model_requests;
mod open_todos;
mod save_in_order;

pub(super) use generation_lease::LEASE_DURATION;

use std::{collections::HashSet, sync::Arc};

use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    DelegationUpdate,
    generate_error::GenerateError,
    generate_request::{GenerateRequest, Progress},
    model_request_task::{ReportSender, forward_cancellation, report_panic},
    partial_reply_files::{PartialReplyFile, PartialReplyHeader},
    reply_commands::ReplyCommands,
    save_reply::record_session_model,
};
use crate::{
    context::CommandRound,
    exec::CommandReply,
    id::{NodeId, SessionId},
    ops::{Actor, OpsError},
    provider::{Model, ProviderError},
    turn::{BatchOutcome, RoundOutput, ToolRequest, Turn, TurnEffect, TurnEnd, TurnFailure, TurnInput},
    types::{Node, TodoScope},
};

/// Report of a task about one slot.
pub(super) enum TaskReport {
    /// Input for the turn's state machine.
    Input(TurnInput),
    /// A command of the current batch has run.
    CommandRan { line: String, reply: CommandReply },
    /// A delegation that a command started has made progress.
    Delegation(DelegationUpdate),
    /// The batch has run and its results are saved. `session` is the session in which the batch ended.
    BatchDone { round: CommandRound, session: SessionId, outcome: BatchOutcome },
    /// The results of the batch could not be saved.
    BatchFailed(OpsError),
}

impl From<TurnInput> for TaskReport {
    fn from(input: TurnInput) -> Self {
        Self::Input(input)
    }
}

/// State of one continuation.
struct Slot {
    turn: Turn,
    model: Arc<dyn Model>,
    /// Limits the concurrent requests to the model; shared by the slots of one model.
    request_permits: Arc<Semaphore>,
    partial_header: PartialReplyHeader,
    file: Option<PartialReplyFile>,
    /// Estimated tokens of the current prompt.
    estimated: u32,
    /// Seed of the current request.
    seed: Option<u64>,
    /// Cancels the current stream.
    stop: CancellationToken,
    /// Finished reply that waits until earlier continuations are saved.
    unsaved: Option<RoundOutput>,
    /// Node with the interrupted reply.
    interrupted_node: Option<Box<Node>>,
    /// Error of an effect that could not be performed.
    error: Option<GenerateError>,
}

/// Runs a generation request and passes each event to `on_progress`. Returns the saved nodes in the order in which
/// they were requested. A reply that ends early waits for those before it, in its partial reply file. With one continuation the session's position moves to it; with several it stays.
///
/// With [`GenerateRequest::commands`] the request is a whole agent turn. Each round's text becomes a node at the
/// agent's position. The command results become its children of kind `tool`.
///
/// # Errors
/// If the path cannot be read, or if no reply was saved: the first failure.
pub async fn generate(
    actor: &Actor,
    request: GenerateRequest,
    on_progress: impl FnMut(Progress),
) -> Result<Vec<Node>, GenerateError> {
    let is_own_session = actor.agent() == request.author.id() && actor.session().is_some();
    if request.commands.is_some() && !(is_own_session && request.continuations() == 1) {
        return Err(GenerateError::NotOwnSession);
    }
    let (reports, mut reports_rx) = mpsc::channel(64);
    let mut driver = GenerationDriver {
        actor: actor.clone(),
        slots: Vec::new(),
        scope: None,
        rounds: Vec::new(),
        in_view: HashSet::new(),
        saved: Vec::new(),
        first_error: None,
        leased: None,
        reports,
        request,
        on_progress,
    };
    driver.start_slots().await?;
    let cancel = driver.request.cancel.clone();
    let mut cancelled = false;
    let mut renewal = tokio::time::interval(generation_lease::LEASE_RENEWAL_INTERVAL);
    renewal.reset();
    while driver.slots.iter().any(|slot| !slot.turn.is_over()) {
        tokio::select! {
            // `recv` never returns `None`: the driver owns a sender.
            Some((index, report)) = reports_rx.recv() => driver.on_report(index, report).await,
            _ = renewal.tick() => driver.renew().await,
            () = cancel.cancelled(), if !cancelled => {
                cancelled = true;
                for index in 0..driver.slots.len() {
                    driver.step(index, TurnInput::Cancelled).await;
                }
            }
        }
        driver.save_finished().await;
    }
    driver.release().await;
    match (driver.saved.is_empty(), driver.first_error) {
        (true, Some(error)) => Err(error),
        (true, None) => Err(GenerateError::Empty),
        (false, _) => Ok(driver.saved),
    }
}

struct GenerationDriver<F> {
    actor: Actor,
    request: GenerateRequest,
    on_progress: F,
    slots: Vec<Slot>,
    /// Owner of the todos that this turn's commands edit.
    scope: Option<TodoScope>,
    /// Finished command rounds of this turn.
    rounds: Vec<CommandRound>,
    /// Nodes that the newest prompt shows whole.
    in_view: HashSet<NodeId>,
    saved: Vec<Node>,
    first_error: Option<GenerateError>,
    /// Position under lease while models stream there.
    leased: Option<NodeId>,
    reports: ReportSender,
}

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Creates a slot for each continuation and sends the first requests.
    async fn start_slots(&mut self) -> Result<(), GenerateError> {
        self.receive_messages().await?;
        if let (Some(_), Some(session)) = (&self.request.commands, self.actor.session()) {
            let turn = self.actor.loom().session(session)?.turns + 1;
            self.scope = Some(TodoScope { session, turn });
        }
        for model in &self.request.models {
            let request_permits = Arc::new(Semaphore::new(model.parallel().max(1)));
            for _ in 0..self.request.n {
                // The first effect of every turn is a request; the requests of all slots are sent together below.
                let (turn, _) = Turn::begin(self.request.turn_config());
                self.slots.push(Slot {
                    turn,
                    model: Arc::clone(model),
                    request_permits: Arc::clone(&request_permits),
                    partial_header: self.partial_header(self.request.from, model.reference()),
                    file: None,
                    estimated: 0,
                    seed: None,
                    stop: CancellationToken::new(),
                    unsaved: None,
                    interrupted_node: None,
                    error: None,
                });
            }
        }
        if self.slots.is_empty() {
            return Err(GenerateError::NoContinuations);
        }
        // Another agent that this one invokes does not change the model of its session.
        if self.actor.agent() == self.request.author.id() {
            record_session_model(&self.actor, &self.request.models).await?;
        }
        forward_cancellation(&self.request.cancel_each, self.slots.len(), &self.reports);
        self.request_models(0..self.slots.len(), 1).await
    }

    /// Makes the messages that the author answers turns of its session. A worker of a delegation receives none, because
    /// it does not see the conversation.
    async fn receive_messages(&self) -> Result<(), GenerateError> {
        let is_own = self.actor.agent() == self.request.author.id() && self.request.context_start.is_none();
        let Some(session) = self.actor.session().filter(|_| is_own) else { return Ok(()) };
        if let Some(received) = self.actor.receive_messages(session, self.request.from, &self.request.versions)? {
            received.await.map_err(OpsError::from)?;
        }
        Ok(())
    }

    /// Processes the report of a task.
    async fn on_report(&mut self, index: usize, report: TaskReport) {
        match report {
            TaskReport::Input(input) => {
                if let TurnInput::Text(text) = &input {
                    self.append_partial(index, text);
                }
                self.step(index, input).await;
            }
            TaskReport::Delegation(reported) => (self.on_progress)(Progress::Delegated { index, update: reported }),
            TaskReport::CommandRan { line, reply } => (self.on_progress)(Progress::Ran { index, line, reply }),
            TaskReport::BatchDone { round, session, outcome } => {
                self.rounds.push(round);
                self.actor = self.actor.clone().in_session(session);
                let open = !self.open_todos().is_empty();
                self.step(index, TurnInput::CommandsDone { open, outcome }).await;
            }
            TaskReport::BatchFailed(error) => self.fail(index, error.into()).await,
        }
    }

    async fn fail(&mut self, index: usize, error: GenerateError) {
        self.slots[index].error = Some(error);
        self.step(index, TurnInput::EffectFailed).await;
    }

    /// Feeds an input to the turn and performs the effects, including those of the inputs they produce.
    async fn step(&mut self, index: usize, input: TurnInput) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for effect in self.slots[index].turn.step(input) {
                match self.perform(index, effect).await {
                    Ok(more) => inputs.extend(more),
                    Err(error) => {
                        self.slots[index].error = Some(error);
                        inputs.push(TurnInput::EffectFailed);
                    }
                }
            }
        }
    }

    async fn perform(&mut self, index: usize, effect: TurnEffect) -> Result<Option<TurnInput>, GenerateError> {
        match effect {
            TurnEffect::RequestModel { round } => {
                (self.on_progress)(Progress::Round { index, round });
                self.request_models(index..index + 1, round).await?;
            }
            TurnEffect::StopStream => self.slots[index].stop.cancel(),
            TurnEffect::Emit(text) => (self.on_progress)(Progress::Text { index, text }),
            TurnEffect::Save(output) => {
                if self.slots[..index].iter().any(|slot| !slot.turn.is_over()) {
                    self.slots[index].unsaved = Some(output);
                    return Ok(None);
                }
                return self.save(index, output).await.map(Some);
            }
            TurnEffect::RunCommands { requests, done } => return Ok(self.run_commands(index, requests, done)),
            TurnEffect::End(end) => {
                self.report_open_todos(index).await;
                self.finish_slot(index, end);
            }
        }
        Ok(None)
    }

    /// Runs a batch of commands on a blocking thread. A turn without tool access gets [`TurnInput::EffectFailed`].
    fn run_commands(&mut self, index: usize, requests: Vec<ToolRequest>, done: bool) -> Option<TurnInput> {
        let Some((commands, session)) = self.request.commands.clone().zip(self.actor.session()) else {
            return Some(TurnInput::EffectFailed);
        };
        let reports = self.reports.clone();
        let batch = ReplyCommands {
            loom: self.actor.loom().clone(),
            agent: self.request.author.clone(),
            session,
            done,
            after: self.slots[index].partial_header.node,
            scope: self.scope.unwrap_or(TodoScope { session, turn: 0 }),
            in_view: self.in_view.clone(),
            before: self.rounds.iter().flat_map(|round| round.results.iter().cloned()).collect(),
            host: super::SessionHost {
                runtime: tokio::runtime::Handle::current(),
                agent: self.request.author.id(),
                tool_access: commands,
                context: self.request.context,
                partials_dir: self.request.partials_dir.clone(),
                prices: self.request.prices.clone(),
                cancel: self.request.cancel.clone(),
                // The delegation continues even if the driver was dropped.
                on_delegation: Arc::new(move |update| {
                    _ = reports.blocking_send((index, TaskReport::Delegation(update)))
                }),
                on_progress: Arc::new(|_| {}),
            },
        };
        let reports = self.reports.clone();
        let running = tokio::task::spawn_blocking(move || batch.run(index, requests, &reports));
        let failure = || TaskReport::BatchFailed(OpsError::Invalid("a tool panicked".to_owned()));
        report_panic(running, index..index + 1, &self.reports, failure);
        None
    }

    fn finish_slot(&mut self, index: usize, end: TurnEnd) {
        let slot = &mut self.slots[index];
        // A file that is still there holds no reply, unless the reply could not be saved.
        if !matches!(end, TurnEnd::Failed(TurnFailure::EffectFailed))
            && let Some(file) = slot.file.take()
        {
            file.delete();
        }
        let (partial, effect_error) = (slot.interrupted_node.take(), slot.error.take());
        let error = match end {
            TurnEnd::Done => return,
            TurnEnd::RoundLimit => return (self.on_progress)(Progress::OutOfRounds { index }),
            TurnEnd::Cancelled => ProviderError::Cancelled.into(),
            TurnEnd::Failed(TurnFailure::Model(error)) => error.into(),
            TurnEnd::Failed(TurnFailure::Empty) => GenerateError::Empty,
            TurnEnd::Failed(TurnFailure::EffectFailed) => effect_error.unwrap_or(GenerateError::Empty),
        };
        let reported = match &error {
            GenerateError::Provider(error) => error.clone().into(),
            other => GenerateError::Ops(OpsError::Invalid(other.to_string())),
        };
        if !matches!(error, GenerateError::Empty) {
            self.first_error.get_or_insert(error);
        }
        (self.on_progress)(Progress::Failed { index, error: reported, saved: partial });
    }
}
