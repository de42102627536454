//! The arguments, the reply's shape and an example of each tool: the other half of the table's rows, one file per
//! group.

mod content;
mod memory;
mod meta;
mod navigation;

pub(super) use content::*;
pub(super) use memory::*;
pub(super) use meta::*;
pub(super) use navigation::*;

/// The section of the help that a tool belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgGroup {
    /// Reading the tree and moving the position.
    Navigation,
    /// Changing the tree.
    Content,
    /// Reading and writing documents.
    Documents,
    /// The agent's pins, stashes, decisions and plan.
    Memory,
    /// Delegation, web search, thoughts and help.
    Meta,
}

impl ArgGroup {
    /// Every group, in the order of the help.
    pub const ALL: &[Self] = &[Self::Navigation, Self::Content, Self::Documents, Self::Memory, Self::Meta];

    /// Returns the group's heading.
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

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgType {
    /// A node's id, in any accepted form.
    Node,
    /// Several nodes' ids.
    Nodes,
    /// A string.
    Text,
    /// Several strings.
    Texts,
    /// Items of a plan: titles, or objects with a title and details.
    Items,
    /// An integer up to this maximum; `u32::MAX` means no maximum.
    Number(u32),
    /// A switch that is present or absent.
    Flag,
    /// A boolean, as yes or no.
    Bool,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// An inclusive range of numbers: `5-10`.
    Range,
    /// Part of a path, from one node to another: `a7x2kq-b3k9ze`.
    NodeRange,
    /// The other end of a link: `node`, `doc`, `tree`, or `tree` and `node`.
    LinkTarget,
    /// A place in a document: `start`, `end`, or the number of a line.
    InsertPosition,
}

/// The declaration of one argument. Its name is the field's name in a command's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgSpec {
    /// The argument's name.
    pub name: &'static str,
    /// The argument's type.
    pub kind: ArgType,
    /// True if a command is invalid without it.
    pub required: bool,
    /// A description in one sentence.
    pub meaning: &'static str,
}

/// The usage of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolArgs {
    /// The section of the help.
    pub group: ArgGroup,
    /// The arguments, in the order of the help.
    pub arguments: &'static [ArgSpec],
    /// The shape of the reply.
    pub reply: &'static str,
    /// An example line.
    pub example: &'static str,
}

const fn required(name: &'static str, kind: ArgType, meaning: &'static str) -> ArgSpec {
    ArgSpec { name, kind, required: true, meaning }
}

const fn optional(name: &'static str, kind: ArgType, meaning: &'static str) -> ArgSpec {
    ArgSpec { name, kind, required: false, meaning }
}

/// The optional node argument that most tools share.
const NODE: ArgSpec = optional("node", ArgType::Node, "The node; where you are, if none is named.");
