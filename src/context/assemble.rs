//! Putting a prompt together: the fixed parts, then as much of the conversation as fits.

use crate::{
    id::NodeId,
    recall::References,
    session_state::SessionInfo,
    store::Snapshot,
    tools::{self, HostTool, Tool},
    types::{Agent, AuthorType, Mode, Node, Permission, Session, Timestamp, TodoScope, Tree},
};

use super::{
    CommandRound, ContextError, ContextOptions, ContextReport, ContextSection, MessageRole, PinReport, RenderedPrompt,
    ambient, command_rounds, memory,
    message::{MESSAGE, PromptPiece, merged},
    node::{NodeRenderer, escaped},
    rendered::RenderedNodes,
    window::{LEAST, WindowParams, cut},
};

/// What an aware agent has to know, before the list of what it may use.
const ADDENDUM: &str = include_str!("loom_aware.md");
/// When an agent that may plan is to plan.
const PLANNING: &str = include_str!("planning.md");
/// When an agent that may delegate is to.
const DELEGATING: &str = include_str!("delegating.md");
/// The part of the budget that a stable prompt keeps for what changes, so that the room for the conversation does not
/// change with it: an eighth.
const CHANGING: u32 = 8;
/// The part of the budget that pins may have: a quarter.
const PINS: u32 = 4;

/// Who is shown what, and when.
#[derive(Debug, Clone, Copy)]
pub struct ContextRequest<'a> {
    /// Who is to write.
    pub agent: &'a Agent,
    /// The node to continue.
    pub to: NodeId,
    /// The versions to read on the way to it.
    pub versions: &'a [NodeId],
    /// The node with which what is shown of the path begins: work that was delegated sees nothing of what was said before.
    /// `None`: its root.
    pub since: Option<NodeId>,
    /// The session that the agent works in, if it works in one: its state is shown.
    pub session: Option<&'a Session>,
    /// What this turn's commands were answered, the oldest first.
    pub exchanges: &'a [CommandRound],
    /// Whose plan the turn's commands work on; `None`: none are run.
    pub scope: Option<TodoScope>,
    /// What this turn answers: shown last where the agent has gone elsewhere since.
    pub input: Option<NodeId>,
    /// Tools of the program around the engine.
    pub extras: &'a [HostTool],
    /// Window, strategy, rendering.
    pub options: ContextOptions,
    /// The time now.
    pub now: Timestamp,
}

/// A prompt, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AssembledPrompt {
    /// What the model is given.
    #[serde(flatten)]
    pub prompt: RenderedPrompt,
    /// What is in it, and what is not.
    pub report: ContextReport,
}

/// Puts a prompt together.
///
/// # Errors
/// If there is no such node, the fixed parts alone are too long, or the strategy is `stop` and the conversation is; or
/// if the store fails.
pub fn assemble(snapshot: &dyn Snapshot, ask: &ContextRequest<'_>) -> Result<AssembledPrompt, ContextError> {
    let to = snapshot.node(ask.to)?.ok_or(ContextError::NoNode(ask.to))?;
    let tree = snapshot.tree(to.tree)?.ok_or(ContextError::NoTree(to.tree))?;
    let view = NodeRenderer {
        agent: ask.agent.id(),
        aware: ask.agent.profile.permissions.has(Permission::LoomAware),
        mode: tree.mode,
        rendering: ask.options.rendering,
        now: ask.now,
        vocabulary: ask.options.vocabulary,
        correction: ask.options.correction,
    };
    let document = tree.mode == Mode::Buffer && !view.aware;
    let mut around =
        if document { FixedSections::default() } else { FixedSections::read(snapshot, ask, &view, (&tree, &to))? };
    let tokens = around.room(&view, ask.options.room())?;
    let room = WindowParams {
        view: &view,
        options: &ask.options,
        tree: &tree,
        versions: ask.versions,
        since: ask.since,
        tokens,
    };
    let window = room.choose(snapshot, ask.to)?;
    let shown = RenderedNodes::of(&view, &window, std::mem::take(&mut around.exchanges));
    if shown.has(around.input.as_ref().map_or(ask.to, |(id, _)| *id)) {
        around.input = None;
    }
    if view.aware && view.keeps() {
        around.ambient.extend(ambient::changed(shown.newest_first()));
    }
    let hint = around.hint(snapshot, &tree, &shown);
    around.ambient.extend(hint);
    let (path, earlier, pins) = (shown.report(&window), window.earlier(), std::mem::take(&mut around.pins));
    let pieces = around.pieces(&view, shown);
    let mut parts = parts(&pieces);
    let prompt = if document {
        RenderedPrompt::Text(pieces.into_iter().map(|piece| piece.text).collect())
    } else {
        let messages = merged(pieces);
        parts.push((ContextSection::Messages, MESSAGE * u32::try_from(messages.len()).unwrap_or(u32::MAX)));
        RenderedPrompt::Messages(messages)
    };
    let total = parts.iter().map(|(_, tokens)| tokens).sum();
    let report = ContextReport {
        window: ask.options.window,
        budget: ask.options.room(),
        correction: ask.options.correction,
        total,
        parts,
        earlier,
        path,
        pins,
    };
    Ok(AssembledPrompt { prompt, report })
}

