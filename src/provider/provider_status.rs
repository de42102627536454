//! The known providers on this machine: which have a key, and which servers answer on their default ports.

use std::time::Duration;

use super::http::Http;
use super::model_list::{default_model, list};
use super::model_ref::{PROVIDERS, Provider, provider_endpoint};
use super::{Endpoint, Env, ProviderError, Timeouts};

/// Time limit for a probe of a default port.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

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

/// Returns the endpoint with its first model, or `None` if no server answers in time or it lists no model. Sends no key.
async fn probe(mut endpoint: Endpoint) -> Option<Endpoint> {
    let timeouts = Timeouts { connect: PROBE_TIMEOUT, first_byte: PROBE_TIMEOUT, between_chunks: PROBE_TIMEOUT };
    let http = Http::new(&Endpoint { key: None, timeouts, ..endpoint.clone() }).ok()?;
    let listed = list(&http, PROBE_TIMEOUT).await.ok()?;
    let first = default_model(&listed)?;
    endpoint.apply_listing(Some(first), &listed);
    endpoint.parallel.get_or_insert(super::DEFAULT_PARALLEL);
    Some(endpoint)
}
