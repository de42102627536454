//! Identifiers: a ULID for every entity, a short local id for every node.
//!
//! Each kind of entity has a newtype of its own, so that a tree's id cannot be passed where a node's is meant.
//! Ids are made by an [`IdSource`] that the host passes in; nothing here draws random numbers by itself. What
//! the store uses as row keys (sequence numbers) never appears here.

mod local;
mod source;

pub use local::{LocalId, LocalIdError, LocalPattern, PatternText};
pub use source::{IdSource, RandomIds};

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// A text that is not a ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a ULID: {0:?} (26 characters of Crockford base32)")]
pub struct ParseIdError(pub String);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Ulid);

        impl $name {
            /// Wraps a ULID.
            #[must_use]
            pub const fn new(ulid: Ulid) -> Self {
                Self(ulid)
            }

            /// The ULID inside.
            #[must_use]
            pub const fn ulid(self) -> Ulid {
                self.0
            }

            /// The ULID's 16 bytes, most significant first.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            /// The id with these 16 bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                Ulid::from_string(text).map(Self).map_err(|_| ParseIdError(text.to_owned()))
            }
        }
    )*};
}

ids! {
    /// Names a node.
    NodeId;
    /// Names a tree.
    TreeId;
    /// Names an agent, human or model.
    AgentId;
    /// Names a session: one agent at work in one tree from one place.
    SessionId;
    /// Names a document.
    DocumentId;
    /// Names a link between a node and another node, tree or document.
    LinkId;
    /// Names an item of a plan.
    TodoId;
}
