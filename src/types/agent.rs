//! Agents: humans and models. Both use the same operations.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded};
use crate::id::AgentId;

coded! {
    /// Kind of an agent, fixed at creation.
    AgentKind {
        /// A human user.
        Human = "human", 0;
        /// A model, reached through a provider.
        Model = "model", 1;
    }
}

coded! {
    /// A permission of an agent. Its number is its bit in the store.
    Permission {
        /// Sees the tree around its position and acts by arrow lines.
        LoomAware = "loom_aware", 0;
        /// Changes the tree: append, edit, prune and so on.
        LoomWrite = "loom_write", 1;
        /// Starts generations by models.
        LoomGenerate = "loom_generate", 2;
        /// Reads documents and their versions.
        DocRead = "doc_read", 3;
        /// Creates, edits and removes documents.
        DocWrite = "doc_write", 4;
        /// Reads and changes other trees.
        CrossTree = "cross_tree", 5;
        /// Searches the web and reads its pages.
        WebSearch = "web_search", 6;
        /// Delegates work to the orchestrator.
        Delegate = "delegate", 7;
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Permission>", into = "Vec<Permission>")]
pub struct Permissions(i64);

impl Permissions {
    /// Returns the set of all permissions.
    #[must_use]
    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    /// Returns the set without the permissions of another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if the set contains `permission`.
    #[must_use]
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & (1 << permission.code()) != 0
    }

    /// The set as bits: bit `n` is the permission with number `n`.
    #[must_use]
    pub const fn bits(self) -> i64 {
        self.0
    }

    /// Decodes a set from its bits. `None` if a bit belongs to no permission.
    #[must_use]
    pub fn from_bits(bits: i64) -> Option<Self> {
        (bits & !Self::all().0 == 0).then_some(Self(bits))
    }

    /// Iterates over the permissions in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(move |p| self.has(*p))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |bits, p| bits | (1 << p.code())))
    }
}

impl From<Vec<Permission>> for Permissions {
    fn from(permissions: Vec<Permission>) -> Self {
        permissions.into_iter().collect()
    }
}

impl From<Permissions> for Vec<Permission> {
    fn from(permissions: Permissions) -> Self {
        permissions.iter().collect()
    }
}

/// Profile of an agent. Everything but the kind can be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct NewAgent {
    /// ULID, created by the caller.
    pub id: AgentId,
    /// Name, unique among agents.
    pub name: String,
    /// Kind: human or model.
    pub kind: AgentKind,
    /// Reference of the model (`provider:model`); `None` for a human.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// System prompt, placed before everything else in the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Sampling temperature; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum length of a reply, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Stop sequences: a reply ends before the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Permissions of the agent.
    #[cfg_attr(feature = "serve", schema(value_type = Vec<Permission>))]
    pub permissions: Permissions,
}

impl NewAgent {
    /// Creates a profile without a model, settings or permissions.
    #[must_use]
    pub fn new(id: AgentId, name: impl Into<String>, kind: AgentKind) -> Self {
        Self {
            id,
            name: name.into(),
            kind,
            model: None,
            system_prompt: None,
            temperature: None,
            max_tokens: None,
            stop: Vec::new(),
            permissions: Permissions::default(),
        }
    }
}

/// An agent as read from the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Agent {
    /// Profile of the agent.
    #[serde(flatten)]
    pub profile: NewAgent,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// True if the agent was removed. Its nodes remain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

impl Agent {
    /// ULID of the agent.
    #[must_use]
    pub const fn id(&self) -> AgentId {
        self.profile.id
    }

    /// Name of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.profile.name
    }
}
