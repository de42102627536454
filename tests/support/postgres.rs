//! A throw-away PostgreSQL server for tests: its data lies in a temporary folder, clients connect over a socket there. It
//! ends with the process that started it, however that ends.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// Name of the variable that selects the backend of scenes: `postgres`, or unset for SQLite.
pub(crate) const BACKEND_VARIABLE: &str = "LOOM_TEST_BACKEND";

/// True if scenes open databases of the throw-away server.
pub(crate) fn is_selected() -> bool {
    std::env::var(BACKEND_VARIABLE).is_ok_and(|backend| backend == "postgres")
}

/// Port of a server's socket, which names it in its folder.
const DEFAULT_PORT: u16 = 5432;

/// A running server.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The folder of data, log and socket.
    folder: PathBuf,
    port: u16,
    /// The shell that stops the server when its standard input ends, and removes the folder.
    keeper: Child,
}

/// Returns the newest installed folder with the server's programs.
pub(crate) fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = installed.map(|entry| entry.path().join("bin")).max_by_key(version);
    let in_path = || std::env::split_paths(&std::env::var_os("PATH")?).find(|folder| folder.join("initdb").exists());
    newest.filter(|folder| folder.join("initdb").exists()).or_else(in_path)
}

/// Makes a folder that belongs to the user of the server.
fn new_folder() -> io::Result<PathBuf> {
    let folder = tempfile::Builder::new().prefix("loom-pg").tempdir_in("/tmp")?.keep();
    if let Some(user) = owner() {
        Command::new("chown").arg(user).arg(&folder).status()?;
    }
    Ok(folder)
}

/// Runs a command to its end; an error is what it printed.
fn run(command: &mut Command) -> io::Result<()> {
    let output = command.current_dir("/").output()?;
    let error = || io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned());
    output.status.success().then_some(()).ok_or_else(error)
}

/// The server that the tests of this process share; `None` if its programs are missing.
pub(crate) fn shared() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    SHARED
        .get_or_init(|| programs().map(|programs| Cluster::start(&programs, false).expect("the server starts")))
        .as_ref()
}

/// Returns a command that runs a program as the user that owns the data: the server refuses to run as root.
pub(crate) fn as_owner(program: &Path) -> Command {
    match owner() {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args(["-u", user, "--"]).arg(program);
            command
        }
    }
}

/// Returns the user that runs the server, if this process runs as root.
fn owner() -> Option<&'static str> {
    let output = |arguments: &[&str]| Command::new("id").args(arguments).output().ok().filter(|o| o.status.success());
    let root = output(&["-u"]).is_some_and(|id| id.stdout.trim_ascii() == b"0");
    root.then(|| if output(&["postgres"]).is_some() { "postgres" } else { "nobody" })
}

impl Cluster {
    /// Initializes and starts a server. With `sync` a commit is on disk when it returns, as in production.
    pub(crate) fn start(programs: &Path, sync: bool) -> io::Result<Self> {
        let options = if sync { "" } else { " -c fsync=off -c full_page_writes=off -c synchronous_commit=off" };
        Self::start_with(programs, DEFAULT_PORT, |_| options.to_owned())
    }

    /// Initializes and starts a server with the options that a function returns, which gets the folder.
    pub(crate) fn start_with(programs: &Path, port: u16, prepare: impl FnOnce(&Path) -> String) -> io::Result<Self> {
        let folder = new_folder()?;
        run(as_owner(&programs.join("initdb")).arg("-D").arg(folder.join("data")).args([
            "-U",
            "loom",
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]))?;
        let options = prepare(&folder);
        Self::run(programs, folder, port, &options)
    }

    /// Starts a standby that confirms every commit of this server from now on.
    pub(crate) fn synchronous_standby(&self, programs: &Path) -> io::Result<Self> {
        let folder = new_folder()?;
        let mut backup = as_owner(&programs.join("pg_basebackup"));
        run(backup
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-R", "-U", "loom", "-c", "fast", "-h"])
            .arg(&self.folder))?;
        let standby = Self::run(programs, folder, self.port, "")?;
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.sql("postgres", "SELECT pg_reload_conf()")?;
        Ok(standby)
    }

    /// Kills the server, which stays away.
    pub(crate) fn kill(&self) {
        Command::new("kill").args(["-9", &self.pid().to_string()]).status().expect("the server is killed");
    }

