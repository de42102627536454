//! Running commands: one door for every face. What may be run, in which limits, and in which words it is answered is
//! decided here; what is done is done by [`crate::ops`].
//!
//! A [`Executor`] is an agent at work in a session. Each command is answered by a [`Reply`]: text for a model to read, in
//! the shapes that `docs/arrow.md` shows, or a failure with its code. Lines of a batch see what the lines before them
//! did, and one that fails does not stop the others. Nothing but the lines that are handed in is ever run: content,
//! documents and results are data.
//!
//! The engine is synchronous here; a model that continues a node is asked through the [`Host`].

pub(in crate::arrow) mod call;
mod documents;
mod edits;
mod error;
pub mod escape;
mod extractive_summary;
mod help;
mod host;
mod host_tool;
mod limits;
mod list;
mod llm_summary;
mod memory;
mod navigate;
mod paging;
mod recall;
mod reply;
mod request;
mod todo;
mod trace;
mod tree;
mod view;
mod web;

pub use host::{ContinueRequest, DelegateRequest, Host, NoHost, WebHit, WebSearch};
pub use limits::{BATCH, CONTENT, CONTINUATIONS, DEPTH, INLINE, RESULTS};
pub use llm_summary::{SummaryRequest, SummaryResponse};
pub use memory::{block as memory_block, pinned};
pub use recall::session_summary;
pub use reply::{CommandReply, ErrorCode, ToolError};
pub use request::ExecRequest;
pub use todo::{named as todo_name, progress as todo_progress};
pub use trace::phrases as recent_actions;

use std::{cell::Cell, collections::HashMap};

use super::{Command, NodeRef, RecallFilter, SearchDepth, Topic, parse};
use crate::{
    id::{SessionId, TodoId, TreeId},
    ops::{Actor, Loom, OpsError},
    tools::Tool,
    types::{Agent, AgentAction, Node, Session, StashContent, Timestamp, TodoScope, Tree},
};

pub use crate::tools::HostTool;

/// An agent at work in a session.
pub struct Executor<'h> {
    loom: Loom,
    agent: Agent,
    session: SessionId,
    host: &'h dyn Host,
    inline: u32,
    /// Whose plan it works on.
    scope: TodoScope,
    /// What was planned in the batch that is being run.
    planned: Vec<TodoId>,
    /// In a turn, what was recalled in it, by the lines that asked for it.
    recalled: Option<HashMap<String, String>>,
    acts: Vec<AgentAction>,
    /// Whether the host had no summary when it was asked for one.
    no_summaries: Cell<bool>,
}

/// Where the agent stands when a command is run.
struct Position {
    session: Session,
    tree: Tree,
    position: Node,
    now: Timestamp,
}

/// What a command has to say, and what it was about.
struct CommandOutput {
    text: String,
    about: Option<String>,
    /// Whether it is a part of something kept already, and not to be cut again.
    is_part: bool,
}

impl From<String> for CommandOutput {
    fn from(text: String) -> Self {
        Self { text, about: None, is_part: false }
    }
}

impl CommandOutput {
    fn about(text: String, about: impl Into<String>) -> Self {
        Self { text, about: Some(about.into()), is_part: false }
    }
}

type Outcome = Result<CommandOutput, ToolError>;

impl<'h> Executor<'h> {
    /// An agent at work in one of its sessions.
    #[must_use]
    pub fn new(loom: Loom, agent: Agent, session: SessionId, host: &'h dyn Host) -> Self {
        Self {
            loom,
            agent,
            session,
            host,
            inline: INLINE,
            scope: TodoScope { session, turn: 0 },
            planned: Vec::new(),
            recalled: None,
            acts: Vec::new(),
            no_summaries: Cell::new(false),
        }
    }

    /// The same within a turn, whose plan it then works on; else that is what was planned by hand in the session.
    #[must_use]
    pub fn in_turn(mut self, scope: TodoScope) -> Self {
        self.scope = scope;
        self
    }

