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
mod sessions;
mod subscription;
mod tool_list;
mod transport;

use std::{io, sync::Arc, time::Duration};

use rmcp::ServiceExt as _;

pub use backend::{BackendOpener, McpBackend, McpSettings};

use backend::McpState;

/// Description of the server for the client's model.
const INSTRUCTIONS: &str = "\
A lossless memory of conversations as trees: past sessions of agents, notes and branches. Search it with \
conversation_recall before you ask the user for what was said or decided earlier; scope:all covers every tree and \
session. Use `loom` to read, branch and annotate by arrow lines; `→ help` lists them. Nothing is ever overwritten, and \
`→ undo` reverts. Each answer names its `session`; pass it on to stay at the same position.";

/// Time that background delegations get to save their state when the client disconnects.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

/// An MCP server. Cheap to clone.
#[derive(Clone)]
pub struct McpServer(Arc<McpState>);

impl McpServer {
    /// Creates a server. The store is opened later.
    #[must_use]
    pub fn new(settings: McpSettings) -> Self {
        Self(Arc::new(McpState::new(settings)))
    }

    /// Serves one client over standard input and output until it disconnects. Then delegations are stopped; they can be
    /// resumed.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let state = Arc::clone(&self.0);
        let served = match self.serve(transport::stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // The client left before its first request.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        };
        state.running.stop();
        if let Some(backend) = state.opened() {
            backend.tool_access.background.stop();
            // What is not finished by then is resumed later.
            let _ = tokio::time::timeout(SHUTDOWN_TIME, backend.tool_access.background.idle()).await;
        }
        served
    }
}
