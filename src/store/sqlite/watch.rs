//! Detection of commits. SQLite counts other connections' commits in the log's index, in shared memory. Reading that
//! count touches no page of the file and covers every commit; the journal's last number would miss leases. The count is
//! relative to a connection, so a watch owns one.

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
