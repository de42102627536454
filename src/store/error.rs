//! The errors of the store.

use std::{error::Error, path::PathBuf, time::Duration};

/// An error of a store call. It changed nothing, except in two cases: a purge whose file could not be rewritten afterwards
/// ([`Conflict`](Self::Conflict)), and a change whose commit a lost database server did not confirm ([`Io`](Self::Io)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An item that a change or query refers to does not exist.
    #[error("no {what} {id}")]
    NotFound {
        /// Kind of the item, such as "node".
        what: &'static str,
        /// Id of the item.
        id: String,
    },
    /// The change conflicts with the current state; the text names the conflict.
    #[error("{0}")]
    Conflict(String),
    /// Another agent holds the lease of a position that the change would continue or hide.
    #[error("{agent} is generating at [{node}] (for at most {seconds} s more)")]
    Leased {
        /// Name of the generating agent.
        agent: String,
        /// Local id of the leased position.
        node: String,
        /// Remaining seconds of the lease, unless it is renewed.
        seconds: u64,
    },
    /// The change violates a rule of the data model; the text names the rule.
    #[error("{0}")]
    Refused(String),
    /// Other processes held the file's lock for longer than the configured wait.
    #[error("the database is locked by another process; waited {} s", waited.as_secs_f64())]
    Busy {
        /// Duration of the wait.
        waited: Duration,
    },
    /// The file is not a database of this program.
    #[error("{} is not a loomtree database", path.display())]
    NotADatabase {
        /// Path of the file.
        path: PathBuf,
    },
    /// A newer version of loomtree wrote the file.
    #[error(
        "{} was written by a newer loomtree (schema {found}, this one knows {known}); update loomtree to open it; \
         the file was left untouched", path.display()
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        found: u32,
        /// Newest schema version that this build supports.
        known: u32,
    },
    /// A migration applied to the file differs from the migration of the same number in this build.
    #[error("{}: migration {version} is not the one of this build; the file was left untouched", path.display())]
    MigrationDiffers {
        /// Path of the file.
        path: PathBuf,
        /// Number of the migration.
        version: u32,
    },
    /// The file or its folder is not writable.
    #[error("{} cannot be written (read-only)", path.display())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file cannot be opened or created.
    #[error("{} cannot be opened: {cause}", path.display())]
    CannotOpen {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the operating system.
        cause: String,
    },
    /// The disk is full, or the file reached its size limit.
    #[error("the disk is full, or a limit on the file's size is reached; nothing was changed")]
    Full,
    /// The file's structure is damaged.
    #[error("the database is damaged ({detail}); `loom verify` says where, a backup can replace it")]
    Damaged {
        /// Description of the damage.
        detail: String,
    },
    /// A stored row does not decode.
    #[error("the database is damaged: {0}")]
    Undecodable(String),
    /// Reading or writing the file failed.
    #[error("reading or writing the database failed: {detail}")]
    Io {
        /// Message of the operating system.
        detail: String,
    },
    /// The session has ended, so nothing is appended at its position until it is resumed.
    #[error("the session has ended; resume it to continue")]
    SessionEnded,
    /// The writer thread has ended; open the store again.
    #[error("the store is closed")]
    Closed,
    /// Any other error of the backend.
    #[error("the store failed: {0}")]
    Backend(#[source] Box<dyn Error + Send + Sync>),
}

/// The result of a store call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Io { detail: error.to_string() }
    }
}

impl StoreError {
    /// Returns an equal error for another caller. An error of the backend becomes its text.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::NotFound { what, id } => Self::NotFound { what, id: id.clone() },
            Self::Conflict(said) => Self::Conflict(said.clone()),
            Self::Leased { agent, node, seconds } => {
                Self::Leased { agent: agent.clone(), node: node.clone(), seconds: *seconds }
            }
            Self::Refused(said) => Self::Refused(said.clone()),
            Self::Busy { waited } => Self::Busy { waited: *waited },
            Self::ReadOnly { path } => Self::ReadOnly { path: path.clone() },
            Self::Full => Self::Full,
            Self::Damaged { detail } => Self::Damaged { detail: detail.clone() },
            Self::Undecodable(said) => Self::Undecodable(said.clone()),
            Self::Io { detail } => Self::Io { detail: detail.clone() },
            Self::SessionEnded => Self::SessionEnded,
            Self::Closed => Self::Closed,
            other => Self::Io { detail: other.to_string() },
        }
    }

    /// Creates a [`StoreError::NotFound`].
    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }
}
