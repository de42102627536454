//! HTTP client for OpenAI's `/chat/completions` and `/completions`, and Anthropic's `/messages`.
//!
//! This module sends requests; `retry` repeats those that failed, `stream_reader` reads the responses, and `protocol` holds
//! the differences of the protocols.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::http::Http;
use super::model_list::{self, default_model};
use super::protocol::{self, Capabilities};
use super::stream_reader::StreamReader;
use super::{
    DEFAULT_PARALLEL, Endpoint, Finish, Generation, Model, Protocol, ProviderError, Request, Retry, Sampling, Sink,
};

/// Time limit for listing models in [`Client::connect`].
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Replies per request. A broken connection interrupts all replies of its request, so the number is small.
const MAX_CHOICES_PER_REQUEST: usize = 8;

/// A model of an HTTP server.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<ClientInner>,
    retry: Retry,
}

#[derive(Debug)]
pub(super) struct ClientInner {
    http: Http,
    reference: String,
    model: Option<String>,
    sampling: Sampling,
    parallel: usize,
    window: Option<usize>,
    max_choices: usize,
    /// Capabilities of the server; a refused request removes some.
    capabilities: Mutex<Capabilities>,
}

impl Client {
    /// Creates a client without contacting the server.
    ///
    /// If the endpoint names no model, requests contain none; servers with a single model accept that.
    ///
    /// # Errors
    /// Returns a configuration error if the address is invalid.
    pub fn new(endpoint: Endpoint) -> Result<Client, ProviderError> {
        let http = Http::new(&endpoint)?;
        let parallel = endpoint.parallel.unwrap_or(DEFAULT_PARALLEL).max(1);
        let capabilities = Capabilities { usage: true, completion_tokens: http.is_openai(), prefill: true };
        let supports_n = http.protocol == Protocol::OpenAi && endpoint.supports_n.unwrap_or_else(|| http.is_openai());
        let inner = ClientInner {
            http,
            reference: endpoint.reference,
            model: endpoint.model,
            sampling: endpoint.sampling,
            parallel,
            window: endpoint.window,
            max_choices: if supports_n { MAX_CHOICES_PER_REQUEST } else { 1 },
            capabilities: Mutex::new(capabilities),
        };
        Ok(Client { inner: Arc::new(inner), retry: Retry::default() })
    }

    /// Creates a client after requesting missing details from the server.
    ///
    /// These are the model, and for a plain `http` server whether it serves parallel requests.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Client::new). If the endpoint names no model, also returns an error if the server
    /// cannot be reached or lists none.
    pub async fn connect(mut endpoint: Endpoint) -> Result<Client, ProviderError> {
        let http = Http::new(&endpoint)?;
        if endpoint.model.is_none() || (endpoint.parallel.is_none() && http.is_plain()) {
            match model_list::list(&http, LIST_TIMEOUT).await {
                Ok(listed) => {
                    let first = endpoint.model.is_none().then(|| default_model(&listed)).flatten();
                    if endpoint.model.is_none() && first.is_none() {
                        let host = http.host();
                        return Err(ProviderError::configuration(format!("{host} lists no models; name one")));
                    }
                    endpoint.apply_listing(first, &listed);
                }
                Err(error) if endpoint.model.is_none() => return Err(error),
                // Not every server lists models. If this one is unreachable, the first request reports that.
                Err(error) => tracing::debug!(%error, "cannot list models"),
            }
        }
        Client::new(endpoint)
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Client {
        Client { retry, ..self }
    }
}

impl Client {
    /// Starts one request for `n` replies.
    fn stream_choices(&self, mut request: Request, n: usize) -> Vec<Generation> {
        let started = Instant::now();
        let (inner, retry) = (Arc::clone(&self.inner), self.retry);
        request.sampling = request.sampling.or(&inner.sampling);
        Generation::spawn_n(
            n,
            move |sinks| async move { inner.send_until_complete(&request, sinks, retry, started).await },
        )
    }
}

impl Model for Client {
    fn reference(&self) -> &str {
        &self.inner.reference
    }

    fn server_model(&self) -> Option<&str> {
        self.inner.model.as_deref()
    }

    fn sampling(&self) -> Sampling {
        self.inner.sampling.clone()
    }

    fn stream(&self, request: Request) -> Generation {
        self.stream_choices(request, 1).remove(0)
    }

    fn stream_n(&self, request: Request, n: usize) -> Vec<Generation> {
        let mut replies = Vec::with_capacity(n);
        while replies.len() < n {
            replies.extend(self.stream_choices(request.clone(), self.max_choices_per_request().min(n - replies.len())));
        }
        replies
    }

    fn max_choices_per_request(&self) -> usize {
        self.inner.max_choices
    }

    #[cfg(feature = "tiktoken")]
    fn count(&self, text: &str) -> Option<usize> {
        super::tiktoken::count(&self.inner.reference, text)
    }

    fn parallel(&self) -> usize {
        self.inner.parallel
    }

    fn window(&self) -> Option<usize> {
        self.inner.window
    }
}

impl ClientInner {
    /// Returns the capabilities of the server, as far as they are known.
    pub(super) fn capabilities(&self) -> Capabilities {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server's host, for messages.
    pub(super) fn host(&self) -> String {
        self.http.host()
    }

    /// Removes what the server refused, also for later requests. Returns whether a retry would send another request.
    pub(super) fn learn(&self, mut capabilities: Capabilities, error: &ProviderError) -> bool {
        self.capabilities.lock().unwrap_or_else(PoisonError::into_inner).learn(error);
        capabilities.learn(error)
    }

    /// Sends one request for the replies of all sinks. Returns the end of each reply, or the error of the request.
    pub(super) async fn attempt(
        &self,
        request: &Request,
        capabilities: Capabilities,
        sinks: &mut [Sink],
        started: Instant,
    ) -> Result<Vec<Result<Finish, ProviderError>>, ProviderError> {
        let (path, body) =
            protocol::request_body(&self.http.protocol, self.model.as_deref(), request, sinks.len(), capabilities)?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self.http.send(self.http.post(path, body)?, deadline).await?;
        Ok(StreamReader::new(&self.http, sinks, started).read(response, deadline).await)
    }
}
