//! The executor: checks of a command, its run, and what its reply says of the position.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
};

use super::{
    Answer, ExecRights, Host, Outcome, answer::AnswerResult, authorize, continue_command::ContinueLength, node_format,
    recall, trace,
};

use crate::{
    arrow::{Command, RecallFilter, SearchDepth, Topic},
    id::{NodeId, SessionId, TodoId},
    ops::{Actor, Loom, OpsError},
    tools::{DEFAULT_REPLY_TOKENS, ErrorCode, Tool, ToolError, WebSearch},
    types::{Agent, AgentAction, Node, Session, Timestamp, TodoScope, Tree},
};

/// Runs commands as one agent in one session.
///
/// ```
/// use loomtree::{exec::{Executor, NoHost, read}, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let agent = loom.agent("collaborator")?;
/// let actor = session::actor_at(&loom, &agent, "example", root.id)?;
/// let session = actor.session().unwrap();
/// let mut executor = Executor::new(loom.clone(), agent, session, &NoHost);
/// let replies = executor.run_batch(vec![read("→ annotate \"too early\""), read("→ no such command")]);
/// println!("{}", replies[0]);
/// assert_eq!(loom.node(root.id)?.state.annotations, 1);
/// # Ok::<(), loomtree::Error>(())
/// ```
pub struct Executor<'h> {
    pub(super) loom: Loom,
    pub(super) agent: Agent,
    pub(super) session: SessionId,
    pub(super) host: &'h dyn Host,
    pub(super) rights: ExecRights,
    pub(super) max_reply_tokens: u32,
    /// Maximum tokens of a reply that shows stored conversation, if that is more.
    max_reading_tokens: u32,
    /// The session and turn of the current plan.
    pub(super) scope: TodoScope,
    /// Todo items added by the running batch.
    pub(super) planned: Vec<TodoId>,
    /// Answers to recalls of this turn by their canonical line; `None` outside a turn.
    pub(super) recalled: Option<HashMap<String, String>>,
    /// Nodes that the agent's prompt shows.
    pub(super) in_view: HashSet<NodeId>,
    pub(super) trace_buffer: Vec<AgentAction>,
    /// True if the host returned no summary once; it is not asked again.
    pub(super) no_summaries: Cell<bool>,
}

/// The agent's session, tree and position when a command starts.
pub(super) struct Position {
    pub(super) session: Session,
    pub(super) tree: Tree,
    pub(super) position: Node,
    pub(super) now: Timestamp,
}

impl<'h> Executor<'h> {
    /// Creates an executor for an agent in one of its sessions.
    #[must_use]
    pub fn new(loom: Loom, agent: Agent, session: SessionId, host: &'h dyn Host) -> Self {
        Self {
            loom,
            agent,
            session,
            host,
            rights: ExecRights::default(),
            max_reply_tokens: DEFAULT_REPLY_TOKENS,
            max_reading_tokens: 0,
            scope: TodoScope { session, turn: 0 },
            planned: Vec::new(),
            recalled: None,
            in_view: HashSet::new(),
            trace_buffer: Vec::new(),
            no_summaries: Cell::new(false),
        }
    }

    /// Sets the turn whose plan `todo` reads and changes. The default is the session's plan outside any turn.
    #[must_use]
    pub fn in_turn(mut self, scope: TodoScope) -> Self {
        self.scope = scope;
        self
    }

