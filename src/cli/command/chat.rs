//! `loom chat`: a conversation with an agent, line by line. What the agent asks for by commands is done and shown as it
//! happens; arrow lines that the person types are run in the same way. Text with arrow lines in it is said, not run, and only
//! a single typed line runs tools for the folder unasked. Ctrl-C stops a reply and keeps what came; the end
//! of the input (Ctrl-D) ends the conversation, which stays where it is for the next time.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    sync::{Arc, atomic::Ordering},
};

use loomtree::{
    arrow::{
        self, Event,
        run::{CommandReply, Executor},
    },
    delegate::Orchestrator,
    id::SessionId,
    ops::{Actor, NodeDraft},
    provider::Model,
    session::{Background, GenerateRequest, Progress, ToolAccess, actor_at, actor_in_session, generate},
    types::{Agent, Node, Parent, Permission},
};
use rustyline::{DefaultEditor, ExternalPrinter as _, error::ReadlineError};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::cli::{
    command_context::CommandContext,
    env,
    error::{CliError, Result},
    models::{self, CtrlC},
    output::{BOLD, DIM, ID, MARK, count, paint},
    sanitize::{cut, one_line, sanitize},
    show::StreamPrinter,
    terminal_lock::TerminalLock,
    turn_args::{OwnTools, TurnArgs},
};

/// What `chat` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to say; without it the conversation goes on line by line
    message: Option<String>,
    /// With whom
    #[arg(long, value_name = "AGENT", default_value = "collaborator")]
    with: String,
    #[command(flatten)]
    how: ChatOptions,
}

/// How the other one speaks.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatOptions {
    /// A model: provider:model, a URL, or a name of the configuration
    #[arg(long, short, value_name = "REF")]
    model: Option<String>,
    #[command(flatten)]
    turn: TurnArgs,
}

/// Talks.
pub(crate) fn run(args: Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let with = desk.loom.agent(&args.with)?;
    if with.id() == desk.agent.id() {
        return Err(CliError::usage(format!("{} cannot talk with itself; --with names another agent", args.with)));
    }
    let (_, session, _) = desk.work()?;
    let how = args.how;
    talk(desk, with, (session, None), how, args.message)
}

/// A conversation of the person, in a session of theirs, with an agent; in this session of the agent's, if one is named.
pub(crate) fn talk(
    desk: &mut CommandContext<'_>,
    with: Agent,
    (session, other): (SessionId, Option<SessionId>),
    how: ChatOptions,
    message: Option<String>,
) -> Result<()> {
    let actor = desk.actor().in_session(session);
    let runtime = env::runtime()?;
    let stop = CtrlC::listen(&runtime);
    let last = other.map(|id| desk.loom.session(id)).transpose()?.and_then(|session| session.model);
    let own = with.profile.model.clone().or(last);
    let reference = how.model.clone().or(own).or_else(|| desk.config.model.clone());
    let model = runtime.block_on(models::open(reference.as_deref(), &desk.config))?;
    let aware = with.profile.permissions.has(Permission::LoomAware);
    if how.turn.wants_tools() && !aware {
        return Err(CliError::usage(format!("--tools: {} does not act by commands", with.name())));
    }
    let commands = if aware { Some(how.turn.commands(desk, &with, reference.as_deref())?) } else { None };
    let own_tools = how.turn.own_tools(desk)?;
    let orchestrator = how.turn.orchestrator(desk, &with, reference.as_deref())?;
    let single = message.is_some();
    let mut lines: Box<dyn LineSource> = match message {
        Some(message) => Box::new(SingleLine(Some(message))),
        None if io::stdin().is_terminal() && !desk.out.json => Box::new(ReadlineLines::new(Arc::clone(&desk.floor))?),
        None => Box::new(PipedLines),
    };
    let background = commands.as_ref().map(|commands| Arc::clone(&commands.background)).unwrap_or_default();
    let mut chat =
        Chat { with, model, commands, background, own_tools, orchestrator, session, other, actor, runtime, stop, how };
    lines.greet(&chat, desk)?;
    while let Some(text) = whole(&mut *lines, desk)? {
        match Word::of(&text).filter(|_| !single) {
            Some(Word::Quit) => break,
            Some(Word::Help) => {
                writeln!(io::stderr(), "{HELP}").map_err(|e| CliError::io("writing", e))?;
                continue;
            }
            None => {}
        }
        let done =
            if arrow::is_command(&text) { chat.command(&text, lines.goes_on(), desk) } else { chat.say(&text, desk) };
        match done {
            // Somebody who types goes on after a failure; a script does not.
            Err(error) if lines.goes_on() && !error.is_closed_pipe() => {
                writeln!(desk.out, "{}", paint(MARK, one_line(&error.message())))?;
            }
            done => done?,
        }
    }
    models::wait(&chat.background, &chat.runtime, &chat.stop)
}

/// How the conversation is used, for those who ask.
const HELP: &str = "\
A line is sent to the model; a backslash at its end adds the next line.
A line that begins with → (or ->) is a command: → help lists all.
Ctrl-C stops a reply; /quit or Ctrl-D ends the conversation.";

