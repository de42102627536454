//! What to generate, and what is heard of it.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Background;
use crate::{
    agent::TurnConfig,
    arrow::run::{CommandReply, HostTool, INLINE, ToolError, WebHit, WebSearch},
    context::{self, ContextError},
    delegate::{DelegationUpdate, Orchestrator},
    id::{AgentId, NodeId},
    ops::OpsError,
    provider::{Embeddings, FinishReason, Model, Prices, ProviderError, Sampling, Usage},
    types::{Agent, Node, Todo},
};

/// What to generate.
pub struct GenerateRequest {
    /// The node to continue.
    pub from: NodeId,
    /// The versions to read on the way to it.
    pub versions: Vec<NodeId>,
    /// Who writes: its system prompt, settings and name are used.
    pub author: Agent,
    /// The node with which what is shown of the path begins; `None`: its root.
    pub context_start: Option<NodeId>,
    /// The models; each makes `n` continuations.
    pub models: Vec<Arc<dyn Model>>,
    /// Continuations a model.
    pub n: usize,
    /// How to draw, before the author's own settings.
    pub sampling: Sampling,
    /// How much the author is shown, and how.
    pub context: context::ContextOptions,
    /// Ends everything early; what came is saved.
    pub cancel: CancellationToken,
    /// Ends single continuations early, each by the token at its number; what came is saved.
    pub cancel_each: Vec<CancellationToken>,
    /// Where words are kept while they stream, so that [`super::recover`] finds them after a kill; `None`: nowhere.
    pub partials_dir: Option<PathBuf>,
    /// What tokens cost, to be kept with each generation.
    pub prices: Prices,
    /// Whether the session's position stays where it is, also with one continuation.
    pub keep_position: bool,
    /// What the author may do by commands; `None`: it only writes words.
    pub commands: Option<ToolAccess>,
}

impl GenerateRequest {
    /// `n` continuations of a node by one model; what is not said here is the usual.
    #[must_use]
    pub fn new(from: NodeId, author: Agent, model: Arc<dyn Model>, n: usize) -> Self {
        Self {
            from,
            versions: Vec::new(),
            context_start: None,
            author,
            models: vec![model],
            n,
            sampling: Sampling::default(),
            context: context::ContextOptions::default(),
            cancel: CancellationToken::new(),
            cancel_each: Vec::new(),
            partials_dir: None,
            prices: Prices::default(),
            keep_position: false,
            commands: None,
        }
    }

    /// A whole turn of an agent: it answers a node, and what it asks for by commands is done. The actor that runs the
    /// plan must be this agent, in a session.
    #[must_use]
    pub fn turn(from: NodeId, author: Agent, model: Arc<dyn Model>, commands: ToolAccess) -> Self {
        Self { commands: Some(commands), ..Self::new(from, author, model, 1) }
    }

    /// How much the author is shown: no more than the smallest of the models can read.
    pub(super) fn context_options(&self) -> context::ContextOptions {
        let windows = self.models.iter().filter_map(|model| u32::try_from(model.window()?).ok());
        let mut options =
            context::ContextOptions { window: windows.fold(self.context.window, u32::min), ..self.context };
        // Tokens kept for the reply, where it may be longer than what is kept anyway.
        let asked = self.sampling.max_tokens.or(self.author.profile.max_tokens).map(|n| n.min(options.window / 2));
        let longer = asked.filter(|asked| *asked > options.window - options.budget());
        options.reserve = options.reserve.or(longer);
        options
    }

    /// What the author's profile says of how to draw.
    pub(super) fn own_sampling(&self) -> Sampling {
        let profile = &self.author.profile;
        #[allow(clippy::cast_possible_truncation)] // a temperature has one or two digits
        let temperature = profile.temperature.map(|t| t as f32);
        let stop = profile.stop.clone();
        Sampling { temperature, max_tokens: profile.max_tokens, stop, ..Sampling::default() }
    }

    pub(super) fn turn_config(&self) -> TurnConfig {
        self.commands.as_ref().map_or(TurnConfig::text_only(), |commands| TurnConfig {
            rounds: commands.rounds,
            ..TurnConfig::with_commands()
        })
    }
}

/// What an agent may do by commands in its turn.
#[derive(Clone)]
pub struct ToolAccess {
    /// Rounds at most.
    pub rounds: u32,
    /// Whether the tools are offered in the provider's own way too, beside arrow lines.
    pub native: bool,
    /// Opens the models of the agents that this one has continue nodes.
    pub models: Arc<dyn ModelResolver>,
    /// Tools of the program around the engine.
    pub tools: Arc<HostTools>,
    /// What searches the web; `None`: nothing does.
    pub search: Option<Arc<dyn Searcher>>,
    /// Tokens of a command's answer that are shown at once; see [`crate::arrow::run::INLINE`].
    pub max_inline_tokens: u32,
    /// The agents that had this one act, the first one first: none of them may be asked again.
    pub callers: Vec<AgentId>,
    /// What carries delegated work on; `None`: nothing can be delegated.
    pub orchestrator: Option<Arc<dyn Orchestrator>>,
    /// Delegated work that nobody waits for.
    pub background: Arc<Background>,
}

