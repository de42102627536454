//! OpenAI's APIs under `/v1`, stored as trees: Responses, Conversations, Chat Completions, Models.
//!
//! A conversation is a session: a moving position in a tree. A response is a chain of nodes; `previous_response_id` names
//! its first node. Each item is a node that holds the item as it came, so unknown items are returned unchanged.

mod chat;
mod chat_request;
mod conversations;
mod event_sequence;
mod item;
mod model_list;
mod open_model;
mod response_plan;
mod response_record;
mod response_request;
mod response_run;
mod responses;
mod stored_chat;

use utoipa_axum::router::OpenApiRouter;

use super::state::AppState;

pub(super) use item::message_text;
pub(super) use response_run::ResponseRuns;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().nest(
        "/v1",
        OpenApiRouter::new()
            .merge(responses::routes())
            .merge(conversations::routes())
            .merge(chat::routes())
            .merge(model_list::routes()),
    )
}
