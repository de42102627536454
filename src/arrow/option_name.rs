//! Names of options, and their synonyms.

use super::lexicon::within_one_edit;

/// An argument's part in its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OptionName {
    Add,
    After,
    Agent,
    Annotations,
    Around,
    As,
    At,
    Below,
    Bookmark,
    Branch,
    By,
    Cancel,
    Content,
    ContentOf,
    Context,
    Criteria,
    Depth,
    Doc,
    Done,
    Exclude,
    From,
    Full,
    Goal,
    Include,
    Kind,
    Label,
    Limit,
    Lines,
    N,
    Node,
    Note,
    Outcome,
    Path,
    Pin,
    Query,
    Replace,
    Resume,
    Scope,
    Section,
    Sort,
    Stash,
    Status,
    Summary,
    SummaryOf,
    To,
    Tokens,
    Tool,
    Topic,
    Tree,
    Turns,
    Version,
    Wait,
    What,
}

/// Length of the shortest name that is recognized with a slip.
const MIN_CORRECTED_CHARS: usize = 5;

/// The names, each with its key; sorted, for they are searched by halving.
const NAMES: &[(&str, OptionName)] = &[
    ("add", OptionName::Add),
    ("after", OptionName::After),
    ("agent", OptionName::Agent),
    ("agent-type", OptionName::Agent),
    ("annotations", OptionName::Annotations),
    ("append", OptionName::Content),
    ("around", OptionName::Around),
    ("as", OptionName::As),
    ("at", OptionName::At),
    ("author", OptionName::By),
    ("background", OptionName::Context),
    ("because", OptionName::Note),
    ("below", OptionName::Below),
    ("body", OptionName::Content),
    ("bookmark", OptionName::Bookmark),
    ("bookmark-label", OptionName::Label),
    ("branch", OptionName::Branch),
    ("by", OptionName::By),
    ("cancel", OptionName::Cancel),
    ("caption", OptionName::Label),
    ("comment", OptionName::Content),
    ("completion-criteria", OptionName::Criteria),
    ("content", OptionName::Content),
    ("content-of", OptionName::ContentOf),
    ("contentof", OptionName::ContentOf),
    ("context", OptionName::Context),
    ("count", OptionName::N),
    ("criteria", OptionName::Criteria),
    ("depth", OptionName::Depth),
    ("dest", OptionName::To),
    ("destination", OptionName::To),
    ("doc", OptionName::Doc),
    ("doc-name", OptionName::Doc),
    ("docname", OptionName::Doc),
    ("document", OptionName::Doc),
    ("done", OptionName::Done),
    ("except", OptionName::Exclude),
    ("exclude", OptionName::Exclude),
    ("excluding", OptionName::Exclude),
    ("file", OptionName::Doc),
    ("file-name", OptionName::Doc),
    ("filename", OptionName::Doc),
    ("from", OptionName::From),
    ("from-node", OptionName::From),
    ("full", OptionName::Full),
    ("goal", OptionName::Goal),
    ("guidance", OptionName::Content),
    ("heading", OptionName::Section),
    ("id", OptionName::Node),
    ("in-tree", OptionName::Tree),
    ("include", OptionName::Include),
    ("including", OptionName::Include),
    ("instruction", OptionName::Content),
    ("kind", OptionName::Kind),
    ("label", OptionName::Label),
    ("levels", OptionName::Depth),
    ("limit", OptionName::Limit),
    ("line", OptionName::Lines),
    ("lines", OptionName::Lines),
    ("max", OptionName::Limit),
    ("max-depth", OptionName::Depth),
    ("max-results", OptionName::Limit),
    ("max-tokens", OptionName::Tokens),
    ("message", OptionName::Content),
    ("model", OptionName::Agent),
    ("n", OptionName::N),
    ("name", OptionName::Label),
    ("new-content", OptionName::Content),
    ("new-parent", OptionName::To),
    ("new-text", OptionName::Content),
    ("node", OptionName::Node),
    ("node-id", OptionName::Node),
    ("nodeid", OptionName::Node),
    ("nodes", OptionName::Node),
    ("note", OptionName::Note),
    ("notes", OptionName::Annotations),
    ("num", OptionName::N),
    ("number", OptionName::N),
    ("only", OptionName::Include),
    ("outcome", OptionName::Outcome),
    ("parent", OptionName::To),
    ("parent-id", OptionName::To),
    ("path", OptionName::Path),
    ("pin", OptionName::Pin),
    ("prompt", OptionName::Content),
    ("q", OptionName::Query),
    ("query", OptionName::Query),
    ("question", OptionName::Query),
    ("reason", OptionName::Note),
    ("relative", OptionName::To),
    ("replace", OptionName::Replace),
    ("result", OptionName::Outcome),
    ("results", OptionName::Limit),
    ("resume", OptionName::Resume),
    ("role", OptionName::By),
    ("samples", OptionName::N),
    ("scope", OptionName::Scope),
    ("search", OptionName::Query),
    ("search-query", OptionName::Query),
    ("section", OptionName::Section),
    ("since", OptionName::From),
    ("site", OptionName::Include),
    ("sites", OptionName::Include),
    ("sort", OptionName::Sort),
    ("source", OptionName::Node),
    ("stash", OptionName::Stash),
    ("status", OptionName::Status),
    ("summary", OptionName::Summary),
    ("summary-of", OptionName::SummaryOf),
    ("summaryof", OptionName::SummaryOf),
    ("target", OptionName::To),
    ("target-id", OptionName::To),
    ("task", OptionName::Goal),
    ("text", OptionName::Content),
    ("title", OptionName::Label),
    ("to", OptionName::To),
    ("to-node", OptionName::To),
    ("token-limit", OptionName::Tokens),
    ("tokens", OptionName::Tokens),
    ("tool", OptionName::Tool),
    ("topic", OptionName::Topic),
    ("tree", OptionName::Tree),
    ("turn", OptionName::Turns),
    ("turns", OptionName::Turns),
    ("type", OptionName::Kind),
    ("under", OptionName::To),
    ("until", OptionName::To),
    ("using", OptionName::Agent),
    ("value", OptionName::Content),
    ("ver", OptionName::Version),
    ("version", OptionName::Version),
    ("wait", OptionName::Wait),
    ("what", OptionName::What),
    ("with", OptionName::Agent),
    ("with-annotations", OptionName::Annotations),
    ("with-notes", OptionName::Annotations),
    ("words", OptionName::Content),
];

