//! The row of a tool in the table.

use super::{ArgSpec, Tool};
use crate::types::{Permission, worded};

worded! {
    /// The section of the help that a tool belongs to.
    ToolGroup {
        /// Reading the tree and moving the position.
        Navigation = "Navigation";
        /// Changing the tree.
        Content = "Content";
        /// Reading and writing documents.
        Documents = "Documents";
        /// The agent's pins, stashes, decisions and plan.
        Memory = "Memory";
        /// Delegation, web search, thoughts and help.
        Meta = "Meta";
    }
}

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

/// Rules for the combination of a tool's arguments.
#[derive(Debug)]
#[non_exhaustive]
pub struct ArgRules {
    /// Arguments that exclude each other.
    pub at_most_one: &'static [&'static str],
    /// Arguments of which a command needs one; empty if it needs none.
    pub at_least_one: &'static [&'static str],
    /// An argument that needs one of others.
    pub dependent: Option<(&'static str, &'static [&'static str])>,
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
    /// The section of the help.
    pub group: ToolGroup,
    /// The permission that the agent needs.
    pub permission: Permission,
    /// The extent of its changes.
    pub side_effect: SideEffect,
    /// Forms with their main options for prompts, separated by `; `: `[]` holds an option, `|` separates alternatives.
    /// Empty if another part of the prompt explains the tool.
    pub brief: &'static str,
    /// Canonical forms of its lines, without the arrow.
    pub forms: &'static [&'static str],
    /// A description in one sentence.
    pub help: &'static str,
    /// Arguments in sections: those of the command, of a flattened field, and those after it.
    pub(super) arguments: &'static [&'static [ArgSpec]],
    /// Rules for the combination of the arguments.
    pub rules: ArgRules,
    /// The shape of the reply.
    pub reply: &'static str,
    /// An example line.
    pub example: &'static str,
}

impl ToolSpec {
    /// Returns the arguments, in the order of the help.
    pub fn arguments(&self) -> impl Iterator<Item = &'static ArgSpec> + Clone + use<> {
        self.arguments.iter().copied().flatten()
    }
}
