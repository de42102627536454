//! The table of tools: every operation a model or a person can ask for by an arrow line, declared once.
//!
//! What is said about tools anywhere is derived from it: the classifier's lexicon, `→ help`, the JSON schemas for
//! providers' tool calls, the reference in `docs/arrow.md`, and what an agent may do.

mod args;
mod help;
mod host_tool;
mod native;
mod permission;
mod reference;
mod schema;
mod spec;
mod table;
mod tool;

pub use args::{ArgGroup, ArgSpec, ArgType, ToolArgs};
pub use help::{explain, explain_extra, overview};
pub use host_tool::HostTool;
pub use native::{NativeAlias, NativeToolSpec, native};
pub use permission::{lacking, missing, needs, without};
pub use reference::reference;
pub use schema::schema;
pub use spec::{SideEffect, ToolSpec};
pub use table::TABLE;
pub use tool::Tool;

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