impl OptionName {
    /// The option of this name; `_` is as good as `-`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut lowered = [0_u8; 20];
        let lowered = lowered.get_mut(..name.len())?;
        for (to, from) in lowered.iter_mut().zip(name.bytes()) {
            *to = if from == b'_' { b'-' } else { from.to_ascii_lowercase() };
        }
        let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(lowered)).ok()?;
        NAMES.get(at).map(|(_, key)| *key)
    }

    /// The option whose name is one slip away from a long word: `brnach`.
    pub(super) fn corrected(word: &str) -> Option<Self> {
        if word.len() < MIN_CORRECTED_CHARS {
            return None;
        }
        let lowered = word.to_ascii_lowercase();
        let long = NAMES.iter().filter(|(known, _)| known.len() >= MIN_CORRECTED_CHARS);
        let mut typos = long.filter(|(known, _)| within_one_edit(lowered.as_bytes(), known.as_bytes()));
        typos.next().map(|(_, key)| *key)
    }

    /// True if words without quotes can follow it.
    pub(super) const fn is_content(self) -> bool {
        matches!(self, Self::Content | Self::Note | Self::Goal | Self::Query | Self::Add)
    }

    /// True if its value is a number, or a range of them.
    pub(super) const fn counts(self) -> bool {
        matches!(self, Self::N | Self::Depth | Self::Limit | Self::Tokens | Self::Turns | Self::Lines | Self::Version)
    }

    /// True if its value is a name, whatever that word means elsewhere.
    pub(super) const fn is_named(self) -> bool {
        matches!(self, Self::By | Self::Scope | Self::Kind | Self::Sort)
    }

    /// True if it is a switch: its value, if any, is yes or no.
    pub(super) const fn is_switch(self) -> bool {
        matches!(self, Self::Full | Self::Annotations | Self::Summary)
    }
}
