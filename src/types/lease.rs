//! Leases: on one position one agent at a time generates.

use serde::Serialize;

use super::Timestamp;
use crate::id::{AgentId, NodeId, SessionId};

/// An agent's claim to a position while it generates there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// The node that is being continued. All versions of a place share one lease, which names the first of them.
    #[serde(rename = "node_id")]
    pub node: NodeId,
    /// Who generates.
    #[serde(rename = "agent_id")]
    pub agent: AgentId,
    /// On whose behalf: what works in this session may write there too.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it runs out, unless it is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// The longest that a lease is given for, in milliseconds: five minutes. Who generates longer renews it.
    pub const LONGEST: i64 = 300_000;

    /// Whether it holds at `now`. One that would hold for longer than any is given for was taken by a clock that went
    /// wrong, and does not.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        let left = self.until.as_millis().saturating_sub(now.as_millis());
        (1..=Self::LONGEST).contains(&left)
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
        assert!(lease(1_000_000 + Lease::LONGEST).holds(now));
        assert!(!lease(1_000_000).holds(now));
        assert!(!lease(0).holds(now));
        assert!(!lease(1_000_001 + Lease::LONGEST).holds(now), "a clock was set back");
        assert!(!lease(i64::MAX).holds(Timestamp::from_millis(i64::MIN)));
    }
}
