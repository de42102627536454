//! The arrow language: from a line that starts with `→` to a command that can be run, and its answer.

mod act;
mod args;
mod bind;
mod classify;
mod explain;
pub(crate) mod extra;
mod key;
mod lex;
mod lexicon;
mod phrases;
mod probable;
mod render;
mod scan;
mod terms;
mod understand;

pub use crate::tools::{
    Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, RecallFilter, RecallScope, RecallSort,
    Relative, Rendering, ResponseKind, SearchDepth, Span, Topic, WritePlace,
};
pub use explain::{ExplainedToken, Explanation, explain, is_verb};
pub use lex::Bytes;
pub use scan::{Call, Event, Scanner, Thought, is_command, scan, scan_commands};
pub use understand::{Refusal, RefusalCode, Understood, understand};