/// What stands around the conversation; what is empty is not there.
#[derive(Default)]
struct FixedSections {
    agent_prompt: String,
    tree_prompt: String,
    addendum: String,
    state: String,
    /// The state without the line on what is being worked on: that is the message itself.
    settled: String,
    memory: String,
    pins: Vec<PinReport>,
    exchanges: Vec<(NodeId, Vec<PromptPiece>)>,
    /// What the turn answers, in case it is not on the path.
    input: Option<(NodeId, PromptPiece)>,
    /// The lines of the ambient block.
    ambient: Vec<String>,
    /// What the message that is answered may refer to, and the message.
    references: Option<(Node, References)>,
}

impl FixedSections {
    fn read(
        snapshot: &dyn Snapshot,
        ask: &ContextRequest<'_>,
        view: &NodeRenderer,
        (tree, to): (&Tree, &Node),
    ) -> Result<Self, ContextError> {
        let prompt = |text: &Option<String>| text.clone().unwrap_or_default();
        let bare = Self {
            agent_prompt: prompt(&ask.agent.profile.system_prompt),
            tree_prompt: prompt(&tree.system_context),
            ..Self::default()
        };
        if !view.aware {
            return Ok(bare);
        }
        let (memory, pins) =
            memory::block(snapshot, (ask.agent.id(), tree.id), view.vocabulary, ask.options.room() / PINS)?;
        let (state, settled) = ask.session.map(|session| state(snapshot, session)).transpose()?.unwrap_or_default();
        Ok(Self {
            addendum: addendum(ask),
            state: block("Session State", &escaped(&state)),
            settled,
            memory,
            pins,
            exchanges: command_rounds::worded(ask.exchanges, view, ask.options.room()),
            input: input(snapshot, ask, view)?,
            ambient: ambient::lines(snapshot, ask, tree)?,
            references: references(ask, to),
            ..bare
        })
    }

    /// Tokens that are left for the conversation.
    fn room(&self, view: &NodeRenderer, budget: u32) -> Result<u32, ContextError> {
        let sum = |texts: &[&str]| texts.iter().map(|text| view.estimated(text)).sum::<u32>();
        let lasting = sum(&[&self.agent_prompt, &self.tree_prompt, &self.addendum]) + MESSAGE;
        let mut changing = sum(&[&self.state, &self.memory, &ambient::block(&self.ambient)]);
        let answers =
            self.exchanges.iter().flat_map(|(_, pieces)| pieces).chain(self.input.iter().map(|(_, piece)| piece));
        changing += answers.map(|piece| piece.tokens + MESSAGE).sum::<u32>();
        if view.aware && view.keeps() {
            changing += ambient::CHANGED;
        }
        changing += self.references.as_ref().map_or(0, |_| ambient::HINT);
        let fixed = lasting + changing;
        if fixed + LEAST > budget {
            return Err(ContextError::Fixed { fixed, over: fixed + LEAST - budget, budget });
        }
        if view.aware && view.keeps() {
            changing = changing.max(budget / CHANGING);
        }
        Ok(budget.saturating_sub(lasting + changing).max(LEAST))
    }

    /// A line on what the message refers to, if that is not shown. Nobody waits for a hint: where it cannot be had, there
    /// is none.
    fn hint(&mut self, snapshot: &dyn Snapshot, tree: &Tree, shown: &RenderedNodes<'_>) -> Option<String> {
        let (message, references) = self.references.take()?;
        if shown.newest_first().count() as u64 >= tree.counts.nodes {
            return None;
        }
        let own = [&self.agent_prompt, &self.tree_prompt, &self.settled, &self.memory];
        let own = own.into_iter().map(|text| (None, text.as_str()));
        let nodes = shown.newest_first().map(|node| (Some(node.seq), node.content.as_str()));
        let hint = references.hint(snapshot, tree.id, &message, &mut own.chain(nodes));
        hint.inspect_err(|error| tracing::warn!(%error, "there is no hint")).ok()?.and_then(|hint| ambient::hint(&hint))
    }

