//! What a person writes for a model, and the endpoint it means.
//!
//! | written | means |
//! | --- | --- |
//! | `fast` | the model of that name in the configuration |
//! | `openai:gpt-4o`, `ollama:llama3.2:3b` | a model of a known provider |
//! | `llamacpp`, `lmstudio:` | the first model such a server lists |
//! | `http://127.0.0.1:8089/v1#model` | any compatible server, without a key |
//! | `local:smollm2`, `local:/path/to/model.gguf` | a model that this process evaluates (feature `local`) |
//! | `scripted:words` | no model at all, for demonstrations |
//!
//! Names come first, so that a configuration can give any word a meaning. A URL gets no key: which key goes
//! to which address is said in the configuration or by the table below, not guessed. The environment is
//! read through a function the caller passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::clean;
use super::weights;
use super::{Client, LocalModel, Model, ModelConfig, ProviderError, RemoteModel, Sampling, Scripted, Secret, Timeouts};

/// How the environment is looked up; a face passes `&|name| std::env::var(name).ok()`.
pub type Env<'a> = dyn Fn(&str) -> Option<String> + Sync + 'a;

/// The models of the configuration by name.
pub type Names = BTreeMap<String, ModelConfig>;

/// The provider that is this process.
pub(crate) const LOCAL: &str = "local";

/// How many requests at once a server gets of which nothing else is known.
pub const DEFAULT_PARALLEL: usize = 8;

/// One known provider.
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) base: &'static str,
    /// The variable that overrides the address.
    pub(crate) base_env: &'static str,
    /// The variable with the key; one that has such a variable does not work without.
    pub(crate) key_env: Option<&'static str>,
    /// The model where none is named; servers of few models are asked.
    pub(crate) model: Option<&'static str>,
    /// Whether it speaks Anthropic's protocol rather than OpenAI's.
    anthropic: bool,
}

impl Provider {
    const fn keyed(name: &'static str, base: &'static str, variables: [&'static str; 2], model: &'static str) -> Self {
        let [base_env, key] = variables;
        Provider { name, base, base_env, key_env: Some(key), model: Some(model), anthropic: false }
    }

    const fn local(name: &'static str, base: &'static str, base_env: &'static str) -> Self {
        Provider { name, base, base_env, key_env: None, model: None, anthropic: false }
    }
}

/// The known providers, in the order in which they are looked for.
pub(crate) const PROVIDERS: &[Provider] = &[
    Provider::keyed("openai", "https://api.openai.com/v1", ["OPENAI_BASE_URL", "OPENAI_API_KEY"], "gpt-4o-mini"),
    Provider {
        anthropic: true,
        ..Provider::keyed(
            "anthropic",
            "https://api.anthropic.com/v1",
            ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
            "claude-haiku-4-5",
        )
    },
    Provider::keyed(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ["OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"],
        "openrouter/auto",
    ),
    Provider::local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_HOST"),
    Provider::local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    Provider::local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
];

/// Returns the names of the known providers.
pub fn known_providers() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

/// The version of its API that Anthropic is asked for where the configuration names none.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

/// What a server speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's `/chat/completions` and `/completions`, as nearly every server does.
    OpenAi,
    /// Anthropic's `/messages`.
    Anthropic {
        /// The version of the API, sent with each request.
        version: String,
    },
}

/// Where a model is and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// What the model is called in this program; resolving it again gives the same endpoint.
    pub reference: String,
    /// The address before `/chat/completions` or `/messages`.
    pub base_url: String,
    /// What is spoken there.
    pub protocol: Protocol,
    /// The model as the server calls it, if one is named.
    pub model: Option<String>,
    /// The key, if the server wants one.
    pub key: Option<Secret>,
    /// How many requests at once, if that was said.
    pub parallel: Option<usize>,
    /// Whether one request may ask for several replies (`n`), if that was said; else only OpenAI itself is asked so.
    pub together: Option<bool>,
    /// What requests use that do not say otherwise.
    pub sampling: Sampling,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl Endpoint {
    /// Makes an endpoint of an address, with a model or the first it lists, and no key.
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
            together: None,
            sampling: Sampling::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// Takes over what a server said of itself.
    pub(crate) fn fill(&mut self, model: Option<&RemoteModel>, listed: &[RemoteModel]) {
        if let Some(model) = model {
            let between = if self.reference == self.base_url { "#" } else { ":" };
            let provider = self.reference.trim_end_matches(':');
            if between == "#" || PROVIDERS.iter().any(|known| known.name == provider) {
                self.reference = format!("{provider}{between}{}", model.id);
            }
            self.model = Some(model.id.clone());
        }
        // llama-cpp-python owns its models as "me", and gives a stream up when a second request comes.
        if listed.iter().any(|model| model.owned_by.as_deref() == Some("me")) {
            self.parallel.get_or_insert(1);
        }
    }
}

