//! Conversion of SQLite's errors into [`StoreError`].

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// Maps a statement's error to a variant that needs no knowledge of SQLite.
impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::SqliteFailure(failure, message) => {
                // SQLite appends the failed statement, over many lines.
                let said = message.clone().unwrap_or_else(|| failure.to_string());
                let said = said.lines().next().unwrap_or_default().to_owned();
                match failure.code {
                    ErrorCode::DiskFull => Self::Full,
                    ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                        Self::Busy { waited: std::time::Duration::ZERO }
                    }
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged { detail: said },
                    ErrorCode::ConstraintViolation => Self::Refused(said),
                    // SQLite reports a limit on the file's size (ulimit, quota) as a failed write, and a disk without
                    // room for the log's index as a failure to extend it.
                    ErrorCode::SystemIoFailure
                        if matches!(failure.extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) =>
                    {
                        Self::Full
                    }
                    ErrorCode::SystemIoFailure => Self::Io { detail: said },
                    _ => Self::Backend(Box::new(error)),
                }
            }
            // All statements name existing tables and columns, so the file's schema was changed by another program.
            Error::SqlInputError { msg, .. } => {
                Self::Damaged { detail: msg.lines().next().unwrap_or_default().to_owned() }
            }
            Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..) => Self::Undecodable(error.to_string()),
            // A number of the caller is larger than the largest one of a row.
            Error::ToSqlConversionFailure(_) => Self::Refused("a number is too large".to_owned()),
            _ => Self::Backend(Box::new(error)),
        }
    }
}

/// Converts an error of opening a file, where some of SQLite's codes concern the file.
pub(super) fn at_open(error: Error, path: &Path) -> StoreError {
    if let Error::SqliteFailure(failure, message) = &error {
        match failure.code {
            ErrorCode::NotADatabase => {
                return StoreError::NotADatabase { path: path.to_owned() };
            }
            ErrorCode::ReadOnly => {
                return StoreError::ReadOnly { path: path.to_owned() };
            }
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                let cause = std::fs::File::open(path)
                    .err()
                    .map_or_else(|| message.clone().unwrap_or_else(|| failure.to_string()), |io| io.to_string());
                return StoreError::CannotOpen { path: path.to_owned(), cause };
            }
            _ => {}
        }
    }
    error.into()
}

/// True if another connection holds a lock that the statement needs.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
