//! `loom sessions`: what was worked on here, to be gone on with by `loom resume`.

use std::io::Write as _;

use loomtree::{session::opening, store::SessionFilter, types::Session};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{DIM, ID, count, paint},
    sanitize::{cut, one_line},
};

/// What `sessions` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those of every workspace
    #[arg(long)]
    all: bool,
    /// At most so many, the last active first
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
    limit: u32,
}

/// A session in the list.
#[derive(Serialize)]
pub(crate) struct SessionJson {
    #[serde(flatten)]
    pub(crate) session: Session,
    agent: String,
    title: String,
    first_words: String,
    continues: bool,
}

/// Lists sessions.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let found = listed(desk, args.all, args.limit)?;
    if desk.out.json {
        return desk.out.json(&found).map_err(Into::into);
    }
    if found.is_empty() {
        let hint = if args.all { "" } else { " in this workspace; --all lists those of others" };
        writeln!(desk.out, "{}", paint(DIM, format!("no session has said anything yet{hint}")))?;
    }
    for one in &found {
        let workspace = if args.all { format!("  {}", one_line(&one.session.workspace)) } else { String::new() };
        writeln!(desk.out, "{}{}", line(one, desk), paint(DIM, workspace))?;
    }
    Ok(())
}

/// The sessions in which something was said, the last active first.
pub(crate) fn listed(desk: &CommandContext<'_>, all: bool, limit: u32) -> Result<Vec<SessionJson>> {
    let workspace = (!all).then(|| desk.workspace.clone());
    let filter = SessionFilter { workspace, spoken: true, limit, ..SessionFilter::default() };
    let (sessions, now) = (desk.loom.sessions(&filter)?, desk.now());
    sessions
        .into_iter()
        .map(|session| {
            Ok(SessionJson {
                agent: desk.name(session.agent).to_owned(),
                title: desk.loom.tree(session.tree)?.title,
                first_words: cut(&one_line(&opening(&desk.loom, session.id)?), 100),
                continues: session.can_resume(now),
                session,
            })
        })
        .collect()
}

/// The end of an id is what differs: its beginning is a clock.
pub(crate) fn short(session: &Session) -> String {
    let id = session.id.to_string();
    id[id.len() - 8..].to_lowercase()
}

/// A session on a line.
pub(crate) fn line(one: &SessionJson, desk: &CommandContext<'_>) -> String {
    let session = &one.session;
    let model = session.model.as_deref().map(|model| format!(" by {}", one_line(model))).unwrap_or_default();
    let over = if one.continues { "" } else { " · over" };
    let facts = format!(
        "{} · {} · {}{model}{over}",
        session.last_active_at.age(desk.now()),
        count(session.turns, "turn"),
        one_line(&one.agent),
    );
    let used = 8 + 2 + facts.chars().count() + 2;
    let words = cut(&one.first_words, desk.out.width.saturating_sub(used).max(24));
    format!("{}  {}  {words}", paint(ID, short(session)), paint(DIM, facts))
}

/// The session that a person means: by its id, or the beginning or end (4 letters or more) of it.
pub(crate) fn find(desk: &CommandContext<'_>, text: &str) -> Result<Session> {
    let lower = text.trim().to_lowercase();
    let sessions = desk.loom.sessions(&SessionFilter::default())?;
    let fits = |session: &&Session| {
        let id = session.id.to_string().to_lowercase();
        id == lower || lower.len() >= 4 && (id.starts_with(&lower) || id.ends_with(&lower))
    };
    let mut found: Vec<Session> = sessions.iter().filter(fits).cloned().collect();
    match (found.pop(), found.len()) {
        (Some(session), 0) => Ok(session),
        (Some(_), more) => Err(CliError::usage(format!("{text:?} names {} sessions; write more of the id", more + 1))),
        (None, _) => Err(CliError::Failed {
            message: format!("no session {text:?}"),
            hint: Some("`loom sessions` lists those of this workspace".to_owned()),
        }),
    }
}
