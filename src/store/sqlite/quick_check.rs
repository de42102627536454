//! A quick check of a file without opening it as a store: nothing is written or migrated.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{
    error::at_open,
    migrate,
    open::name_file,
    verify::{journal, structure},
};
use crate::store::{Inspection, OpenOptions, Result, StoreError, VerifyReport};

pub(super) fn inspect(path: &Path, options: &OpenOptions) -> Result<Inspection> {
    if !path.exists() {
        return Err(StoreError::CannotOpen { path: path.to_owned(), cause: "no such file".to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = Connection::open_with_flags(path, flags).map_err(|e| at_open(e, path))?;
    conn.busy_timeout(options.wait)?;
    look(&conn, path).map_err(|e| name_file(e, path, options))
}

fn look(conn: &Connection, path: &Path) -> Result<Inspection> {
    let tx = conn.unchecked_transaction()?;
    let schema = migrate::inspect(&tx, path)?;
    let mut report = VerifyReport::default();
    // A corrupt page makes one check fail; the other one still runs.
    if let Err(error) = structure(&tx, "quick_check", &mut report) {
        report.problems.push(format!("the file's structure cannot be checked: {error}"));
    }
    if schema > 0
        && let Err(error) = journal(&tx, &mut report)
    {
        report.problems.push(format!("the journal cannot be checked: {error}"));
    }
    Ok(Inspection { schema, supported: migrate::VERSION, entries: report.entries, problems: report.problems })
}
