//! The configuration: a YAML file, every field of it optional. A mistake in it is one sentence with file and line.
//!
//! It holds no keys: it names the variable or the file that does.

use std::path::{Path, PathBuf};

use loomtree::{
    context::{ContextOptions, Rendering, Strategy},
    provider::{Names, Prices},
    web::SearchConfig,
};
use serde::{Deserialize, Deserializer};

use super::{
    args::Globals,
    env,
    error::{CliError, Result},
};

/// What stands in the file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The model that continues: a name from `models`, or a reference such as `ollama:llama3.2`.
    pub(crate) model: Option<String>,
    /// The small model that sums up what is long.
    pub(crate) summaries: Option<String>,
    /// The model whose vectors recall goes by too.
    pub(crate) embeddings: Option<String>,
    /// Models by name.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) models: Names,
    /// What models cost, for a million tokens.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) prices: Prices,
    /// How many continuations `loom continue` asks for.
    pub(crate) continuations: Option<usize>,
    /// Sampling temperature.
    pub(crate) temperature: Option<f32>,
    /// The longest continuation, in tokens.
    pub(crate) max_tokens: Option<u32>,
    /// The model's context window, in tokens.
    pub(crate) window: Option<u32>,
    /// What happens when a window is full.
    pub(crate) strategy: Option<Strategy>,
    /// Whether prompts begin like the last one, or say everything as it is now.
    pub(crate) rendering: Option<Rendering>,
    /// What searches the web.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) search: SearchConfig,
    /// The colours of the screen: `dark`, `light` or `none`.
    pub(crate) theme: Option<String>,
    /// What agents may do unasked in the workspace, where they have tools for it.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) workspace: WorkspaceConfig,
    /// Who does delegated work.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) delegate: DelegateConfig,
    /// How long to wait for other processes that write to the database.
    pub(crate) wait_seconds: Option<u32>,
}

/// Who does delegated work.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DelegateConfig {
    /// The model that plans; that of those who work if there is none.
    pub(crate) planner: Option<String>,
    /// The model that verifies; that of those who work, which then is not told what it did.
    pub(crate) judge: Option<String>,
    /// The model that tries where the usual one failed.
    pub(crate) stronger: Option<String>,
    /// Subtasks at once.
    pub(crate) parallel: Option<usize>,
    /// How often the usual model tries a subtask.
    pub(crate) attempts: Option<u32>,
}

/// What agents may do unasked in the workspace.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(not(feature = "workspace"), allow(dead_code))] // read all the same: one file is for every build
pub(crate) struct WorkspaceConfig {
    /// Commands that are run.
    pub(crate) allow: Vec<String>,
    /// Files that are changed, as globs.
    pub(crate) write: Vec<String>,
    /// Variables that commands get though their names look like keys'.
    pub(crate) pass: Vec<String>,
    /// How long a command may take that asks for no time of its own.
    pub(crate) seconds: Option<u32>,
}

/// A `models:` with nothing but comments under it is an empty list.
fn none_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// What `loom config init` writes.
pub(crate) const CONFIG_TEMPLATE: &str = "\
# loomtree's configuration. Every line is optional; remove the # in front of those you want.

# The model that continues: a name from the list below, or provider:model, or a URL.
# Without it: LOOM_MODEL, then keys in the environment, then servers on this machine.
# model: ollama:llama3.2

# A small model that sums up what is long when somebody looks at it; without it, first sentences serve.
# summaries: ollama:llama3.2:1b

# A model of embeddings, so that recall goes by meaning too and not by words alone.
# embeddings: ollama:nomic-embed-text

# Models by name. Keys do not stand here: key_env names a variable, key_file a file.
# models:
#   fast:
#     provider: openai
#     model: gpt-4o-mini
#     temperature: 0.7
#   home:
#     base_url: http://192.168.1.4:8080/v1
#     key_env: HOME_KEY

# What models cost for a million tokens, so that `loom stats` can sum it; a * stands for the rest of a name.
# prices:
#   gpt-4o-mini*: { input: 0.15, cached: 0.075, output: 0.6, currency: USD }

# How many continuations `loom continue` asks for.
# continuations: 3

# How to draw from models that do not say otherwise.
# temperature: 1.0
# max_tokens: 500

# The context window of models, in tokens: what does not fit is left out.
# window: 32768

# What happens when it is full: rolling_window, middle or stop.
# strategy: rolling_window

# Whether prompts begin like the last one, as providers' caches like it (stable), or say all as it is now (live).
# rendering: stable

# What searches the web for agents that may: tavily, brave, or a searxng server of your own.
# Without it a key in TAVILY_API_KEY or BRAVE_API_KEY, or an address in SEARXNG_URL, sets it up.
# search: { service: searxng, base_url: 'http://127.0.0.1:8888' }

