//! `loom resume`: a session goes on where it stood. On a terminal the person picks one; a script names one, or gets the
//! newest. A session of an agent is a conversation with it; one of the person's own is where `say`, `continue` and the
//! others go on.

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

/// What `resume` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session, by its id or a part of it [default: you pick one, or the newest]
    id: Option<String>,
    /// What to say; without it the conversation goes on line by line
    message: Option<String>,
    /// The newest, without asking; what is given is what to say then
    #[arg(long, conflicts_with = "message")]
    newest: bool,
    #[command(flatten)]
    how: chat::ChatOptions,
}

/// Sessions that are there to pick from.
const SHOWN: u32 = 12;

/// Goes on with a session.
pub(crate) fn run(mut args: Args, desk: &mut CommandContext<'_>) -> Result<()> {
    if args.newest {
        args.message = args.id.take();
    }
    let session = match args.id.as_deref() {
        Some(text) => sessions::find(desk, text)?,
        None => match pick(desk, args.newest)? {
            Some(session) => session,
            None => return Ok(()),
        },
    };
    let resumed = resume(&desk.actor(), session.id, Some(&desk.drafts))?;
    let session = resumed.session;
    let with = desk.loom.snapshot()?.agents()?.into_iter().find(|agent| agent.id() == session.agent);
    let with = with.ok_or_else(|| CliError::failed("the agent of this session is not there"))?;
    let own = stand(desk, &session)?;
    if let Some(cut) = &resumed.interruption
        && !desk.out.json
    {
        let (id, said) = match cut {
            Interruption::NoReply(id) => (id, "was not answered: the process ended before a word came"),
            Interruption::MidReply(id) => (id, "was cut off within the reply: the process ended"),
            Interruption::BetweenRounds(id) => (id, "was cut off between two rounds of commands: the process ended"),
        };
        writeln!(desk.out, "{}  {}", paint(ID, &desk.loom.node(*id)?.local), paint(DIM, said))?;
    }
    if with.profile.kind == AgentKind::Human {
        let node = session.position.map(|id| desk.loom.node(id)).transpose()?;
        let local = node.map(|node| node.local.to_string()).unwrap_or_default();
        return desk.say(&session, || format!("{}  you are here", paint(ID, local)));
    }
    chat::talk(desk, with, (own, Some(session.id)), args.how, args.message)
}

/// The person's own session where another one stands: that one itself if it is theirs.
fn stand(desk: &CommandContext<'_>, session: &Session) -> Result<loomtree::id::SessionId> {
    let actor = desk.actor();
    let own = if session.agent == desk.agent.id() { Some(session.clone()) } else { desk.session(Some(session.tree))? };
    let position = session.position.or(desk.loom.tree(session.tree)?.root);
    let position = position.ok_or_else(|| CliError::failed("this tree has no root"))?;
    match own {
        // Standing where it stood makes it the one that was last active.
        Some(own) => {
            actor.stand(&own, &desk.loom.node(position)?)?;
            Ok(own.id)
        }
        None => Ok(actor.start_session(&desk.workspace, session.tree, Some(position))?),
    }
}

/// The session that the person picks; without a terminal the newest.
fn pick(desk: &mut CommandContext<'_>, newest: bool) -> Result<Option<Session>> {
    let asks = !newest && io::stdin().is_terminal() && !desk.out.json;
    let mut found = sessions::listed(desk, false, if asks { SHOWN } else { 1 })?;
    if found.is_empty() {
        let filter = SessionFilter { spoken: true, limit: 1, ..SessionFilter::default() };
        let elsewhere = !desk.loom.sessions(&filter)?.is_empty();
        return Err(CliError::Failed {
            message: "no session in this workspace has said anything yet".to_owned(),
            hint: Some(
                if elsewhere {
                    "`loom sessions --all` lists those of other workspaces"
                } else {
                    "`loom chat` begins one"
                }
                .to_owned(),
            ),
        });
    }
    if !asks || found.len() == 1 {
        return Ok(found.into_iter().next().map(|one| one.session));
    }
    writeln!(desk.out, "{}", paint(BOLD, "Sessions of this workspace"))?;
    for (number, one) in (1..).zip(&found) {
        writeln!(desk.out, "{number:>3}  {}", sessions::line(one, desk))?;
    }
    loop {
        write!(desk.out, "{}", paint(DIM, format!("which? 1-{}, Enter for 1, q to leave it: ", found.len())))?;
        desk.out.flush()?;
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
