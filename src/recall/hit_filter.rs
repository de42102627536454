//! The nodes that a query's filter admits.

use std::{cell::RefCell, collections::HashMap};

use super::{Result, search_filter::is_readable};
use crate::{
    id::SessionId,
    store::{Snapshot, WordFilter},
    text_index::{call_text, is_lookup_result},
    types::{EdgeKind, Json, Node},
};

/// True for results of commands that show stored content, and for nodes with neither words nor searchable calls.
pub(super) fn is_search_output(node: &Node) -> bool {
    let metadata = node.metadata.as_ref().map_or("", Json::as_str);
    let calls = || node.tool.calls.as_ref().map(|calls| call_text(calls.as_str())).unwrap_or_default();
    node.tool.name.as_deref().is_some_and(|tool| is_lookup_result(tool, metadata))
        || node.purged_at.is_none() && node.content.trim().is_empty() && calls().is_empty()
}

/// A filter applied to nodes. A neighbour of a hit is in the same tree, so the tree is not checked.
pub(super) struct HitFilter<'a> {
    snapshot: &'a dyn Snapshot,
    filter: &'a WordFilter,
    /// Cache: true for sessions of the filter's workspace.
    sessions: RefCell<HashMap<SessionId, bool>>,
}

impl<'a> HitFilter<'a> {
    pub(super) fn new(snapshot: &'a dyn Snapshot, filter: &'a WordFilter) -> Self {
        Self { snapshot, filter, sessions: RefCell::default() }
    }

    fn is_in_workspace(&self, session: Option<SessionId>, workspace: &str) -> Result<bool> {
        let Some(id) = session else { return Ok(false) };
        if let Some(known) = self.sessions.borrow().get(&id) {
            return Ok(*known);
        }
        let fits = self.snapshot.session(id)?.is_some_and(|session| session.workspace == workspace);
        self.sessions.borrow_mut().insert(id, fits);
        Ok(fits)
    }

    fn is_in_session(&self, node: &Node, session: SessionId) -> Result<bool> {
        Ok(node.session == Some(session) || !self.snapshot.received_turns(session, Some(node.id))?.is_empty())
    }

    pub(super) fn node(&self, node: &Node) -> Result<bool> {
        let filter = self.filter;
        Ok(!is_search_output(node)
            && filter.before.is_none_or(|before| node.seq < before)
            && is_readable(filter, node)
            && node.purged_at.is_none()
            && filter.session.map_or(Ok(true), |session| self.is_in_session(node, session))?
            && filter.tree.is_none_or(|tree| node.tree == tree)
            && filter.author.is_none_or(|author| node.author == author)
            && filter.role.is_none_or(|role| node.role() == role)
            && filter.kind.map_or(node.kind != EdgeKind::Instruction, |kind| node.kind == kind)
            && filter.from.is_none_or(|from| node.created_at >= from)
            && filter.to.is_none_or(|to| node.created_at <= to)
            && filter.among.as_ref().is_none_or(|among| among.contains(&node.seq))
            && filter.workspace.as_deref().map_or(Ok(true), |name| self.is_in_workspace(node.session, name))?)
    }
}
