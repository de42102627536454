//! Assembly of a prompt: the fixed sections, then as much of the conversation as fits.

use crate::{
    exec::AuthorNames,
    id::NodeId,
    recall::{HintWindow, References},
    session_state::SessionState,
    store::Snapshot,
    tools::{self, HostTool, Tool},
    types::{Agent, AuthorType, Mode, Node, Permission, Prompt, Role, Session, Timestamp, TodoScope, Tree},
};

use super::{
    CommandRound, ContextError, ContextOptions, ContextReport, ContextSection, ambient, command_rounds,
    cut_middle::truncate_node,
    memory::{self, MemoryBlock},
    node_renderer::{NodeRenderer, escape_headers},
    past_commands::{self, HostResult},
    prompt_piece::{MESSAGE_OVERHEAD_TOKENS, PromptPiece, merge_pieces},
    rendered_nodes::RenderedNodes,
    window::{MIN_WINDOW_TOKENS, WindowParams},
};

/// Instructions for agents with the `loom_aware` permission; the list of their commands follows.
const BASE_INSTRUCTIONS: &str = include_str!("system_prompt/base.md");
/// Instructions for workers of a delegation, and the commands that their list names.
const WORKER_INSTRUCTIONS: &str = include_str!("system_prompt/worker.md");
const WORKER_TOOLS: &[Tool] = &[Tool::View, Tool::Read, Tool::Write];
/// Instructions for agents that write documents and have the tool [`FILE_WRITER`].
const DOCUMENT_INSTRUCTIONS: &str = include_str!("system_prompt/documents.md");
/// Tool of a host program that writes files.
const FILE_WRITER: &str = "write_file";
/// Instructions for agents that may edit todos.
const TODO_INSTRUCTIONS: &str = include_str!("system_prompt/planning.md");
/// Instructions for agents that may delegate.
const DELEGATION_INSTRUCTIONS: &str = include_str!("system_prompt/delegating.md");
/// Rounds the reserve for the changing sections of a stable prompt up to sixteenths of its budget, so that their size
/// seldom moves the window.
const CHANGING_BUDGET_DIVISOR: u32 = 16;
/// Reserves an eighth of a stable prompt's budget for the answers to a turn's commands, for the same reason.
const ANSWERS_BUDGET_DIVISOR: u32 = 8;
/// Maximum tokens that are reserved for the answers to a turn's commands.
const MAX_ANSWERS_RESERVE_TOKENS: u32 = 4_096;
/// Limits pins to a quarter of the budget.
const PINS_BUDGET_DIVISOR: u32 = 4;

/// Input of [`assemble`].
#[derive(Debug, Clone, Copy)]
pub struct ContextRequest<'a> {
    /// Agent that will write.
    pub agent: &'a Agent,
    /// Node to continue.
    pub leaf: NodeId,
    /// Versions to read on the path to it.
    pub versions: &'a [NodeId],
    /// First node of the path to include; a worker of a delegation does not see the conversation above it. `None`: the
    /// root.
    pub context_start: Option<NodeId>,
    /// Session of the agent, whose state is included.
    pub session: Option<&'a Session>,
    /// Finished command rounds of this turn, oldest first.
    pub rounds: &'a [CommandRound],
    /// Owner of the todos that the turn edits; `None` outside of a turn with commands.
    pub scope: Option<TodoScope>,
    /// Message that this turn answers. It comes last if the agent has moved away from it.
    pub input: Option<NodeId>,
    /// Instruction for this generation, which no node of the path holds.
    pub instruction: Option<&'a str>,
    /// Tools that the host program provides.
    pub host_tools: &'a [HostTool],
    /// Window, strategy and rendering.
    pub options: ContextOptions,
    /// Current time.
    pub now: Timestamp,
}

impl ContextRequest<'_> {
    /// True for a worker of a delegation.
    pub(super) const fn is_worker(&self) -> bool {
        self.context_start.is_some()
    }
}

