//! HTTP server: a web page at `/`, the engine's own API under `/api/v1`, OpenAI's APIs under `/v1`, and a recording proxy
//! under `/proxy`.
//!
//! A front end: it parses requests, calls the library and renders answers. Route and description are registered
//! together, so the OpenAPI document cannot differ from the routes. Blocking calls of the library run on threads for
//! blocking calls; streams read the journal by number, so a slow client holds no memory.

mod access;
mod api;
mod approval;
mod body_io;
mod browser;
mod connection;
mod delegation_runs;
mod error;
mod extract;
mod journal_tail;
mod map_area;
mod metrics;
mod openai;
mod page;
mod proxy;
mod record;
mod state;
mod token;
mod tree_shape;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use approval::PendingApprovals;
pub use browser::BrowserLogins;
pub use proxy::Upstreams;
pub use state::{ServerLimits, ServerSettings};
pub use token::{TokenFile, TokenRecord, TokenScope};

use error::ApiError;
use journal_tail::watch_journal;
use record::{CallQueue, record_calls};
use state::AppState;

use crate::{
    provider::{
        ProviderError,
        tls::{Certificates, builder as client_builder},
    },
    store::StoreError,
};

/// Time for delegations to save their state after the last connection was closed.
const STOP_TIME: Duration = Duration::from_secs(2);

/// Header with the id of a request, taken from the client or generated.
const REQUEST_ID: &str = "x-request-id";

/// Error of starting the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("listening on {address}")]
    Bind {
        /// Address that was requested.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The address is reachable from other machines, but there is no token.
    #[error("{0} is reachable from other machines, but there is no token")]
    NoToken(SocketAddr),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The client of the proxy cannot be set up.
    #[error(transparent)]
    Client(#[from] ProviderError),
    /// Serving failed.
    #[error("serving")]
    Io(#[from] io::Error),
}

/// A server that listens but does not serve yet.
pub struct Server {
    listener: TcpListener,
    settings: ServerSettings,
}

impl Server {
    /// Binds an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// If the address is not a loopback address and there is no token, or it cannot be bound.
    pub async fn bind(address: SocketAddr, settings: ServerSettings) -> Result<Self, ServeError> {
        if !address.ip().is_loopback() && settings.tokens.is_empty() {
            return Err(ServeError::NoToken(address));
        }
        let listener = TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address, source })?;
        Ok(Self { listener, settings })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// If the operating system does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is cancelled. Event streams then end with an event `bye`; other requests get ten seconds.
    ///
    /// # Errors
    /// If the store cannot be watched.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let journal = watch_journal(Arc::clone(self.settings.loom.store()), shutdown.clone())?;
        let (calls, waiting_calls) = CallQueue::new();
        let state = AppState::new(self.settings, proxy_client()?, calls, journal, shutdown.clone());
        tokio::spawn(archive_expired(state.clone()));
        let recording = tokio::task::spawn_blocking({
            let state = state.clone();
            move || record_calls(&state, waiting_calls)
        });
        tokio::spawn(stop_delegations(state.clone()));
        let served = connection::serve(self.listener, router(state.clone()), shutdown).await;
        // The state of a delegation that is not saved by then is that of its last event.
        let _ = tokio::time::timeout(STOP_TIME, state.settings.tool_access.background.idle()).await;
        state.calls.end().await;
        // An error means that the runtime stops.
        let _ = recording.await;
        Ok(served?)
    }
}

/// Stops delegations when the server stops. They can be resumed.
async fn stop_delegations(state: AppState) {
    state.shutdown.cancelled().await;
    state.settings.tool_access.background.stop();
}

/// Archives conversations that have expired, at the configured interval, until the server stops.
async fn archive_expired(state: AppState) {
    let mut interval = tokio::time::interval(state.settings.conversation.cleanup_interval);
    while state.shutdown.run_until_cancelled(interval.tick()).await.is_some() {
        let archived =
            state.run(|state| Ok(state.loom().actor(&state.loom().agent("owner")?).archive_expired_sessions()?));
        match archived.await {
            Ok(sessions) if sessions.is_empty() => {}
            Ok(sessions) => tracing::info!(sessions = sessions.len(), "expired conversations were archived"),
            Err(error) => tracing::warn!(error = error.message(), "expired conversations were not archived"),
        }
    }
}

/// Returns the HTTP client of the proxy. It follows no redirects, which would choose who gets the key.
fn proxy_client() -> Result<reqwest::Client, ProviderError> {
    let build = |certificates| Ok(client_builder(certificates)?.tcp_nodelay(true).build());
    let client: Result<_, ProviderError> = build(Certificates::System);
    // Without certificates of the system, plain `http` works.
    let client = client.or_else(|_| build(Certificates::None))?;
    client.map_err(|error| ProviderError::configuration(error.to_string()))
}

/// Returns the OpenAPI document of the server as JSON.
#[must_use]
pub fn openapi() -> String {
    api::document().to_json().unwrap_or_default()
}

fn router(state: AppState) -> Router {
    let routes = api::routes().split_for_parts().0;
    let document = openapi();
    let json = || [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mcp = state.settings.mcp.clone().unwrap_or_default().layer(middleware::from_fn(access::pass_agent));
    routes
        .merge(proxy::routes())
        .nest_service("/mcp", mcp)
        .route("/api/v1/openapi.json", axum::routing::get(move || async move { (json(), document) }))
        .layer(middleware::from_fn_with_state(state.clone(), access::check))
        .merge(browser::routes().layer(middleware::from_fn_with_state(state.clone(), access::check_own_host)))
        .merge(page::routes())
        .merge(api::probes())
        .fallback(async || ApiError::new(StatusCode::NOT_FOUND, "not_found", "no such route"))
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "the route has no such method")
        })
        .layer(DefaultBodyLimit::max(state.settings.limits.body_bytes))
        .layer(middleware::from_fn_with_state(state.clone(), observe))
        .with_state(state)
}

/// Middleware around every request: id, time limit, panics as errors, metrics and a log line without content.
async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let started = std::time::Instant::now();
    let method = request.method().to_string();
    let route = request.extensions().get::<MatchedPath>().map_or_else(|| "none".to_owned(), |p| p.as_str().to_owned());
    let id = request.headers().get(REQUEST_ID).cloned().unwrap_or_else(|| {
        HeaderValue::from_str(&state.loom().node_id().to_string()).unwrap_or(HeaderValue::from_static("none"))
    });
    let limit = Duration::from_secs(state.settings.limits.seconds);
    // A task of its own, so that a panic ends this request only.
    let answer = tokio::spawn(tokio::time::timeout(limit, next.run(request)));
    let mut response = match answer.await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the request took too long").into_response()
        }
        Err(error) => ApiError::internal(error).into_response(),
    };
    let took = started.elapsed();
    let status = response.status().as_u16();
    tracing::info!(%method, %route, status, micros = took.as_micros(), id = id.to_str().unwrap_or(""), "request");
    state.metrics.answered(&route, &method, status, took);
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
