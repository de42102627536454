//! Lease on the position at which a generation streams.

use std::time::Duration;

use super::{GenerateError, GenerationDriver, OpsError, Progress};
use crate::id::NodeId;

/// Duration of a lease on a position. A crashed process blocks the position no longer than this.
pub(in crate::session) const LEASE_DURATION: Duration = Duration::from_secs(60);
/// Interval of lease renewals while a model streams.
pub(super) const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(20);

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Leases a position for the author.
    pub(super) async fn lease(&mut self, node: NodeId) -> Result<(), GenerateError> {
        self.actor.lease(node, self.request.author.id(), LEASE_DURATION).await.map_err(OpsError::from)?;
        self.leased = Some(node);
        Ok(())
    }

    /// Renews the lease. If that fails, others may take the position. A reply is then refused, and its text stays in the file
    /// of the partial reply.
    pub(super) async fn renew(&mut self) {
        let Some(node) = self.leased else { return };
        if let Err(error) = self.actor.lease(node, self.request.author.id(), LEASE_DURATION).await {
            tracing::warn!(%error, "the lease could not be renewed");
        }
    }

    /// Releases the lease. If that fails, the lease expires by itself.
    pub(super) async fn release(&mut self) {
        let Some(node) = self.leased.take() else { return };
        if let Err(error) = self.actor.release(node, self.request.author.id()).await {
            tracing::warn!(%error, "the lease could not be released; it will expire");
        }
    }
}