/// Prompt with its report.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AssembledPrompt {
    /// Prompt for the model.
    #[serde(flatten)]
    pub prompt: Prompt,
    /// Agent's prompt, tree's prompt and instructions: the part of the prompt that does not follow the conversation.
    #[serde(skip)]
    pub system: String,
    /// Included and omitted parts of the prompt.
    pub report: ContextReport,
}

/// Assembles a prompt.
///
/// # Errors
/// If the node does not exist, the fixed sections alone exceed the budget, or the strategy is `stop` and the
/// conversation does not fit. Also if the store fails.
pub fn assemble(snapshot: &dyn Snapshot, request: &ContextRequest<'_>) -> Result<AssembledPrompt, ContextError> {
    let to = snapshot.node(request.leaf)?.ok_or(ContextError::NoNode(request.leaf))?;
    let tree = snapshot.tree(to.tree)?.ok_or(ContextError::NoTree(to.tree))?;
    let renderer = NodeRenderer {
        agent: request.agent.id(),
        aware: request.agent.profile.permissions.has(Permission::LoomAware),
        current: request.rounds.iter().map(|round| round.after).collect(),
        names: AuthorNames::read(snapshot, request.agent.id())?,
        mode: tree.mode,
        rendering: request.options.rendering,
        now: request.now,
        tokenizer: request.options.tokenizer,
        calibration: request.options.calibration,
    };
    let is_plain_text = tree.mode == Mode::Buffer && !renderer.aware;
    let mut fixed = if is_plain_text {
        FixedSections::default()
    } else {
        FixedSections::read(snapshot, request, &renderer, (&tree, &to))?
    };
    fixed.asked = request.instruction.map(|asked| asked_text(asked, is_plain_text)).unwrap_or_default();
    let (tokens, steady_tokens) = fixed.remaining_tokens(&renderer, request.options.prompt_tokens())?;
    let params = WindowParams {
        renderer: &renderer,
        options: &request.options,
        tree: &tree,
        versions: request.versions,
        context_start: request.context_start,
        tokens,
        steady_tokens,
    };
    let window = params.choose(snapshot, request.leaf)?;
    let rendered = RenderedNodes::new(&renderer, &window, std::mem::take(&mut fixed.rounds));
    if rendered.contains(fixed.input.as_ref().map_or(request.leaf, |(id, _)| *id)) {
        fixed.input = None;
    }
    if renderer.aware && renderer.is_stable() {
        fixed.ambient.extend(ambient::path_line(rendered.newest_first()));
    }
    fixed.ambient.extend(changed_line(snapshot, request, &rendered, &fixed.session_state)?);
    let memory = fixed.memory.text(&|reply| renderer.current.contains(&reply) || rendered.shows_commands(reply));
    // Older actions may take the place of those left out. They must not need more tokens than were reserved.
    if renderer.estimate_tokens(&memory) <= renderer.estimate_tokens(&fixed.memory_text) {
        fixed.memory_text = memory;
    }
    let hint = fixed.hint(snapshot, request, &tree, &rendered);
    fixed.ambient.extend(hint);
    let (path, earlier, pins) = (rendered.report(&window), window.earlier(), std::mem::take(&mut fixed.memory.pins));
    let system = [&fixed.agent_prompt, &fixed.tree_prompt, &fixed.instructions].map(String::as_str);
    let system = system.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let mut pieces = fixed.pieces(&renderer, rendered);
    if is_plain_text && request.instruction.is_some() {
        // A text model continues what comes last.
        pieces.rotate_right(1);
    }
    let mut parts = parts(&pieces);
    let prompt = if is_plain_text {
        Prompt::Raw(pieces.into_iter().map(|piece| piece.text).collect())
    } else {
        let messages = merge_pieces(pieces);
        parts.push((
            ContextSection::Messages,
            MESSAGE_OVERHEAD_TOKENS * u32::try_from(messages.len()).unwrap_or(u32::MAX),
        ));
        Prompt::Chat(messages)
    };
    let total = parts.iter().map(|(_, tokens)| tokens).sum();
    let report = ContextReport {
        window: request.options.window,
        budget: request.options.prompt_tokens(),
        calibration: request.options.calibration,
        total,
        sections: parts,
        earlier,
        path,
        pins,
    };
    Ok(AssembledPrompt { prompt, system, report })
}

