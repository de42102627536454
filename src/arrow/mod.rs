//! The arrow language: from a line that starts with `→` to a command that can be run.

mod command;
pub mod run;
mod scan;

pub use command::{
    Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, Relative, Rendering, ResponseKind,
    SearchDepth, Span, Topic, WritePlace,
};
pub use scan::{Call, Event, Scanner, Thought, scan, scan_commands};
