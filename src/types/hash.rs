//! The hash chain: each node's hash covers its parent's, so a leaf's hash vouches for its whole path.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{AuthorType, EdgeKind, Json, NewNode, Node, Timestamp, ToolCallFields};
use crate::id::{AgentId, NodeId};

/// The version of a new node's hash.
const VERSION: u8 = 2;

/// A node's BLAKE3 hash and its version.
///
/// Version 1 covers parent hash, author, edge kind and content; nodes written before version 2 keep it. Version 2 covers all
/// of [`HashInput`]. Version 1 is written as 64 hex digits, version 2 as `2:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash {
    version: u8,
    hash: [u8; 32],
}

/// The fields of a node that its hash covers.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // the fields of `Node`
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
    /// The input of a stored node whose parent has this hash; a root has none.
    #[must_use]
    pub fn of(node: &'a Node, parent: Option<ContentHash>) -> Self {
        input!(node, parent)
    }

    /// The input of a node to be appended under a parent with this hash.
    #[must_use]
    pub fn of_new(node: &'a NewNode, parent: Option<ContentHash>) -> Self {
        input!(node, parent)
    }
}

impl ContentHash {
    /// The hash of a new node.
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
        // Each text follows its length, so that no two nodes feed the hash the same bytes.
        for text in texts {
            hasher.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        Self { version: VERSION, hash: *hasher.finalize().as_bytes() }
    }

    /// The hash of the same node in the version of this one.
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

    /// The version: 1 or 2.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The stored form: the 32 bytes of version 1, or the version and 32 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = (self.version > 1).then_some(self.version);
        version.into_iter().chain(self.hash).collect()
    }

    /// The hash with this stored form; `None` if that is no known version's.
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
