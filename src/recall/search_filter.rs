//! Filters of a search. All kinds of search and all interfaces share one record, so that none omits a filter silently.

use std::collections::HashSet;

use super::Result;
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::OpsError,
    store::{ChildFilter, Snapshot, WordFilter},
    types::{AuthorType, EdgeKind, Node, Timestamp, setters},
};

/// Scope of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Nodes that a session appended.
    Session(SessionId),
    /// Nodes of a tree.
    Tree(TreeId),
    /// Nodes that sessions of a workspace appended.
    Workspace(String),
    /// All nodes of the store.
    Everything,
}

impl Scope {
    /// Approximate number of nodes in the scope; `None` if it is unknown without counting.
    pub(super) fn estimated_size(&self, snapshot: &dyn Snapshot) -> Result<Option<u64>> {
        Ok(match self {
            Self::Session(session) => snapshot.session(*session)?.map(|session| session.turns),
            Self::Tree(tree) => snapshot.tree(*tree)?.map(|tree| tree.counts.nodes),
            Self::Workspace(_) | Self::Everything => None,
        })
    }
}

/// Restricts nodes by their author or role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Author {
    /// An agent. The results of its tool calls are included.
    Agent(AgentId),
    /// A role: human, model, tool or system.
    Role(AuthorType),
}

impl Author {
    /// Resolves a name: a role (`human` or `user`, `model` or `assistant`, `tool`, `system`), else an agent.
    ///
    /// # Errors
    /// If the name is unknown, with the names of all agents, or the store cannot be read.
    pub fn named(snapshot: &dyn Snapshot, name: &str) -> Result<Self> {
        let lower = name.trim().to_lowercase();
        let role = match lower.as_str() {
            "user" | "person" => Some(AuthorType::Human),
            "assistant" | "ai" => Some(AuthorType::Model),
            word => word.parse().ok(),
        };
        if let Some(role) = role {
            return Ok(Self::Role(role));
        }
        let agents = snapshot.agents()?;
        let found = agents.iter().find(|agent| agent.name().to_lowercase() == lower);
        found.map(|agent| Self::Agent(agent.id())).ok_or_else(|| {
            let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
            let roles = "human, model, tool, system";
            OpsError::Invalid(format!("{name:?} is no author: there are the roles {roles}, and {}", names.join(", ")))
        })
    }
}

/// Part of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Branch {
    /// The path from the root to a node.
    To(NodeId),
    /// A node and its descendants.
    Below(NodeId),
}

/// Filter of nodes. A node must pass every filter that is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Author of the node.
    pub author: Option<Author>,
    /// Part of a tree that contains the node.
    pub branch: Option<Branch>,
    /// Earliest creation time, inclusive.
    pub from: Option<Timestamp>,
    /// Latest creation time, inclusive.
    pub to: Option<Timestamp>,
    /// Kind of the node's edge to its parent.
    pub kind: Option<EdgeKind>,
    /// Session that must be able to see the node: content of other work items and thoughts of
    /// other agents are excluded.
    pub seen_by: Option<SessionId>,
    /// Agent that reads the results: thoughts of other agents are excluded. `seen_by` implies its agent.
    pub reader: Option<AgentId>,
    /// Exclusive upper bound of the sequence number: excludes nodes after a message that is being answered.
    pub before: Option<u64>,
}

setters!(Filter {
    /// Selects nodes by an author.
    author(option Author);
    /// Selects nodes of a branch.
    branch(option Branch);
    /// Selects nodes from this time on.
    from(option Timestamp);
    /// Selects nodes up to this time.
    to(option Timestamp);
    /// Selects nodes of one kind.
    kind(option EdgeKind);
    /// Selects nodes that a session can see.
    seen_by(option SessionId);
    /// Selects nodes without the thoughts of agents other than this one.
    reader(option AgentId);
    /// Selects nodes with a lower sequence number.
    before(some u64);
});

impl Filter {
    /// Combines the filter with a scope into the filter of the store.
    pub(super) fn within(&self, snapshot: &dyn Snapshot, scope: &Scope) -> Result<WordFilter> {
        let seen_by = match self.seen_by {
            None => None,
            Some(id) => Some(snapshot.session(id)?.ok_or_else(|| OpsError::missing("session", id))?),
        };
        // A path with several versions uses those that the session selected.
        let versions = seen_by.as_ref().map_or(&[][..], |session| &session.versions);
        let among = match self.branch {
            None => None,
            Some(Branch::To(node)) => {
                Some(snapshot.path_back(node, versions, 0)?.iter().map(|node| node.seq).collect())
            }
            Some(Branch::Below(node)) => match snapshot.node(node)? {
                // The branch below a root is the whole tree, so the tree filter suffices.
                Some(root) if root.parent.is_none() && *scope == Scope::Tree(root.tree) => None,
                node => Some(descendants(snapshot, node)?),
            },
        };
        let reader = self.reader.or(seen_by.as_ref().map(|session| session.agent));
        let seen_by = seen_by.map(|session| session.item);
        let (author, role) = match self.author {
            None => (None, None),
            Some(Author::Agent(agent)) => (Some(agent), None),
            Some(Author::Role(role)) => (None, Some(role)),
        };
        let Self { from, to, kind, before, .. } = *self;
        let mut filter =
            WordFilter { author, role, from, to, kind, before, among, seen_by, reader, ..WordFilter::default() };
        match scope {
            Scope::Session(session) => filter.session = Some(*session),
            Scope::Tree(tree) => filter.tree = Some(*tree),
            Scope::Workspace(workspace) => filter.workspace = Some(workspace.clone()),
            Scope::Everything => {}
        }
        Ok(filter)
    }
}

/// Collects a node and its descendants.
fn descendants(snapshot: &dyn Snapshot, node: Option<Node>) -> Result<HashSet<u64>> {
    let all = ChildFilter { pruned: true, ..Default::default() };
    let mut found = HashSet::new();
    let mut next: Vec<Node> = node.into_iter().collect();
    while let Some(node) = next.pop() {
        if found.insert(node.seq) {
            next.extend(snapshot.children(node.id, &all)?);
        }
    }
    Ok(found)
}

/// False for thoughts of agents other than the filter's reader.
pub(super) fn is_readable(filter: &WordFilter, node: &Node) -> bool {
    filter.reader.is_none_or(|reader| node.is_readable_by(reader))
}