    /// Adds earlier answers of this turn as (canonical line, answer). A repeated recall returns the earlier answer.
    #[must_use]
    pub fn answered<'a>(mut self, before: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let recalled = self.recalled.get_or_insert_default();
        for (line, answer) in before {
            recalled.entry(line.to_owned()).or_insert_with(|| answer.to_owned());
        }
        self
    }

    /// Sets the nodes that the agent's prompt shows. A search lists them last.
    #[must_use]
    pub fn in_view(mut self, nodes: HashSet<NodeId>) -> Self {
        self.in_view = nodes;
        self
    }

    /// Sets the maximum tokens of a reply, clamped to 1–8,000. The default is
    /// [`DEFAULT_REPLY_TOKENS`].
    #[must_use]
    pub fn inline(mut self, tokens: u32) -> Self {
        self.max_reply_tokens = tokens.clamp(1, recall::MAX_REPLY_TOKENS);
        self
    }

    /// Sets the maximum tokens of a reply of `recall` and `view`, at most 8,000, if it is more than that of others.
    #[must_use]
    pub fn reading(mut self, tokens: u32) -> Self {
        self.max_reading_tokens = tokens.min(recall::MAX_REPLY_TOKENS);
        self
    }

    /// Returns the maximum tokens of a page of a tool's reply.
    pub(super) fn page_tokens(&self, tool: &str) -> u32 {
        let reads = [Tool::Recall, Tool::View].iter().any(|reading| reading.name() == tool);
        if reads { self.max_reply_tokens.max(self.max_reading_tokens) } else { self.max_reply_tokens }
    }

    /// Returns the current session. It changes when a command switches to another tree.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    pub(super) fn run_checked(&mut self, command: &Command) -> Result<Outcome, ToolError> {
        self.reload_agent()?;
        authorize::check(command, self.agent.profile.permissions, self.rights.read_only)?;
        // A stash can be replaced within the turn, so only recalls of nodes are cached.
        let recall = matches!(command, Command::Recall { label: None, .. }).then(|| command.to_string());
        if let Some(answer) = recall.as_ref().zip(self.recalled.as_ref()).and_then(|(line, all)| all.get(line)) {
            return Ok(format!("[Note: asked already in this turn, and the answer is the same.]\n{answer}").into());
        }
        let here = self.load_position()?;
        let answer = self.dispatch(command, &here)?;
        let tool = command.tool();
        let outcome = self.record_and_format(tool.name(), trace::is_recorded(tool), &here, answer)?;
        if let Some((line, all)) = recall.zip(self.recalled.as_mut()) {
            all.insert(line, outcome.text.clone());
        }
        Ok(outcome)
    }

    pub(super) fn run_host_tool(&mut self, name: &str, arguments: &serde_json::Value) -> Result<Outcome, ToolError> {
        self.reload_agent()?;
        let (here, answer) = self.call_host_tool(name, arguments)?;
        self.record_and_format(name, false, &here, answer)
    }

    /// Reloads the agent: its permissions can change between commands.
    fn reload_agent(&mut self) -> Result<(), ToolError> {
        let agents = self.loom.snapshot()?.agents()?;
        let agent = agents.into_iter().find(|agent| agent.id() == self.agent.id() && !agent.removed);
        self.agent = agent.ok_or_else(|| OpsError::missing("agent", self.agent.name()))?;
        let held = self.rights.permissions.unwrap_or(self.agent.profile.permissions);
        self.agent.profile.permissions = held.without(self.host.withheld());
        Ok(())
    }

    /// Records an action that the journal does not hold, then appends the position and paginates the reply.
    fn record_and_format(
        &mut self,
        tool: &str,
        noted: bool,
        here: &Position,
        answer: Answer,
    ) -> Result<Outcome, ToolError> {
        let subject = answer.subject();
        // Workers of a delegation are the same agent, which did not do what they do.
        if noted && here.session.delegated_by.is_none() {
            let newest = self.loom.snapshot()?.journal(crate::store::JournalFilter::default().limit(1))?;
            let after = newest.first().map_or(0, |entry| entry.seq);
            self.trace_buffer.push(AgentAction { tool: tool.to_owned(), about: answer.traced_subject(), after });
        }
        let mut text = self.append_position(tool, here, (answer.to_string(), &answer))?;
        if !matches!(answer, Answer::Page { .. }) {
            text = self.paginate_result(tool, here, text, subject);
        }
        Ok(Outcome { text, answer })
    }

    fn dispatch(&mut self, command: &Command, here: &Position) -> AnswerResult {
        match command {
            Command::View { node, branch, from, full, annotations, rendering } => {
                match from.as_ref().and(node.as_ref()).or(branch.as_ref()) {
                    Some(branch) => self.view_branch(here, branch, from.as_ref(), *rendering),
                    None => self.view(here, node.as_ref(), *full, *annotations),
                }
            }
            Command::List { node, what } => self.list(here, node.as_ref(), *what),
            Command::Tree { summary: true, .. } => self.tree_summary(here),
            Command::Tree { from, depth, .. } => self.tree(here, from.as_ref(), *depth),
            Command::Switch { node, relative, tree } => self.switch(here, node.as_ref(), *relative, tree.as_deref()),
            Command::Diff { nodes } => self.diff(here, nodes),
            Command::Continue { from, n, tokens, words, agent, instruction } => {
                let length = ContinueLength { n: n.unwrap_or(1), tokens: *tokens, words: *words };
                self.continue_(here, from.as_ref(), length, agent.as_deref(), instruction.as_deref())
            }
            Command::Respond { node, content, kind } => self.respond(here, node.as_ref(), content, *kind),
            Command::Undo { n } => self.revert(here, n.unwrap_or(1), false),
            Command::Redo { n } => self.revert(here, n.unwrap_or(1), true),
            Command::Read { doc, summary, lines, section, version } => {
                self.read_document(doc, *version, *summary, (*lines, section.as_deref()))
            }
            Command::Write { doc, place, content } => self.write(doc, place, content),
            Command::Pin { node, doc, section } => self.pin(here, node.as_ref(), doc.as_deref(), section.as_deref()),
            Command::Stash { label, content, content_of, summary_of } => {
                self.stash(here, label, content.as_deref(), content_of.as_ref(), summary_of.as_ref())
            }
            Command::Recall { label, summary, only, .. }
                if (label.is_some() || *summary) && *only != RecallFilter::default() =>
            {
                let message = format!("a stash and the summary are not narrowed down, and{only} would");
                Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint(format!("→ recall search \"words\"{only}")))
            }
            Command::Recall { label: Some(label), .. } => self.recall_stash(here, label),
            Command::Recall { search: Some(text), limit, only, .. } => self.recall_search(here, text, *limit, only),
            Command::Recall { turns: Some(turns), limit, only, .. } => self.recall_turns(here, *turns, *limit, only),
            Command::Recall { tool: Some(tool), limit, only, .. } => self.recall_tool(here, tool, *limit, only),
            Command::Recall { only: RecallFilter { around: Some(node), .. }, limit, .. } => {
                self.recall_around(here, node, *limit)
            }
            Command::Recall { .. } => self.recall_summary(here),
            Command::Drop { pin, stash } => self.drop_item(here, pin.as_ref(), stash.as_deref()),
            Command::Decide { content, kind } => self.decide(here, content, *kind),
            Command::Memory { view } => self.memory(here, *view),
            Command::Think { content } => self.think(here, content.as_deref()),
            Command::Help { tool } => self.help(tool.as_deref()),
            Command::Todo { .. } => self.todo(command),
            Command::Delegate { .. } => self.delegate(here, command),
            Command::Search { query, depth, topic, max, include, exclude } => self.search(&WebSearch {
                query,
                deep: *depth == Some(SearchDepth::Deep),
                news: *topic == Some(Topic::News),
                max: *max,
                include,
                exclude,
            }),
            change => self.change(here, change),
        }
    }

    /// Appends the agent's position to the text: the new one if a command other than `switch` moved it, the unchanged one
    /// if the command added a node elsewhere.
    fn append_position(
        &self,
        tool: &str,
        before: &Position,
        (text, answer): (String, &Answer),
    ) -> Result<String, ToolError> {
        if tool == Tool::Switch.name() {
            return Ok(text);
        }
        let session = self.loom.session(self.session)?;
        match session.position.filter(|now| *now != before.position.id) {
            Some(now) => Ok(format!("{text}\n  position: {}", node_format::id(&self.loom.node(now)?))),
            None if answer.adds_to_conversation() => {
                let onward = answer.new_wording(before.position.id).map(node_format::mention);
                let onward = onward.map_or(String::new(), |new| format!(" · → switch to {new} continues from it"));
                Ok(format!("{text}\n  you stay at {}{onward}", node_format::id(&before.position)))
            }
            None => Ok(text),
        }
    }

    /// Writes the buffered actions for the trace. A failure is logged: the replies were returned already.
    pub(super) fn flush_trace(&mut self) {
        let acts = std::mem::take(&mut self.trace_buffer);
        if acts.is_empty() {
            return;
        }
        let tree = self.loom.session(self.session).map(|session| session.tree);
        if let Err(error) = tree.and_then(|tree| self.actor().record_actions(tree, acts)) {
            tracing::warn!(%error, "actions could not be stored for the trace");
        }
    }

    /// Returns the agent in its session, at a position that only `switch` moves.
    pub(super) fn actor(&self) -> Actor {
        self.loom.actor(&self.agent).in_session(self.session).keeping_position()
    }

    pub(super) fn load_position(&self) -> Result<Position, ToolError> {
        let session = self.loom.session(self.session)?;
        let tree = self.loom.tree(session.tree)?;
        let position = self.loom.position(&tree, Some(&session))?;
        Ok(Position { session, tree, position, now: self.loom.now() })
    }
}
