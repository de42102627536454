//! The configuration: a YAML file in which every field is optional. An error in it is reported as one sentence with
//! file and line.
//!
//! The file holds no API keys. It names the environment variable or file that does.

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

/// The fields of the configuration file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The default model: a name from `models`, or a reference such as `ollama:llama3.2`.
    pub(crate) model: Option<String>,
    /// The model that summarizes long texts.
    pub(crate) summaries: Option<String>,
    /// The embedding model for semantic recall.
    pub(crate) embeddings: Option<String>,
    /// The configured models by name.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) models: Names,
    /// Prices of models per million tokens.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) prices: Prices,
    /// The number of continuations that `loom continue` requests.
    pub(crate) continuations: Option<usize>,
    /// The default sampling temperature, 0 to 10.
    pub(crate) temperature: Option<f32>,
    /// The default limit of a reply, in tokens.
    pub(crate) max_tokens: Option<u32>,
    /// The context window of models, in tokens.
    pub(crate) window: Option<u32>,
    /// The strategy for a full context window.
    pub(crate) strategy: Option<Strategy>,
    /// The prompt rendering: byte-stable for provider caches, or live.
    pub(crate) rendering: Option<Rendering>,
    /// The web search service.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) search: SearchConfig,
    /// The theme of the TUI: `dark`, `light` or `none`.
    pub(crate) theme: Option<String>,
    /// Actions that agents may take in the workspace without approval.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) workspace: WorkspaceConfig,
    /// The models and limits of delegated work.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) delegate: DelegateConfig,
    /// The wait for other processes that write to the database, in seconds.
    pub(crate) wait_seconds: Option<u32>,
}

/// The configuration of delegated work.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DelegateConfig {
    /// The planner's model. Default: the workers' model.
    pub(crate) planner: Option<String>,
    /// The judge's model. Default: the workers' model, without their conversation.
    pub(crate) judge: Option<String>,
    /// The fallback model for subtasks that failed with the workers' model.
    pub(crate) stronger: Option<String>,
    /// The maximum number of concurrent subtasks.
    pub(crate) parallel: Option<usize>,
    /// The number of attempts at a subtask with the workers' model.
    pub(crate) attempts: Option<u32>,
}

/// The configuration of the workspace tools.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(not(feature = "workspace"), allow(dead_code))] // read all the same: one file is for every build
pub(crate) struct WorkspaceConfig {
    /// Patterns of commands that run without approval.
    pub(crate) allow: Vec<String>,
    /// Globs of files that may be changed without approval.
    pub(crate) write: Vec<String>,
    /// Environment variables passed to commands although their names look like secrets.
    pub(crate) pass: Vec<String>,
    /// The default time limit of a command, in seconds.
    pub(crate) seconds: Option<u32>,
}

/// Deserializes null as the default: a `models:` with only comments under it is an empty map.
fn none_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// The file that `loom config init` writes.
pub(crate) const CONFIG_TEMPLATE: &str = "\
# loomtree's configuration. Every line is optional; remove the # in front of those you want.

# The default model: a name from the list below, or provider:model, or a URL.
# Default: LOOM_MODEL, then keys in the environment, then servers on this machine.
# model: ollama:llama3.2

# A small model that summarizes long texts. Without it, summaries are first sentences.
# summaries: ollama:llama3.2:1b

# An embedding model: recall then also finds texts of similar meaning. Default: local:minilm if `loom models fetch minilm`
# downloaded it. `none` turns it off.
# embeddings: ollama:nomic-embed-text

# Models by name. API keys are not written here: key_env names a variable, key_file a file.
# models:
#   fast:
#     provider: openai
#     model: gpt-4o-mini
#     temperature: 0.7
#   home:
#     base_url: http://192.168.1.4:8080/v1
#     key_env: HOME_KEY

# Prices per million tokens, for `loom stats`. A * matches the rest of a model's name.
# prices:
#   gpt-4o-mini*: { input: 0.15, cached: 0.075, output: 0.6, currency: USD }

# The number of continuations that `loom continue` requests.
# continuations: 3

# Sampling, for models that do not set it.
# temperature: 1.0
# max_tokens: 500

# The context window of models, in tokens. Nodes that do not fit are omitted.
# window: 32768

# The strategy for a full window: rolling_window, middle or stop.
# strategy: rolling_window

# Prompt rendering: stable repeats the last prompt's prefix, for providers' caches; live shows the present state.
# rendering: stable

# The web search service for agents with that permission: tavily, brave, or a searxng server of your own.
# Default: a key in TAVILY_API_KEY or BRAVE_API_KEY, or an address in SEARXNG_URL.
# search: { service: searxng, base_url: 'http://127.0.0.1:8888' }

# The theme of the screen: dark, light or none. Default: detected. Key bindings are in keys.yaml in this folder.
# theme: dark

# Commands and file changes that agents may make in the workspace without approval, with `loom chat --tools`.
# workspace:
#   allow: ['cargo test*', 'git status']
#   write: ['docs/**']
#   pass: [GITHUB_TOKEN]
#   seconds: 120

# Delegated work: models that plan, verify and retry failed subtasks; concurrent subtasks; attempts a subtask.
# delegate:
#   judge: anthropic:claude-sonnet-4-5
#   stronger: anthropic:claude-opus-4-1
#   parallel: 4
#   attempts: 2

# The wait for other programs that write to the database, in seconds.
# wait_seconds: 10
";

impl Config {
    /// Returns the number of continuations to request.
    pub(crate) fn continuations(&self) -> usize {
        self.continuations.unwrap_or(3)
    }

    /// Returns the context options. `window` is the value of the command line, in tokens.
    pub(crate) fn context(&self, window: Option<u32>) -> ContextOptions {
        let usual = ContextOptions::default();
        ContextOptions {
            window: window.or(self.window).unwrap_or(usual.window),
            strategy: self.strategy.unwrap_or(usual.strategy),
            rendering: self.rendering.unwrap_or(usual.rendering),
            ..usual
        }
    }

    /// Returns the environment variables that the configuration names as API keys.
    #[cfg(feature = "workspace")]
    pub(crate) fn key_variables(&self) -> Vec<String> {
        let models = self.models.values().filter_map(|model| model.key_env.clone());
        models.chain(self.search.key_env.clone()).collect()
    }

    /// Returns the wait for other writers, in seconds.
    pub(crate) fn wait_seconds(&self) -> u32 {
        self.wait_seconds.unwrap_or(10)
    }
}

/// Returns the path of the configuration file, whether or not the file exists.
pub(crate) fn path(globals: &Globals) -> Result<PathBuf> {
    globals.config.clone().map_or_else(env::default_config, Ok)
}

/// Reads the configuration. A missing file is an empty configuration, unless `--config` names it.
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
    // YAML reads a file of comments only as null.
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
        return Err(wrong("continuations must be at least 1".to_owned()));
    }
    if config.temperature.is_some_and(|t| !(0.0..=10.0).contains(&t)) {
        return Err(wrong("temperature must be between 0 and 10".to_owned()));
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
            ("continuations: 0\n", "config.yaml: continuations must be at least 1"),
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
