//! `loom chat`: a conversation with an agent, line by line. The agent's commands and the user's arrow lines run and are
//! printed as they happen. Only a single typed line runs workspace tools without approval. Ctrl-C saves a partial reply;
//! Ctrl-D ends the program, and the session stays.

mod keywords;
mod lines;

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, atomic::Ordering},
};

use loomtree::{
    arrow,
    delegate::Orchestrator,
    exec::{CommandReply, Executor},
    id::SessionId,
    ops::{Actor, NodeDraft},
    provider::Model,
    session::{BackgroundDelegations, GenerateRequest, Progress, ToolAccess, actor_at, actor_in_session, generate},
    store::SessionFilter,
    types::{Agent, Node, Parent, Permission},
};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use self::{
    keywords::ChatKeyword,
    lines::{LineSource, PipedLines, ReadlineLines, SingleLine, print_notices, read_message},
};
use super::sessions;
use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    delegation, embedding_models,
    error::{CliError, Result},
    model_choice::{self, named_model},
    output::{DIM, ID, count, paint},
    process_setup, program_host,
    sanitize::sanitize,
    show::StreamPrinter,
    turn_args::{OwnTools, TurnArgs},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message; without it the conversation is interactive
    message: Option<String>,
    /// The agent to talk with
    #[arg(long, value_name = "AGENT", default_value = "collaborator")]
    with: String,
    #[command(flatten)]
    options: ChatOptions,
}

/// The model and the turn options of the agent.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatOptions {
    /// The model: provider:model, a URL, or a name of the configuration
    #[arg(long, short, value_name = "REF")]
    model: Option<String>,
    #[command(flatten)]
    turn: TurnArgs,
}

/// Starts or continues the conversation.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let with = cx.loom.agent(&args.with)?;
    if with.id() == cx.agent.id() {
        return Err(CliError::usage(format!("{} cannot talk with itself; name another agent with --with", args.with)));
    }
    let options = args.options;
    let sessions = starting_sessions(cx, &with, &options)?;
    run_session(cx, with, sessions, options, args.message)
}

/// Returns the user's session. Without a tree, or after the agent's session in it has ended, a conversation begins at a
/// fresh root, and the agent's session is returned too.
fn starting_sessions(
    cx: &CommandContext<'_>,
    with: &Agent,
    options: &ChatOptions,
) -> Result<(SessionId, Option<SessionId>)> {
    let Some(current) = cx.try_position()? else {
        // Nothing is created if there is no model.
        let named = named_model(options.model.as_deref(), Some(with), &cx.config);
        process_setup::runtime()?.block_on(model_choice::open(named, &cx.config))?;
        let begun = sessions::begin_conversation(cx, None, with.name(), None)?;
        return Ok((begun.own, Some(begun.session)));
    };
    let (workspace, tree) = (Some(cx.workspace.clone()), Some(current.tree.id));
    let filter = SessionFilter { workspace, tree, agent: Some(with.id()), limit: 1, ..SessionFilter::default() };
    match cx.loom.sessions(&filter)?.pop() {
        Some(last) if !last.can_resume(cx.now()) => {
            let next = cx.loom.session(cx.actor().continue_session(last.id)?)?;
            Ok((sessions::own_session_at(cx, &next)?, Some(next.id)))
        }
        _ => Ok((cx.ensure_session()?.1, None)),
    }
}

