//! The arrow language: from a line that starts with `→` to a command that can be run, and its answer.

mod annotate_tokens;
mod args;
mod bind;
mod classify;
mod explain;
pub(crate) mod host_tool_args;
mod intent;
mod json_call;
mod lex;
mod lexicon;
mod node_words;
mod option_name;
mod parse;
mod phrases;
mod render;
mod scan;
mod suggested_commands;
mod word_pattern;

#[doc(hidden)] // documented in `tools`
pub use crate::tools::{
    BranchFormat, Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRange, NodeRef, Range, RecallFilter,
    RecallScope, RecallSort, Relative, ResponseKind, SearchDepth, Topic, WritePlace,
};
#[doc(hidden)] // for the program
pub use explain::{ExplainedToken, Explanation, explain, is_verb};
pub(crate) use lex::ARROWS;
pub use lex::Span;
pub use parse::{ParseError, ParseErrorCode, ParsedLine, parse};
#[doc(hidden)] // for the program
pub use scan::is_command;
pub use scan::{Call, Event, Scanner, Thought, ends_turn, scan, scan_commands};
