//! One streamed answer, from the first byte of the body to its end or its cut, and the replies that are in it.
//!
//! A reply counts as complete only when a finish reason came: an end of the stream, even a `[DONE]`, without
//! one is a cut. Once the finish reason is there, nothing that goes wrong after it makes the reply
//! incomplete. A server that answers with one JSON object instead of a stream is understood too, told
//! by the first byte of the body, since servers are careless about content types.
//!
//! Whatever a server sends, an answer ends: events, the whole stream and the time of mere signs of life have bounds.
//! Left out: reasoning text; it keeps the stream alive and is passed over.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::http::Http;
use super::protocol::{self, DecodedReply, ErrorBody, PartialToolCalls, PartialUsage, StreamPiece};
use super::sse::{SseError, SseEvent, SseParser};
use super::{Finish, FinishReason, Logprob, ProviderError, Sink, StreamError};

/// The longest line, and event, of a stream.
const EVENT_LIMIT: usize = 1024 * 1024;

/// The longest answer in one piece.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// The longest stream; some hundred thousand tokens, each an event.
const STREAM_LIMIT: usize = 64 * 1024 * 1024;

/// How long to wait for the usage once the finish reason is there.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// How long to wait for the end of the body after `[DONE]`, so that the connection can be used again.
const AFTER_DONE: Duration = Duration::from_millis(50);

/// For how many times the time between chunks a server may only say that it is still there.
const SIGNS_OF_LIFE: u32 = 10;

/// What a body turned out to be.
enum ReplyBody {
    /// Only white space so far.
    Unknown,
    Events(SseParser),
    Whole(Vec<u8>),
}

/// Why reading ended before every reply was complete.
enum ReadEnd {
    /// The stream broke off.
    Cut(StreamError),
    /// The server said so.
    Reported(ProviderError),
    /// Nothing came.
    Late(ProviderError),
    /// Nobody reads any more.
    Unwanted,
}

impl From<StreamError> for ReadEnd {
    fn from(cause: StreamError) -> ReadEnd {
        ReadEnd::Cut(cause)
    }
}

impl From<SseError> for ReadEnd {
    fn from(error: SseError) -> ReadEnd {
        ReadEnd::Cut(match error {
            SseError::TooLong(limit) => StreamError::TooLong(limit),
            SseError::Utf8 => StreamError::Garbage(error.to_string()),
        })
    }
}

/// One of the replies of an answer.
struct ReplyChoice<'a> {
    sink: &'a mut Sink,
    /// The finish reason in the server's word; once it is there the reply is complete.
    word: Option<String>,
    refused: bool,
    calls: PartialToolCalls,
    logprobs: Vec<Logprob>,
    first_token: Option<Duration>,
    /// Bytes of text.
    length: usize,
    /// Its reader went away.
    gone: bool,
}

/// An answer while it is read.
pub(crate) struct StreamReader<'a> {
    http: &'a Http,
    started: Instant,
    model: Option<String>,
    request_id: Option<String>,
    usage: PartialUsage,
    choices: Vec<ReplyChoice<'a>>,
}

