//! Reader connections, reused after their return.

use std::{
    ops::Deref,
    sync::{Mutex, PoisonError},
};

use super::{connection::PostgresConnection, server_url::PgServer};
use crate::store::Result;

/// Maximum number of idle connections.
const MAX_IDLE_CONNECTIONS: usize = 4;

#[derive(Debug)]
pub(super) struct PgConnectionPool {
    server: PgServer,
    idle: Mutex<Vec<PostgresConnection>>,
}

impl PgConnectionPool {
    pub(super) fn new(server: PgServer) -> Self {
        Self { server, idle: Mutex::default() }
    }

    /// Server of new connections.
    pub(super) fn server(&self) -> &PgServer {
        &self.server
    }

    /// Opens a connection that is not shared.
    pub(super) fn open(&self) -> Result<PostgresConnection> {
        PostgresConnection::connect(&self.server)
    }

    /// Borrows a connection. One that was lost while idle is replaced.
    pub(super) fn borrow(&self) -> Result<PgPooledConnection<'_>> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(conn) if conn.is_closed() => {}
                Some(conn) => return Ok(PgPooledConnection { pool: self, conn: Some(conn) }),
                None => return Ok(PgPooledConnection { pool: self, conn: Some(self.open()?) }),
            }
        }
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
        }
    }
}
