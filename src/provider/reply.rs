//! One streamed reply, from the first byte of the body to its end or its cut.
//!
//! A reply counts as complete only when a finish reason came: an end of the stream, even a `[DONE]`, without
//! one is a cut. Once the finish reason is there, nothing that goes wrong after it makes the reply
//! incomplete. A server that answers with one JSON object instead of a stream is understood too, told
//! by the first byte of the body, since servers are careless about content types.
//!
//! Left out: reasoning text and tool calls within the stream; they keep it alive and are passed over.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::http::Http;
use super::sse::{Parser, SseError, SseEvent};
use super::wire::{self, Answer, Said};
use super::{CutCause, Finish, FinishReason, ProviderError, Sink};

/// The longest line, and event, of a stream.
const EVENT_LIMIT: usize = 1024 * 1024;

/// The longest answer in one piece.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// How long to wait for the usage once the finish reason is there.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// How long to wait for the end of the body after `[DONE]`, so that the connection can be used again.
const AFTER_DONE: Duration = Duration::from_millis(50);

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
pub(crate) struct Reply<'a> {
    http: &'a Http,
    sink: &'a mut Sink,
    started: Instant,
    finish: Finish,
    /// The finish reason in the server's word; once it is there the reply is complete.
    word: Option<String>,
    refused: bool,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(http: &'a Http, sink: &'a mut Sink, started: Instant) -> Reply<'a> {
        let finish = Finish {
            reason: FinishReason::Interrupted,
            model: None,
            request_id: None,
            usage: None,
            first_token: None,
            total: Duration::ZERO,
        };
        Reply { http, sink, started, finish, word: None, refused: false }
    }

    /// Reads an answer whose head is there; its first byte must come until `first_byte`.
    pub(crate) async fn read(mut self, response: Response, first_byte: Instant) -> Result<Finish, ProviderError> {
        let id = response.headers().get("x-request-id").and_then(|id| id.to_str().ok());
        self.finish.request_id = id.map(|id| self.http.clean(id));
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
                    ProviderError::Cut { cause, so_far: Box::new(self.finish) }
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
            let next = if self.word.is_some() { between.min(AFTER_FINISH) } else { between };
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
                Ok(Some(event)) if event.data.trim() == "[DONE]" || wire::answer(event.data.as_bytes()).is_ok() => {
                    let done = self.event(&event).await?;
                    if done { Ok(()) } else { Err(CutCause::Ended.into()) }
                }
                _ => Err(CutCause::Ended.into()),
            },
        }
    }

    /// Takes one event; true if it is `[DONE]`.
    async fn event(&mut self, event: &SseEvent) -> Result<bool, Stop> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return if self.word.is_some() { Ok(true) } else { Err(CutCause::Unfinished.into()) };
        }
        if event.kind == "error" {
            let said = wire::error_of(data.as_bytes())
                .unwrap_or_else(|| Said { message: Some(data.to_owned()), ..Said::default() });
            return Err(self.reported(said));
        }
        let answer = wire::answer(data.as_bytes()).map_err(|why| self.garbage(&why, data.as_bytes()))?;
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
            self.finish.first_token.get_or_insert_with(|| started.elapsed());
            self.sink.text(answer.text).await.map_err(Stop::Error)?;
        }
        match answer.finish {
            Some(word) if word == "error" => Err(CutCause::Server("an error, with no word about it".to_owned()).into()),
            Some(word) => {
                self.word = Some(word);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Makes an end of an error that came within an answer that began well.
    fn reported(&self, said: Said) -> Stop {
        let message = self.http.clean(said.message.as_deref().unwrap_or("an error, with no word about it"));
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
        if text.chars().count() > 80 { text.chars().take(80).chain(['…']).collect() } else { text }
    }
}
