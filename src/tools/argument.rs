//! Arguments of tools: their kinds, and the kind of each Rust type that a command's field can have.

use super::{LinkEnd, NodeRange, NodeRef, Range};
use crate::{
    recall::TimeSpec,
    types::{EdgeKind, TodoDraft},
};

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

/// A type of a command's field.
pub(super) trait Argument {
    /// The kind of the argument.
    const KIND: ArgType;
    /// True if a command needs the argument.
    const REQUIRED: bool = true;

    /// True if the value equals an absent argument, which JSON leaves out.
    fn is_absent(&self) -> bool {
        false
    }

    /// The nodes that the value refers to; `None` for an absent node, which means the position.
    fn nodes(&self) -> Vec<Option<&NodeRef>> {
        Vec::new()
    }
}

impl<T: Argument> Argument for Option<T> {
    const KIND: ArgType = T::KIND;
    const REQUIRED: bool = false;

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn nodes(&self) -> Vec<Option<&NodeRef>> {
        match self {
            Some(value) => value.nodes(),
            None if T::KIND == ArgType::Node => vec![None],
            None => Vec::new(),
        }
    }
}

impl Argument for bool {
    const KIND: ArgType = ArgType::Flag;
    const REQUIRED: bool = false;

    fn is_absent(&self) -> bool {
        !self
    }
}

impl Argument for NodeRef {
    const KIND: ArgType = ArgType::Node;

    fn is_absent(&self) -> bool {
        self.is_here()
    }

    fn nodes(&self) -> Vec<Option<&NodeRef>> {
        vec![Some(self)]
    }
}

impl Argument for Vec<NodeRef> {
    const KIND: ArgType = ArgType::Nodes;

    fn nodes(&self) -> Vec<Option<&NodeRef>> {
        self.iter().map(Some).collect()
    }
}

/// Implements [`Argument`] for types whose values are always written.
macro_rules! arguments {
    ($($ty:ty => $kind:expr),* $(,)?) => {
        $(impl Argument for $ty {
            const KIND: ArgType = $kind;
        })*
    };
}
pub(super) use arguments;

arguments! {
    String => ArgType::Text,
    u32 => ArgType::Number(u32::MAX),
    Range => ArgType::Range,
    NodeRange => ArgType::NodeRange,
    LinkEnd => ArgType::LinkTarget,
    TimeSpec => ArgType::Text,
    EdgeKind => ArgType::Enum(EdgeKind::WORDS),
}

/// Implements [`Argument`] for optional lists.
macro_rules! lists {
    ($($item:ty => $kind:expr),*) => {
        $(impl Argument for Vec<$item> {
            const KIND: ArgType = $kind;
            const REQUIRED: bool = false;

            fn is_absent(&self) -> bool {
                self.is_empty()
            }
        })*
    };
}

lists! { String => ArgType::Texts, TodoDraft => ArgType::Items }
