//! `loom resume`: continues a session at its position. On a terminal the user picks one; a script names one or gets the
//! newest. An agent's session opens as a conversation with it. A session of the user becomes the current one.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use loomtree::{
    session::{Interruption, resume},
    store::SessionFilter,
    types::{AgentKind, Session},
};

use super::{chat, sessions};
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, DIM, ID, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session, by its id or a part of it [default: pick one, or the newest]
    id: Option<String>,
    /// The message; without it the conversation is interactive
    message: Option<String>,
    /// Resume the newest session without asking; the argument then is the message
    #[arg(long, conflicts_with = "message")]
    newest: bool,
    #[command(flatten)]
    options: chat::ChatOptions,
}

/// Maximum number of sessions to pick from.
const MAX_PICK_ROWS: u32 = 12;

pub(crate) fn run(mut args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if args.newest {
        args.message = args.id.take();
    }
    let session = match args.id.as_deref() {
        Some(text) => sessions::find(cx, text)?,
        None => match pick(cx, args.newest)? {
            Some(session) => session,
            None => return Ok(()),
        },
    };
    let resumed = resume(&cx.actor(), session.id, Some(&cx.partials_dir))?;
    let session = resumed.session;
    let with = cx.loom.snapshot()?.agents()?.into_iter().find(|agent| agent.id() == session.agent);
    let with = with.ok_or_else(|| CliError::failed("the agent of this session does not exist"))?;
    let own = sessions::own_session_at(cx, &session)?;
    if let Some(cut) = &resumed.interruption
        && !cx.out.json
    {
        let (id, reason) = match cut {
            Interruption::NoReply(id) => (id, "has no reply: the process ended before it began"),
            Interruption::MidReply(id) => (id, "is a partial reply: the process ended"),
            Interruption::BetweenRounds(id) => (id, "is not the end of the turn: the process ended between two rounds"),
        };
        writeln!(cx.out, "{}  {}", paint(ID, &cx.loom.node(*id)?.local), paint(DIM, reason))?;
    }
    if with.profile.kind == AgentKind::Human {
        let node = session.position.map(|id| cx.loom.node(id)).transpose()?;
        let local = node.map(|node| node.local.to_string()).unwrap_or_default();
        return cx.print_saved(&session, || format!("{}  you are here", paint(ID, local)));
    }
    chat::run_session(cx, with, (own, Some(session.id)), args.options, args.message)
}

/// Returns the session that the user picks; without a terminal the newest.
fn pick(cx: &mut CommandContext<'_>, newest: bool) -> Result<Option<Session>> {
    let is_interactive = !newest && io::stdin().is_terminal() && !cx.out.json;
    let mut found = sessions::list(cx, false, if is_interactive { MAX_PICK_ROWS } else { 1 })?;
    if found.is_empty() {
        let filter = SessionFilter { spoken: true, limit: 1, ..SessionFilter::default() };
        let elsewhere = !cx.loom.sessions(&filter)?.is_empty();
        return Err(CliError::Failed {
            message: "no session in this workspace has a turn yet".to_owned(),
            hint: Some(
                if elsewhere {
                    "`loom sessions --all` lists those of other workspaces"
                } else {
                    "`loom chat` starts one"
                }
                .to_owned(),
            ),
        });
    }
    if !is_interactive || found.len() == 1 {
        return Ok(found.into_iter().next().map(|listed| listed.session));
    }
    writeln!(cx.out, "{}", paint(BOLD, "Sessions of this workspace"))?;
    for (number, listed) in (1..).zip(&found) {
        writeln!(cx.out, "{number:>3}  {}", sessions::line(listed, cx))?;
    }
    loop {
        write!(cx.out, "{}", paint(DIM, format!("Session 1-{} (Enter: 1, q: quit): ", found.len())))?;
        cx.out.flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).map_err(|e| CliError::io("reading the terminal", e))?;
        match line.trim() {
            _ if read == 0 => return Ok(None),
            "q" | "quit" => return Ok(None),
            "" => return Ok(Some(found.swap_remove(0).session)),
            text => match text.parse::<usize>() {
                Ok(number) if (1..=found.len()).contains(&number) => {
                    return Ok(Some(found.swap_remove(number - 1).session));
                }
                _ => {}
            },
        }
    }
}
