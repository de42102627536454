//! The table: each tool once, with its name, other words for it, the forms it takes, its permission.
//!
//! The classifier's lexicon, `→ help`, the JSON schemas, `docs/arrow.md` and the permission check are derived from it.

use super::Tool;
use crate::model::Permission;

/// How much a tool can do, and so how sure the classifier must be before it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Shows something and changes nothing.
    Looks,
    /// Changes only where the agent is, or what it keeps to itself.
    Moves,
    /// Adds to the tree, or marks something in it.
    Changes,
    /// Hides, overwrites or lets go.
    Risks,
}

/// A row of the table.
#[derive(Debug)]
pub struct Spec {
    /// Which tool.
    pub tool: Tool,
    /// Its canonical verb.
    pub name: &'static str,
    /// Other verbs that mean it, in their base form.
    pub synonyms: &'static [&'static str],
    /// What the agent needs.
    pub permission: Permission,
    /// What it can do.
    pub weight: Weight,
    /// The forms it takes, canonical.
    pub forms: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
}

/// Every tool, in the order of [`Tool::ALL`].
pub const TABLE: &[Spec] = &[
    Spec {
        tool: Tool::View,
        name: "view",
        synonyms: &["show", "display", "look", "inspect", "open"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &["view ID", "view ID full", "view ID with-annotations", "view branch:ID as:prose"],
        help: "Shows a node or a branch.",
    },
    Spec {
        tool: Tool::List,
        name: "list",
        synonyms: &["ls", "enumerate"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &[
            "list ID continuations",
            "list ID annotations",
            "list ID links",
            "list ID versions",
            "list ID siblings",
            "list ID bookmarks",
        ],
        help: "Lists what belongs to a node.",
    },
    Spec {
        tool: Tool::Tree,
        name: "tree",
        synonyms: &["map", "overview", "outline"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &["tree", "tree from:ID depth:N", "tree summary"],
        help: "Draws the tree.",
    },
    Spec {
        tool: Tool::Switch,
        name: "switch",
        synonyms: &["go", "goto", "jump", "checkout", "cd"],
        permission: Permission::LoomAware,
        weight: Weight::Moves,
        forms: &["switch to ID", "switch to parent", "switch to ID in tree:\"T\""],
        help: "Moves the position.",
    },
    Spec {
        tool: Tool::Diff,
        name: "diff",
        synonyms: &["compare", "contrast"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &["diff ID ID"],
        help: "Compares two nodes.",
    },
    Spec {
        tool: Tool::Continue,
        name: "continue",
        synonyms: &["generate", "sample", "extend"],
        permission: Permission::LoomGenerate,
        weight: Weight::Changes,
        forms: &["continue", "continue from ID n:3 tokens:200", "continue from ID using agent:\"A\""],
        help: "Has a model continue a node.",
    },
    Spec {
        tool: Tool::Respond,
        name: "respond",
        synonyms: &["reply", "answer", "say"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["respond ID \"text\"", "respond ID \"text\" as:instruction"],
        help: "Adds the agent's own words under a node.",
    },
    Spec {
        tool: Tool::Annotate,
        name: "annotate",
        synonyms: &["note", "comment", "jot"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["annotate ID \"text\""],
        help: "Adds a note to a node.",
    },
    Spec {
        tool: Tool::Link,
        name: "link",
        synonyms: &["connect", "tie"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["link ID to ID", "link ID to doc:\"D\" note:\"why\"", "link ID to tree:\"T\" node:ID"],
        help: "Links a node to something.",
    },
    Spec {
        tool: Tool::Edit,
        name: "edit",
        synonyms: &["rewrite", "reword", "revise"],
        permission: Permission::LoomWrite,
        weight: Weight::Risks,
        forms: &["edit ID \"text\""],
        help: "Adds another wording of a node.",
    },
    Spec {
        tool: Tool::Merge,
        name: "merge",
        synonyms: &["combine", "join", "fuse"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["merge ID ID \"text\""],
        help: "Adds one node that continues several.",
    },
    Spec {
        tool: Tool::Bookmark,
        name: "bookmark",
        synonyms: &["star", "mark"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["bookmark ID \"label\""],
        help: "Marks a node.",
    },
    Spec {
        tool: Tool::Unbookmark,
        name: "unbookmark",
        synonyms: &["unstar", "unmark"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["unbookmark ID"],
        help: "Takes a mark away.",
    },
    Spec {
        tool: Tool::Prune,
        name: "prune",
        synonyms: &["hide", "cut", "rm"],
        permission: Permission::LoomWrite,
        weight: Weight::Risks,
        forms: &["prune ID"],
        help: "Hides a node and what is below it.",
    },
    Spec {
        tool: Tool::Restore,
        name: "restore",
        synonyms: &["unprune", "revive"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["restore ID"],
        help: "Brings a pruned node back.",
    },
    Spec {
        tool: Tool::Undo,
        name: "undo",
        synonyms: &["revert"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["undo", "undo 2"],
        help: "Takes the last changes back.",
    },
    Spec {
        tool: Tool::Redo,
        name: "redo",
        synonyms: &["reapply"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["redo", "redo 2"],
        help: "Makes changes again that were taken back.",
    },
    Spec {
        tool: Tool::Copy,
        name: "copy",
        synonyms: &["duplicate", "cp"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["copy ID to ID"],
        help: "Copies a branch under another node.",
    },
    Spec {
        tool: Tool::Move,
        name: "move",
        synonyms: &["mv", "relocate"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["move ID to ID"],
        help: "Moves a branch under another node.",
    },
    Spec {
        tool: Tool::Split,
        name: "split",
        synonyms: &["divide"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["split ID at:120", "split ID after \"words\""],
        help: "Cuts a node in two.",
    },
    Spec {
        tool: Tool::Exclude,
        name: "exclude",
        synonyms: &["omit"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["exclude ID"],
        help: "Keeps a node out of the context.",
    },
    Spec {
        tool: Tool::Include,
        name: "include",
        synonyms: &["readmit"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["include ID"],
        help: "Takes a node into the context again.",
    },
    Spec {
        tool: Tool::Unlink,
        name: "unlink",
        synonyms: &["disconnect"],
        permission: Permission::LoomWrite,
        weight: Weight::Changes,
        forms: &["unlink ID from ID"],
        help: "Takes a link away.",
    },
    Spec {
        tool: Tool::Read,
        name: "read",
        synonyms: &["cat"],
        permission: Permission::DocRead,
        weight: Weight::Looks,
        forms: &[
            "read doc:\"D\"",
            "read doc:\"D\" summary",
            "read doc:\"D\" lines:1-20",
            "read doc:\"D\" section:\"S\"",
        ],
        help: "Shows a document.",
    },
    Spec {
        tool: Tool::Write,
        name: "write",
        synonyms: &["append"],
        permission: Permission::DocWrite,
        weight: Weight::Risks,
        forms: &[
            "write doc:\"D\" append \"text\"",
            "write doc:\"D\" at:start \"text\"",
            "write doc:\"D\" replace:\"S\" \"text\"",
        ],
        help: "Changes a document.",
    },
    Spec {
        tool: Tool::Pin,
        name: "pin",
        synonyms: &["keep"],
        permission: Permission::LoomAware,
        weight: Weight::Changes,
        forms: &["pin ID", "pin doc:\"D\" section:\"S\""],
        help: "Keeps something in the context.",
    },
    Spec {
        tool: Tool::Stash,
        name: "stash",
        synonyms: &["save"],
        permission: Permission::LoomAware,
        weight: Weight::Changes,
        forms: &["stash \"label\" \"text\"", "stash \"label\" content-of:ID", "stash \"label\" summary-of:ID-ID"],
        help: "Sets something aside under a label.",
    },
    Spec {
        tool: Tool::Recall,
        name: "recall",
        synonyms: &["remember", "grep"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &[
            "recall \"label\"",
            "recall search \"words\"",
            "recall turns:5-10",
            "recall tool:NAME",
            "recall summary",
        ],
        help: "Brings something back.",
    },
    Spec {
        tool: Tool::Drop,
        name: "drop",
        synonyms: &["unpin", "unstash"],
        permission: Permission::LoomAware,
        weight: Weight::Risks,
        forms: &["drop pin:ID", "drop stash:\"label\""],
        help: "Lets go of a pin or of something set aside.",
    },
    Spec {
        tool: Tool::Decide,
        name: "decide",
        synonyms: &["resolve"],
        permission: Permission::LoomAware,
        weight: Weight::Changes,
        forms: &["decide \"text\"", "decide constraint \"text\""],
        help: "Records a decision.",
    },
    Spec {
        tool: Tool::Memory,
        name: "memory",
        synonyms: &[],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &["memory", "memory trace", "memory stashed"],
        help: "Shows what the agent keeps.",
    },
    Spec {
        tool: Tool::Todo,
        name: "todo",
        synonyms: &["plan"],
        permission: Permission::LoomAware,
        weight: Weight::Changes,
        forms: &["todo", "todo add \"title\"", "todo done 2 \"outcome\"", "todo cancel 2 \"why\"", "todo resume"],
        help: "Shows or changes the plan.",
    },
    Spec {
        tool: Tool::Delegate,
        name: "delegate",
        synonyms: &["assign"],
        permission: Permission::Delegate,
        weight: Weight::Changes,
        forms: &["delegate \"goal\" context:\"…\" wait:no"],
        help: "Hands a goal to another agent.",
    },
    Spec {
        tool: Tool::Search,
        name: "search",
        synonyms: &["google"],
        permission: Permission::WebSearch,
        weight: Weight::Looks,
        forms: &["search \"query\" depth:deep topic:news max:5 include:a.org exclude:b.com"],
        help: "Searches the web.",
    },
    Spec {
        tool: Tool::Think,
        name: "think",
        synonyms: &["ponder", "reflect"],
        permission: Permission::LoomAware,
        weight: Weight::Moves,
        forms: &["think … ←"],
        help: "Thinks in private, up to a line with `←` alone.",
    },
    Spec {
        tool: Tool::Help,
        name: "help",
        synonyms: &["man", "usage"],
        permission: Permission::LoomAware,
        weight: Weight::Looks,
        forms: &["help", "help view"],
        help: "Explains the commands.",
    },
];

impl Tool {
    /// The tool's row.
    #[must_use]
    pub fn spec(self) -> &'static Spec {
        &TABLE[self as usize]
    }

    /// The tool's canonical verb.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}
