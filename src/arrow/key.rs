//! What an argument is for: the names of options, and the words that say the same.

/// An argument's part in its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Add,
    After,
    Agent,
    Annotations,
    Around,
    As,
    At,
    Below,
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
    Wait,
    What,
}

/// The names, each with its key; sorted, for they are searched by halving.
const NAMES: &[(&str, Key)] = &[
    ("add", Key::Add),
    ("after", Key::After),
    ("agent", Key::Agent),
    ("annotations", Key::Annotations),
    ("append", Key::Content),
    ("around", Key::Around),
    ("as", Key::As),
    ("at", Key::At),
    ("author", Key::By),
    ("background", Key::Context),
    ("because", Key::Note),
    ("below", Key::Below),
    ("body", Key::Content),
    ("branch", Key::Branch),
    ("by", Key::By),
    ("cancel", Key::Cancel),
    ("comment", Key::Content),
    ("content", Key::Content),
    ("content-of", Key::ContentOf),
    ("contentof", Key::ContentOf),
    ("context", Key::Context),
    ("count", Key::N),
    ("criteria", Key::Criteria),
    ("depth", Key::Depth),
    ("doc", Key::Doc),
    ("document", Key::Doc),
    ("done", Key::Done),
    ("except", Key::Exclude),
    ("exclude", Key::Exclude),
    ("excluding", Key::Exclude),
    ("file", Key::Doc),
    ("from", Key::From),
    ("full", Key::Full),
    ("goal", Key::Goal),
    ("heading", Key::Section),
    ("id", Key::Node),
    ("include", Key::Include),
    ("including", Key::Include),
    ("kind", Key::Kind),
    ("label", Key::Label),
    ("levels", Key::Depth),
    ("limit", Key::Limit),
    ("line", Key::Lines),
    ("lines", Key::Lines),
    ("max", Key::Limit),
    ("max-results", Key::Limit),
    ("max-tokens", Key::Tokens),
    ("message", Key::Content),
    ("model", Key::Agent),
    ("n", Key::N),
    ("name", Key::Label),
    ("node", Key::Node),
    ("nodes", Key::Node),
    ("note", Key::Note),
    ("num", Key::N),
    ("number", Key::N),
    ("only", Key::Include),
    ("outcome", Key::Outcome),
    ("parent", Key::To),
    ("path", Key::Path),
    ("pin", Key::Pin),
    ("q", Key::Query),
    ("query", Key::Query),
    ("reason", Key::Note),
    ("relative", Key::To),
    ("replace", Key::Replace),
    ("result", Key::Outcome),
    ("results", Key::Limit),
    ("role", Key::By),
    ("scope", Key::Scope),
    ("search", Key::Query),
    ("section", Key::Section),
    ("since", Key::From),
    ("site", Key::Include),
    ("sites", Key::Include),
    ("sort", Key::Sort),
    ("stash", Key::Stash),
    ("status", Key::Status),
    ("summary", Key::Summary),
    ("summary-of", Key::SummaryOf),
    ("summaryof", Key::SummaryOf),
    ("target", Key::To),
    ("task", Key::Goal),
    ("text", Key::Content),
    ("title", Key::Label),
    ("to", Key::To),
    ("tokens", Key::Tokens),
    ("tool", Key::Tool),
    ("topic", Key::Topic),
    ("tree", Key::Tree),
    ("turn", Key::Turns),
    ("turns", Key::Turns),
    ("type", Key::Kind),
    ("under", Key::To),
    ("until", Key::To),
    ("using", Key::Agent),
    ("wait", Key::Wait),
    ("what", Key::What),
    ("with", Key::Agent),
    ("with-annotations", Key::Annotations),
    ("words", Key::Content),
];

impl Key {
    /// The option of this name; `_` is as good as `-`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut lowered = [0_u8; 16];
        let lowered = lowered.get_mut(..name.len())?;
        for (to, from) in lowered.iter_mut().zip(name.bytes()) {
            *to = if from == b'_' { b'-' } else { from.to_ascii_lowercase() };
        }
        let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(lowered)).ok()?;
        NAMES.get(at).map(|(_, key)| *key)
    }

    /// Whether words without quotes can follow it.
    pub(super) const fn is_content(self) -> bool {
        matches!(self, Self::Content | Self::Note | Self::Goal | Self::Query | Self::Add)
    }

    /// Whether its value is a number, or a range of them.
    pub(super) const fn counts(self) -> bool {
        matches!(self, Self::N | Self::Depth | Self::Limit | Self::Tokens | Self::Turns | Self::Lines)
    }

    /// Whether its value is a name, whatever that word means elsewhere.
    pub(super) const fn is_named(self) -> bool {
        matches!(self, Self::By | Self::Scope | Self::Kind | Self::Sort)
    }

    /// Whether it is a switch: its value, if any, is yes or no.
    pub(super) const fn is_switch(self) -> bool {
        matches!(self, Self::Full | Self::Annotations | Self::Summary)
    }
}
