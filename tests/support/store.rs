//! A store to test with, cut off from the machine: a folder of its own, a clock that stands still, seeded ids.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use loomtree::{
    id::RandomIds,
    ops::{Actor, Loom},
    store::{OpenOptions, SqliteStore},
    types::{FixedClock, Timestamp},
};
use tempfile::TempDir;

/// 2023-11-14, 22:13:20 UTC: what the clock of every scene shows at first.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Where a test plays. The folder goes when the scene does.
pub(crate) struct Scene {
    /// The database's path; the file is made by the first [`Scene::store`].
    pub(crate) path: PathBuf,
    /// Shows [`START`] until it is set.
    pub(crate) clock: Arc<FixedClock>,
    ids: Arc<RandomIds>,
    _folder: Option<TempDir>,
}

impl Scene {
    /// A fresh folder. The same seed gives the same ids.
    pub(crate) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = Self::at(&folder.path().join("loom.db"), seed);
        Self { _folder: Some(folder), ..scene }
    }

    /// A database that something else looks after: a child process's.
    pub(crate) fn at(path: &Path, seed: u64) -> Self {
        let clock = Arc::new(FixedClock::at(START));
        Self { path: path.to_owned(), clock, ids: Arc::new(RandomIds::seeded(seed)), _folder: None }
    }

    /// How the scene's database is opened.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions::new(self.clock.clone(), self.ids.clone())
    }

    /// The scene's database, opened anew.
    pub(crate) fn store(&self) -> SqliteStore {
        self.options().open(&self.path).expect("the store opens")
    }

    /// `store` with the scene's clock and ids.
    pub(crate) fn over(&self, store: SqliteStore) -> Loom {
        Loom::new(Arc::new(store), self.clock.clone(), self.ids.clone())
    }

    /// The person whom every database knows, at work in the scene's database, opened anew.
    pub(crate) fn owner(&self) -> Actor {
        let loom = self.over(self.store());
        let owner = loom.agent("owner").expect("every database has an owner");
        loom.actor(&owner)
    }
}
