//! Resuming a session. The store holds the complete session, so nothing has to be loaded. What remains is to mark a
//! turn that a crash interrupted.

use std::path::Path;

use super::partial_reply_files;
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft, OpsError},
    store::{Mutation, StoreError},
    types::{AgentKind, AuthorType, EdgeKind, Node, Op, Parent, Session},
};

/// Text of the note on an interrupted turn.
const INTERRUPTION_NOTE: &str = "This turn was cut off here: its process ended before the reply did.";

/// Point at which a turn was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interruption {
    /// Before any text of the reply arrived. Holds the message without a reply.
    NoReply(NodeId),
    /// During the reply. Holds the partial reply.
    MidReply(NodeId),
    /// After the reply's commands ran and before the next model request. Holds the agent's position.
    BetweenRounds(NodeId),
}

/// Session that can be continued.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResumedSession {
    /// The session. It is a new one if the requested session was ended or has expired.
    pub session: Session,
    /// Interruption of the session's last turn, if any.
    pub interruption: Option<Interruption>,
}

/// Resumes a session. For an interrupted turn, appends a note to the last saved node and releases the session's leases.
/// `folder` holds the partial replies of running streams.
///
/// # Errors
/// [`StoreError::Conflict`] if a live process streams into the session. Also if the session does not exist or the store
/// fails.
pub fn resume(actor: &Actor, id: SessionId, folder: Option<&Path>) -> Result<ResumedSession, OpsError> {
    let loom = actor.loom();
    if folder.is_some_and(|folder| partial_reply_files::is_streaming(folder, id)) {
        return Err(StoreError::Conflict("a running process writes in this session".to_owned()).into());
    }
    let old = loom.session(id)?;
    let id = actor.continue_session(id)?;
    let interruption = find_interruption(actor, &old)?;
    if let Some((interruption, last)) = &interruption {
        mark_interrupted(&actor.clone().in_session(old.id), &old, last, interruption)?;
    }
    Ok(ResumedSession { session: loom.session(id)?, interruption: interruption.map(|(kind, _)| kind) })
}

/// Detects an interrupted last turn. Returns the interruption and the node at the session's position.
fn find_interruption(actor: &Actor, session: &Session) -> Result<Option<(Interruption, Node)>, OpsError> {
    let (loom, snapshot) = (actor.loom(), actor.loom().snapshot()?);
    let kind = snapshot.agents()?.into_iter().find(|agent| agent.id() == session.agent).map(|a| a.profile.kind);
    if kind != Some(AgentKind::Model) {
        return Ok(None);
    }
    let Some(position) = session.position.map(|id| loom.node(id)).transpose()? else { return Ok(None) };
    let last = loom.turns(session.id, session.turns.saturating_sub(session.since + 1), 1)?.pop();
    let Some(last) = last.filter(|last| last.id == position.id || last.parent == Some(position.id)) else {
        return Ok(None);
    };
    let interruption = match (last.role(), last.kind) {
        (AuthorType::Human, EdgeKind::Continuation) => Interruption::NoReply(last.id),
        (AuthorType::Model, EdgeKind::Continuation) if last.interrupted => Interruption::MidReply(last.id),
        (AuthorType::Tool, EdgeKind::Tool) => Interruption::BetweenRounds(position.id),
        // The reply requested commands that have no results.
        (AuthorType::Model, EdgeKind::Continuation) if last.tool.calls.is_some() => {
            Interruption::BetweenRounds(last.id)
        }
        _ => return Ok(None),
    };
    Ok(Some((interruption, position)))
}

/// Appends the interruption note to a node and releases the leases of the session.
fn mark_interrupted(
    actor: &Actor,
    session: &Session,
    last: &Node,
    interruption: &Interruption,
) -> Result<(), OpsError> {
    let note = NodeDraft {
        kind: Some(EdgeKind::Annotation),
        author_type: Some(AuthorType::System),
        ..NodeDraft::text(INTERRUPTION_NOTE)
    };
    let leases = actor.loom().snapshot()?.leases(session.tree)?;
    let held = leases.into_iter().filter(|lease| lease.session == Some(session.id));
    let mut mutations: Vec<Mutation> =
        held.map(|lease| Mutation::Release { node: lease.node, agent: lease.agent }).collect();
    // An interrupted reply is marked as such already.
    if !matches!(interruption, Interruption::MidReply(_)) {
        mutations.push(Mutation::Append(Box::new(actor.draft(Parent::Node(last.id), note))));
    }
    if !mutations.is_empty() {
        actor.commit(Op::Turn, mutations)?;
    }
    Ok(())
}
