//! The known providers on this machine: which have a key, and which servers answer on their default ports.

use super::discover::probe;
use super::{Env, ProviderError};
use super::{
    known_providers::{PROVIDERS, Provider},
    model_ref::provider_endpoint,
};

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
