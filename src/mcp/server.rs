//! The server itself: its instructions for models, and the service of one client over standard input and output.

use std::{io, sync::Arc, time::Duration};

use rmcp::ServiceExt as _;

use super::{
    backend::{McpSettings, McpState},
    stdio_transport,
};

/// Description of the server for the client's model.
pub(super) const INSTRUCTIONS: &str = "\
A lossless memory of conversations as trees: past sessions of agents, notes and branches. Search it with \
conversation_recall before you ask the user for what was said or decided earlier; scope:all covers every tree and \
session. Use `loom` to read, branch and annotate by arrow lines; `→ help` lists them. Nothing is ever overwritten, and \
`→ undo` reverts. Each answer names its `session`; pass it on to stay at the same position.";

/// Time that background delegations get to save their state when the client disconnects.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

/// An MCP server. Cheap to clone.
#[derive(Clone)]
pub struct McpServer(pub(super) Arc<McpState>);

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
        let served = match self.serve(stdio_transport::stdio()).await {
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
