//! Generating: drives turns ([`crate::agent`]), one for each continuation, streaming side by side.
//!
//! Each reply is saved when it ends, whatever the others do. One that is cut off or cancelled is saved as far as it came,
//! marked as interrupted; one that fails before a word came leaves nothing. How many run at once is up to the model:
//! some servers break one stream off when the next request comes.

use std::{ops::Range, sync::Arc, time::Duration};

use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
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
    delegate::DelegationUpdate,
    id::{NodeId, SessionId},
    ops::{Actor, OpsError},
    provider::{FinishReason, Model, ProviderError, Request, ToolDefinition},
    tools,
    types::{Node, Todo, TodoScope},
};

/// For how long a position is taken; whoever crashes blocks it no longer than that.
const LEASE: Duration = Duration::from_secs(60);
/// How often that is renewed while a model writes.
const RENEWAL: Duration = Duration::from_secs(20);

/// What a task reports of a seat.
pub(super) enum TaskReport {
    /// What happened, for the turn.
    Input(TurnInput),
    /// A command was run.
    CommandRan { line: String, reply: CommandReply },
    /// Something happened in work that a command delegated.
    Delegation(DelegationUpdate),
    /// A batch was, in this session at its end; its answers are kept.
    BatchDone { exchange: CommandRound, session: SessionId },
    /// It could not be.
    BatchFailed(OpsError),
}

impl From<TurnInput> for TaskReport {
    fn from(input: TurnInput) -> Self {
        Self::Input(input)
    }
}

/// One continuation while it comes.
struct Slot {
    turn: Turn,
    model: Arc<dyn Model>,
    /// The model's requests at once.
    request_permits: Arc<Semaphore>,
    partial_header: PartialReplyHeader,
    file: Option<PartialReplyFile>,
    /// Tokens of its prompt, by the estimate.
    estimated: u32,
    /// Stops its stream.
    stop: CancellationToken,
    /// What was saved of the reply that broke off.
    interrupted_node: Option<Box<Node>>,
    /// Why what the turn needed could not be done.
    error: Option<GenerateError>,
}

/// Carries a plan out; `on` hears of everything as it happens. Returns the nodes that were saved, in the order in which
/// they ended. With one continuation the session's position moves to it; with several it stays.
///
/// With [`Plan::commands`] it is a whole turn: each round's words are a node where the agent stands, and what it was
/// answered hangs beside that as nodes of kind `tool`.
///
/// # Errors
/// If the path cannot be read, or, where nothing at all was saved, the first failure.
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
            // The driver holds a sender itself.
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
    /// Whose plan this turn's commands work on.
    scope: Option<TodoScope>,
    /// What this turn's commands were answered.
    exchanges: Vec<CommandRound>,
    saved: Vec<Node>,
    first_error: Option<GenerateError>,
    /// The position that is taken while models write there.
    leased: Option<NodeId>,
    tell: ReportSender,
}

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Takes a seat for each continuation, and asks the models.
    async fn start_slots(&mut self) -> Result<(), GenerateError> {
        if let (Some(_), Some(session)) = (&self.plan.commands, self.actor.session()) {
            let turn = self.actor.loom().session(session)?.turns + 1;
            self.scope = Some(TodoScope { session, turn });
        }
        for model in &self.plan.models {
            let lanes = Arc::new(Semaphore::new(model.parallel().max(1)));
            for _ in 0..self.plan.n {
                // Every turn begins by asking, and that is done for all at once below.
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

    /// Takes a position for the author.
    async fn lease(&mut self, node: NodeId) -> Result<(), GenerateError> {
        self.actor.lease(node, self.plan.author.id(), LEASE).await.map_err(OpsError::from)?;
        self.leased = Some(node);
        Ok(())
    }

    /// Holds the position for longer. If that fails, others may take it; what is written is saved all the same.
    async fn renew(&mut self) {
        let Some(node) = self.leased else { return };
        if let Err(error) = self.actor.lease(node, self.plan.author.id(), LEASE).await {
            tracing::warn!(%error, "the position is not held for longer");
        }
    }

    /// Lets go of the position. If that fails, it is free when its time runs out.
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

    /// Takes in what a task reports.
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

    /// The open items of the turn's plan. Where they cannot be read, the turn goes on as if there were none.
    fn open(&self) -> Vec<Todo> {
        let Some(scope) = self.scope else { return Vec::new() };
        let read = self.actor.loom().todos(scope);
        let mut todos = read.inspect_err(|error| tracing::warn!(%error, "the plan is not read")).unwrap_or_default();
        todos.retain(|todo| todo.status.is_open());
        todos
    }

    /// Keeps words where a kill leaves them.
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

    /// Tells a turn what happened, and does what it says, which may have it told more.
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
                // Others still write at a position that several continue.
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

    /// Asks the models of these seats, which all want the same.
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
            // Requests of one seed would all draw the same.
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

    /// The tools as a provider is told of them.
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

    /// Has a batch run where waiting does no harm; a turn that has nothing to run it by is told that this failed.
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
                // If nobody listens any more, the work goes on all the same.
                on_delegation: Arc::new(move |told| _ = heard.blocking_send((index, TaskReport::Delegation(told)))),
                on_progress: Arc::new(|_| {}),
            },
        };
        let tell = self.tell.clone();
        tokio::task::spawn_blocking(move || batch.run(index, asked, &tell));
        None
    }

    /// Says at the turn's last node, and to whoever watches, what of its plan stayed open.
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