/// Sections around the conversation; empty ones are omitted.
#[derive(Default)]
struct FixedSections {
    agent_prompt: String,
    tree_prompt: String,
    instructions: String,
    state: String,
    session_state: SessionState,
    memory: MemoryBlock,
    /// The memory as text: with all last actions at first, then without those that the prompt shows.
    memory_text: String,
    rounds: Vec<(NodeId, Vec<PromptPiece>)>,
    /// Message that the turn answers, if it may be off the path.
    input: Option<(NodeId, PromptPiece)>,
    /// Lines of the ambient block.
    ambient: Vec<String>,
    /// Instruction for this generation.
    asked: String,
    /// Message that the turn answers, with the references found in it.
    references: Option<(Node, References)>,
}

impl FixedSections {
    fn read(
        snapshot: &dyn Snapshot,
        request: &ContextRequest<'_>,
        renderer: &NodeRenderer,
        (tree, to): (&Tree, &Node),
    ) -> Result<Self, ContextError> {
        let prompt = |text: &Option<String>| text.clone().unwrap_or_default();
        let bare = Self {
            agent_prompt: prompt(&request.agent.profile.system_prompt),
            tree_prompt: prompt(&tree.system_context),
            ..Self::default()
        };
        if !renderer.aware {
            return Ok(bare);
        }
        let memory = memory::read(
            snapshot,
            (request.agent.id(), tree.id, request.is_worker()),
            renderer.tokenizer,
            request.options.prompt_tokens() / PINS_BUDGET_DIVISOR,
        )?;
        let state = request.session.map(|session| snapshot.session_state(session.id)).transpose()?.unwrap_or_default();
        Ok(Self {
            instructions: instructions(request),
            state: block("Session State", &escape_headers(&state.prompt_yaml())),
            session_state: state,
            memory_text: memory.text(&|_| false),
            memory,
            rounds: command_rounds::render_rounds(request.rounds, renderer, request.options.prompt_tokens()),
            input: input(snapshot, request, renderer)?,
            ambient: ambient::lines(snapshot, request, tree, &renderer.names)?,
            references: references(request, to),
            ..bare
        })
    }

    /// Returns the tokens that remain for the conversation, and how many of them it uses if it does not fit. A stable
    /// prompt leaves the rest for what grows within a turn.
    fn remaining_tokens(&self, renderer: &NodeRenderer, budget: u32) -> Result<(u32, u32), ContextError> {
        let sum = |texts: &[&str]| texts.iter().map(|text| renderer.estimate_tokens(text)).sum::<u32>();
        let lasting = sum(&[&self.agent_prompt, &self.tree_prompt, &self.instructions]) + MESSAGE_OVERHEAD_TOKENS;
        let mut changing = sum(&[&self.state, &self.memory_text, &ambient::block(&self.ambient), &self.asked]);
        if renderer.aware && renderer.is_stable() {
            changing += ambient::MAX_PATH_LINE_TOKENS;
        }
        if !self.session_state.files_touched.is_empty() {
            changing += ambient::MAX_CHANGED_LINE_TOKENS;
        }
        changing += self.references.as_ref().map_or(0, |_| ambient::MAX_HINT_TOKENS);
        let answers =
            self.rounds.iter().flat_map(|(_, pieces)| pieces).chain(self.input.iter().map(|(_, piece)| piece));
        let answers = answers.map(|piece| piece.tokens + MESSAGE_OVERHEAD_TOKENS).sum::<u32>();
        let fixed = lasting + changing + answers;
        if fixed + MIN_WINDOW_TOKENS > budget {
            return Err(ContextError::Fixed { fixed, over: fixed + MIN_WINDOW_TOKENS - budget, budget });
        }
        let tokens = budget - fixed;
        if !renderer.aware || !renderer.is_stable() {
            return Ok((tokens, tokens));
        }
        let changing = changing.next_multiple_of((budget / CHANGING_BUDGET_DIVISOR).max(1));
        let answers = (budget / ANSWERS_BUDGET_DIVISOR).min(MAX_ANSWERS_RESERVE_TOKENS);
        let steady = budget.saturating_sub(lasting + changing + answers);
        Ok((tokens, steady.clamp(MIN_WINDOW_TOKENS, tokens)))
    }

