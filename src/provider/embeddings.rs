//! The client for `/embeddings`, as OpenAI has it and most servers after it.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::http::{Http, read_limited};
use super::{Endpoint, Protocol, ProviderError, StreamError};

/// The most bytes read of an answer: 64 vectors of 4,096 numbers as text, and some.
const LIMIT: usize = 16 * 1024 * 1024;

/// A model behind a server that turns texts into vectors.
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
    /// Makes a client without asking the server anything.
    ///
    /// # Errors
    /// A configuration error if the address is not one, or what is spoken there has no embeddings.
    pub fn new(endpoint: Endpoint) -> Result<Embeddings, ProviderError> {
        let http = Http::new(&endpoint)?;
        if http.protocol != Protocol::OpenAi {
            return Err(ProviderError::configuration(format!("{} has no embeddings", endpoint.reference)));
        }
        Ok(Embeddings { http, reference: endpoint.reference, model: endpoint.model })
    }

    /// What the model is called in this program.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// The vectors of texts, one each in their order.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, is too slow, or answers something else.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let garbage = |what: String| {
            let what = self.http.clean(&format!("no vectors from {}: {what}", self.http.host()));
            ProviderError::Broken { cause: StreamError::Garbage(what) }
        };
        let asked = EmbeddingRequest { model: self.model.as_deref(), input: texts };
        let body = serde_json::to_vec(&asked).map_err(|error| garbage(error.to_string()))?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self.http.send(self.http.post("embeddings", body)?, deadline).await?;
        let body = read_limited(response, LIMIT, Instant::now() + self.http.timeouts.between_chunks).await;
        let answered: EmbeddingResponse = serde_json::from_slice(&body).map_err(|error| garbage(error.to_string()))?;
        let mut vectors: Vec<(usize, Vec<f32>)> =
            (0..).zip(answered.data).map(|(at, one)| (one.index.unwrap_or(at), one.embedding)).collect();
        // Some servers answer as they are done.
        vectors.sort_by_key(|(index, _)| *index);
        if vectors.len() != texts.len() || vectors.iter().enumerate().any(|(at, (index, _))| at != *index) {
            return Err(garbage(format!("{} texts, {} vectors", texts.len(), vectors.len())));
        }
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }
}
