//! Sessions of an import: one for each conversation, found by its source or started.

use std::collections::BTreeMap;

use super::{Importer, open_conversation::OpenConversation};
use crate::{
    id::{SessionId, TreeId},
    interchange::{InterchangeError, source_record::SourcePlace},
    store::{Mutation, SessionFilter},
    types::NewSession,
};

/// Key of a session's metadata with the source of the conversation.
const SOURCE_KEY: &str = "source";

impl Importer<'_> {
    /// Finds the session of an earlier import of a conversation in a tree.
    pub(super) fn find_session(&mut self, open: &mut OpenConversation, tree: TreeId) -> Result<(), InterchangeError> {
        let source = format!("{}:{}", self.format, open.source.id);
        // A tree that the reader lacks is new, and so is its session.
        if self.reader()?.tree(tree)?.is_none() {
            return Ok(());
        }
        let sessions = self.reader()?.sessions(&SessionFilter::default().tree(tree).delegated(true))?;
        if let Some(session) = sessions.into_iter().find(|found| found.metadata.get(SOURCE_KEY) == Some(&source)) {
            open.session = Some(session.id);
            open.stored_position = session.position;
            open.turns = session.turns;
            open.model = Some(session.model);
        }
        Ok(())
    }

    /// Returns the session of a conversation, and starts it if it is missing. `None` for a tree that is not the
    /// session's.
    pub(super) fn ensure_session(
        &mut self,
        place: SourcePlace,
        open: &mut OpenConversation,
        tree: TreeId,
    ) -> Result<Option<SessionId>, InterchangeError> {
        if open.tree.is_none() {
            (open.tree, open.is_titled) = (Some(tree), true);
            self.find_session(open, tree)?;
        }
        if open.tree != Some(tree) {
            return Ok(None);
        }
        if let Some(session) = open.session {
            return Ok(Some(session));
        }
        let model = open.model.clone().flatten();
        let agent = match &model {
            Some(model) => self.agent(place, model)?,
            None => self.actor.agent(),
        };
        let id = self.loom().session_id();
        let session = NewSession {
            id,
            workspace: open.source.folder.clone().unwrap_or_default(),
            agent,
            tree,
            position: None,
            started_at: open.last_at.unwrap_or_else(|| self.loom().now()),
            expires_at: None,
            metadata: BTreeMap::from([(SOURCE_KEY.to_owned(), format!("{}:{}", self.format, open.source.id))]),
            delegated_by: None,
            model: model.filter(|model| model.contains(':')),
            item: None,
        };
        self.push(place, Mutation::CreateSession(session))?;
        open.session = Some(id);
        self.batch.done.sessions += 1;
        Ok(Some(id))
    }
}
