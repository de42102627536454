//! Arguments of the commands for an agent's memory.

use super::{ArgGroup, ArgType, ToolArgs, optional, required};
use crate::types::EdgeKind;

pub(in crate::tools) const PIN: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        optional("node", ArgType::Node, "The node; where you are, if nothing is named."),
        optional("doc", ArgType::Text, "A document instead, by name; needs the permission doc_read."),
        optional("section", ArgType::Text, "Only what stands under this heading of it."),
    ],
    reply: "✓ pinned [a7x2kq]",
    example: "→ pin doc:\"character notes\" section:\"motivation\"",
};

pub(in crate::tools) const STASH: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        required("label", ArgType::Text, "The label; what has it already is replaced."),
        optional("content", ArgType::Text, "These words."),
        optional("content_of", ArgType::Node, "This node's words."),
        optional("summary_of", ArgType::NodeRange, "The sentences that say most of this part of a path."),
    ],
    reply: "✓ stashed \"marie insight\" (47 tokens)",
    example: "→ stash \"marie insight\" content-of:a7x2kq",
};

pub(in crate::tools) const RECALL: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        optional("label", ArgType::Text, "What is stashed under this label, or the rest of a result that was cut."),
        optional("search", ArgType::Text, "Turns with these words."),
        optional("turns", ArgType::Range, "These turns."),
        optional("tool", ArgType::Text, "Results of this tool."),
        optional("summary", ArgType::Flag, "Everything so far, in short."),
        optional("limit", ArgType::Number(u32::MAX), "At most so many."),
        optional("by", ArgType::Text, "Only by this author: human, model, tool, system, or an agent's name."),
        optional(
            "scope",
            ArgType::Enum(&["session", "tree", "workspace", "all"]),
            "Where; the tree if not said. Turns are always of your session; workspace and all need the permission cross_tree.",
        ),
        optional("path", ArgType::Node, "Only on the path to this node."),
        optional("below", ArgType::Node, "Only this node and what hangs below it."),
        optional(
            "from",
            ArgType::Text,
            "Only since then: a day (2026-11-22, yesterday), a moment (2026-11-22T14:00), an age (2h, 11mo).",
        ),
        optional("to", ArgType::Text, "Only until then."),
        optional("kind", ArgType::Enum(EdgeKind::WORDS), "Only nodes of this kind."),
        optional("exact", ArgType::Flag, "Only where the words stand so."),
        optional("failed", ArgType::Flag, "Only results of calls that failed."),
        optional("count", ArgType::Flag, "Figures alone, by author and tool."),
        optional("around", ArgType::Node, "What stands before and after this node."),
        optional("sort", ArgType::Enum(&["time"]), "The newest first."),
    ],
    reply: "1 match in this tree by:human for \"lighthouse\", the best first:\n[Turn 12] human [a7x2kq] · 3d ago · depth 40:\n  \
            Never let the lighthouse go dark.\n    after: model [b3k9ze] \"I will keep to that.\"",
    example: "→ recall search \"lighthouse\" by:human",
};

pub(in crate::tools) const DROP: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        optional(
            "pin",
            ArgType::Text,
            "The pin: a node's id, or a document's name with `§heading` if a section is pinned.",
        ),
        optional("stash", ArgType::Text, "The stash, by its label."),
    ],
    reply: "✓ dropped pin [a7x2kq]",
    example: "→ drop pin:a7x2kq",
};

pub(in crate::tools) const DECIDE: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        required(
            "content",
            ArgType::Text,
            "The decision; it stays in the session's state, which is always in context.",
        ),
        optional(
            "kind",
            ArgType::Enum(&["decision", "constraint", "retract"]),
            "What it is, a decision if not said; or that what was noted with these words no longer holds.",
        ),
    ],
    reply: "✓ recorded decision: \"the story ends at sea\" (turn 12)",
    example: "→ decide \"the story ends at sea\"",
};

pub(in crate::tools) const MEMORY: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[optional(
        "view",
        ArgType::Enum(&["trace", "stashed"]),
        "Only your last actions, or only what is stashed; everything if not said.",
    )],
    reply: "=== Operational Memory ===\nPinned:\n  [a7x2kq] \"Marie's reluctance stems from her childhood.\"\nRecent actions:\n  viewed a7x2kq, b3k9ze · annotated b3k9ze\nStashed (not in context): \"marie insight\"\n===",
    example: "→ memory",
};

pub(in crate::tools) const TODO: ToolArgs = ToolArgs {
    group: ArgGroup::Memory,
    arguments: &[
        optional("add", ArgType::Items, "New items; what goes with one is said by context:, criteria: and agent:."),
        optional("done", ArgType::Number(u32::MAX), "The item that is done."),
        optional("cancel", ArgType::Number(u32::MAX), "The item that is given up."),
        optional("resume", ArgType::Flag, "Goes on with the open items of an earlier turn."),
        optional("outcome", ArgType::Text, "What came of it, or why it was given up."),
        optional(
            "status",
            ArgType::Text,
            "Only items in this state: pending, in_progress, completed, cancelled, or all; what is open if not said.",
        ),
    ],
    reply: "✓ planned 2 items: 1 \"check the flashback's date\" · 2 \"reword the ending\" · 2 open",
    example: "→ todo add \"check the flashback's date\" \"reword the ending\"",
};
