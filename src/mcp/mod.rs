//! MCP server: the arrow language, recall, plans and delegation as tools of the Model Context Protocol.
//!
//! A front end: it parses calls, runs them by the executor, and renders the replies. No state belongs to a connection,
//! because the newest revision of the protocol has none. The position is in a session of the store, and each answer
//! contains its id, which later calls may pass as `session`. The store is opened by the first call that needs it, so
//! clients get the list of tools at once.

mod backend;
mod call;
mod call_requests;
mod client_delegation;
mod consent;
mod handler;
#[cfg(feature = "serve")]
mod http;
mod prompt;
mod resource;
mod running_calls;
mod search_and_fetch;
mod server;
mod sessions;
mod stdio_transport;
mod subscription;
mod tool_list;

pub use backend::{BackendOpener, McpBackend, McpSettings};
pub use server::McpServer;
