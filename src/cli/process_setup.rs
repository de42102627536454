//! Settings of this process: log, threads, signals, memory that other processes may read, and its runtimes.

use super::error::{CliError, Result};

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
