//! SQLite's errors in the store's words.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// What a failed statement means to a caller who knows nothing of SQLite.
impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::SqliteFailure(failure, message) => {
                // SQLite quotes the statement that it choked on, over many lines.
                let said = message.clone().unwrap_or_else(|| failure.to_string());
                let said = said.lines().next().unwrap_or_default().to_owned();
                match failure.code {
                    ErrorCode::DiskFull => Self::Full,
                    ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                        Self::Busy { waited: std::time::Duration::ZERO }
                    }
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged { detail: said },
                    ErrorCode::ConstraintViolation => Self::Refused(said),
                    // A limit on the file's size (ulimit, quota) reaches SQLite as a failed write; a disk without
                    // room for the log's index as one that it could not make longer.
                    ErrorCode::SystemIoFailure
                        if matches!(failure.extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) =>
                    {
                        Self::Full
                    }
                    ErrorCode::SystemIoFailure => Self::Io { detail: said },
                    _ => Self::Backend(Box::new(error)),
                }
            }
            Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..) => Self::Undecodable(error.to_string()),
            // A statement of this program that does not fit the file: its schema is not what was written.
            Error::SqlInputError { msg, .. } => {
                Self::Damaged { detail: msg.lines().next().unwrap_or_default().to_owned() }
            }
            _ => Self::Backend(Box::new(error)),
        }
    }
}

/// The same for a file that is being opened: some of SQLite's codes are about the file.
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

/// Whether the statement failed only because another connection holds a lock.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
