//! Connections to a server, used synchronously.
//!
//! The caller sends a query and reads its answer itself. A thread of this process, `loomtree-postgres`, waits for the sockets
//! of all connections but the writer's, and unparks the caller when there is something to read. So no caller enters a
//! runtime, and every method may be called from any thread, also from a task of a runtime. The writer's thread waits for its
//! own socket.

use std::{
    borrow::Cow,
    collections::HashMap,
    future::Future,
    pin::{Pin, pin},
    sync::{Mutex, OnceLock, PoisonError},
    task::{Context, Waker},
    thread,
    time::Duration,
};

use futures_util::{
    TryStreamExt as _,
    future::{join, join_all},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime,
};
use tokio_postgres::{Client, Connection, Row, Statement, types::ToSql};

use super::server_url::PgServer;
use crate::store::{Result, StoreError, block_on};

/// Returns the SQL that begins a transaction that writes. PostgreSQL keeps a statement's plan, so a plan that was made while
/// a table was small must be right for a large one: each statement here reads few rows by an index. Without `jit`, an
/// unavoidable scan of a small table is not compiled. The server ends a transaction whose client sends nothing, so that it
/// does not hold its locks forever.
fn begin(isolation: Isolation) -> String {
    let level = match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
    };
    format!(
        "BEGIN ISOLATION LEVEL {level}; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; \
         SET LOCAL enable_mergejoin = off; SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_generic_plan; \
         SET LOCAL idle_in_transaction_session_timeout = '60s'"
    )
}

/// The isolation of a transaction that writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first. To change a row that another transaction changed since fails with
    /// [`StoreError::Busy`].
    RepeatableRead,
}

/// Time that a group of changes waits for its trees before it is divided into those that can be written and the others.
pub(super) const LOCK_WAIT: Duration = Duration::from_millis(100);

/// Returns the SQL that begins a write transaction. A wait for a lock longer than `wait` fails with [`StoreError::Busy`].
fn begin_within(isolation: Isolation, wait: Duration) -> String {
    format!("{}; SET LOCAL lock_timeout = {}", begin(isolation), lock_timeout(wait))
}

/// The value of `lock_timeout` for a wait: milliseconds, of which 0 would be no limit.
pub(super) fn lock_timeout(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis()).unwrap_or(i32::MAX).max(1)
}

/// Parameters of a statement.
pub(super) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// Parameters of a [`PgStatement`].
pub(super) type OwnedParams<'a> = Vec<Box<dyn ToSql + Sync + 'a>>;

/// A statement with its parameters.
pub(super) struct PgStatement<'a> {
    pub(super) sql: Cow<'a, str>,
    pub(super) params: OwnedParams<'a>,
}

impl<'a> PgStatement<'a> {
    /// Joins statements that change different tables into one: each statement of a pipeline costs the server a start and
    /// an answer. `None` if there are none.
    pub(super) fn joined(statements: Vec<Self>) -> Option<Self> {
        let mut parts = Vec::with_capacity(statements.len());
        let mut params = Vec::new();
        for statement in statements {
            parts.push(renumbered(&statement.sql, params.len()));
            params.extend(statement.params);
        }
        let last = parts.pop()?;
        let named: Vec<String> = (0..).zip(parts).map(|(number, sql)| format!("w{number} AS ({sql})")).collect();
        let with = if named.is_empty() { String::new() } else { format!("WITH {} ", named.join(", ")) };
        Some(Self { sql: (with + &last).into(), params })
    }
}

impl PgStatement<'_> {
    fn references(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.params.iter().map(|param| &**param as _).collect()
    }
}

/// A statement's text with parameters that follow those of others.
pub(super) fn renumbered(sql: &str, before: usize) -> String {
    let mut text = String::with_capacity(sql.len() + 64);
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = part[..digits].parse().unwrap_or(0);
        text.push_str(&format!("${}{}", number + before, &part[digits..]));
    }
    text
}

/// Makes a [`PgStatement`].
macro_rules! statement {
    ($sql:expr $(, $param:expr)* $(,)?) => {
        $crate::store::postgres::connection::PgStatement { sql: $sql.into(), params: vec![$(Box::new($param)),*] }
    };
}
pub(super) use statement;

/// The runtime of the thread that waits for sockets.
fn driver() -> Result<&'static runtime::Handle> {
    static DRIVER: OnceLock<std::result::Result<runtime::Handle, String>> = OnceLock::new();
    let start = || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let handle = runtime.handle().clone();
        let run = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("loomtree-postgres".to_owned()).spawn(run).map_err(|e| e.to_string())?;
        Ok(handle)
    };
    DRIVER.get_or_init(start).as_ref().map_err(|detail| StoreError::Io { detail: detail.clone() })
}