# The colours of the screen: dark, light or none. Without it the terminal is asked. Keys are changed in keys.yaml beside this.
# theme: dark

# What agents may do without asking in the workspace, with `loom chat --tools`: commands, and changes of files.
# workspace:
#   allow: ['cargo test*', 'git status']
#   write: ['docs/**']
#   pass: [GITHUB_TOKEN]
#   seconds: 120

# Who does delegated work: models that plan, verify, and try again where the usual one failed; how much is done at once.
# delegate:
#   judge: anthropic:claude-sonnet-4-5
#   stronger: anthropic:claude-opus-4-1
#   parallel: 4
#   attempts: 2

# How long to wait for other programs that write to the database.
# wait_seconds: 10
";

impl Config {
    /// How many continuations to ask for.
    pub(crate) fn continuations(&self) -> usize {
        self.continuations.unwrap_or(3)
    }

    /// How much models are shown; `window` comes from the command line.
    pub(crate) fn context(&self, window: Option<u32>) -> ContextOptions {
        let usual = ContextOptions::default();
        ContextOptions {
            window: window.or(self.window).unwrap_or(usual.window),
            strategy: self.strategy.unwrap_or(usual.strategy),
            rendering: self.rendering.unwrap_or(usual.rendering),
            ..usual
        }
    }

    /// The variables that are said to hold keys.
    #[cfg(feature = "workspace")]
    pub(crate) fn key_variables(&self) -> Vec<String> {
        let models = self.models.values().filter_map(|model| model.key_env.clone());
        models.chain(self.search.key_env.clone()).collect()
    }

    /// How long to wait for other writers, in seconds.
    pub(crate) fn wait_seconds(&self) -> u32 {
        self.wait_seconds.unwrap_or(10)
    }
}

/// The file that is read, whether it is there or not.
pub(crate) fn path(globals: &Globals) -> Result<PathBuf> {
    globals.config.clone().map_or_else(env::default_config, Ok)
}

/// Reads the configuration; no file is an empty one, unless somebody named it.
pub(crate) fn load(globals: &Globals) -> Result<Config> {
    let path = path(globals)?;
    let text = match env::read_settings(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && globals.config.is_none() => {
            return Ok(Config::default());
        }
        Err(e) => return Err(CliError::Config(format!("{} cannot be read: {e}", path.display()))),
    };
    parse(&path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Config> {
    let wrong = |what: String| CliError::Config(format!("{}: {what}", path.display()));
    // A file of comments is no value at all.
    let config = serde_yaml::from_str::<Option<Config>>(text).map_err(|error| match error.location() {
        Some(at) => {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or(&said);
            CliError::Config(format!("{}:{}: {said}", path.display(), at.line()))
        }
        None => wrong(error.to_string()),
    })?;
    let config = config.unwrap_or_default();
    if config.continuations == Some(0) {
        return Err(wrong("continuations is at least 1".to_owned()));
    }
    if config.temperature.is_some_and(|t| !(0.0..=10.0).contains(&t)) {
        return Err(wrong("temperature is between 0 and 10".to_owned()));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        parse(Path::new("config.yaml"), text)
    }

    #[test]
    fn the_starter_is_valid_with_and_without_its_comment_signs() {
        assert!(read(CONFIG_TEMPLATE).is_ok());
        let prose = |line: &str| line.starts_with("# ") && (line.ends_with('.') || line.ends_with("want."));
        let on: String = CONFIG_TEMPLATE
            .lines()
            .filter(|l| !prose(l))
            .map(|l| l.strip_prefix("# ").unwrap_or(l).to_owned() + "\n")
            .collect();
        let config = read(&on).unwrap();
        assert_eq!((config.models.len(), config.continuations()), (2, 3));
    }

    #[test]
    fn a_mistake_is_one_sentence_with_file_and_line() {
        for (text, said) in [
            ("model: a\ncolour: red\n", "config.yaml:2: "),
            ("models:\n  a:\n    colour: red\n", "config.yaml:3: "),
            ("continuations: many\n", "config.yaml:1: "),
            ("continuations: 0\n", "config.yaml: continuations is at least 1"),
            ("- a\n", "config.yaml:1: "),
            ("a: [\n", "config.yaml:"),
        ] {
            let Err(CliError::Config(message)) = read(text) else { panic!("{text:?} was read") };
            assert!(message.starts_with(said), "{message:?}");
            assert_eq!(message.lines().count(), 1);
        }
        assert!(read("").is_ok() && read("# nothing\n").is_ok() && read("models:\n").is_ok());
    }
}
