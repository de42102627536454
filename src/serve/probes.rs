//! Routes for monitoring: liveness, readiness and metrics.

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use super::{error::ApiError, state::AppState};

/// Returns the routes for monitoring, which need no token: they contain neither content nor names.
pub(super) fn probes() -> Router<AppState> {
    Router::new().route("/healthz", get(async || "ok")).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// Answers 200 if the database can be read.
async fn ready(State(state): State<AppState>) -> Result<&'static str, ApiError> {
    if state.shutdown.is_cancelled() {
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the server is stopping"));
    }
    state.run(|state| Ok(state.loom().snapshot()?.last_seq().map(|_| "ok")?)).await
}

async fn metrics(State(state): State<AppState>) -> impl IntoResponse {
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    match state.run(|state| Ok(state.loom().snapshot()?.session_counts(state.loom().now())?)).await {
        Ok(counts) => state.metrics.set_sessions(counts),
        Err(error) => tracing::warn!(error = error.message(), "the sessions cannot be counted"),
    }
    ([(header::CONTENT_TYPE, kind)], state.metrics.encode())
}
