//! Options for opening a database, of either backend.

use std::{path::Path, sync::Arc, time::Duration};

use super::{CopyReport, Inspection, Location, Result, SqliteStore, Store, StoreError, sqlite};
use crate::{
    id::IdSource,
    session_state::{CompiledRules, ExtractionRules},
    types::Clock,
};

/// Options for opening a database. The host provides the clock and the ids.
///
/// ```
/// use std::sync::Arc;
///
/// use loomtree::{id::RandomIds, ops::Loom, store::OpenOptions, types::{FixedClock, Timestamp}};
///
/// // A test: a fixed clock and seeded ids give the same file each time.
/// let folder = tempfile::tempdir()?;
/// let clock = Arc::new(FixedClock::at(Timestamp::from_millis(0)));
/// let ids = Arc::new(RandomIds::seeded(7));
/// let store = OpenOptions::new(clock.clone(), ids.clone()).open(folder.path().join("trees.db"))?;
/// let loom = Loom::new(Arc::new(store), clock, ids);
/// assert_eq!(loom.now(), Timestamp::from_millis(0));
/// # Ok::<(), loomtree::Error>(())
/// ```
#[derive(Clone)]
pub struct OpenOptions {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) wait: Duration,
    pub(super) create: bool,
    pub(super) read_only: bool,
    pub(super) page_limit: Option<u32>,
    pub(super) rules: Arc<CompiledRules>,
}

impl OpenOptions {
    /// Creates the default options: read and write, create a missing file, wait up to 10 s for other processes.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self {
            clock,
            ids,
            wait: Duration::from_secs(10),
            create: true,
            read_only: false,
            page_limit: None,
            rules: Arc::default(),
        }
    }

    /// Sets the time that a commit or a read waits for other processes before it fails with
    /// [`super::StoreError::Busy`].
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets whether a missing file is created.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens read-only: commits fail with [`super::StoreError::ReadOnly`]. A file of an older version is refused, since
    /// it cannot be migrated.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Limits the file to this many pages of 4,096 bytes; commits beyond fail with [`super::StoreError::Full`].
    #[must_use]
    pub fn page_limit(mut self, pages: u32) -> Self {
        self.page_limit = Some(pages);
        self
    }

    /// Sets the rules that extract session states. A state written under other rules is not compared with the archive
    /// by [`Store::verify`].
    #[must_use]
    pub fn register_rules(mut self, rules: ExtractionRules) -> Self {
        self.rules = Arc::new(CompiledRules::new(rules));
        self
    }

    /// Opens the database that `location` names: a file, or the URL of a PostgreSQL database.
    ///
    /// # Errors
    /// Those of [`OpenOptions::open`]. Also if the server cannot be reached, or this build lacks the feature `postgres`.
    pub fn connect(&self, location: &Location) -> Result<Arc<dyn Store>> {
        match location {
            Location::File(path) => Ok(Arc::new(self.open(path)?)),
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => Ok(Arc::new(super::postgres::open_whole(url, self)?)),
            #[cfg(not(feature = "postgres"))]
            Location::Postgres(_) => {
                let cause = "this build has no PostgreSQL; build it with `--features postgres`".to_owned();
                Err(StoreError::CannotOpen { path: location.to_string().into(), cause })
            }
        }
    }

    /// Copies a file into the empty database of a URL, or the database of a URL into a new file, and compares both. All ids are
    /// kept; a file numbers nodes and entries without gaps, a database keeps the numbers of the file. A copy that was cut off
    /// continues. `progress` receives the number of rows copied so far.
    ///
    /// # Errors
    /// If the source cannot be opened, the target holds something, a text of a file contains the character NUL, or both
    /// locations are of the same kind. Also if this build lacks the feature `postgres`.
    pub fn transfer(&self, from: &Location, to: &Location, progress: &mut dyn FnMut(u64)) -> Result<CopyReport> {
        match (from, to) {
            #[cfg(feature = "postgres")]
            (Location::File(file), Location::Postgres(url)) => {
                super::postgres::transfer_from_file(file, &super::postgres::open(url, self)?, self, progress)
            }
            #[cfg(feature = "postgres")]
            (Location::Postgres(url), Location::File(file)) => {
                let source = super::postgres::open(url, &self.clone().create(false))?;
                super::postgres::transfer_to_file(&source, file, self, progress)
            }
            #[cfg(not(feature = "postgres"))]
            (Location::Postgres(_), Location::File(_)) | (Location::File(_), Location::Postgres(_)) => {
                let _ = progress;
                let url = if from.file().is_none() { from } else { to };
                self.connect(url).map(|_| CopyReport::default())
            }
            (Location::File(_), Location::File(_)) => Err(StoreError::Refused(
                "both locations are files; `loom backup` copies a file, `loom export` and `loom import` any database"
                    .to_owned(),
            )),
            (Location::Postgres(_), Location::Postgres(_)) => Err(StoreError::Refused(
                "both locations are URLs; `pg_dump` and `pg_restore` copy a PostgreSQL database".to_owned(),
            )),
        }
    }

    /// Opens the file, migrates it if needed (after a backup next to it), and starts the writer thread.
    ///
    /// # Errors
    /// If the file is not a loomtree database, is newer than this build, cannot be written, or stays locked.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        sqlite::open(path.as_ref(), self)
    }

    /// Returns the schema version and the result of a quick check. The file is neither written nor migrated.
    ///
    /// # Errors
    /// If the file is missing, is not a loomtree database, is newer than this build, cannot be read, or stays locked.
    pub fn inspect(&self, path: impl AsRef<Path>) -> Result<Inspection> {
        sqlite::inspect(path.as_ref(), self)
    }
}
