//! `loom sessions`: lists, begins, names, ends, resets and shows sessions.

use std::io::Write as _;

use clap::Subcommand;
use loomtree::{
    exec::session_summary,
    id::SessionId,
    ops::{BegunConversation, OpsError, SessionDraft, SessionReset, TreeDraft},
    session::session_label,
    store::SessionFilter,
    types::{AgentKind, Session, Todo},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{DIM, ID, count, paint},
    sanitize::{cut, one_line, sanitize},
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    /// List the sessions of every workspace
    #[arg(long)]
    all: bool,
    /// Maximum number of sessions, the most recently active first; 0: all
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
    limit: u32,
}

/// Actions on sessions. Without a subcommand they are listed.
#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// Begin a conversation in a new tree
    New {
        /// The name of the session, and the title of its tree
        name: Option<String>,
        /// The agent to talk with
        #[arg(long, value_name = "AGENT", default_value = "collaborator")]
        with: String,
        /// The text of the first system message
        #[arg(long, value_name = "TEXT")]
        system: Option<String>,
    },
    /// Name a session
    Name {
        /// The session: its id, a part of it, or its name
        session: String,
        /// The name; empty removes it
        name: String,
    },
    /// End a session: the next conversation begins at a fresh root
    End {
        /// The session [default: that of the current conversation]
        session: Option<String>,
    },
    /// Begin a session's conversation again at a fresh root; nothing is deleted
    Reset {
        /// The session [default: that of the current conversation]
        session: Option<String>,
        /// The text of the new system message
        #[arg(long, value_name = "TEXT", conflicts_with = "keep_system")]
        system: Option<String>,
        /// Keep the first system message
        #[arg(long)]
        keep_system: bool,
        /// Leave out the system prompt of the tree
        #[arg(long)]
        drop_prompt: bool,
    },
    /// Show the state and the figures of a session
    Show {
        /// The session [default: that of the current conversation]
        session: Option<String>,
    },
}

impl Args {
    /// True if the command changes a session.
    pub(crate) const fn changes(&self) -> bool {
        !matches!(self.command, None | Some(SessionsCommand::Show { .. }))
    }

    /// True if the command begins a session, which may be the first content of a database.
    pub(crate) const fn begins(&self) -> bool {
        matches!(self.command, Some(SessionsCommand::New { .. }))
    }
}

/// A listed session.
#[derive(Serialize)]
pub(crate) struct SessionJson {
    #[serde(flatten)]
    pub(crate) session: Session,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    agent: String,
    title: String,
    first_words: String,
    continues: bool,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    match &args.command {
        None => run_list(args, cx),
        Some(SessionsCommand::New { name, with, system }) => begin(cx, name.as_deref(), with, system.as_deref()),
        Some(SessionsCommand::Name { session, name }) => {
            let session = find(cx, session)?;
            cx.actor().name_session(session.id, name)?;
            changed(cx, session.id, if name.trim().is_empty() { "has no name now" } else { "is named" })
        }
        Some(SessionsCommand::End { session }) => {
            let session = find_or_current(cx, session.as_deref())?;
            cx.actor().end_session(session.id)?;
            changed(cx, session.id, "has ended; its messages remain")
        }
        Some(SessionsCommand::Reset { session, system, keep_system, drop_prompt }) => {
            let session = find_or_current(cx, session.as_deref())?;
            let mut reset = SessionReset::default().keep_system_message(*keep_system).drop_system_context(*drop_prompt);
            reset.system.clone_from(system);
            cx.actor().reset_session(session.id, reset)?;
            own_session_at(cx, &cx.loom.session(session.id)?)?;
            changed(cx, session.id, "begins again at a fresh root; its messages remain")
        }
        Some(SessionsCommand::Show { session }) => show(cx, session.as_deref()),
    }
}

