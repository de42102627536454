//! Application of mutations of an agent's operational memory. An undo restores the original placement, because prompts list
//! pins in that order.

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{number, small, time},
    tables::memory,
    uuid::Uuid,
};
use crate::{
    id::TreeId,
    store::{ChangeKind, Mutation, PriorPlacement, Result},
    types::{PinTarget, StashContent, StashKind},
};

/// Maximum number of stored actions of an agent in a tree.
const MAX_ACTIONS: i64 = 64;
/// Maximum number of stored results of an agent in a tree.
const MAX_RESULTS: i64 = 8;

/// A pin's target: node with its number, document, section.
type Pin<'t> = (Option<Uuid>, Option<i64>, Option<Uuid>, Option<&'t str>);

impl PgChangeApplier<'_> {
    pub(super) fn apply_memory(&mut self, mutation: &Mutation) -> Result<Applied> {
        Ok(match mutation {
            Mutation::Pin { tree: id, target, placement } => {
                let tree = self.tree(*id)?;
                let pin @ (node, seq, document, section) = self.pin(tree, target)?;
                let there = !self.find_pin(tree, &pin)?.is_empty();
                if !there {
                    let (number, since) = self.placement("pins", tree, *placement)?;
                    self.conn.execute(
                        "INSERT INTO pins (tree, agent, seq, node, document, section, pinned_at)
                         VALUES ($1, $2, $3, $4, $5, $6, $7)",
                        &[&tree, &self.agent, &number, &node, &document, &section, &since],
                    )?;
                }
                let undo = Mutation::Unpin { tree: *id, target: target.clone() };
                (ChangeKind::Pin, (!there).then(|| PgAppliedMutation::new(tree, seq, Some(undo))))
            }
            Mutation::Unpin { tree: id, target } => {
                let tree = self.tree(*id)?;
                let pin = self.pin(tree, target)?;
                let found = self.find_pin(tree, &pin)?.pop();
                if let Some(placement) = found {
                    let sql = "DELETE FROM pins WHERE tree = $1 AND agent = $2 AND seq = $3";
                    self.conn.execute(sql, &[&tree, &self.agent, &signed(placement.number)])?;
                }
                let undo = Mutation::Pin { tree: *id, target: target.clone(), placement: found };
                (ChangeKind::Unpin, found.map(|_| PgAppliedMutation::new(tree, pin.1, Some(undo))))
            }
            Mutation::Stash { tree: id, label, content, tokens, placement } => {
                let tree = self.tree(*id)?;
                let node = match content {
                    StashContent::Node(id) => Some(self.node_of(*id, tree)?),
                    _ => None,
                };
                let journaled = !matches!(content, StashContent::Result(_));
                let before = if journaled { self.stashed(*id, tree, label)? } else { None };
                let undo = before.unwrap_or_else(|| Mutation::Unstash { tree: *id, label: label.clone() });
                self.stash(tree, (label, content, node.map(|n| Uuid::from(n.id))), i64::from(*tokens), *placement)?;
                let applied = PgAppliedMutation::new(tree, node.map(|n| n.seq), Some(undo));
                (ChangeKind::Stash, journaled.then_some(applied))
            }
            Mutation::Unstash { tree: id, label } => {
                let tree = self.tree(*id)?;
                let before = self.stashed(*id, tree, label)?;
                let sql = "DELETE FROM stashes WHERE tree = $1 AND agent = $2 AND NOT result AND label = $3";
                self.conn.execute(sql, &[&tree, &self.agent, label])?;
                (ChangeKind::Unstash, before.map(|undo| PgAppliedMutation::new(tree, None, Some(undo))))
            }
            Mutation::RecordActions { tree, action } => {
                let (tree, seq) = (self.tree(*tree)?, self.next()?);
                self.conn.execute(
                    "INSERT INTO actions (tree, agent, seq, at, after, tool, about) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                    &[
                        &tree,
                        &self.agent,
                        &seq,
                        &self.change.at.as_millis(),
                        &signed(action.after),
                        &action.tool,
                        &action.about,
                    ],
                )?;
                let sql = "DELETE FROM actions WHERE tree = $1 AND agent = $2 AND seq <= (
                    SELECT seq FROM actions WHERE tree = $1 AND agent = $2 ORDER BY seq DESC LIMIT 1 OFFSET $3)";
                self.conn.execute(sql, &[&tree, &self.agent, &MAX_ACTIONS])?;
                (ChangeKind::RecordActions, None)
            }
            _ => return Err(unsupported()),
        })
    }

    /// The number and the time of a row: the former ones if the number is still free, else new ones.
    fn placement(&mut self, table: &str, tree: Uuid, prior: Option<PriorPlacement>) -> Result<(i64, i64)> {
        let next = self.next()?;
        let Some(prior) = prior.filter(|prior| prior.number > 0) else {
            return Ok((next, prior.map_or(self.change.at, |prior| prior.since).as_millis()));
        };
        let sql = format!("SELECT 1 FROM {table} WHERE tree = $1 AND agent = $2 AND seq = $3");
        let free = self.conn.query_opt(&sql, &[&tree, &self.agent, &signed(prior.number)])?.is_none();
        Ok((if free { signed(prior.number) } else { next }, prior.since.as_millis()))
    }

    fn find_pin(&self, tree: Uuid, (node, _, document, section): &Pin<'_>) -> Result<Vec<PriorPlacement>> {
        let sql = "SELECT seq, pinned_at FROM pins WHERE tree = $1 AND agent = $2 AND node IS NOT DISTINCT FROM $3
                       AND document IS NOT DISTINCT FROM $4 AND section IS NOT DISTINCT FROM $5";
        let rows = self.conn.query(sql, &[&tree, &self.agent, node, document, section])?;
        rows.iter().map(|row| Ok(PriorPlacement { number: number(row, 0)?, since: time(row, 1)? })).collect()
    }

    /// Inserts a stash, replacing one of the same label. Deletes the oldest results beyond the maximum.
    fn stash(
        &mut self,
        tree: Uuid,
        (label, content, node): (&str, &StashContent, Option<Uuid>),
        tokens: i64,
        prior: Option<PriorPlacement>,
    ) -> Result<()> {
        let text = match content {
            StashContent::Words(text) | StashContent::Summary(text) | StashContent::Result(text) => Some(text),
            StashContent::Node(_) => None,
        };
        let kind = content.kind();
        let result = kind == StashKind::Result;
        let (number, since) = self.placement("stashes", tree, prior)?;
        self.conn.execute(
            "INSERT INTO stashes (tree, agent, result, label, seq, kind, node, content, tokens, stashed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (tree, agent, result, label) DO UPDATE SET seq = $5, kind = $6, node = $7, content = $8,
                 tokens = $9, stashed_at = $10",
            &[&tree, &self.agent, &result, &label, &number, &kind.code(), &node, &text, &tokens, &since],
        )?;
        if result {
            let sql = "DELETE FROM stashes WHERE tree = $1 AND agent = $2 AND result AND seq <= (
                SELECT seq FROM stashes WHERE tree = $1 AND agent = $2 AND result ORDER BY seq DESC LIMIT 1 OFFSET $3)";
            self.conn.execute(sql, &[&tree, &self.agent, &MAX_RESULTS])?;
        }
        Ok(())
    }

    /// The inverse of replacing or removing the stash with this label.
    fn stashed(&self, id: TreeId, tree: Uuid, label: &str) -> Result<Option<Mutation>> {
        let sql = "SELECT tokens, seq, stashed_at FROM stashes
                   WHERE tree = $1 AND agent = $2 AND NOT result AND label = $3";
        let Some(row) = self.conn.query_opt(sql, &[&tree, &self.agent, &label])? else { return Ok(None) };
        let (tokens, placement) = (small(&row, 0)?, PriorPlacement { number: number(&row, 1)?, since: time(&row, 2)? });
        let content = memory::stashed(self.conn, [self.agent, tree], label, false)?;
        let label = label.to_owned();
        let put = |content| Mutation::Stash { tree: id, label, content, tokens, placement: Some(placement) };
        Ok(content.map(put))
    }

    fn pin<'t>(&mut self, tree: Uuid, target: &'t PinTarget) -> Result<Pin<'t>> {
        Ok(match target {
            PinTarget::Node(id) => {
                let node = self.node_of(*id, tree)?;
                (Some(Uuid::from(node.id)), Some(node.seq), None, None)
            }
            PinTarget::Document { id, section } => {
                self.exists("documents", "document", Uuid::from(*id), id)?;
                (None, None, Some(Uuid::from(*id)), section.as_deref())
            }
        })
    }
}
