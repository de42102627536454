//! Application of leases, cursors, summaries, embeddings, token usage and system prompts. None of them is journaled,
//! because none changes the conversation.

use super::{
    apply::{Applied, ChangeApplier, unsupported},
    tables::{documents, journal, sessions, summaries, system_prompts, token_calibration},
    vectors,
};
use crate::{
    store::{ChangeKind, Mutation, Result, StoreError},
    types::{Summary, SummarySubject},
};

impl ChangeApplier<'_> {
    /// Updates the session's time of last activity, also for read-only commands. Skipped for turns and session updates,
    /// which set it themselves.
    pub(super) fn touch_session(&self) -> Result<()> {
        match self.session {
            Some(session) if !self.change.sets_activity() => sessions::touch(self.conn, session, self.change.at),
            _ => Ok(()),
        }
    }

    pub(super) fn apply_unjournaled(&mut self, mutation: &Mutation) -> Result<Applied> {
        let kind = match mutation {
            Mutation::Lease { node, agent, until } => {
                self.lease(*node, *agent, *until)?;
                ChangeKind::Lease
            }
            Mutation::Release { node, agent } => {
                self.release(*node, *agent)?;
                ChangeKind::Release
            }
            Mutation::ShowCursor { node } => {
                let session = self.session.ok_or_else(|| StoreError::Refused("a cursor needs a session".to_owned()))?;
                let node = self.node_of(*node, sessions::tree(self.conn, session)?)?;
                sessions::set_cursor(self.conn, session, node.row, self.change.at)?;
                ChangeKind::ShowCursor
            }
            Mutation::SaveSummary { of, made_of, after, model, content } => {
                let (content, model) = (content.clone(), model.clone());
                self.summarize(*of, *after, &Summary { content, made_of: *made_of, model, at: self.change.at })?;
                ChangeKind::SaveSummary
            }
            Mutation::SaveEmbeddings { model, range, vectors } => {
                vectors::save(self.conn, model, *range, vectors)?;
                ChangeKind::SaveEmbeddings
            }
            Mutation::RecordTokenUsage { model, estimated, reported } => {
                token_calibration::add(self.conn, model, *estimated, *reported)?;
                ChangeKind::RecordTokenUsage
            }
            Mutation::RecordSystemPrompt { session, content } => {
                let row = self.session_row(*session)?;
                if system_prompts::newest(self.conn, row)?.as_ref() != Some(content) {
                    system_prompts::insert(self.conn, row, sessions::newest_turn(self.conn, row)?, content)?;
                }
                ChangeKind::RecordSystemPrompt
            }
            _ => return Err(unsupported()),
        };
        Ok((kind, None))
    }

    /// Saves a summary, unless text was purged after the model read it.
    fn summarize(&mut self, of: SummarySubject, after: u64, summary: &Summary) -> Result<()> {
        if journal::has_since(self.conn, after, ChangeKind::Purge)? {
            return Err(StoreError::Conflict("content was purged while the summary was made".to_owned()));
        }
        let target = match of {
            SummarySubject::Node(id) => ("node", self.node(id)?.row),
            SummarySubject::Document(id) => ("document", documents::row(self.conn, id)?),
            SummarySubject::Tree(id) => ("tree", self.tree_row(id)?),
        };
        summaries::save(self.conn, target, summary)
    }
}