fn run_list(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let mut found = list(cx, args.all, if args.limit == 0 { 0 } else { args.limit.saturating_add(1) })?;
    let more = args.limit > 0 && found.len() > args.limit as usize;
    if more {
        found.pop();
    }
    if cx.out.json {
        return cx.out.json(&found).map_err(Into::into);
    }
    if found.is_empty() {
        let hint = if args.all { "" } else { " in this workspace; --all lists those of others" };
        writeln!(cx.out, "{}", paint(DIM, format!("no session has a turn yet{hint}")))?;
    }
    for listed in &found {
        let workspace = if args.all { format!("  {}", one_line(&listed.session.workspace)) } else { String::new() };
        writeln!(cx.out, "{}{}", line(listed, cx), paint(DIM, workspace))?;
    }
    if more {
        let all = if args.all { " --all" } else { "" };
        writeln!(cx.out, "{}", paint(DIM, format!("… more; `loom sessions{all} -n 0` lists all")))?;
    }
    Ok(())
}

/// Begins a conversation with an agent and makes it the current one.
fn begin(cx: &mut CommandContext<'_>, name: Option<&str>, with: &str, system: Option<&str>) -> Result<()> {
    let session = begin_conversation(cx, name, with, system)?.session;
    changed(cx, session, "begins; `loom chat` continues it")
}

/// Begins a conversation of the user with an agent, in a new tree.
pub(crate) fn begin_conversation(
    cx: &CommandContext<'_>,
    name: Option<&str>,
    with: &str,
    system: Option<&str>,
) -> Result<BegunConversation> {
    let agent = cx.loom.agent(with)?;
    if agent.id() == cx.agent.id() {
        return Err(CliError::usage(format!("{with} cannot talk with itself; name another agent with --with")));
    }
    let mut tree = TreeDraft::new(system.unwrap_or_default());
    tree.title = name.map(str::to_owned);
    let begun = cx.actor().begin_conversation(&agent, tree, SessionDraft::of(&cx.workspace))?;
    if let Some(name) = name {
        cx.actor().name_session(begun.session, name)?;
    }
    Ok(begun)
}

/// Prints a changed session.
fn changed(cx: &mut CommandContext<'_>, id: SessionId, what: &str) -> Result<()> {
    cx.out.committed = true;
    let session = cx.loom.session(id)?;
    let name = session.name().map(|name| format!(" \"{}\"", cut(&one_line(name), 60))).unwrap_or_default();
    let text = format!("{}{name}  {}", paint(ID, short_session_id(&session)), paint(DIM, what));
    let listed = listed(cx, session)?;
    cx.print_value(&listed, || text)
}

fn show(cx: &mut CommandContext<'_>, text: Option<&str>) -> Result<()> {
    #[derive(Serialize)]
    struct ShownJson {
        #[serde(flatten)]
        listed: SessionJson,
        state: loomtree::session_state::SessionState,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        todos: Vec<Todo>,
    }
    let session = find_or_current(cx, text)?;
    let summary = session_summary(&cx.loom, &session).map_err(|error| CliError::failed(error.to_string()))?;
    let state = cx.loom.snapshot()?.session_state(session.id).map_err(OpsError::from)?;
    let todos = cx.loom.snapshot()?.todos(session.id, None).map_err(OpsError::from)?;
    let shown = ShownJson { listed: listed(cx, session)?, state, todos };
    let mut text = format!("{}\n{}", line(&shown.listed, cx), sanitize(&summary));
    for todo in &shown.todos {
        let status = format!("turn {} · {}", todo.turn, todo.status);
        let outcome = todo.outcome.as_deref().map(|outcome| format!(": {outcome}")).unwrap_or_default();
        text.push_str(&format!("\n{}  {}", paint(DIM, status), one_line(&format!("{}{outcome}", todo.title))));
    }
    cx.print_value(&shown, || text)
}

/// Returns sessions with turns, the most recently active first.
pub(crate) fn list(cx: &CommandContext<'_>, all: bool, limit: u32) -> Result<Vec<SessionJson>> {
    let workspace = (!all).then(|| cx.workspace.clone());
    let filter = SessionFilter { workspace, spoken: true, limit, ..SessionFilter::default() };
    cx.loom.sessions(&filter)?.into_iter().map(|session| listed(cx, session)).collect()
}

