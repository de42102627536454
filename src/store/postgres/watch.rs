//! Detection of commits. The server's snapshot changes whenever a transaction that wrote ends, so comparing it reads no
//! table and covers every commit. A write to another database of the server is reported too.

use super::{connection::PostgresConnection, decode::get, pool::PgConnectionPool, server_url::PgServer};
use crate::store::{Result, Watch};

pub(super) struct PostgresWatch {
    server: PgServer,
    conn: PostgresConnection,
    seen: String,
}

impl PostgresWatch {
    pub(super) fn begin(pool: &PgConnectionPool) -> Result<Self> {
        let conn = pool.open()?;
        let seen = moment(&conn)?;
        Ok(Self { server: pool.server().clone(), conn, seen })
    }
}

impl Watch for PostgresWatch {
    fn has_changed(&mut self) -> Result<bool> {
        if self.conn.is_closed() {
            self.conn = PostgresConnection::connect(&self.server)?;
        }
        let now = moment(&self.conn)?;
        Ok(std::mem::replace(&mut self.seen, now.clone()) != now)
    }
}

fn moment(conn: &PostgresConnection) -> Result<String> {
    get(&conn.query_one("SELECT pg_current_snapshot()::text", &[])?, 0)
}