/// A line that is for the program, not for the model.
enum Word {
    Help,
    Quit,
}

impl Word {
    fn of(text: &str) -> Option<Self> {
        match text.trim() {
            "help" | "/help" | ":help" | ":h" | "/?" => Some(Self::Help),
            "/quit" | "/exit" | "/q" | ":quit" | ":q" | ":q!" => Some(Self::Quit),
            _ => None,
        }
    }
}

/// Whether a text goes on in the next line: a backslash at its end, or an arrow line's open quote or block.
fn goes_on(text: &str) -> bool {
    let open = |event: &Event<'_>| match event {
        Event::Call(call) => !call.closed,
        Event::Thought(thought) => !thought.closed,
        _ => false,
    };
    text.ends_with('\\') || arrow::is_command(text) && arrow::scan(text).iter().any(open)
}

/// The next thing that is said, with the lines that it goes on in; `None` at the end.
fn whole(lines: &mut dyn LineSource, desk: &mut CommandContext<'_>) -> Result<Option<String>> {
    loop {
        desk.out.flush()?;
        let Some(mut text) = lines.next(false)? else { return Ok(None) };
        while goes_on(&text) {
            let Some(more) = lines.next(true)? else { break };
            if text.ends_with('\\') {
                text.pop();
            }
            text.push('\n');
            text.push_str(&more);
        }
        if !text.trim().is_empty() {
            return Ok(Some(text));
        }
    }
}

/// Where lines come from.
trait LineSource {
    /// The next line, without its end; `more`: the one before goes on in it. `None` at the end.
    fn next(&mut self, more: bool) -> Result<Option<String>>;

    /// Whether there is a next line after a failure.
    fn goes_on(&self) -> bool {
        false
    }

    /// Says how this works.
    fn greet(&self, _: &Chat, _: &mut CommandContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// The one thing that was said on the command line.
struct SingleLine(Option<String>);

impl LineSource for SingleLine {
    fn next(&mut self, _: bool) -> Result<Option<String>> {
        Ok(self.0.take())
    }
}

/// Standard input that is no terminal.
struct PipedLines;

impl LineSource for PipedLines {
    fn next(&mut self, _: bool) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_until(b'\n', &mut bytes);
        if read.map_err(|e| CliError::io("reading standard input", e))? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
    }
}

/// A person at a terminal, with the line editing that people expect.
struct ReadlineLines {
    editor: DefaultEditor,
    floor: Arc<TerminalLock>,
}

impl ReadlineLines {
    fn new(floor: Arc<TerminalLock>) -> Result<Self> {
        let editor = DefaultEditor::new().map_err(|error| unreadable(&error))?;
        Ok(Self { editor, floor })
    }

    /// Says above the line that is being written that an agent asks something.
    fn bell(&mut self) -> Option<Box<dyn FnMut() + Send>> {
        let mut printer = self.editor.create_external_printer().ok()?;
        Some(Box::new(move || _ = printer.print("An agent asks something: enter shows the question.\n".to_owned())))
    }
}

impl LineSource for ReadlineLines {
    fn next(&mut self, more: bool) -> Result<Option<String>> {
        loop {
            let bell = self.bell();
            match self.floor.prompt(bell, || self.editor.readline(if more { "…  " } else { ">  " })) {
                Ok(line) => {
                    // The history of lines is a comfort; a line that is not in it is said all the same.
                    let _ = self.editor.add_history_entry(&line);
                    return Ok(Some(line));
                }
                // The line is let go of, and the next one read.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(unreadable(&error)),
            }
        }
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn greet(&self, chat: &Chat, desk: &mut CommandContext<'_>) -> Result<()> {
        let here = desk.here()?;
        let (title, name) = (cut(&here.tree.title, 60), one_line(chat.with.name()));
        let model = one_line(chat.model.reference());
        writeln!(desk.out, "{}  {}", paint(BOLD, title), paint(ID, &here.position.local))?;
        let how = format!("{name} by {model} · → begins a command · Ctrl-C stops a reply · Ctrl-D ends");
        writeln!(desk.out, "{}", paint(DIM, how))?;
        Ok(())
    }
}

fn unreadable(error: &ReadlineError) -> CliError {
    CliError::io("reading the terminal", io::Error::other(error.to_string()))
}

/// A conversation.
struct Chat {
    with: Agent,
    model: Arc<dyn Model>,
    commands: Option<ToolAccess>,
    /// What the person's own lines may use beside the engine's tools.
    own_tools: OwnTools,
    /// Who does what they delegate.
    orchestrator: Option<Arc<dyn Orchestrator>>,
    /// Delegated work that nobody waits for.
    background: Arc<Background>,
    session: SessionId,
    /// The other one's session, once it is known.
    other: Option<SessionId>,
    actor: Actor,
    runtime: Runtime,
    stop: CtrlC,
    how: ChatOptions,
}

/// What the person did, as JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ChatEvent<'a> {
    Said { node: &'a Node },
    Ran { line: &'a str, reply: &'a CommandReply },
}

impl Chat {
    /// Runs an arrow line of the person's.
    fn command(&mut self, text: &str, typed: bool, desk: &mut CommandContext<'_>) -> Result<()> {
        let mut hosting = models::hosting(desk, desk.agent.id(), &self.runtime, self.stop.begin());
        self.own_tools.typed.store(typed && !text.trim().contains('\n'), Ordering::Relaxed);
        hosting.tool_access.tools = Arc::clone(&self.own_tools.tools);
        hosting.tool_access.orchestrator.clone_from(&self.orchestrator);
        hosting.tool_access.background = Arc::clone(&self.background);
        let mut runner = Executor::new(desk.loom.clone(), desk.agent.clone(), self.session, &hosting);
        let lines = super::do_::batches(text, &|line| runner.read(line));
        for line in lines.into_iter().flatten() {
            for reply in runner.run_batch(vec![line.wanted]) {
                if desk.out.json {
                    desk.out.json(&ChatEvent::Ran { line: &line.text, reply: &reply })?;
                } else {
                    writeln!(desk.out, "{}", sanitize(&reply.to_string()))?;
                }
            }
        }
        self.stop.end();
        self.session = runner.session();
        self.actor = desk.actor().in_session(self.session);
        Ok(())
    }

