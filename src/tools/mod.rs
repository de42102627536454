//! The table of tools: every operation a model or a person can ask for by an arrow line, declared once.
//!
//! What is said about tools anywhere is derived from it: the classifier's lexicon, `→ help`, the JSON schemas for
//! providers' tool calls, the reference in `docs/arrow.md`, and what an agent may do.

mod args;
mod command;
mod error;
mod help;
mod host_tool;
mod limits;
mod native;
mod permission;
mod reference;
mod reply;
mod schema;
mod spec;
mod summary;
mod table;
mod values;
mod web_search;

pub use args::{ArgGroup, ArgSpec, ArgType, ToolArgs};
pub use command::{Command, Tool};
pub use error::{ErrorCode, ToolError};
pub use help::{explain, explain_extra, overview};
pub use host_tool::HostTool;
pub use limits::{
    DEFAULT_REPLY_TOKENS, MAX_BATCH_LINES, MAX_CONTENT_BYTES, MAX_CONTINUATIONS, MAX_SEARCH_RESULTS, MAX_TREE_DEPTH,
    MAX_UNDO_STEPS,
};
pub use native::{NativeAlias, NativeToolSpec, native};
pub use permission::missing_permission;
pub use reference::reference;
pub use reply::CommandReply;
pub use schema::schema;
pub use spec::{SideEffect, ToolSpec};
pub use summary::{SummaryRequest, SummaryResponse};
pub use table::TABLE;
pub use values::{
    DecisionKind, LinkEnd, Listing, MemoryView, NodeRef, Range, RecallFilter, RecallScope, RecallSort, Relative,
    Rendering, ResponseKind, SearchDepth, Span, Topic, WritePlace,
};
pub use web_search::{WebHit, WebSearch};

impl Tool {
    /// The tool's row.
    #[must_use]
    pub fn spec(self) -> &'static ToolSpec {
        &TABLE[self as usize]
    }

    /// The tool's canonical verb.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The tool of this canonical verb.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|spec| spec.name == name).map(|spec| spec.tool)
    }
}
