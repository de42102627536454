//! The arrow language: from a line that starts with `→` to a command that can be run.

mod act;
mod args;
mod bind;
mod classify;
mod command;
mod explain;
mod key;
mod lex;
mod lexicon;
mod phrases;
mod probable;
mod render;
mod terms;
mod understand;
mod values;

pub use command::Command;
pub use explain::{ExplainedToken, Explanation, explain, is_verb};
pub use lex::Bytes;
pub use understand::{Refusal, RefusalCode, Understood, understand};
pub use values::{
    DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, Relative, Rendering, ResponseKind, SearchDepth, Span,
    Topic, WritePlace,
};
