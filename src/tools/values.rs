//! Typed arguments: node references, ranges, choices.

use serde::{Deserialize, Serialize, de::Error as _, ser::SerializeMap};

use crate::{id::NodeId, recall::TimeSpec, types::EdgeKind};

/// Reference to a node: an id, a place, a bookmark's label, or the position of an agent.
///
/// In JSON an id is a string, and the others are objects: `{"place": "parent"}`, `{"bookmark": "key decision"}`,
/// `{"at": "owner"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NodeRef {
    /// A local id, a prefix of one, or a ULID; lower case, without brackets.
    Id(String),
    /// A place relative to the agent's position.
    Place {
        /// The place relative to the position.
        place: Relative,
    },
    /// The node with this bookmark.
    Bookmark {
        /// The bookmark's label.
        bookmark: String,
    },
    /// The position of an agent.
    Agent {
        /// The agent's name; `human` for the person.
        at: String,
    },
}

impl NodeRef {
    /// The agent's own position.
    #[must_use]
    pub const fn here() -> Self {
        Self::Place { place: Relative::Here }
    }

    /// The id; `None` for the other kinds of reference.
    #[must_use]
    pub const fn id(&self) -> Option<&str> {
        match self {
            Self::Id(id) => Some(id.as_str()),
            _ => None,
        }
    }

    /// True for the agent's own position, which JSON leaves out.
    #[must_use]
    pub fn is_here(&self) -> bool {
        *self == Self::here()
    }
}

impl From<NodeId> for NodeRef {
    fn from(id: NodeId) -> Self {
        Self::Id(id.to_string().to_ascii_lowercase())
    }
}

impl From<&str> for NodeRef {
    fn from(text: &str) -> Self {
        Self::Id(text.to_ascii_lowercase())
    }
}

/// A range of whole numbers, both ends included, written `5-10` (`5` alone is `5-5`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub first: u32,
    /// The last number, not below the first.
    pub last: u32,
}

impl Serialize for Range {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}-{}", self.first, self.last))
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let ends = text.split_once('-').unwrap_or((&text, &text));
        match (ends.0.parse(), ends.1.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(D::Error::custom(format_args!("{text:?} is no range"))),
        }
    }
}

/// Part of a path, from one node to another, written `a7x2-b3k9`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRange {
    /// The first node.
    pub first: NodeRef,
    /// The last node.
    pub last: NodeRef,
}

impl Serialize for NodeRange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!(
            "{}-{}",
            self.first.id().unwrap_or_default(),
            self.last.id().unwrap_or_default()
        ))
    }
}

impl<'de> Deserialize<'de> for NodeRange {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once('-') {
            Some((first, last)) => Ok(Self { first: first.into(), last: last.into() }),
            None => Err(D::Error::custom(format_args!("{text:?} is no part of a path"))),
        }
    }
}

/// Rendering of a branch by `view`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BranchFormat {
    /// Running text, without headers.
    Prose,
    /// Node by node, with headers.
    Nodes,
}

/// Kind of item that `list` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listing {
    /// The node's children that continue it.
    Continuations,
    /// The notes on it.
    Annotations,
    /// The links from and to it.
    Links,
    /// Its versions (buffer mode).
    Versions,
    /// The other children of its parent.
    Siblings,
    /// The bookmarks at and below it.
    Bookmarks,
}

/// A place named by its relation to the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relative {
    /// The position itself.
    Here,
    /// The nearest ancestor with more than one continuation.
    BranchPoint,
    /// The node before.
    Parent,
    /// The tree's first node.
    Root,
    /// The next sibling.
    Next,
    /// The previous sibling.
    Previous,
    /// The newest end below.
    Leaf,
    /// The agent's previous position.
    Back,
}

/// Kind of node that `respond` adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseKind {
    /// Words of the conversation.
    Continuation,
    /// Material that an agent is shown.
    Context,
    /// An instruction to an agent.
    Instruction,
}

/// The other end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEnd {
    /// A document by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// A tree by title or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// A node, of that tree if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeRef>,
}

