//! Changing the tree, and documents.

use super::{ArgGroup, ArgType, NODE, ToolArgs, optional, required};
use crate::tools::{MAX_CONTINUATIONS, MAX_UNDO_STEPS};

pub(in crate::tools) const CONTINUE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        optional("from", ArgType::Node, "The node to go on from; where you are, if not said."),
        optional("n", ArgType::Number(MAX_CONTINUATIONS), "How many continuations; 1 if not said."),
        optional("tokens", ArgType::Number(u32::MAX), "At most so many tokens each."),
        optional("agent", ArgType::Text, "Who writes, by name; the subject, if not said. Never yourself."),
    ],
    reply: "✓ 3 continuations from [a7x2kq]\n  [b3k9ze] \"Taking the trauma angle first.\"\n  …",
    example: "→ continue from a7x2kq n:3",
};

pub(in crate::tools) const RESPOND: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        NODE,
        required("content", ArgType::Text, "The words."),
        optional(
            "as",
            ArgType::Enum(&["continuation", "context", "instruction"]),
            "As what; a continuation if not said.",
        ),
    ],
    reply: "✓ created [e6p4tt] as continuation of [a7x2kq]",
    example: "→ respond a7x2kq \"What if she knew all along?\"",
};

pub(in crate::tools) const ANNOTATE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE, required("content", ArgType::Text, "The note.")],
    reply: "✓ annotation [n4m2cc] added to [a7x2kq]",
    example: "→ annotate a7x2kq \"this is where the tone shifts\"",
};

pub(in crate::tools) const LINK: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        NODE,
        required("to", ArgType::LinkTarget, "The other end; another tree needs the permission cross_tree."),
        optional("note", ArgType::Text, "Why."),
    ],
    reply: "✓ linked [a7x2kq] ↔ doc:\"character notes\"",
    example: "→ link a7x2kq to doc:\"character notes\" note:\"her father\"",
};

pub(in crate::tools) const EDIT: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE, required("content", ArgType::Text, "The new wording; the old one stays.")],
    reply: "✓ created branch [f7q8dd] from [a7x2kq]        (in a buffer tree: ✓ created version [f7q8dd] of [a7x2kq])",
    example: "→ edit a7x2kq \"Marie hesitates, and then she goes.\"",
};

pub(in crate::tools) const MERGE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        required("nodes", ArgType::Nodes, "Two nodes or more; the new one continues the first and is linked to all."),
        required("content", ArgType::Text, "The new node's words."),
    ],
    reply: "✓ created [g8r9ee] from [b3k9ze] + [d5n7hh]",
    example: "→ merge b3k9ze d5n7hh \"Both are true: she fears it and she misses it.\"",
};

pub(in crate::tools) const BOOKMARK: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE, optional("label", ArgType::Text, "The mark's name.")],
    reply: "✓ bookmarked [a7x2kq] as \"key decision point\"",
    example: "→ bookmark a7x2kq \"key decision point\"",
};

pub(in crate::tools) const UNBOOKMARK: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE],
    reply: "✓ took the bookmark off [a7x2kq]",
    example: "→ unbookmark a7x2kq",
};

pub(in crate::tools) const PRUNE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[required("node", ArgType::Node, "The node; what is below it is hidden with it.")],
    reply: "✓ pruned [a7x2kq] and 12 descendants · undo with → restore a7x2kq",
    example: "→ prune a7x2kq",
};

pub(in crate::tools) const RESTORE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[required("node", ArgType::Node, "The node that was pruned.")],
    reply: "✓ restored [a7x2kq] and 12 descendants",
    example: "→ restore a7x2kq",
};

pub(in crate::tools) const UNDO: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[optional(
        "n",
        ArgType::Number(MAX_UNDO_STEPS),
        "How many of your own operations in this tree; 1 if not said.",
    )],
    reply: "✓ took back 1 operation\n  pruned [a7x2kq]",
    example: "→ undo",
};

pub(in crate::tools) const REDO: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[optional("n", ArgType::Number(MAX_UNDO_STEPS), "How many; 1 if not said.")],
    reply: "✓ did again 1 operation\n  prune [a7x2kq]",
    example: "→ redo",
};

pub(in crate::tools) const COPY: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        required("node", ArgType::Node, "The branch's first node."),
        required("to", ArgType::Node, "The node that the copy goes under."),
    ],
    reply: "✓ copied [b3k9ze] and 2 descendants to [d5n7hh] as [h2s3ff]",
    example: "→ copy b3k9ze to d5n7hh",
};

pub(in crate::tools) const MOVE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        required("node", ArgType::Node, "The branch's first node."),
        required("to", ArgType::Node, "The node that it goes under."),
    ],
    reply: "✓ moved [b3k9ze] to [d5n7hh] as [h2s3ff] · undo with → undo",
    example: "→ move b3k9ze to d5n7hh",
};

pub(in crate::tools) const SPLIT: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[
        NODE,
        optional("at", ArgType::Number(u32::MAX), "After so many characters."),
        optional("after", ArgType::Text, "After the first occurrence of these words."),
    ],
    reply: "✓ split [a7x2kq] into [j4t5gg] + [k6v7hh]",
    example: "→ split a7x2kq after \"and then she goes.\"",
};

pub(in crate::tools) const EXCLUDE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE],
    reply: "✓ excluded [a7x2kq] from the context · undo with → include a7x2kq",
    example: "→ exclude a7x2kq",
};

pub(in crate::tools) const INCLUDE: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE],
    reply: "✓ included [a7x2kq] in the context",
    example: "→ include a7x2kq",
};

pub(in crate::tools) const UNLINK: ToolArgs = ToolArgs {
    group: ArgGroup::Content,
    arguments: &[NODE, required("from", ArgType::LinkTarget, "The other end.")],
    reply: "✓ unlinked [a7x2kq] from [b3k9ze]",
    example: "→ unlink a7x2kq from b3k9ze",
};

pub(in crate::tools) const READ: ToolArgs = ToolArgs {
    group: ArgGroup::Documents,
    arguments: &[
        required("doc", ArgType::Text, "The document, by name."),
        optional("summary", ArgType::Flag, "What it is about, and its headings."),
        optional("lines", ArgType::Range, "Only these lines, counted from 1."),
        optional("section", ArgType::Text, "Only what stands under this heading."),
    ],
    reply: "doc:\"character notes\" §motivation · version 3 · 247 words\n---\n## motivation\n\n…",
    example: "→ read doc:\"character notes\" section:\"motivation\"",
};

pub(in crate::tools) const WRITE: ToolArgs = ToolArgs {
    group: ArgGroup::Documents,
    arguments: &[
        required("doc", ArgType::Text, "The document, by name."),
        optional("append", ArgType::Flag, "As a paragraph at the end."),
        optional("at", ArgType::InsertPosition, "At the start or end, or before a line."),
        optional("replace", ArgType::Text, "In place of what stands under this heading."),
        required("content", ArgType::Text, "The text."),
    ],
    reply: "✓ wrote doc:\"character notes\" · version 4 · 260 words",
    example: "→ write doc:\"character notes\" append \"She was nine that summer.\"",
};
