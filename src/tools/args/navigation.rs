//! Looking around and moving.

use super::{ArgGroup, ArgSpec, ArgType, NODE, ToolArgs, optional, required};
use crate::tools::MAX_TREE_DEPTH;

pub(in crate::tools) const VIEW: ToolArgs = ToolArgs {
    group: ArgGroup::Navigation,
    arguments: &[
        NODE,
        optional("branch", ArgType::Node, "A branch instead, by its last node: the path from the root to it."),
        optional("full", ArgType::Flag, "The whole content instead of its first sentence."),
        optional("annotations", ArgType::Flag, "The notes on it too, written `with-annotations`."),
        optional("as", ArgType::Enum(&["prose", "nodes"]), "How a branch is shown: running text, or node by node."),
    ],
    reply: "[a7x2kq] human · 3m ago · depth:7\n\"Marie's reluctance stems from her childhood.\"\n3 continuations · 1 annotation · 1 link",
    example: "→ view a7x2kq",
};

pub(in crate::tools) const LIST: ToolArgs = ToolArgs {
    group: ArgGroup::Navigation,
    arguments: &[
        NODE,
        required(
            "what",
            ArgType::Enum(&["continuations", "annotations", "links", "versions", "siblings", "bookmarks"]),
            "What is listed; bookmarks are those at and below the node.",
        ),
    ],
    reply: "[a7x2kq] → 3 continuations:\n  [b3k9ze] model · \"Building on the trauma angle.\"\n  …",
    example: "→ list a7x2kq continuations",
};

pub(in crate::tools) const TREE: ToolArgs = ToolArgs {
    group: ArgGroup::Navigation,
    arguments: &[
        optional("from", ArgType::Node, "Where the drawing starts; where you are, if not said."),
        optional("depth", ArgType::Number(MAX_TREE_DEPTH), "Levels below it; 8 if not said."),
        optional("summary", ArgType::Flag, "The tree in words and figures instead of a drawing."),
    ],
    reply: "Tree: \"Marie Character Study\" (47 nodes, 6 branches)\n[r001aa] → … → [a7x2kq]* (you are here)\n                 ├→ [b3k9ze] → [e6p4tt] (leaf)\n                 └→ [d5n7hh] (leaf)",
    example: "→ tree from:a7x2kq depth:3",
};

const RELATIONS: ArgSpec = optional(
    "relative",
    ArgType::Enum(&["parent", "root", "next", "previous", "leaf", "back"]),
    "A place by its relation to where you are: next and previous are siblings, leaf the newest end below, back where \
     you were before.",
);

pub(in crate::tools) const SWITCH: ToolArgs = ToolArgs {
    group: ArgGroup::Navigation,
    arguments: &[
        optional("node", ArgType::Node, "To this node."),
        RELATIONS,
        optional("tree", ArgType::Text, "In this tree, by its title or id; needs the permission cross_tree."),
    ],
    reply: "✓ switched to [b3k9ze]\n  depth:8 · 2 continuations · path: r001aa → … → a7x2kq → b3k9ze",
    example: "→ switch to b3k9ze",
};

pub(in crate::tools) const DIFF: ToolArgs = ToolArgs {
    group: ArgGroup::Navigation,
    arguments: &[required("nodes", ArgType::Nodes, "The two nodes.")],
    reply: "[b3k9ze] ↔ [d5n7hh] · their paths part after [a7x2kq] (depth:7)\nThe [-slow-]{+quick+} way.",
    example: "→ diff b3k9ze d5n7hh",
};
