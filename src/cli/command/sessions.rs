//! `loom sessions`: lists the sessions that `loom resume` can continue.

use std::io::Write as _;

use loomtree::{session::opening, store::SessionFilter, types::Session};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{DIM, ID, count, paint},
    sanitize::{cut, one_line},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the sessions of every workspace
    #[arg(long)]
    all: bool,
    /// Maximum number of sessions, the most recently active first
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
    limit: u32,
}

/// A listed session.
#[derive(Serialize)]
pub(crate) struct SessionJson {
    #[serde(flatten)]
    pub(crate) session: Session,
    agent: String,
    title: String,
    first_words: String,
    continues: bool,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let found = list(cx, args.all, args.limit)?;
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
    Ok(())
}

/// Returns sessions with turns, the most recently active first.
pub(crate) fn list(cx: &CommandContext<'_>, all: bool, limit: u32) -> Result<Vec<SessionJson>> {
    let workspace = (!all).then(|| cx.workspace.clone());
    let filter = SessionFilter { workspace, spoken: true, limit, ..SessionFilter::default() };
    let (sessions, now) = (cx.loom.sessions(&filter)?, cx.now());
    sessions
        .into_iter()
        .map(|session| {
            Ok(SessionJson {
                agent: cx.name(session.agent).to_owned(),
                title: cx.loom.tree(session.tree)?.title,
                first_words: cut(&one_line(&opening(&cx.loom, session.id)?), 100),
                continues: session.can_resume(now),
                session,
            })
        })
        .collect()
}

/// Returns the last 8 characters of a session id. The first ones are a timestamp.
pub(crate) fn short(session: &Session) -> String {
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
        count(session.turns, "turn"),
        one_line(&listed.agent),
    );
    let used = 8 + 2 + facts.chars().count() + 2;
    let words = cut(&listed.first_words, cx.out.width.saturating_sub(used).max(24));
    format!("{}  {}  {words}", paint(ID, short(session)), paint(DIM, facts))
}

/// Finds a session by its id, or by 4 or more characters of its beginning or end.
pub(crate) fn find(cx: &CommandContext<'_>, text: &str) -> Result<Session> {
    let lower = text.trim().to_lowercase();
    let sessions = cx.loom.sessions(&SessionFilter::default())?;
    let fits = |session: &&Session| {
        let id = session.id.to_string().to_lowercase();
        id == lower || lower.len() >= 4 && (id.starts_with(&lower) || id.ends_with(&lower))
    };
    let mut found: Vec<Session> = sessions.iter().filter(fits).cloned().collect();
    match (found.pop(), found.len()) {
        (Some(session), 0) => Ok(session),
        (Some(_), more) => {
            Err(CliError::usage(format!("{text:?} matches {} sessions; write more characters of the id", more + 1)))
        }
        (None, _) => Err(CliError::Failed {
            message: format!("no session {text:?}"),
            hint: Some("`loom sessions` lists those of this workspace".to_owned()),
        }),
    }
}
