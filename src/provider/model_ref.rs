//! Model references as users write them, and the targets they resolve to.
//!
//! | reference | target |
//! | --- | --- |
//! | `fast` | the model of that name in the configuration |
//! | `openai:gpt-4o`, `ollama:llama3.2:3b` | a model of a known provider |
//! | `llamacpp`, `lmstudio:` | the first model that the server lists |
//! | `http://127.0.0.1:8089/v1#model` | any compatible server, without a key |
//! | `local:smollm2`, `local:/path/to/model.gguf` | a built-in local model (feature `local`) |
//! | `scripted:words` | a script instead of a model, for demonstrations |
//!
//! Configured names take precedence over providers. A URL gets no key: only the configuration or the table of providers
//! assigns a key to an address. The environment is read through a function of the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::base_url::{anthropic_base, ollama_base};
use super::error::clean;
#[cfg(feature = "net")]
use super::http::parse_base;
use super::known_providers::{PROVIDERS, Provider, known_providers};
use super::weights;
#[cfg(feature = "net")]
use super::{Client, RemoteModel};
use crate::types::setters;

use super::{LocalModel, Model, ModelConfig, ProviderError, Sampling, Scripted, Secret, Timeouts};

/// Lookup of an environment variable; a front end passes `&|name| std::env::var(name).ok()`.
pub type Env<'a> = dyn Fn(&str) -> Option<String> + Sync + 'a;

/// Configured models by name.
pub type Names = BTreeMap<String, ModelConfig>;

/// Provider name of built-in local models.
pub(crate) const LOCAL_PROVIDER: &str = "local";

/// Maximum number of parallel requests if neither the configuration nor the server sets one.
pub const DEFAULT_PARALLEL: usize = 8;

/// Default version of Anthropic's API.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

/// API protocol of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI's `/chat/completions` and `/completions`, which most servers implement.
    OpenAi,
    /// Anthropic's `/messages`.
    Anthropic {
        /// API version, sent with each request.
        version: String,
    },
}

/// Address of a model, with its key and request defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// Model reference; it resolves to this endpoint again.
    pub reference: String,
    /// Base URL, before `/chat/completions` or `/messages`.
    pub base_url: String,
    /// API protocol of the server.
    pub protocol: Protocol,
    /// Model id of the server; `None`: the first model that the server lists.
    pub model: Option<String>,
    /// API key; `None` for servers without keys.
    pub key: Option<Secret>,
    /// Maximum number of parallel requests; `None`: [`DEFAULT_PARALLEL`], or 1 for servers known to serve one.
    pub parallel: Option<usize>,
    /// Context window in tokens; `None` if unknown.
    pub window: Option<usize>,
    /// True if one request may ask for several replies (`n`); `None`: only for OpenAI itself.
    pub supports_n: Option<bool>,
    /// Defaults for sampling options that a request leaves unset.
    pub sampling: Sampling,
    /// Time-outs of requests.
    pub timeouts: Timeouts,
}

setters!(Endpoint {
    /// Sets the model reference.
    reference(into String);
    /// Sets the API protocol.
    protocol(Protocol);
    /// Sets the model id.
    model(some into String);
    /// Sets the API key.
    key(option Secret);
    /// Sets the maximum number of parallel requests.
    parallel(some usize);
    /// Sets whether one request may ask for several replies.
    supports_n(option bool);
    /// Sets the defaults for sampling options.
    sampling(Sampling);
    /// Sets the time-outs.
    timeouts(Timeouts);
});

impl Endpoint {
    /// Creates an endpoint without a key; without `model`, the server's first model is used.
    #[must_use]
    pub fn at(base_url: &str, model: Option<&str>) -> Endpoint {
        let base_url = base_url.trim_end_matches('/');
        Endpoint {
            reference: model.map_or_else(|| base_url.to_owned(), |model| format!("{base_url}#{model}")),
            base_url: base_url.to_owned(),
            protocol: Protocol::OpenAi,
            model: model.map(str::to_owned),
            key: None,
            parallel: None,
            window: None,
            supports_n: None,
            sampling: Sampling::default(),
            timeouts: Timeouts::default(),
        }
    }

    #[cfg(feature = "net")]
    /// Applies the server's list of models: sets the model if given, its window, and the limit of parallel requests.
    pub(crate) fn apply_listing(&mut self, model: Option<&RemoteModel>, listed: &[RemoteModel]) {
        if let Some(model) = model {
            let between = if self.reference == self.base_url { "#" } else { ":" };
            let provider = self.reference.trim_end_matches(':');
            if between == "#" || PROVIDERS.iter().any(|known| known.name == provider) {
                self.reference = format!("{provider}{between}{}", model.id);
            }
            self.model = Some(model.id.clone());
        }
        let own = listed.iter().find(|listed| Some(&listed.id) == self.model.as_ref());
        self.window = self.window.or(own.and_then(|own| own.window));
        // llama-cpp-python reports the owner "me". It aborts a stream when a second request arrives.
        if listed.iter().any(|model| model.owned_by.as_deref() == Some("me")) {
            self.parallel.get_or_insert(1);
        }
    }
}

