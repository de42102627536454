//! Watching for changes. SQLite counts, for each connection, how often others have committed; the number stands in the
//! index of the log, in shared memory. So a look costs no page of the file, and tells of everything: the journal's last
//! number would not tell of leases. It needs a connection of its own, since the number means nothing to another one.

use rusqlite::Connection;

use super::pool::ConnectionPool;
use crate::store::{Result, Watch};

pub(super) struct SqliteWatch {
    conn: Connection,
    seen: i64,
}

impl SqliteWatch {
    pub(super) fn begin(pool: &ConnectionPool) -> Result<Self> {
        let conn = pool.open()?.0;
        let seen = version(&conn)?;
        Ok(Self { conn, seen })
    }
}

impl Watch for SqliteWatch {
    fn has_changed(&mut self) -> Result<bool> {
        let now = version(&self.conn)?;
        Ok(std::mem::replace(&mut self.seen, now) != now)
    }
}

fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
