//! The PostgreSQL backend: a store in a database of a server, for services that outgrow one machine.
//!
//! Several processes write at once, also into one tree. The same rules give the same ids, hashes, counts and rankings as on
//! SQLite. Numbers of nodes and entries contain the number of the writing transaction, so no writer waits for a counter.

mod apply;
mod apply_agents;
mod apply_documents;
mod apply_leases;
mod apply_memory;
mod apply_nodes;
mod apply_sessions;
mod apply_todos;
mod apply_trees;
mod apply_unjournaled;
mod choose_local_id;
mod compare_copy;
mod complete_nodes;
mod connection;
mod copy_branch;
mod copy_tables;
mod decode;
mod fts_index;
mod fts_query;
mod group_locks;
mod group_reads;
mod indexer;
mod journal;
mod lost_commit;
mod migrate;
mod node_columns;
mod node_reader;
mod path;
mod path_blocks;
mod pending_rows;
mod pool;
mod purge;
mod rebuild;
mod recount;
mod resolve_local_id;
mod row_cursor;
mod row_numbers;
mod search_filter;
mod search_reader;
mod server_url;
mod session_reader;
mod session_state;
mod shape_reader;
mod shared_text;
mod snapshot;
mod table_statistics;
mod tables;
mod tip_appends;
mod transaction;
mod transfer_from_file;
mod transfer_to_file;
mod undo;
mod unindexed;
mod uuid;
mod vectors;
mod verify;
mod visibility;
mod visible_position;
mod watch;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use self::{
    pool::PgConnectionPool,
    server_url::PgServer,
    snapshot::PostgresSnapshot,
    transaction::PostgresTransaction,
    writer::{PgWriterHandle, WriteConnection},
};
pub(super) use self::{transfer_from_file::transfer_from_file, transfer_to_file::transfer_to_file};
use super::{
    Change, Location, OpenOptions, PendingCommit, RebuildReport, Result, Snapshot, Store, StoreError, Transaction,
    VerifyReport, Watch,
    transaction_rules::{TransactionOwner, check_no_open_transaction},
};

/// Time after which a connection is lost whose server does not acknowledge what was sent, unless the URL says another.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens the database of a URL, and migrates it if needed. Refuses one into which a transfer has not ended.
pub(super) fn open_whole(url: &str, options: &OpenOptions) -> Result<PostgresStore> {
    let store = open(url, options)?;
    let sql = "SELECT 1 FROM settings WHERE name = 'copy.source'";
    if store.pool.borrow()?.query_opt(sql, &[])?.is_some() {
        let cause = "a transfer into it has not ended; repeat it, or drop the database and begin again".to_owned();
        return Err(StoreError::CannotOpen { path: store.name.into(), cause });
    }
    Ok(store)
}

/// Opens the database of a URL, and migrates it if needed.
pub(super) fn open(url: &str, options: &OpenOptions) -> Result<PostgresStore> {
    let name = Location::Postgres(url.to_owned()).to_string();
    let cannot = |cause: String| StoreError::CannotOpen { path: name.clone().into(), cause };
    let mut server = PgServer::of(url).map_err(cannot)?;
    server.config.application_name("loom");
    if server.config.get_connect_timeout().is_none() {
        server.config.connect_timeout(options.wait);
    }
    if server.config.get_tcp_user_timeout().is_none() {
        server.config.tcp_user_timeout(TCP_USER_TIMEOUT);
    }
    let pool = PgConnectionPool::new(server.clone(), options.wait);
    let conn = pool.borrow().map_err(|error| cannot(error.to_string()))?;
    migrate::migrate(&conn, &name, options)?;
    drop(conn);
    let writer = if options.read_only { None } else { Some(PgWriterHandle::start(server, options)?) };
    Ok(PostgresStore { pool, writer, name, options: options.clone(), transaction_owner: TransactionOwner::default() })
}

/// A store in a database of a PostgreSQL server.
pub struct PostgresStore {
    pool: PgConnectionPool,
    /// `None`: opened for reading only.
    writer: Option<PgWriterHandle>,
    name: String,
    options: OpenOptions,
    transaction_owner: TransactionOwner,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// The writer. Fails for a store that only reads, and on a thread with an open transaction.
    fn writer(&self) -> Result<&PgWriterHandle> {
        check_no_open_transaction(&self.transaction_owner)?;
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.name.clone().into() })
    }
}

impl Store for PostgresStore {
    fn submit(&self, change: Change) -> PendingCommit {
        match self.writer() {
            Ok(writer) => writer.submit(change),
            Err(error) => PendingCommit::ready(Err(error)),
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(PostgresSnapshot::begin(&self.pool, &self.options.rules)?))
    }

    fn begin(&self) -> Result<Arc<dyn Transaction>> {
        self.writer()?;
        let writer = WriteConnection::new(self.pool.server().clone(), &self.options);
        Ok(Arc::new(PostgresTransaction::begin(writer, &self.transaction_owner)?))
    }

    fn database_id(&self) -> Result<Option<String>> {
        migrate::database_id(&*self.pool.borrow()?)
    }

    fn watch(&self) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::PostgresWatch::begin(&self.pool)?))
    }

    fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        let view = PostgresSnapshot::begin(&self.pool, &self.options.rules)?;
        verify::verify(&view, &self.options.rules, progress)
    }

    fn rebuild(&self) -> Result<RebuildReport> {
        self.writer()?;
        rebuild::rebuild(&*self.pool.borrow()?, &self.options.rules)
    }

    fn backup(&self, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let why = "a PostgreSQL database is not copied into a file here: `pg_dump` makes a backup, `loom export` a file of any tree";
        Err(StoreError::Refused(why.to_owned()))
    }
}
