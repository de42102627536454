//! The operations: each with its words, permission, help, examples and typed arguments, declared once.
//!
//! The classifier's lexicon, `→ help`, the JSON schemas of tool calls, `docs/arrow.md`, the permission check and
//! [`Command`] itself are derived from this list by [`operations_macro`](super::operations_macro). The JSON form
//! (`loom parse` prints it) is the serde form of the fields. Ids stay as written, in lower case and without brackets. The
//! executor resolves them, because that needs a store.

mod items;

use serde::{Deserialize, Serialize};

use super::{
    ArgRules, ArgSpec, ArgType, BranchFormat, DecisionKind, LinkEnd, Listing, MAX_CONTINUATIONS, MAX_SEARCH_RESULTS,
    MAX_TREE_DEPTH, MAX_UNDO_STEPS, MemoryView, NodeRange, NodeRef, Range, RecallFilter, Relative, ResponseKind,
    SearchDepth, SideEffect, ToolGroup, ToolSpec, Topic, WritePlace,
    argument::Argument,
    operations_macro::{argument, dependent, names, operations},
};
use crate::types::{Permission, TodoDraft};

operations! {
    View "view" also ["show", "display", "look", "inspect", "open"] (Navigation, LoomAware, ReadOnly) "Shows a node or a branch." {
        brief "view ID [full]; view branch:ID [from:ID] — root to ID";
        forms ["view ID", "view ID full", "view ID with-annotations", "view branch:ID as:prose", "view branch:ID from:ID"];
        at_most_one ["node", "branch"];
        "as" needs ["branch"];
        reply "[a7x2kq] human owner · 3m ago · depth:7\nMarie's reluctance stems from her childhood.\n3 continuations · 1 annotation · 1 link\n  ✎ [n4m2cc] model (you) · 1m ago · \"this is where the tone shifts\"\n← 9pakc5 · → b3k9ze, d5n7hh, e6p4tt";
        example "→ view a7x2kq";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        branch: Option<NodeRef>, "A branch instead, by its last node: the path from the root to it.";
        from: Option<NodeRef>, "Where on its path the branch begins; the root, if not said.";
        #[serde(default)] full: bool, "The whole content; only the beginning of a long one is shown otherwise.";
        #[serde(default)] annotations: bool, "The notes on it whole, written `with-annotations`.";
        rendering as "as": Option<BranchFormat>, "How a branch is shown: running text, or node by node.";
    }
    List "list" also ["ls", "enumerate"] (Navigation, LoomAware, ReadOnly) "Lists what belongs to a node or a tree." {
        brief "list ID continuations|annotations|links|versions|siblings; list bookmarks|agents|pruned|changes; list documents; list trees";
        forms [
            "list ID continuations",
            "list ID annotations",
            "list ID links",
            "list ID versions",
            "list ID siblings",
            "list ID bookmarks",
            "list documents",
            "list trees",
            "list agents",
            "list pruned",
            "list changes",
        ];
        reply "[a7x2kq] → 3 continuations:\n  [b3k9ze] model subject · \"Building on the trauma angle, which so far nobody … (+41 words)\" · 2 continuations\n  …";
        example "→ list a7x2kq continuations";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        what: Listing, "What is listed; bookmarks are those at and below the node. Documents need the permission doc_read, trees cross_tree.";
    }
    Tree "tree" also ["map", "overview", "outline"] (Navigation, LoomAware, ReadOnly) "Draws the tree." {
        brief "tree [from:ID] [depth:3]";
        forms ["tree", "tree from:ID depth:N", "tree summary"];
        reply "Tree: \"Marie Character Study\" (47 nodes, 6 branches)\n[r001aa] human \"Who is Marie?\"\n└→ [a7x2kq] model \"Her reluctance stems from …\" ★ key decision ✎1 ↔1\n   ├→ [b3k9ze] model \"Building on the …\" → [e6p4tt] \"And yet …\" * you are here · ← owner reads here\n   ├→ [d5n7hh] model \"What if she knew …\" (leaf)\n   └→ 2 hidden (→ list pruned)";
        example "→ tree from:a7x2kq depth:3";
        from: Option<NodeRef>, "Where the drawing starts; the root, if not said.";
        depth: Option<u32> [ArgType::Number(MAX_TREE_DEPTH)], "Levels below it; as many as fit, if not said.";
        #[serde(default)] summary: bool, "The tree in words and figures instead of a drawing.";
    }
    Switch "switch" also ["go", "goto", "jump", "checkout", "cd"] (Navigation, LoomAware, Navigation) "Moves the position." {
        brief "switch to ID|back; switch to ID in tree:\"T\"";
        forms ["switch to ID", "switch to parent", "switch to ID in tree:\"T\""];
        at_most_one ["node", "relative"];
        at_least_one ["node", "relative", "tree"];
        reply "✓ switched to [b3k9ze]\n  depth:8 · 2 continuations · path: r001aa → … → a7x2kq → b3k9ze";
        example "→ switch to b3k9ze";
        node: Option<NodeRef>, "To this node. Your next reply continues it; words beside the command stay where you were.";
        relative: Option<Relative> [ArgType::Enum(&["parent", "root", "next", "previous", "leaf", "back"])], "A place by its relation to where you are: next and previous are siblings, leaf the newest end below, back where you were before.";
        tree: Option<String>, "In this tree, by its title or id; needs the permission cross_tree.";
    }
    Diff "diff" also ["compare", "contrast"] (Navigation, LoomAware, ReadOnly) "Compares two nodes and the ways to them." {
        brief "diff ID ID";
        forms ["diff ID ID"];
        reply "[b3k9ze] ↔ [d5n7hh] · their paths part after [a7x2kq] (depth:7)\nThe [-slow-]{+quick+} way.";
        example "→ diff b3k9ze d5n7hh";
        nodes: Vec<NodeRef>, "The two nodes.";
    }
    Continue "continue" also ["generate", "sample", "extend"] (Content, LoomGenerate, Write) "Has a model continue a node." {
        brief "continue from ID [\"what is wanted\"] [n:3] [words:60] [using agent:\"A\"] — another model writes";
        forms ["continue", "continue from ID n:3 tokens:200", "continue from ID using agent:\"A\"", "continue from ID \"what is wanted\" words:60"];
        reply "✓ 3 continuations from [a7x2kq] by subject\n  [b3k9ze] \"Taking the trauma angle first.\"\n  …\n  you stay at [a7x2kq]";
        example "→ continue from a7x2kq n:3 \"in her own voice\" words:60";
        from: Option<NodeRef>, "The node to go on from; where you are, if not said.";
        n: Option<u32> [ArgType::Number(MAX_CONTINUATIONS)], "How many continuations; 1 if not said.";
        tokens: Option<u32>, "At most so many tokens each.";
        words: Option<u32>, "About so many words each.";
        agent: Option<String>, "Who writes, by name; the subject, if not said. Never yourself.";
        instruction: Option<String>, "What is wanted, for the author.";
    }
    Respond "respond" also ["reply", "answer", "say"] (Content, LoomWrite, Write) "Adds the agent's own words under a node." {
        brief "respond ID \"text\" — your words below a node";
        forms ["respond ID \"text\"", "respond ID \"text\" as:instruction"];
        reply "✓ created [e6p4tt] as continuation of [a7x2kq]\n  you stay at [a7x2kq]";
        example "→ respond a7x2kq \"What if she knew all along?\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        content: String, "The words.";
        kind as "as": Option<ResponseKind>, "As what; a continuation if not said.";
    }
    Annotate "annotate" also ["note", "comment", "jot"] (Content, LoomWrite, Write) "Adds a note to a node." {
        brief "annotate ID \"text\"";
        forms ["annotate ID \"text\""];
        reply "✓ annotation [n4m2cc] added to [a7x2kq]";
        example "→ annotate a7x2kq \"this is where the tone shifts\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        content: String, "The note.";
    }
    Link "link" also ["connect", "tie"] (Content, LoomWrite, Write) "Links a node to something." {
        brief "link ID to ID; link ID to doc:\"D\" [note:\"why\"]";
        forms ["link ID to ID", "link ID to doc:\"D\" note:\"why\"", "link ID to tree:\"T\" node:ID"];
        reply "✓ linked [a7x2kq] ↔ doc:\"character notes\"";
        example "→ link a7x2kq to doc:\"character notes\" note:\"her father\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        to: LinkEnd, "The other end; another tree needs the permission cross_tree.";
        note: Option<String>, "Why.";
    }
    Edit "edit" also ["rewrite", "reword", "revise"] (Content, LoomWrite, Destructive) "Adds another wording of a node." {
        brief "edit ID \"text\" — a sibling with other words";
        forms ["edit ID \"text\""];
        reply "✓ created branch [f7q8dd] from [a7x2kq], beside it\n  [a7x2kq] keeps 3 continuations and the bookmark · → move ID to f7q8dd takes a continuation along\n  you stay at [a7x2kq] · → switch to f7q8dd continues from it\n\n✓ created version [f7q8dd] of [a7x2kq]        (in a buffer tree)";
        example "→ edit a7x2kq \"Marie hesitates, and then she goes.\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        content: String, "The new wording. The old one stays, with its continuations and its bookmark.";
    }
    Merge "merge" also ["combine", "join", "fuse"] (Content, LoomWrite, Write) "Adds one node that continues several." {
        brief "merge ID ID \"text\"";
        forms ["merge ID ID \"text\""];
        reply "✓ created [g8r9ee] from [b3k9ze] + [d5n7hh]";
        example "→ merge b3k9ze d5n7hh \"Both are true: she fears it and she misses it.\"";
        nodes: Vec<NodeRef>, "Two nodes or more; the new one continues the first and is linked to all.";
        content: String, "The new node's words.";
    }
    Bookmark "bookmark" also ["star", "mark"] (Content, LoomWrite, Write) "Marks a node." {
        brief "bookmark ID [\"label\"]";
        forms ["bookmark ID \"label\""];
        reply "✓ bookmarked [a7x2kq] as \"key decision point\"";
        example "→ bookmark a7x2kq \"key decision point\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        label: Option<String>, "The mark's name, by which it is found: `switch to bookmark:\"NAME\"`.";
    }
    Unbookmark "unbookmark" also ["unstar", "unmark"] (Content, LoomWrite, Write) "Takes a mark away." {
        brief "unbookmark ID";
        forms ["unbookmark ID"];
        reply "✓ took the bookmark off [a7x2kq]";
        example "→ unbookmark a7x2kq";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
    }
    Prune "prune" also ["hide", "cut", "rm"] (Content, LoomWrite, Destructive) "Hides a node and what is below it." {
        brief "prune ID — hides a branch";
        forms ["prune ID"];
        reply "✓ pruned [a7x2kq] and 12 descendants · undo with → restore a7x2kq";
        example "→ prune a7x2kq";
        #[serde(default = "NodeRef::here")] node: NodeRef, "The node; what is below it is hidden with it.";
    }
    Restore "restore" also ["unprune", "revive"] (Content, LoomWrite, Write) "Brings a pruned node back." {
        brief "restore ID";
        forms ["restore ID"];
        reply "✓ restored [a7x2kq] and 12 descendants";
        example "→ restore a7x2kq";
        #[serde(default = "NodeRef::here")] node: NodeRef, "The node that was pruned.";
    }
    Undo "undo" also ["revert"] (Content, LoomWrite, Write) "Takes the last changes back." {
        brief "undo [2] — your last changes, stashes too";
        forms ["undo", "undo 2"];
        reply "✓ undid 1 operation\n  pruned [a7x2kq]";
        example "→ undo";
        n: Option<u32> [ArgType::Number(MAX_UNDO_STEPS)], "How many of your own operations in this tree; 1 if not said. Each changing command is one, also a pin or a stash; messages, moves and todos are none.";
    }
    Redo "redo" also ["reapply"] (Content, LoomWrite, Write) "Makes changes again that were taken back." {
        brief "redo [2]";
        forms ["redo", "redo 2"];
        reply "✓ redid 1 operation\n  prune [a7x2kq]";
        example "→ redo";
        n: Option<u32> [ArgType::Number(MAX_UNDO_STEPS)], "How many; 1 if not said.";
    }
    Copy "copy" also ["duplicate", "cp"] (Content, LoomWrite, Write) "Copies a branch under another node." {
        brief "copy ID to ID";
        forms ["copy ID to ID"];
        reply "✓ copied [b3k9ze] and 2 descendants to [d5n7hh] as [h2s3ff]";
        example "→ copy b3k9ze to d5n7hh";
        #[serde(default = "NodeRef::here")] node: NodeRef, "The branch's first node.";
        to: NodeRef, "The node that the copy goes under.";
    }
    Move "move" also ["mv", "relocate"] (Content, LoomWrite, Write) "Moves a branch under another node." {
        brief "move ID to ID";
        forms ["move ID to ID"];
        reply "✓ moved [b3k9ze] to [d5n7hh] as [h2s3ff] · undo with → undo";
        example "→ move b3k9ze to d5n7hh";
        #[serde(default = "NodeRef::here")] node: NodeRef, "The branch's first node.";
        to: NodeRef, "The node that it goes under.";
    }
    Split "split" also ["divide"] (Content, LoomWrite, Write) "Cuts a node in two." {
        brief "split ID at:120; split ID after \"words\"";
        forms ["split ID at:120", "split ID after \"words\""];
        exactly_one ["at", "after"];
        reply "✓ split [a7x2kq] into [j4t5gg] + [k6v7hh]";
        example "→ split a7x2kq after \"and then she goes.\"";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        at: Option<u32>, "After so many characters.";
        after: Option<String>, "After the first occurrence of these words.";
    }
    Exclude "exclude" also ["omit"] (Content, LoomWrite, Write) "Keeps a node out of the context." {
        brief "exclude ID — out of the context only";
        forms ["exclude ID"];
        reply "✓ excluded [a7x2kq] from the context · undo with → include a7x2kq";
        example "→ exclude a7x2kq";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
    }
    Include "include" also ["readmit"] (Content, LoomWrite, Write) "Takes a node into the context again." {
        brief "include ID";
        forms ["include ID"];
        reply "✓ included [a7x2kq] in the context";
        example "→ include a7x2kq";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
    }
    Unlink "unlink" also ["disconnect"] (Content, LoomWrite, Write) "Takes a link away." {
        brief "unlink ID from ID";
        forms ["unlink ID from ID"];
        reply "✓ unlinked [a7x2kq] from [b3k9ze]";
        example "→ unlink a7x2kq from b3k9ze";
        node: Option<NodeRef>, "The node; where you are, if none is named.";
        #[serde(with = "super::values::node_or_end")] from: LinkEnd, "The other end.";
    }
    Read "read" also ["cat"] (Documents, DocRead, ReadOnly) "Shows a document." {
        brief "read doc:\"D\" [lines:1-20|section:\"S\"|summary]";
        forms [
            "read doc:\"D\"",
            "read doc:\"D\" summary",
            "read doc:\"D\" lines:1-20",
            "read doc:\"D\" section:\"S\"",
            "read doc:\"D\" version:2",
        ];
        at_most_one ["summary", "version"];
        reply "doc:\"character notes\" §motivation · version 3 · 247 words\n---\n## motivation\n\n…";
        example "→ read doc:\"character notes\" section:\"motivation\"";
        doc: String, "The document, by name.";
        #[serde(default)] summary: bool, "What it is about, and its headings.";
        lines: Option<Range>, "Only these lines, counted from 1.";
        section: Option<String>, "Only what stands under this heading.";
        version: Option<u32>, "An earlier version, by its number from 1; the newest, if not said.";
    }
    Write "write" also ["append"] (Documents, DocWrite, Destructive) "Writes in a document, and makes one that is not there." {
        brief "write doc:\"D\" append|at:start|replace:\"S\" \"text\" — makes a missing document";
        forms [
            "write doc:\"D\" append \"text\"",
            "write doc:\"D\" at:start \"text\"",
            "write doc:\"D\" replace:\"heading\" \"text\"",
            "write doc:\"D\" replace:\"exact words\" \"text\"",
        ];
        at_most_one ["append", "at", "replace"];
        reply "✓ wrote doc:\"character notes\" · version 4 · 260 words";
        example "→ write doc:\"character notes\" append \"She was nine that summer.\"";
        doc: String, "The document, by name.";
        ..place: WritePlace {
            content: String, "The text, as Markdown: a heading begins a section.";
        }
    }
    Pin "pin" also ["keep"] (Memory, LoomAware, Write) "Keeps something in the context." {
        brief "pin ID; pin doc:\"D\" [section:\"S\"]";
        forms ["pin ID", "pin doc:\"D\" section:\"S\""];
        at_most_one ["node", "doc"];
        "section" needs ["doc"];
        reply "✓ pinned [a7x2kq]";
        example "→ pin doc:\"character notes\" section:\"motivation\"";
        node: Option<NodeRef>, "The node; where you are, if nothing is named.";
        doc: Option<String>, "A document instead, by name; needs the permission doc_read.";
        section: Option<String>, "Only what stands under this heading of it.";
    }
    Stash "stash" also ["save"] (Memory, LoomAware, Write) "Sets something aside under a label." {
        brief "stash \"label\" \"text\"; stash \"label\" content-of:ID — for you alone";
        forms ["stash \"label\" \"text\"", "stash \"label\" content-of:ID", "stash \"label\" summary-of:ID-ID"];
        exactly_one ["content", "content_of", "summary_of"];
        reply "✓ stashed \"marie insight\" (47 tokens)";
        example "→ stash \"marie insight\" content-of:a7x2kq";
        label: String, "The label; what has it already is replaced. Your prompts name it; `recall` shows what it holds. Others do not see it; a person can, with `loom --as NAME do 'memory stashed'`.";
        content: Option<String>, "These words.";
        content_of: Option<NodeRef>, "This node's words.";
        summary_of: Option<NodeRange>, "The sentences that say most of this part of a path.";
    }
    Recall "recall" also ["remember", "grep"] (Memory, LoomAware, ReadOnly) "Finds again what was said, or what is stashed." {
        brief "recall search \"words\" [by:human] [exact|count] [sort:time|oldest] [limit:20]; recall turns:5-10; recall tool:NAME [failed]; recall \"label\"";
        forms [
            "recall search \"words\"",
            "recall search \"words\" by:human scope:all from:2026-11-22",
            "recall search \"words\" exact sort:time",
            "recall search \"words\" count",
            "recall turns:5-10",
            "recall tool:NAME failed",
            "recall tool:NAME failed count",
            "recall tool:NAME \"words\"",
            "recall around:ID",
            "recall summary",
            "recall \"label\"",
        ];
        exactly_one ["label", "search", "turns", "tool", "summary", "around"];
        reply "1 match in this tree by:human for \"lighthouse\", the best first:\n[Turn 12] human [a7x2kq] · 2025-11-21 01:29 · depth 40:\n  Never let the lighthouse go dark.\n    after: model [b3k9ze] \"I will keep to that.\"";
        example "→ recall search \"lighthouse\" by:human";
        label: Option<String>, "What is stashed under this label, or the rest of a result that was cut.";
        search: Option<String>, "Turns with these words.";
        turns: Option<Range>, "These turns of your session; while it has none, of the newest one in the tree that has them.";
        tool: Option<String>, "Results of this tool.";
        #[serde(default)] summary: bool, "Everything so far, in short.";
        limit: Option<u32>, "At most so many.";
        ..only: RecallFilter {
        }
    }
    Drop "drop" also ["unpin", "unstash"] (Memory, LoomAware, Destructive) "Lets go of a pin or of something set aside." {
        brief "drop pin:ID; drop stash:\"label\"";
        forms ["drop pin:ID", "drop stash:\"label\""];
        exactly_one ["pin", "stash"];
        reply "✓ dropped pin [a7x2kq]";
        example "→ drop pin:a7x2kq";
        pin: Option<NodeRef> [ArgType::Text], "The pin: a node, or a document's name with `§heading` if a section is pinned.";
        stash: Option<String>, "The stash, by its label.";
    }
    Decide "decide" also ["resolve"] (Memory, LoomAware, Write) "Records a decision, or takes one back." {
        brief "decide [constraint] \"text\"";
        forms ["decide \"text\"", "decide constraint \"text\"", "decide kind:retract \"text\""];
        reply "✓ recorded decision: \"the story ends at sea\" (turn 12)";
        example "→ decide \"the story ends at sea\"";
        content: String, "The decision; it stays in the session's state, which is always in context.";
        kind: Option<DecisionKind>, "What it is, a decision if not said; or that what was noted with these words no longer holds.";
    }
    Memory "memory" also [] (Memory, LoomAware, ReadOnly) "Shows what the agent keeps." {
        brief "memory";
        forms ["memory", "memory trace", "memory stashed"];
        reply "=== Operational Memory ===\nPinned:\n  [a7x2kq] \"Marie's reluctance stems from her childhood.\"\nRecent actions:\n  viewed a7x2kq, b3k9ze · annotated b3k9ze as n4m2cc\nStashed (not in context): \"marie insight\"\n===";
        example "→ memory";
        view: Option<MemoryView>, "Only your last actions, or only what is stashed; everything if not said.";
    }
    Todo "todo" also ["plan"] (Memory, LoomAware, Write) "Shows or changes the plan." {
        brief "";
        forms [
            "todo",
            "todo add \"title\" \"title\"",
            "todo add \"title\" context:\"…\" criteria:\"…\"",
            "todo done 2 \"outcome\"",
            "todo cancel 2 \"why\"",
            "todo resume",
            "todo status:all",
        ];
        at_most_one ["add", "done", "cancel", "resume"];
        "outcome" needs ["done", "cancel"];
        reply "✓ planned 2 items: 1 \"check the flashback's date\" · 2 \"reword the ending\" · 2 open";
        example "→ todo add \"check the flashback's date\" \"reword the ending\"";
        #[serde(default, with = "items")] add: Vec<TodoDraft>, "New items; what goes with one is said by context:, criteria: and agent:.";
        done: Option<u32>, "The item that is done.";
        cancel: Option<u32>, "The item that is given up.";
        #[serde(default)] resume: bool, "Goes on with the open items of an earlier turn.";
        outcome: Option<String>, "What came of it, or why it was given up.";
        status: Option<String>, "Only items in this state: pending, in_progress, completed, cancelled, or all; what is open if not said. With new items, all shows their ids.";
    }
    Delegate "delegate" also ["assign"] (Meta, Delegate, Write) "Hands a goal to another agent." {
        brief "";
        forms ["delegate \"goal\" context:\"…\" wait:no", "delegate resume:ID", "delegate list"];
        exactly_one ["goal", "resume", "list"];
        "context" needs ["goal"];
        reply "✓ task completed: \"collect what was said about the father\" [m4k2aa]\nSubtasks:\n  [x] Find the passages [p3d9hh]\n      3 replies, 4100 tokens in and 520 out · 21 s\n      \"I found four passages: …\"\nVerification: 1 of 1 subtasks passed (1 by a model that did not do the work)\nIt took 5 replies, 6120 tokens in and 810 out · 26 s";
        example "→ delegate \"collect what was said about the father\" wait:no";
        goal: Option<String>, "The goal.";
        context: Option<String>, "What it needs to know.";
        resume: Option<NodeRef>, "A delegation that did not complete, by its id: what is not verified is tried again.";
        #[serde(default)] list: bool, "Shows the delegations in this tree.";
        wait: Option<bool> [ArgType::Bool], "Whether the turn waits for the outcome.";
    }
    Search "search" also ["google"] (Meta, WebSearch, ReadOnly) "Searches the web." {
        brief "search \"query\" [depth:deep] [topic:news] [max:5] [include:a.org] — the web";
        forms ["search \"query\" depth:deep topic:news max:5 include:a.org exclude:b.com"];
        reply "✓ 1 result for \"lighthouse keepers 1920s\"\n1. Keepers of the light\n   https://lights.example/keepers\n   The last keeper left in 1928 …";
        example "→ search \"lighthouse keepers 1920s\" max:5";
        query: String, "The query.";
        depth: Option<SearchDepth>, "Titles and excerpts, or the pages' texts too.";
        topic: Option<Topic>, "What is looked through.";
        max: Option<u32> [ArgType::Number(MAX_SEARCH_RESULTS)], "At most so many results.";
        #[serde(default)] include: Vec<String>, "Only these sites.";
        #[serde(default)] exclude: Vec<String>, "None of these sites.";
    }
    Think "think" also ["ponder", "reflect"] (Meta, LoomAware, Navigation) "Thinks in private, up to a line with `←` alone." {
        brief "think … ←";
        forms ["think … ←"];
        reply "✓ kept thought [m8w9jj] at [a7x2kq]";
        example "→ think\nThe tone shifts here. Is that meant?\n←";
        content: Option<String>, "The thought: the lines up to one with `←` alone. Nothing in it is run.";
    }
    Help "help" also ["man", "usage"] (Meta, LoomAware, ReadOnly) "Explains the commands." {
        brief "help";
        forms ["help", "help view"];
        reply "→ view: Shows a node or a branch.\n  …";
        example "→ help view";
        tool: Option<String>, "This tool, by its name or another word for it.";
    }
}
