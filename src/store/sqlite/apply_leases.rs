//! Application of leases, and the changes that they refuse.

use super::{
    apply::ChangeApplier,
    tables::{
        leases::{self, LeaseRow},
        sessions,
    },
    visibility::{self, ChangedBranch},
};
use crate::{
    id::{AgentId, NodeId},
    store::{Result, lease_permission},
    types::Timestamp,
};

impl ChangeApplier<'_> {
    /// Takes or renews a lease, unless another agent holds it.
    pub(super) fn lease(&mut self, node: NodeId, agent: AgentId, until: Timestamp) -> Result<()> {
        let (node, agent, at) = (self.place(node)?, self.agent_row(agent)?, self.change.at);
        if let Some(held) = self.leases()?.iter().find(|held| held.node == node && held.agent != agent) {
            return Err(leases::refusal(self.conn, held, at)?);
        }
        leases::acquire(self.conn, [node, agent], self.session, until, at)?;
        self.cache.leases = None;
        Ok(())
    }

    /// Releases a lease of this session.
    pub(super) fn release(&mut self, node: NodeId, agent: AgentId) -> Result<()> {
        let (node, agent) = (self.place(node)?, self.agent_row(agent)?);
        leases::release(self.conn, node, agent, self.session)?;
        self.cache.leases = None;
        Ok(())
    }

    /// The node whose children are the continuations of every version of `node`.
    fn place(&mut self, node: NodeId) -> Result<i64> {
        let node = self.node(node)?;
        Ok(visibility::original_of(self.conn, node)?.row)
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
    pub(super) fn check_prune_lease(&mut self, branch: &ChangedBranch<'_>) -> Result<()> {
        for held in self.leases()? {
            if !self.held_by_change(&held) && branch.contains(self.conn, held.node)? {
                return Err(leases::refusal(self.conn, &held, self.change.at)?);
            }
        }
        Ok(())
    }

    /// True if the lease permits this change.
    fn held_by_change(&self, held: &LeaseRow) -> bool {
        let agent_of = |session| sessions::agent(self.conn, session);
        lease_permission::permits((held.agent, held.session), (self.agent, self.session), agent_of)
    }

    /// The current leases. Usually there are none; then this neither reads nor allocates.
    fn leases(&mut self) -> Result<Vec<LeaseRow>> {
        let known = match &mut self.cache.leases {
            Some(known) => known,
            unknown => unknown.insert(leases::all(self.conn, None)?),
        };
        // Expired leases stay cached, because a clock may be set back.
        Ok(known.iter().filter(|held| held.lease.holds(self.change.at)).copied().collect())
    }
}
