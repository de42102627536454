//! The client for servers: OpenAI's `/chat/completions` and `/completions`, and Anthropic's `/messages`.
//!
//! This part makes requests, retries them and hands each answer to `reply`; what the protocols differ in is in `wire`.
//! Retries end for good with the first text shown: asking again would give the person a second beginning. Where one
//! request asks for several replies and a server gives fewer, the rest is asked for again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::discover::{self, first_model};
use super::http::Http;
use super::protocol::{self, Capabilities};
use super::reply::StreamReader;
use super::{
    DEFAULT_PARALLEL, Endpoint, Finish, Generation, Model, Protocol, ProviderError, Request, Retry, Sampling, Sink,
};

/// How long a server may take to list its models.
const LIST_TIME: Duration = Duration::from_secs(10);

/// The most replies that one request asks for, so that a few of them are cut with the connection and not all.
const MOST_TOGETHER: usize = 8;

/// A model behind a server.
#[derive(Debug, Clone)]
pub struct Client {
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
    together: usize,
    /// Learnt from what the server refused.
    dialect: Mutex<Capabilities>,
}

impl Client {
    /// Makes a client without asking the server anything.
    ///
    /// An endpoint without a model sends none, which servers of a single model accept.
    ///
    /// # Errors
    /// A configuration error if the address is not one.
    pub fn new(endpoint: Endpoint) -> Result<Client, ProviderError> {
        let http = Http::new(&endpoint)?;
        let parallel = endpoint.parallel.unwrap_or(DEFAULT_PARALLEL).max(1);
        let dialect = Capabilities { usage: true, completion_tokens: http.is_openai(), prefill: true };
        let can = http.protocol == Protocol::OpenAi && endpoint.together.unwrap_or_else(|| http.is_openai());
        let inner = Inner {
            http,
            reference: endpoint.reference,
            model: endpoint.model,
            sampling: endpoint.sampling,
            parallel,
            together: if can { MOST_TOGETHER } else { 1 },
            dialect: Mutex::new(dialect),
        };
        Ok(Client { inner: Arc::new(inner), retry: Retry::default() })
    }

    /// Makes a client after asking the server what is not known: the model, and of a server of the person's
    /// own (plain `http`) whether it can do more than one thing at once.
    ///
    /// # Errors
    /// What [`new`](Client::new) gives; where no model is named, also that the server cannot be
    /// reached or lists none.
    pub async fn connect(mut endpoint: Endpoint) -> Result<Client, ProviderError> {
        let http = Http::new(&endpoint)?;
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
        Client::new(endpoint)
    }

    /// Replaces how often and how patiently requests are tried.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Client {
        Client { retry, ..self }
    }
}

impl Client {
    /// One request for `n` replies.
    fn several(&self, mut request: Request, n: usize) -> Vec<Generation> {
        let started = Instant::now();
        let (inner, retry) = (Arc::clone(&self.inner), self.retry);
        request.sampling = request.sampling.or(&inner.sampling);
        Generation::several(n, move |sinks| async move { inner.run(&request, sinks, retry, started).await })
    }
}

impl Model for Client {
    fn reference(&self) -> &str {
        &self.inner.reference
    }

    fn stream(&self, request: Request) -> Generation {
        self.several(request, 1).remove(0)
    }

    fn stream_several(&self, request: Request, n: usize) -> Vec<Generation> {
        let mut replies = Vec::with_capacity(n);
        while replies.len() < n {
            replies.extend(self.several(request.clone(), self.together().min(n - replies.len())));
        }
        replies
    }

    fn together(&self) -> usize {
        self.inner.together
    }

    #[cfg(feature = "tiktoken")]
    fn count(&self, text: &str) -> Option<usize> {
        super::tiktoken::count(&self.inner.reference, text)
    }

    fn parallel(&self) -> usize {
        self.inner.parallel
    }
}

impl Inner {
    /// Asks until every reply has its terminal item.
    async fn run(&self, request: &Request, mut waiting: Vec<Sink>, retry: Retry, started: Instant) {
        let mut attempt = 1;
        loop {
            let dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = match self.attempt(request, dialect, &mut waiting, started).await {
                Ok(ended) => ended,
                Err(error) => vec![Err(error); waiting.len()],
            };
            let asked = waiting.len();
            let mut failed = Vec::new();
            let mut failure = None;
            for (mut sink, last) in std::mem::take(&mut waiting).into_iter().zip(ended) {
                match last {
                    // Of this one nothing was shown, so it can be asked for again.
                    Err(error) if !sink.shown() && error != ProviderError::Cancelled => {
                        failure.get_or_insert(error);
                        failed.push(sink);
                    }
                    last => sink.end(last).await,
                }
            }
            waiting = failed;
            let Some(error) = failure else { return };
            // Others came: a server that gives fewer than it was asked for gives the rest when asked again.
            if waiting.len() < asked || self.learn(dialect, &error) {
                continue;
            }
            let Some(wait) = retry.wait(attempt, &error, rand::random()) else {
                for sink in &mut waiting {
                    sink.end(Err(error.clone())).await;
                }
                return;
            };
            tracing::info!(host = self.http.host(), attempt, ?wait, %error, "trying again");
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Learns from a refusal of a request in `dialect`, for later requests too; true if another way of asking is left.
    fn learn(&self, mut dialect: Capabilities, error: &ProviderError) -> bool {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner).learn(error);
        dialect.learn(error)
    }

    async fn attempt(
        &self,
        request: &Request,
        dialect: Capabilities,
        sinks: &mut [Sink],
        started: Instant,
    ) -> Result<Vec<Result<Finish, ProviderError>>, ProviderError> {
        let (path, body) = protocol::body(&self.http.protocol, self.model.as_deref(), request, sinks.len(), dialect)?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self.http.send(self.http.post(path, body)?, deadline).await?;
        Ok(StreamReader::new(&self.http, sinks, started).read(response, deadline).await)
    }
}
