//! The turns of a session.

use std::ops::RangeInclusive;

use super::{Filter, Result, Scope};
use crate::{id::SessionId, store::Snapshot, types::Node};

/// Gives a node the turn as which a session received it.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn set_received_turn(snapshot: &dyn Snapshot, reader: SessionId, node: &mut Node) -> Result<()> {
    if node.session != Some(reader)
        && let Some((turn, _)) = snapshot.received_turns(reader, Some(node.id))?.pop()
    {
        (node.session, node.turn) = (Some(reader), Some(turn));
    }
    Ok(())
}

/// Returns at most `limit` turns of a session that pass the filter. The range may be reversed.
///
/// # Errors
/// If the store cannot be read, or the session or an object of the filter does not exist.
pub fn turns(
    snapshot: &dyn Snapshot,
    session: SessionId,
    turns: RangeInclusive<u64>,
    only: &Filter,
    limit: u32,
) -> Result<Vec<Node>> {
    let filter = only.within(snapshot, &Scope::Session(session))?;
    let (from, to) = turns.into_inner();
    Ok(snapshot.turns(session, from.min(to)..=from.max(to), &filter, limit)?)
}
