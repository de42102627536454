//! The settings of the server and the store behind it, which the first call opens.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{RoleServer, model::Tool as McpTool, service::RequestContext};
use tokio_util::sync::CancellationToken;

use super::{running_calls::RunningCalls, tool_list};
use crate::{
    context::ContextOptions,
    exec::ExecRights,
    ops::Loom,
    provider::Prices,
    session::ToolAccess,
    tools::ToolError,
    types::{Agent, Permission, Permissions},
};

/// Opens the store for the first call. It is called again after an error.
pub type BackendOpener = Box<dyn Fn() -> Result<McpBackend, ToolError> + Send + Sync>;

/// Settings of the server.
pub struct McpSettings {
    /// Opens the store.
    pub open: BackendOpener,
    /// Permissions of the client's model; `None`: those of its agent, and reading of other trees.
    pub permissions: Option<Permissions>,
    /// Refuses changes.
    pub read_only: bool,
    /// Path of the folder whose sessions are used.
    pub workspace: String,
    /// Offers the tools `search` and `fetch`, which some clients require of a source of knowledge.
    pub search_fetch: bool,
}

/// An open store with the agent that acts in it.
#[derive(Clone)]
pub struct McpBackend {
    /// The open store.
    pub loom: Loom,
    /// Agent that acts for the client's model.
    pub agent: Agent,
    /// Models, web search and orchestrator.
    pub tool_access: ToolAccess,
    /// Context options of generations.
    pub context: ContextOptions,
    /// Folder of partial replies.
    pub partials_dir: Option<PathBuf>,
    /// Token prices for cost calculation.
    pub prices: Prices,
    /// True if the user approved all plans of delegations in advance. Else the permission `delegate` needs the user's
    /// consent to each call or [`McpSettings::permissions`].
    pub allow_delegate: bool,
}

/// Sender of a request.
#[derive(Debug, Clone)]
pub(super) struct McpCaller {
    /// Name of the client.
    pub(super) client: String,
    /// Name of the agent that the access control assigned; `None`: the default agent.
    pub(super) agent: Option<String>,
}

impl McpCaller {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let client = context.client_info().map_or_else(String::new, |client| client.name);
        #[cfg(feature = "serve")]
        let agent = super::http::agent_name(&context.extensions);
        #[cfg(not(feature = "serve"))]
        let agent = None;
        Self { client, agent }
    }
}

/// State that all requests share.
pub(super) struct McpState {
    pub(super) settings: McpSettings,
    /// Calls that took longer than clients wait.
    pub(super) running: RunningCalls,
    backend: Mutex<Option<Arc<McpBackend>>>,
    /// Subscriptions of clients with a connection, by address.
    subscriptions: Mutex<HashMap<String, CancellationToken>>,
}

impl McpState {
    pub(super) fn new(settings: McpSettings) -> Self {
        Self { settings, running: RunningCalls::default(), backend: Mutex::default(), subscriptions: Mutex::default() }
    }

    /// Returns the open store; `None` if no call needed it yet.
    pub(super) fn opened(&self) -> Option<Arc<McpBackend>> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the store for a caller. The first call opens it; calls at the same time wait.
    pub(super) fn backend(&self, caller: &McpCaller) -> Result<Arc<McpBackend>, ToolError> {
        let backend = self.shared_backend()?;
        match &caller.agent {
            None => Ok(backend),
            Some(name) => Ok(Arc::new(McpBackend { agent: backend.loom.agent(name)?, ..(*backend).clone() })),
        }
    }

    fn shared_backend(&self) -> Result<Arc<McpBackend>, ToolError> {
        let mut backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        match &*backend {
            Some(backend) => Ok(Arc::clone(backend)),
            None => Ok(Arc::clone(backend.insert(Arc::new((self.settings.open)()?)))),
        }
    }

    /// Stores the end of a subscription, and ends an earlier one of the same address.
    pub(super) fn subscribe(&self, address: String, cancel: CancellationToken) {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = subscriptions.insert(address, cancel) {
            earlier.cancel();
        }
    }

    /// Ends the subscription of an address.
    pub(super) fn unsubscribe(&self, address: &str) {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = subscriptions.remove(address) {
            cancel.cancel();
        }
    }

    /// Returns the tools in the order of the list.
    pub(super) fn tools(&self) -> Vec<McpTool> {
        tool_list::tools(self.settings.read_only, self.settings.search_fetch)
    }

    /// Returns the rights of the client's model. The default agent also reads other trees; a named one has its own
    /// permissions only. Both delegate by consent only, because the orchestrator does not ask about plans.
    pub(super) fn rights(&self, backend: &McpBackend, caller: &McpCaller) -> ExecRights {
        let own = backend.agent.profile.permissions.iter();
        let own = own.filter(|held| backend.allow_delegate || *held != Permission::Delegate);
        let extra = caller.agent.is_none().then_some(Permission::CrossTree);
        let permissions = Some(self.settings.permissions.unwrap_or_else(|| own.chain(extra).collect()));
        ExecRights { permissions, read_only: self.settings.read_only }
    }
}
