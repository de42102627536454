//! Client for OpenAI's `/embeddings`, which most compatible servers have too.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::http::{Http, read_limited};
use super::{EmbeddingModel, Endpoint, Protocol, ProviderError, StreamError};

/// Size limit of a response: 64 vectors of 4,096 numbers as text, with a margin.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// An embedding model of an HTTP server.
#[derive(Debug, Clone)]
pub struct Embeddings {
    http: Http,
    reference: String,
    model: Option<String>,
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    input: &'a [String],
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// Creates a client without contacting the server.
    ///
    /// # Errors
    /// Returns a configuration error if the address is invalid or the protocol has no embeddings.
    pub fn new(endpoint: Endpoint) -> Result<Embeddings, ProviderError> {
        let http = Http::new(&endpoint)?;
        if http.protocol != Protocol::OpenAi {
            return Err(ProviderError::configuration(format!("{} has no embeddings", endpoint.reference)));
        }
        Ok(Embeddings { http, reference: endpoint.reference, model: endpoint.model })
    }

    async fn request(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let malformed = |detail: String| {
            let detail = self.http.clean(&format!("invalid embeddings from {}: {detail}", self.http.host()));
            ProviderError::Broken { cause: StreamError::Malformed(detail) }
        };
        let request = EmbeddingRequest { model: self.model.as_deref(), input: texts };
        let body = serde_json::to_vec(&request).map_err(|error| malformed(error.to_string()))?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self.http.send(self.http.post("embeddings", body)?, deadline).await?;
        let body = read_limited(response, MAX_RESPONSE_BYTES, Instant::now() + self.http.timeouts.between_chunks).await;
        let response: EmbeddingResponse =
            serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))?;
        let mut vectors: Vec<(usize, Vec<f32>)> =
            (0..).zip(response.data).map(|(at, item)| (item.index.unwrap_or(at), item.embedding)).collect();
        // Some servers return vectors in the order of completion.
        vectors.sort_by_key(|(index, _)| *index);
        if vectors.len() != texts.len() || vectors.iter().enumerate().any(|(at, (index, _))| at != *index) {
            return Err(malformed(format!("{} texts, {} vectors", texts.len(), vectors.len())));
        }
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }
}

impl EmbeddingModel for Embeddings {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>> {
        Box::pin(self.request(texts))
    }
}
