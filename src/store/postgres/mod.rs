//! The PostgreSQL backend: a store in a database of a server, for services that outgrow one machine.
//!
//! Several processes write at once, also into one tree. The same rules give the same ids, hashes, counts and rankings as on
//! SQLite. Numbers of nodes and entries contain the number of the writing transaction, so no writer waits for a counter.

mod connection;
mod copies;
mod copy_file;
mod copy_tables;
mod decode;
mod fts_index;
mod fts_query;
mod journal;
mod migrate;
mod node_reader;
mod path;
mod pool;
mod search_filter;
mod search_reader;
mod session_reader;
mod session_state;
mod shape_reader;
mod snapshot;
mod tables;
mod uuid;
mod vectors;
mod watch;

use std::{path::Path, sync::Arc};

use tokio_postgres::Config;

pub(super) use self::copy_file::copy as copy_file;
use self::{pool::ConnectionPool, snapshot::PostgresSnapshot};
use super::{
    Change, Location, OpenOptions, Pending, RebuildReport, Result, Snapshot, Store, StoreError, Transaction,
    VerifyReport, Watch,
};
use crate::session_state::CompiledRules;

/// Opens the database of a URL, and migrates it if needed.
pub(super) fn open(url: &str, options: &OpenOptions) -> Result<PostgresStore> {
    let name = Location::Postgres(url.to_owned()).to_string();
    let cannot = |cause: String| StoreError::CannotOpen { path: name.clone().into(), cause };
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| cannot(error.to_string()))?;
    config.application_name("loom");
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(options.wait);
    }
    let pool = ConnectionPool::new(config);
    let conn = pool.borrow().map_err(|error| cannot(error.to_string()))?;
    migrate::migrate(&conn, &name, options)?;
    drop(conn);
    Ok(PostgresStore { pool, rules: Arc::clone(&options.rules) })
}

/// A store in a database of a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresStore {
    pool: ConnectionPool,
    rules: Arc<CompiledRules>,
}

impl Store for PostgresStore {
    fn submit(&self, _: Change) -> Pending {
        Pending::ready(Err(StoreError::Refused("this build cannot write to PostgreSQL".to_owned())))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(PostgresSnapshot::begin(&self.pool, &self.rules)?))
    }

    fn begin(&self) -> Result<Arc<dyn Transaction>> {
        Err(StoreError::Refused("this build cannot write to PostgreSQL".to_owned()))
    }

    fn watch(&self) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::PostgresWatch::begin(&self.pool)?))
    }

    fn verify(&self, _: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        Err(StoreError::Refused("this build cannot verify a PostgreSQL database".to_owned()))
    }

    fn rebuild(&self) -> Result<RebuildReport> {
        let indexed = fts_index::rebuild(&*self.pool.borrow()?)?;
        Ok(RebuildReport { indexed, ..RebuildReport::default() })
    }

    fn backup(&self, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let why =
            "a PostgreSQL database is not copied into a file here: `pg_dump` makes a backup, `loom copy` a SQLite file";
        Err(StoreError::Refused(why.to_owned()))
    }
}
