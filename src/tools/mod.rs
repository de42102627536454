//! The declaration of every operation, and the protocol types that the executor, its host and the tools share.
//!
//! `operations.rs` declares each operation once: verbs, permission, help, examples and typed arguments. [`Command`],
//! [`TABLE`], the classifier's lexicon, `→ help`, the JSON schemas of tool calls, `docs/arrow.md` and the permission
//! check derive from it. Requests and results that cross modules are here too: [`ToolError`], [`HostTool`], [`WebSearch`],
//! [`SummaryRequest`]. Parsing is in [`crate::arrow`], execution in [`crate::exec`].

mod argument;
mod arrow_reference;
mod error;
mod help;
mod host_tool;
mod limits;
mod native_tools;
mod node_ref;
mod operations;
mod operations_macro;
pub(crate) mod parse_tool_call;
mod required_permissions;
mod schema;
mod spec;
mod summary;
mod values;
mod web_search;

pub use argument::{ArgSpec, ArgType};
#[doc(hidden)] // for the program
pub use arrow_reference::reference;
pub use error::{ErrorCode, ToolError};
pub(crate) use help::explain_host_tool;
pub use help::{command_forms, explain, overview};
pub use host_tool::HostTool;
#[doc(hidden)] // for the program
pub use limits::{DEFAULT_REPLY_TOKENS, MAX_BATCH_LINES, MAX_CONTENT_BYTES};
pub(crate) use limits::{MAX_CONTINUATIONS, MAX_SEARCH_RESULTS, MAX_TREE_DEPTH, MAX_UNDO_STEPS};
pub use native_tools::{NativeAlias, NativeToolSpec, native};
pub use node_ref::{NodeRange, NodeRef};
pub use operations::{Command, TABLE, Tool};
#[doc(hidden)] // for the program
pub use required_permissions::missing_permission;
pub use schema::schema;
pub use spec::{ArgRules, SideEffect, ToolGroup, ToolSpec};
pub use summary::{SummaryRequest, SummaryResponse};
pub use values::{
    BranchFormat, DecisionKind, LinkEnd, Listing, MemoryView, Range, RecallFilter, RecallScope, RecallSort, Relative,
    ResponseKind, SearchDepth, Topic, WritePlace,
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

    /// Returns whether the tool acts on nodes, so that a line may name one by a place such as `the parent`. Filters of a recall
    /// and the source of a stash are no such nodes.
    pub(crate) fn acts_on_nodes(self) -> bool {
        let is_node = |argument: &ArgSpec| matches!(argument.kind, ArgType::Node | ArgType::Nodes);
        !matches!(self, Self::Recall | Self::Delegate | Self::Stash) && self.spec().arguments().any(is_node)
    }

    /// Returns the tool of this canonical verb; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|spec| spec.name == name).map(|spec| spec.tool)
    }
}
