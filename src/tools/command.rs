//! The operations and their typed arguments, declared once: arrow lines, tool calls and programs all build a
//! [`Command`].
//!
//! Each operation is one variant and each argument one field. The JSON form (`loom parse` prints it) is the serde form
//! of these types; absent options are left out. Ids stay as written, in lower case and without brackets. The executor
//! resolves them, because that needs a store.

mod items;

use serde::{Deserialize, Serialize};

use super::{
    BranchFormat, DecisionKind, LinkEnd, Listing, MemoryView, NodeRange, NodeRef, Range, RecallFilter, Relative,
    ResponseKind, SearchDepth, Topic, WritePlace,
};
use crate::types::TodoDraft;

/// Declares [`Command`] with its arguments and [`Tool`] with the same names from one list of operations.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident { $($fields:tt)* },)*) => {
        /// An operation with its arguments, each typed and within its limits. An absent node means the current
        /// position.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "op", rename_all = "lowercase")]
        pub enum Command {
            $($(#[$doc])* $name { $($fields)* },)*
        }

        /// An operation without its arguments: the key of a row of [`TABLE`](super::TABLE).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[repr(u8)]
        pub enum Tool {
            $($(#[$doc])* $name,)*
        }

        impl Tool {
            /// Every operation, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl Command {
            /// Returns the tool that runs the command.
            #[must_use]
            pub const fn tool(&self) -> Tool {
                match self {
                    $(Self::$name { .. } => Tool::$name,)*
                }
            }
        }
    };
}

commands! {
    /// Shows a node or a branch.
    View {
        /// The node; the position if neither is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The branch, by its last node.
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<NodeRef>,
        /// The whole content.
        #[serde(default, skip_serializing_if = "is_false")]
        full: bool,
        /// The notes on it too.
        #[serde(default, skip_serializing_if = "is_false")]
        annotations: bool,
        /// Rendering of a branch.
        #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
        rendering: Option<BranchFormat>,
    },
    /// Lists what belongs to a node.
    List {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// Kind of item listed.
        what: Listing,
    },
    /// Draws the tree.
    Tree {
        /// First node drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<NodeRef>,
        /// Levels below it.
        #[serde(skip_serializing_if = "Option::is_none")]
        depth: Option<u32>,
        /// In words and figures instead of a drawing.
        #[serde(default, skip_serializing_if = "is_false")]
        summary: bool,
    },
    /// Moves the position.
    Switch {
        /// To this node.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// To a place named by its relation.
        #[serde(skip_serializing_if = "Option::is_none")]
        relative: Option<Relative>,
        /// In this tree, by title or id.
        #[serde(skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// Compares two nodes.
    Diff {
        /// The two nodes.
        nodes: Vec<NodeRef>,
    },
    /// Has a model continue a node.
    Continue {
        /// The node.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<NodeRef>,
        /// Number of continuations.
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u32>,
        /// At most so many tokens each.
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens: Option<u32>,
        /// The agent, by name.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Adds the agent's own words under a node.
    Respond {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The words.
        content: String,
        /// As what they are added.
        #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
        kind: Option<ResponseKind>,
    },
    /// Adds a note to a node.
    Annotate {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The note.
        content: String,
    },
    /// Links a node to something.
    Link {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The other end.
        to: LinkEnd,
        /// Reason for the link.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Adds another wording of a node.
    Edit {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The new wording.
        content: String,
    },
    /// Adds one node that continues several.
    Merge {
        /// The nodes, two or more.
        nodes: Vec<NodeRef>,
        /// The new node's words.
        content: String,
    },
    /// Marks a node.
    Bookmark {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The mark's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Takes a mark away.
    Unbookmark {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
    },
    /// Hides a node and what is below it.
    Prune {
        /// The node of the operation.
        #[serde(default = "NodeRef::here", skip_serializing_if = "NodeRef::is_here")]
        node: NodeRef,
    },
    /// Brings a pruned node back.
    Restore {
        /// The node of the operation.
        #[serde(default = "NodeRef::here", skip_serializing_if = "NodeRef::is_here")]
        node: NodeRef,
    },
    /// Takes the last changes back.
    Undo {
        /// Number of changes.
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u32>,
    },
    /// Makes changes again that were taken back.
    Redo {
        /// Number of changes.
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u32>,
    },
    /// Copies a branch under another node.
    Copy {
        /// The branch's first node.
        #[serde(default = "NodeRef::here", skip_serializing_if = "NodeRef::is_here")]
        node: NodeRef,
        /// The new parent.
        to: NodeRef,
    },
    /// Moves a branch under another node.
    Move {
        /// The branch's first node.
        #[serde(default = "NodeRef::here", skip_serializing_if = "NodeRef::is_here")]
        node: NodeRef,
        /// The new parent.
        to: NodeRef,
    },
    /// Cuts a node in two.
    Split {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// After so many characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<u32>,
        /// After these words.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// Keeps a node out of the context.
    Exclude {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
    },
    /// Takes a node into the context again.
    Include {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
    },
    /// Takes a link away.
    Unlink {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// The other end; a mere node is its id alone in JSON.
        #[serde(with = "super::values::node_or_end")]
        from: LinkEnd,
    },
    /// Shows a document.
    Read {
        /// The document, by name.
        doc: String,
        /// A summary instead of the text.
        #[serde(default, skip_serializing_if = "is_false")]
        summary: bool,
        /// These lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        lines: Option<Range>,
        /// The section under this heading.
        #[serde(skip_serializing_if = "Option::is_none")]
        section: Option<String>,
    },
    /// Changes a document.
    Write {
        /// The document, by name.
        doc: String,
        /// Place of the text.
        #[serde(flatten)]
        place: WritePlace,
        /// The text.
        content: String,
    },
    /// Keeps something in the context.
    Pin {
        /// The node; the position if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<NodeRef>,
        /// A document instead, by name.
        #[serde(skip_serializing_if = "Option::is_none")]
        doc: Option<String>,
        /// This section of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        section: Option<String>,
    },
    /// Sets something aside under a label.
    Stash {
        /// The label of the stash item.
        label: String,
        /// These words.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// This node's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_of: Option<NodeRef>,
        /// A summary of this part of a path.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary_of: Option<NodeRange>,
    },
    /// Finds again what was said, or brings back what is stashed.
    Recall {
        /// Label of the stash item.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Turns with these words.
        #[serde(skip_serializing_if = "Option::is_none")]
        search: Option<String>,
        /// These turns.
        #[serde(skip_serializing_if = "Option::is_none")]
        turns: Option<Range>,
        /// Results of this tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// A summary of everything so far.
        #[serde(default, skip_serializing_if = "is_false")]
        summary: bool,
        /// At most so many.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// Filters of the search.
        #[serde(flatten)]
        only: RecallFilter,
    },
    /// Lets go of a pin or of something set aside.
    Drop {
        /// The pin: a node's id or a document's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        pin: Option<String>,
        /// The label.
        #[serde(skip_serializing_if = "Option::is_none")]
        stash: Option<String>,
    },
    /// Records a decision.
    Decide {
        /// The decision.
        content: String,
        /// Kind of decision.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<DecisionKind>,
    },
    /// Shows what the agent keeps.
    Memory {
        /// A part of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        view: Option<MemoryView>,
    },
    /// Shows or changes the plan.
    Todo {
        /// New items.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "items")]
        add: Vec<TodoDraft>,
        /// The item that is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        done: Option<u32>,
        /// The item that is given up.
        #[serde(skip_serializing_if = "Option::is_none")]
        cancel: Option<u32>,
        /// Resumes the plan of an earlier turn.
        #[serde(default, skip_serializing_if = "is_false")]
        resume: bool,
        /// Outcome, or reason for cancelling.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// Only items in this state.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<String>,
    },
    /// Hands a goal to another agent.
    Delegate {
        /// The goal of the delegation.
        goal: String,
        /// Background for the goal.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// True if the turn waits for the outcome.
        #[serde(skip_serializing_if = "Option::is_none")]
        wait: Option<bool>,
    },
    /// Searches the web.
    Search {
        /// The words to search for.
        query: String,
        /// Search depth.
        #[serde(skip_serializing_if = "Option::is_none")]
        depth: Option<SearchDepth>,
        /// Search topic.
        #[serde(skip_serializing_if = "Option::is_none")]
        topic: Option<Topic>,
        /// At most so many results.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<u32>,
        /// Only these sites.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        include: Vec<String>,
        /// None of these sites.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exclude: Vec<String>,
    },
    /// Thinks in private, up to a line with `←` alone.
    Think {
        /// The thought.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// Explains the commands.
    Help {
        /// This one.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
const fn is_false(flag: &bool) -> bool {
    !*flag
}