/// A connection. Statements are prepared once; a pooler in transaction mode must support that (PgBouncer from 1.21).
pub(in crate::store) struct PostgresConnection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    /// Dropped after the client.
    driver: ConnectionDriver,
}

/// The future that moves data between a socket and its client. The caller that waits for an answer polls it, so that no
/// other thread hands over each block of rows. An idle connection is not polled.
struct ConnectionDriver {
    connection: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// The runtime of a connection that one thread uses; `None`: the thread `loomtree-postgres` waits for the socket.
    own: Option<runtime::Runtime>,
}

impl ConnectionDriver {
    fn new<S, T>(connection: Connection<S, T>, own: Option<runtime::Runtime>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(drive(connection));
        Self { connection: Some(connection).into(), own }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut future = pin!(future);
        let both = std::future::poll_fn(|context| {
            let output = future.as_mut().poll(context);
            if output.is_pending() && poll_connection(&mut connection, context) {
                // The client has the answer, or the connection's error.
                return future.as_mut().poll(context);
            }
            output
        });
        match &self.own {
            Some(runtime) => runtime.block_on(both),
            None => block_on(both),
        }
    }
}
/// Moves what can be moved now; true if the connection ended.
fn poll_connection(
    connection: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    context: &mut Context<'_>,
) -> bool {
    let has_ended = connection.as_mut().is_some_and(|driver| driver.as_mut().poll(context).is_ready());
    if has_ended {
        *connection = None;
    }
    has_ended
}

/// Longest time that the end of a connection waits for the server.
const LONGEST_GOODBYE: Duration = Duration::from_secs(1);

impl Drop for ConnectionDriver {
    fn drop(&mut self) {
        // The client is gone, so the connection ends after it sent its goodbye.
        let Some(connection) = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take() else { return };
        match (&self.own, driver()) {
            (Some(runtime), _) => {
                drop(runtime.block_on(async { tokio::time::timeout(LONGEST_GOODBYE, connection).await }));
            }
            (None, Ok(driver)) => drop(driver.spawn(connection)),
            (None, Err(_)) => {}
        }
    }
}

async fn drive<S, T>(connection: Connection<S, T>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to PostgreSQL ended");
    }
}

impl std::fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresConnection").finish_non_exhaustive()
    }
}

impl PostgresConnection {
    /// Connects to a server.
    pub(super) fn connect(server: &PgServer) -> Result<Self> {
        let PgServer { config, tls } = server.clone();
        let connected = driver()?.spawn(async move { config.connect(tls).await });
        let (client, connection) = block_on(connected).map_err(|_| StoreError::Closed)??;
        Ok(Self { client, statements: Mutex::default(), driver: ConnectionDriver::new(connection, None) })
    }

    /// Connects to a server from a thread that is in no runtime, the only one that will use the connection.
    pub(super) fn connect_alone(server: &PgServer) -> Result<Self> {
        let PgServer { config, tls } = server.clone();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (client, connection) = runtime.block_on(config.connect(tls))?;
        Ok(Self { client, statements: Mutex::default(), driver: ConnectionDriver::new(connection, Some(runtime)) })
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.driver.block_on(future)
    }

    /// True if the connection was lost.
    pub(super) fn is_closed(&self) -> bool {
        // While it was idle, nothing read the server's goodbye.
        if let Ok(mut connection) = self.driver.connection.try_lock() {
            poll_connection(&mut connection, &mut Context::from_waker(Waker::noop()));
        }
        self.client.is_closed()
    }

