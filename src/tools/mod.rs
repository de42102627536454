//! The table of tools: every operation a model or a person can ask for by an arrow line, declared once.
//!
//! What is said about tools anywhere is derived from it: the classifier's lexicon, `→ help`, the JSON schemas for
//! providers' tool calls, the reference in `docs/arrow.md`, and what an agent may do.

mod extra;
mod help;
mod native;
mod permission;
mod reference;
mod schema;
mod spec;
mod table;
mod tool;
mod usage;

pub use extra::Extra;
pub use help::{explain, explain_extra, overview};
pub use native::{Form, Native, native};
pub use permission::{lacking, missing, needs, without};
pub use reference::reference;
pub use schema::schema;
pub use spec::{Spec, Weight};
pub use table::TABLE;
pub use tool::Tool;
pub use usage::{Argument, Group, Kind, Usage};

impl Tool {
    /// The tool's row.
    #[must_use]
    pub fn spec(self) -> &'static Spec {
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
