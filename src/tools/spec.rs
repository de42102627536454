//! What a row of the table says.

use super::{Tool, args::ToolArgs};
use crate::types::Permission;

/// How much a tool can do, and so how sure the classifier must be before it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffect {
    /// Shows something and changes nothing.
    Looks,
    /// Changes only where the agent is, or what it keeps to itself.
    Moves,
    /// Adds to the tree, or marks something in it.
    Changes,
    /// Hides, overwrites or lets go.
    Risks,
}

/// A row of the table.
#[derive(Debug)]
pub struct ToolSpec {
    /// Which tool.
    pub tool: Tool,
    /// Its canonical verb.
    pub name: &'static str,
    /// Other verbs that mean it, in their base form.
    pub synonyms: &'static [&'static str],
    /// What the agent needs.
    pub permission: Permission,
    /// What it can do.
    pub weight: SideEffect,
    /// The forms it takes, canonical.
    pub forms: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
    /// Its arguments, its answer, an example.
    pub usage: &'static ToolArgs,
}