/// Effect of `decide` on the session state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// A decision that holds until it is retracted.
    Decision,
    /// A constraint that holds from now on.
    Constraint,
    /// Takes out what was noted there with these words.
    Retract,
}

/// The part that `memory` shows instead of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryView {
    /// The agent's last actions.
    Trace,
    /// The stash, by label.
    Stashed,
}

/// Scope of a `recall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecallScope {
    /// Events of the agent's session.
    Session,
    /// The current tree only.
    Tree,
    /// Events of all sessions of the workspace.
    Workspace,
    /// Everything that the session may see.
    All,
}

impl RecallScope {
    /// The scope of this name in any case; `None` for other words.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "session" => Self::Session,
            "tree" => Self::Tree,
            "workspace" => Self::Workspace,
            "all" | "everything" => Self::All,
            _ => return None,
        })
    }
}

/// Filters of a `recall`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallFilter {
    /// Only by this author: a role or an agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The scope. `None`: the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<RecallScope>,
    /// Only on the path to this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<NodeRef>,
    /// Only this node and what hangs below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<NodeRef>,
    /// Only what was said then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<TimeSpec>,
    /// Only what was said then or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<TimeSpec>,
    /// Only nodes of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<EdgeKind>,
    /// Only what holds the words as they stand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Only results of calls that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Figures alone, by author and tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
    /// Selects the nodes before and after this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<NodeRef>,
    /// The order, if not the best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<RecallSort>,
}

/// The order of what a `recall` finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecallSort {
    /// The newest first.
    Time,
}

/// Depth of a web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchDepth {
    /// Titles and excerpts.
    Basic,
    /// The pages' texts too.
    Deep,
}

/// Topic of a web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// Everything.
    General,
    /// News articles of recent days.
    News,
}

/// Place in a document where `write` puts its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WritePlace {
    /// At the document's end, said as `append`.
    Append,
    /// At the document's start (`at:start`).
    Start,
    /// At the document's end, said as a place (`at:end`).
    End,
    /// Before a line, counted from 1 (`at:12`).
    Line(u32),
    /// In place of a section (`replace:"S"`).
    Section(String),
}

impl Serialize for WritePlace {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Append => map.serialize_entry("append", &true)?,
            Self::Start => map.serialize_entry("at", "start")?,
            Self::End => map.serialize_entry("at", "end")?,
            Self::Line(line) => map.serialize_entry("at", line)?,
            Self::Section(section) => map.serialize_entry("replace", section)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for WritePlace {
    /// Without a place, the text goes to the end.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            at: Option<At>,
            replace: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum At {
            Line(u32),
            Word(String),
        }
        let Fields { at, replace } = Fields::deserialize(deserializer)?;
        match (at, replace) {
            (None, None) => Ok(Self::Append),
            (None, Some(section)) => Ok(Self::Section(section)),
            (Some(At::Line(line)), None) => Ok(Self::Line(line)),
            (Some(At::Word(word)), None) if word == "start" => Ok(Self::Start),
            (Some(At::Word(word)), None) if word == "end" => Ok(Self::End),
            _ => Err(D::Error::custom("it is no place in a document")),
        }
    }
}

/// A link's end as `unlink` has it: `"b3k9"` for a node, an object for anything else.
pub(super) mod node_or_end {
    use serde::{Deserialize, Serialize};

    use super::{LinkEnd, NodeRef};

    pub(in crate::tools) fn serialize<S: serde::Serializer>(end: &LinkEnd, serializer: S) -> Result<S::Ok, S::Error> {
        match end {
            LinkEnd { doc: None, tree: None, node: Some(node) } => node.serialize(serializer),
            end => end.serialize(serializer),
        }
    }

    pub(in crate::tools) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<LinkEnd, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Node(NodeRef),
            End(LinkEnd),
        }
        Ok(match Either::deserialize(from)? {
            Either::Node(node) => LinkEnd { node: Some(node), ..LinkEnd::default() },
            Either::End(end) => end,
        })
    }
}
