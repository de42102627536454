//! Rules of leases on every backend: whose changes a lease permits.

use super::Result;

/// True if a change by `agent` in `session` may be made in spite of a lease: its agent holds the lease, or another agent
/// holds it for its session. A lease that the other agent's own session holds does not count. `agent_of` returns the
/// agent of a session.
pub(super) fn permits<A: PartialEq, S: PartialEq + Copy>(
    (holder, held_for): (A, Option<S>),
    (agent, session): (A, Option<S>),
    agent_of: impl FnOnce(S) -> Result<A>,
) -> bool {
    let is_own_session = |held: S| agent_of(held).is_ok_and(|own| own == holder);
    holder == agent || held_for.is_some_and(|held| Some(held) == session && !is_own_session(held))
}
