//! Leases: an agent takes a lease of a position, generates there, and releases it. Generations take leases of
//! `LEASE_DURATION` (60 s, in `session/generation_driver/generation_lease.rs`) and renew them. `store/lease_permission.rs`
//! decides which changes a lease permits. A lease refuses other agents: a second process in the same session is refused by the
//! locked file of the partial reply (`session/partial_reply_files.rs`).

use std::time::Duration;

use super::Actor;
use crate::{
    id::{AgentId, NodeId},
    store::{Mutation, PendingCommit},
    types::{Lease, Op, Timestamp},
};

impl Actor {
    /// Takes or renews the lease of a position for `holder`, who generates for this agent and session.
    ///
    /// Until the lease expires or is released, other agents can neither continue nor prune the node: they get
    /// [`StoreError::Leased`](crate::store::StoreError::Leased). So does this call if another agent has the lease. The
    /// maximum duration is five minutes. After a crash the position is blocked until the lease expires, so use a short
    /// duration and renew it.
    #[must_use = "the position is taken once this was waited for"]
    pub fn lease(&self, node: NodeId, holder: AgentId, lasting: Duration) -> PendingCommit {
        self.submit(Op::Generate, vec![self.lease_mutation(node, holder, lasting)])
    }

    /// Builds the mutation that takes or renews a lease.
    pub(super) fn lease_mutation(&self, node: NodeId, agent: AgentId, lasting: Duration) -> Mutation {
        let lasting = i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX).min(Lease::MAX_DURATION_MS);
        let until = Timestamp::from_millis(self.loom.now().as_millis().saturating_add(lasting));
        Mutation::Lease { node, agent, until }
    }

    /// Releases a lease of this session. It has no effect on the lease of another agent. [`Mutation::Release`] does the
    /// same within the change that saves the reply.
    pub fn release(&self, node: NodeId, holder: AgentId) -> PendingCommit {
        self.submit(Op::Generate, vec![Mutation::Release { node, agent: holder }])
    }
}
