//! Responses of model servers: server-sent events, and replies in both protocols.

use std::{convert::Infallible, sync::LazyLock, time::Duration};

use futures_util::stream;
use tokio::{runtime::Runtime, time::Instant};

use crate::provider::{
    ANTHROPIC_VERSION, Endpoint, Finish, Generation, Protocol, ProviderError, Secret,
    sse::{SseError, SseEvent, SseParser},
};

use crate::provider::{http::Http, protocol::parse_error_body, stream_reader::StreamReader};

/// Fields, values and line ends of streams.
pub(super) const WORDS: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "data: ",
    "event: error\n",
    "event: ping\n",
    ": note\n",
    "id: 1\n",
    "[DONE]",
    "data: [DONE]\n\n",
    "null",
    "true",
    "-1",
    "0",
    "18446744073709551616",
    "1e999",
    "[]",
    "{}",
    "\"\"",
    "\"choices\":",
    "\"delta\":",
    "\"content\":",
    "\"index\":1,",
    "\"finish_reason\":\"stop\"",
    "\"tool_calls\":",
    "\"function\":",
    "\"arguments\":",
    "\"usage\":",
    "\"error\":",
    "\"logprobs\":",
    "\"message\":",
    "\"type\":\"content_block_start\"",
    "\"type\":\"content_block_delta\"",
    "\"type\":\"message_delta\"",
    "\"type\":\"message_stop\"",
    "\"type\":\"error\"",
    "\"stop_reason\":\"end_turn\"",
    "\\u0000",
    "\\ud83d",
    "<html>",
    KEY,
];

/// Key of the requests, which no error repeats.
const KEY: &str = "sk-fuzz-0123456789";

/// Parses events whole and in pieces: they are the same, and none is longer than the limit.
pub(super) fn sse(bytes: &[u8]) {
    for limit in [48, 1 << 16] {
        let whole = events(bytes, bytes.len().max(1), limit);
        for size in [1, 2 + bytes.len() % 17] {
            assert_eq!(events(bytes, size, limit), whole, "in pieces of {size} bytes");
        }
        assert!(whole.iter().flatten().all(|event| event.data.len() <= limit && event.kind.len() <= limit));
    }
}

fn events(bytes: &[u8], size: usize, limit: usize) -> Result<Vec<SseEvent>, SseError> {
    let (mut parser, mut events) = (SseParser::new(limit), Vec::new());
    for chunk in bytes.chunks(size) {
        parser.push(chunk, &mut events)?;
    }
    events.extend(parser.finish()?);
    Ok(events)
}

/// Reads a response in OpenAI's protocol.
pub(super) fn openai(bytes: &[u8]) {
    static HTTP: LazyLock<Http> = LazyLock::new(|| http(Protocol::OpenAi));
    replies(&HTTP, bytes);
}

/// Reads a response in Anthropic's protocol.
pub(super) fn anthropic(bytes: &[u8]) {
    static HTTP: LazyLock<Http> = LazyLock::new(|| http(Protocol::Anthropic { version: ANTHROPIC_VERSION.to_owned() }));
    replies(&HTTP, bytes);
}

fn http(protocol: Protocol) -> Http {
    Http::new(&Endpoint { protocol, key: Secret::new(KEY), ..Endpoint::at("http://127.0.0.1:9/v1", Some("m")) })
        .unwrap()
}

/// Reads a response whole and in pieces: the replies are the same, and no message repeats the key or a control character.
fn replies(http: &Http, bytes: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap());
    let read = |size: usize| {
        RUNTIME.block_on(async {
            let mut replies = Vec::new();
            for mut generation in generations(http.clone(), bytes.to_vec(), size) {
                let mut text = String::new();
                let end = generation.read_to_string(&mut text).await;
                assert!(generation.next().await.is_none());
                replies.push((text, end));
            }
            replies
        })
    };
    let whole = read(bytes.len().max(1));
    for (_, end) in &whole {
        check_messages(end);
    }
    let comparable = |replies: Vec<(String, Result<Finish, ProviderError>)>| {
        replies.into_iter().map(|(text, end)| (text, outcome(end))).collect::<Vec<_>>()
    };
    let whole = comparable(whole);
    for size in [1, 2 + bytes.len() % 17] {
        assert_eq!(comparable(read(size)), whole, "in pieces of {size} bytes");
    }
    if let Some(report) = parse_error_body(bytes) {
        assert!(report.status.is_none_or(|status| (400..600).contains(&status)));
    }
}

fn generations(http: Http, bytes: Vec<u8>, size: usize) -> Vec<Generation> {
    Generation::spawn_n(2, move |mut sinks| async move {
        let chunks: Vec<Result<Vec<u8>, Infallible>> = bytes.chunks(size).map(|chunk| Ok(chunk.to_vec())).collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        let reader = StreamReader::new(&http, &mut sinks, Instant::now());
        let ends = reader.read_chunks(stream::iter(chunks), deadline).await;
        for (sink, end) in sinks.iter_mut().zip(ends) {
            sink.end(end).await;
        }
    })
}

fn check_messages(end: &Result<Finish, ProviderError>) {
    let texts = match end {
        Ok(finish) => vec![finish.model.clone().unwrap_or_default(), finish.request_id.clone().unwrap_or_default()],
        Err(error) => vec![error.to_string()],
    };
    for text in texts {
        assert!(!text.contains(KEY), "the key is in {text:?}");
        assert!(!text.chars().any(char::is_control), "a control character is in {text:?}");
    }
}

/// Returns the part of a reply's end that does not depend on time or on the position of chunks.
fn outcome(end: Result<Finish, ProviderError>) -> String {
    match end {
        Ok(Finish { reason, calls, usage, logprobs, model, .. }) => {
            format!("{reason:?} {calls:?} {usage:?} {logprobs:?} {model:?}")
        }
        Err(error) => format!("{:?}", error.class()),
    }
}
