//! The words that operations do not support, and where.

use crate::tools::Tool;

/// The place at which a word is unsupported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPlace {
    /// Anywhere behind the verb.
    Anywhere,
    /// Directly before the id or place of a node.
    BeforeNode,
    /// Directly before a whole number.
    BeforeNumber,
    /// Behind a number.
    AfterNumber,
    /// Before a name that is no word of the language.
    BeforeName,
    /// At the end of the line, behind a node.
    LastBehindNode,
    /// Before a number that ends the line.
    BeforeLastNumber,
    /// Behind the verb of a line with quoted text.
    BesideText,
    /// Directly before quoted text.
    BeforeText,
    /// Behind the verb of a line that names a node.
    BesideNode,
    /// Behind the verb of a line without quoted text.
    WithoutText,
}

const TAKEN_BACK: &[&str] = &["delete", "deleted", "deletion", "remove", "removed", "removal", "off", "undo", "list"];

/// Tools that change a tree, a document or an agent's operational memory.
pub(super) const CHANGING: &[Tool] = &[
    Tool::Continue,
    Tool::Respond,
    Tool::Edit,
    Tool::Split,
    Tool::Prune,
    Tool::Restore,
    Tool::Merge,
    Tool::Copy,
    Tool::Move,
    Tool::Link,
    Tool::Unlink,
    Tool::Annotate,
    Tool::Bookmark,
    Tool::Unbookmark,
    Tool::Undo,
    Tool::Redo,
    Tool::Exclude,
    Tool::Include,
    Tool::Write,
    Tool::Pin,
    Tool::Drop,
    Tool::Stash,
    Tool::Delegate,
];

/// Words for what is left out, put off, done in part, only looked at, or has ended: no change knows them.
const RESTRAINTS: &[&str] = &[
    "skip",
    "skipping",
    "avoid",
    "avoiding",
    "minus",
    "except",
    "stop",
    "until",
    "otherwise",
    "preview",
    "cancel",
    "works",
    "exists",
    "available",
    "tomorrow",
    "today",
    "situation",
    "shoes",
    "whichever",
];

/// Forms that no operation gives a node or a list.
pub(super) const TRANSFORMED: &[&str] = &[
    "translated",
    "summarised",
    "summarized",
    "shortened",
    "condensed",
    "reversed",
    "backwards",
    "alphabetically",
    "numbered",
    "rewritten",
    "reworded",
    "simplified",
    "anonymised",
    "anonymized",
    "capitalised",
    "capitalized",
    "rhymed",
];

/// Words before a node or a text that is spared.
const SPARED: &[&str] = &["excluding", "ignoring", "leaving", "keeping", "preserving", "omitting", "without", "but"];

/// Words of how an operation ended, at the end of a line.
pub(super) const ENDED: &[&str] = &["failed", "refused", "skipped", "ignored", "cancelled", "stopped"];

/// Flags of other programs that turn a command off, limit it or only show what it would do.
pub(super) const LIMITING_FLAGS: &[&str] = &[
    "not",
    "no",
    "keep",
    "preview",
    "dry",
    "dry-run",
    "only",
    "except",
    "exclude",
    "skip",
    "check",
    "simulate",
    "interactive",
    "patch",
    "cached",
    "abort",
    "quit",
    "help",
];

/// Words before a node that is no place to go to.
const AWAY: &[&str] =
    &["over", "around", "against", "for", "near", "between", "past", "outside", "without", "beyond", "like"];

/// Words before a text that is a part of the new wording, or what it is about.
const FRAGMENT: &[&str] = &[
    "include",
    "including",
    "use",
    "using",
    "inserting",
    "deleting",
    "changing",
    "quoting",
    "following",
    "mentions",
    "adding",
    "around",
    "about",
    "like",
    "from",
    "more",
];

