//! How each tool is used: its arguments, the shape of its answer, an example. The other half of the table's rows, by
//! group, so that a row and its arguments can be read at a sitting.

mod content;
mod memory;
mod meta;
mod navigation;

pub(super) use content::*;
pub(super) use memory::*;
pub(super) use meta::*;
pub(super) use navigation::*;

/// What a tool is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgGroup {
    /// Looking around and moving.
    Navigation,
    /// Changing the tree.
    Content,
    /// Documents.
    Documents,
    /// What the agent keeps at hand.
    Memory,
    /// Work beyond the tree, and about itself.
    Meta,
}

impl ArgGroup {
    /// Every group, in the order in which they are shown.
    pub const ALL: &[Self] = &[Self::Navigation, Self::Content, Self::Documents, Self::Memory, Self::Meta];

    /// The group's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Navigation => "Navigation",
            Self::Content => "Content",
            Self::Documents => "Documents",
            Self::Memory => "Memory",
            Self::Meta => "Meta",
        }
    }
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgType {
    /// A node's id, in any accepted form.
    Node,
    /// Several nodes' ids.
    Nodes,
    /// Text.
    Text,
    /// Several texts.
    Texts,
    /// Items of a plan: titles, or objects with what else is said of them.
    Items,
    /// A whole number from 0 (or 1) to the most that is allowed.
    Number(u32),
    /// There or not.
    Flag,
    /// Yes or no.
    Choice,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Numbers from one to another: `5-10`.
    Range,
    /// Part of a path, from one node to another: `a7x2kq-b3k9ze`.
    Span,
    /// The other end of a link: `node`, `doc`, `tree`, or `tree` and `node`.
    End,
    /// A place in a document: `start`, `end`, or the number of a line.
    Place,
}

/// An argument of a tool, by the name that it has in a command's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgType,
    /// Whether a command is none without it.
    pub required: bool,
    /// What it means.
    pub meaning: &'static str,
}

/// How a tool is used.
#[derive(Debug)]
pub struct ToolArgs {
    /// What it is for.
    pub group: ArgGroup,
    /// Its arguments.
    pub arguments: &'static [ArgSpec],
    /// The shape of its answer.
    pub reply: &'static str,
    /// A line that one could write.
    pub example: &'static str,
}

const fn needed(name: &'static str, kind: ArgType, meaning: &'static str) -> ArgSpec {
    ArgSpec { name, kind, required: true, meaning }
}

const fn may(name: &'static str, kind: ArgType, meaning: &'static str) -> ArgSpec {
    ArgSpec { name, kind, required: false, meaning }
}

/// The node that most tools take.
const NODE: ArgSpec = may("node", ArgType::Node, "The node; where you are, if none is named.");
