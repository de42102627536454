//! The client for servers that speak OpenAI's `/chat/completions` and `/completions`.
//!
//! This part makes requests, retries them and hands each answer to `reply`. Retries end for good with the
//! first text shown: asking again would give the person a second beginning.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::discover::{self, first_model};
use super::http::Http;
use super::reply::Reply;
use super::wire::{self, Dialect};
use super::{DEFAULT_PARALLEL, Endpoint, Finish, Generation, Model, ProviderError, Request, Retry, Sampling, Sink};

/// How long a server may take to list its models.
const LIST_TIME: Duration = Duration::from_secs(10);

/// A model behind an OpenAI-compatible server.
#[derive(Debug, Clone)]
pub struct OpenAi {
    inner: Arc<Inner>,
    retry: Retry,
}

#[derive(Debug)]
struct Inner {
    http: Http,
    reference: String,
    model: Option<String>,
    sampling: Sampling,
    parallel: usize,
}

impl OpenAi {
    /// Makes a client without asking the server anything.
    ///
    /// An endpoint without a model sends none, which servers of a single model accept.
    ///
    /// # Errors
    /// A configuration error if the address is not one.
    pub fn new(endpoint: Endpoint) -> Result<OpenAi, ProviderError> {
        let http = Http::new(&endpoint.base_url, endpoint.key, endpoint.timeouts)?;
        let inner = Inner {
            http,
            reference: endpoint.reference,
            model: endpoint.model,
            sampling: endpoint.sampling,
            parallel: endpoint.parallel.unwrap_or(DEFAULT_PARALLEL).max(1),
        };
        Ok(OpenAi { inner: Arc::new(inner), retry: Retry::default() })
    }

    /// Makes a client after asking the server what is not known: the model, and of a server of the person's
    /// own (plain `http`) whether it can do more than one thing at once.
    ///
    /// # Errors
    /// What [`new`](OpenAi::new) gives; where no model is named, also that the server cannot be
    /// reached or lists none.
    pub async fn connect(mut endpoint: Endpoint) -> Result<OpenAi, ProviderError> {
        let http = Http::new(&endpoint.base_url, endpoint.key.clone(), endpoint.timeouts)?;
        if endpoint.model.is_none() || (endpoint.parallel.is_none() && http.is_plain()) {
            match discover::list(&http, LIST_TIME).await {
                Ok(listed) => {
                    let first = endpoint.model.is_none().then(|| first_model(&listed)).flatten();
                    if endpoint.model.is_none() && first.is_none() {
                        let host = http.host();
                        return Err(ProviderError::configuration(format!("{host} lists no models; name one")));
                    }
                    endpoint.fill(first, &listed);
                }
                Err(error) if endpoint.model.is_none() => return Err(error),
                // Not every server can list; the request itself will say what is wrong.
                Err(error) => tracing::debug!(%error, "cannot list models"),
            }
        }
        OpenAi::new(endpoint)
    }

    /// Replaces how often and how patiently requests are tried.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> OpenAi {
        OpenAi { retry, ..self }
    }
}

impl Model for OpenAi {
    fn reference(&self) -> &str {
        &self.inner.reference
    }

    fn stream(&self, mut request: Request) -> Generation {
        let started = Instant::now();
        let (inner, retry) = (Arc::clone(&self.inner), self.retry);
        request.sampling = request.sampling.or(&inner.sampling);
        Generation::spawn(move |sink| async move { inner.run(&request, sink, retry, started).await })
    }

    fn parallel(&self) -> usize {
        self.inner.parallel
    }
}

impl Inner {
    async fn run(
        &self,
        request: &Request,
        mut sink: Sink,
        retry: Retry,
        started: Instant,
    ) -> Result<Finish, ProviderError> {
        let mut dialect = Dialect { usage: true, completion_tokens: self.http.is_openai() };
        let mut attempt = 1;
        loop {
            let error = match self.attempt(request, dialect, &mut sink, started).await {
                Ok(finish) => return Ok(finish),
                Err(error) => error,
            };
            if dialect.usage && refuses_usage(&error) {
                dialect.usage = false;
                continue;
            }
            // What is cut after text was shown is not transient; asked again to be sure of it.
            let wait = retry.wait(attempt, &error, rand::random()).filter(|_| !sink.shown());
            let Some(wait) = wait else { return Err(error) };
            tracing::info!(host = self.http.host(), attempt, ?wait, %error, "trying again");
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        request: &Request,
        dialect: Dialect,
        sink: &mut Sink,
        started: Instant,
    ) -> Result<Finish, ProviderError> {
        let (path, body) = wire::body(self.model.as_deref(), request, dialect);
        let body = serde_json::to_vec(&body)
            .map_err(|error| ProviderError::configuration(format!("cannot write the request: {error}")))?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self.http.send(self.http.post(path, body)?, deadline).await?;
        Reply::new(&self.http, sink, started).read(response, deadline).await
    }
}

/// A server that does not know `stream_options` and minds.
fn refuses_usage(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Http { status: 400 | 422, message, .. } if message.contains("stream_options"))
}