/// First words of an instruction that stands where a new wording is asked for: `edit a7x2: make it shorter`.
pub(super) const INSTRUCTION: &[&str] = &[
    "make", "replace", "use", "remove", "fix", "change", "shorten", "add", "cut", "drop", "delete", "insert", "turn",
    "shorter", "longer", "keep", "rewrite", "rephrase",
];

/// Programs whose commands are not meant for the tree.
pub(super) const PROGRAMS: &[&str] = &["sudo", "hg", "svn", "docker"];

/// Words before a mark that make an example or a report of what follows: `decided: prune`.
pub(super) const LABELS: &[&str] = &[
    "skipped",
    "failed",
    "rejected",
    "cancelled",
    "example",
    "instance",
    "option",
    "output",
    "goal",
    "decided",
    "decision",
    "undone",
    "history",
    "past",
    "syntax",
    "tip",
    "theory",
    "joke",
    "stop",
    "usage",
    "log",
];

/// Words before an operation that is spoken about: `the earlier prune`.
pub(super) const SPOKEN_OF: &[&str] =
    &["last", "earlier", "existing", "recent", "previous", "failed", "skipped", "usually", "normally", "probably"];

/// Signs of how something ended, and of a question.
pub(in crate::arrow::parse) const OUTCOMES: &[char] = &['✓', '✗', '✔', '✘', '✅', '❌', '🚫', '？'];

