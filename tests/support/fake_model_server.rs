//! A loopback model server whose every answer is a script, down to how the connection ends.
//!
//! It implements the needed part of HTTP/1.1: requests with `Content-Length`, answers as the bytes of the script.
//! Requests are recorded, and answered by the scripts in order of arrival.

#![allow(dead_code)] // each test program uses what it needs

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use loomtree::provider::{Finish, Generation, ProviderError, StreamEvent};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Writes bytes in one piece.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Waits for [`Server::release`].
    Hold,
    /// Waits until the client closes, and counts that in [`Server::client_closed`].
    Stall,
    /// Closes with a reset instead of an orderly end.
    Reset,
    /// Reads the next request on the same connection.
    KeepAlive,
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// `POST /v1/completions`.
    pub(crate) line: String,
    /// Header names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body as JSON, null if there is none.
    pub(crate) body: serde_json::Value,
    /// When it was complete.
    pub(crate) at: Instant,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Recorded {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
struct Shared {
    scripts: Mutex<VecDeque<Vec<Step>>>,
    /// The answer to each `GET`; `None`: the next script.
    models: Option<Vec<Step>>,
    requests: Mutex<Vec<Recorded>>,
    gate: tokio::sync::Notify,
}

/// The server; it stops when the runtime does.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    closed: watch::Receiver<usize>,
}

impl Server {
    /// Starts a server with one script for each request to come.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> Server {
        Self::serve(None, scripts).await
    }

    /// Starts a server that lists one model whenever a client asks for models, with one script for each other request.
    pub(crate) async fn with_model(name: &str, scripts: impl IntoIterator<Item = Vec<Step>>) -> Server {
        Self::serve(Some(models(&[(name, "somebody")])), scripts).await
    }

    async fn serve(models: Option<Vec<Step>>, scripts: impl IntoIterator<Item = Vec<Step>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { models, ..Shared::default() });
        shared.scripts.lock().unwrap().extend(scripts);
        let (sender, closed) = watch::channel(0);
        let (serving, sender) = (Arc::clone(&shared), Arc::new(sender));
        tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, sender) = (Arc::clone(&serving), Arc::clone(&sender));
                tokio::spawn(async move { serve(stream, connection, &shared, &sender).await });
            }
        });
        Server { address, shared, closed }
    }

    /// Adds scripts for requests after those that have one.
    pub(crate) fn then(&self, scripts: impl IntoIterator<Item = Vec<Step>>) {
        self.shared.scripts.lock().unwrap().extend(scripts);
    }

    /// Lets one answer go on that holds, now or later.
    pub(crate) fn release(&self) {
        self.shared.gate.notify_one();
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until `count` connections that were stalling have been closed by the client.
    pub(crate) async fn client_closed(&self, count: usize) {
        let mut closed = self.closed.clone();
        let waited = tokio::time::timeout(Duration::from_secs(5), closed.wait_for(|seen| *seen >= count)).await;
        waited.expect("the client closes its connection").unwrap();
    }
}

async fn serve(mut stream: TcpStream, connection: usize, shared: &Shared, closed: &watch::Sender<usize>) {
    stream.set_nodelay(true).unwrap();
    'requests: while let Some(request) = read_request(&mut stream, connection).await {
        let list = shared.models.clone().filter(|_| request.line.starts_with("GET"));
        shared.requests.lock().unwrap().push(request);
        let script = list.or_else(|| shared.scripts.lock().unwrap().pop_front());
        for step in script.unwrap_or_else(|| status(599, "", "the test has no script for this request")) {
            match step {
                // The next step detects a closed client.
                Step::Send(bytes) => _ = stream.write_all(&bytes).await,
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Hold => shared.gate.notified().await,
                Step::Stall => {
                    let mut byte = [0];
                    let _ = stream.read(&mut byte).await;
                    closed.send_modify(|seen| *seen += 1);
                }
                Step::Reset => stream.set_zero_linger().unwrap(),
                Step::KeepAlive => continue 'requests,
            }
        }
        return;
    }
}

async fn read_request(stream: &mut TcpStream, connection: usize) -> Option<Recorded> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let body = if length == 0 { serde_json::Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Some(Recorded { line, headers, body, at: Instant::now(), connection })
}

/// The head of a stream that ends with the connection.
pub(crate) fn head() -> Step {
    Step::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req-1\r\nconnection: close\r\n\r\n"
            .to_vec(),
    )
}

/// The head of a stream in HTTP chunks, made with [`chunk`] and ended with [`last_chunk`].
pub(crate) fn chunked_head() -> Step {
    Step::Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec())
}

/// One HTTP chunk.
pub(crate) fn chunk(body: &str) -> Step {
    Step::Send(format!("{:x}\r\n{body}\r\n", body.len()).into_bytes())
}

/// The chunk that ends a body.
pub(crate) fn last_chunk() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// Plain bytes of a body.
pub(crate) fn send(body: impl AsRef<[u8]>) -> Step {
    Step::Send(body.as_ref().to_vec())
}

/// A wait in milliseconds.
pub(crate) fn wait(milliseconds: u64) -> Step {
    Step::Wait(Duration::from_millis(milliseconds))
}

/// An event of a chat with more text.
pub(crate) fn text(text: &str) -> String {
    let chunk = serde_json::json!({"id": "c-1", "model": "m-1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

/// The event of a chat with the finish reason.
pub(crate) fn finish(reason: &str) -> String {
    let chunk = serde_json::json!({"id": "c-1", "model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {chunk}\n\n")
}

/// The event with the usage, as OpenAI sends it: after the finish reason, without choices.
pub(crate) fn usage(prompt: u64, cached: u64, output: u64) -> String {
    let chunk = serde_json::json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": cached}}});
    format!("data: {chunk}\n\n")
}

/// The event that ends a stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A whole good answer of one text.
pub(crate) fn good(reply: &str) -> Vec<Step> {
    vec![head(), send(text(reply)), send(finish("stop")), send(DONE)]
}

/// An answer with a status, a header line (or none) and a body.
pub(crate) fn status(status: u16, header: &str, body: &str) -> Vec<Step> {
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let length = body.len();
    vec![send(format!("HTTP/1.1 {status} X\r\n{header}content-length: {length}\r\nconnection: close\r\n\r\n{body}"))]
}

/// A list of models, each an id and an owner.
pub(crate) fn models(models: &[(&str, &str)]) -> Vec<Step> {
    let data: Vec<_> = models.iter().map(|(id, owner)| serde_json::json!({"id": id, "owned_by": owner})).collect();
    status(200, "content-type: application/json", &serde_json::json!({"object": "list", "data": data}).to_string())
}

/// A key that must not show up anywhere.
pub(crate) const KEY: &str = "sk-very-secret";

/// Reads a stream to its end: the text, and the final item.
pub(crate) async fn all(mut reply: Generation) -> (String, Result<Finish, ProviderError>) {
    let mut text = String::new();
    loop {
        let last = match reply.next().await.expect("a terminal item") {
            Ok(StreamEvent::Text(piece)) => {
                assert!(!piece.is_empty());
                text.push_str(&piece);
                continue;
            }
            Ok(StreamEvent::Done(finish)) => Ok(finish),
            Ok(other) => panic!("an unknown event: {other:?}"),
            Err(error) => Err(error),
        };
        assert_eq!(reply.next().await, None, "nothing follows the terminal item");
        return (text, last);
    }
}
