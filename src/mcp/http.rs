//! Streamable HTTP: the server as a router for a path, without sessions of the transport.
//!
//! Hosts, origins, tokens and rates are checked by the layers around the router. They name the acting agent in a header,
//! so this module knows no tokens.

use std::sync::Arc;

use axum::{Router, http::request::Parts};
use rmcp::{
    model::Extensions,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::never::NeverSessionManager,
    },
};
use tokio_util::sync::CancellationToken;

use super::McpServer;

/// Header by which the surrounding layers name the acting agent. They remove it from requests of others.
const AGENT_HEADER: &str = "x-loom-agent";

impl McpServer {
    /// Returns the server as a router. `shutdown` ends its streams; larger bodies than `max_body` bytes are refused.
    pub fn router(self, shutdown: CancellationToken, max_body: usize) -> Router {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .with_cancellation_token(shutdown)
            .with_max_request_body_bytes(max_body);
        let factory = move || Ok(self.clone());
        let service = StreamableHttpService::new(factory, Arc::new(NeverSessionManager::default()), config);
        Router::new().fallback_service(service)
    }
}

/// Returns the name of the acting agent of an HTTP request; `None` if it is the default.
pub(super) fn agent_name(extensions: &Extensions) -> Option<String> {
    let header = extensions.get::<Parts>()?.headers.get(AGENT_HEADER)?;
    // A name of other characters names no agent.
    Some(header.to_str().unwrap_or("?").to_owned())
}