    /// The pieces in their order.
    fn pieces(self, view: &NodeRenderer, mut shown: RenderedNodes<'_>) -> Vec<PromptPiece> {
        let stable = view.keeps();
        let system = [
            (ContextSection::AgentPrompt, self.agent_prompt),
            (ContextSection::TreePrompt, self.tree_prompt),
            (ContextSection::Addendum, self.addendum),
        ];
        let own = [(ContextSection::State, self.state), (ContextSection::Memory, self.memory)];
        let now = [(ContextSection::Ambient, ambient::block(&self.ambient))];
        let input = shown.take_input(view).or(self.input.map(|(_, piece)| piece));
        let mut pieces: Vec<PromptPiece> = Vec::new();
        let mut push = |voice, kept, texts: &mut dyn Iterator<Item = (ContextSection, String)>| {
            let texts = texts.filter(|(_, text)| !text.is_empty());
            pieces.extend(
                texts.map(|(part, text)| PromptPiece::new(part, voice, text.clone(), view.estimated(&text), kept)),
            );
        };
        push(MessageRole::System, stable, &mut system.into_iter());
        let (first, last) = if stable { (None, Some(own)) } else { (Some(own), None) };
        push(MessageRole::System, false, &mut first.into_iter().flatten());
        pieces.extend(shown.pieces(view));
        let mut push = |part, text: String| {
            if !text.is_empty() {
                let tokens = view.estimated(&text);
                pieces.push(PromptPiece::new(part, MessageRole::User, text, tokens, false));
            }
        };
        last.into_iter().flatten().chain(now).for_each(|(part, text)| push(part, text));
        pieces.extend(input);
        pieces
    }
}

/// What the newest message refers to, if a person wrote it and nothing was done about it yet.
fn references(ask: &ContextRequest<'_>, to: &Node) -> Option<(Node, References)> {
    let message = Some(to).filter(|node| node.role() == AuthorType::Human && ask.exchanges.is_empty())?;
    Some((message.clone(), References::of(&message.content)?))
}

/// What an aware agent has to know: how it works here, what it may use, and, where it may plan or delegate, when that is
/// wanted.
fn addendum(ask: &ContextRequest<'_>) -> String {
    let held = ask.agent.profile.permissions;
    let mut text = format!("{ADDENDUM}\n{}", tools::overview(held, ask.extras));
    if ask.scope.is_some() && Tool::Todo.missing_permission(held).is_none() {
        text.push_str(PLANNING);
    }
    if Tool::Delegate.missing_permission(held).is_none() {
        text.push_str(DELEGATING);
    }
    text
}

/// What a turn answers, whole or in part, in case the agent has left its place.
fn input(
    snapshot: &dyn Snapshot,
    ask: &ContextRequest<'_>,
    view: &NodeRenderer,
) -> Result<Option<(NodeId, PromptPiece)>, ContextError> {
    let Some(node) = ask.input.map(|id| snapshot.node(id)).transpose()?.flatten() else { return Ok(None) };
    if node.id == ask.to || view.left_out(&node).is_some() {
        return Ok(None);
    }
    let (share, header) = (ask.options.room() / PINS, view.header(&node, None));
    let text = match view.tokens(&node) {
        tokens if tokens <= share => format!("{header}{}", view.words(&node)),
        _ => format!("{header}{}", cut(view, &node, share)),
    };
    let tokens = view.estimated(&text);
    Ok(Some((node.id, PromptPiece::new(ContextSection::Input, MessageRole::User, text, tokens, false))))
}

/// What a session never forgets, and the same without the line on what is being worked on; nothing as long as it has no turns
/// and nothing was recorded.
fn state(snapshot: &dyn Snapshot, session: &Session) -> Result<(String, String), ContextError> {
    let mut register = snapshot.session_state(session.id)?;
    if register.is_empty() && session.turns == 0 {
        return Ok(Default::default());
    }
    let todos = snapshot.todos(session.id, None)?;
    let about = SessionInfo::of(session, &todos);
    let state = register.yaml(&about);
    register.current_focus = None;
    Ok((state, register.yaml(&about)))
}

/// A block of the engine's around a text; nothing around none.
fn block(title: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("=== {title} ===\n{text}\n===") }
}

/// Tokens of each part, in the order in which they come first.
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
