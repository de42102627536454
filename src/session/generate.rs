//! Driver of generations: runs one turn ([`crate::agent`]) for each continuation; their streams run concurrently.
//!
//! Each reply is saved as soon as it ends. An interrupted or cancelled reply is saved with the text so far and marked
//! as interrupted. A reply that fails before its first text leaves no node. The model limits its concurrent requests,
//! because some servers abort a stream when the next request arrives.

use std::{ops::Range, sync::Arc, time::Duration};

use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    DelegationUpdate,
    host::CommandBatch,
    partial_replies::{PartialReplyFile, PartialReplyHeader},
    prompt::{TurnProgress, prompt},
    request::{GenerateError, GenerateRequest, Progress},
    save_reply::{SaveOptions, append_open_todos_note, record_session_model, save},
    stream::{ModelRequestTask, ReportSender, forward_cancellation},
};
use crate::{
    agent::{ToolRequest, Turn, TurnEffect, TurnEnd, TurnFailure, TurnInput},
    arrow::run::CommandReply,
    context::CommandRound,
    id::{NodeId, SessionId},
    ops::{Actor, OpsError},
    provider::{FinishReason, Model, ProviderError, Request, ToolDefinition},
    tools,
    types::{Node, Todo, TodoScope},
};

/// Duration of a lease on a position. A crashed process blocks the position no longer than this.
const LEASE: Duration = Duration::from_secs(60);
/// Interval of lease renewals while a model streams.
const RENEWAL: Duration = Duration::from_secs(20);

/// Report of a task about one slot.
pub(super) enum TaskReport {
    /// Input for the turn's state machine.
    Input(TurnInput),
    /// A command of the current batch has run.
    CommandRan { line: String, reply: CommandReply },
    /// A delegation that a command started has made progress.
    Delegation(DelegationUpdate),
    /// The batch has run and its results are saved. `session` is the session in which the batch ended.
    BatchDone { exchange: CommandRound, session: SessionId },
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
    /// Cancels the current stream.
    stop: CancellationToken,
    /// Node with the interrupted reply.
    interrupted_node: Option<Box<Node>>,
    /// Error of an effect that could not be performed.
    error: Option<GenerateError>,
}

