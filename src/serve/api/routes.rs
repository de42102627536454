//! Routes of the own API and of OpenAI's APIs, each with its description.

use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;

use super::{
    agents, approvals, arrow, changes, context, delegations, documents, events, exports, generations, imports, map, me,
    nodes, openapi_document::ApiDocument, recall, sessions, trees, window, work_items,
};
use crate::serve::{openai, state::AppState};

/// Returns all routes with their description.
pub(in crate::serve) fn routes() -> OpenApiRouter<AppState> {
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
                .merge(work_items::routes())
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
