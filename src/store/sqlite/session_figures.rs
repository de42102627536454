//! Figures of sessions: turns of people, and tokens as providers reported them.
//!
//! A reply's envelope has the provider's usage. A node without one adds its own count of tokens.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::tables::{provenance, sessions};
use crate::store::{Result, new_node::reported_tokens};

/// Counts the figures of all sessions from their nodes.
pub(super) fn recount(conn: &Connection) -> Result<()> {
    let mut tokens: BTreeMap<i64, u64> = BTreeMap::new();
    provenance::each_turn(conn, &mut |session, envelope, counted| {
        let turn = envelope.and_then(reported_tokens).unwrap_or(counted);
        *tokens.entry(session).or_default() += turn;
    })?;
    for (session, _) in sessions::names(conn)? {
        sessions::recount_person_turns(conn, session)?;
        sessions::set_tokens(conn, session, tokens.get(&session).copied().unwrap_or(0))?;
    }
    Ok(())
}
