//! Lists of the models of a server, and the one that is used if none is named.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::http::{Http, read_limited};
use super::{Endpoint, ProviderError, StreamError};

/// Time limit of [`list_models`].
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Size limit of a list of models; gateways list hundreds of models with long descriptions.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// A model in the list of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ListedModel")]
#[non_exhaustive]
pub struct RemoteModel {
    /// Model id for requests.
    pub id: String,
    /// Owner as the server reports it; identifies some kinds of server.
    pub owned_by: Option<String>,
    /// Context window in tokens; `None` if the server does not report it.
    pub window: Option<usize>,
}

/// A model as servers list it. The name of the window's field depends on the server.
#[derive(Deserialize)]
struct ListedModel {
    id: String,
    owned_by: Option<String>,
    /// OpenRouter, Together.
    context_length: Option<Value>,
    /// Groq.
    context_window: Option<Value>,
    /// vLLM.
    max_model_len: Option<Value>,
}

impl From<ListedModel> for RemoteModel {
    fn from(listed: ListedModel) -> Self {
        let windows = [listed.max_model_len, listed.context_window, listed.context_length];
        let window = windows.into_iter().flatten().find_map(|value| value.as_u64().filter(|tokens| *tokens > 0));
        Self { id: listed.id, owned_by: listed.owned_by, window: window.and_then(|tokens| tokens.try_into().ok()) }
    }
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
pub(crate) fn default_model(listed: &[RemoteModel]) -> Option<&RemoteModel> {
    listed.iter().find(|model| !model.id.to_lowercase().contains("embed")).or(listed.first())
}
