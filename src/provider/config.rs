//! Configuration of a named model.
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
//! The configuration names the location of a key and never contains it, because it is copied, displayed and committed.

use std::{path::PathBuf, time::Duration};

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny};

/// One named model; it needs a `provider` or a `base_url`.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Base URL, before `/chat/completions` or `/messages`; overrides the provider's.
    pub base_url: Option<String>,
    /// Model id of the server; default: the provider's default model or the first that the server lists.
    pub model: Option<String>,
    /// Known provider, which supplies base URL and key variable.
    pub provider: Option<String>,
    /// Environment variable with the key.
    pub key_env: Option<String>,
    /// File with the key; only its owner may have access. `~` is not expanded.
    pub key_file: Option<PathBuf>,
    /// Maximum number of parallel requests, at least 1.
    pub parallel: Option<usize>,
    /// True if one request may ask for several replies (`n`). Default: only for OpenAI itself.
    pub n: Option<bool>,
    /// Version of Anthropic's API; default: [`ANTHROPIC_VERSION`](super::ANTHROPIC_VERSION).
    pub version: Option<String>,
    /// Temperature for requests that set none.
    pub temperature: Option<f32>,
    /// Output limit in tokens for requests that set none.
    pub max_tokens: Option<u32>,
    /// Time-outs of requests, in seconds.
    pub timeouts: Option<Timeouts>,
    /// Rejects an inline key: reading any value into it fails.
    #[serde(alias = "key", alias = "apikey", alias = "token")]
    pub api_key: InlineKeyError,
}

/// Time-outs of a request; in the configuration, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Time limit for the connection. Default: 10 s.
    #[serde(deserialize_with = "seconds")]
    pub connect: Duration,
    /// Time limit from the request to the first byte of the reply. Default: 120 s, because local models read slowly.
    #[serde(deserialize_with = "seconds")]
    pub first_byte: Duration,
    /// Time limit between two chunks of a reply. Default: 60 s. Keep-alive comments count as chunks.
    #[serde(deserialize_with = "seconds")]
    pub between_chunks: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            between_chunks: Duration::from_secs(60),
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(D::Error::custom("a time-out is a number of seconds above 0")),
    }
}

/// Field type that fails to deserialize from any value, with an error that does not repeat the value.
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
