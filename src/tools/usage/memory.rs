//! What the agent keeps at hand.

use super::{Group, Kind, Usage, may, needed};
use crate::model::EdgeKind;

pub(in crate::tools) const PIN: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        may("node", Kind::Node, "The node; where you are, if nothing is named."),
        may("doc", Kind::Text, "A document instead, by name; needs the permission doc_read."),
        may("section", Kind::Text, "Only what stands under this heading of it."),
    ],
    reply: "✓ pinned [a7x2kq]",
    example: "→ pin doc:\"character notes\" section:\"motivation\"",
};

pub(in crate::tools) const STASH: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        needed("label", Kind::Text, "The label; what has it already is replaced."),
        may("content", Kind::Text, "These words."),
        may("content_of", Kind::Node, "This node's words."),
        may("summary_of", Kind::Span, "The sentences that say most of this part of a path."),
    ],
    reply: "✓ stashed \"marie insight\" (47 tokens)",
    example: "→ stash \"marie insight\" content-of:a7x2kq",
};

pub(in crate::tools) const RECALL: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        may("label", Kind::Text, "What is stashed under this label, or the rest of a result that was cut."),
        may("search", Kind::Text, "Turns with these words."),
        may("turns", Kind::Range, "These turns."),
        may("tool", Kind::Text, "Results of this tool."),
        may("summary", Kind::Flag, "Everything so far, in short."),
        may("limit", Kind::Number(u32::MAX), "At most so many."),
        may("by", Kind::Text, "Only by this author: human, model, tool, system, or an agent's name."),
        may(
            "scope",
            Kind::Word(&["session", "tree", "workspace", "all"]),
            "Where; the tree if not said. Turns are always of your session; workspace and all need the permission cross_tree.",
        ),
        may("path", Kind::Node, "Only on the path to this node."),
        may("below", Kind::Node, "Only this node and what hangs below it."),
        may(
            "from",
            Kind::Text,
            "Only since then: a day (2026-11-22, yesterday), a moment (2026-11-22T14:00), an age (2h, 11mo).",
        ),
        may("to", Kind::Text, "Only until then."),
        may("kind", Kind::Word(EdgeKind::WORDS), "Only nodes of this kind."),
        may("exact", Kind::Flag, "Only where the words stand so."),
        may("failed", Kind::Flag, "Only results of calls that failed."),
        may("count", Kind::Flag, "Figures alone, by author and tool."),
        may("around", Kind::Node, "What stands before and after this node."),
        may("sort", Kind::Word(&["time"]), "The newest first."),
    ],
    reply: "1 match in this tree by:human for \"lighthouse\", the best first:\n[Turn 12] human [a7x2kq] · 3d ago · depth 40:\n  \
            Never let the lighthouse go dark.\n    after: model [b3k9ze] \"I will keep to that.\"",
    example: "→ recall search \"lighthouse\" by:human",
};

pub(in crate::tools) const DROP: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        may("pin", Kind::Text, "The pin: a node's id, or a document's name with `§heading` if a section is pinned."),
        may("stash", Kind::Text, "The stash, by its label."),
    ],
    reply: "✓ dropped pin [a7x2kq]",
    example: "→ drop pin:a7x2kq",
};

pub(in crate::tools) const DECIDE: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        needed("content", Kind::Text, "The decision; it stays in the session's state, which is always in context."),
        may(
            "kind",
            Kind::Word(&["decision", "constraint", "retract"]),
            "What it is, a decision if not said; or that what was noted with these words no longer holds.",
        ),
    ],
    reply: "✓ recorded decision: \"the story ends at sea\" (turn 12)",
    example: "→ decide \"the story ends at sea\"",
};

pub(in crate::tools) const MEMORY: Usage = Usage {
    group: Group::Memory,
    arguments: &[may(
        "view",
        Kind::Word(&["trace", "stashed"]),
        "Only your last actions, or only what is stashed; everything if not said.",
    )],
    reply: "=== Operational Memory ===\nPinned:\n  [a7x2kq] \"Marie's reluctance stems from her childhood.\"\nRecent actions:\n  viewed a7x2kq, b3k9ze · annotated b3k9ze\nStashed (not in context): \"marie insight\"\n===",
    example: "→ memory",
};

pub(in crate::tools) const TODO: Usage = Usage {
    group: Group::Memory,
    arguments: &[
        may("add", Kind::Items, "New items; what goes with one is said by context:, criteria: and agent:."),
        may("done", Kind::Number(u32::MAX), "The item that is done."),
        may("cancel", Kind::Number(u32::MAX), "The item that is given up."),
        may("resume", Kind::Flag, "Goes on with the open items of an earlier turn."),
        may("outcome", Kind::Text, "What came of it, or why it was given up."),
        may(
            "status",
            Kind::Text,
            "Only items in this state: pending, in_progress, completed, cancelled, or all; what is open if not said.",
        ),
    ],
    reply: "✓ planned 2 items: 1 \"check the flashback's date\" · 2 \"reword the ending\" · 2 open",
    example: "→ todo add \"check the flashback's date\" \"reword the ending\"",
};
