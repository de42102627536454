//! Leases: at most one agent generates at a position at a time.

use serde::Serialize;

use super::Timestamp;
use crate::id::{AgentId, NodeId, SessionId};

/// Exclusive right of an agent to generate at a position, until it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// Node to be continued. All versions of a node share one lease, which names the first of them.
    #[serde(rename = "node_id")]
    pub node: NodeId,
    /// Agent that generates at the position.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// Session that the lease was taken for. Its agents may append there too.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Expiry time, unless the lease is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// Maximum duration of a lease in milliseconds (5 min). A longer generation renews its lease.
    pub const MAX_DURATION_MS: i64 = 300_000;

    /// True if the lease is valid at `now`.
    ///
    /// A lease with more than the maximum duration left was taken with a wrong clock and is not valid.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        let left = self.until.as_millis().saturating_sub(now.as_millis());
        (1..=Self::MAX_DURATION_MS).contains(&left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_until_it_runs_out_and_never_for_longer_than_it_can_have_been_given() {
        let lease = |until| Lease {
            node: NodeId::from_bytes([1; 16]),
            agent: AgentId::from_bytes([2; 16]),
            session: None,
            until: Timestamp::from_millis(until),
        };
        let now = Timestamp::from_millis(1_000_000);
        assert!(lease(1_000_001).holds(now));
        assert!(lease(1_000_000 + Lease::MAX_DURATION_MS).holds(now));
        assert!(!lease(1_000_000).holds(now));
        assert!(!lease(0).holds(now));
        assert!(!lease(1_000_001 + Lease::MAX_DURATION_MS).holds(now), "a clock was set back");
        assert!(!lease(i64::MAX).holds(Timestamp::from_millis(i64::MIN)));
    }
}
