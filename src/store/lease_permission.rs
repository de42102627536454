//! Permission of changes under a lease, on every backend: who may change a leased position besides the holder. Taking and
//! renewing a lease is in `apply_leases.rs` of each backend.

use super::Result;

/// True if a lease lets a change through: (1) its holder makes the change; or (2) the change is made in the session for
/// which the lease was taken, and that session belongs to another agent than the holder. `agent_of` returns the agent of a
/// session.
pub(super) fn permits<A: PartialEq, S: PartialEq + Copy>(
    (holder, held_for): (A, Option<S>),
    (agent, session): (A, Option<S>),
    agent_of: impl FnOnce(S) -> Result<A>,
) -> bool {
    let is_behalf = |held: S| agent_of(held).is_ok_and(|own| own != holder);
    holder == agent || held_for.is_some_and(|held| Some(held) == session && is_behalf(held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn a_lease_permits_its_agent_and_the_session_it_is_held_for() {
        let permits = |lease, change, own: Result<u8>| permits(lease, change, |_: u8| own);
        assert!(permits((1, None), (1, Some(7)), Err(StoreError::Closed)));
        assert!(permits((1, Some(7)), (2, Some(7)), Ok(2)));
        assert!(!permits((1, Some(7)), (2, Some(7)), Ok(1)), "the holder's own session");
        assert!(!permits((1, Some(7)), (2, Some(8)), Ok(2)));
        assert!(!permits((1, None), (2, None), Ok(2)));
        assert!(!permits((1, Some(7)), (2, Some(7)), Err(StoreError::Closed)), "an unknown session");
    }
}
