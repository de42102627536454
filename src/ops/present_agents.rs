//! Agents that are present in a tree: those that generate there, and those that were active there lately.

use crate::{
    id::{AgentId, NodeId, SessionId},
    store::{Result, SessionFilter, Snapshot},
    types::{Timestamp, Tree},
};

/// Milliseconds after its last action for which an agent counts as present.
const PRESENT_MS: i64 = 120_000;
/// Maximum leases, and sessions, that are read.
const MAX_PRESENT: u32 = 16;

/// An agent that is present in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentPresence {
    pub(crate) agent: AgentId,
    pub(crate) node: NodeId,
    /// True if the agent generates there now.
    pub(crate) generating: bool,
    /// Time after which it counts as gone.
    pub(crate) until: Timestamp,
}

/// Returns the agents that are present in a tree, each once, without the observer: generating ones first.
pub(crate) fn present_agents(
    snapshot: &dyn Snapshot,
    tree: &Tree,
    now: Timestamp,
    (observer, own_session): (AgentId, Option<SessionId>),
) -> Result<Vec<AgentPresence>> {
    let is_own = |agent, session: Option<SessionId>| agent == observer || session.is_some() && session == own_session;
    let mut found: Vec<AgentPresence> = Vec::new();
    let leases = snapshot.leases(tree.id)?;
    for lease in leases.iter().filter(|lease| lease.holds(now)).take(MAX_PRESENT as usize) {
        if !is_own(lease.agent, lease.session) {
            found.push(AgentPresence { agent: lease.agent, node: lease.node, generating: true, until: lease.until });
        }
    }
    let filter = SessionFilter { tree: Some(tree.id), active: true, limit: MAX_PRESENT, ..SessionFilter::default() };
    for session in snapshot.sessions(&filter)? {
        let until = Timestamp::from_millis(session.last_active_at.as_millis().saturating_add(PRESENT_MS));
        let known = is_own(session.agent, Some(session.id)) || found.iter().any(|other| other.agent == session.agent);
        if let Some(node) = session.place().or(tree.root).filter(|_| until >= now && !known) {
            found.push(AgentPresence { agent: session.agent, node, generating: false, until });
        }
    }
    Ok(found)
}
