//! Recording proxy: passes calls of models' APIs to their provider and records them as trees.
//!
//! What the provider sends is passed on as it comes, and a copy is recorded after the answer has ended. Keys are passed
//! on and never stored. A failure of the recording never fails a call; a metric counts it. A call asks for an uncompressed
//! answer. Cookies and tokens of this server are not passed on. Nothing else in the request changes.

mod reply;

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
    routing::any,
};
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    access::bearer_token,
    browser_login,
    call_recorder::{RecordedCall, record},
    caller::Caller,
    error::{ApiError, Result},
    state::AppState,
    token::TOKEN_PREFIX,
};
use crate::{id::NodeId, tools::Tool};
use reply::{Dialect, read_calls};

/// Largest recorded answer, in bytes. A longer one is passed on and not recorded.
const MAX_RECORDED_BYTES: usize = 32 << 20;

/// Header with the node of the reply, once it is recorded.
const NODE_HEADER: HeaderName = HeaderName::from_static("x-loom-node");

/// Header with the key of a provider, where it is no bearer token.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Headers that belong to one connection, or to this server.
const OWN_HEADERS: [&str; 12] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "accept-encoding",
    "expect",
];

/// Base URLs of the providers.
#[derive(Debug, Clone)]
pub struct Upstreams {
    /// Base URL of OpenAI's API, without `/v1`.
    pub openai: String,
    /// Base URL of Anthropic's API, without `/v1`.
    pub anthropic: String,
}

impl Upstreams {
    /// Base URL of OpenAI itself.
    pub const OPENAI: &str = "https://api.openai.com";
    /// Base URL of Anthropic itself.
    pub const ANTHROPIC: &str = "https://api.anthropic.com";
}

impl Default for Upstreams {
    fn default() -> Self {
        Self { openai: Self::OPENAI.to_owned(), anthropic: Self::ANTHROPIC.to_owned() }
    }
}

/// Returns the routes of the proxy. They accept every path and method of the provider.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/proxy/openai/{*path}", any(openai)).route("/proxy/anthropic/{*path}", any(anthropic))
}

async fn openai(State(state): State<AppState>, caller: Caller, request: Request) -> Result<Response> {
    let (base, path) = (state.settings.upstreams.openai.clone(), provider_path(&request, "/proxy/openai/")?);
    let dialect = match path.as_str() {
        "v1/chat/completions" => Some(Dialect::Chat),
        "v1/responses" => Some(Dialect::Responses),
        _ => None,
    };
    pass(state, caller, &base, &path, (dialect, request)).await
}

/// Returns the path of the provider as the client wrote it. A path that leaves the provider's address is refused.
fn provider_path(request: &Request, prefix: &str) -> Result<String> {
    let path = request.uri().path().split_once(prefix).map_or("", |(_, path)| path);
    let leaves = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    if path.split('/').any(leaves) {
        return Err(ApiError::invalid("a path with the segments . or .. is not passed on"));
    }
    Ok(path.to_owned())
}

async fn anthropic(State(state): State<AppState>, caller: Caller, request: Request) -> Result<Response> {
    let (base, path) = (state.settings.upstreams.anthropic.clone(), provider_path(&request, "/proxy/anthropic/")?);
    let dialect = (path == "v1/messages").then_some(Dialect::Messages);
    pass(state, caller, &base, &path, (dialect, request)).await
}

