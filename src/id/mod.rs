//! Identifiers: a ULID for every entity, a short local id for every node.
//!
//! Each kind of entity has its own newtype, so that a tree's id cannot be passed as a node's id. The host passes in the
//! [`IdSource`] that generates ids. The store's row numbers are not part of this module.

mod local_id;
mod source;

pub use local_id::{LocalId, LocalIdError, LocalPattern, PatternText};
pub use source::{IdSource, RandomIds};

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// An error of parsing a ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a ULID: {0:?} (26 characters of Crockford base32)")]
pub struct ParseIdError(pub String);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(value_type = String))]
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
    /// Id of a node.
    NodeId;
    /// Id of a tree.
    TreeId;
    /// Id of an agent, human or model.
    AgentId;
    /// Id of a session: an agent's work in one tree.
    SessionId;
    /// Id of a document.
    DocumentId;
    /// Id of a link from a node to another node, a tree or a document.
    LinkId;
    /// Id of a todo.
    TodoId;
}
