//! A model as it stands in the configuration.
//!
//! ```yaml
//! fast:
//!   provider: openai
//!   model: gpt-4o-mini
//!   temperature: 0.7
//! home:
//!   base_url: http://192.168.1.4:8080/v1
//!   key_file: /etc/loom/home.key
//!   timeouts: { first_byte: 300 }
//! ```
//!
//! A key cannot stand there, only where it is: configurations are copied, shown and committed.

use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny};

use super::Timeouts;

/// One named model; it needs a `provider` or a `base_url`.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The address before `/chat/completions` or `/messages`; overrides that of the provider.
    pub base_url: Option<String>,
    /// The model as the server calls it; without it the first the server lists.
    pub model: Option<String>,
    /// A known provider, which gives address and key variable.
    pub provider: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// The file that holds the key, with rights for its owner only; taken as it is, `~` has no meaning.
    pub key_file: Option<PathBuf>,
    /// How many requests at once.
    pub parallel: Option<usize>,
    /// Whether one request may ask for several replies; OpenAI itself is asked so unless this says no.
    pub n: Option<bool>,
    /// The version of its API that Anthropic is asked for.
    pub version: Option<String>,
    /// Temperature for requests that set none.
    pub temperature: Option<f32>,
    /// Limit of the output for requests that set none.
    pub max_tokens: Option<u32>,
    /// Time-outs, in seconds.
    pub timeouts: Option<Timeouts>,
    /// Refuses a key.
    #[serde(alias = "key", alias = "apikey", alias = "token")]
    pub api_key: InlineKeyError,
}

/// A place where a key must not be: reading anything into it fails, and does not repeat it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InlineKeyError;

impl<'de> Deserialize<'de> for InlineKeyError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        Err(D::Error::custom(
            "a key does not belong in the configuration: name the variable that holds it with key_env, \
             or a file with key_file",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_configuration_is_read_and_an_inline_key_refused() {
        let text = "{base_url: 'http://h/v1', model: m, parallel: 2, temperature: 0.5, timeouts: {first_byte: 300}}";
        let config: ModelConfig = serde_yaml::from_str(text).unwrap();
        assert_eq!((config.model.as_deref(), config.parallel), (Some("m"), Some(2)));
        let timeouts = config.timeouts.unwrap();
        assert_eq!((timeouts.first_byte, timeouts.connect), (Duration::from_secs(300), Duration::from_secs(10)));
        for field in ["api_key", "key", "token"] {
            let error = serde_yaml::from_str::<ModelConfig>(&format!("{field}: sk-1")).unwrap_err().to_string();
            assert!(error.contains("key_env") && !error.contains("sk-1"), "{error}");
        }
        for wrong in ["colour: red", "timeouts: {connect: 0}", "timeouts: {connect: -1}", "timeouts: {total: 1}"] {
            assert!(serde_yaml::from_str::<ModelConfig>(wrong).is_err(), "{wrong}");
        }
    }
}
