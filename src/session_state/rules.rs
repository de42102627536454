//! What the register goes by, as data.

use serde::{Deserialize, Serialize};

use super::{Directive, RecordKind, directives::DirectiveTriggers};

/// A word in the name of a tool that writes files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWriteTool {
    /// A word of the tool's name, in lower case: `write` fits `write_file`, `WriteFile` and `fs.write`.
    pub word: String,
    /// What it does to a file, for the register: `written`.
    pub action: String,
}

/// The rules: names of tools and arguments, and forms of speech. [`Rules::default`] has what is common; a host adds its
/// own with [`Rules::and`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtractionRules {
    /// Tools that write files; the first that fits says what was done.
    pub writers: Vec<FileWriteTool>,
    /// Arguments that name a file.
    pub paths: Vec<String>,
    /// Words in the names of tools that run commands.
    pub shells: Vec<String>,
    /// Arguments that hold a command.
    pub commands: Vec<String>,
    /// What stands before the number that a command ended with, in lower case.
    pub exits: Vec<String>,
    /// Commands that decide something, such as `git commit`.
    pub commits: Vec<String>,
    /// Sentences of a person that hold for longer than the turn.
    pub orders: Vec<Directive>,
    /// Words that may stand before such a sentence and change nothing about it.
    pub leads: Vec<String>,
}

impl Default for ExtractionRules {
    fn default() -> Self {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let writer =
            |(word, action): &(&str, &str)| FileWriteTool { word: (*word).to_owned(), action: (*action).to_owned() };
        let order = |(kind, form, unless): &(RecordKind, &str, &str)| Directive {
            kind: *kind,
            form: (*form).to_owned(),
            unless: words(unless),
        };
        Self {
            writers: WRITERS.iter().map(writer).collect(),
            paths: words(
                "path file_path filepath file filename file_name target_file notebook_path target destination",
            ),
            shells: words("shell bash sh zsh exec execute run terminal command cmd powershell git"),
            commands: words("command cmd script args arguments"),
            exits: EXITS.iter().map(|exit| (*exit).to_owned()).collect(),
            commits: vec!["git commit".to_owned()],
            orders: super::directives::FORMS.iter().map(order).collect(),
            leads: words(super::directives::LEADS),
        }
    }
}

const WRITERS: &[(&str, &str)] = &[
    ("edit", "edited"),
    ("replace", "edited"),
    ("patch", "edited"),
    ("insert", "edited"),
    ("update", "edited"),
    ("modify", "edited"),
    ("append", "edited"),
    ("create", "created"),
    ("delete", "deleted"),
    ("remove", "deleted"),
    ("rename", "moved"),
    ("move", "moved"),
    ("write", "written"),
    ("save", "written"),
];

const EXITS: &[&str] = &[
    "exit code",
    "exit_code",
    "exitcode",
    "exit status",
    "exit_status",
    "exited with",
    "returncode",
    "return code",
    "exit",
];

impl ExtractionRules {
    /// These rules and more of them.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.writers.extend(more.writers);
        self.paths.extend(more.paths);
        self.shells.extend(more.shells);
        self.commands.extend(more.commands);
        self.exits.extend(more.exits);
        self.commits.extend(more.commits);
        self.orders.extend(more.orders);
        self.leads.extend(more.leads);
        self
    }

    /// No rules at all: to be filled by struct update where a host adds a few to the usual ones.
    #[must_use]
    pub fn none() -> Self {
        Self {
            writers: Vec::new(),
            paths: Vec::new(),
            shells: Vec::new(),
            commands: Vec::new(),
            exits: Vec::new(),
            commits: Vec::new(),
            orders: Vec::new(),
            leads: Vec::new(),
        }
    }

    /// A number that differs where the rules do.
    fn fingerprint(&self) -> i64 {
        // Lists of strings cannot fail to be written.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let hash = blake3::hash(&text);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        i64::from_le_bytes(bytes) | 1
    }

    /// Whether it says anything of a tool.
    pub(super) fn knows(&self, tool: &str) -> bool {
        self.writes(tool).is_some() || self.runs(tool)
    }

    /// What a tool does to files, if it writes any.
    pub(super) fn writes(&self, tool: &str) -> Option<&str> {
        let fits = |writer: &&FileWriteTool| parts(tool).any(|part| part.eq_ignore_ascii_case(&writer.word));
        self.writers.iter().find(fits).map(|writer| writer.action.as_str())
    }

    /// Whether a tool runs commands.
    pub(super) fn runs(&self, tool: &str) -> bool {
        parts(tool).any(|part| self.shells.iter().any(|word| part.eq_ignore_ascii_case(word)))
    }
}

/// Rules made ready to hear by: what is looked for in every turn is worked out once.
#[derive(Debug, Clone)]
pub struct CompiledRules {
    pub(super) rules: ExtractionRules,
    cues: DirectiveTriggers,
    fingerprint: i64,
}

impl CompiledRules {
    /// Hears by these rules.
    #[must_use]
    pub fn new(rules: ExtractionRules) -> Self {
        Self { cues: DirectiveTriggers::of(&rules.orders), fingerprint: rules.fingerprint(), rules }
    }

    /// A number that differs where the rules do.
    #[must_use]
    pub fn fingerprint(&self) -> i64 {
        self.fingerprint
    }

    /// Whether a text may hold a standing order: all words of a form are in it.
    pub(super) fn may_order(&self, text: &str) -> bool {
        self.cues.may_stand_in(text)
    }
}

impl Default for CompiledRules {
    fn default() -> Self {
        Self::new(ExtractionRules::default())
    }
}

/// The words of a name: `str_replace`, `WriteFile`, `fs.write`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let mut before = first;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let begins = c.is_uppercase() && !before.is_uppercase();
                before = *c;
                begins
            });
            let (word, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            rest = after;
            Some(word)
        })
    })
}
