//! Rules of the extraction, as data.

use serde::{Deserialize, Serialize};

use super::{Directive, RecordKind, directives::DirectiveTriggers};

/// Version of the code that applies the rules. A state that another version made is no damage.
const EXTRACTION_VERSION: u32 = 3;

/// A word that identifies tools that write files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWriteTool {
    /// Word of the tool's name in lower case: `write` matches `write_file`, `WriteFile` and `fs.write`.
    pub word: String,
    /// Action in the state's entry, such as `written`.
    pub action: String,
}

/// Extraction rules: names of tools and arguments, and forms of directives. A host adds rules to the defaults with
/// [`ExtractionRules::and`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtractionRules {
    /// Tools that write files. The first match names the action.
    pub writers: Vec<FileWriteTool>,
    /// Names of arguments that hold a file path.
    pub paths: Vec<String>,
    /// Words in the names of tools that run commands.
    pub shells: Vec<String>,
    /// Names of arguments that hold a command.
    pub commands: Vec<String>,
    /// Texts that precede an exit code, in lower case.
    pub exits: Vec<String>,
    /// Commands that record a decision, such as `git commit`.
    pub commits: Vec<String>,
    /// Forms of sentences that apply beyond the turn.
    #[serde(rename = "orders")]
    pub directives: Vec<Directive>,
    /// Phrases that may precede a directive without changing its meaning.
    pub leads: Vec<String>,
}

impl Default for ExtractionRules {
    fn default() -> Self {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let writer =
            |(word, action): &(&str, &str)| FileWriteTool { word: (*word).to_owned(), action: (*action).to_owned() };
        let directive = |(kind, form, unless): &(RecordKind, &str, &str)| Directive {
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
            directives: super::directives::DEFAULT_FORMS.iter().map(directive).collect(),
            leads: words(super::directives::LEAD_PHRASES),
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
    /// Returns these rules extended by `more`.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.writers.extend(more.writers);
        self.paths.extend(more.paths);
        self.shells.extend(more.shells);
        self.commands.extend(more.commands);
        self.exits.extend(more.exits);
        self.commits.extend(more.commits);
        self.directives.extend(more.directives);
        self.leads.extend(more.leads);
        self
    }

    /// Rules that match nothing, as a base for struct update.
    #[must_use]
    pub fn none() -> Self {
        Self {
            writers: Vec::new(),
            paths: Vec::new(),
            shells: Vec::new(),
            commands: Vec::new(),
            exits: Vec::new(),
            commits: Vec::new(),
            directives: Vec::new(),
            leads: Vec::new(),
        }
    }

    /// Hash of the rules, to detect that they changed.
    fn fingerprint(&self) -> i64 {
        // Lists of strings always serialize.
        let text = serde_json::to_vec(&(EXTRACTION_VERSION, self)).unwrap_or_default();
        let hash = blake3::hash(&text);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        i64::from_le_bytes(bytes) | 1
    }

    /// True if a rule applies to the tool.
    pub(super) fn is_relevant_tool(&self, tool: &str) -> bool {
        self.write_action(tool).is_some() || self.runs_commands(tool)
    }

    /// Action of a tool that writes files; `None` for other tools.
    pub(super) fn write_action(&self, tool: &str) -> Option<&str> {
        let fits = |writer: &&FileWriteTool| name_words(tool).any(|part| part.eq_ignore_ascii_case(&writer.word));
        self.writers.iter().find(fits).map(|writer| writer.action.as_str())
    }

    /// True if the tool runs commands.
    pub(super) fn runs_commands(&self, tool: &str) -> bool {
        name_words(tool).any(|part| self.shells.iter().any(|word| part.eq_ignore_ascii_case(word)))
    }
}

/// Compiled extraction rules, with a precomputed index of their words.
#[derive(Debug, Clone)]
pub struct CompiledRules {
    pub(super) rules: ExtractionRules,
    pub(super) triggers: DirectiveTriggers,
    fingerprint: i64,
}

impl CompiledRules {
    /// Compiles rules.
    #[must_use]
    pub fn new(rules: ExtractionRules) -> Self {
        Self { triggers: DirectiveTriggers::new(&rules.directives), fingerprint: rules.fingerprint(), rules }
    }

    /// Hash of the rules, to detect that they changed.
    #[must_use]
    pub fn fingerprint(&self) -> i64 {
        self.fingerprint
    }

    /// False if a text contains no directive: no form has all its words in the text.
    pub(crate) fn may_contain_directive(&self, text: &str) -> bool {
        self.triggers.may_match(text)
    }
}

impl Default for CompiledRules {
    fn default() -> Self {
        Self::new(ExtractionRules::default())
    }
}

/// Splits a name into words: `str_replace`, `WriteFile`, `fs.write`.
fn name_words(name: &str) -> impl Iterator<Item = &str> {
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
