//! Typed arguments: ranges, choices, ends of links.

use serde::{Deserialize, Serialize, de::Error as _, ser::SerializeMap};

use super::{
    ArgSpec, ArgType, NodeRef,
    argument::{Argument, arguments},
    operations_macro::{argument, argument_struct},
};
use crate::{
    recall::TimeSpec,
    types::{EdgeKind, worded},
};

arguments! {
    BranchFormat => ArgType::Enum(BranchFormat::WORDS),
    Listing => ArgType::Enum(Listing::WORDS),
    Relative => ArgType::Enum(Relative::WORDS),
    ResponseKind => ArgType::Enum(ResponseKind::WORDS),
    DecisionKind => ArgType::Enum(DecisionKind::WORDS),
    MemoryView => ArgType::Enum(MemoryView::WORDS),
    RecallScope => ArgType::Enum(RecallScope::WORDS),
    RecallSort => ArgType::Enum(RecallSort::WORDS),
    SearchDepth => ArgType::Enum(SearchDepth::WORDS),
    Topic => ArgType::Enum(Topic::WORDS),
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

worded! {
    /// Rendering of a branch by `view`.
    BranchFormat {
        /// Running text, without headers.
        Prose = "prose";
        /// Node by node, with headers.
        Nodes = "nodes";
    }
}

worded! {
    /// Kind of item that `list` shows.
    Listing {
        /// The node's children that continue it.
        Continuations = "continuations";
        /// The notes on it.
        Annotations = "annotations";
        /// The links from and to it.
        Links = "links";
        /// Its versions (buffer mode).
        Versions = "versions";
        /// The other children of its parent.
        Siblings = "siblings";
        /// The bookmarks at and below it.
        Bookmarks = "bookmarks";
        /// The pruned branches of the tree, or below the node.
        Pruned = "pruned";
        /// All documents.
        Documents = "documents";
        /// All trees.
        Trees = "trees";
        /// All agents, with their positions.
        Agents = "agents";
        /// The newest changes of the tree, or of the node.
        Changes = "changes";
    }
}

worded! {
    /// A place named by its relation to the current position.
    Relative {
        /// The position itself.
        Here = "here";
        /// The nearest ancestor with more than one continuation.
        BranchPoint = "branch-point";
        /// The node before.
        Parent = "parent";
        /// The tree's first node.
        Root = "root";
        /// The next sibling.
        Next = "next";
        /// The previous sibling.
        Previous = "previous";
        /// The newest end below.
        Leaf = "leaf";
        /// The agent's previous position.
        Back = "back";
    }
}

worded! {
    /// Kind of node that `respond` adds.
    ResponseKind {
        /// Words of the conversation.
        Continuation = "continuation";
        /// Material that an agent is shown.
        Context = "context";
        /// An instruction to an agent.
        Instruction = "instruction";
    }
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

worded! {
    /// Effect of `decide` on the session state.
    DecisionKind {
        /// A decision that holds until it is retracted.
        Decision = "decision";
        /// A constraint that holds from now on.
        Constraint = "constraint";
        /// Takes out what was noted there with these words.
        Retract = "retract";
    }
}

worded! {
    /// The part that `memory` shows instead of everything.
    MemoryView {
        /// The agent's last actions.
        Trace = "trace";
        /// The stash, by label.
        Stashed = "stashed";
    }
}

worded! {
    /// Scope of a `recall`.
    RecallScope {
        /// Events of the agent's session.
        Session = "session";
        /// The current tree only.
        Tree = "tree";
        /// Events of all sessions of the workspace.
        Workspace = "workspace";
        /// Everything that the session may see.
        All = "all";
    }
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

argument_struct! {
    /// Filters of a `recall`.
    RecallFilter {
        by: Option<String>, "Only by this author: human, model, tool, system, or an agent's name.";
        scope: Option<RecallScope>, "Where; the tree if not said. The scopes workspace and all need the permission cross_tree.";
        path: Option<NodeRef>, "Only on the path to this node.";
        below: Option<NodeRef>, "Only this node and what hangs below it.";
        from: Option<TimeSpec>, "Only since then: a day (2026-11-22, yesterday), a moment (2026-11-22T14:00), an age (2h, 11mo).";
        to: Option<TimeSpec>, "Only until then.";
        kind: Option<EdgeKind>, "Only nodes of this kind.";
        #[serde(default)] exact: bool, "Only where the words stand so.";
        #[serde(default)] failed: bool, "Only results of calls that failed.";
        #[serde(default)] count: bool, "Figures alone: of a search by author and tool, of a tool the number of its results.";
        around: Option<NodeRef>, "What stands before and after this node.";
        sort: Option<RecallSort>, "By time, the newest or the oldest first.";
        words: Option<String>, "With tool: only calls and results that hold these words.";
    }
}

worded! {
    /// The order of what a `recall` finds.
    RecallSort {
        /// The newest first.
        Time = "time";
        /// The oldest first.
        Oldest = "oldest";
    }
}

worded! {
    /// Depth of a web search.
    SearchDepth {
        /// Titles and excerpts.
        Basic = "basic";
        /// The pages' texts too.
        Deep = "deep";
    }
}

worded! {
    /// Topic of a web search.
    Topic {
        /// Everything.
        General = "general";
        /// News articles of recent days.
        News = "news";
    }
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

impl WritePlace {
    /// The arguments of which a `write` has at most one.
    pub(super) const ARGUMENTS: &[ArgSpec] = &[
        ArgSpec { name: "append", kind: ArgType::Flag, required: false, meaning: "As a paragraph at the end." },
        ArgSpec {
            name: "at",
            kind: ArgType::InsertPosition,
            required: false,
            meaning: "At the start or end, or before a line.",
        },
        ArgSpec {
            name: "replace",
            kind: ArgType::Text,
            required: false,
            meaning: "In place of what stands under this heading; without such a heading, of these exact words, which must stand once.",
        },
    ];
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
