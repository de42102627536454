//! Application of leases, and the changes that they refuse.

use std::collections::hash_map::Entry;

use super::{
    apply::PgChangeApplier,
    decode::{get, int},
    pending_rows::PgNodeAnchor,
    uuid::Uuid,
};
use crate::{
    id::{AgentId, NodeId},
    store::{Result, StoreError, lease_permission},
    types::{Lease, Timestamp},
};

impl PgChangeApplier<'_> {
    /// Takes or renews a lease, unless another agent holds it.
    pub(super) fn lease(&mut self, node: NodeId, agent: AgentId, until: Timestamp) -> Result<()> {
        let node = self.node(node)?;
        let (place, at) = (self.original_of(node)?, self.change.at.as_millis());
        let key = Uuid::from(agent);
        self.exists("agents", "agent", key, agent)?;
        if let Some(refusal) = self.refusal(place.tree, &[place.seq], |holder, _| holder != key)? {
            return Err(refusal);
        }
        let latest = at.saturating_add(Lease::MAX_DURATION_MS);
        let sql = "DELETE FROM leases WHERE tree = $1 AND (expires_at <= $2 OR expires_at > $3)";
        self.conn.execute(sql, &[&place.tree, &at, &latest])?;
        let sql = "INSERT INTO leases (tree, node, agent, session, expires_at) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (tree, node) DO UPDATE SET agent = $3, session = $4, expires_at = $5";
        let until = until.as_millis().min(latest);
        self.conn.execute(sql, &[&place.tree, &place.seq, &key, &self.session, &until])?;
        Ok(())
    }

    /// Releases a lease of this session.
    pub(super) fn release(&mut self, node: NodeId, agent: AgentId) -> Result<()> {
        let node = self.node(node)?;
        let (place, agent) = (self.original_of(node)?, Uuid::from(agent));
        let sql = "DELETE FROM leases WHERE tree = $1 AND node = $2 AND agent = $3
                   AND session IS NOT DISTINCT FROM $4";
        self.conn.execute(sql, &[&place.tree, &place.seq, &agent, &self.session]).map(drop)
    }

    /// The error for the first lease of these nodes that `prevents` (agent and session) the change.
    fn refusal(
        &self,
        tree: Uuid,
        nodes: &[i64],
        prevents: impl Fn(Uuid, Option<Uuid>) -> bool,
    ) -> Result<Option<StoreError>> {
        let at = self.change.at.as_millis();
        let sql = "SELECT l.agent, l.session, a.name, n.local_id, l.expires_at
                   FROM leases l JOIN agents a ON a.id = l.agent JOIN nodes n ON n.tree = l.tree AND n.seq = l.node
                   WHERE l.tree = $1 AND l.node = ANY($2) AND l.expires_at > $3 AND l.expires_at <= $4 ORDER BY l.node";
        let latest = at.saturating_add(Lease::MAX_DURATION_MS);
        for row in self.conn.query(sql, &[&tree, &nodes, &at, &latest])? {
            if prevents(get(&row, 0)?, get(&row, 1)?) {
                let left = int(&row, 4)?.saturating_sub(at).max(0).unsigned_abs();
                let (agent, node) = (get(&row, 2)?, get(&row, 3)?);
                return Ok(Some(StoreError::Leased { agent, node, seconds: left.div_ceil(1_000) }));
            }
        }
        Ok(None)
    }

    /// Fails if another agent holds the lease of the position at which `author` appends.
    pub(super) fn check_append_lease(&mut self, node: &PgNodeAnchor, author: Uuid) -> Result<()> {
        let leased = match self.state.leases.entry(node.tree) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let rows = self.conn.query("SELECT node FROM leases WHERE tree = $1", &[&node.tree])?;
                unknown.insert(rows.iter().map(|row| int(row, 0)).collect::<Result<_>>()?)
            }
        };
        if !leased.contains(&node.seq) {
            return Ok(());
        }
        match self.refusal(node.tree, &[node.seq], |agent, by| agent != author && !self.held(agent, by))? {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Fails if another agent holds a lease inside the branch that was just pruned.
    pub(super) fn check_prune_lease(&mut self, tree: Uuid, branch: &[i64]) -> Result<()> {
        match self.refusal(tree, branch, |agent, by| !self.held(agent, by))? {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// True if the lease permits this change.
    fn held(&self, agent: Uuid, session: Option<Uuid>) -> bool {
        let sql = "SELECT agent FROM sessions WHERE id = $1";
        let agent_of = |session: Uuid| self.conn.query_one(sql, &[&session]).and_then(|row| get(&row, 0));
        lease_permission::permits((agent, session), (self.agent, self.session), agent_of)
    }
}