/// Sends a request to the provider and returns its answer, which is recorded while it passes.
async fn pass(
    state: AppState,
    caller: Caller,
    base: &str,
    path: &str,
    (dialect, request): (Option<Dialect>, Request),
) -> Result<Response> {
    if dialect.is_some() {
        let caller = caller.clone();
        state.run(move |state| state.actor_for(&caller, Tool::Respond).map(drop)).await?;
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, state.settings.limits.body_bytes)
        .await
        .map_err(|_| ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large"))?;
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("{}/{path}{query}", base.trim_end_matches('/'));
    let upstream = state
        .client
        .request(parts.method.clone(), url)
        .headers(without_own_credentials(passed_on(&parts.headers)))
        .header(header::ACCEPT_ENCODING, "identity")
        .body(body.clone())
        .send()
        .await
        .map_err(|error| {
            let message = format!("the provider did not answer: {}", error.without_url());
            ApiError::new(StatusCode::BAD_GATEWAY, "upstream", message)
        })?;
    let (status, headers) = (upstream.status(), passed_on(upstream.headers()));
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let streams = content_type.starts_with("text/event-stream");
    let is_read = streams || content_type.starts_with("application/json");
    let is_recorded = status.is_success() && parts.method == Method::POST && is_read;
    if dialect.is_some() && status.is_success() && parts.method == Method::POST && !is_read {
        state.metrics.unrecorded.inc();
    }
    let recording = dialect.filter(|_| is_recorded).map(|dialect| Recording {
        id: state.loom().node_id(),
        state: state.clone(),
        caller,
        dialect,
        request: body,
        answer: Vec::new(),
        is_too_long: false,
        complete: false,
        is_queued: false,
    });
    let node = recording.as_ref().map(|recording| recording.id);
    let holds = recording.is_some() && !streams;
    let stream = Box::pin(upstream.bytes_stream());
    let tee = Tee { stream, recording, holds, held: None, stored: None, ended: false };
    let mut response = Response::new(Body::from_stream(tee));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if let Some(node) = node.and_then(|node| HeaderValue::from_str(&node.to_string()).ok()) {
        response.headers_mut().insert(NODE_HEADER, node);
    }
    Ok(response)
}

/// Returns the headers that a proxy passes on.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let own = |name: &HeaderName| OWN_HEADERS.contains(&name.as_str()) || name.as_str().starts_with("x-loom-");
    headers.iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Removes what authorises a request at a server of this program: its cookies, and tokens where a key of the provider could
/// be.
fn without_own_credentials(mut headers: HeaderMap) -> HeaderMap {
    browser_login::remove_own_cookies(&mut headers);
    for name in [header::AUTHORIZATION, API_KEY] {
        let value = headers.get(&name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if bearer_token(value).unwrap_or(value).starts_with(TOKEN_PREFIX) {
            headers.remove(&name);
        }
    }
    headers
}

/// A call while its answer passes. It is recorded when it is dropped: at the end of the answer, or when the client goes
/// away.
struct Recording {
    id: NodeId,
    state: AppState,
    caller: Caller,
    dialect: Dialect,
    request: Bytes,
    answer: Vec<u8>,
    /// True if the answer is longer than what is recorded.
    is_too_long: bool,
    complete: bool,
    /// True once the call was passed to the queue.
    is_queued: bool,
}

impl Recording {
    fn push(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.answer.len() + bytes.len() > MAX_RECORDED_BYTES;
        if self.is_too_long {
            self.answer = Vec::new();
        } else {
            self.answer.extend_from_slice(bytes);
        }
    }

    /// Passes the call to the queue. The receiver ends when it is recorded or given up.
    fn queue(&mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.is_queued = true;
        if self.is_too_long {
            self.state.metrics.unrecorded.inc();
            tracing::warn!("a call was not recorded: its answer is too long");
            return receiver;
        }
        let (caller, id, dialect) = (self.caller.clone(), self.id, self.dialect);
        let (request, answer, complete) = (self.request.clone(), std::mem::take(&mut self.answer), self.complete);
        let is_accepted = self.state.calls.push(move |state| {
            let stored = || {
                let request: Value = serde_json::from_slice(&request)
                    .map_err(|error| ApiError::invalid(format!("the request is not JSON: {error}")))?;
                let calls = read_calls(dialect, &request, &answer);
                if calls.is_empty() {
                    return Err(ApiError::invalid("the answer cannot be read"));
                }
                for (at, call) in calls.into_iter().enumerate() {
                    let interrupted = call.interrupted || !complete;
                    record(state, &caller, RecordedCall { id: (at == 0).then_some(id), interrupted, ..call })?;
                }
                Ok(())
            };
            if let Err(error) = stored() {
                state.metrics.unrecorded.inc();
                tracing::warn!(error = error.message(), "a call was not recorded");
            }
            // Nobody waits for the call of a client that went away.
            let _ = sender.send(());
        });
        if !is_accepted {
            self.state.metrics.unrecorded.inc();
            tracing::warn!("a call was not recorded: too many wait");
        }
        receiver
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_queued {
            drop(self.queue());
        }
    }
}

/// Body of an answer that copies what passes. A client that has read an answer which is no stream finds its node: the
/// last part waits for the recording.
struct Tee<S> {
    stream: Pin<Box<S>>,
    recording: Option<Recording>,
    /// True if the last part waits.
    holds: bool,
    held: Option<Bytes>,
    stored: Option<oneshot::Receiver<()>>,
    ended: bool,
}

impl<S: Stream<Item = reqwest::Result<Bytes>>> Stream for Tee<S> {
    type Item = reqwest::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(stored) = &mut self.stored {
                ready!(Pin::new(stored).poll(context)).ok();
                self.stored = None;
            }
            if self.ended {
                return Poll::Ready(self.held.take().map(Ok));
            }
            match ready!(self.stream.poll_next_unpin(context)) {
                Some(Ok(bytes)) => {
                    if let Some(recording) = &mut self.recording {
                        recording.push(&bytes);
                    }
                    let part = if self.holds { self.held.replace(bytes) } else { Some(bytes) };
                    if part.is_some() {
                        return Poll::Ready(part.map(Ok));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.ended = true;
                    if let Some(mut recording) = self.recording.take() {
                        recording.complete = true;
                        self.stored = Some(recording.queue());
                    }
                }
            }
        }
    }
}
