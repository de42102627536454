//! Finding a model where none was named, and asking servers what they have.
//!
//! What a person set counts before what happens to run: the variable `LOOM_MODEL`, then keys in the
//! environment, then servers on their usual ports of this machine, in the order of the table of providers, then weights
//! in the folder of weights (with the feature `local`).
//! A server on a port counts only if it lists a model, for anything may listen there.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::error::clean;
use super::http::{Http, read_limited};
use super::model_ref::{PROVIDERS, Provider, of_provider};
use super::weights;
use super::{Endpoint, Env, Model, Names, ProviderError, StreamError, Target, Timeouts, resolve};

/// The variable with the reference of the model to use.
pub const MODEL_VARIABLE: &str = "LOOM_MODEL";

/// How long a server on its usual port may take to show that it is there.
const PROBE_TIME: Duration = Duration::from_millis(300);

/// How long a list may take when it was asked for.
const LIST_TIME: Duration = Duration::from_secs(10);

/// The longest list; gateways list hundreds of models at length.
const LIST_LIMIT: usize = 8 * 1024 * 1024;

/// One model a server lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RemoteModel {
    /// What requests call it.
    pub id: String,
    /// Who the server says owns it; tells some kinds of server apart.
    #[serde(default)]
    pub owned_by: Option<String>,
}

#[derive(Deserialize)]
struct RemoteModelList {
    data: Option<Vec<RemoteModel>>,
}

/// Asks a server which models it has, in its order.
///
/// # Errors
/// What stands between: the address, the connection, the key, or an answer that is no list.
pub async fn list_models(endpoint: &Endpoint) -> Result<Vec<RemoteModel>, ProviderError> {
    list(&Http::new(endpoint)?, LIST_TIME).await
}

pub(crate) async fn list(http: &Http, time: Duration) -> Result<Vec<RemoteModel>, ProviderError> {
    let deadline = Instant::now() + time;
    let response = http.send(http.get("models")?, deadline).await.map_err(|error| match error {
        ProviderError::Timeout { phase, .. } => ProviderError::Timeout { phase, after: time },
        error => error,
    })?;
    let body = read_limited(response, LIST_LIMIT, deadline).await;
    let list: RemoteModelList = serde_json::from_slice(&body).map_err(|error| {
        let what = http.clean(&format!("no list of models from {}: {error}", http.host()));
        ProviderError::Broken { cause: StreamError::Garbage(what) }
    })?;
    let mut models = list.data.unwrap_or_default();
    for model in &mut models {
        model.id = http.clean(&model.id);
    }
    Ok(models)
}

/// The first model that can speak, as far as names tell: servers list their embedders too.
pub(crate) fn first_model(listed: &[RemoteModel]) -> Option<&RemoteModel> {
    listed.iter().find(|model| !model.id.to_lowercase().contains("embed")).or(listed.first())
}

/// Finds a model without being told one; `None` if there is none.
///
/// # Errors
/// A configuration error if something was set and is wrong, such as `LOOM_MODEL`. That nothing runs on
/// a port is no error.
pub async fn discover(names: &Names, env: &Env<'_>) -> Result<Option<Target>, ProviderError> {
    if let Some(reference) = env(MODEL_VARIABLE).filter(|reference| !reference.trim().is_empty()) {
        return resolve(&reference, names, env).map(Some).map_err(|error| match error {
            ProviderError::Configuration { message } => {
                ProviderError::configuration(clean(&format!("{MODEL_VARIABLE}: {message}"), None))
            }
            error => error,
        });
    }
    for provider in PROVIDERS {
        if let Some(key) = provider.key_env {
            if env(key).is_some_and(|key| !key.trim().is_empty()) {
                return of_provider(provider, None, env).map(|endpoint| Some(Target::Endpoint(endpoint)));
            }
            continue;
        }
        if let Some(endpoint) = probe(of_provider(provider, None, env)?).await {
            return Ok(Some(Target::Endpoint(endpoint)));
        }
    }
    Ok(weights::there(env).map(Target::Local))
}

/// A known provider and its state on this machine. It holds no key.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// The provider's name.
    pub name: &'static str,
    /// The variable that holds its key; `None` for a server that needs no key.
    pub key_variable: Option<&'static str>,
    /// The model that would be used; `None` without a key, or if no server answers with a model.
    pub reference: Option<String>,
    /// The mistake in the variables that set the provider up.
    pub error: Option<ProviderError>,
}

/// Returns the state of every known provider: whether its key is set, or whether its server answers. No key is sent.
pub async fn survey(env: &Env<'_>) -> Vec<ProviderStatus> {
    futures_util::future::join_all(PROVIDERS.iter().map(|provider| status(provider, env))).await
}

async fn status(provider: &'static Provider, env: &Env<'_>) -> ProviderStatus {
    let mut status =
        ProviderStatus { name: provider.name, key_variable: provider.key_env, reference: None, error: None };
    if provider.key_env.is_some_and(|key| env(key).is_none_or(|key| key.trim().is_empty())) {
        return status;
    }
    match of_provider(provider, None, env) {
        Ok(endpoint) if provider.key_env.is_some() => status.reference = Some(endpoint.reference),
        Ok(endpoint) => status.reference = probe(endpoint).await.map(|endpoint| endpoint.reference),
        Err(error) => status.error = Some(error),
    }
    status
}

/// Looks whether a server is there and has a model.
async fn probe(mut endpoint: Endpoint) -> Option<Endpoint> {
    let timeouts = Timeouts { connect: PROBE_TIME, first_byte: PROBE_TIME, between_chunks: PROBE_TIME };
    let http = Http::new(&Endpoint { key: None, timeouts, ..endpoint.clone() }).ok()?;
    let listed = list(&http, PROBE_TIME).await.ok()?;
    let first = first_model(&listed)?;
    endpoint.fill(Some(first), &listed);
    endpoint.parallel.get_or_insert(super::DEFAULT_PARALLEL);
    Some(endpoint)
}

/// Makes the client for a reference, or for what [`discover`] finds without one.
///
/// # Errors
/// What [`resolve`], [`discover`] and [`Target::connect`] give; a configuration error if no model is found.
pub async fn open(reference: Option<&str>, names: &Names, env: &Env<'_>) -> Result<Arc<dyn Model>, ProviderError> {
    let target = match reference {
        Some(reference) => Some(resolve(reference, names, env)?),
        None => discover(names, env).await?,
    };
    let Some(target) = target else {
        return Err(ProviderError::configuration(format!(
            "no model found: set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, start Ollama, llama.cpp or \
             LM Studio on its usual port, or name one in {MODEL_VARIABLE}"
        )));
    };
    target.connect().await
}
