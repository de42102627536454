//! Leases: a position is taken while an agent generates there, and let go of afterwards.

use std::time::Duration;

use super::Actor;
use crate::{
    id::{AgentId, NodeId},
    store::{Mutation, Pending},
    types::{Lease, Op, Timestamp},
};

impl Actor {
    /// Takes a position for `holder`, who generates there on behalf of this agent and session, or holds it for longer.
    /// Until it runs out or is let go of, nobody else continues the node or prunes it away: they are told
    /// [`StoreError::Leased`](crate::store::StoreError::Leased), and so is this if somebody else has it. It lasts five
    /// minutes at most. Whoever crashes blocks the position no longer than that, so a short one that is renewed is best.
    #[must_use = "the position is taken once this was waited for"]
    pub fn lease(&self, node: NodeId, holder: AgentId, lasting: Duration) -> Pending {
        let lasting = i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX).min(Lease::MAX_DURATION_MS);
        let until = Timestamp::from_millis(self.loom.now().as_millis().saturating_add(lasting));
        self.submit(Op::Generate, vec![Mutation::Lease { node, agent: holder, until }])
    }

    /// Lets go of a position that was taken in this session; nothing happens if it is somebody else's by now. To do so
    /// with what was generated, put [`Mutation::Release`] into the same change.
    pub fn release(&self, node: NodeId, holder: AgentId) -> Pending {
        self.submit(Op::Generate, vec![Mutation::Release { node, agent: holder }])
    }
}