/// Words by the tools that do not support them.
pub(super) const UNSUPPORTED: &[(&[Tool], WordPlace, &[&str])] = &[
    (CHANGING, WordPlace::Anywhere, RESTRAINTS),
    (&[Tool::Search], WordPlace::BesideText, &["spare"]),
    (
        &[Tool::View, Tool::Read],
        WordPlace::Anywhere,
        &["paragraph", "paragraphs", "sentence", "sentences", "even", "odd"],
    ),
    // What else hangs below a node goes with it.
    (&[Tool::Prune, Tool::Exclude, Tool::Move, Tool::Copy], WordPlace::Anywhere, &["leave", "visible"]),
    // A text that a node holds is no label.
    (
        &[
            Tool::Prune,
            Tool::Restore,
            Tool::Exclude,
            Tool::Include,
            Tool::Pin,
            Tool::Bookmark,
            Tool::Unbookmark,
            Tool::Move,
            Tool::Copy,
        ],
        WordPlace::BeforeText,
        &["contain", "contains", "containing", "mention", "mentions", "mentioning", "about", "word", "words", "phrase"],
    ),
    (CHANGING, WordPlace::BeforeText, SPARED),
    (CHANGING, WordPlace::BeforeNode, SPARED),
    (
        &[Tool::Undo, Tool::Redo],
        WordPlace::BeforeNumber,
        &[
            "operation",
            "change",
            "entry",
            "number",
            "no",
            "turn",
            "step",
            "to",
            "after",
            "item",
            "version",
            "least",
            "most",
        ],
    ),
    (
        &[Tool::Undo, Tool::Redo],
        WordPlace::Anywhere,
        &[
            "till",
            "yesterday",
            "second",
            "third",
            "your",
            "his",
            "her",
            "their",
            "history",
            "log",
            "list",
            "help",
            "everything",
            "properly",
            "but",
        ],
    ),
    (&[Tool::Undo, Tool::Redo], WordPlace::BeforeNode, &["since", "before", "after", "until", "from", "to", "at"]),
    (&[Tool::Redo], WordPlace::Anywhere, &["less", "shorter", "ending"]),
    (&[Tool::Edit], WordPlace::BeforeText, &["less", "shorter"]),
    (&[Tool::Edit, Tool::Annotate], WordPlace::Anywhere, &["ending", "opening", "sentence", "paragraph", "half"]),
    (&[Tool::Edit], WordPlace::Anywhere, &["out"]),
    (
        &[Tool::Edit, Tool::Prune, Tool::Move, Tool::Copy, Tool::Merge, Tool::Exclude, Tool::Include, Tool::Restore],
        WordPlace::Anywhere,
        &["part", "parts", "half", "most", "some"],
    ),
    // A branch goes with its node.
    (&[Tool::Prune, Tool::Move, Tool::Copy], WordPlace::Anywhere, &["alone", "solely"]),
    (&[Tool::Move, Tool::Copy], WordPlace::Anywhere, &["only", "just", "merely"]),
    // Several nodes, of which the line names one.
    (
        &[Tool::Continue, Tool::Respond, Tool::Annotate, Tool::Edit, Tool::Merge],
        WordPlace::BesideNode,
        &["child", "children", "kids", "siblings"],
    ),
    (
        &[Tool::Prune, Tool::Restore, Tool::Exclude, Tool::Include, Tool::Pin, Tool::Bookmark],
        WordPlace::BeforeNode,
        &["inside", "within", "outside", "like", "against", "into", "view", "stash", "prune", "list", "than"],
    ),
    (&[Tool::Prune, Tool::Restore], WordPlace::Anywhere, &["pins", "stashes"]),
    (&[Tool::Respond, Tool::Continue], WordPlace::BeforeNode, &["beside", "between", "middle"]),
    (&[Tool::Continue], WordPlace::BeforeNumber, &["after", "turn", "step", "chapter"]),
    (&[Tool::Continue], WordPlace::AfterNumber, &["minutes", "hours", "days", "agents", "turns", "nodes"]),
    (
        &[Tool::Continue],
        WordPlace::Anywhere,
        &["reading", "thinking", "pruning", "listing", "approval", "confirmation"],
    ),
    (&[Tool::Delegate], WordPlace::Anywhere, &["approval", "daily", "weekly", "nobody", "hourly"]),
    (&[Tool::Split], WordPlace::BeforeNumber, &["turn", "line", "version"]),
    (&[Tool::Split], WordPlace::AfterNumber, &["before"]),
    (&[Tool::Write], WordPlace::Anywhere, &["scratch", "margin", "replacing", "middle"]),
    (&[Tool::Todo], WordPlace::Anywhere, &["tomorrow", "later", "top", "priority"]),
    (&[Tool::Read], WordPlace::BeforeNumber, &["page", "pages"]),
    (&[Tool::Redo], WordPlace::Anywhere, &["scratch"]),
    (&[Tool::Prune, Tool::Restore], WordPlace::BeforeName, &["tree"]),
    (&[Tool::Annotate, Tool::Respond, Tool::Continue], WordPlace::Anywhere, &["every"]),
    (&[Tool::Link], WordPlace::Anywhere, &["http", "https"]),
    (&[Tool::Switch], WordPlace::BeforeNumber, &["turn", "rewind"]),
    (&[Tool::Copy], WordPlace::BeforeNode, &["as"]),
    (&[Tool::Edit], WordPlace::BesideText, &["removing", "dropping", "cutting", "mentioning", "mention"]),
    (&[Tool::Edit, Tool::Prune], WordPlace::BeforeText, &["word", "sentence", "phrase", "paragraph", "line"]),
    (&[Tool::Bookmark, Tool::Prune, Tool::Link, Tool::Exclude], WordPlace::Anywhere, &["every"]),
    (&[Tool::Edit, Tool::Respond, Tool::Bookmark, Tool::Unbookmark, Tool::Link], WordPlace::Anywhere, &["both", "all"]),
    (&[Tool::Undo], WordPlace::Anywhere, &["first", "some", "more"]),
    (&[Tool::Redo], WordPlace::Anywhere, &["scene", "dialogue", "paragraph", "reply", "answer"]),
    (&[Tool::Move, Tool::Copy], WordPlace::BeforeNode, AWAY),
    (
        &[Tool::Merge],
        WordPlace::BeforeNode,
        &["leave", "like", "unlike", "around", "for", "see", "versus", "before", "after"],
    ),
    (&[Tool::Edit], WordPlace::BeforeText, FRAGMENT),
    (&[Tool::Split], WordPlace::BeforeText, &["second", "third", "last", "every", "each", "around", "between"]),
    (&[Tool::Split], WordPlace::BeforeLastNumber, &["in", "line", "by"]),
    (&[Tool::Exclude], WordPlace::Anywhere, &["search", "links"]),
    (&[Tool::Merge, Tool::Split, Tool::Write], WordPlace::Anywhere, &["above"]),
    (
        &[Tool::Decide],
        WordPlace::BesideText,
        &["against", "drop", "remove", "cancel", "undo", "withdraw", "delete", "revoke", "open", "reopen", "withdrawn"],
    ),
    (&[Tool::Prune, Tool::Exclude], WordPlace::BeforeNode, &["above", "to"]),
    (&[Tool::Prune, Tool::Exclude], WordPlace::LastBehindNode, &["above", "below", "beneath", "underneath"]),
    (&[Tool::Respond], WordPlace::BeforeNode, &["before", "above"]),
    (&[Tool::Write], WordPlace::Anywhere, &["after"]),
    (&[Tool::Switch], WordPlace::BeforeNode, &["before", "above"]),
    (&[Tool::Switch], WordPlace::BesideNode, &["sibling", "siblings"]),
    (&[Tool::Unlink], WordPlace::Anywhere, &["all", "every", "everything"]),
    (&[Tool::Bookmark, Tool::Pin, Tool::Exclude, Tool::Link], WordPlace::Anywhere, TAKEN_BACK),
    (
        &[Tool::Edit],
        WordPlace::BesideText,
        &["append", "prepend", "add", "insert", "after", "before", "replacing", "title", "appending", "adding"],
    ),
    (&[Tool::Stash], WordPlace::BesideText, &["append", "prepend", "add", "extend"]),
    (&[Tool::Delegate], WordPlace::BesideText, &["list", "nowait"]),
    (&[Tool::Delegate], WordPlace::BeforeName, &["to"]),
    (&[Tool::Split], WordPlace::BeforeLastNumber, &["into"]),
    (
        &[Tool::Split],
        WordPlace::WithoutText,
        &["word", "words", "sentence", "sentences", "paragraph", "paragraphs", "percent", "%", "half"],
    ),
    (
        &[Tool::Continue],
        WordPlace::AfterNumber,
        &["paragraph", "paragraphs", "sentence", "sentences", "lines", "pages"],
    ),
    (&[Tool::Search], WordPlace::BesideText, &["tree", "nodes", "archive", "conversation", "chat", "history"]),
    (&[Tool::List], WordPlace::BesideNode, &["bookmarked", "starred"]),
    (&[Tool::Tree], WordPlace::Anywhere, &["pruned", "trees", "bookmarked", "starred", "pinned", "annotated"]),
    (&[Tool::Memory], WordPlace::Anywhere, &["pins", "pinned"]),
    (&[Tool::View], WordPlace::BeforeNode, &["before", "after", "around", "behind"]),
];
/// Values that switch an option off. No option has them: what is off is left out.
pub(super) const OFF: &[&str] = &["false", "no", "off", "never", "none"];
/// Values that switch an option on.
pub(super) const ON: &[&str] = &["true", "yes", "on"];
/// Options whose value can only be one of these.
pub(super) const YES_OR_NO: &[&str] = &["full", "annotations", "summary", "failed", "exact", "wait"];
pub(super) const ON_OR_OFF: &[&str] = &["full", "annotations", "summary", "failed", "resume", "count", "exact"];
/// Words that limit a recall by time or by a count of turns.
pub(super) const TIME_WORDS: &[&str] = &[
    "before",
    "older",
    "newer",
    "yesterday",
    "today",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hour",
    "hours",
    "day",
    "days",
    "minutes",
    "morning",
    "afternoon",
    "evening",
    "monday",
    "mondays",
    "tuesday",
    "tuesdays",
    "wednesday",
    "wednesdays",
    "thursday",
    "thursdays",
    "friday",
    "fridays",
    "saturday",
    "saturdays",
    "sunday",
    "sundays",
];
