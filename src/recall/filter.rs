//! What narrows a recall down. One record for every way of looking (by words, by turns, by tool) and for every door, so that
//! none of them leaves a filter out silently.

use std::collections::HashSet;

use super::Result;
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::OpsError,
    store::{ChildFilter, Snapshot, WordFilter},
    types::{AuthorType, EdgeKind, Node, Timestamp},
};

/// Where is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// What a session caused.
    Session(SessionId),
    /// A tree.
    Tree(TreeId),
    /// What sessions of a workspace caused.
    Workspace(String),
    /// The whole store.
    Everything,
}

impl Scope {
    /// About how many nodes are in it, where that is known without counting.
    pub(super) fn size(&self, snapshot: &dyn Snapshot) -> Result<Option<u64>> {
        Ok(match self {
            Self::Session(session) => snapshot.session(*session)?.map(|session| session.turns),
            Self::Tree(tree) => snapshot.tree(*tree)?.map(|tree| tree.counts.nodes),
            Self::Workspace(_) | Self::Everything => None,
        })
    }
}

/// Whose words are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// An agent's: what a tool answered when the agent called it is among them.
    Agent(AgentId),
    /// What was said as this: by a person, a model, a tool, the engine.
    Role(AuthorType),
}

impl Author {
    /// Whom a written name means: a role (`human` or `user`, `model` or `assistant`, `tool`, `system`), else the agent of this
    /// name.
    ///
    /// # Errors
    /// If it is neither; the message names the agents that there are. If the store cannot be read.
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

/// A part of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    /// The path to a node.
    To(NodeId),
    /// A node and what hangs below it.
    Below(NodeId),
}

/// Which nodes are wanted: those that fit all that is said. With nothing said, all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only by this author.
    pub author: Option<Author>,
    /// Only in this part of a tree.
    pub branch: Option<Branch>,
    /// Only what was said then or later.
    pub from: Option<Timestamp>,
    /// Only what was said then or earlier.
    pub to: Option<Timestamp>,
    /// Only nodes of this kind.
    pub kind: Option<EdgeKind>,
    /// Only what this session may see: nothing that belongs to another work item than it does.
    pub seen_by: Option<SessionId>,
    /// Only nodes with a lower sequence number: what was there before a message that is being answered.
    pub before: Option<u64>,
}

impl Filter {
    /// The same within a scope, as the store is asked.
    pub(super) fn within(&self, snapshot: &dyn Snapshot, scope: &Scope) -> Result<WordFilter> {
        let seen_by = match self.seen_by {
            None => None,
            Some(id) => Some(snapshot.session(id)?.ok_or_else(|| OpsError::missing("session", id))?),
        };
        // Where a place has several versions, the path is the one that the session reads.
        let versions = seen_by.as_ref().map_or(&[][..], |session| &session.versions);
        let among = match self.branch {
            None => None,
            Some(Branch::To(node)) => {
                Some(snapshot.path_back(node, versions, 0)?.iter().map(|node| node.seq).collect())
            }
            Some(Branch::Below(node)) => match snapshot.node(node)? {
                // Below its root is the whole tree, however large.
                Some(root) if root.parent.is_none() && *scope == Scope::Tree(root.tree) => None,
                node => Some(below(snapshot, node)?),
            },
        };
        let seen_by = seen_by.map(|session| session.item);
        let (author, role) = match self.author {
            None => (None, None),
            Some(Author::Agent(agent)) => (Some(agent), None),
            Some(Author::Role(role)) => (None, Some(role)),
        };
        let Self { from, to, kind, before, .. } = *self;
        let mut filter = WordFilter { author, role, from, to, kind, before, among, seen_by, ..WordFilter::default() };
        match scope {
            Scope::Session(session) => filter.session = Some(*session),
            Scope::Tree(tree) => filter.tree = Some(*tree),
            Scope::Workspace(workspace) => filter.workspace = Some(workspace.clone()),
            Scope::Everything => {}
        }
        Ok(filter)
    }
}

/// A node and everything below it.
fn below(snapshot: &dyn Snapshot, node: Option<Node>) -> Result<HashSet<u64>> {
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
