//! The arrow language: from a line that starts with `→` to a command that can be run.

mod argument;
mod command;

pub use argument::{
    DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, Relative, Rendering, ResponseKind, SearchDepth, Span,
    Topic, WritePlace,
};
pub use command::Command;
