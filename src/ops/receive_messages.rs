//! Receipt of messages: a session takes in what people wrote in other sessions, before its agent answers.
//!
//! A person may write in the terminal interface, by `say`, in another session or over the library. Those messages belong
//! to the person's session. The session of the agent that answers receives them as turns of its own, so its state, its
//! recall and its exports contain the whole conversation.

use super::{Actor, Loom, Result};
use crate::{
    id::{NodeId, SessionId},
    store::{Mutation, PendingCommit},
    types::{AuthorType, EdgeKind, Node, Op, Session},
};

/// Nodes of the path that are read first, and at most.
const FIRST_READ_NODES: u32 = 32;
const MAX_READ_NODES: u32 = 1_024;

impl Loom {
    /// Lists the people's messages on the path to a node that a session lacks, oldest first. Reads the path back to the
    /// last reply of the session's agent in the session, or to a message that the session received.
    fn unreceived(&self, session: &Session, to: NodeId, versions: &[NodeId]) -> Result<Vec<NodeId>> {
        let snapshot = self.snapshot()?;
        let mut messages: Vec<NodeId> = Vec::new();
        for limit in [FIRST_READ_NODES, MAX_READ_NODES] {
            messages.clear();
            let path = snapshot.path_back(to, versions, limit)?;
            let mut ended = path.len() < limit as usize;
            for node in path.into_iter().rev() {
                let is_own = node.session == Some(session.id);
                let is_reply = is_own && node.author == session.agent && node.role() == AuthorType::Model;
                let is_message = !is_own && is_message(&node);
                if is_reply || is_message && !snapshot.received_turns(session.id, Some(node.id))?.is_empty() {
                    ended = true;
                    break;
                }
                messages.extend(is_message.then_some(node.id));
            }
            if ended {
                break;
            }
        }
        messages.reverse();
        Ok(messages)
    }
}

fn is_message(node: &Node) -> bool {
    let is_spoken = node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation;
    is_spoken && node.purged_at.is_none() && !node.content.trim().is_empty()
}

impl Actor {
    /// Makes the people's messages on the path to a node turns of a session, except those that it has. Returns `None` if
    /// there are none.
    ///
    /// # Errors
    /// If the session does not exist, or the store cannot be read.
    pub fn receive_messages(
        &self,
        session: SessionId,
        to: NodeId,
        versions: &[NodeId],
    ) -> Result<Option<PendingCommit>> {
        let messages = self.loom.unreceived(&self.loom.session(session)?, to, versions)?;
        let received: Vec<Mutation> =
            messages.into_iter().map(|node| Mutation::ReceiveTurn { session, node, turn: None }).collect();
        Ok((!received.is_empty()).then(|| self.submit(Op::Turn, received)))
    }
}
