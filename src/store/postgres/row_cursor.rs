//! Reading of many rows in pages, by a cursor of the server.

use tokio_postgres::Row;

use super::connection::{Params, PostgresConnection};
use crate::store::Result;

/// Rows of a page.
const PAGE_ROWS: usize = 1_024;

/// Runs a query in the open transaction and passes on its rows, at most 1,024 at once. Changes that `each` makes do not change
/// what the query finds. A cursor's name belongs to one query: the connection remembers the columns of its pages.
pub(super) fn each_page(
    conn: &PostgresConnection,
    name: &str,
    (sql, params): (&str, Params<'_>),
    mut each: impl FnMut(&[Row]) -> Result<()>,
) -> Result<()> {
    conn.execute(&format!("DECLARE {name} NO SCROLL CURSOR FOR {sql}"), params)?;
    let fetch = format!("FETCH {PAGE_ROWS} FROM {name}");
    let read = loop {
        match conn.query(&fetch, &[]).and_then(|rows| each(&rows).map(|()| rows.len())) {
            Ok(PAGE_ROWS) => {}
            Ok(_) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // After an error of the server this fails too.
    read.and(conn.batch(&format!("CLOSE {name}")))
}