/// The target of a model reference.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // created once per model
#[non_exhaustive]
pub enum Target {
    /// A model of an HTTP server.
    Endpoint(Endpoint),
    /// A built-in local model, evaluated by this process.
    Local(LocalModel),
    /// The built-in script with this name.
    Scripted(String),
}

impl Target {
    /// Returns the model reference, such as `ollama:llama3.2`.
    #[must_use]
    pub fn reference(&self) -> String {
        match self {
            Target::Endpoint(endpoint) => endpoint.reference.clone(),
            Target::Local(model) => model.reference.clone(),
            Target::Scripted(name) => format!("scripted:{name}"),
        }
    }

    /// Returns the context window in tokens, as far as it is known without a server; `None` if unknown.
    #[must_use]
    pub fn window(&self) -> Option<usize> {
        match self {
            Target::Endpoint(endpoint) => endpoint.window,
            Target::Local(model) => model.window(),
            Target::Scripted(_) => None,
        }
    }

    /// Fills the target's unset sampling options from `defaults`; scripts have none.
    pub fn default_sampling(&mut self, defaults: &Sampling) {
        match self {
            Target::Endpoint(endpoint) => endpoint.sampling = std::mem::take(&mut endpoint.sampling).or(defaults),
            Target::Local(model) => model.sampling = std::mem::take(&mut model.sampling).or(defaults),
            Target::Scripted(_) => {}
        }
    }

    /// Creates the client, after requesting missing details from the server; see [`Client::connect`].
    ///
    /// # Errors
    /// Returns the errors of [`Client::connect`], or a configuration error for an unknown script or missing weights.
    pub async fn connect(self) -> Result<Arc<dyn Model>, ProviderError> {
        match self {
            #[cfg(feature = "net")]
            Target::Endpoint(endpoint) => Ok(Arc::new(Client::connect(endpoint).await?)),
            #[cfg(not(feature = "net"))]
            Target::Endpoint(endpoint) => Err(unsupported(&endpoint.reference)),
            #[cfg(feature = "local")]
            Target::Local(model) => Ok(Arc::new(model.load().await?)),
            #[cfg(not(feature = "local"))]
            Target::Local(model) => Err(model.unsupported_error()),
            Target::Scripted(name) => Ok(Arc::new(Scripted::named(&name)?)),
        }
    }
}

/// Resolves a model reference without contacting a server.
///
/// ```
/// use loomtree::provider::{Names, Target, resolve};
/// let no_env = |_: &str| None;
/// let Target::Endpoint(endpoint) = resolve("ollama:llama3.2:3b", &Names::new(), &no_env)? else { return Ok(()) };
/// assert_eq!(endpoint.base_url, "http://127.0.0.1:11434/v1");
/// assert_eq!(endpoint.model.as_deref(), Some("llama3.2:3b"));
/// # Ok::<(), loomtree::provider::ProviderError>(())
/// ```
///
/// # Errors
/// Returns a configuration error for an unknown name, an invalid address or a missing key.
pub fn resolve(reference: &str, names: &Names, env: &Env<'_>) -> Result<Target, ProviderError> {
    let reference = reference.trim();
    if let Some(config) = names.get(reference) {
        return configured_target(reference, config, env);
    }
    if reference.starts_with("http://") || reference.starts_with("https://") {
        let (base_url, model) = match reference.split_once('#') {
            Some((base_url, model)) => (base_url, Some(model).filter(|model| !model.is_empty())),
            None => (reference, None),
        };
        let base = parse_base(base_url)?;
        return Ok(Target::Endpoint(Endpoint::at(base.as_str(), model)));
    }
    let (provider, model) = reference.split_once(':').unwrap_or((reference, ""));
    if provider == "scripted" {
        return Ok(Target::Scripted(model.to_owned()));
    }
    if provider == LOCAL_PROVIDER {
        return weights::resolve(model, env).map(Target::Local);
    }
    match PROVIDERS.iter().find(|known| known.name == provider) {
        Some(provider) => {
            provider_endpoint(provider, Some(model).filter(|model| !model.is_empty()), env).map(Target::Endpoint)
        }
        None => Err(unknown_model(reference, names)),
    }
}

