//! HTTP server: a web page at `/`, the engine's own API under `/api/v1`, OpenAI's APIs under `/v1`, and a recording proxy
//! under `/proxy`.
//!
//! A front end: it parses requests, calls the library and renders answers. Route and description are registered
//! together, so the OpenAPI document cannot differ from the routes. Blocking calls of the library run on threads for
//! blocking calls; streams read the journal by number, so a slow client holds no memory.

mod access;
mod api;
mod approval;
mod blocking_body;
mod browser_login;
mod call_recorder;
mod caller;
mod connections;
mod delegation_runs;
mod error;
mod event_stream;
mod extractors;
mod health;
mod journal_tail;
mod map_area;
mod metrics;
mod openai;
mod page;
mod rate_limit;
mod recording_proxy;
mod router;
mod running_generations;
mod server;
mod settings;
mod shape_cache;
mod state;
mod stored_prefix;
mod token;

pub use approval::PendingApprovals;
pub use browser_login::BrowserLogins;
pub use recording_proxy::Upstreams;
pub use router::openapi;
pub use server::{ServeError, Server};
pub use settings::{ServerLimits, ServerSettings};
pub use token::{TokenFile, TokenRecord, TokenScope};
