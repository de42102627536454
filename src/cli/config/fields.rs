//! The fields of the configuration file and their parser, which performs no I/O.

use loomtree::{
    context::{ContextOptions, Rendering, Strategy},
    provider::{Names, Prices},
    session::ConversationSettings,
    web::SearchConfig,
};
use serde::{Deserialize, Deserializer};

/// Maximum nesting of brackets in a settings file. The YAML parser's time grows with the square of the depth.
const MAX_SETTINGS_NESTING: usize = 100;

/// A mistake in the text of the configuration.
#[derive(Debug)]
pub(crate) struct ConfigMistake {
    /// Line of the mistake, from 1; `None` if it concerns the whole file.
    pub(crate) line: Option<usize>,
    /// Description, one line.
    pub(crate) message: String,
}

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
    /// True to offer the commands as the provider's native tools too.
    pub(crate) native: bool,
    /// The web search service.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) search: SearchConfig,
    /// The theme of the TUI.
    pub(crate) theme: Option<Theme>,
    /// Actions that agents may take in the workspace without approval.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) workspace: WorkspaceConfig,
    /// The models and limits of delegated work.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) delegate: DelegateConfig,
    /// The conversations of work items.
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) conversation: ConversationSettings,
    /// The wait for other processes that write to the database, in seconds.
    pub(crate) wait_seconds: Option<u32>,
}

/// A theme of the TUI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Theme {
    Dark,
    Light,
    None,
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
    #[serde(rename = "stronger")]
    pub(crate) fallback: Option<String>,
    /// The maximum number of concurrent subtasks.
    pub(crate) parallel: Option<usize>,
    /// The number of attempts at a subtask with the workers' model.
    pub(crate) attempts: Option<u32>,
    /// True if plans need no approval. Commands and changes of files still do.
    pub(crate) allow: bool,
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

/// True if brackets are nested more deeply than settings need. Brackets in quotes and comments count too.
pub(crate) fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_SETTINGS_NESTING
    })
}

impl Config {
    /// Parses the text of a configuration file.
    ///
    /// # Errors
    /// The first mistake.
    pub(crate) fn parse(text: &str) -> Result<Config, ConfigMistake> {
        let wrong = |message: &str| ConfigMistake { line: None, message: message.to_owned() };
        // YAML reads a file of comments only as null.
        let config = serde_yaml::from_str::<Option<Config>>(text).map_err(|error| {
            let message = error.to_string();
            // A mistake at the end is reported after the last line.
            let line = error.location().map(|at| at.line().min(text.lines().count().max(1)));
            let message = line.and_then(|_| message.split(" at line ").next()).unwrap_or(&message);
            ConfigMistake { line, message: message.to_owned() }
        })?;
        let config = config.unwrap_or_default();
        if config.continuations == Some(0) {
            return Err(wrong("continuations must be at least 1"));
        }
        let is_out_of_range = |temperature: Option<f32>| temperature.is_some_and(|t| !(0.0..=10.0).contains(&t));
        if is_out_of_range(config.temperature) {
            return Err(wrong("temperature must be between 0 and 10"));
        }
        if let Some((name, _)) = config.models.iter().find(|(_, model)| is_out_of_range(model.temperature)) {
            return Err(wrong(&format!("the temperature of the model {name} must be between 0 and 10")));
        }
        Ok(config)
    }

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
