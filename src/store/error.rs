//! What can go wrong in the store.

use std::{error::Error, path::PathBuf, time::Duration};

/// A failed call of the store. Nothing was changed by it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something that a change or query names is not there.
    #[error("no {what} {id}")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// The change does not fit what is there now; the text says what stands in its way.
    #[error("{0}")]
    Conflict(String),
    /// Somebody else generates at a position that the change would continue or hide.
    #[error("{agent} is generating at [{node}] (for at most {seconds} s more)")]
    Leased {
        /// Who, by name.
        agent: String,
        /// The position's short id.
        node: String,
        /// How long the position is theirs unless they ask for longer.
        seconds: u64,
    },
    /// The change breaks a rule of the model; the text says which.
    #[error("{0}")]
    Refused(String),
    /// Other processes kept the file locked for longer than the wait that was set.
    #[error("the database is locked by another process; waited {} s", waited.as_secs_f64())]
    Busy {
        /// How long this call waited.
        waited: Duration,
    },
    /// The file is something else.
    #[error("{} is not a loomtree database", path.display())]
    NotADatabase {
        /// Which file.
        path: PathBuf,
    },
    /// A newer loomtree wrote the file.
    #[error(
        "{} was written by a newer loomtree (schema {found}, this one knows {known}); update loomtree to open it; \
         the file was left untouched", path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The newest version that this build knows.
        known: u32,
    },
    /// A migration that the file went through differs from the one of that number in this build.
    #[error("{}: migration {version} is not the one of this build; the file was left untouched", path.display())]
    MigrationDiffers {
        /// Which file.
        path: PathBuf,
        /// The migration's number.
        version: u32,
    },
    /// The file, or its folder, cannot be written.
    #[error("{} cannot be written (read-only)", path.display())]
    ReadOnly {
        /// Which file.
        path: PathBuf,
    },
    /// The file cannot be opened or made.
    #[error("{} cannot be opened: {cause}", path.display())]
    CannotOpen {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        cause: String,
    },
    /// There is no room left.
    #[error("the disk is full, or a limit on the file's size is reached; nothing was changed")]
    Full,
    /// The file's structure is damaged.
    #[error("the database is damaged ({detail}); `loom verify` says where, a backup can replace it")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// A stored row does not decode.
    #[error("the database is damaged: {0}")]
    Undecodable(String),
    /// Reading or writing the file failed.
    #[error("reading or writing the database failed: {detail}")]
    Io {
        /// What the system said.
        detail: String,
    },
    /// The thread that writes is gone; the store must be opened again.
    #[error("the store is closed")]
    Closed,
    /// Anything else that the backend says.
    #[error("the store failed: {0}")]
    Backend(#[source] Box<dyn Error + Send + Sync>),
}

/// What the store's calls return.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// Something named `id` is not there.
    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }
}
