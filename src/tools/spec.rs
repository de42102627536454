//! The row of a tool in the table.

use super::{Tool, args::ToolArgs};
use crate::types::Permission;

/// The extent of a tool's changes. It sets the confidence that the classifier needs before the tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffect {
    /// Changes nothing.
    ReadOnly,
    /// Changes only the agent's position or its own memory.
    Navigation,
    /// Adds nodes to the tree or marks them.
    Write,
    /// Hides, overwrites or drops content.
    Destructive,
}

/// The declaration of one tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool, which is the row's index in the table.
    pub tool: Tool,
    /// The canonical verb.
    pub name: &'static str,
    /// Other accepted verbs, in their base form.
    pub synonyms: &'static [&'static str],
    /// The permission that the agent needs.
    pub permission: Permission,
    /// The extent of its changes.
    pub side_effect: SideEffect,
    /// Canonical forms of its lines, without the arrow.
    pub forms: &'static [&'static str],
    /// A description in one sentence.
    pub help: &'static str,
    /// Arguments, shape of the reply, and an example.
    pub usage: &'static ToolArgs,
}
