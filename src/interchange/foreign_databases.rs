//! Databases of other programs: detection by their tables, and their readers.

use std::path::Path;

use super::{
    Format, Importer, InterchangeError, basemode, cursor, goose, llm_cli, open_webui, opencode,
    source_record::SourcePlace, zed,
};
use crate::{
    ops::OpsError,
    store::{ForeignDatabase, StoreError},
};

/// Bytes with which a database begins.
pub const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Detects the format of a database by its tables.
///
/// # Errors
/// If the file is no database.
pub fn detect_database(path: &Path) -> Result<Option<Format>, InterchangeError> {
    Ok(format_of(&ForeignDatabase::open(path)?.tables()?))
}

fn format_of(tables: &[String]) -> Option<Format> {
    let has = |names: &[&str]| names.iter().all(|name| tables.iter().any(|table| table == name));
    if has(&["responses", "conversations"]) || has(&["messages", "parts", "threads"]) {
        Some(Format::Llm)
    } else if has(&["session", "message", "part"]) {
        Some(Format::OpenCode)
    } else if has(&["chat", "user"]) {
        Some(Format::OpenWebUi)
    } else if has(&["sessions", "messages"]) && !has(&["journal"]) {
        Some(Format::Goose)
    } else if has(&["cursorDiskKV"]) {
        Some(Format::Cursor)
    } else if has(&["threads"]) {
        Some(Format::Zed)
    } else if has(&["trees", "nodes"]) && !has(&["journal"]) {
        Some(Format::Basemode)
    } else {
        None
    }
}

/// Reads a database in the format of its tables. A damaged rest of it is a problem of the import.
pub(super) fn read(path: &Path, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let database = ForeignDatabase::open(path)?;
    let tables = database.tables()?;
    let read = match format_of(&tables) {
        Some(Format::OpenCode) => opencode::read_database(&database, importer),
        Some(Format::OpenWebUi) => open_webui::read_database(&database, &tables, importer),
        Some(Format::Goose) => goose::read_database(&database, importer),
        Some(Format::Cursor) => cursor::read_database(&database, &tables, importer),
        Some(Format::Zed) => zed::read_database(&database, importer),
        Some(Format::Basemode) => basemode::read_database(&database, importer),
        _ => llm_cli::read(&database, &tables, importer),
    };
    match read {
        // The error of reading the foreign file; the own file is open.
        Err(InterchangeError::Ops(OpsError::Store(StoreError::CannotOpen { cause, .. }))) => {
            importer.problem(SourcePlace::Whole, format!("the rest of the database cannot be read: {cause}"));
            Ok(())
        }
        read => read,
    }
}
