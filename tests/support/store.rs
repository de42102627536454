//! A store for tests, isolated from the machine: a temporary folder, a fixed clock, seeded ids.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use loomtree::{
    id::RandomIds,
    ops::{Actor, Loom},
    store::{Location, OpenOptions, SqliteStore, Store},
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
    /// A path in the scene's folder: that of the database, if it is a file. The first [`Scene::store`] creates the file.
    pub(crate) path: PathBuf,
    /// The database: the file, or one of the server that `LOOM_TEST_BACKEND=postgres` selects.
    pub(crate) location: Location,
    /// The clock, at [`START`] until it is set.
    pub(crate) clock: Arc<FixedClock>,
    ids: Arc<RandomIds>,
    _folder: Option<TempDir>,
}

/// Returns the bytes of a new database file.
fn new_file() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = Scene::at(&folder.path().join("loom.db"), 0);
        drop(scene.store());
        std::fs::read(&scene.path).expect("the file is read")
    })
}

impl Scene {
    /// Creates a scene with a new database of the selected backend. The same seed gives the same ids.
    pub(crate) fn new(seed: u64) -> Self {
        let scene = Self::of_file(seed);
        #[cfg(feature = "postgres")]
        if super::postgres::is_selected() {
            let cluster = super::postgres::shared().expect("the programs of a PostgreSQL server are installed");
            return Self { location: Location::Postgres(cluster.new_database()), ..scene };
        }
        scene
    }

    /// Creates a scene with a new file, for tests of what only a file has. The file is a copy of one that was migrated once
    /// for all tests of the process.
    pub(crate) fn of_file(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = Self::at(&folder.path().join("loom.db"), seed);
        std::fs::write(&scene.path, new_file()).expect("the file is written");
        Self { _folder: Some(folder), ..scene }
    }

    /// Creates a scene for a database that another process writes.
    pub(crate) fn at(path: &Path, seed: u64) -> Self {
        let clock = Arc::new(FixedClock::at(START));
        let ids = Arc::new(RandomIds::seeded(seed));
        Self { path: path.to_owned(), location: Location::of(path), clock, ids, _folder: None }
    }

    /// Exchanges the scene's database.
    pub(crate) fn with(self, location: Location) -> Self {
        Self { location, ..self }
    }

    /// Creates a scene for the same database with other ids, as of another process.
    pub(crate) fn again(&self, seed: u64) -> Self {
        Self { location: self.location.clone(), ..Self::at(&self.path, seed) }
    }

    /// Returns the options that open the scene's database.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions::new(self.clock.clone(), self.ids.clone())
    }

    /// Opens the scene's file.
    pub(crate) fn store(&self) -> SqliteStore {
        self.options().open(&self.path).expect("the store opens")
    }

    /// Returns a handle of `store` with the scene's clock and ids.
    pub(crate) fn over(&self, store: impl Store + 'static) -> Loom {
        self.share(Arc::new(store))
    }

    /// Returns a handle of a shared store with the scene's clock and ids.
    pub(crate) fn share(&self, store: Arc<dyn Store>) -> Loom {
        Loom::new(store, self.clock.clone(), self.ids.clone())
    }

    /// Opens the scene's database.
    pub(crate) fn loom(&self) -> Loom {
        self.share(self.options().connect(&self.location).expect("the store opens"))
    }

    /// Runs a statement on the database, past the store.
    pub(crate) fn execute(&self, sql: &str) {
        match &self.location {
            Location::File(path) => {
                let conn = rusqlite::Connection::open(path).expect("the file opens");
                conn.execute_batch(sql).expect("the statement runs");
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                let database = url.split(['/', '?']).nth(3).expect("a name");
                super::postgres::shared().expect("a server").sql(database, sql).expect("the statement runs");
            }
            #[cfg(not(feature = "postgres"))]
            Location::Postgres(_) => unreachable!("this build opens files only"),
        }
    }

    /// Opens the scene's database; returns an actor for the owner.
    pub(crate) fn owner(&self) -> Actor {
        let loom = self.loom();
        let owner = loom.agent("owner").expect("every database has an owner");
        loom.actor(&owner)
    }
}
