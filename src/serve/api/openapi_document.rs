//! OpenAPI document: its head, the error answers of every operation, and the schemas that several routes share.

use axum::http::StatusCode;
use utoipa::{
    Modify, OpenApi, PartialSchema, ToSchema,
    openapi::{
        Content, RefOr, ResponseBuilder,
        path::PathItem,
        schema::{ObjectBuilder, Schema, SchemaType},
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

use super::routes::routes;
use crate::serve::error::ErrorAnswer;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "loomtree",
        description = "Branching conversations with language models. Times are milliseconds since 1970; ids are ULIDs. The header \
                       `x-loom-agent` names the acting agent [default: owner].",
    ),
    components(schemas(ErrorAnswer)),
    modifiers(&TokenScheme),
    security((), ("token" = []))
)]
pub(super) struct ApiDocument;

/// Declares the tokens of the server. A server without tokens needs none.
struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// Statuses that every route may answer with.
const ERRORS: [(StatusCode, &str); 13] = [
    (StatusCode::BAD_REQUEST, "The query or the body cannot be parsed"),
    (StatusCode::UNAUTHORIZED, "A valid token is required"),
    (StatusCode::FORBIDDEN, "The token's scope or the agent's permissions do not suffice"),
    (StatusCode::NOT_FOUND, "It does not exist, or the token may not see it"),
    (StatusCode::REQUEST_TIMEOUT, "The request took too long"),
    (StatusCode::CONFLICT, "Another change or generation is in the way, or the name is ambiguous"),
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not JSON"),
    (StatusCode::MISDIRECTED_REQUEST, "The server does not answer for this host or origin"),
    (StatusCode::UNPROCESSABLE_ENTITY, "The request is understood, but refused"),
    (StatusCode::TOO_MANY_REQUESTS, "The token sends too many requests"),
    (StatusCode::BAD_GATEWAY, "The model failed"),
    (StatusCode::SERVICE_UNAVAILABLE, "The database is not available now"),
];

/// Returns the OpenAPI document, with the error answers of every operation.
pub(in crate::serve) fn document() -> utoipa::openapi::OpenApi {
    let mut document = routes().split_for_parts().1;
    for item in document.paths.paths.values_mut() {
        let PathItem { get, put, post, delete, patch, .. } = item;
        for operation in [get, put, post, delete, patch].into_iter().flatten() {
            for (status, description) in ERRORS {
                let content = Content::new(Some(ErrorAnswer::schema()));
                let response =
                    ResponseBuilder::new().description(description).content("application/json", content).build();
                operation.responses.responses.entry(status.as_str().to_owned()).or_insert(RefOr::T(response));
            }
        }
    }
    document
}

/// Schema of a JSON value of any type.
pub(in crate::serve) fn any_json() -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().schema_type(SchemaType::AnyValue).into())
}

/// One event of a stream. OpenAPI 3.1 describes each event of a `text/event-stream`, not the whole body.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the description of streams in the OpenAPI document")]
pub(in crate::serve) struct ServerSentEvent {
    /// Kind of the event; `message` where a stream has one kind.
    #[schema(nullable = false)]
    event: Option<String>,
    /// JSON of the event; `[DONE]` ends a stream of chat completions.
    data: String,
    /// Number by which a client resumes the stream after this event, where it can be resumed.
    #[schema(nullable = false)]
    id: Option<String>,
}
