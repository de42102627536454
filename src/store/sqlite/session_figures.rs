//! Figures of sessions: turns of people, and tokens as providers reported them.
//!
//! A reply's envelope has the provider's usage. A node without one adds its own count of tokens.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Deserialize;

use super::tables::{
    provenance,
    sessions::{self, TurnFigures},
};
use crate::{
    store::Result,
    types::{Json, NewNode},
};

/// Usage in an envelope of this program.
#[derive(Deserialize)]
struct Envelope {
    usage: Option<ReportedUsage>,
}

#[derive(Deserialize)]
struct ReportedUsage {
    prompt: u64,
    output: u64,
}

/// Returns the tokens of prompt and reply that a provider reported; `None` for an envelope of another format.
fn reported(envelope: &str) -> Option<u64> {
    let usage = serde_json::from_str::<Envelope>(envelope).ok()?.usage?;
    Some(usage.prompt.saturating_add(usage.output))
}

/// Returns what a new node adds to its session.
pub(in crate::store) fn of(node: &NewNode, person: bool) -> TurnFigures {
    let reported = node.provenance.as_ref().map(Json::as_str).and_then(reported);
    TurnFigures { tokens: reported.unwrap_or_else(|| node.tokens.unwrap_or(0).into()), person }
}

/// Counts the figures of all sessions from their nodes.
pub(super) fn recount(conn: &Connection) -> Result<()> {
    let mut tokens: BTreeMap<i64, u64> = BTreeMap::new();
    provenance::each_turn(conn, &mut |session, envelope, counted| {
        let turn = envelope.and_then(reported).unwrap_or(counted);
        *tokens.entry(session).or_default() += turn;
    })?;
    for (session, _) in sessions::names(conn)? {
        sessions::recount_person_turns(conn, session)?;
        sessions::set_tokens(conn, session, tokens.get(&session).copied().unwrap_or(0))?;
    }
    Ok(())
}
