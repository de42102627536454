//! Reads one streamed response and splits it into its replies.
//!
//! A reply is complete only after its finish reason. The end of the stream, even a `[DONE]`, before it is an interruption;
//! errors after it are ignored. A single JSON object instead of a stream is accepted too. The first byte of the body
//! decides, because content types of servers are unreliable.
//!
//! Reading always ends: the size of events and of the stream, and the time of keep-alives without progress are bounded.
//! Left out: reasoning text, which counts as progress and is dropped.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt as _};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::http::Http;
use super::protocol::{self, DecodedReply, ErrorBody, PartialToolCalls, PartialUsage, StreamPiece};
use super::sse::{SseError, SseEvent, SseParser};
use super::{Finish, FinishReason, Logprob, ProviderError, Sink, StreamError};

/// Size limit of a line and of an event.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Size limit of a response that is one JSON object.
const MAX_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// Size limit of a stream; enough for several hundred thousand tokens with one event each.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;

/// Time limit between chunks after the finish reason, when only the usage is missing.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the end of the body after the last event, which makes the connection reusable.
const BODY_END_TIMEOUT: Duration = Duration::from_millis(50);

/// Limit of the time without progress, as a multiple of [`Timeouts::between_chunks`](super::Timeouts::between_chunks).
const MAX_KEEPALIVES: u32 = 10;

/// Format of a response body.
enum ReplyBody {
    /// Undecided: only white space so far.
    Unknown,
    Events(SseParser),
    Whole(Vec<u8>),
}

/// Reason why reading ended before every reply was complete.
enum ReadEnd {
    /// The stream failed or ended early.
    Broken(StreamError),
    /// The server reported an error in the stream.
    ServerError(ProviderError),
    /// The first byte did not arrive in time.
    TimedOut(ProviderError),
    /// All receivers were dropped.
    ReceiverGone,
}

impl From<StreamError> for ReadEnd {
    fn from(cause: StreamError) -> ReadEnd {
        ReadEnd::Broken(cause)
    }
}

impl From<SseError> for ReadEnd {
    fn from(error: SseError) -> ReadEnd {
        ReadEnd::Broken(match error {
            SseError::TooLong(limit) => StreamError::TooLong(limit),
            SseError::Utf8 => StreamError::Malformed(error.to_string()),
        })
    }
}

/// One of the replies (choices) of a response.
struct ReplyChoice<'a> {
    sink: &'a mut Sink,
    /// Finish reason as the server reports it; when set, the reply is complete.
    finish: Option<String>,
    refused: bool,
    calls: PartialToolCalls,
    logprobs: Vec<Logprob>,
    first_token: Option<Duration>,
    /// Length of the emitted text in bytes.
    text_bytes: usize,
    /// True if the receiver was dropped.
    gone: bool,
}

