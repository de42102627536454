//! The routes of the server, and what is done around every request.

use std::time::Duration;

use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

use tokio_util::task::AbortOnDropHandle;

use super::{access, api, browser_login, error::ApiError, health, page, recording_proxy, state::AppState};

/// Header with the id of a request, taken from the client or generated.
const REQUEST_ID: &str = "x-request-id";

/// Returns the OpenAPI document of the server as JSON.
#[must_use]
pub fn openapi() -> String {
    api::document().to_json().unwrap_or_default()
}

/// Makes the routes, with their limits and checks.
pub(super) fn router(state: AppState) -> Router {
    let routes = api::routes().split_for_parts().0;
    let document = openapi();
    let json = || [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mcp = state.settings.mcp.clone().unwrap_or_default().layer(middleware::from_fn(access::pass_agent));
    routes
        .merge(recording_proxy::routes())
        .nest_service("/mcp", mcp)
        .route("/api/v1/openapi.json", axum::routing::get(move || async move { (json(), document) }))
        .layer(middleware::from_fn_with_state(state.clone(), access::check))
        .merge(browser_login::routes().layer(middleware::from_fn_with_state(state.clone(), access::check_own_host)))
        .merge(page::routes())
        .merge(health::health_routes())
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
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or_else(|| "none".to_owned(), |p| p.as_str().to_owned());
    let id = request.headers().get(REQUEST_ID).cloned().unwrap_or_else(|| {
        HeaderValue::from_str(&state.loom().node_id().to_string()).unwrap_or(HeaderValue::from_static("none"))
    });
    let limit = Duration::from_secs(state.settings.limits.seconds);
    // A task of its own, so that a panic ends this request only. It ends when the client disconnects.
    let answer = AbortOnDropHandle::new(tokio::spawn(tokio::time::timeout(limit, next.run(request))));
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