/// What a reference means.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // made once a model
pub enum Target {
    /// A server.
    Endpoint(Endpoint),
    /// A model in the box.
    Local(LocalModel),
    /// The scripted model of this name.
    Scripted(String),
}

impl Target {
    /// What the model is called in this program.
    #[must_use]
    pub fn reference(&self) -> String {
        match self {
            Target::Endpoint(endpoint) => endpoint.reference.clone(),
            Target::Local(model) => model.reference.clone(),
            Target::Scripted(name) => format!("scripted:{name}"),
        }
    }

    /// Lets requests that do not say how to draw be drawn so.
    pub fn default_sampling(&mut self, defaults: &Sampling) {
        match self {
            Target::Endpoint(endpoint) => endpoint.sampling = std::mem::take(&mut endpoint.sampling).or(defaults),
            Target::Local(model) => model.sampling = std::mem::take(&mut model.sampling).or(defaults),
            Target::Scripted(_) => {}
        }
    }

    /// Makes the client, after asking the server what is not known; see [`Client::connect`].
    ///
    /// # Errors
    /// What [`Client::connect`] gives, or a configuration error for an unknown script, or for weights that are not there.
    pub async fn connect(self) -> Result<Arc<dyn Model>, ProviderError> {
        match self {
            Target::Endpoint(endpoint) => Ok(Arc::new(Client::connect(endpoint).await?)),
            #[cfg(feature = "local")]
            Target::Local(model) => Ok(Arc::new(model.load().await?)),
            #[cfg(not(feature = "local"))]
            Target::Local(model) => Err(model.refused()),
            Target::Scripted(name) => Ok(Arc::new(Scripted::named(&name)?)),
        }
    }
}

/// Finds what a reference means; asks no server.
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
/// A configuration error for what is not known, for an address that is none, and for a key that is not there.
pub fn resolve(reference: &str, names: &Names, env: &Env<'_>) -> Result<Target, ProviderError> {
    let reference = reference.trim();
    if let Some(config) = names.get(reference) {
        return configured(reference, config, env);
    }
    if reference.starts_with("http://") || reference.starts_with("https://") {
        let (base_url, model) = match reference.split_once('#') {
            Some((base_url, model)) => (base_url, Some(model).filter(|model| !model.is_empty())),
            None => (reference, None),
        };
        let base = super::http::parse_base(base_url)?;
        return Ok(Target::Endpoint(Endpoint::at(base.as_str(), model)));
    }
    let (provider, model) = reference.split_once(':').unwrap_or((reference, ""));
    if provider == "scripted" {
        return Ok(Target::Scripted(model.to_owned()));
    }
    if provider == LOCAL {
        return weights::local(model, env).map(Target::Local);
    }
    match PROVIDERS.iter().find(|known| known.name == provider) {
        Some(provider) => {
            of_provider(provider, Some(model).filter(|model| !model.is_empty()), env).map(Target::Endpoint)
        }
        None => Err(unknown(reference, names)),
    }
}

