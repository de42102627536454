//! Access to folders, environment variables and the log. The clock and the id source are in
//! `loomtree::session::system`.

use std::path::{Path, PathBuf};

use loomtree::{provider::MODELS_VARIABLE, store::Location};

use super::{
    config::is_too_deep,
    error::{CliError, Result},
};

/// Returns an environment variable; `None` if it is empty or not UTF-8. The folder of model weights always has a value,
/// because the library does not look up a home directory.
pub(crate) fn env(name: &str) -> Option<String> {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    if name != MODELS_VARIABLE {
        return set;
    }
    set.or_else(|| folders().ok()?.data_dir().join("models").into_os_string().into_string().ok())
}

/// Returns all environment variables.
#[cfg(feature = "workspace")]
pub(crate) fn variables() -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os()
}

/// Returns the folder of built-in models' weights. The folder may not exist yet.
pub(crate) fn models_dir() -> Result<PathBuf> {
    let folder = env(MODELS_VARIABLE).map(PathBuf::from);
    folder.ok_or_else(|| CliError::usage(format!("there is no home directory; name a folder in {MODELS_VARIABLE}")))
}

fn folders() -> Result<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "loomtree")
        .ok_or_else(|| CliError::usage("there is no home directory; name the files with --db and --config"))
}

/// Returns the default path of the database. Its folder may not exist yet.
pub(crate) fn default_db() -> Result<PathBuf> {
    Ok(folders()?.data_dir().join("loom.db"))
}

/// Returns the path by which files of this machine belong to a database: partial replies and tokens are named after it.
/// For a server's database it is a name in the data folder: the id of the database, which is the same under every URL, or one
/// made of the URL without its password if it has none yet.
pub(crate) fn local_files(location: &Location, database_id: Option<String>) -> Result<PathBuf> {
    match location {
        Location::File(path) => Ok(path.clone()),
        Location::Postgres(_) => {
            let name =
                database_id.unwrap_or_else(|| blake3::hash(location.to_string().as_bytes()).to_hex().to_string());
            Ok(folders()?.data_dir().join("postgres").join(&name[..name.len().min(16)]))
        }
    }
}

/// Returns the default path of the configuration.
pub(crate) fn default_config() -> Result<PathBuf> {
    Ok(folders()?.config_dir().join("config.yaml"))
}

/// Maximum size of a settings file, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Reads a settings file. Refuses anything but a regular file: a device has no end, and a pipe may block.
///
/// # Errors
/// If the file cannot be read, is too long or is nested too deeply.
pub(crate) fn read_settings(path: &Path) -> std::io::Result<String> {
    let error = |why: &str| std::io::Error::other(why.to_owned());
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(error("it is not a regular file"));
    }
    if metadata.len() > MAX_SETTINGS_BYTES {
        return Err(error("it is longer than 1 MB"));
    }
    let text = std::fs::read_to_string(path)?;
    if is_too_deep(&text) {
        return Err(error("its brackets are nested too deeply"));
    }
    Ok(text)
}

/// Creates a folder and its parents. On Unix only the owner may access new folders.
pub(crate) fn create_private_dir(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|e| CliError::io(format!("creating {}", folder.display()), e))
}

/// Returns the canonical path of the workspace: `given`, or the current folder.
pub(crate) fn workspace(given: Option<&Path>) -> Result<String> {
    let folder = given.unwrap_or(Path::new("."));
    let real = folder.canonicalize().map_err(|e| CliError::io(format!("the workspace {}", folder.display()), e))?;
    Ok(real.to_string_lossy().into_owned())
}

/// Writes the library's log to standard error, at the level that `-v` selects. A server reports failures without it.
pub(crate) fn log(verbose: u8, is_server: bool) {
    let level = match verbose {
        0 if is_server => "loomtree=warn",
        0 => return,
        1 => "loomtree=info",
        2 => "loomtree=debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::new(level);
    // No other code sets a subscriber, so this cannot fail.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Limits a built-in model to one thread, unless the user set `CANDLE_NUM_THREADS`. Its threads spin many times a
/// token, so on a busy machine two threads are many times slower than one.
///
/// Call this before any thread starts: it sets an environment variable.
#[cfg(feature = "local")]
pub(crate) fn limit_local_threads() {
    // The line parses, and `from_read` keeps a variable that is already set.
    let _ = dotenvy::from_read("CANDLE_NUM_THREADS=1".as_bytes());
}

/// Hides this process's memory and environment, with its API keys, from the commands that it runs. `/proc/PID/environ`
/// and `mem` then are not readable for other processes of the same user. Parent processes are not covered.
pub(crate) fn hide_environment() {
    #[cfg(all(target_os = "linux", feature = "workspace"))]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "commands could read this program's environment");
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. By default SIGXFSZ kills the process.
pub(crate) fn handle_file_size_limit() {
    #[cfg(unix)]
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default()) {
        tracing::warn!(%error, "SIGXFSZ is not handled");
    }
}

/// Returns a runtime on this thread, for one client. Calls of the library have threads of their own.
#[cfg(feature = "mcp")]
pub(crate) fn small_runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|e| CliError::io("starting the runtime", e))
}

/// Returns the runtime for model requests and Ctrl-C.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|e| CliError::io("starting threads", e))
}
