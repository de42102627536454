//! Resuming a session: it goes on where it stood, with all that it kept. Nothing has to be loaded for that, since nothing
//! of a session is anywhere but in the store; what is left to do is to say how a turn ended that a crash cut off.

use std::path::Path;

use super::partial_replies;
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, Loom, NodeDraft, OpsError},
    store::{Mutation, StoreError},
    types::{AgentKind, AuthorType, EdgeKind, Node, Op, Parent, Session},
};

/// What the note on a turn that was cut off says.
const CUT: &str = "This turn was cut off here: its process ended before the reply did.";

/// Where a turn was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interruption {
    /// Before a word of the reply came: this message has none.
    NoReply(NodeId),
    /// Within the reply: this is it, as far as it came.
    MidReply(NodeId),
    /// After commands of the reply were answered, before it went on from here.
    BetweenRounds(NodeId),
}

/// A session that goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedSession {
    /// The session: another one than was asked for where that was ended or has run out.
    pub session: Session,
    /// The turn that was open when its process ended.
    pub interruption: Option<Interruption>,
}

/// Goes on with a session. A turn that was cut off is marked: the note hangs on the last node that was saved, and what
/// held the position for it is let go of. `drafts` is where words are kept while they stream.
///
/// # Errors
/// [`StoreError::Conflict`] if a process that still runs writes in it; if there is no such session, or the store fails.
pub fn resume(actor: &Actor, id: SessionId, folder: Option<&Path>) -> Result<ResumedSession, OpsError> {
    let loom = actor.loom();
    if folder.is_some_and(|folder| partial_replies::is_streaming(folder, id)) {
        return Err(StoreError::Conflict("a process that still runs writes in this session".to_owned()).into());
    }
    let old = loom.session(id)?;
    let id = actor.continue_session(id)?;
    let cut = cut(actor, &old)?;
    if let Some((cut, last)) = &cut {
        mark(&actor.clone().in_session(old.id), &old, last, cut)?;
    }
    Ok(ResumedSession { session: loom.session(id)?, interruption: cut.map(|(cut, _)| cut) })
}

/// Turns in which the first words of a person are looked for.
const LOOKED_AT: u32 = 20;

/// What a session began with, to know it by: the first words of a person in it, else of anybody; empty if there are none.
///
/// # Errors
/// If the store fails.
pub fn opening(loom: &Loom, session: SessionId) -> Result<String, OpsError> {
    let mut turns = loom.turns(session, 0, LOOKED_AT)?;
    turns.retain(|node| !node.content.trim().is_empty());
    let persons = |node: &Node| node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation;
    let at = turns.iter().position(persons).unwrap_or(0);
    Ok(if turns.is_empty() { String::new() } else { turns.swap_remove(at).content })
}

/// Where the session's last turn was cut off, and the last node that was saved of it.
fn cut(actor: &Actor, session: &Session) -> Result<Option<(Interruption, Node)>, OpsError> {
    let (loom, snapshot) = (actor.loom(), actor.loom().snapshot()?);
    let kind = snapshot.agents()?.into_iter().find(|agent| agent.id() == session.agent).map(|a| a.profile.kind);
    if kind != Some(AgentKind::Model) {
        return Ok(None);
    }
    let Some(position) = session.position.map(|id| loom.node(id)).transpose()? else { return Ok(None) };
    let last = loom.turns(session.id, session.turns.saturating_sub(1), 1)?.pop();
    let Some(last) = last.filter(|last| last.id == position.id || last.parent == Some(position.id)) else {
        return Ok(None);
    };
    let cut = match (last.role(), last.kind) {
        (AuthorType::Human, EdgeKind::Continuation) => Interruption::NoReply(last.id),
        (AuthorType::Model, EdgeKind::Continuation) if last.interrupted => Interruption::MidReply(last.id),
        (AuthorType::Tool, EdgeKind::Tool) => Interruption::BetweenRounds(position.id),
        // It was asked to do something, and nothing was answered any more.
        (AuthorType::Model, EdgeKind::Continuation) if last.tool.calls.is_some() => {
            Interruption::BetweenRounds(last.id)
        }
        _ => return Ok(None),
    };
    Ok(Some((cut, position)))
}

/// Says at a node that the turn ended there, and lets go of what is held in the session.
fn mark(actor: &Actor, session: &Session, last: &Node, cut: &Interruption) -> Result<(), OpsError> {
    let note =
        NodeDraft { kind: Some(EdgeKind::Annotation), author_type: Some(AuthorType::System), ..NodeDraft::text(CUT) };
    let leases = actor.loom().snapshot()?.leases(session.tree)?;
    let held = leases.into_iter().filter(|lease| lease.session == Some(session.id));
    let mut mutations: Vec<Mutation> =
        held.map(|lease| Mutation::Release { node: lease.node, agent: lease.agent }).collect();
    // A reply that broke off says so itself.
    if !matches!(cut, Interruption::MidReply(_)) {
        mutations.push(Mutation::Append(Box::new(actor.draft(Parent::Node(last.id), note))));
    }
    if !mutations.is_empty() {
        actor.commit(Op::Turn, mutations)?;
    }
    Ok(())
}
