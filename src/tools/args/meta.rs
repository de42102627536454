//! Work beyond the tree, and what is about the agent itself.

use super::{ArgGroup, ArgType, ToolArgs, optional, required};
use crate::tools::MAX_SEARCH_RESULTS;

pub(in crate::tools) const DELEGATE: ToolArgs = ToolArgs {
    group: ArgGroup::Meta,
    arguments: &[
        required("goal", ArgType::Text, "The goal."),
        optional("context", ArgType::Text, "What it needs to know."),
        optional("wait", ArgType::Bool, "Whether the turn waits for the outcome."),
    ],
    reply: "✓ task completed: \"collect what was said about the father\" [m4k2aa]\nSubtasks:\n  [x] Find the passages [p3d9hh]\n  [x] Put them in order [c7t5ww] (2 attempts)\nVerification: 2 of 2 subtasks passed (2 by a model that did not do the work)\nIt took 8 replies, 9120 tokens in and 1410 out",
    example: "→ delegate \"collect what was said about the father\" wait:no",
};

pub(in crate::tools) const SEARCH: ToolArgs = ToolArgs {
    group: ArgGroup::Meta,
    arguments: &[
        required("query", ArgType::Text, "The query."),
        optional("depth", ArgType::Enum(&["basic", "deep"]), "Titles and excerpts, or the pages' texts too."),
        optional("topic", ArgType::Enum(&["general", "news"]), "What is looked through."),
        optional("max", ArgType::Number(MAX_SEARCH_RESULTS), "At most so many results."),
        optional("include", ArgType::Texts, "Only these sites."),
        optional("exclude", ArgType::Texts, "None of these sites."),
    ],
    reply: "✓ 1 result for \"lighthouse keepers 1920s\"\n1. Keepers of the light\n   https://lights.example/keepers\n   \
            The last keeper left in 1928 …",
    example: "→ search \"lighthouse keepers 1920s\" max:5",
};

pub(in crate::tools) const THINK: ToolArgs = ToolArgs {
    group: ArgGroup::Meta,
    arguments: &[optional(
        "content",
        ArgType::Text,
        "The thought: the lines up to one with `←` alone. Nothing in it is run.",
    )],
    reply: "✓ kept thought [m8w9jj] at [a7x2kq]",
    example: "→ think\nThe tone shifts here. Is that meant?\n←",
};

pub(in crate::tools) const HELP: ToolArgs = ToolArgs {
    group: ArgGroup::Meta,
    arguments: &[optional("tool", ArgType::Text, "This tool, by its name or another word for it.")],
    reply: "→ view: Shows a node or a branch.\n  …",
    example: "→ help view",
};