/// Runs a conversation between the user's `session` and an agent, in the agent's session if one is named.
pub(crate) fn run_session(
    cx: &mut CommandContext<'_>,
    with: Agent,
    (session, agent_session): (SessionId, Option<SessionId>),
    options: ChatOptions,
    message: Option<String>,
) -> Result<()> {
    let actor = cx.actor().in_session(session);
    let runtime = process_setup::runtime()?;
    let ctrl_c = CtrlC::listen(&runtime);
    let last_model = agent_session.map(|id| cx.loom.session(id)).transpose()?.and_then(|session| session.model);
    let chosen = options.model.as_deref().or(last_model.as_deref());
    let reference = named_model(chosen, Some(&with), &cx.config).map(str::to_owned);
    let model = runtime.block_on(model_choice::open(reference.as_deref(), &cx.config))?;
    let aware = with.profile.permissions.has(Permission::LoomAware);
    if options.turn.has_workspace_tools() && !aware {
        return Err(CliError::usage(format!("--tools: {} does not run commands", with.name())));
    }
    let commands = if aware { Some(options.turn.tool_access(cx, &with, reference.as_deref())?) } else { None };
    let own_tools = options.turn.own_tools(cx)?;
    let orchestrator = options.turn.orchestrator(cx, &with, reference.as_deref())?;
    let single = message.is_some();
    let mut lines: Box<dyn LineSource> = match message {
        Some(message) => Box::new(SingleLine(Some(message))),
        None if io::stdin().is_terminal() && !cx.out.json => {
            Box::new(ReadlineLines::new(Arc::clone(&cx.terminal_lock))?)
        }
        None => Box::new(PipedLines),
    };
    let background = commands.as_ref().map(|commands| Arc::clone(&commands.background)).unwrap_or_default();
    observe_background(&background, cx);
    let mut chat = Chat {
        with,
        model,
        reference,
        commands,
        background,
        own_tools,
        orchestrator,
        session,
        agent_session,
        actor,
        runtime,
        ctrl_c,
        options,
    };
    let _indexer = embedding_models::start_embedding(cx);
    lines.greet(&chat, cx)?;
    while let Some(text) = read_message(&mut *lines, cx)? {
        let keyword = ChatKeyword::parse(&text).filter(|_| !single);
        let done = match keyword {
            Some(keyword) => chat.run_keyword(keyword, cx),
            None if arrow::is_command(&text) => chat.run_command(&text, lines.is_interactive(), cx).map(|()| true),
            None => chat.send_message(&text, cx).map(|()| true),
        };
        match done {
            Ok(false) => break,
            // An interactive user continues after an error; a script stops.
            Err(error) if lines.is_interactive() && !error.is_closed_pipe() => {
                write!(cx.out, "{}", error.message_and_hint())?;
            }
            done => _ = done?,
        }
    }
    program_host::wait_for_background(&chat.background, &chat.runtime, &chat.ctrl_c)?;
    if lines.is_interactive() {
        writeln!(cx.out, "{}", paint(DIM, "the session stays: `loom chat` or `loom resume` continues it"))?;
    }
    print_notices(cx)
}

/// Prints progress of delegations in the background above the line that is edited, or before the next one is read.
fn observe_background(background: &BackgroundDelegations, cx: &CommandContext<'_>) {
    let (terminal_lock, json, width) = (Arc::clone(&cx.terminal_lock), cx.out.json, cx.out.width);
    background.observe(Arc::new(move |update| {
        let line = if json {
            Some(serde_json::json!({ "event": "delegated", "told": update }).to_string())
        } else {
            delegation::update_line(&update, width).map(|line| line.trim_end().to_owned())
        };
        line.into_iter().for_each(|line| terminal_lock.notify(line));
    }));
}

struct Chat {
    with: Agent,
    model: Arc<dyn Model>,
    /// The model as the user, the session, the agent or the configuration names it; `None` if it was discovered.
    reference: Option<String>,
    commands: Option<ToolAccess>,
    /// Workspace tools for the user's own arrow lines.
    own_tools: OwnTools,
    orchestrator: Option<Arc<dyn Orchestrator>>,
    background: Arc<BackgroundDelegations>,
    session: SessionId,
    agent_session: Option<SessionId>,
    actor: Actor,
    runtime: Runtime,
    ctrl_c: CtrlC,
    options: ChatOptions,
}

/// A JSON event of the user's own actions.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ChatEvent<'a> {
    Said { node: &'a Node },
    Ran { line: &'a str, reply: &'a CommandReply },
}

impl Chat {
    fn run_command(&mut self, text: &str, typed: bool, cx: &mut CommandContext<'_>) -> Result<()> {
        let mut host =
            program_host::session_host(cx, cx.agent.id(), self.reference.as_deref(), &self.runtime, self.ctrl_c.arm());
        self.own_tools.typed.store(typed && !text.trim().contains('\n'), Ordering::Relaxed);
        host.tool_access.tools = Arc::clone(&self.own_tools.tools);
        host.tool_access.orchestrator.clone_from(&self.orchestrator);
        host.tool_access.background = Arc::clone(&self.background);
        let mut executor = Executor::new(cx.loom.clone(), cx.agent.clone(), self.session, &host);
        let lines = super::do_::batches(text, &|line| executor.read(line));
        for line in lines.into_iter().flatten() {
            for reply in executor.run_batch(vec![line.request]) {
                if cx.out.json {
                    cx.out.json(&ChatEvent::Ran { line: &line.text, reply: &reply })?;
                } else {
                    writeln!(cx.out, "{}", sanitize(&reply.to_string()))?;
                }
            }
        }
        self.ctrl_c.disarm();
        self.session = executor.session();
        self.actor = cx.actor().in_session(self.session);
        Ok(())
    }

