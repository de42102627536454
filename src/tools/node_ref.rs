//! References to nodes, and parts of a path.

use std::fmt;

use serde::{
    Deserialize, Serialize,
    de::{Error as _, IntoDeserializer as _},
};

use super::Relative;
use crate::id::NodeId;

/// Reference to a node: an id, a place, a bookmark's label, or the position of an agent.
///
/// In JSON an id is a string, and the others are objects: `{"place": "parent"}`, `{"bookmark": "key decision"}`,
/// `{"at": "owner"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NodeRef {
    /// A local id, a prefix of one, or a ULID; lower case, without brackets.
    Id(String),
    /// A place relative to the agent's position.
    Place {
        /// The place relative to the position.
        place: Relative,
    },
    /// The node with this bookmark.
    Bookmark {
        /// The bookmark's label.
        bookmark: String,
    },
    /// The position of an agent.
    Agent {
        /// The agent's name; `human` for the person.
        at: String,
    },
}

impl NodeRef {
    /// The agent's own position.
    #[must_use]
    pub const fn here() -> Self {
        Self::Place { place: Relative::Here }
    }

    /// The place of this name; `None` if there is none.
    #[must_use]
    pub(crate) fn place(name: &str) -> Option<Self> {
        let place: Result<Relative, serde::de::value::Error> = Relative::deserialize(name.into_deserializer());
        place.map(|place| Self::Place { place }).ok()
    }

    /// The id; `None` for the other kinds of reference.
    #[must_use]
    pub const fn id(&self) -> Option<&str> {
        match self {
            Self::Id(id) => Some(id.as_str()),
            _ => None,
        }
    }

    /// True for the agent's own position, which JSON leaves out.
    #[must_use]
    pub fn is_here(&self) -> bool {
        *self == Self::here()
    }
}

impl From<NodeId> for NodeRef {
    fn from(id: NodeId) -> Self {
        Self::Id(id.to_string().to_ascii_lowercase())
    }
}

impl From<&str> for NodeRef {
    fn from(text: &str) -> Self {
        Self::Id(text.to_ascii_lowercase())
    }
}

/// Part of a path, from one node to another, written `a7x2-b3k9` or `root-here`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRange {
    /// The first node.
    pub first: NodeRef,
    /// The last node.
    pub last: NodeRef,
}

impl NodeRange {
    /// Creates a range from ids or names of places.
    #[must_use]
    pub(crate) fn new(first: &str, last: &str) -> Self {
        let [first, last] = [first, last].map(|text| NodeRef::place(text).unwrap_or_else(|| text.into()));
        Self { first, last }
    }
}

impl fmt::Display for NodeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |node: &NodeRef| match node {
            NodeRef::Place { place } => place.to_string(),
            node => node.id().unwrap_or_default().to_owned(),
        };
        write!(f, "{}-{}", end(&self.first), end(&self.last))
    }
}

impl Serialize for NodeRange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeRange {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once('-') {
            Some((first, last)) => Ok(Self::new(first, last)),
            None => Err(D::Error::custom(format_args!("{text:?} is no part of a path"))),
        }
    }
}
