//! Input and output of a generation: the request, the tools that the author can use, and progress events.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{BackgroundDelegations, DelegationUpdate, GenerateError, ModelResolver, Orchestrator, Searcher, SeenFiles};
use crate::{
    context,
    exec::CommandReply,
    id::{AgentId, NodeId},
    ops::OpsError,
    provider::{FinishReason, Model, Prices, Sampling, Usage},
    tools::{DEFAULT_REPLY_TOKENS, HostTool, ToolError},
    turn::TurnConfig,
    types::{Agent, Json, Node, Permissions, Todo, setters},
};

/// Request for continuations of a node or for an agent turn.
#[non_exhaustive]
pub struct GenerateRequest {
    /// Node to continue.
    pub from: NodeId,
    /// Versions to read on the path to it.
    pub versions: Vec<NodeId>,
    /// Agent that writes; its system prompt, sampling settings and name apply.
    pub author: Agent,
    /// Instruction for these continuations only.
    pub instruction: Option<String>,
    /// First node of the path included in the context. `None`: the root.
    pub context_start: Option<NodeId>,
    /// Models; each writes `n` continuations.
    pub models: Vec<Arc<dyn Model>>,
    /// Number of continuations per model.
    pub n: usize,
    /// Sampling settings, which override the author's.
    pub sampling: Sampling,
    /// Context options.
    pub context: context::ContextOptions,
    /// Cancels all continuations; partial replies are saved.
    pub cancel: CancellationToken,
    /// Cancels single continuations, by index; partial replies are saved.
    pub cancel_each: Vec<CancellationToken>,
    /// Directory of partial replies, from which [`super::recover`] restores text after a crash. `None`: no copies.
    pub partials_dir: Option<PathBuf>,
    /// Token prices for cost calculation.
    pub prices: Prices,
    /// True if the session's position stays at `from`. With several continuations it always stays.
    pub keep_position: bool,
    /// Metadata of the replies' nodes.
    pub metadata: Option<Json>,
    /// Tools that the author can use; `None`: it writes text only.
    pub commands: Option<ToolAccess>,
}

setters!(GenerateRequest {
    /// Sets the versions that the path contains.
    versions(Vec<NodeId>);
    /// Sets the instruction for these continuations.
    instruction(option String);
    /// Sets the models; each generates the requested number of continuations.
    models(Vec<Arc<dyn Model>>);
    /// Sets the number of continuations of each model.
    n(usize);
    /// Sets the sampling options.
    sampling(Sampling);
    /// Sets the options of prompt assembly.
    context(context::ContextOptions);
    /// Sets the token that cancels the generation.
    cancel(CancellationToken);
    /// Sets the folder for partial replies.
    partials_dir(option PathBuf);
    /// Sets the prices of models.
    prices(Prices);
    /// Sets whether the session's position stays.
    keep_position(bool);
    /// Sets the metadata of the replies' nodes.
    metadata(option Json);
    /// Sets the services for the agent's commands.
    commands(option ToolAccess);
});

impl GenerateRequest {
    /// Creates a request for `n` continuations by one model, with default options.
    #[must_use]
    pub fn new(from: NodeId, author: Agent, model: Arc<dyn Model>, n: usize) -> Self {
        Self {
            from,
            versions: Vec::new(),
            instruction: None,
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
            metadata: None,
            commands: None,
        }
    }

    /// Creates a request for a whole turn of an agent, which answers a node and runs commands. The actor must be this
    /// agent in a session.
    #[must_use]
    pub fn turn(from: NodeId, author: Agent, model: Arc<dyn Model>, commands: ToolAccess) -> Self {
        Self { commands: Some(commands), ..Self::new(from, author, model, 1) }
    }

    /// Returns the number of continuations of all models.
    #[must_use]
    pub fn continuations(&self) -> usize {
        self.models.len().saturating_mul(self.n)
    }

    /// Returns the context options with the smallest window of all models.
    pub(super) fn context_options(&self) -> context::ContextOptions {
        let windows = self.models.iter().filter_map(|model| u32::try_from(model.window()?).ok());
        let mut options =
            context::ContextOptions { window: windows.fold(self.context.window, u32::min), ..self.context };
        // A long reply limit enlarges the reserve, up to half of the window.
        let asked = self.sampling.max_tokens.or(self.author.profile.max_tokens).map(|n| n.min(options.window / 2));
        let longer = asked.filter(|asked| *asked > options.window - options.budget());
        options.reserve = options.reserve.or(longer);
        options
    }

    /// Returns the sampling settings of the model requests: those of the request, else of the author's profile.
    pub(super) fn effective_sampling(&self) -> Sampling {
        self.sampling.clone().or(&self.own_sampling())
    }