impl<'a> StreamReader<'a> {
    pub(crate) fn new(http: &'a Http, sinks: &'a mut [Sink], started: Instant) -> StreamReader<'a> {
        let choices = sinks.iter_mut().map(|sink| ReplyChoice {
            sink,
            word: None,
            refused: false,
            calls: PartialToolCalls::default(),
            logprobs: Vec::new(),
            first_token: None,
            length: 0,
            gone: false,
        });
        StreamReader {
            http,
            started,
            model: None,
            request_id: None,
            usage: PartialUsage::default(),
            choices: choices.collect(),
        }
    }

    /// Reads an answer whose head is there; its first byte must come until `first_byte`. Returns how each reply ended.
    pub(crate) async fn read(mut self, response: Response, first_byte: Instant) -> Vec<Result<Finish, ProviderError>> {
        let header = |name: &str| response.headers().get(name).and_then(|id| id.to_str().ok());
        let id = header("x-request-id").or_else(|| header("request-id"));
        self.request_id = id.map(|id| self.http.clean(id));
        let stop = self.pump(response, first_byte).await.err().unwrap_or(ReadEnd::Cut(StreamError::Ended));
        self.results(&stop)
    }

    fn results(self, stop: &ReadEnd) -> Vec<Result<Finish, ProviderError>> {
        let total = self.started.elapsed();
        // What was counted is for those replies that there were.
        let begun = |choice: &ReplyChoice<'_>| choice.word.is_some() || choice.sink.shown();
        let length = |choice: &ReplyChoice<'_>| (choice.length + choice.calls.length()) as u64;
        let lengths: Vec<u64> = self.choices.iter().filter(|choice| begun(choice)).map(length).collect();
        let mut shares = self.usage.usage().map(|usage| usage.shares(&lengths)).unwrap_or_default().into_iter();
        let mut results = Vec::with_capacity(self.choices.len());
        for choice in self.choices {
            let usage = if begun(&choice) { shares.next() } else { None };
            let ReplyChoice { sink, word, refused, calls, logprobs, first_token, gone, .. } = choice;
            let finish = |reason| Finish {
                model: self.model.clone(),
                request_id: self.request_id.clone(),
                usage,
                first_token,
                total,
                ..Finish::new(reason)
            };
            results.push(match (word, stop) {
                _ if gone => Err(ProviderError::Cancelled),
                (Some(word), _) => {
                    let calls = calls.finish();
                    let reason = match protocol::finish_reason(&word, |word| self.http.clean(word)) {
                        _ if refused => FinishReason::Refused,
                        // Not every server has a word for it.
                        FinishReason::Stop if !calls.is_empty() => FinishReason::Calls,
                        reason => reason,
                    };
                    Ok(Finish { calls, logprobs, ..finish(reason) })
                }
                (None, ReadEnd::Unwanted) => Err(ProviderError::Cancelled),
                (None, ReadEnd::Late(error) | ReadEnd::Reported(error)) if !sink.shown() => Err(error.clone()),
                (None, stop) => {
                    let cause = match stop {
                        ReadEnd::Cut(cause) => cause.clone(),
                        ReadEnd::Reported(error) => StreamError::Server(error.said()),
                        ReadEnd::Late(_) | ReadEnd::Unwanted => StreamError::Ended,
                    };
                    if sink.shown() {
                        let so_far = Box::new(Finish { logprobs, ..finish(FinishReason::Interrupted) });
                        Err(ProviderError::Cut { cause, so_far })
                    } else {
                        Err(ProviderError::Broken { cause })
                    }
                }
            });
        }
        results
    }

    fn complete(&self) -> bool {
        self.choices.iter().all(|choice| choice.word.is_some() || choice.gone)
    }

    /// Reads the body to its end.
    async fn pump(&mut self, mut response: Response, first_byte: Instant) -> Result<(), ReadEnd> {
        let mut body = ReplyBody::Unknown;
        let mut deadline = first_byte;
        let mut patience = None;
        let mut read = 0;
        let between = self.http.timeouts.between_chunks;
        let most_idle = between.saturating_mul(SIGNS_OF_LIFE);
        let mut progress = Instant::now();
        loop {
            let chunk = match (timeout_at(deadline, response.chunk()).await, patience) {
                (Ok(Ok(Some(chunk))), _) => chunk,
                (Ok(Ok(None)), _) => return self.end(body).await,
                (Ok(Err(error)), _) => {
                    return Err(StreamError::Connection(self.http.detail(&error)).into());
                }
                (Err(_), None) => return Err(ReadEnd::Late(self.http.too_late())),
                (Err(_), Some(patience)) => return Err(StreamError::Stalled(patience).into()),
            };
            read += chunk.len();
            if read > STREAM_LIMIT {
                return Err(StreamError::TooLong(STREAM_LIMIT).into());
            }
            let mut moved = false;
            if self.take(&mut body, &chunk, &mut moved).await? {
                let _ = timeout_at(Instant::now() + AFTER_DONE, response.chunk()).await;
                return Ok(());
            }
            let now = Instant::now();
            if moved {
                progress = now;
            } else if now - progress > most_idle {
                return Err(StreamError::Stalled(most_idle).into());
            }
            let next = if self.complete() { between.min(AFTER_FINISH) } else { between };
            patience = Some(next);
            deadline = now + next;
        }
    }

    /// Takes the next bytes; true when nothing follows. Sets `moved` if there was more in them than a sign of life.
    async fn take(&mut self, body: &mut ReplyBody, mut chunk: &[u8], moved: &mut bool) -> Result<bool, ReadEnd> {
        if matches!(body, ReplyBody::Unknown) {
            chunk = chunk.trim_ascii_start();
            match chunk.first() {
                None => return Ok(false),
                Some(b'{') => *body = ReplyBody::Whole(Vec::new()),
                Some(b'<') => return Err(StreamError::Garbage(self.excerpt(chunk)).into()),
                Some(_) => *body = ReplyBody::Events(SseParser::new(EVENT_LIMIT)),
            }
        }
        match body {
            ReplyBody::Unknown => Ok(false),
            ReplyBody::Whole(whole) if whole.len() + chunk.len() > ANSWER_LIMIT => {
                Err(StreamError::TooLong(ANSWER_LIMIT).into())
            }
            ReplyBody::Whole(whole) => {
                whole.extend_from_slice(chunk);
                *moved = true;
                Ok(false)
            }
            ReplyBody::Events(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(chunk, &mut events);
                for event in events {
                    let (done, idle) = self.event(&event).await?;
                    *moved |= !idle;
                    if done {
                        return Ok(true);
                    }
                }
                Ok(parsed.map(|()| false)?)
            }
        }
    }

    /// Takes what stands at the end of the body.
    async fn end(&mut self, body: ReplyBody) -> Result<(), ReadEnd> {
        match body {
            ReplyBody::Unknown => Err(StreamError::Ended.into()),
            ReplyBody::Whole(whole) => {
                let answer = self.http.answer(&whole).map_err(|why| self.garbage(&why, &whole))?;
                self.answer(answer).await?;
                Err(StreamError::Unfinished.into())
            }
            ReplyBody::Events(parser) => match parser.finish() {
                // Half an event is what a cut leaves, not garbage.
                Ok(Some(event)) if event.data.trim() == "[DONE]" || self.http.answer(event.data.as_bytes()).is_ok() => {
                    let (done, _) = self.event(&event).await?;
                    if done { Ok(()) } else { Err(StreamError::Ended.into()) }
                }
                _ => Err(StreamError::Ended.into()),
            },
        }
    }

    /// Takes one event; says whether it is the last, and whether it is only a sign of life.
    async fn event(&mut self, event: &SseEvent) -> Result<(bool, bool), ReadEnd> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return self.done();
        }
        if event.kind == "error" {
            let said = protocol::error_of(data.as_bytes())
                .unwrap_or_else(|| ErrorBody { message: Some(data.to_owned()), ..ErrorBody::default() });
            return Err(self.reported(said));
        }
        let answer = self.http.answer(data.as_bytes()).map_err(|why| self.garbage(&why, data.as_bytes()))?;
        let (done, idle) = (answer.done, answer.idle);
        self.answer(answer).await?;
        if done { self.done() } else { Ok((false, idle)) }
    }

    fn done(&self) -> Result<(bool, bool), ReadEnd> {
        if self.complete() { Ok((true, false)) } else { Err(StreamError::Unfinished.into()) }
    }

    async fn answer(&mut self, answer: DecodedReply) -> Result<(), ReadEnd> {
        let clean = |text: String| self.http.clean(&text);
        self.model = answer.model.map(clean).or(self.model.take());
        self.request_id = self.request_id.take().or(answer.id.map(clean));
        self.usage.take(answer.usage);
        if let Some(said) = answer.error {
            return Err(self.reported(said));
        }
        for piece in answer.pieces {
            // What was not asked for is not ours.
            if let Some(choice) = self.choices.get_mut(piece.index) {
                choice.take(piece, self.started).await?;
            }
        }
        if self.choices.iter().all(|choice| choice.gone) { Err(ReadEnd::Unwanted) } else { Ok(()) }
    }

    /// Makes an end of an error that came within an answer that began well.
    fn reported(&self, said: ErrorBody) -> ReadEnd {
        let message = self.http.clean(said.message.as_deref().unwrap_or("an error, with no word about it"));
        let code = said.code.map(|code| self.http.clean(&code));
        ReadEnd::Reported(self.http.error(said.status.unwrap_or(200), code, message, None))
    }

    fn garbage(&self, why: &str, bytes: &[u8]) -> ReadEnd {
        StreamError::Garbage(self.http.clean(&format!("{} ({why})", self.excerpt(bytes)))).into()
    }

    /// The beginning of bytes that should have been something else.
    fn excerpt(&self, bytes: &[u8]) -> String {
        // More than is shown, so that a key at the edge is whole when it is looked for.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(8 * 1024)]);
        let text = self.http.clean(&text);
        if text.chars().count() > 80 { text.chars().take(80).chain(['…']).collect() } else { text }
    }
}

impl ReplyChoice<'_> {
    async fn take(&mut self, piece: StreamPiece, started: Instant) -> Result<(), ReadEnd> {
        self.refused |= piece.refused;
        self.logprobs.extend(piece.logprobs);
        for call in piece.calls {
            self.calls.take(call).map_err(StreamError::Garbage)?;
        }
        if !piece.text.is_empty() && !self.gone {
            self.first_token.get_or_insert_with(|| started.elapsed());
            self.length += piece.text.len();
            self.gone = self.sink.text(piece.text).await.is_err();
        }
        match piece.finish {
            Some(word) if word == "error" => {
                Err(StreamError::Server("an error, with no word about it".to_owned()).into())
            }
            Some(word) => {
                self.word = Some(word);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
