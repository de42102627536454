//! The declaration of every operation, and the protocol types that the executor, its host and the tools share.
//!
//! `command.rs` declares the operations with their typed arguments. [`TABLE`] adds verbs, permission, help and usage.
//! The classifier's lexicon, `→ help`, the JSON schemas of tool calls, `docs/arrow.md` and the permission check derive
//! from them. Requests and results that cross modules are here too: [`ToolError`], [`HostTool`], [`WebSearch`],
//! [`SummaryRequest`]. Parsing is in [`crate::arrow`], execution in [`crate::exec`].

mod args;
mod command;
mod error;
mod help;
mod host_tool;
mod limits;
mod native;
mod permission;
mod reference;
mod schema;
mod spec;
mod summary;
mod table;
mod values;
mod web_search;

pub use args::{ArgGroup, ArgSpec, ArgType, ToolArgs};
pub use command::{Command, Tool};
pub use error::{ErrorCode, ToolError};
pub use help::{explain, explain_host_tool, overview};
pub use host_tool::HostTool;
pub use limits::{
    DEFAULT_REPLY_TOKENS, MAX_BATCH_LINES, MAX_CONTENT_BYTES, MAX_CONTINUATIONS, MAX_SEARCH_RESULTS, MAX_TREE_DEPTH,
    MAX_UNDO_STEPS,
};
pub use native::{NativeAlias, NativeToolSpec, native};
pub use permission::missing_permission;
pub use reference::reference;
pub use schema::schema;
pub use spec::{SideEffect, ToolSpec};
pub use summary::{SummaryRequest, SummaryResponse};
pub use table::TABLE;
pub use values::{
    BranchFormat, DecisionKind, LinkEnd, Listing, MemoryView, NodeRange, NodeRef, Range, RecallFilter, RecallScope,
    RecallSort, Relative, ResponseKind, SearchDepth, Topic, WritePlace,
};
pub use web_search::{WebHit, WebSearch};

impl Tool {
    /// Returns the tool's row of the table.
    #[must_use]
    pub fn spec(self) -> &'static ToolSpec {
        &TABLE[self as usize]
    }

    /// Returns the tool's canonical verb.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the tool of this canonical verb; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|spec| spec.name == name).map(|spec| spec.tool)
    }
}
