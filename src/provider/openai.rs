//! The client for servers that speak OpenAI's `/chat/completions` and `/completions`.
//!
//! A reply counts as complete only when a finish reason came: an end of the stream, even a `[DONE]`, without
//! one is a cut. Once the finish reason is there, nothing that goes wrong after it makes the reply
//! incomplete. A server that answers with one JSON object instead of a stream is understood too, told
//! by the first byte of the body, since servers are careless about content types.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::discover::{self, first_model};
use super::http::Http;
use super::sse::{Parser, SseError, SseEvent};
use super::wire::{self, Answer, Dialect, Said};
use super::{
    CutCause, DEFAULT_PARALLEL, Endpoint, Finish, FinishReason, Generation, Model, ProviderError,
    Request, Retry, Sampling, Sink,
};

/// The longest line, and event, of a stream.
const EVENT_LIMIT: usize = 1024 * 1024;

/// The longest answer in one piece.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// How long to wait for the usage once the finish reason is there.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// How long to wait for the end of the body after `[DONE]`, so that the connection can be used again.
const AFTER_DONE: Duration = Duration::from_millis(50);

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
        Ok(OpenAi {
            inner: Arc::new(inner),
            retry: Retry::default(),
        })
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
                    let first = endpoint
                        .model
                        .is_none()
                        .then(|| first_model(&listed))
                        .flatten();
                    if endpoint.model.is_none() && first.is_none() {
                        let host = http.host();
                        return Err(ProviderError::configuration(format!(
                            "{host} lists no models; name one"
                        )));
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
        Generation::spawn(
            move |sink| async move { inner.run(&request, sink, retry, started).await },
        )
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
        let mut dialect = Dialect {
            usage: true,
            completion_tokens: self.http.is_openai(),
        };
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
            let wait = retry
                .wait(attempt, &error, rand::random())
                .filter(|_| !sink.shown());
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
        let body = serde_json::to_vec(&body).map_err(|error| {
            ProviderError::configuration(format!("cannot write the request: {error}"))
        })?;
        let deadline = Instant::now() + self.http.timeouts.first_byte;
        let response = self
            .http
            .send(self.http.post(path, body)?, deadline)
            .await?;
        let id = response
            .headers()
            .get("x-request-id")
            .and_then(|id| id.to_str().ok());
        let finish = Finish {
            reason: FinishReason::Interrupted,
            model: None,
            request_id: id.map(|id| self.http.clean(id)),
            usage: None,
            first_token: None,
            total: Duration::ZERO,
        };
        let reply = Reply {
            http: &self.http,
            sink,
            started,
            finish,
            word: None,
            refused: false,
        };
        reply.read(response, deadline).await
    }
}

/// A server that does not know `stream_options` and minds.
fn refuses_usage(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Http { status: 400 | 422, message, .. } if message.contains("stream_options"))
}

/// What a body turned out to be.
enum Body {
    /// Only white space so far.
    Unknown,
    Events(Parser),
    Whole(Vec<u8>),
}

/// Why reading ended before the reply was complete.
enum Stop {
    /// The stream broke off.
    Cut(CutCause),
    /// The server, or the caller, said so.
    Error(ProviderError),
}

impl From<CutCause> for Stop {
    fn from(cause: CutCause) -> Stop {
        Stop::Cut(cause)
    }
}

impl From<SseError> for Stop {
    fn from(error: SseError) -> Stop {
        Stop::Cut(match error {
            SseError::TooLong(limit) => CutCause::TooLong(limit),
            SseError::Utf8 => CutCause::Garbage(error.to_string()),
        })
    }
}

/// A reply while it is read.
struct Reply<'a> {
    http: &'a Http,
    sink: &'a mut Sink,
    started: Instant,
    finish: Finish,
    /// The finish reason in the server's word; once it is there the reply is complete.
    word: Option<String>,
    refused: bool,
}

