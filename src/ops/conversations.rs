//! Conversations of a person with an agent: begin, name, find.

use super::{Actor, Loom, OpsError, Result, SessionDraft, TreeDraft};
use crate::{
    id::{NodeId, SessionId},
    store::{Receipt, SessionFilter},
    types::{Agent, Session, SessionPatch},
};

/// Fewest characters of a session's id that select it.
const MIN_ID_CHARS: usize = 4;

/// A conversation that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BegunConversation {
    /// Session of the agent.
    pub session: SessionId,
    /// Session of the person.
    pub own: SessionId,
    /// Root of the new tree, an empty or given system message.
    pub root: NodeId,
}

impl Loom {
    /// Finds a session by its ULID, by at least four characters of the ULID's beginning or end, or by its name.
    ///
    /// # Errors
    /// [`OpsError::NotFound`], or [`OpsError::Invalid`] if the text selects several sessions.
    pub fn find_session_named(&self, text: &str) -> Result<Session> {
        let lower = text.trim().to_lowercase();
        let sessions = self.sessions(&SessionFilter { delegated: true, ..SessionFilter::default() })?;
        let by_id = |session: &Session| {
            let id = session.id.to_string().to_lowercase();
            id == lower || lower.len() >= MIN_ID_CHARS && (id.starts_with(&lower) || id.ends_with(&lower))
        };
        let by_name = |session: &Session| session.name().is_some_and(|name| name.to_lowercase() == lower);
        let mut found: Vec<&Session> = sessions.iter().filter(|session| by_id(session)).collect();
        match (found.pop(), found.len()) {
            (Some(session), 0) => Ok(session.clone()),
            (Some(_), more) => {
                let message = format!("{text:?} names {} sessions; write more characters of the id", more + 1);
                Err(OpsError::Invalid(message))
            }
            // The successor of a session has its name, and is more recently active.
            (None, _) => {
                let named = sessions.iter().find(|session| by_name(session)).cloned();
                named.ok_or_else(|| OpsError::missing("session", text))
            }
        }
    }
}

impl Actor {
    /// Begins a conversation of this agent with another one, in one commit: a tree, its root with the system message, and
    /// a session of each at the root. Nothing of other conversations is in its prompts.
    ///
    /// ```
    /// use loomtree::{ops::SessionDraft, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// let owner = loom.actor(&loom.agent("owner")?);
    /// let agent = loom.agent("collaborator")?;
    /// let begun = owner.begin_conversation(&agent, TreeDraft::new(""), SessionDraft::of("/shop"))?;
    /// owner.name_session(begun.session, "prices")?;
    /// assert_eq!(loom.find_session_named("prices")?.id, begun.session);
    /// # Ok::<(), loomtree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the store fails.
    pub fn begin_conversation(&self, with: &Agent, tree: TreeDraft, draft: SessionDraft) -> Result<BegunConversation> {
        self.transaction(|actor| {
            let workspace = draft.workspace.clone();
            let session = actor.begin_session(with.id(), tree, draft)?;
            let begun = actor.loom.session(session)?;
            let root = begun.position.ok_or_else(|| OpsError::missing("root", begun.tree))?;
            let own = actor.start_session(&workspace, begun.tree, Some(root))?;
            Ok(BegunConversation { session, own, root })
        })
    }

    /// Names a session. An empty name removes it.
    ///
    /// # Errors
    /// If the session does not exist, or the store fails.
    pub fn name_session(&self, id: SessionId, name: &str) -> Result<Receipt> {
        let name = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
        self.update_session(id, SessionPatch::default().metadata(Session::NAME_KEY, name))
    }
}