impl ToolAccess {
    /// The usual: ten rounds, arrow lines only, no tools but the engine's.
    #[must_use]
    pub fn new(models: Arc<dyn ModelResolver>) -> Self {
        Self {
            rounds: TurnConfig::DEFAULT_ROUNDS,
            native: false,
            models,
            tools: Arc::default(),
            search: None,
            max_inline_tokens: INLINE,
            callers: Vec::new(),
            orchestrator: None,
            background: Arc::default(),
        }
    }
}

/// Opens the models of agents.
pub trait ModelResolver: Send + Sync {
    /// The model of an agent: its own, or the one for those that name none.
    ///
    /// # Errors
    /// If there is none, or it cannot be used; `NOT_CONFIGURED` then, with a hint.
    fn open<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>>;

    /// The model whose vectors recall goes by too; `None`: there is none, and it goes by words alone.
    fn embeddings(&self) -> BoxFuture<'_, Option<Embeddings>> {
        Box::pin(async { None })
    }

    /// The small model that sums up what is long; `None`: there is none, and first sentences serve.
    fn summarizer(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async { None })
    }
}

/// One model for everybody.
impl ModelResolver for Arc<dyn Model> {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        Box::pin(async { Ok(Self::clone(self)) })
    }
}

/// Searches the web.
pub trait Searcher: Send + Sync {
    /// What is found, the best first.
    ///
    /// # Errors
    /// If the service fails; its key is in no error.
    fn search<'a>(&'a self, asked: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>>;
}

/// Runs a tool: arguments that fit its schema in, text or a failure out.
pub type ToolHandler = Box<dyn Fn(Value) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync>;

/// Tools of the program around the engine: agents use them by arrow lines and, where that is on, in the provider's way.
#[derive(Default)]
pub struct HostTools {
    pub(super) tools: Vec<HostTool>,
    pub(super) handlers: Vec<ToolHandler>,
}

impl HostTools {
    /// The same with one more.
    ///
    /// # Errors
    /// If the name cannot be one, or is taken, or the schema is no object's.
    pub fn with(mut self, tool: HostTool, handler: ToolHandler) -> Result<Self, String> {
        self.tools.push(tool);
        HostTool::check(&self.tools)?;
        self.handlers.push(handler);
        Ok(self)
    }

    /// What there is.
    #[must_use]
    pub fn tools(&self) -> &[HostTool] {
        &self.tools
    }
}

/// What happens while a plan is carried out. `index` counts continuations from 0: first all of the first model; a turn has
/// one.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress {
    /// More text. Commands are not part of it.
    Text {
        /// Which continuation.
        index: usize,
        /// What came.
        text: String,
    },
    /// What was said is on disk: a continuation, or what an agent said in a round of its turn.
    Saved {
        /// Which continuation.
        index: usize,
        /// Its node. Its content is empty where an agent only wrote commands.
        node: Box<Node>,
        /// Tokens that it took, where the server says.
        usage: Option<Usage>,
        /// Why it ended.
        #[serde(skip)]
        reason: FinishReason,
    },
    /// A command was run.
    Ran {
        /// Which continuation.
        index: usize,
        /// The command as it was understood, or as it was written if it was not.
        line: String,
        /// What it was answered.
        reply: CommandReply,
    },
    /// Something happened in work that was delegated by a command.
    Delegated {
        /// Which continuation.
        index: usize,
        /// What.
        #[serde(rename = "told")]
        update: DelegationUpdate,
    },
    /// The answers of a round are on disk, and the model is asked again.
    Round {
        /// Which continuation.
        index: usize,
        /// Which round this is, from 2.
        round: u32,
    },
    /// The turn ended with its last round, though the model still asked for something.
    OutOfRounds {
        /// Which continuation.
        index: usize,
    },
    /// The turn ended while items of its plan were open. A note at its last node says so too.
    #[serde(rename = "left_open")]
    TodosLeftOpen {
        /// Which continuation.
        index: usize,
        /// The items.
        todos: Vec<Todo>,
    },
    /// One failed.
    Failed {
        /// Which continuation.
        index: usize,
        /// Why.
        #[serde(serialize_with = "as_text")]
        error: GenerateError,
        /// What came before, if anything, saved and marked as interrupted.
        saved: Option<Box<Node>>,
    },
}

fn as_text<S: serde::Serializer>(error: &GenerateError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

/// Why nothing, or not all, was generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Reading or saving failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// There is no prompt.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The model failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The reply held no text.
    #[error("the model ended its reply without a word")]
    Empty,
    /// The plan names no model or no continuation.
    #[error("there is nothing to generate: no model, or none of it")]
    NoContinuations,
    /// Commands are for one continuation of an agent that runs the plan itself, in a session.
    #[error("commands need one continuation, by the agent that runs the plan, in a session")]
    NotOwnSession,
}
