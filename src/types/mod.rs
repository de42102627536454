//! Plain records: trees, nodes, agents, sessions, documents and their parts, and prompts.
//!
//! This module does no I/O. Records carry ULIDs, never row numbers of the store. Each variant of a stored enum has a
//! word for JSON and a number for rows; both never change.

mod agent;
mod document;
mod document_sections;
mod hash;
mod journal;
mod json;
mod lease;
mod link;
mod memory;
mod node;
mod prompt;
mod session;
mod setters;
mod summary;
mod text;
mod time;
mod todo;
mod tree;

pub use agent::{Agent, AgentKind, NewAgent, Permission, Permissions};
pub use document::{Document, DocumentVersion};
pub use document_sections::{Section, SectionError, section, sections};
pub(crate) use document_sections::{append_text, insert_at_start, insert_before_line, replace_section};
pub use hash::{ContentHash, HashInput};
pub use journal::{JournalEntry, Op, Subject};
pub use json::Json;
pub use lease::Lease;
pub use link::{Link, LinkTarget};
pub use memory::{AgentAction, Memory, Pin, PinTarget, Stash, StashContent, StashKind};
pub use node::{AuthorType, EdgeKind, NewNode, Node, NodeState, Parent, ToolCallFields};
pub use prompt::{Message, MessagePart, Prompt, Role, ToolCall};
pub use session::{NewSession, Session, SessionCounts, SessionPatch, WorkItem};
pub(crate) use setters::setters;
pub use summary::{Summary, SummarySubject};
pub(crate) use text::{MAX_SHOWN_NAME_CHARS, first_words_of_command};
pub(crate) use text::{
    ceil_char_boundary, excerpt, first_sentence, floor_char_boundary, is_invisible, literal, literal_line, one_line,
    truncate_bytes,
};
pub use text::{first_words, is_harmful, sentences, strip_control};
pub use time::{Clock, FixedClock, Timestamp};
pub use todo::{NewTodo, Todo, TodoCounts, TodoDraft, TodoPatch, TodoScope, TodoStatus};
pub use tree::{Mode, NewTree, Tree, TreeCounts, TreePatch};

/// Declares an enum whose variants have words, for users and JSON.
macro_rules! worded {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        // The derive does not read names that a macro inserts.
        #[cfg(feature = "serve")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::types::word_schema(Self::WORDS)
            }
        }

        #[cfg(feature = "serve")]
        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }

        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The words of all variants, in the same order.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The variant's word, as in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
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
                    known: Self::WORDS.join(", "),
                })
            }
        }
    };
}
pub(crate) use worded;

/// Returns the OpenAPI schema of a text that is one of these words.
#[cfg(feature = "serve")]
pub(crate) fn word_schema(words: &'static [&'static str]) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).into()
}

/// Declares a stored enum: a [`worded`] one whose variants also have numbers for rows.
macro_rules! coded {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal, $code:literal;)*
        }
    ) => {
        $crate::types::worded! {
            $(#[$doc])* $name {
                $($(#[$variant_doc])* $variant = $word;)*
            }
        }

        impl $name {
            /// The variant's number in the store.
            #[must_use]
            pub const fn code(self) -> i64 {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns the variant with a number; `None` if there is none.
            #[must_use]
            pub const fn from_code(code: i64) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use coded;

/// Deserializes a present field of a patch: `null` clears the value. Serde alone would read `null` as an absent field.
pub(crate) fn deserialize_present<'de, D: serde::Deserializer<'de>, T: serde::Deserialize<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

/// Error for a word that names no variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is none of: {known}")]
#[non_exhaustive]
pub struct ParseEnumError {
    /// Word that names no variant.
    pub word: String,
    /// Accepted words, joined by commas.
    pub known: String,
}
