//! The engine's own API under `/api/v1`. Each file holds the routes of one kind of resource.

mod agents;
mod approvals;
mod arrow;
mod changes;
mod context;
mod delegations;
mod documents;
mod events;
mod exports;
mod generations;
mod imports;
mod items;
mod map;
mod me;
mod nodes;
mod path_entry;
mod recall;
mod sessions;
mod trees;
mod window;

use axum::http::StatusCode;
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{Content, RefOr, ResponseBuilder, path::PathItem, schema::Schema},
};
use utoipa_axum::router::OpenApiRouter;

pub(super) use generations::KEEP_ALIVE;

use super::{error::ErrorAnswer, openai, state::AppState};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "loomtree",
        description = "Branching conversations with language models. Times are milliseconds since 1970; ids are ULIDs.",
    ),
    components(schemas(ErrorAnswer))
)]
struct ApiDocument;

/// Returns all routes with their description.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .nest(
            "/api/v1",
            OpenApiRouter::new()
                .merge(trees::routes())
                .merge(nodes::routes())
                .merge(changes::routes())
                .merge(documents::routes())
                .merge(agents::routes())
                .merge(sessions::routes())
                .merge(items::routes())
                .merge(generations::routes())
                .merge(arrow::routes())
                .merge(recall::routes())
                .merge(context::routes())
                .merge(delegations::routes())
                .merge(exports::routes())
                .merge(imports::routes())
                .merge(approvals::routes())
                .merge(me::routes())
                .merge(window::routes())
                .merge(map::routes())
                .merge(events::routes()),
        )
        .merge(openai::routes())
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
    (StatusCode::SERVICE_UNAVAILABLE, "The database or the model is not available now"),
];

/// Returns the OpenAPI document, with the error answers of every operation.
pub(super) fn document() -> utoipa::openapi::OpenApi {
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
pub(super) fn any_json() -> RefOr<Schema> {
    RefOr::T(Schema::default())
}

/// One event of a stream. OpenAPI 3.1 describes each event of a `text/event-stream`, not the whole body.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the description of streams in the OpenAPI document")]
pub(super) struct ServerSentEvent {
    /// Kind of the event; `message` where a stream has one kind.
    #[schema(nullable = false)]
    event: Option<String>,
    /// JSON of the event; `[DONE]` ends a stream of chat completions.
    data: String,
    /// Number by which a client resumes the stream after this event, where it can be resumed.
    #[schema(nullable = false)]
    id: Option<String>,
}
