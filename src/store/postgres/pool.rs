//! Reader connections, reused after their return.

use std::{
    ops::Deref,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{connection::PostgresConnection, server_url::PgServer};
use crate::store::{Result, StoreError};

/// Maximum number of idle connections.
const MAX_IDLE_CONNECTIONS: usize = 4;
/// Time after which a server that had no connection left is asked again.
const NEXT_TRY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct PgConnectionPool {
    server: PgServer,
    /// Longest time that a caller waits for a connection.
    wait: Duration,
    idle: Mutex<Vec<PostgresConnection>>,
    returned: Condvar,
}

impl PgConnectionPool {
    pub(super) fn new(server: PgServer, wait: Duration) -> Self {
        Self { server, wait, idle: Mutex::default(), returned: Condvar::new() }
    }

    /// Server of new connections.
    pub(super) fn server(&self) -> &PgServer {
        &self.server
    }

    /// Opens a connection that is not shared.
    pub(super) fn open(&self) -> Result<PostgresConnection> {
        PostgresConnection::connect(&self.server)
    }

    /// Borrows a connection. One that was lost while idle is replaced. While the server has none left, or is starting, the
    /// caller waits for one that another caller returns.
    pub(super) fn borrow(&self) -> Result<PgPooledConnection<'_>> {
        let start = Instant::now();
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let conn = match idle {
                Some(conn) if conn.is_closed() => continue,
                Some(conn) => conn,
                None => match self.open() {
                    Ok(conn) => conn,
                    Err(StoreError::Busy { .. }) if start.elapsed() < self.wait => {
                        self.await_return();
                        continue;
                    }
                    Err(StoreError::Busy { .. }) => {
                        let detail = "PostgreSQL has no connection left, or is still starting".to_owned();
                        return Err(StoreError::Io { detail });
                    }
                    Err(error) => return Err(error),
                },
            };
            return Ok(PgPooledConnection { pool: self, conn: Some(conn) });
        }
    }

    /// Waits until a connection is returned, or for [`NEXT_TRY`].
    fn await_return(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.returned.wait_timeout_while(idle, NEXT_TRY, |idle| idle.is_empty()));
    }
}

/// A borrowed connection, returned to the pool when dropped.
#[derive(Debug)]
pub(super) struct PgPooledConnection<'p> {
    pool: &'p PgConnectionPool,
    conn: Option<PostgresConnection>,
}

impl Deref for PgPooledConnection<'_> {
    type Target = PostgresConnection;

    #[allow(clippy::expect_used)] // `conn` is only taken by `drop`
    fn deref(&self) -> &PostgresConnection {
        self.conn.as_ref().expect("present until dropped")
    }
}

impl Drop for PgPooledConnection<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = self.conn.take()
            && idle.len() < MAX_IDLE_CONNECTIONS
            && !conn.is_closed()
        {
            idle.push(conn);
            self.pool.returned.notify_one();
        }
    }
}
