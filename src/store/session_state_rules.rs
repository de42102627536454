//! Rules of the stored states of sessions on every backend: a state is extended by a turn, computed again from the archive,
//! and compared with it.

use std::{iter::Peekable, vec};

use super::{Result, StoreError};
use crate::session_state::{CompiledRules, SessionRecord, SessionState, TurnRecord};

/// Maximum number of ancestors searched for the call that a tool result answers.
const MAX_CALL_DISTANCE: u32 = 16;

/// A state as it is stored: the fingerprint of the rules that made it, and its JSON.
pub(super) type StoredState = (i64, String);

/// Returns the JSON of a state.
pub(super) fn to_json(state: &SessionState) -> Result<String> {
    serde_json::to_string(state).map_err(|e| StoreError::Backend(Box::new(e)))
}

fn parsed(state: &str) -> serde_json::Result<SessionState> {
    // Must be an object: serde would accept an array as well.
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(state)?;
    serde_json::from_str(state)
}

/// Returns the state that a turn or a record extends, and the fingerprint to store with it: 0 if other rules than `own`
/// made a part. `None` if the stored one does not decode and must be computed again.
pub(super) fn extendable(stored: Option<&StoredState>, own: i64) -> Option<(i64, SessionState)> {
    let Some((rules, state)) = stored else { return Some((own, SessionState::default())) };
    Some((if *rules == own { own } else { 0 }, parsed(state).ok()?))
}

/// Returns the stored state, or the computed one if the stored one does not decode.
pub(super) fn loaded(
    stored: Option<&StoredState>,
    compute: impl FnOnce() -> Result<SessionState>,
) -> Result<SessionState> {
    let Some((_, state)) = stored else { return Ok(SessionState::default()) };
    parsed(state).or_else(|error| {
        tracing::warn!(%error, "a session state is damaged and is recomputed");
        compute()
    })
}

/// True if the stored state is the computed one, by the rules `own`. An empty state need not be stored.
pub(super) fn is_current(stored: Option<&StoredState>, computed: &SessionState, own: i64) -> bool {
    match stored {
        None => computed.is_empty(),
        Some((rules, state)) => *rules == own && parsed(state).is_ok_and(|state| state == *computed),
    }
}

/// Compares a stored state with the computed one, and adds the problems of the session. The figures are wrong or not: its
/// newest message, and its number of turns.
pub(super) fn add_problems(
    problems: &mut Vec<String>,
    session: &str,
    (stored, computed): (Option<&StoredState>, &SessionState),
    own: i64,
    [wrong_newest, wrong_turns]: [bool; 2],
) {
    let wrong = match stored {
        None => (!computed.is_empty()).then(|| "is missing".to_owned()),
        Some((rules, state)) => match parsed(state) {
            Err(error) => Some(format!("is damaged ({error})")),
            // The state was written under other rules, which are unknown here.
            Ok(_) if *rules != own => None,
            Ok(state) => (state != *computed).then(|| "differs from the archive".to_owned()),
        },
    };
    problems.extend(wrong.map(|wrong| format!("the state of session {session} {wrong}; a rebuild recomputes it")));
    if wrong_newest {
        problems.push(format!("session {session} has the wrong newest message; a rebuild corrects it"));
    }
    if wrong_turns {
        problems.push(format!("session {session} counts its turns wrongly; a rebuild corrects it"));
    }
}

/// A state that is computed from a session's turns and records, both in order.
pub(super) struct StateReplay<'r> {
    state: SessionState,
    rules: &'r CompiledRules,
    records: Peekable<vec::IntoIter<SessionRecord>>,
}

impl<'r> StateReplay<'r> {
    /// Begins with the records after turn `since`, which is the last before the new root; 0 if the session never changed
    /// its tree.
    pub(super) fn new(mut records: Vec<SessionRecord>, since: u64, rules: &'r CompiledRules) -> Self {
        records.retain(|record| record.turn > since || since == 0);
        Self { state: SessionState::default(), rules, records: records.into_iter().peekable() }
    }

    /// Applies the records before a turn and the turn. `calls` returns the calls that a tool result answers.
    pub(super) fn ingest(&mut self, turn: &TurnRecord<'_>, calls: impl FnOnce() -> Result<Option<String>>) {
        while let Some(record) = self.records.next_if(|record| record.turn < turn.turn) {
            self.state.record(&record);
        }
        self.state.ingest(self.rules, turn, || calls().ok().flatten());
    }

    /// Applies the records after the last turn.
    pub(super) fn end(mut self) -> SessionState {
        self.records.for_each(|record| self.state.record(&record));
        self.state
    }
}

/// Returns the calls of the nearest ancestor of a tool result that made any, or that made the call with this id. `read`
/// returns a node's parent and calls; `None` if the node does not exist.
pub(super) fn calls_above(
    node: i64,
    call: Option<&str>,
    mut read: impl FnMut(i64) -> Result<Option<(Option<i64>, Option<String>)>>,
) -> Result<Option<String>> {
    let mut next = Some(node);
    for _ in 0..MAX_CALL_DISTANCE {
        let Some(at) = next else { break };
        let Some((parent, calls)) = read(at)? else { break };
        if let Some(calls) = calls
            && call.is_none_or(|id| calls.contains(id))
        {
            return Ok(Some(calls));
        }
        next = parent;
    }
    Ok(None)
}
