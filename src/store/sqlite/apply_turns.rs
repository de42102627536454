//! Application of leases, cursors, summaries, embeddings, token usage and system prompts. None of them is journaled,
//! because none changes the conversation.

use super::{
    apply::{Applied, ChangeApplier, unsupported},
    tables::{
        documents, estimates, journal,
        leases::{self, Held},
        sessions, summaries, system_prompts,
    },
    vectors,
    visibility::{self, RetaggedBranch},
};
use crate::{
    id::{AgentId, NodeId},
    store::{ChangeKind, Mutation, Result, StoreError},
    types::{Summary, SummarySubject, Timestamp},
};

impl ChangeApplier<'_> {
    /// Updates the session's time of last activity, also for read-only commands. Skipped for turns and session updates,
    /// which set it themselves.
    pub(super) fn touch_session(&self) -> Result<()> {
        let sets_activity = |m: &Mutation| {
            matches!(m, Mutation::Append(_) | Mutation::CreateSession(_) | Mutation::UpdateSession { .. })
        };
        match self.session {
            Some(session) if !self.change.mutations.iter().any(sets_activity) => {
                sessions::touch(self.conn, session, self.change.at)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn apply_turn(&mut self, mutation: &Mutation) -> Result<Applied> {
        let kind = match mutation {
            Mutation::Lease { node, agent, until } => {
                self.lease(*node, *agent, *until)?;
                ChangeKind::Lease
            }
            Mutation::Release { node, agent } => {
                let (node, agent) = (self.place(*node)?, self.agent_row(*agent)?);
                leases::release(self.conn, node, agent, self.session)?;
                self.cache.leases = None;
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
                estimates::add(self.conn, model, *estimated, *reported)?;
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

    fn lease(&mut self, node: NodeId, agent: AgentId, until: Timestamp) -> Result<()> {
        let (node, agent, at) = (self.place(node)?, self.agent_row(agent)?, self.change.at);
        if let Some(held) = self.leases()?.iter().find(|held| held.node == node && held.agent != agent) {
            return Err(leases::refusal(self.conn, held, at)?);
        }
        leases::acquire(self.conn, [node, agent], self.session, until, at)?;
        self.cache.leases = None;
        Ok(())
    }

    /// The node whose children are the continuations of every version of `node`.
    fn place(&mut self, node: NodeId) -> Result<i64> {
        let node = self.node(node)?;
        Ok(visibility::common(self.conn, node)?.row)
    }

    /// Fails if another agent holds the lease of the position at which `author` appends.
    pub(super) fn check_append_lease(&mut self, node: i64, author: i64) -> Result<()> {
        let held = self.leases()?;
        match held.iter().find(|held| held.node == node && held.agent != author && !self.held_by_change(held)) {
            Some(held) => Err(leases::refusal(self.conn, held, self.change.at)?),
            None => Ok(()),
        }
    }

    /// Fails if another agent holds a lease inside the branch that was just pruned.
    pub(super) fn check_prune_lease(&mut self, branch: &RetaggedBranch<'_>) -> Result<()> {
        for held in self.leases()? {
            if !self.held_by_change(&held) && branch.contains(self.conn, held.node)? {
                return Err(leases::refusal(self.conn, &held, self.change.at)?);
            }
        }
        Ok(())
    }

    /// Saves a summary, unless text was purged after the model read it.
    fn summarize(&mut self, of: SummarySubject, after: u64, summary: &Summary) -> Result<()> {
        if journal::has_since(self.conn, after, ChangeKind::Purge)? {
            return Err(StoreError::Conflict("content was purged while the summary was made".to_owned()));
        }
        if summary.content.trim().is_empty() {
            return Err(StoreError::Refused("a summary must not be empty".to_owned()));
        }
        let target = match of {
            SummarySubject::Node(id) => ("node", self.node(id)?.row),
            SummarySubject::Document(id) => ("document", documents::row(self.conn, id)?),
            SummarySubject::Tree(id) => ("tree", self.tree_row(id)?),
        };
        summaries::save(self.conn, target, summary)
    }

    /// True if this session's agent holds the lease, or another agent holds it for this session. A lease held by the
    /// other agent's own session does not count.
    fn held_by_change(&self, held: &Held) -> bool {
        let behalf = |session| sessions::agent(self.conn, session).is_ok_and(|own| own != held.agent);
        held.agent == self.agent || held.session.is_some_and(|held| Some(held) == self.session && behalf(held))
    }

    /// The current leases. Usually there are none; then this neither reads nor allocates.
    fn leases(&mut self) -> Result<Vec<Held>> {
        let known = match &mut self.cache.leases {
            Some(known) => known,
            unknown => unknown.insert(leases::all(self.conn, None)?),
        };
        // Expired leases stay cached, because a clock may be set back.
        Ok(known.iter().filter(|held| held.lease.holds(self.change.at)).copied().collect())
    }
}
