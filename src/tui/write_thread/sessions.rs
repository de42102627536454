//! Session requests of the write thread: begin, name, end and reset the conversation with an agent.

use super::{Result, WriteThread};
use crate::{
    id::SessionId,
    ops::{OpsError, SessionDraft, SessionReset, TreeDraft},
    store::SessionFilter,
    tui::{
        COLLABORATOR,
        message::{Responder, SessionRequest, WriteResult},
    },
    types::Session,
};

impl WriteThread {
    pub(super) fn change_session(
        &mut self,
        session: Option<SessionId>,
        request: &SessionRequest,
    ) -> Result<WriteResult> {
        let actor = self.setup.loom.actor(&self.setup.agent);
        if let SessionRequest::Begin(name) = request {
            let agent = self.setup.loom.agent(COLLABORATOR)?;
            let mut tree = TreeDraft::new("");
            tree.title.clone_from(name);
            let begun = actor.begin_conversation(&agent, tree, SessionDraft::of(&self.setup.workspace))?;
            if let Some(name) = name {
                actor.name_session(begun.session, name)?;
            }
            return self.enter(begun.session, "a conversation begins");
        }
        let session = self.conversation(session)?;
        match request {
            SessionRequest::Begin(_) => Ok(WriteResult::default()),
            SessionRequest::Name(name) => {
                actor.name_session(session.id, name)?;
                Ok(WriteResult { message: "the session is named".to_owned(), ..WriteResult::default() })
            }
            SessionRequest::End => {
                actor.end_session(session.id)?;
                let message = "the session has ended; its messages remain".to_owned();
                Ok(WriteResult { message, responder: Some(None), ..WriteResult::default() })
            }
            SessionRequest::Reset => {
                let reset = SessionReset::default().keep_system_message(true);
                actor.reset_session(session.id, reset)?;
                self.enter(session.id, "the session begins again at a fresh root")
            }
        }
    }

    /// Returns the session of the conversation: the resumed one, else the collaborator's newest in the tree.
    fn conversation(&self, session: Option<SessionId>) -> Result<Session> {
        let loom = &self.setup.loom;
        if let Some(session) = session {
            return loom.session(session);
        }
        let filter = SessionFilter {
            workspace: Some(self.setup.workspace.clone()),
            agent: Some(loom.agent(COLLABORATOR)?.id()),
            tree: Some(self.tree),
            active: true,
            limit: 1,
            ..SessionFilter::default()
        };
        let found = loom.sessions(&filter)?.pop();
        found.ok_or_else(|| OpsError::Invalid("the collaborator has no session in this tree yet".to_owned()))
    }

    /// Opens the tree of a session at its position; its agent answers from now on.
    fn enter(&mut self, session: SessionId, message: &str) -> Result<WriteResult> {
        let session = self.setup.loom.session(session)?;
        let agents = self.setup.loom.snapshot()?.agents()?;
        let name = agents.iter().find(|agent| agent.id() == session.agent).map(|agent| agent.name().to_owned());
        let opened = self.open_tree(session.tree, session.position)?;
        let responder = name.map(|name| Responder { name, session: session.id });
        Ok(WriteResult { message: message.to_owned(), responder: Some(responder), ..opened })
    }
}
