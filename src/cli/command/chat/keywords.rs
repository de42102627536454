//! Lines of a chat for the program instead of the model: help, sessions, quit.

use std::io::{self, Write as _};

use loomtree::session::resume;

use super::Chat;
use crate::cli::{
    command::sessions,
    command_context::CommandContext,
    error::{CliError, Result},
    output::{DIM, ID, paint},
};

const HELP: &str = "\
A line is sent to the model; a backslash at its end adds the next line.
A line that begins with → (or ->) is a command; → help lists all commands.
/sessions lists the sessions here, /resume ID continues one, /new [NAME] begins another.
Ctrl-C stops a reply; /quit or Ctrl-D ends the conversation.";

/// Maximum number of listed sessions.
const MAX_LISTED: u32 = 12;

/// A line for the program instead of the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatKeyword {
    Help,
    Quit,
    /// List the sessions of the agent.
    Sessions,
    /// Begin another conversation, with a name if there is one.
    New(Option<String>),
    /// Continue the session with this id or name.
    Resume(String),
}

impl ChatKeyword {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        match (word, rest) {
            ("help" | "/help" | ":help" | ":h" | "/?", "") => Some(Self::Help),
            ("/quit" | "/exit" | "/q" | ":quit" | ":q" | ":q!", "") => Some(Self::Quit),
            ("/sessions", "") => Some(Self::Sessions),
            ("/new", name) => Some(Self::New((!name.is_empty()).then(|| name.to_owned()))),
            ("/resume", id) if !id.is_empty() => Some(Self::Resume(id.to_owned())),
            _ => None,
        }
    }
}

impl Chat {
    /// Runs a keyword. False if the conversation ends.
    pub(super) fn run_keyword(&mut self, keyword: ChatKeyword, cx: &mut CommandContext<'_>) -> Result<bool> {
        match keyword {
            ChatKeyword::Quit => return Ok(false),
            ChatKeyword::Help => writeln!(io::stderr(), "{HELP}").map_err(|e| CliError::io("writing", e))?,
            ChatKeyword::Sessions => {
                for listed in sessions::list(cx, false, MAX_LISTED)? {
                    if listed.session.agent == self.with.id() {
                        writeln!(cx.out, "{}", sessions::line(&listed, cx))?;
                    }
                }
            }
            ChatKeyword::New(name) => {
                let begun = sessions::begin_conversation(cx, name.as_deref(), self.with.name(), None)?;
                self.enter(begun.own, begun.session, "begins here", cx)?;
            }
            ChatKeyword::Resume(text) => {
                let session = sessions::find(cx, &text)?;
                if session.agent != self.with.id() {
                    let name = cx.name(session.agent);
                    return Err(CliError::usage(format!("that session is of {name}: `loom resume {text}`")));
                }
                let session = resume(&cx.actor(), session.id, Some(&cx.partials_dir))?.session;
                let own = sessions::own_session_at(cx, &session)?;
                self.enter(own, session.id, "continues here", cx)?;
            }
        }
        Ok(true)
    }

    /// Moves the conversation to other sessions.
    fn enter(
        &mut self,
        own: loomtree::id::SessionId,
        session: loomtree::id::SessionId,
        what: &str,
        cx: &mut CommandContext<'_>,
    ) -> Result<()> {
        (self.session, self.agent_session) = (own, Some(session));
        self.actor = cx.actor().in_session(own);
        let id = sessions::short_session_id(&cx.loom.session(session)?);
        Ok(writeln!(cx.out, "{}  {}", paint(ID, id), paint(DIM, what))?)
    }

    /// Prints that there are other sessions of the agent, if there are.
    pub(super) fn offer_sessions(&self, cx: &mut CommandContext<'_>) -> Result<()> {
        let found = sessions::list(cx, false, MAX_LISTED)?;
        let is_other = |session: &loomtree::types::Session| {
            let is_here = self.agent_session.map_or(session.tree == self.tree(cx), |id| id == session.id);
            session.agent == self.with.id() && !is_here
        };
        let others = found.iter().filter(|listed| is_other(&listed.session)).count();
        if others > 0 {
            let sessions = if others == 1 { "1 other session".to_owned() } else { format!("{others} other sessions") };
            let hint = format!("{sessions} here: /sessions lists them, /resume ID continues one, /new begins another");
            writeln!(cx.out, "{}", paint(DIM, hint))?;
        }
        Ok(())
    }

    /// Returns the tree of the user's session.
    fn tree(&self, cx: &CommandContext<'_>) -> loomtree::id::TreeId {
        cx.loom.session(self.session).map_or_else(|_| cx.loom.tree_id(), |session| session.tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_keywords_are_for_the_program() {
        assert_eq!(ChatKeyword::parse(" /new  prices "), Some(ChatKeyword::New(Some("prices".to_owned()))));
        assert_eq!(ChatKeyword::parse("/new"), Some(ChatKeyword::New(None)));
        assert_eq!(ChatKeyword::parse("/resume 1kvcn03q"), Some(ChatKeyword::Resume("1kvcn03q".to_owned())));
        for text in ["/news", "/quit now", "help me", "/sessions of mine", "/resume"] {
            assert_eq!(ChatKeyword::parse(text), None, "{text}");
        }
    }
}
