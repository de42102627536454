//! A store for tests, isolated from the machine: a temporary folder, a fixed clock, seeded ids.

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

/// 2023-11-14, 22:13:20 UTC: the initial time of every scene.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Takes a file back to version 20 or 19 of its schema, as far as migrations need it.
#[allow(dead_code)] // not every test binary needs it
pub(crate) fn downgrade(path: &Path, version: u32) {
    let conn = rusqlite::Connection::open(path).expect("the file opens");
    // The checksum of a session did not cover the newest column; its trigger is made again by the migration.
    let before = [
        "DROP VIEW cowork_sessions; CREATE VIEW cowork_sessions AS SELECT id FROM sessions",
        "DROP TRIGGER sessions_inserted; DROP TRIGGER sessions_updated; DROP TABLE system_prompts",
        "UPDATE sessions SET total_tokens = 0; ALTER TABLE sessions DROP COLUMN person_turns",
        "CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN SELECT 1; END",
        "CREATE TRIGGER sessions_updated AFTER UPDATE OF ulid ON sessions BEGIN SELECT 1; END",
    ];
    conn.execute_batch("DROP TABLE retags").expect("an older schema");
    before.iter().for_each(|sql| conn.execute_batch(sql).expect("an older schema"));
    conn.execute_batch(&format!("DELETE FROM migrations WHERE version > {version}; PRAGMA user_version = {version}"))
        .expect("an older version");
}

/// The environment of a test. The folder is removed when the scene is dropped.
pub(crate) struct Scene {
    /// The database's path. The first [`Scene::store`] creates the file.
    pub(crate) path: PathBuf,
    /// The clock, at [`START`] until it is set.
    pub(crate) clock: Arc<FixedClock>,
    ids: Arc<RandomIds>,
    _folder: Option<TempDir>,
}

impl Scene {
    /// Creates a scene in a new folder. The same seed gives the same ids.
    pub(crate) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = Self::at(&folder.path().join("loom.db"), seed);
        Self { _folder: Some(folder), ..scene }
    }

    /// Creates a scene for a database that another process writes.
    pub(crate) fn at(path: &Path, seed: u64) -> Self {
        let clock = Arc::new(FixedClock::at(START));
        Self { path: path.to_owned(), clock, ids: Arc::new(RandomIds::seeded(seed)), _folder: None }
    }

    /// Returns the options that open the scene's database.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions::new(self.clock.clone(), self.ids.clone())
    }

    /// Opens the scene's database.
    pub(crate) fn store(&self) -> SqliteStore {
        self.options().open(&self.path).expect("the store opens")
    }

    /// Returns a handle of `store` with the scene's clock and ids.
    pub(crate) fn over(&self, store: SqliteStore) -> Loom {
        Loom::new(Arc::new(store), self.clock.clone(), self.ids.clone())
    }

    /// Opens the scene's database; returns an actor for the owner.
    pub(crate) fn owner(&self) -> Actor {
        let loom = self.over(self.store());
        let owner = loom.agent("owner").expect("every database has an owner");
        loom.actor(&owner)
    }
}
