//! The server: it binds an address, serves, and stops with its delegations and recordings.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    access::require_token,
    call_recorder::{CallQueue, record_calls},
    connections,
    journal_tail::watch_journal,
    router::router,
    settings::ServerSettings,
    state::AppState,
};
use crate::{
    provider::{
        ProviderError,
        tls::{Certificates, builder as client_builder},
    },
    store::StoreError,
};

/// Time for delegations to save their state after the last connection was closed.
const STOP_TIME: Duration = Duration::from_secs(2);

/// Error of starting the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("listening on {address}")]
    Bind {
        /// Address that was requested.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The address is reachable from other machines, but there is no token.
    #[error("{0} is reachable from other machines, but there is no token")]
    NoToken(SocketAddr),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The client of the proxy cannot be set up.
    #[error(transparent)]
    Client(#[from] ProviderError),
    /// Serving failed.
    #[error("serving")]
    Io(#[from] io::Error),
}

/// A server that listens but does not serve yet.
pub struct Server {
    listener: TcpListener,
    settings: ServerSettings,
}

impl Server {
    /// Binds an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// If the address is not a loopback address and there is no token, or it cannot be bound.
    pub async fn bind(address: SocketAddr, settings: ServerSettings) -> Result<Self, ServeError> {
        require_token(address, &settings)?;
        let listener = TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address, source })?;
        Ok(Self { listener, settings })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// If the operating system does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is cancelled. Event streams then end with an event `bye`; other requests get ten seconds.
    ///
    /// # Errors
    /// If the store cannot be watched.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let journal = watch_journal(Arc::clone(self.settings.loom.store()), shutdown.clone())?;
        let (calls, waiting_calls) = CallQueue::new();
        let state = AppState::new(self.settings, proxy_client()?, calls, journal, shutdown.clone());
        tokio::spawn(archive_expired(state.clone()));
        let recording = tokio::task::spawn_blocking({
            let state = state.clone();
            move || record_calls(&state, waiting_calls)
        });
        tokio::spawn(stop_delegations(state.clone()));
        let served = connections::serve(self.listener, router(state.clone()), shutdown).await;
        // The state of a delegation that is not saved by then is that of its last event.
        let _ = tokio::time::timeout(STOP_TIME, state.settings.tool_access.background.idle()).await;
        state.calls.end().await;
        // An error means that the runtime stops.
        let _ = recording.await;
        Ok(served?)
    }
}

/// Stops delegations when the server stops. They can be resumed.
async fn stop_delegations(state: AppState) {
    state.shutdown.cancelled().await;
    state.settings.tool_access.background.stop();
}

/// Archives conversations that have expired, at the configured interval, until the server stops.
async fn archive_expired(state: AppState) {
    let mut interval = tokio::time::interval(state.settings.conversation.cleanup_interval);
    while state.shutdown.run_until_cancelled(interval.tick()).await.is_some() {
        let archived =
            state.run(|state| Ok(state.loom().actor(&state.loom().agent("owner")?).archive_expired_sessions()?));
        match archived.await {
            Ok(sessions) if sessions.is_empty() => {}
            Ok(sessions) => tracing::info!(sessions = sessions.len(), "expired conversations were archived"),
            Err(error) => tracing::warn!(error = error.message(), "expired conversations were not archived"),
        }
    }
}

/// Returns the HTTP client of the proxy. It follows no redirects, which would choose who gets the key.
fn proxy_client() -> Result<reqwest::Client, ProviderError> {
    let build = |certificates| Ok(client_builder(certificates)?.tcp_nodelay(true).build());
    let client: Result<_, ProviderError> = build(Certificates::System);
    // Without certificates of the system, plain `http` works.
    let client = client.or_else(|_| build(Certificates::None))?;
    client.map_err(|error| ProviderError::configuration(error.to_string()))
}