    /// Returns a recall hint if the message refers to something that the prompt does not show. Errors are ignored,
    /// because a hint is optional.
    fn hint(
        &mut self,
        snapshot: &dyn Snapshot,
        request: &ContextRequest<'_>,
        tree: &Tree,
        rendered: &RenderedNodes<'_>,
    ) -> Option<String> {
        let (message, references) = self.references.take()?;
        if rendered.newest_first().count() as u64 >= tree.counts.nodes {
            return None;
        }
        let own = [&self.agent_prompt, &self.tree_prompt, &self.state, &self.memory_text];
        let own = own.into_iter().map(|text| (None, text.as_str()));
        let nodes = rendered.newest_first().map(|node| (Some(node.seq), node.content.as_str()));
        let nodes = nodes.chain(rendered.command_and_result_texts().map(|text| (None, text)));
        let (message, oldest) = (&message, rendered.newest_first().last());
        let agent = request.agent.id();
        let hint = references.hint(snapshot, HintWindow { agent, message, oldest, shown: &mut own.chain(nodes) });
        let hint = hint.inspect_err(|error| tracing::warn!(%error, "there is no hint")).ok()??;
        ambient::hint(snapshot, &hint, request.scope.map(|scope| scope.session))
    }

    /// Returns the pieces of the prompt in order.
    fn pieces(self, renderer: &NodeRenderer, mut rendered: RenderedNodes<'_>) -> Vec<PromptPiece> {
        let stable = renderer.is_stable();
        let system = [
            (ContextSection::AgentPrompt, self.agent_prompt),
            (ContextSection::TreePrompt, self.tree_prompt),
            (ContextSection::Instructions, self.instructions),
        ];
        let own = [(ContextSection::State, self.state), (ContextSection::Memory, self.memory_text)];
        let now = [(ContextSection::Ambient, ambient::block(&self.ambient))];
        let input = rendered.take_input(renderer).or(self.input.map(|(_, piece)| piece));
        let asked = self.asked;
        let mut pieces: Vec<PromptPiece> = Vec::new();
        let mut push = |voice, kept, texts: &mut dyn Iterator<Item = (ContextSection, String)>| {
            let texts = texts.filter(|(_, text)| !text.is_empty());
            pieces.extend(texts.map(|(part, text)| {
                PromptPiece::new(part, voice, text.clone(), renderer.estimate_tokens(&text), kept)
            }));
        };
        push(Role::System, stable, &mut system.into_iter());
        let (first, last) = if stable { (None, Some(own)) } else { (Some(own), None) };
        push(Role::System, false, &mut first.into_iter().flatten());
        pieces.extend(rendered.pieces(renderer));
        let mut push = |part, text: String| {
            if !text.is_empty() {
                let tokens = renderer.estimate_tokens(&text);
                pieces.push(PromptPiece::new(part, Role::User, text, tokens, false));
            }
        };
        last.into_iter().flatten().chain(now).for_each(|(part, text)| push(part, text));
        pieces.extend(input);
        if !asked.is_empty() {
            let tokens = renderer.estimate_tokens(&asked);
            pieces.push(PromptPiece::new(ContextSection::Instructions, Role::User, asked, tokens, false));
        }
        pieces
    }
}

