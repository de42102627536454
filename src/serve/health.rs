//! Routes for monitoring: liveness, readiness and metrics.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::time::timeout;

use super::{error::ApiError, state::AppState};

/// Returns the routes for monitoring, which need no token: they contain neither content nor names.
pub(super) fn health_routes() -> Router<AppState> {
    Router::new().route("/healthz", get(async || "ok")).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// Longest time that a probe waits for the database.
const LONGEST_CHECK: Duration = Duration::from_secs(5);

/// Answers 200 if the database can be read, 503 if it does not answer in time.
async fn ready(State(state): State<AppState>) -> Result<&'static str, ApiError> {
    let unavailable = |code, message| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message);
    if state.shutdown.is_cancelled() {
        return Err(unavailable("stopping", "the server is stopping"));
    }
    // A check that hangs keeps a thread, so the next one does not begin before it ends.
    let check = async {
        let permit = Arc::clone(&state.readiness).acquire_owned().await.map_err(ApiError::internal)?;
        let check = move |state: &AppState| {
            let _permit = permit;
            Ok(state.loom().snapshot()?.last_seq().map(|_| "ok")?)
        };
        state.run(check).await
    };
    timeout(LONGEST_CHECK, check).await.map_err(|_| unavailable("busy", "the database does not answer"))?
}

async fn metrics(State(state): State<AppState>) -> impl IntoResponse {
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    match state.run(|state| Ok(state.loom().snapshot()?.session_counts(state.loom().now())?)).await {
        Ok(counts) => state.metrics.set_sessions(counts),
        Err(error) => tracing::warn!(error = error.message(), "the sessions cannot be counted"),
    }
    ([(header::CONTENT_TYPE, kind)], state.metrics.encode())
}