fn listed(cx: &CommandContext<'_>, session: Session) -> Result<SessionJson> {
    Ok(SessionJson {
        name: session.name().map(str::to_owned),
        agent: cx.name(session.agent).to_owned(),
        title: cx.loom.tree(session.tree)?.title,
        first_words: cut(&one_line(&session_label(&cx.loom, session.id)?), 100),
        continues: session.can_resume(cx.now()),
        session,
    })
}

/// Returns the last 8 characters of a session id. The first ones are a timestamp.
pub(crate) fn short_session_id(session: &Session) -> String {
    let id = session.id.to_string();
    id[id.len() - 8..].to_lowercase()
}

/// Returns a session as one line.
pub(crate) fn line(listed: &SessionJson, cx: &CommandContext<'_>) -> String {
    let session = &listed.session;
    let model = session.model.as_deref().map(|model| format!(" by {}", one_line(model))).unwrap_or_default();
    let ended = if listed.continues { "" } else { " · over" };
    let facts = format!(
        "{} · {} · {}{model}{ended}",
        session.last_active_at.age(cx.now()),
        count(session.person_turns, "turn"),
        one_line(&listed.agent),
    );
    let used = 8 + 2 + facts.chars().count() + 2;
    let words = match &listed.name {
        Some(name) => format!("{}: {}", one_line(name), listed.first_words),
        None => listed.first_words.clone(),
    };
    let words = cut(&words, cx.out.width.saturating_sub(used).max(24));
    format!("{}  {}  {words}", paint(ID, short_session_id(session)), paint(DIM, facts))
}

/// Finds a session by its id, 4 or more characters of its beginning or end, or its name.
pub(crate) fn find(cx: &CommandContext<'_>, text: &str) -> Result<Session> {
    cx.loom.find_session_named(text).map_err(|error| match error {
        OpsError::NotFound { .. } => CliError::Failed {
            message: format!("no session {text:?}"),
            hint: Some("`loom sessions` lists those of this workspace".to_owned()),
        },
        OpsError::Invalid(message) => CliError::usage(message),
        other => other.into(),
    })
}

/// Finds a session by its text, or returns that of the current conversation: the session of an agent that was active last
/// in this tree and workspace, else the user's own.
pub(crate) fn find_or_current(cx: &CommandContext<'_>, text: Option<&str>) -> Result<Session> {
    if let Some(text) = text {
        return find(cx, text);
    }
    let current = cx.position()?;
    let workspace = Some(cx.workspace.clone());
    let filter = SessionFilter { workspace, tree: Some(current.tree.id), ..SessionFilter::default() };
    let found = cx.loom.sessions(&filter)?;
    let is_model = |session: &&Session| {
        cx.agents().iter().any(|agent| agent.id() == session.agent && agent.profile.kind == AgentKind::Model)
    };
    let session = found.iter().find(is_model).or(found.first()).cloned();
    session.ok_or_else(|| CliError::Failed {
        message: "there is no session in this tree yet".to_owned(),
        hint: Some("`loom chat` starts one, and `loom sessions` lists others".to_owned()),
    })
}

/// Returns the user's session at the position of `session`: that session itself if it is the user's.
pub(crate) fn own_session_at(cx: &CommandContext<'_>, session: &Session) -> Result<SessionId> {
    let actor = cx.actor();
    let own = if session.agent == cx.agent.id() { Some(session.clone()) } else { cx.session(Some(session.tree))? };
    let position = cx.loom.position(&cx.loom.tree(session.tree)?, Some(session))?;
    match own {
        // Setting the position makes it the most recently active session.
        Some(own) => {
            actor.set_position(&own, &position)?;
            Ok(own.id)
        }
        None => Ok(actor.start_session(&cx.workspace, session.tree, Some(position.id))?),
    }
}