    /// The other one, where the person is: in the session that goes on, as long as the person stays in its tree.
    fn seat(&mut self, desk: &CommandContext<'_>) -> Result<Actor> {
        let session = desk.loom.session(self.session)?;
        let tree = desk.loom.tree(session.tree)?;
        let at = session.position.or(tree.root).ok_or_else(|| CliError::failed("this tree has no root"))?;
        let known = self.other.map(|id| desk.loom.session(id)).transpose()?;
        let known = known.filter(|other| other.tree == tree.id && other.goes_on(desk.now()));
        let other = match known {
            Some(other) => actor_in_session(&desk.loom, &self.with, other.id, at)?,
            None => actor_at(&desk.loom, &self.with, &desk.workspace, at)?,
        };
        self.other = other.session();
        Ok(other)
    }

    /// Says something, and has the other one answer.
    fn say(&mut self, text: &str, desk: &mut CommandContext<'_>) -> Result<()> {
        // One who acts hears it in its own session, so that the whole conversation is turns of that.
        let other = if self.commands.is_some() { Some(self.seat(desk)?) } else { None };
        let receipt = match other.as_ref().and_then(Actor::session) {
            Some(session) => self.actor.tell(session, NodeDraft::text(text))?,
            None => self.actor.append(Parent::Position(self.session), NodeDraft::text(text))?,
        };
        let said = receipt.nodes.first().map(|node| node.id).ok_or_else(|| CliError::failed("nothing was said"))?;
        if desk.out.json {
            desk.out.json(&ChatEvent::Said { node: &desk.loom.node(said)? })?;
        }
        let actor = other.clone().unwrap_or_else(|| self.actor.clone());
        let plan = GenerateRequest {
            versions: desk.loom.session(self.session)?.versions,
            sampling: self.how.turn.sampling(),
            context: self.how.turn.context(&desk.config),
            cancel: self.stop.begin(),
            partials_dir: Some(desk.drafts.clone()),
            prices: desk.config.prices.clone(),
            commands: self.commands.clone(),
            ..GenerateRequest::new(said, self.with.clone(), Arc::clone(&self.model), 1)
        };
        let mut watch =
            ChatPrinter { live: StreamPrinter::default(), lost: None, failure: None, cancel: plan.cancel.clone() };
        let done = self.runtime.block_on(generate(&actor, plan, |progress| watch.hear(progress, desk)));
        self.stop.end();
        watch.live.end_line(desk.out)?;
        if let Some(lost) = watch.lost {
            return Err(lost);
        }
        if let Some(other) = &other {
            models::follow(&self.actor, other)?;
        }
        match (done, watch.failure) {
            (Ok(nodes), failure) => {
                if let Some(last) = nodes.last().filter(|_| !desk.out.json && desk.out.terminal) {
                    let commands = nodes.len() - 1;
                    let rounds =
                        if commands > 0 { format!("  {}", count(nodes.len() as u64, "round")) } else { String::new() };
                    writeln!(desk.out, "{}{}", paint(ID, &last.local), paint(DIM, rounds))?;
                }
                failure.map_or(Ok(()), Err)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// Shows what happens in a turn.
struct ChatPrinter {
    live: StreamPrinter,
    /// Standard output is gone.
    lost: Option<CliError>,
    failure: Option<CliError>,
    cancel: CancellationToken,
}

impl ChatPrinter {
    fn hear(&mut self, progress: Progress, desk: &mut CommandContext<'_>) {
        let told = if desk.out.json {
            desk.out.json(&progress).and_then(|()| desk.out.flush())
        } else {
            self.live.hear(&progress, desk.out)
        };
        if let Err(error) = told {
            // Nobody reads any more, so nobody needs the rest.
            self.cancel.cancel();
            self.lost.get_or_insert(error.into());
        }
        if let Progress::Failed { error, .. } = progress {
            self.failure = Some(error.into());
        }
    }
}