    /// Returns an actor for the agent at the user's position. Its session is kept while the user stays in the tree.
    fn agent_actor(&mut self, cx: &CommandContext<'_>) -> Result<Actor> {
        let session = cx.loom.session(self.session)?;
        let tree = cx.loom.tree(session.tree)?;
        let position = cx.loom.position(&tree, Some(&session))?.id;
        let existing = self.agent_session.map(|id| cx.loom.session(id)).transpose()?;
        let existing =
            existing.filter(|agent_session| agent_session.tree == tree.id && agent_session.can_resume(cx.now()));
        let agent_session = match existing {
            Some(agent_session) => actor_in_session(&cx.loom, &self.with, agent_session.id, position)?,
            None => actor_at(&cx.loom, &self.with, &cx.workspace, position)?,
        };
        self.agent_session = agent_session.session();
        Ok(agent_session)
    }

    /// Appends the user's message and generates the reply.
    fn send_message(&mut self, text: &str, cx: &mut CommandContext<'_>) -> Result<()> {
        // An agent that runs commands gets the message in its own session, so that its session holds the whole
        // conversation.
        let agent_session = if self.commands.is_some() { Some(self.agent_actor(cx)?) } else { None };
        let receipt = match agent_session.as_ref().and_then(Actor::session) {
            Some(session) => self.actor.send_to(session, NodeDraft::text(text))?,
            None => self.actor.append(Parent::Position(self.session), NodeDraft::text(text))?,
        };
        let message_node =
            receipt.nodes.first().map(|node| node.id).ok_or_else(|| CliError::failed("no message was saved"))?;
        if cx.out.json {
            cx.out.json(&ChatEvent::Said { node: &cx.loom.node(message_node)? })?;
        }
        let actor = agent_session.clone().unwrap_or_else(|| self.actor.clone());
        let request = GenerateRequest {
            versions: cx.loom.session(self.session)?.versions,
            sampling: self.options.turn.sampling(),
            context: self.options.turn.context(&cx.config),
            cancel: self.ctrl_c.arm(),
            partials_dir: Some(cx.partials_dir.clone()),
            prices: cx.config.prices.clone(),
            commands: self.commands.clone(),
            ..GenerateRequest::new(message_node, self.with.clone(), Arc::clone(&self.model), 1)
        };
        let mut printer = ChatPrinter {
            stream: StreamPrinter::default(),
            output_error: None,
            failure: None,
            cancel: request.cancel.clone(),
        };
        let done = self.runtime.block_on(generate(&actor, request, |progress| printer.on_progress(progress, cx)));
        self.ctrl_c.disarm();
        printer.stream.end_line(cx.out)?;
        if let Some(output_error) = printer.output_error {
            return Err(output_error);
        }
        if let Some(agent_session) = &agent_session {
            program_host::follow_agent(&self.actor, agent_session)?;
        }
        match (done, printer.failure) {
            (Ok(nodes), failure) => {
                if let Some(last) = nodes.last().filter(|_| !cx.out.json && cx.out.terminal) {
                    let commands = nodes.len() - 1;
                    let rounds = if commands > 0 {
                        format!(" · {}", count(nodes.len() as u64, "round"))
                    } else {
                        String::new()
                    };
                    writeln!(cx.out, "{} {}{}", paint(DIM, "node"), paint(ID, &last.local), paint(DIM, rounds))?;
                }
                failure.map_or(Ok(()), Err)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

struct ChatPrinter {
    stream: StreamPrinter,
    output_error: Option<CliError>,
    failure: Option<CliError>,
    cancel: CancellationToken,
}

impl ChatPrinter {
    fn on_progress(&mut self, progress: Progress, cx: &mut CommandContext<'_>) {
        let printed = if cx.out.json {
            cx.out.json(&progress).and_then(|()| cx.out.flush())
        } else {
            self.stream.on_progress(&progress, cx.out)
        };
        if let Err(error) = printed {
            // Without a reader the rest of the turn is not needed.
            self.cancel.cancel();
            self.output_error.get_or_insert(error.into());
        }
        if let Progress::Failed { error, .. } = progress {
            self.failure = Some(error.into());
        }
    }
}