/// Makes the endpoint of a known provider, from the environment.
pub(crate) fn of_provider(provider: &Provider, model: Option<&str>, env: &Env<'_>) -> Result<Endpoint, ProviderError> {
    let moved = env(provider.base_env).filter(|base| !base.trim().is_empty());
    let base_url = match (&moved, provider.name) {
        (Some(host), "ollama") => ollama_base(host),
        (Some(base_url), "anthropic") => anthropic_base(base_url),
        (Some(base_url), _) => base_url.clone(),
        (None, _) => provider.base.to_owned(),
    };
    let base = super::http::parse_base(&base_url)?;
    // The usual model of a provider need not be what another server at its place has.
    let model = model.or(provider.model.filter(|_| moved.is_none()));
    let key = match provider.key_env {
        Some(name) => Some(Secret::from_env(name, env).ok_or_else(|| no_key(provider.name, name))?),
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

fn no_key(who: &str, variable: &str) -> ProviderError {
    ProviderError::configuration(format!("{who} needs a key: set {variable}, or name a key_file in the configuration"))
}

/// Ollama's variable is made for its server: it may lack scheme and port, and name every interface.
fn ollama_base(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.starts_with("https://") {
        return host.to_owned();
    }
    let host = host.trim_start_matches("http://");
    let host = host.replacen("0.0.0.0", "127.0.0.1", 1).replacen("[::]", "[::1]", 1);
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let bracketed = host.rfind(']').unwrap_or(0);
    let port = if host[bracketed..].contains([':', '/']) { "" } else { ":11434" };
    format!("http://{host}{port}")
}

/// Anthropic's variable is made for its own libraries, which add the `/v1`.
fn anthropic_base(base_url: &str) -> String {
    let base_url = base_url.trim().trim_end_matches('/');
    if base_url.ends_with("/v1") { base_url.to_owned() } else { format!("{base_url}/v1") }
}

fn configured(name: &str, config: &ModelConfig, env: &Env<'_>) -> Result<Target, ProviderError> {
    let fail = |what: &str| ProviderError::configuration(format!("model {name}: {what}"));
    let sampling = Sampling { temperature: config.temperature, max_tokens: config.max_tokens, ..Sampling::default() };
    if config.provider.as_deref() == Some(LOCAL) {
        let found = weights::local(config.model.as_deref().unwrap_or_default(), env)?;
        return Ok(Target::Local(LocalModel { reference: name.to_owned(), sampling, ..found }));
    }
    let provider = match &config.provider {
        Some(wanted) => {
            let found = PROVIDERS.iter().find(|known| known.name == wanted);
            Some(
                found
                    .ok_or_else(|| fail(&format!("no provider {}; there are {}", clean(wanted, None), providers())))?,
            )
        }
        None => None,
    };
    if config.parallel == Some(0) {
        return Err(fail("parallel is at least 1"));
    }
    let key = match (&config.key_env, &config.key_file) {
        (Some(_), Some(_)) => return Err(fail("key_env and key_file are both set; one is enough")),
        (Some(variable), None) => Some(Secret::from_env(variable, env).ok_or_else(|| no_key(name, variable))?),
        (None, Some(path)) => Some(Secret::from_file(path)?),
        (None, None) => None,
    };
    let model = config.model.as_deref();
    let found = match (&config.base_url, provider) {
        (None, None) => return Err(fail("a provider or a base_url is missing")),
        (Some(base_url), None) => Endpoint::at(super::http::parse_base(base_url)?.as_str(), model),
        (base_url, Some(provider)) => {
            // What the configuration says stands before the environment.
            let said = |variable: &str| match (base_url, &key) {
                (Some(base_url), _) if variable == provider.base_env => Some(base_url.clone()),
                (_, Some(key)) if Some(variable) == provider.key_env => Some(key.expose().to_owned()),
                _ => env(variable),
            };
            of_provider(provider, model, &said)?
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
        together: config.n,
        sampling,
        timeouts: config.timeouts.unwrap_or_default(),
        ..found
    }))
}

fn providers() -> String {
    known_providers().collect::<Vec<_>>().join(", ")
}

fn unknown(reference: &str, names: &Names) -> ProviderError {
    let names: Vec<&str> = names.keys().map(String::as_str).collect();
    let names = if names.is_empty() { String::new() } else { format!("; configured: {}", names.join(", ")) };
    ProviderError::configuration(format!(
        "no model {}: write provider:model, a URL, or a configured name (providers: {}{names})",
        clean(reference, None),
        providers(),
    ))
}

#[cfg(test)]
mod tests;
