//! The hash chain: the hash of a node covers the hash of its parent, so the hash of a leaf verifies its whole path.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{AuthorType, EdgeKind, Json, NewNode, Node, Timestamp, ToolCallFields};
use crate::id::{AgentId, NodeId};

/// Version of the hash of new nodes.
const VERSION: u8 = 2;

/// BLAKE3 hash of a node, with the version of its input.
///
/// Version 1 covers parent hash, author, edge kind and content. Nodes written before version 2 retain it. Version 2
/// covers all of [`HashInput`]. The text form of version 1 is 64 hex digits, of version 2 `2:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash {
    version: u8,
    hash: [u8; 32],
}

/// The fields of a node that its hash covers.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // the fields of `Node`
#[non_exhaustive]
pub struct HashInput<'a> {
    pub parent: Option<ContentHash>,
    pub id: NodeId,
    pub author: AgentId,
    pub author_type: AuthorType,
    pub role: AuthorType,
    pub kind: EdgeKind,
    pub created_at: Timestamp,
    pub edited_from: Option<NodeId>,
    pub version_of: Option<NodeId>,
    pub tokens: Option<u32>,
    pub interrupted: bool,
    pub content: &'a str,
    pub raw: Option<&'a str>,
    pub tool: &'a ToolCallFields,
    pub metadata: Option<&'a Json>,
}

macro_rules! input {
    ($node:expr, $parent:expr) => {
        HashInput {
            parent: $parent,
            id: $node.id,
            author: $node.author,
            author_type: $node.author_type,
            role: $node.role(),
            kind: $node.kind,
            created_at: $node.created_at,
            edited_from: $node.edited_from,
            version_of: $node.version_of,
            tokens: $node.tokens,
            interrupted: $node.interrupted,
            content: &$node.content,
            raw: $node.raw.as_deref(),
            tool: &$node.tool,
            metadata: $node.metadata.as_ref(),
        }
    };
}

impl<'a> HashInput<'a> {
    /// Input of a stored node whose parent has the hash `parent`; `None` for a root.
    #[must_use]
    pub fn of(node: &'a Node, parent: Option<ContentHash>) -> Self {
        input!(node, parent)
    }

    /// Input of a new node whose parent has the hash `parent`; `None` for a root.
    #[must_use]
    pub fn of_new(node: &'a NewNode, parent: Option<ContentHash>) -> Self {
        input!(node, parent)
    }
}

impl ContentHash {
    /// Computes the hash of a new node.
    #[must_use]
    pub fn of(input: &HashInput<'_>) -> Self {
        let mut hasher = blake3::Hasher::new();
        // A key of another length than version 1's first field separates the versions.
        hasher.update(b"loomtree node 2");
        hasher.update(&[input.parent.map_or(0, |parent| parent.version)]);
        hasher.update(&input.parent.map_or([0; 32], |parent| parent.hash));
        hasher.update(&input.id.to_bytes());
        hasher.update(&input.author.to_bytes());
        for code in [input.author_type.code(), input.role.code(), input.kind.code(), i64::from(input.interrupted)] {
            hasher.update(&[code.to_le_bytes()[0]]);
        }
        hasher.update(&input.created_at.as_millis().to_le_bytes());
        for link in [input.edited_from, input.version_of] {
            hasher.update(&link.map_or([0; 16], |id| id.to_bytes()));
        }
        hasher.update(&input.tokens.map_or(-1, i64::from).to_le_bytes());
        let tool = input.tool;
        let texts = [
            Some(input.content),
            input.raw,
            tool.calls.as_ref().map(Json::as_str),
            tool.call_id.as_deref(),
            tool.name.as_deref(),
            input.metadata.map(Json::as_str),
        ];
        // Each text follows its length, so that different nodes never give the same input bytes.
        for text in texts {
            hasher.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        Self { version: VERSION, hash: *hasher.finalize().as_bytes() }
    }

    /// Recomputes the hash of a node in the version of this hash.
    #[must_use]
    pub fn recomputed(&self, input: &HashInput<'_>) -> Self {
        if self.version == VERSION {
            return Self::of(input);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&input.parent.map_or([0; 32], |parent| parent.hash));
        hasher.update(&input.author.to_bytes());
        hasher.update(&[input.kind.code().to_le_bytes()[0]]);
        hasher.update(input.content.as_bytes());
        Self { version: 1, hash: *hasher.finalize().as_bytes() }
    }

    /// Version of the hash: 1 or 2.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// Encodes the hash for the store: 32 bytes for version 1, else a version byte and 32 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = (self.version > 1).then_some(self.version);
        version.into_iter().chain(self.hash).collect()
    }

    /// Decodes the stored form. `None` if its length or version is unknown.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, hash) = match bytes {
            [VERSION, hash @ ..] if hash.len() == 32 => (VERSION, hash),
            hash => (1, hash),
        };
        Some(Self { version, hash: hash.try_into().ok()? })
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.version > 1 {
            write!(f, "{}:", self.version)?;
        }
        blake3::Hash::from_bytes(self.hash).to_hex().fmt(f)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (version, digits) = text.strip_prefix("2:").map_or((1, text.as_str()), |digits| (VERSION, digits));
        let hash = blake3::Hash::from_hex(digits).map_err(D::Error::custom)?;
        Ok(Self { version, hash: *hash.as_bytes() })
    }
}