    /// The same within a turn, with what was answered before in it, each with its line: a recall is answered once.
    #[must_use]
    pub fn answered<'a>(mut self, before: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let recalled = self.recalled.get_or_insert_default();
        for (line, answer) in before {
            recalled.entry(line.to_owned()).or_insert_with(|| answer.to_owned());
        }
        self
    }

    /// The same with another limit for replies, in tokens: at most 8,000, which is what a recall may say.
    #[must_use]
    pub fn inline(mut self, tokens: u32) -> Self {
        self.inline = tokens.clamp(1, recall::WHOLE);
        self
    }

    /// The session it is in: another one once it switched to another tree.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Runs one command.
    pub fn run(&mut self, command: &Command) -> CommandReply {
        let reply = self.command(command);
        self.keep_acts();
        reply
    }

    /// Runs what a batch asks for in order. What was not understood is answered in its place, and what is over the
    /// limit of [`BATCH`] by one answer for all of it.
    pub fn run_batch<W: Into<ExecRequest>>(&mut self, lines: Vec<W>) -> Vec<CommandReply> {
        let mut replies = Vec::with_capacity(lines.len().min(BATCH + 1));
        self.run_each(lines.into_iter().map(Into::into).collect(), &mut |_, reply| replies.push(reply.clone()));
        replies
    }

    /// The same, with each answer told as it is there, and which it is of the batch.
    pub fn run_each(&mut self, wanted: Vec<ExecRequest>, each: &mut dyn FnMut(usize, &CommandReply)) {
        let over = wanted.len().saturating_sub(BATCH);
        for (at, wanted) in wanted.iter().take(BATCH).enumerate() {
            each(at, &self.one(wanted));
        }
        self.planned.clear();
        if over > 0 {
            let message = format!("a batch is at most {BATCH} lines; the last {over} were not run");
            each(BATCH, &CommandReply { tool: None, result: Err(ToolError::new(ErrorCode::LimitExceeded, message)) });
        }
        self.keep_acts();
    }

    fn one(&mut self, wanted: &ExecRequest) -> CommandReply {
        if self.host.is_cancelled() {
            let stopped = ToolError::new(ErrorCode::Cancelled, "stopped before it was run");
            return match wanted {
                ExecRequest::Command(command) => CommandReply { tool: Some(command.tool()), result: Err(stopped) },
                ExecRequest::Extra { name, .. } => CommandReply { tool: None, result: Err(stopped.of(name)) },
                ExecRequest::Refused(_) => CommandReply { tool: None, result: Err(stopped) },
            };
        }
        match wanted {
            ExecRequest::Command(command) => self.command(command),
            ExecRequest::Extra { name, arguments } => {
                let result = self.checked_call(name, arguments).map_err(|failure| failure.of(name));
                CommandReply { tool: None, result }
            }
            ExecRequest::Refused(failure) => CommandReply { tool: None, result: Err(failure.clone()) },
        }
    }

    fn command(&mut self, command: &Command) -> CommandReply {
        CommandReply { tool: Some(command.tool()), result: self.checked(command) }
    }

    fn checked(&mut self, command: &Command) -> Result<String, ToolError> {
        self.look_up_agent()?;
        limits::check(command, self.agent.profile.permissions)?;
        // What is stashed may have been replaced meanwhile; what was said is as it was.
        let recall = matches!(command, Command::Recall { label: None, .. }).then(|| command.to_string());
        if let Some(answer) = recall.as_ref().zip(self.recalled.as_ref()).and_then(|(line, all)| all.get(line)) {
            return Ok(format!("[Note: asked already in this turn, and the answer is the same.]\n{answer}"));
        }
        let here = self.here()?;
        let said = self.dispatch(command, &here)?;
        let tool = command.tool();
        let answer = self.finish(tool.name(), trace::is_kept(tool), &here, said)?;
        if let Some((line, all)) = recall.zip(self.recalled.as_mut()) {
            all.insert(line, answer.clone());
        }
        Ok(answer)
    }

    fn checked_call(&mut self, name: &str, arguments: &serde_json::Value) -> Result<String, ToolError> {
        self.look_up_agent()?;
        let (here, said) = self.call(name, arguments)?;
        self.finish(name, true, &here, said)
    }

    /// What the agent may do can have changed since the last command.
    fn look_up_agent(&mut self) -> Result<(), ToolError> {
        let agents = self.loom.snapshot()?.agents()?;
        let agent = agents.into_iter().find(|agent| agent.id() == self.agent.id() && !agent.removed);
        self.agent = agent.ok_or_else(|| OpsError::missing("agent", self.agent.name()))?;
        Ok(())
    }

    /// Notes what was done, where the journal does not tell, and brings the answer into its frame.
    fn finish(&mut self, tool: &str, noted: bool, here: &Position, said: CommandOutput) -> Result<String, ToolError> {
        if noted {
            let after = self.loom.snapshot()?.last_seq()?;
            self.acts.push(AgentAction { tool: tool.to_owned(), about: said.about.clone(), after });
        }
        let text = self.moved(tool, here, said.text)?;
        Ok(if said.is_part { text } else { self.cut(tool, here, text, said.about.as_deref()) })
    }

    fn dispatch(&mut self, command: &Command, here: &Position) -> Outcome {
        match command {
            Command::View { node, branch, full, annotations, rendering } => match branch {
                Some(branch) => self.view_branch(here, branch, *rendering),
                None => self.view(here, node.as_ref(), *full, *annotations),
            },
            Command::List { node, what } => self.list(here, node.as_ref(), *what),
            Command::Tree { summary: true, .. } => self.tree_summary(here),
            Command::Tree { from, depth, .. } => self.tree(here, from.as_ref(), *depth),
            Command::Switch { node, relative, tree } => self.switch(here, node.as_ref(), *relative, tree.as_deref()),
            Command::Diff { nodes } => self.diff(here, nodes),
            Command::Continue { from, n, tokens, agent } => {
                self.continue_(here, from.as_ref(), n.unwrap_or(1), *tokens, agent.as_deref())
            }
            Command::Respond { node, content, kind } => self.respond(here, node.as_ref(), content, *kind),
            Command::Annotate { node, content } => self.annotate(here, node.as_ref(), content),
            Command::Link { node, to, note } => self.link(here, node.as_ref(), to, note.clone()),
            Command::Unlink { node, from } => self.unlink(here, node.as_ref(), from),
            Command::Edit { node, content } => self.edit(here, node.as_ref(), content),
            Command::Merge { nodes, content } => self.merge(here, nodes, content),
            Command::Bookmark { node, label } => self.bookmark(here, node.as_ref(), label.as_deref()),
            Command::Unbookmark { node } => self.unbookmark(here, node.as_ref()),
            Command::Prune { node } => self.prune(here, node),
            Command::Restore { node } => self.restore(here, node),
            Command::Undo { n } => self.undo(here, n.unwrap_or(1), true),
            Command::Redo { n } => self.undo(here, n.unwrap_or(1), false),
            Command::Copy { node, to } => self.copy(here, node, to),
            Command::Move { node, to } => self.move_(here, node, to),
            Command::Split { node, at, after } => self.split(here, node.as_ref(), *at, after.as_deref()),
            Command::Exclude { node } => self.exclude(here, node.as_ref(), true),
            Command::Include { node } => self.exclude(here, node.as_ref(), false),
            Command::Read { doc, summary, lines, section } => {
                self.read_document(doc, *summary, *lines, section.as_deref())
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
            Command::Recall { label: Some(label), .. } => self.stashed_part(here, label),
            Command::Recall { search: Some(text), limit, only, .. } => self.recall_search(here, text, *limit, only),
            Command::Recall { turns: Some(turns), limit, only, .. } => self.recall_turns(here, *turns, *limit, only),
            Command::Recall { tool: Some(tool), limit, only, .. } => self.recall_tool(here, tool, *limit, only),
            Command::Recall { only: RecallFilter { around: Some(node), .. }, limit, .. } => {
                self.recall_around(here, node, *limit)
            }
            Command::Recall { .. } => self.recall_summary(here),
            Command::Drop { pin, stash } => self.let_go(here, pin.as_deref(), stash.as_deref()),
            Command::Decide { content, kind } => self.decide(here, content, *kind),
            Command::Memory { view } => self.memory(here, *view),
            Command::Think { content } => self.think(here, content.as_deref()),
            Command::Help { tool } => self.help(tool.as_deref()),
            Command::Todo { .. } => self.todo(command),
            Command::Delegate { goal, context, wait } => {
                let context = context.as_deref().unwrap_or("");
                let asked = DelegateRequest { at: here.position.id, goal, context, wait: wait.unwrap_or(true) };
                Ok(self.host.delegate(&self.actor(), &asked)?.into())
            }
            Command::Search { query, depth, topic, max, include, exclude } => self.search(&WebSearch {
                query,
                deep: *depth == Some(SearchDepth::Deep),
                news: *topic == Some(Topic::News),
                max: *max,
                include,
                exclude,
            }),
        }
    }

    /// The text with a line that says where the agent is now, if a command moved it by the way.
    fn moved(&self, tool: &str, before: &Position, text: String) -> Result<String, ToolError> {
        if tool == Tool::Switch.name() {
            return Ok(text);
        }
        let session = self.loom.session(self.session)?;
        match session.position.filter(|now| *now != before.position.id) {
            Some(now) => Ok(format!("{text}\n  position: {}", escape::id(&self.loom.node(now)?))),
            None => Ok(text),
        }
    }

    /// The text as far as a reply may go; the whole is kept, and the last line names the command that shows the rest.
    fn cut(&self, tool: &str, here: &Position, text: String, about: Option<&str>) -> String {
        let parts = paging::of(&text, self.inline);
        if parts.len() == 1 {
            return text;
        }
        let label = format!("{tool} {}", about.unwrap_or("")).replace('"', "");
        let label = label.trim_end();
        let kept = StashContent::Result(paging::kept(&text).to_owned());
        match self.actor().stash(here.tree.id, label, kept) {
            Ok(_) => paging::shown(&parts, 1, label),
            // What was asked for is there; only its rest cannot be asked for.
            Err(error) => {
                tracing::warn!(%error, "a long answer is not kept");
                paging::shown(&parts, 1, "")
            }
        }
    }

    /// Keeps what was done for the trace. An answer that was given stands, also where this fails.
    fn keep_acts(&mut self) {
        let acts = std::mem::take(&mut self.acts);
        if acts.is_empty() {
            return;
        }
        let tree = self.loom.session(self.session).map(|session| session.tree);
        if let Err(error) = tree.and_then(|tree| self.actor().act(tree, acts)) {
            tracing::warn!(%error, "what was looked at is not kept for the trace");
        }
    }

    fn actor(&self) -> Actor {
        self.loom.actor(&self.agent).in_session(self.session)
    }

    fn here(&self) -> Result<Position, ToolError> {
        let session = self.loom.session(self.session)?;
        let tree = self.loom.tree(session.tree)?;
        let position = session.position.or(tree.root).ok_or_else(|| OpsError::missing("node", "the root"))?;
        let position = self.loom.node(position)?;
        Ok(Position { session, tree, position, now: self.loom.now() })
    }

    /// The node that an id means in the tree where the agent is; without one, the position.
    fn node(&self, here: &Position, id: Option<&NodeRef>) -> Result<Node, ToolError> {
        match id {
            Some(id) => self.named(here, id),
            None => Ok(here.position.clone()),
        }
    }

    fn by_id(&self, here: &Position, id: &str) -> Result<Node, ToolError> {
        let node = self.node_of(here.tree.id, id)?;
        if node.tree == here.tree.id {
            return Ok(node);
        }
        let message = format!("[{}] is in another tree", node.local);
        // A title is content of a tree that the agent may not see without it.
        if !self.agent.profile.permissions.has(crate::types::Permission::CrossTree) {
            return Err(
                ToolError::new(ErrorCode::CrossTree, message).hint("going there needs the permission cross_tree")
            );
        }
        let title = escape::quoted(&self.loom.tree(node.tree)?.title);
        let hint = format!("→ switch to {} in tree:{title}", escape::mention(&node));
        Err(ToolError::new(ErrorCode::CrossTree, format!("{message}: {title}")).hint(hint))
    }

    /// The node that an id means in a tree; a full id may name one of another.
    fn node_of(&self, tree: TreeId, id: &str) -> Result<Node, ToolError> {
        let node = self.loom.find_node(tree, id)?;
        // Whoever guesses an id of another work item's is told what a wrong one is told.
        if node.tree != tree && !self.loom.tree(node.tree)?.is_seen_by(&self.loom.session(self.session)?) {
            return Err(OpsError::NotFound { what: "node", text: id.to_owned(), nearest: Vec::new() }.into());
        }
        Ok(node)
    }
}

/// What a line asks for, with or without its arrow.
///
/// # Errors
/// If it was not understood: with what was, and what was probably meant.
pub fn read(line: &str) -> Result<Command, ToolError> {
    Ok(parse(line)?.command)
}
