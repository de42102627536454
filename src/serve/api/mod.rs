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
mod map;
mod me;
mod nodes;
mod openapi_document;
mod path_entry;
mod recall;
mod routes;
mod sessions;
mod trees;
mod window;
mod work_items;

pub(super) use self::{
    openapi_document::{ServerSentEvent, any_json, document},
    routes::routes,
};
