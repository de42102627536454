//! The label of a session in lists.

use crate::{
    id::SessionId,
    ops::{Loom, OpsError},
    types::{AuthorType, EdgeKind, Node},
};

/// Number of turns searched for the first human message.
const MAX_SEARCHED_TURNS: u32 = 20;

/// Returns the label of a session: its first human message, or else its first message. Empty if it has none.
///
/// # Errors
/// If the store fails.
pub fn session_label(loom: &Loom, session: SessionId) -> Result<String, OpsError> {
    let mut turns = loom.turns(session, 0, MAX_SEARCHED_TURNS)?;
    turns.retain(|node| !node.content.trim().is_empty());
    let persons = |node: &Node| node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation;
    let at = turns.iter().position(persons).unwrap_or(0);
    Ok(if turns.is_empty() { String::new() } else { turns.swap_remove(at).content })
}
