//! Lists of the models of a server, and the state of the known providers on this machine.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::http::{Http, read_limited};
use super::model_ref::{PROVIDERS, Provider, provider_endpoint};
use super::{Endpoint, Env, ProviderError, StreamError, Timeouts};

/// Time limit for a probe of a default port.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

/// Time limit of [`list_models`].
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Size limit of a list of models; gateways list hundreds of models with long descriptions.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// A model in the list of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct RemoteModel {
    /// Model id for requests.
    pub id: String,
    /// Owner as the server reports it; identifies some kinds of server.
    #[serde(default)]
    pub owned_by: Option<String>,
}

#[derive(Deserialize)]
struct RemoteModelList {
    data: Option<Vec<RemoteModel>>,
}

/// Requests the list of a server's models, in the server's order.
///
/// # Errors
/// Returns an error for an invalid address, a failed connection, a missing or refused key, or a malformed response.
pub async fn list_models(endpoint: &Endpoint) -> Result<Vec<RemoteModel>, ProviderError> {
    list(&Http::new(endpoint)?, LIST_TIMEOUT).await
}

pub(crate) async fn list(http: &Http, timeout: Duration) -> Result<Vec<RemoteModel>, ProviderError> {
    let deadline = Instant::now() + timeout;
    let response = http.send(http.get("models")?, deadline).await.map_err(|error| match error {
        ProviderError::Timeout { phase, .. } => ProviderError::Timeout { phase, after: timeout },
        error => error,
    })?;
    let body = read_limited(response, MAX_LIST_BYTES, deadline).await;
    let list: RemoteModelList = serde_json::from_slice(&body).map_err(|error| {
        let detail = http.clean(&format!("invalid list of models from {}: {error}", http.host()));
        ProviderError::Broken { cause: StreamError::Malformed(detail) }
    })?;
    let mut models = list.data.unwrap_or_default();
    for model in &mut models {
        model.id = http.clean(&model.id);
    }
    Ok(models)
}

/// Returns the first model whose id does not look like an embedding model, else the first.
pub(crate) fn first_model(listed: &[RemoteModel]) -> Option<&RemoteModel> {
    listed.iter().find(|model| !model.id.to_lowercase().contains("embed")).or(listed.first())
}

/// Returns the endpoint of the first provider with a key in the environment or with a server on its default port.
pub(super) async fn find_endpoint(env: &Env<'_>) -> Result<Option<Endpoint>, ProviderError> {
    for provider in PROVIDERS {
        if let Some(key) = provider.key_env {
            if env(key).is_some_and(|key| !key.trim().is_empty()) {
                return provider_endpoint(provider, None, env).map(Some);
            }
            continue;
        }
        if let Some(endpoint) = probe(provider_endpoint(provider, None, env)?).await {
            return Ok(Some(endpoint));
        }
    }
    Ok(None)
}

/// A known provider and its state on this machine. It holds no key.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// Name of the provider, as in a model reference.
    pub name: &'static str,
    /// Environment variable with the key; `None` for a server without keys.
    pub key_variable: Option<&'static str>,
    /// Reference of its default model; `None` without a key, or if no server lists a model.
    pub reference: Option<String>,
    /// Error in the provider's environment variables.
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
    match provider_endpoint(provider, None, env) {
        Ok(endpoint) if provider.key_env.is_some() => status.reference = Some(endpoint.reference),
        Ok(endpoint) => status.reference = probe(endpoint).await.map(|endpoint| endpoint.reference),
        Err(error) => status.error = Some(error),
    }
    status
}

/// Returns the endpoint with its first model, or `None` if no server answers in time or it lists no model. Sends no key.
async fn probe(mut endpoint: Endpoint) -> Option<Endpoint> {
    let timeouts = Timeouts { connect: PROBE_TIMEOUT, first_byte: PROBE_TIMEOUT, between_chunks: PROBE_TIMEOUT };
    let http = Http::new(&Endpoint { key: None, timeouts, ..endpoint.clone() }).ok()?;
    let listed = list(&http, PROBE_TIMEOUT).await.ok()?;
    let first = first_model(&listed)?;
    endpoint.apply_listing(Some(first), &listed);
    endpoint.parallel.get_or_insert(super::DEFAULT_PARALLEL);
    Some(endpoint)
}