/// Returns the endpoint of a known provider, with base URL and key from the environment.
pub(crate) fn provider_endpoint(
    provider: &Provider,
    model: Option<&str>,
    env: &Env<'_>,
) -> Result<Endpoint, ProviderError> {
    let base_override = env(provider.base_env).filter(|base| !base.trim().is_empty());
    let base_url = match (&base_override, provider.name) {
        (Some(host), "ollama") => ollama_base(host),
        (Some(base_url), "anthropic") => anthropic_base(base_url),
        (Some(base_url), _) => base_url.clone(),
        (None, _) => provider.base.to_owned(),
    };
    let base = parse_base(&base_url)?;
    // Another server at an overridden address need not have the provider's default model.
    let model = model.or(provider.model.filter(|_| base_override.is_none()));
    let key = match provider.key_env {
        Some(name) => Some(Secret::from_env(name, env).ok_or_else(|| missing_key(provider.name, name))?),
        None => None,
    };
    let reference = format!("{}:{}", provider.name, model.unwrap_or_default());
    let protocol = if provider.anthropic {
        Protocol::Anthropic { version: ANTHROPIC_VERSION.to_owned() }
    } else {
        Protocol::OpenAi
    };
    Ok(Endpoint { reference, key, protocol, ..Endpoint::at(base.as_str(), model) })
}

/// Stands in for the parser of addresses in a build without HTTP.
#[cfg(not(feature = "net"))]
fn parse_base(_: &str) -> Result<String, ProviderError> {
    Err(unsupported("models of HTTP servers"))
}

#[cfg(not(feature = "net"))]
fn unsupported(what: &str) -> ProviderError {
    ProviderError::configuration(format!("{what}: not in this build; enable the feature `net` of the crate loomtree"))
}

fn missing_key(model: &str, variable: &str) -> ProviderError {
    ProviderError::configuration(format!(
        "{model} needs a key: set {variable}, or name a key_file in the configuration"
    ))
}

fn configured_target(name: &str, config: &ModelConfig, env: &Env<'_>) -> Result<Target, ProviderError> {
    let fail = |reason: &str| ProviderError::configuration(format!("model {name}: {reason}"));
    let sampling = Sampling { temperature: config.temperature, max_tokens: config.max_tokens, ..Sampling::default() };
    if config.window == Some(0) {
        return Err(fail("window must be at least 1"));
    }
    if config.provider.as_deref() == Some(LOCAL_PROVIDER) {
        if config.window.is_some() {
            return Err(fail("window is for models of servers; the file of a local model declares its own"));
        }
        let found = weights::resolve(config.model.as_deref().unwrap_or_default(), env)?;
        return Ok(Target::Local(LocalModel { reference: name.to_owned(), sampling, ..found }));
    }
    let provider =
        match &config.provider {
            Some(name) => {
                let found = PROVIDERS.iter().find(|known| known.name == name);
                Some(found.ok_or_else(|| {
                    fail(&format!("unknown provider {}; known: {}", clean(name, None), provider_list()))
                })?)
            }
            None => None,
        };
    if config.parallel == Some(0) {
        return Err(fail("parallel must be at least 1"));
    }
    let key = match (&config.key_env, &config.key_file) {
        (Some(_), Some(_)) => return Err(fail("key_env and key_file are both set; one is enough")),
        (Some(variable), None) => Some(Secret::from_env(variable, env).ok_or_else(|| missing_key(name, variable))?),
        (None, Some(path)) => Some(Secret::from_file(path)?),
        (None, None) => None,
    };
    let model = config.model.as_deref();
    let found = match (&config.base_url, provider) {
        (None, None) => return Err(fail("a provider or a base_url is missing")),
        (Some(base_url), None) => Endpoint::at(parse_base(base_url)?.as_str(), model),
        (base_url, Some(provider)) => {
            // The configuration takes precedence over the environment.
            let lookup = |variable: &str| match (base_url, &key) {
                (Some(base_url), _) if variable == provider.base_env => Some(base_url.clone()),
                (_, Some(key)) if Some(variable) == provider.key_env => Some(key.expose().to_owned()),
                _ => env(variable),
            };
            provider_endpoint(provider, model, &lookup)?
        }
    };
    let protocol = match (&config.version, found.protocol) {
        (Some(version), Protocol::Anthropic { .. }) => Protocol::Anthropic { version: version.clone() },
        (Some(_), Protocol::OpenAi) => return Err(fail("version is for the provider anthropic only")),
        (None, protocol) => protocol,
    };
    Ok(Target::Endpoint(Endpoint {
        reference: name.to_owned(),
        protocol,
        key: key.or(found.key),
        parallel: config.parallel,
        window: config.window,
        supports_n: config.n,
        sampling,
        timeouts: config.timeouts.unwrap_or_default(),
        ..found
    }))
}

fn provider_list() -> String {
    known_providers().collect::<Vec<_>>().join(", ")
}

fn unknown_model(reference: &str, names: &Names) -> ProviderError {
    let names: Vec<&str> = names.keys().map(String::as_str).collect();
    let names = if names.is_empty() { String::new() } else { format!("; configured: {}", names.join(", ")) };
    ProviderError::configuration(format!(
        "unknown model {}: use provider:model, a URL, or a configured name (providers: {}{names})",
        clean(reference, None),
        provider_list(),
    ))
}

#[cfg(test)]
mod tests;