/// Reader of one response.
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
            finish: None,
            refused: false,
            calls: PartialToolCalls::default(),
            logprobs: Vec::new(),
            first_token: None,
            text_bytes: 0,
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

    /// Reads the body of a response, whose first byte must arrive before `first_byte`. Returns the result of each reply.
    pub(crate) async fn read(mut self, response: Response, first_byte: Instant) -> Vec<Result<Finish, ProviderError>> {
        let header = |name: &str| response.headers().get(name).and_then(|id| id.to_str().ok());
        let id = header("x-request-id").or_else(|| header("request-id"));
        self.request_id = id.map(|id| self.http.clean(id));
        self.read_chunks(response.bytes_stream(), first_byte).await
    }

    /// Reads a body in chunks, without headers. Returns the result of each reply.
    pub(crate) async fn read_chunks<B, E>(
        mut self,
        body: impl Stream<Item = Result<B, E>>,
        first_byte: Instant,
    ) -> Vec<Result<Finish, ProviderError>>
    where
        B: AsRef<[u8]>,
        E: std::error::Error,
    {
        let body = std::pin::pin!(body);
        let end = self.read_body(body, first_byte).await.err().unwrap_or(ReadEnd::Broken(StreamError::ClosedEarly));
        self.results(&end)
    }

    fn results(self, end: &ReadEnd) -> Vec<Result<Finish, ProviderError>> {
        let total = self.started.elapsed();
        // The usage is split among the replies that have begun.
        let has_begun = |choice: &ReplyChoice<'_>| choice.finish.is_some() || choice.sink.has_emitted();
        let length = |choice: &ReplyChoice<'_>| (choice.text_bytes + choice.calls.length()) as u64;
        let lengths: Vec<u64> = self.choices.iter().filter(|choice| has_begun(choice)).map(length).collect();
        let has_output = self.usage.output.is_some();
        let mut shares = self.usage.usage().map(|usage| usage.split(&lengths)).unwrap_or_default().into_iter();
        let mut results = Vec::with_capacity(self.choices.len());
        for choice in self.choices {
            let usage = if has_begun(&choice) { shares.next() } else { None };
            let ReplyChoice { sink, finish: reason, refused, calls, logprobs, first_token, gone, .. } = choice;
            // Of an interrupted reply some servers counted the prompt alone.
            let usage_of = |reason: &FinishReason| usage.filter(|_| has_output || *reason != FinishReason::Interrupted);
            let finish = |reason| Finish {
                model: self.model.clone(),
                request_id: self.request_id.clone(),
                usage: usage_of(&reason),
                first_token,
                total,
                ..Finish::new(reason)
            };
            results.push(match (reason, end) {
                _ if gone => Err(ProviderError::Cancelled),
                (Some(reason), _) => {
                    let calls = calls.finish();
                    let reason = match protocol::finish_reason(&reason, |other| self.http.clean(other)) {
                        _ if refused => FinishReason::Refused,
                        // Some servers report `stop` for a reply with tool calls.
                        FinishReason::Stop if !calls.is_empty() => FinishReason::Calls,
                        reason => reason,
                    };
                    Ok(Finish { calls, logprobs, ..finish(reason) })
                }
                (None, ReadEnd::ReceiverGone) => Err(ProviderError::Cancelled),
                (None, ReadEnd::TimedOut(error) | ReadEnd::ServerError(error)) if !sink.has_emitted() => {
                    Err(error.clone())
                }
                (None, end) => {
                    let cause = match end {
                        ReadEnd::Broken(cause) => cause.clone(),
                        ReadEnd::ServerError(error) => StreamError::Server(error.server_message()),
                        ReadEnd::TimedOut(_) | ReadEnd::ReceiverGone => StreamError::ClosedEarly,
                    };
                    if sink.has_emitted() {
                        let so_far = Box::new(Finish { logprobs, ..finish(FinishReason::Interrupted) });
                        Err(ProviderError::Interrupted { cause, so_far })
                    } else {
                        Err(ProviderError::Broken { cause })
                    }
                }
            });
        }
        results
    }

    fn complete(&self) -> bool {
        self.choices.iter().all(|choice| choice.finish.is_some() || choice.gone)
    }

    /// Reads the body to its end.
    async fn read_body<B, E>(
        &mut self,
        mut chunks: Pin<&mut impl Stream<Item = Result<B, E>>>,
        first_byte: Instant,
    ) -> Result<(), ReadEnd>
    where
        B: AsRef<[u8]>,
        E: std::error::Error,
    {
        let mut body = ReplyBody::Unknown;
        let mut deadline = first_byte;
        let mut chunk_timeout = None;
        let mut read = 0;
        let between = self.http.timeouts.between_chunks;
        let max_idle = between.saturating_mul(MAX_KEEPALIVES);
        let mut progress = Instant::now();
        loop {
            let chunk = match (timeout_at(deadline, chunks.next()).await, chunk_timeout) {
                (Ok(Some(Ok(chunk))), _) => chunk,
                (Ok(None), _) => return self.process_end(body).await,
                (Ok(Some(Err(error))), _) => {
                    return Err(StreamError::Connection(self.http.detail(&error)).into());
                }
                (Err(_), None) => return Err(ReadEnd::TimedOut(self.http.first_byte_timeout())),
                (Err(_), Some(chunk_timeout)) => return Err(StreamError::Stalled(chunk_timeout).into()),
            };
            let chunk = chunk.as_ref();
            read += chunk.len();
            if read > MAX_STREAM_BYTES {
                return Err(StreamError::TooLong(MAX_STREAM_BYTES).into());
            }
            let mut progressed = false;
            if self.process(&mut body, chunk, &mut progressed).await? {
                let _ = timeout_at(Instant::now() + BODY_END_TIMEOUT, chunks.next()).await;
                return Ok(());
            }
            let now = Instant::now();
            if progressed {
                progress = now;
            } else if now - progress > max_idle {
                return Err(StreamError::Stalled(max_idle).into());
            }
            let next = if self.complete() { between.min(USAGE_TIMEOUT) } else { between };
            chunk_timeout = Some(next);
            deadline = now + next;
        }
    }

    /// Processes the next bytes; returns whether the stream is complete. Sets `progressed` unless all are keep-alives.
    async fn process(
        &mut self,
        body: &mut ReplyBody,
        mut chunk: &[u8],
        progressed: &mut bool,
    ) -> Result<bool, ReadEnd> {
        if matches!(body, ReplyBody::Unknown) {
            chunk = chunk.trim_ascii_start();
            match chunk.first() {
                None => return Ok(false),
                Some(b'{') => *body = ReplyBody::Whole(Vec::new()),
                Some(b'<') => return Err(StreamError::Malformed(self.excerpt(chunk)).into()),
                Some(_) => *body = ReplyBody::Events(SseParser::new(MAX_EVENT_BYTES)),
            }
        }
        match body {
            ReplyBody::Unknown => Ok(false),
            ReplyBody::Whole(whole) if whole.len() + chunk.len() > MAX_OBJECT_BYTES => {
                Err(StreamError::TooLong(MAX_OBJECT_BYTES).into())
            }
            ReplyBody::Whole(whole) => {
                whole.extend_from_slice(chunk);
                *progressed = true;
                Ok(false)
            }
            ReplyBody::Events(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(chunk, &mut events);
                for event in events {
                    let (done, idle) = self.process_event(&event).await?;
                    *progressed |= !idle;
                    if done {
                        return Ok(true);
                    }
                }
                Ok(parsed.map(|()| false)?)
            }
        }
    }

    /// Processes the end of the body; errors unless a complete event or object is left.
    async fn process_end(&mut self, body: ReplyBody) -> Result<(), ReadEnd> {
        match body {
            ReplyBody::Unknown => Err(StreamError::ClosedEarly.into()),
            ReplyBody::Whole(whole) => {
                let decoded = self.http.decode(&whole).map_err(|why| self.malformed(&why, &whole))?;
                self.apply(decoded).await?;
                Err(StreamError::NoFinishReason.into())
            }
            ReplyBody::Events(parser) => match parser.finish() {
                // An incomplete event is the remainder of a closed stream, not malformed data.
                Ok(Some(event)) if event.data.trim() == "[DONE]" || self.http.decode(event.data.as_bytes()).is_ok() => {
                    let (done, _) = self.process_event(&event).await?;
                    if done { Ok(()) } else { Err(StreamError::ClosedEarly.into()) }
                }
                _ => Err(StreamError::ClosedEarly.into()),
            },
        }
    }

    /// Processes one event; returns whether it is the last, and whether it is only a keep-alive.
    async fn process_event(&mut self, event: &SseEvent) -> Result<(bool, bool), ReadEnd> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return self.done();
        }
        if event.kind == "error" {
            let report = protocol::parse_error_body(data.as_bytes())
                .unwrap_or_else(|| ErrorBody { message: Some(data.to_owned()), ..ErrorBody::default() });
            return Err(self.server_error(report));
        }
        let decoded = self.http.decode(data.as_bytes()).map_err(|why| self.malformed(&why, data.as_bytes()))?;
        let (done, idle) = (decoded.done, decoded.idle);
        self.apply(decoded).await?;
        if done { self.done() } else { Ok((false, idle)) }
    }

    fn done(&self) -> Result<(bool, bool), ReadEnd> {
        if self.complete() { Ok((true, false)) } else { Err(StreamError::NoFinishReason.into()) }
    }

    async fn apply(&mut self, decoded: DecodedReply) -> Result<(), ReadEnd> {
        let clean = |text: String| self.http.clean(&text);
        self.model = decoded.model.map(clean).or(self.model.take());
        self.request_id = self.request_id.take().or(decoded.id.map(clean));
        self.usage.take(decoded.usage);
        if let Some(report) = decoded.error {
            return Err(self.server_error(report));
        }
        for piece in decoded.pieces {
            // Replies beyond the requested number are dropped.
            if let Some(choice) = self.choices.get_mut(piece.index) {
                choice.apply(piece, self.started).await?;
            }
        }
        if self.choices.iter().all(|choice| choice.gone) { Err(ReadEnd::ReceiverGone) } else { Ok(()) }
    }

    /// Makes an end from an error inside a response with a success status.
    fn server_error(&self, report: ErrorBody) -> ReadEnd {
        let message = self.http.clean(report.message.as_deref().unwrap_or("an error without a message"));
        let code = report.code.map(|code| self.http.clean(&code));
        ReadEnd::ServerError(self.http.error(report.status.unwrap_or(200), code, message, None))
    }

    fn malformed(&self, why: &str, bytes: &[u8]) -> ReadEnd {
        StreamError::Malformed(self.http.clean(&format!("{} ({why})", self.excerpt(bytes)))).into()
    }

    /// Returns the first characters of unexpected bytes, for an error message.
    fn excerpt(&self, bytes: &[u8]) -> String {
        // Longer than the excerpt, so that a key at its end is complete and found.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(8 * 1024)]);
        let text = self.http.clean(&text);
        if text.chars().count() > 80 { text.chars().take(80).chain(['…']).collect() } else { text }
    }
}

impl ReplyChoice<'_> {
    async fn apply(&mut self, piece: StreamPiece, started: Instant) -> Result<(), ReadEnd> {
        self.refused |= piece.refused;
        self.logprobs.extend(piece.logprobs);
        for call in piece.calls {
            self.calls.take(call).map_err(StreamError::Malformed)?;
        }
        if !piece.text.is_empty() && !self.gone {
            self.first_token.get_or_insert_with(|| started.elapsed());
            self.text_bytes += piece.text.len();
            self.gone = self.sink.text(piece.text).await.is_err();
        }
        match piece.finish {
            Some(reason) if reason == "error" => {
                Err(StreamError::Server("an error without a message".to_owned()).into())
            }
            Some(reason) => {
                self.finish = Some(reason);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