    /// Returns the sampling settings of the author's profile.
    fn own_sampling(&self) -> Sampling {
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

/// Tools that an agent can use in its turn.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolAccess {
    /// Maximum number of rounds.
    pub rounds: u32,
    /// True if tools are also available through the provider's tool-call API.
    pub native: bool,
    /// Resolves models for agents that this one invokes with `continue`.
    pub models: Arc<dyn ModelResolver>,
    /// Tools that the host program provides.
    pub tools: Arc<HostTools>,
    /// Web search service; `None`: no search.
    pub search: Option<Arc<dyn Searcher>>,
    /// Maximum tokens of a command result before it is paged; see [`crate::tools::DEFAULT_REPLY_TOKENS`].
    pub max_inline_tokens: u32,
    /// Chain of agents that invoked this one, outermost first. None of them can be invoked again.
    pub callers: Vec<AgentId>,
    /// Permissions that no agent has in this turn, whatever its profile says.
    pub withheld: Permissions,
    /// Orchestrator of delegations; `None`: the agent cannot delegate.
    pub orchestrator: Option<Arc<dyn Orchestrator>>,
    /// Delegations that run in the background.
    pub background: Arc<BackgroundDelegations>,
}

setters!(ToolAccess {
    /// Sets the maximum number of rounds.
    rounds(u32);
    /// Sets whether tools are offered through the provider's tool-call API.
    native(bool);
    /// Sets the tools of the host program.
    tools(Arc<HostTools>);
    /// Sets the web search.
    search(option Arc<dyn Searcher>);
    /// Sets the number of tokens beyond which a reply is shortened.
    max_inline_tokens(u32);
    /// Sets the orchestrator of delegations.
    orchestrator(option Arc<dyn Orchestrator>);
});

impl ToolAccess {
    /// Creates the default: ten rounds, arrow lines only, no host tools.
    #[must_use]
    pub fn new(models: Arc<dyn ModelResolver>) -> Self {
        Self {
            rounds: TurnConfig::DEFAULT_ROUNDS,
            native: false,
            models,
            tools: Arc::default(),
            search: None,
            max_inline_tokens: DEFAULT_REPLY_TOKENS,
            callers: Vec::new(),
            withheld: Permissions::default(),
            orchestrator: None,
            background: Arc::default(),
        }
    }
}

/// Function of a tool. The arguments are valid by its schema; the result is text or an error.
pub type ToolHandler = Box<dyn Fn(Value) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync>;

/// Tools that the host program provides, with their functions. Agents use them by arrow lines and, if enabled, through
/// the provider's tool-call API.
#[derive(Default)]
pub struct HostTools {
    pub(super) tools: Vec<HostTool>,
    pub(super) handlers: Vec<ToolHandler>,
    pub(super) seen_files: Option<Arc<dyn SeenFiles>>,
}

impl HostTools {
    /// Adds a tool.
    ///
    /// ```
    /// use loomtree::{session::{BoxFuture, HostTools}, tools::HostTool, types::Permission};
    ///
    /// let parameters = serde_json::json!({ "type": "object", "properties": {} });
    /// let tool = HostTool {
    ///     name: "time".to_owned(),
    ///     description: "Returns the time.".to_owned(),
    ///     parameters,
    ///     permission: Permission::LoomAware,
    ///     only_confirms: false,
    /// };
    /// let handler = |_| -> BoxFuture<'static, _> { Box::pin(async { Ok("noon".to_owned()) }) };
    /// let tools = HostTools::default().with(tool, Box::new(handler))?;
    /// assert_eq!(tools.tools().len(), 1);
    /// # Ok::<(), loomtree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the name is invalid or taken, or the schema is not that of an object.
    pub fn with(mut self, tool: HostTool, handler: ToolHandler) -> Result<Self, OpsError> {
        self.tools.push(tool);
        HostTool::check(&self.tools).map_err(OpsError::Invalid)?;
        self.handlers.push(handler);
        Ok(self)
    }

    /// Sets the record of the files that the tools read and write.
    #[must_use]
    pub fn seen_files(mut self, files: Arc<dyn SeenFiles>) -> Self {
        self.seen_files = Some(files);
        self
    }

    /// Returns the declarations of the tools.
    #[must_use]
    pub fn tools(&self) -> &[HostTool] {
        &self.tools
    }
}

/// Progress event of a generation. `index` numbers the continuations from 0, grouped by model. A turn has only one.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress {
    /// Text arrived, without commands.
    Text {
        /// Index of the continuation.
        index: usize,
        /// Text to append.
        text: String,
    },
    /// A reply was committed: a continuation, or one round of a turn.
    Saved {
        /// Index of the continuation.
        index: usize,
        /// Saved node. Its content is empty if the agent wrote only commands.
        node: Box<Node>,
        /// Token usage, if the server reported it.
        usage: Option<Usage>,
        /// Reason for the end of the reply.
        #[serde(skip)]
        reason: FinishReason,
    },
    /// A command has run.
    Ran {
        /// Index of the continuation.
        index: usize,
        /// Command in canonical form, or as written if it could not be parsed.
        line: String,
        /// Result of the command.
        reply: CommandReply,
    },
    /// A delegation made progress.
    Delegated {
        /// Index of the continuation.
        index: usize,
        /// Progress event of the delegation.
        #[serde(rename = "told")]
        update: DelegationUpdate,
    },
    /// A round's results were committed, and the next round starts.
    Round {
        /// Index of the continuation.
        index: usize,
        /// Number of the new round, from 2.
        round: u32,
    },
    /// The turn ended at its round limit.
    OutOfRounds {
        /// Index of the continuation.
        index: usize,
    },
    /// The turn ended with open todos. A note at its last node lists them.
    #[serde(rename = "left_open")]
    TodosLeftOpen {
        /// Index of the continuation.
        index: usize,
        /// Open todos.
        todos: Vec<Todo>,
    },
    /// A continuation failed.
    Failed {
        /// Index of the continuation.
        index: usize,
        /// Cause of the failure.
        #[serde(serialize_with = "as_text")]
        error: GenerateError,
        /// Partial reply, saved as interrupted; `None` if there was no text.
        saved: Option<Box<Node>>,
    },
}

fn as_text<S: serde::Serializer>(error: &GenerateError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}