impl Reply<'_> {
    async fn read(
        mut self,
        response: Response,
        first_byte: Instant,
    ) -> Result<Finish, ProviderError> {
        let stop = self.pump(response, first_byte).await.err();
        self.finish.total = self.started.elapsed();
        match (self.word.take(), stop) {
            (_, Some(Stop::Error(ProviderError::Cancelled))) => Err(ProviderError::Cancelled),
            (Some(word), _) => {
                self.finish.reason = wire::finish_reason(&word, |word| self.http.clean(word));
                if self.refused {
                    self.finish.reason = FinishReason::Refused;
                }
                Ok(self.finish)
            }
            (None, Some(Stop::Error(error))) => Err(error),
            (None, stop) => {
                let cause = match stop {
                    Some(Stop::Cut(cause)) => cause,
                    _ => CutCause::Ended,
                };
                Err(if self.sink.shown() {
                    ProviderError::Cut {
                        cause,
                        so_far: Box::new(self.finish),
                    }
                } else {
                    ProviderError::Broken { cause }
                })
            }
        }
    }

    /// Reads the body to its end.
    async fn pump(&mut self, mut response: Response, first_byte: Instant) -> Result<(), Stop> {
        let mut body = Body::Unknown;
        let mut deadline = first_byte;
        let mut patience = None;
        loop {
            let chunk = match (timeout_at(deadline, response.chunk()).await, patience) {
                (Ok(Ok(Some(chunk))), _) => chunk,
                (Ok(Ok(None)), _) => return self.end(body).await,
                (Ok(Err(error)), _) => {
                    return Err(CutCause::Connection(self.http.detail(&error)).into());
                }
                (Err(_), None) => return Err(Stop::Error(self.http.too_late())),
                (Err(_), Some(patience)) => return Err(CutCause::Stalled(patience).into()),
            };
            if self.take(&mut body, &chunk).await? {
                let _ = timeout_at(Instant::now() + AFTER_DONE, response.chunk()).await;
                return Ok(());
            }
            let between = self.http.timeouts.between_chunks;
            let next = if self.word.is_some() {
                between.min(AFTER_FINISH)
            } else {
                between
            };
            patience = Some(next);
            deadline = Instant::now() + next;
        }
    }

    /// Takes the next bytes; true after `[DONE]`.
    async fn take(&mut self, body: &mut Body, mut chunk: &[u8]) -> Result<bool, Stop> {
        if matches!(body, Body::Unknown) {
            chunk = chunk.trim_ascii_start();
            match chunk.first() {
                None => return Ok(false),
                Some(b'{') => *body = Body::Whole(Vec::new()),
                Some(b'<') => return Err(CutCause::Garbage(self.excerpt(chunk)).into()),
                Some(_) => *body = Body::Events(Parser::new(EVENT_LIMIT)),
            }
        }
        match body {
            Body::Unknown => Ok(false),
            Body::Whole(whole) if whole.len() + chunk.len() > ANSWER_LIMIT => {
                Err(CutCause::TooLong(ANSWER_LIMIT).into())
            }
            Body::Whole(whole) => {
                whole.extend_from_slice(chunk);
                Ok(false)
            }
            Body::Events(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(chunk, &mut events);
                for event in events {
                    if self.event(&event).await? {
                        return Ok(true);
                    }
                }
                Ok(parsed.map(|()| false)?)
            }
        }
    }

    /// Takes what stands at the end of the body.
    async fn end(&mut self, body: Body) -> Result<(), Stop> {
        match body {
            Body::Unknown => Err(CutCause::Ended.into()),
            Body::Whole(whole) => {
                let answer = wire::answer(&whole).map_err(|why| self.garbage(&why, &whole))?;
                self.answer(answer).await?;
                Err(CutCause::Unfinished.into())
            }
            Body::Events(parser) => match parser.finish() {
                // Half an event is what a cut leaves, not garbage.
                Ok(Some(event))
                    if event.data.trim() == "[DONE]"
                        || wire::answer(event.data.as_bytes()).is_ok() =>
                {
                    let done = self.event(&event).await?;
                    if done {
                        Ok(())
                    } else {
                        Err(CutCause::Ended.into())
                    }
                }
                _ => Err(CutCause::Ended.into()),
            },
        }
    }

    /// Takes one event; true if it is `[DONE]`.
    async fn event(&mut self, event: &SseEvent) -> Result<bool, Stop> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return if self.word.is_some() {
                Ok(true)
            } else {
                Err(CutCause::Unfinished.into())
            };
        }
        if event.kind == "error" {
            let said = wire::error_of(data.as_bytes()).unwrap_or_else(|| Said {
                message: Some(data.to_owned()),
                ..Said::default()
            });
            return Err(self.reported(said));
        }
        let answer =
            wire::answer(data.as_bytes()).map_err(|why| self.garbage(&why, data.as_bytes()))?;
        self.answer(answer).await.map(|()| false)
    }

    async fn answer(&mut self, answer: Answer) -> Result<(), Stop> {
        let clean = |text: String| self.http.clean(&text);
        self.finish.model = answer.model.map(clean).or(self.finish.model.take());
        self.finish.request_id = self.finish.request_id.take().or(answer.id.map(clean));
        self.finish.usage = answer.usage.or(self.finish.usage);
        self.refused |= answer.refused;
        if let Some(said) = answer.error {
            return Err(self.reported(said));
        }
        if !answer.text.is_empty() {
            let started = self.started;
            self.finish
                .first_token
                .get_or_insert_with(|| started.elapsed());
            self.sink.text(answer.text).await.map_err(Stop::Error)?;
        }
        match answer.finish {
            Some(word) if word == "error" => {
                Err(CutCause::Server("an error, with no word about it".to_owned()).into())
            }
            Some(word) => {
                self.word = Some(word);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Makes an end of an error that came within an answer that began well.
    fn reported(&self, said: Said) -> Stop {
        let message = self.http.clean(
            said.message
                .as_deref()
                .unwrap_or("an error, with no word about it"),
        );
        if self.sink.shown() {
            return CutCause::Server(message).into();
        }
        let code = said.code.map(|code| self.http.clean(&code));
        let status = said.status.unwrap_or(200);
        Stop::Error(self.http.error(status, code, message, None))
    }

    fn garbage(&self, why: &str, bytes: &[u8]) -> Stop {
        CutCause::Garbage(self.http.clean(&format!("{} ({why})", self.excerpt(bytes)))).into()
    }

    /// The beginning of bytes that should have been something else.
    fn excerpt(&self, bytes: &[u8]) -> String {
        // More than is shown, so that a key at the edge is whole when it is looked for.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(8 * 1024)]);
        let text = self.http.clean(&text);
        if text.chars().count() > 80 {
            text.chars().take(80).chain(['…']).collect()
        } else {
            text
        }
    }
}