    /// Makes a standby the server that writes.
    pub(crate) fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()").expect("it is promoted").trim(), "t");
    }

    /// The folder of the socket.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a server on data in a folder.
    fn run(programs: &Path, folder: PathBuf, port: u16, options: &str) -> io::Result<Self> {
        let data = folder.join("data");
        let script = format!(
            "start() {{ '{bin}/postgres' -D '{data}' -k '{folder}' -c listen_addresses= -c port={port} -c max_connections=400 \
                 -c shared_buffers=128MB{options} -c log_min_messages=warning </dev/null >>'{folder}/log' 2>&1 & }}
             start; while read -r line; do start; done
             kill -QUIT $(head -n 1 '{data}/postmaster.pid'); wait; rm -rf '{folder}'",
            bin = programs.display(),
            data = data.display(),
            folder = folder.display(),
        );
        let keeper = as_owner(Path::new("sh")).arg("-c").arg(script).current_dir("/").stdin(Stdio::piped()).spawn()?;
        let cluster = Self { folder, port, keeper };
        let start = Instant::now();
        while !cluster.answers() {
            if start.elapsed() > Duration::from_secs(60) {
                return Err(io::Error::other(std::fs::read_to_string(cluster.folder.join("log")).unwrap_or_default()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(cluster)
    }

    fn answers(&self) -> bool {
        self.sql("postgres", "SELECT 1").is_ok_and(|out| out.trim() == "1")
    }

    /// Kills the server as a crash does, and starts it again.
    pub(crate) fn crash(&mut self) {
        Command::new("kill").args(["-9", &self.pid().to_string()]).status().expect("the server is killed");
        let start = Instant::now();
        // The server refuses to start until the last of its old processes has ended.
        while !self.answers() {
            assert!(start.elapsed() < Duration::from_secs(60), "the server starts again");
            let input = self.keeper.stdin.as_mut().expect("the keeper reads");
            io::Write::write_all(input, b"start\n").expect("the keeper reads");
            std::thread::sleep(Duration::from_millis(700));
        }
    }

    /// Runs statements in a database with `psql`; returns the rows without headers.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> io::Result<String> {
        let output = Command::new(programs().unwrap_or_default().join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "loom", "-d", database, "-p"])
            .arg(self.port.to_string())
            .arg("-h")
            .arg(&self.folder)
            .args(["-c", sql])
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// Dumps a database, and restores it as one of another server, which may have counted fewer transactions.
    pub(crate) fn restore_into(&self, database: &str, other: &Self) -> io::Result<()> {
        let programs = programs().unwrap_or_default();
        let place = |cluster: &Self| [cluster.folder.display().to_string(), cluster.port.to_string()];
        let dump = other.folder.join("dump");
        let [host, port] = place(self);
        run(as_owner(&programs.join("pg_dump"))
            .args(["-Fc", "-U", "loom", "-h", &host, "-p", &port, "-f"])
            .arg(&dump)
            .arg(database))?;
        other.sql("postgres", &format!("CREATE DATABASE {database}"))?;
        let [host, port] = place(other);
        let mut restore = as_owner(&programs.join("pg_restore"));
        run(restore.args(["-U", "loom", "-h", &host, "-p", &port, "-d", database]).arg(&dump))
    }

    /// Returns the URL of a new, empty database.
    pub(crate) fn new_database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("loom_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("a new database");
        self.url(&name)
    }

    /// Returns the URL of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://loom@/{database}?host={}", self.folder.display())
    }

    /// The process number of the server.
    pub(crate) fn pid(&self) -> u32 {
        let text = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("the server's number");
        text.lines().next().and_then(|line| line.trim().parse().ok()).expect("a number")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A PgBouncer in transaction mode before a server, with three connections for each database.
#[derive(Debug)]
pub(crate) struct Pooler {
    folder: PathBuf,
    /// The shell that stops the pooler when its standard input ends, and removes the folder.
    keeper: Child,
}

impl Pooler {
    /// Starts the program in `LOOM_TEST_PGBOUNCER`, or that of the system. `None` if it is missing, or too old to keep
    /// prepared statements.
    pub(crate) fn start(cluster: &Cluster) -> io::Result<Option<Self>> {
        let program = std::env::var_os("LOOM_TEST_PGBOUNCER").unwrap_or_else(|| "pgbouncer".into());
        let Ok(version) = Command::new(&program).arg("--version").output() else { return Ok(None) };
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let number = version.split_whitespace().nth(1).and_then(|number| number.split('.').nth(1));
        if number.and_then(|number| number.parse::<u32>().ok()).is_none_or(|number| number < 21) {
            return Ok(None);
        }
        let folder = new_folder()?;
        let settings = format!(
            "[databases]\n* = host={server} port={port} user=loom\n[pgbouncer]\nunix_socket_dir = {folder}\n\
             listen_port = {port}\nauth_type = any\npool_mode = transaction\nmax_prepared_statements = 500\n\
             default_pool_size = 3\nlogfile = {folder}/log\n",
            server = cluster.folder.display(),
            port = cluster.port,
            folder = folder.display(),
        );
        std::fs::write(folder.join("settings"), settings)?;
        // It changes to the owner itself: its program may lie where only this process may read.
        let user = owner().map_or_else(String::new, |user| format!("-u {user} "));
        let script = format!(
            "'{program}' {user}'{folder}/settings' </dev/null >/dev/null 2>&1 & pooler=$!; read -r line; kill $pooler; wait; rm -rf '{folder}'",
            program = Path::new(&program).display(),
            folder = folder.display(),
        );
        let keeper = Command::new("sh").arg("-c").arg(script).current_dir("/").stdin(Stdio::piped()).spawn()?;
        let pooler = Self { folder, keeper };
        let start = Instant::now();
        while !pooler.folder.join(format!(".s.PGSQL.{}", cluster.port)).exists() {
            if start.elapsed() > Duration::from_secs(20) {
                return Err(io::Error::other(std::fs::read_to_string(pooler.folder.join("log")).unwrap_or_default()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(pooler))
    }

    /// Returns the URL of a database of the server, through the pooler.
    pub(crate) fn through(&self, url: &str) -> String {
        let database = url.split('?').next().unwrap_or_default();
        format!("{database}?host={}", self.folder.display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
