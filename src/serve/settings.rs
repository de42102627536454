//! Settings of the server and limits of requests.

use std::{path::PathBuf, sync::Arc};

use super::{approval::PendingApprovals, browser_login::BrowserLogins, recording_proxy::Upstreams, token::TokenFile};
use crate::{
    context::ContextOptions,
    ops::Loom,
    provider::Prices,
    session::{ConversationSettings, ToolAccess},
};

/// Settings of the server.
pub struct ServerSettings {
    /// The open store.
    pub loom: Loom,
    /// Models, web search and orchestrator for agents' turns.
    pub tool_access: ToolAccess,
    /// Context options of generations.
    pub context: ContextOptions,
    /// Settings of the conversations of work items.
    pub conversation: ConversationSettings,
    /// Folder of partial replies; `None`: a crash loses text that is not committed.
    pub partials_dir: Option<PathBuf>,
    /// Token prices for cost calculation.
    pub prices: Prices,
    /// Access tokens.
    pub tokens: TokenFile,
    /// Logins of browsers.
    pub browsers: BrowserLogins,
    /// Limits of requests.
    pub limits: ServerLimits,
    /// Host names by which clients may address the server, in addition to IP addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Approvals that wait for a person's decision.
    pub approvals: Arc<PendingApprovals>,
    /// Base URLs to which the proxy passes calls on.
    pub upstreams: Upstreams,
    /// Names of models that `/v1/models` lists.
    pub models: Vec<String>,
    /// MCP server at `/mcp`, behind the access control. It gets the acting agent in the header `x-loom-agent`.
    pub mcp: Option<axum::Router>,
}

/// Limits of requests.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Maximum size of a request body, in bytes.
    pub body_bytes: usize,
    /// Maximum size of an imported file, in bytes, and of what a compressed one unpacks to. It is not held in memory.
    pub import_bytes: u64,
    /// Requests per second that a token may send in the long run.
    pub requests_per_second: u32,
    /// Open event streams per token.
    pub streams: usize,
    /// Time for reading a request and answering it, streams excepted, in seconds.
    pub seconds: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { body_bytes: 16 << 20, import_bytes: 1 << 30, requests_per_second: 2_000, streams: 2_000, seconds: 300 }
    }
}