    async fn prepared(&self, sql: &str) -> std::result::Result<Statement, tokio_postgres::Error> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a query and returns its rows.
    pub(super) fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        self.block_on(async { Ok(self.client.query(&self.prepared(sql).await?, params).await?) })
    }

    /// Runs a query and returns its first row, if any.
    pub(super) fn query_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// Runs a query that has one row.
    pub(super) fn query_one(&self, sql: &str, params: Params<'_>) -> Result<Row> {
        self.query_opt(sql, params)?.ok_or_else(|| StoreError::Undecodable("a query has no row".to_owned()))
    }

    /// Runs a statement and returns the number of changed rows.
    pub(super) fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64> {
        self.block_on(async { Ok(self.client.execute(&self.prepared(sql).await?, params).await?) })
    }

    /// Sends statements one after the other without waiting for answers between them, and returns the rows of each. After
    /// one that fails, those that follow in the transaction fail too. With an isolation, they are in a new transaction, which
    /// waits for a lock as long as [`LOCK_WAIT`].
    pub(super) fn pipeline(
        &self,
        isolation: Option<Isolation>,
        statements: &[PgStatement<'_>],
    ) -> Result<Vec<Vec<Row>>> {
        let begin = isolation.map(|isolation| begin_within(isolation, LOCK_WAIT));
        self.block_on(async {
            let mut prepared = Vec::with_capacity(statements.len());
            for statement in statements {
                prepared.push(self.prepared(&statement.sql).await?);
            }
            // Each query sends when it is polled first, and these are polled in order.
            let begun = async {
                match &begin {
                    Some(begin) => self.client.batch_execute(begin).await,
                    None => Ok(()),
                }
            };
            let answers = join_all(prepared.iter().zip(statements).map(|(prepared, statement)| async move {
                self.client.query(prepared, &statement.references()).await
            }));
            let (begun, answers) = join(begun, answers).await;
            begun?;
            Ok(answers.into_iter().collect::<std::result::Result<_, _>>()?)
        })
    }

    /// Runs a query and returns what `read` makes of each row, which it reads while the server sends the next.
    pub(super) fn query_each<T>(
        &self,
        statement: &PgStatement<'_>,
        read: impl FnMut(Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.block_on(self.each(statement, read))
    }

    async fn each<T>(&self, statement: &PgStatement<'_>, mut read: impl FnMut(Row) -> Result<T>) -> Result<Vec<T>> {
        let prepared = self.prepared(&statement.sql).await?;
        let mut rows = pin!(self.client.query_raw(&prepared, statement.references()).await?);
        let mut all = Vec::new();
        while let Some(row) = rows.try_next().await? {
            all.push(read(row)?);
        }
        Ok(all)
    }

    /// Sends two queries one after the other without waiting between them. Returns the rows of the first, and those of the
    /// second as [`Self::query_each`] does.
    pub(super) fn query_two<T>(
        &self,
        [first, second]: &[PgStatement<'_>; 2],
        read: impl FnMut(Row) -> Result<T>,
    ) -> Result<(Vec<Row>, Vec<T>)> {
        self.block_on(async {
            let prepared = self.prepared(&first.sql).await?;
            self.prepared(&second.sql).await?;
            let params = first.references();
            let (rows, each) = join(self.client.query(&prepared, &params), self.each(second, read)).await;
            Ok((rows?, each?))
        })
    }

    /// Begins a transaction that writes.
    pub(super) fn begin(&self) -> Result<()> {
        self.batch(&begin(Isolation::ReadCommitted))
    }

    /// Begins a transaction that writes and waits so long for each lock.
    pub(super) fn begin_within(&self, wait: Duration) -> Result<()> {
        self.batch(&begin_within(Isolation::ReadCommitted, wait))
    }

    /// Runs statements in a transaction with the server's plans. Each sees what was committed before it.
    pub(super) fn transaction<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        let done = run();
        self.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        done
    }

    /// Runs a command, such as `ANALYZE`, on the tables of the schema.
    pub(super) fn on_all_tables(&self, command: &str) -> Result<()> {
        let sql = "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class
                   WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
        let tables: Option<String> = super::decode::get(&self.query_one(sql, &[])?, 0)?;
        self.batch(&format!("{command} {}", tables.unwrap_or_default()))
    }

    /// Runs statements without parameters or results.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.block_on(self.client.batch_execute(sql))?)
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            // Of the sources, the last one names the cause.
            let mut detail = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                detail = format!("{detail}: {cause}");
                source = cause.source();
            }
            return Self::Io { detail };
        };
        match refusal.code().code() {
            "53100" => Self::Full,
            // Refused for now: a deadlock, a serialization failure, a lock that was not available in time, no connection left,
            // a server that starts. The writer begins again.
            "40001" | "40P01" | "55P03" | "53300" | "57P03" => Self::Busy { waited: std::time::Duration::ZERO },
            // The server ends the connection, perhaps after a commit that it did not answer.
            "57P01" | "57P02" | "25P03" => Self::Io { detail: refusal.message().to_owned() },
            "22021" | "22P05" => Self::Refused("PostgreSQL stores no text with a NUL character".to_owned()),
            "23505" => Self::Conflict(refusal.message().to_owned()),
            violated if violated.starts_with("23") => Self::Refused(refusal.message().to_owned()),
            "25006" | "42501" => Self::Refused(format!("the server refuses the change: {}", refusal.message())),
            _ => Self::Backend(format!("{} ({})", refusal.message(), refusal.code().code()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_statements_keep_their_parameters() {
        let statements = vec![
            statement!("INSERT INTO a SELECT $1, $2", 1_i64, 2_i64),
            statement!("UPDATE b SET c = $2 WHERE d = $1 OR e = $1", 3_i64, 4_i64),
        ];
        let joined = PgStatement::joined(statements).unwrap();
        assert_eq!(joined.sql, "WITH w0 AS (INSERT INTO a SELECT $1, $2) UPDATE b SET c = $4 WHERE d = $3 OR e = $3");
        assert_eq!(format!("{:?}", joined.params), "[1, 2, 3, 4]");
        assert_eq!(PgStatement::joined(vec![statement!("COMMIT")]).unwrap().sql, "COMMIT");
        assert!(PgStatement::joined(Vec::new()).is_none());
    }
}
