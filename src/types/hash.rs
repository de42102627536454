//! The hash chain: each node's hash covers its parent's, so a leaf's hash vouches for its whole path.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::EdgeKind;
use crate::id::AgentId;

/// BLAKE3 over parent hash, author, edge kind and content: 32 bytes, written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of a node. A root has no parent hash. Every part before the content has a fixed length (32 bytes,
    /// zeroes for a root; 16 bytes; 1 byte), so no two different nodes feed the hash the same bytes.
    #[must_use]
    pub fn of(parent: Option<Self>, author: AgentId, kind: EdgeKind, content: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&parent.map_or([0; 32], |hash| hash.0));
        hasher.update(&author.to_bytes());
        hasher.update(&[kind.code().to_le_bytes()[0]]);
        hasher.update(content.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.0).to_hex().fmt(f)
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
        blake3::Hash::from_hex(&text).map(|hash| Self(*hash.as_bytes())).map_err(D::Error::custom)
    }
}
