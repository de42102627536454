//! The first provider with a key, or with a server on its default port.

use std::time::Duration;

use crate::provider::{
    DEFAULT_PARALLEL, Endpoint, Env, ProviderError, Timeouts,
    http::Http,
    known_providers::PROVIDERS,
    model_list::{default_model, list},
    model_ref::provider_endpoint,
};

/// Time limit for a probe of a default port.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

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
pub(in crate::provider) async fn probe(mut endpoint: Endpoint) -> Option<Endpoint> {
    let timeouts = Timeouts { connect: PROBE_TIMEOUT, first_byte: PROBE_TIMEOUT, between_chunks: PROBE_TIMEOUT };
    let http = Http::new(&Endpoint { key: None, timeouts, ..endpoint.clone() }).ok()?;
    let listed = list(&http, PROBE_TIMEOUT).await.ok()?;
    let first = default_model(&listed)?;
    endpoint.apply_listing(Some(first), &listed);
    endpoint.parallel.get_or_insert(DEFAULT_PARALLEL);
    Some(endpoint)
}
