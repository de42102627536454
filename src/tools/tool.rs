//! The tools by name.

use serde::{Deserialize, Serialize};

/// An operation that an arrow line can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Tool {
    /// Shows a node or a branch.
    View,
    /// Lists what belongs to a node.
    List,
    /// Draws the tree.
    Tree,
    /// Moves the position.
    Switch,
    /// Compares two nodes.
    Diff,
    /// Has a model continue a node.
    Continue,
    /// Adds the agent's own words under a node.
    Respond,
    /// Adds a note to a node.
    Annotate,
    /// Links a node to something.
    Link,
    /// Adds another wording of a node.
    Edit,
    /// Adds one node that continues several.
    Merge,
    /// Marks a node.
    Bookmark,
    /// Takes a mark away.
    Unbookmark,
    /// Hides a node and what is below it.
    Prune,
    /// Brings a pruned node back.
    Restore,
    /// Takes the last changes back.
    Undo,
    /// Makes changes again that were taken back.
    Redo,
    /// Copies a branch under another node.
    Copy,
    /// Moves a branch under another node.
    Move,
    /// Cuts a node in two.
    Split,
    /// Keeps a node out of the context.
    Exclude,
    /// Takes a node into the context again.
    Include,
    /// Takes a link away.
    Unlink,
    /// Shows a document.
    Read,
    /// Changes a document.
    Write,
    /// Keeps something in the context.
    Pin,
    /// Sets something aside under a label.
    Stash,
    /// Finds again what was said, or what is stashed.
    Recall,
    /// Lets go of a pin or of something set aside.
    Drop,
    /// Records a decision.
    Decide,
    /// Shows what the agent keeps.
    Memory,
    /// Shows or changes the plan.
    Todo,
    /// Hands a goal to another agent.
    Delegate,
    /// Searches the web.
    Search,
    /// Thinks in private, up to a line with `←` alone.
    Think,
    /// Explains the commands.
    Help,
}

impl Tool {
    /// Every operation, in the order of the specification's table.
    pub const ALL: &[Self] = &[
        Self::View,
        Self::List,
        Self::Tree,
        Self::Switch,
        Self::Diff,
        Self::Continue,
        Self::Respond,
        Self::Annotate,
        Self::Link,
        Self::Edit,
        Self::Merge,
        Self::Bookmark,
        Self::Unbookmark,
        Self::Prune,
        Self::Restore,
        Self::Undo,
        Self::Redo,
        Self::Copy,
        Self::Move,
        Self::Split,
        Self::Exclude,
        Self::Include,
        Self::Unlink,
        Self::Read,
        Self::Write,
        Self::Pin,
        Self::Stash,
        Self::Recall,
        Self::Drop,
        Self::Decide,
        Self::Memory,
        Self::Todo,
        Self::Delegate,
        Self::Search,
        Self::Think,
        Self::Help,
    ];
}
