//! Errors of the server: one JSON shape, which OpenAI's clients read too.

use axum::{
    Json,
    extract::rejection::{JsonRejection, PathRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    interchange::InterchangeError,
    ops::OpsError,
    provider::{ErrorClass, ProviderError},
    session::GenerateError,
    store::StoreError,
    tools::{ErrorCode, ToolError},
};

/// The result of a handler.
pub(super) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// Body of every answer with an error status.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorAnswer {
    /// Description of the failure.
    error: ErrorDetail,
}

/// Description of an error.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorDetail {
    /// Message for people.
    message: String,
    /// Class of the error, as OpenAI's clients expect it: `invalid_request_error` or `server_error`.
    r#type: &'static str,
    /// Code for programs, such as `not_found`.
    code: &'static str,
    /// Parameter at fault; always null.
    param: Option<String>,
    /// Advice on what to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Error of a request: status, code, message and advice.
#[derive(Debug)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
    retry_after: Option<u64>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, retry_after: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    pub(super) fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("no {what} {:?}", id.to_string()))
    }

    /// Returns the error of a token whose rights do not suffice.
    pub(super) fn scope(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "scope", message)
    }

    pub(super) fn permission(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "permission_denied", message)
    }

    pub(super) fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; its log has the cause")
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the header `Retry-After`, in seconds.
    pub(super) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Returns the message without the advice.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the code for programs.
    pub(super) fn code(&self) -> &'static str {
        self.code
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let r#type = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        let detail = ErrorDetail { message: self.message, r#type, code: self.code, param: None, hint: self.hint };
        let mut response = (self.status, Json(ErrorAnswer { error: detail })).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<OpsError> for ApiError {
    fn from(error: OpsError) -> Self {
        let message = error.to_string();
        match error {
            OpsError::NotFound { .. } => {
                let answer = Self::new(StatusCode::NOT_FOUND, "not_found", message);
                error.hint().into_iter().fold(answer, Self::hint)
            }
            OpsError::Ambiguous { candidates, .. } => {
                let ids: Vec<String> = candidates.iter().map(|node| node.local.to_string()).collect();
                Self::new(StatusCode::CONFLICT, "ambiguous", message).hint(format!("candidates: {}", ids.join(", ")))
            }
            OpsError::AmbiguousTree { candidates, .. } => {
                let ids: Vec<String> = candidates.iter().map(|tree| tree.id.to_string()).collect();
                Self::new(StatusCode::CONFLICT, "ambiguous", message).hint(format!("candidates: {}", ids.join(", ")))
            }
            OpsError::Section(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            OpsError::Store(error) => error.into(),
            _ => Self::invalid(message),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            StoreError::Conflict(_) | StoreError::SessionEnded | StoreError::Leased { .. } => {
                Self::new(StatusCode::CONFLICT, "conflict", message)
            }
            StoreError::Refused(_) => Self::invalid(message),
            StoreError::Busy { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after(1),
            StoreError::Io { .. } => {
                tracing::error!(message, "the store failed");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).retry_after(1)
            }
            StoreError::ReadOnly { .. } | StoreError::Full | StoreError::Closed => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            }
            _ => Self::internal(message),
        }
    }
}

impl From<GenerateError> for ApiError {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Ops(error) => error.into(),
            GenerateError::Provider(error) => error.into(),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<ProviderError> for ApiError {
    fn from(error: ProviderError) -> Self {
        let message = error.to_string();
        if let ProviderError::Http { status: 429, retry_after, .. } = &error {
            let seconds = retry_after.map_or(5, |delay| delay.as_secs().max(1));
            return Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(seconds);
        }
        match error.class() {
            ErrorClass::Retryable => Self::new(StatusCode::BAD_GATEWAY, "model_failed", message).retry_after(5),
            ErrorClass::Cancelled => Self::new(StatusCode::CONFLICT, "cancelled", message),
            _ => Self::new(StatusCode::BAD_GATEWAY, "model_failed", message),
        }
    }
}

impl From<ToolError> for ApiError {
    fn from(error: ToolError) -> Self {
        let (status, code) = match error.code {
            ErrorCode::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            ErrorCode::PermissionDenied => (StatusCode::FORBIDDEN, "permission_denied"),
            ErrorCode::Conflict => (StatusCode::CONFLICT, "conflict"),
            // A repeated request would fail in the same way, so it is no 503, which clients repeat.
            ErrorCode::NotConfigured => (StatusCode::UNPROCESSABLE_ENTITY, "not_configured"),
            ErrorCode::ModelError => (StatusCode::BAD_GATEWAY, "model_failed"),
            ErrorCode::Cancelled => (StatusCode::CONFLICT, "cancelled"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        };
        Self { hint: error.hint, ..Self::new(status, code, error.message) }
    }
}

impl From<InterchangeError> for ApiError {
    fn from(error: InterchangeError) -> Self {
        match error {
            InterchangeError::Ops(error) => error.into(),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        let code = match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => "too_large",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
            _ => "invalid",
        };
        Self::new(rejection.status(), code, reason(&rejection.body_text()))
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", reason(&rejection.body_text()))
    }
}

/// Returns what is wrong with a body or a query, without the framework's introduction.
fn reason(text: &str) -> String {
    let introductions = [
        "Failed to deserialize the JSON body into the target type: ",
        "Failed to deserialize query string: ",
        "Failed to parse the request body as JSON: ",
    ];
    introductions.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text).to_owned()
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        let text = rejection.body_text();
        let reason = text.strip_prefix("Invalid URL: ").unwrap_or(&text);
        let message = format!(
            "an id of the address is not valid: {reason}. Ids here have 26 characters; \
             `GET /api/v1/trees/TREE/nodes/ID` finds a node by its short id"
        );
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }
}
