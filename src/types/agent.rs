//! Agents: people and models, with the same operations.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded};
use crate::id::AgentId;

coded! {
    /// What an agent is; fixed at creation.
    AgentKind {
        /// A person.
        Human = "human", 0;
        /// A model behind a provider.
        Model = "model", 1;
    }
}

coded! {
    /// One thing that an agent may do. The number is the bit in the store.
    Permission {
        /// Sees the tree around it and acts by arrow lines.
        LoomAware = "loom_aware", 0;
        /// Changes the tree.
        LoomWrite = "loom_write", 1;
        /// Has models generate.
        LoomGenerate = "loom_generate", 2;
        /// Reads documents.
        DocRead = "doc_read", 3;
        /// Writes documents.
        DocWrite = "doc_write", 4;
        /// Leaves its own tree.
        CrossTree = "cross_tree", 5;
        /// Searches the web.
        WebSearch = "web_search", 6;
        /// Hands work to the orchestrator.
        Delegate = "delegate", 7;
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Permission>", into = "Vec<Permission>")]
pub struct Permissions(i64);

impl Permissions {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    /// Whether the set holds `permission`.
    #[must_use]
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & (1 << permission.code()) != 0
    }

    /// The set as bits, one a permission's number.
    #[must_use]
    pub const fn bits(self) -> i64 {
        self.0
    }

    /// The set with these bits; `None` if one of them means nothing.
    #[must_use]
    pub fn from_bits(bits: i64) -> Option<Self> {
        (bits & !Self::all().0 == 0).then_some(Self(bits))
    }

    /// The permissions, in the order of their numbers.
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

/// What an agent is made of. All but the kind can be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewAgent {
    /// The agent's ULID, made by the caller.
    pub id: AgentId,
    /// Unique among agents.
    pub name: String,
    /// Human or model.
    pub kind: AgentKind,
    /// `provider:model`, for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is told before everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The longest reply, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Texts that end a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// What it may do.
    pub permissions: Permissions,
}

/// An agent as the store gives it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agent {
    /// What it is made of.
    #[serde(flatten)]
    pub profile: NewAgent,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether it was taken out of use; its nodes stay.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

impl Agent {
    /// The agent's id.
    #[must_use]
    pub const fn id(&self) -> AgentId {
        self.profile.id
    }

    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.profile.name
    }
}
