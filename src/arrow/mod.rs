//! The arrow language: from a line that starts with `→` to a command that can be run.

mod command;
pub mod run;

pub use command::{
    Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, Relative, Rendering, ResponseKind,
    SearchDepth, Span, Topic, WritePlace,
};