/// Runs a generation request and passes each event to `on_progress`. Returns the saved nodes in the order of their
/// completion. With one continuation the session's position moves to it; with several it stays.
///
/// With [`GenerateRequest::commands`] the request is a whole agent turn. Each round's text becomes a node at the
/// agent's position. The command results become its children of kind `tool`.
///
/// # Errors
/// If the path cannot be read, or if no reply was saved: the first failure.
pub async fn generate(
    actor: &Actor,
    plan: GenerateRequest,
    on: impl FnMut(Progress),
) -> Result<Vec<Node>, GenerateError> {
    let itself = actor.agent() == plan.author.id() && actor.session().is_some();
    if plan.commands.is_some() && !(itself && plan.models.len() * plan.n == 1) {
        return Err(GenerateError::NotOwnSession);
    }
    let (tell, mut inbox) = mpsc::channel(64);
    let mut driver = GenerationDriver {
        actor: actor.clone(),
        slots: Vec::new(),
        scope: None,
        exchanges: Vec::new(),
        saved: Vec::new(),
        first_error: None,
        leased: None,
        tell,
        plan,
        on,
    };
    driver.start_slots().await?;
    let cancel = driver.plan.cancel.clone();
    let mut cancelled = false;
    let mut renewal = tokio::time::interval(RENEWAL);
    renewal.reset();
    while driver.slots.iter().any(|seat| !seat.turn.is_over()) {
        tokio::select! {
            // `recv` never returns `None`: the driver owns a sender.
            Some((index, report)) = inbox.recv() => driver.on_report(index, report).await,
            _ = renewal.tick() => driver.renew().await,
            () = cancel.cancelled(), if !cancelled => {
                cancelled = true;
                for index in 0..driver.slots.len() {
                    driver.step(index, TurnInput::Cancelled).await;
                }
            }
        }
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
    plan: GenerateRequest,
    on: F,
    slots: Vec<Slot>,
    /// Owner of the todos that this turn's commands edit.
    scope: Option<TodoScope>,
    /// Finished command rounds of this turn.
    exchanges: Vec<CommandRound>,
    saved: Vec<Node>,
    first_error: Option<GenerateError>,
    /// Position under lease while models stream there.
    leased: Option<NodeId>,
    tell: ReportSender,
}

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Creates a slot for each continuation and sends the first requests.
    async fn start_slots(&mut self) -> Result<(), GenerateError> {
        if let (Some(_), Some(session)) = (&self.plan.commands, self.actor.session()) {
            let turn = self.actor.loom().session(session)?.turns + 1;
            self.scope = Some(TodoScope { session, turn });
        }
        for model in &self.plan.models {
            let lanes = Arc::new(Semaphore::new(model.parallel().max(1)));
            for _ in 0..self.plan.n {
                // The first effect of every turn is a request; the requests of all slots are sent together below.
                let (turn, _) = Turn::begin(self.plan.turn_config());
                self.slots.push(Slot {
                    turn,
                    model: Arc::clone(model),
                    request_permits: Arc::clone(&lanes),
                    partial_header: self.partial_header(self.plan.from, model.reference()),
                    file: None,
                    estimated: 0,
                    stop: CancellationToken::new(),
                    interrupted_node: None,
                    error: None,
                });
            }
        }
        if self.slots.is_empty() {
            return Err(GenerateError::NoContinuations);
        }
        record_session_model(&self.actor, &self.plan.models).await?;
        forward_cancellation(&self.plan.cancel_each, self.slots.len(), &self.tell);
        self.ask(0..self.slots.len(), 1).await
    }

    /// Leases a position for the author.
    async fn lease(&mut self, node: NodeId) -> Result<(), GenerateError> {
        self.actor.lease(node, self.plan.author.id(), LEASE).await.map_err(OpsError::from)?;
        self.leased = Some(node);
        Ok(())
    }

    /// Renews the lease. If that fails, others may take the position; the replies are saved anyway.
    async fn renew(&mut self) {
        let Some(node) = self.leased else { return };
        if let Err(error) = self.actor.lease(node, self.plan.author.id(), LEASE).await {
            tracing::warn!(%error, "the position is not held for longer");
        }
    }

    /// Releases the lease. If that fails, the lease expires by itself.
    async fn release(&mut self) {
        let Some(node) = self.leased.take() else { return };
        if let Err(error) = self.actor.release(node, self.plan.author.id()).await {
            tracing::warn!(%error, "the position is held until its time runs out");
        }
    }

    fn partial_header(&self, parent: NodeId, reference: &str) -> PartialReplyHeader {
        let node = self.actor.loom().node_id();
        PartialReplyHeader {
            node,
            parent,
            author: self.plan.author.id(),
            reference: reference.to_owned(),
            session: self.actor.session(),
            keep_position: self.plan.keep_position || self.plan.models.len() * self.plan.n > 1,
        }
    }

    /// Processes the report of a task.
    async fn on_report(&mut self, index: usize, report: TaskReport) {
        match report {
            TaskReport::Input(input) => {
                if let TurnInput::Text(text) = &input {
                    self.keep(index, text);
                }
                self.step(index, input).await;
            }
            TaskReport::Delegation(told) => (self.on)(Progress::Delegated { index, update: told }),
            TaskReport::CommandRan { line, reply } => (self.on)(Progress::Ran { index, line, reply }),
            TaskReport::BatchDone { exchange, session } => {
                self.exchanges.push(exchange);
                self.actor = self.actor.clone().in_session(session);
                let open = !self.open().is_empty();
                self.step(index, TurnInput::CommandsDone { open }).await;
            }
            TaskReport::BatchFailed(error) => self.failed(index, error.into()).await,
        }
    }

    /// Returns the open todos of the turn. A read error is logged and yields none.
    fn open(&self) -> Vec<Todo> {
        let Some(scope) = self.scope else { return Vec::new() };
        let read = self.actor.loom().todos(scope);
        let mut todos = read.inspect_err(|error| tracing::warn!(%error, "the plan is not read")).unwrap_or_default();
        todos.retain(|todo| todo.status.is_open());
        todos
    }

    /// Appends text to the slot's partial-reply file.
    fn keep(&mut self, index: usize, text: &str) {
        let Some(folder) = self.plan.partials_dir.as_deref() else { return };
        let seat = &mut self.slots[index];
        if seat.file.is_none() {
            seat.file = PartialReplyFile::create(folder, &seat.partial_header)
                .inspect_err(|error| tracing::warn!(%error, "words are not kept while they stream"))
                .ok();
        }
        if let Some(file) = &mut seat.file {
            file.push(text);
        }
    }

    async fn failed(&mut self, index: usize, error: GenerateError) {
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
                (self.on)(Progress::Round { index, round });
                self.ask(index..index + 1, round).await?;
            }
            TurnEffect::StopStream => self.slots[index].stop.cancel(),
            TurnEffect::Emit(text) => (self.on)(Progress::Text { index, text }),
            TurnEffect::Save(said) => {
                let (interrupted, usage) = (said.interrupted, said.finish.as_ref().and_then(|finish| finish.usage));
                let reason = said.finish.as_ref().map_or(FinishReason::Stop, |finish| finish.reason.clone());
                // With several continuations the other streams still need the lease.
                let free = self.leased.take_if(|_| self.slots.len() == 1);
                let saving = SaveOptions {
                    release: free,
                    estimated: self.slots[index].estimated,
                    header: &self.slots[index].partial_header,
                    prices: &self.plan.prices,
                    keep_position: self.plan.keep_position || self.slots.len() > 1,
                    is_turn: self.plan.commands.is_some(),
                };
                let node = save(&self.actor, said, &saving).await?;
                let seat = &mut self.slots[index];
                if let Some(file) = seat.file.take() {
                    file.delete();
                }
                self.saved.push(node.clone());
                if interrupted {
                    seat.interrupted_node = Some(Box::new(node));
                } else {
                    (self.on)(Progress::Saved { index, node: Box::new(node), usage, reason });
                }
                return Ok(Some(TurnInput::Saved));
            }
            TurnEffect::RunCommands(asked) => return Ok(self.run(index, asked)),
            TurnEffect::End(ending) => {
                self.left_open(index);
                self.ended(index, ending);
            }
        }
        Ok(None)
    }

    /// Sends the model requests of a range of slots that share one prompt.
    async fn ask(&mut self, wanted: Range<usize>, round: u32) -> Result<(), GenerateError> {
        let session = match (round, self.actor.session()) {
            (1, _) | (_, None) => None,
            (_, Some(session)) => Some(self.actor.loom().session(session)?),
        };
        let (from, versions) = match &session {
            Some(session) => (session.position.unwrap_or(self.plan.from), session.versions.as_slice()),
            None => (self.plan.from, self.plan.versions.as_slice()),
        };
        let first = Arc::clone(&self.slots[wanted.start].model);
        let so_far = TurnProgress { rounds: &self.exchanges, scope: self.scope };
        let (prompt, estimated) = prompt(&self.actor, &self.plan, &*first, (from, versions), &so_far)?;
        self.lease(from).await?;
        let sampling = self.plan.sampling.clone().or(&self.plan.own_sampling());
        let request = Request { sampling, tools: self.native(), ..Request::new(prompt) };
        let mut first = wanted.start;
        while first < wanted.end {
            let model = Arc::clone(&self.slots[first].model);
            let of_model = (first / self.plan.n + 1) * self.plan.n;
            let together = model.together().clamp(1, of_model.min(wanted.end) - first);
            let mut stops = Vec::with_capacity(together);
            for index in first..first + together {
                let meant = self.partial_header(from, model.reference());
                let seat = &mut self.slots[index];
                (seat.partial_header, seat.stop, seat.estimated) = (meant, self.plan.cancel.child_token(), estimated);
                stops.push(seat.stop.clone());
            }
            let mut request = request.clone();
            // Requests with equal seeds would return equal replies.
            let own = (first % self.plan.n) as u64;
            request.sampling.seed = request.sampling.seed.map(|seed| seed.wrapping_add(own));
            let lanes = Arc::clone(&self.slots[first].request_permits);
            let (wanted, cancel) = (first..first + together, self.plan.cancel.clone());
            let asking = ModelRequestTask { model, request_permits: lanes, request, slots: wanted, stops, cancel };
            tokio::spawn(asking.ask(self.tell.clone()));
            first += together;
        }
        Ok(())
    }

    /// Returns the tool definitions for the provider's tool-call API; empty if native tools are off.
    fn native(&self) -> Vec<ToolDefinition> {
        let Some(commands) = self.plan.commands.as_ref().filter(|commands| commands.native) else { return Vec::new() };
        let tools = tools::native(self.plan.author.profile.permissions, commands.tools.tools());
        let told = |tool: tools::NativeToolSpec| ToolDefinition {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        };
        tools.into_iter().map(told).collect()
    }

    /// Runs a batch of commands on a blocking thread. A turn without tool access gets [`TurnInput::EffectFailed`].
    fn run(&mut self, index: usize, asked: Vec<ToolRequest>) -> Option<TurnInput> {
        let Some((commands, session)) = self.plan.commands.clone().zip(self.actor.session()) else {
            return Some(TurnInput::EffectFailed);
        };
        let heard = self.tell.clone();
        let batch = CommandBatch {
            loom: self.actor.loom().clone(),
            agent: self.plan.author.clone(),
            session,
            after: self.slots[index].partial_header.node,
            scope: self.scope.unwrap_or(TodoScope { session, turn: 0 }),
            before: self.exchanges.iter().flat_map(|exchange| exchange.results.iter().cloned()).collect(),
            host: super::SessionHost {
                runtime: tokio::runtime::Handle::current(),
                agent: self.plan.author.id(),
                tool_access: commands,
                context: self.plan.context,
                partials_dir: self.plan.partials_dir.clone(),
                prices: self.plan.prices.clone(),
                cancel: self.plan.cancel.clone(),
                // The delegation continues even if the driver was dropped.
                on_delegation: Arc::new(move |told| _ = heard.blocking_send((index, TaskReport::Delegation(told)))),
                on_progress: Arc::new(|_| {}),
            },
        };
        let tell = self.tell.clone();
        tokio::task::spawn_blocking(move || batch.run(index, asked, &tell));
        None
    }

    /// Notes the open todos at the turn's last node and reports them.
    fn left_open(&mut self, index: usize) {
        let (todos, last) = (self.open(), self.saved.last());
        let (Some(last), false) = (last, todos.is_empty()) else { return };
        if let Err(error) = append_open_todos_note(&self.actor, last.id, &todos) {
            tracing::warn!(%error, "what stayed open is not noted");
        }
        (self.on)(Progress::TodosLeftOpen { index, todos });
    }

    fn ended(&mut self, index: usize, ending: TurnEnd) {
        let seat = &mut self.slots[index];
        let (cut, own) = (seat.interrupted_node.take(), seat.error.take());
        let error = match ending {
            TurnEnd::Done => return,
            TurnEnd::RoundLimit => return (self.on)(Progress::OutOfRounds { index }),
            TurnEnd::Cancelled => ProviderError::Cancelled.into(),
            TurnEnd::Failed(TurnFailure::Model(error)) => error.into(),
            TurnEnd::Failed(TurnFailure::Empty) => GenerateError::Empty,
            TurnEnd::Failed(TurnFailure::EffectFailed) => own.unwrap_or(GenerateError::Empty),
        };
        let told = match &error {
            GenerateError::Provider(error) => error.clone().into(),
            other => GenerateError::Ops(OpsError::Invalid(other.to_string())),
        };
        if !matches!(error, GenerateError::Empty) {
            self.first_error.get_or_insert(error);
        }
        (self.on)(Progress::Failed { index, error: told, saved: cut });
    }
}
