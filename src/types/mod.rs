//! Plain records: what trees, nodes, agents, sessions and documents are made of.
//!
//! Nothing here reads or writes anything. Records carry ULIDs, never the store's row numbers. Every enum that is
//! stored has a word and a number per variant, both fixed for ever: the number is what rows hold.

mod agent;
mod document;
mod hash;
mod journal;
mod json;
mod lease;
mod link;
mod memory;
mod node;
mod session;
mod summary;
mod text;
mod time;
mod todo;
mod tree;

pub use agent::{Agent, AgentKind, NewAgent, Permission, Permissions};
pub use document::{
    Document, DocumentVersion, Section, SectionError, append_text, insert_at_start, insert_before_line,
    replace_section, section, sections,
};
pub use hash::{ContentHash, HashInput};
pub use journal::{JournalEntry, Op, Subject};
pub use json::Json;
pub use lease::Lease;
pub use link::{Link, LinkTarget};
pub use memory::{AgentAction, Memory, Pin, PinTarget, Stash, StashContent, StashKind};
pub use node::{AuthorType, EdgeKind, NewNode, Node, NodeState, Parent, ToolCallFields};
pub use session::{NewSession, Session, SessionPatch, WorkItem};
pub use summary::{Summary, SummarySubject};
pub use text::{
    first_sentence, first_words, harmless, is_harmful, is_invisible, literal, literal_line, one_line, sentences,
};
pub use time::{Clock, FixedClock, Timestamp};
pub use todo::{NewTodo, Todo, TodoCounts, TodoDraft, TodoScope, TodoStatus};
pub use tree::{Mode, NewTree, Tree, TreeCounts, TreePatch};

/// Declares a stored enum: each variant with its word (for people and JSON) and its number (for rows).
macro_rules! coded {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal, $code:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every variant, in the order of its number.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Their words, in the same order.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The variant's word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant's number in the store.
            #[must_use]
            pub const fn code(self) -> i64 {
                match self { $(Self::$variant => $code,)* }
            }

            /// The variant with this number.
            #[must_use]
            pub const fn from_code(code: i64) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::types::ParseEnumError;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == word).ok_or_else(|| $crate::types::ParseEnumError {
                    word: word.to_owned(),
                    known: Self::ALL.iter().map(|v| v.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use coded;

/// Reads a field of a patch that is there: `null` empties what it names, where serde alone would leave that as it is.
fn emptied<'de, D: serde::Deserializer<'de>, T: serde::Deserialize<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

/// A word that names no variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is none of: {known}")]
pub struct ParseEnumError {
    /// What was given.
    pub word: String,
    /// The words that would do, joined by commas.
    pub known: String,
}
