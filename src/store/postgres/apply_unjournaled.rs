//! Application of leases, cursors, summaries, embeddings, token usage and system prompts. None of them is journaled,
//! because none changes the conversation.

use super::{
    apply::{Applied, PgChangeApplier, signed, unsupported},
    tables::summaries::summary_key,
    uuid::Uuid,
    vectors,
};
use crate::{
    store::{ChangeKind, HALVING_TOKENS, MAX_RATIO, Mutation, Result, StoreError},
    types::SummarySubject,
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_unjournaled(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at.as_millis();
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
                let tree = self.session_tree(session)?;
                self.node_of(*node, tree)?;
                let sql = "INSERT INTO cursors (session, node, seen_at) VALUES ($1, $2, $3)
                           ON CONFLICT (session) DO UPDATE SET node = $2, seen_at = $3";
                self.conn.execute(sql, &[&session, &Uuid::from(*node), &at])?;
                ChangeKind::ShowCursor
            }
            Mutation::SaveSummary { of, made_of, after, model, content } => {
                self.check_summary(*of, *after)?;
                let (kind, subject) = summary_key(*of);
                let sql = "INSERT INTO summaries (kind, subject, made_of, model, made_at, content)
                           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, subject)
                           DO UPDATE SET made_of = $3, model = $4, made_at = $5, content = $6";
                self.conn.execute(sql, &[&kind, &subject, &signed(*made_of), model, &at, content])?;
                ChangeKind::SaveSummary
            }
            Mutation::SaveEmbeddings { model, range, vectors } => {
                vectors::save(self, model, *range, vectors)?;
                ChangeKind::SaveEmbeddings
            }
            Mutation::RecordTokenUsage { model, estimated, reported } => {
                self.add_estimate(model, *estimated, *reported)?;
                ChangeKind::RecordTokenUsage
            }
            Mutation::RecordSystemPrompt { session, content } => {
                let key = Uuid::from(*session);
                self.exists("sessions", "session", key, session)?;
                let sql = "INSERT INTO system_prompts (session, turn, content)
                           SELECT $1, turn_count, $2 FROM sessions WHERE id = $1 AND $2 IS DISTINCT FROM
                               (SELECT content FROM system_prompts WHERE session = $1 ORDER BY turn DESC LIMIT 1)
                           ON CONFLICT (session, turn) DO UPDATE SET content = excluded.content";
                self.conn.execute(sql, &[&key, content])?;
                ChangeKind::RecordSystemPrompt
            }
            _ => return Err(unsupported()),
        };
        Ok((kind, None))
    }

    /// Adds the estimated and the reported count of a prompt, as on SQLite.
    fn add_estimate(&self, model: &str, estimated: u64, reported: u64) -> Result<()> {
        let estimated = estimated.min(HALVING_TOKENS.unsigned_abs());
        let reported = reported.min(estimated * MAX_RATIO);
        if estimated == 0 || reported == 0 {
            return Ok(());
        }
        let sql = "INSERT INTO estimates AS e (model, estimated, reported) VALUES ($1, $2, $3) ON CONFLICT (model)
                   DO UPDATE SET estimated = CASE WHEN e.estimated > $4 THEN e.estimated / 2 ELSE e.estimated END + $2,
                       reported = CASE WHEN e.estimated > $4 THEN e.reported / 2 ELSE e.reported END + $3";
        self.conn.execute(sql, &[&model, &signed(estimated), &signed(reported), &HALVING_TOKENS]).map(drop)
    }

    /// Checks a summary: text must not have been purged after the model read it. Locks the subject's tree first, so that a
    /// purge that runs meanwhile has ended.
    fn check_summary(&mut self, of: SummarySubject, after: u64) -> Result<()> {
        match of {
            SummarySubject::Node(id) => drop(self.node(id)?),
            SummarySubject::Document(id) => self.exists("documents", "document", Uuid::from(id), id)?,
            SummarySubject::Tree(id) => drop(self.tree(id)?),
        }
        let sql = "SELECT 1 FROM journal WHERE seq > $1 AND change = $2 LIMIT 1";
        if self.conn.query_opt(sql, &[&signed(after), &ChangeKind::Purge.code()])?.is_some() {
            return Err(StoreError::Conflict("content was purged while the summary was made".to_owned()));
        }
        Ok(())
    }
}