/// Returns the line on files that others changed since the agent last read them. Reads and changes of the current turn count.
fn changed_line(
    snapshot: &dyn Snapshot,
    request: &ContextRequest<'_>,
    rendered: &RenderedNodes<'_>,
    state: &SessionState,
) -> Result<Option<String>, ContextError> {
    if state.files_touched.is_empty() {
        return Ok(None);
    }
    let current: Vec<NodeId> = request.rounds.iter().map(|round| round.after).collect();
    let current = past_commands::host_results(snapshot, &current)?;
    let results: Vec<&HostResult> = rendered.host_results().chain(&current).collect();
    Ok(ambient::changed_line(rendered.read_files(), &results, state))
}

/// Returns the references in the newest message if it is a user's message and has no continuation yet.
fn references(request: &ContextRequest<'_>, to: &Node) -> Option<(Node, References)> {
    let message = Some(to).filter(|node| node.role() == AuthorType::Human && request.rounds.is_empty())?;
    Some((message.clone(), References::of(&message.content)?))
}

/// Builds the instructions: the basic ones, the list of commands, and those for todos and delegation as permitted.
fn instructions(request: &ContextRequest<'_>) -> String {
    let held = request.agent.profile.permissions;
    let commands = |own: &[Tool]| tools::command_forms(own, held, request.host_tools);
    if request.is_worker() {
        return format!("{WORKER_INSTRUCTIONS}\n{}\n", commands(WORKER_TOOLS));
    }
    let mut text = format!("{BASE_INSTRUCTIONS}\n{}\n", commands(Tool::ALL));
    let writes_files = request.host_tools.iter().any(|tool| tool.name == FILE_WRITER);
    if writes_files && Tool::Write.missing_permission(held).is_none() {
        text.push_str(DOCUMENT_INSTRUCTIONS);
    }
    if request.scope.is_some() && Tool::Todo.missing_permission(held).is_none() {
        text.push_str(TODO_INSTRUCTIONS);
    }
    if Tool::Delegate.missing_permission(held).is_none() {
        text.push_str(DELEGATION_INSTRUCTIONS);
    }
    text
}

/// Returns the message that a turn answers, shortened if needed, in case the agent has moved away from it. The agent may
/// have pruned its branch meanwhile.
fn input(
    snapshot: &dyn Snapshot,
    request: &ContextRequest<'_>,
    renderer: &NodeRenderer,
) -> Result<Option<(NodeId, PromptPiece)>, ContextError> {
    let Some(node) = request.input.map(|id| snapshot.node(id)).transpose()?.flatten() else { return Ok(None) };
    let mut kept = node.clone();
    kept.state.hidden_by = None;
    if node.id == request.leaf || renderer.omission_reason(&kept).is_some() {
        return Ok(None);
    }
    let (share, header) = (request.options.prompt_tokens() / PINS_BUDGET_DIVISOR, renderer.header(&node, None));
    let text = match renderer.tokens(&node) {
        tokens if tokens <= share => format!("{header}{}", renderer.content(&node)),
        _ => format!("{header}{}", truncate_node(renderer, &node, share)),
    };
    let tokens = renderer.estimate_tokens(&text);
    Ok(Some((node.id, PromptPiece::new(ContextSection::Input, Role::User, text, tokens, false))))
}

/// Formats the instruction for one generation: a paragraph of its own before a plain text, else the last message.
fn asked_text(asked: &str, is_plain_text: bool) -> String {
    if is_plain_text { format!("{asked}\n\n") } else { format!("(For your next message: {})", escape_headers(asked)) }
}

/// Wraps a text in a titled block; an empty text stays empty.
fn block(title: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("=== {title} ===\n{text}\n===") }
}

/// Sums tokens by section, in the order of first occurrence.
fn parts(pieces: &[PromptPiece]) -> Vec<(ContextSection, u32)> {
    let mut parts: Vec<(ContextSection, u32)> = Vec::new();
    for piece in pieces {
        match parts.iter_mut().find(|(known, _)| *known == piece.part) {
            Some((_, sum)) => *sum += piece.tokens,
            None => parts.push((piece.part, piece.tokens)),
        }
    }
    parts
}
