//! What only the rim may touch: folders, the environment, the log. Clock and ids are in `loomtree::session::host`.

use std::path::{Path, PathBuf};

use loomtree::provider::MODELS_VARIABLE;

use super::error::{CliError, Result};

/// A variable of the environment; one that is empty or not text counts as not set. Where weights are is always said: the
/// library does not look for a home.
pub(crate) fn env(name: &str) -> Option<String> {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    if name != MODELS_VARIABLE {
        return set;
    }
    set.or_else(|| folders().ok()?.data_dir().join("models").into_os_string().into_string().ok())
}

/// All variables of the environment.
#[cfg(feature = "workspace")]
pub(crate) fn variables() -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os()
}

/// Where the weights of models in the box are. The folder is not made yet.
pub(crate) fn models_dir() -> Result<PathBuf> {
    let folder = env(MODELS_VARIABLE).map(PathBuf::from);
    folder.ok_or_else(|| CliError::usage(format!("there is no home directory; name a folder in {MODELS_VARIABLE}")))
}

fn folders() -> Result<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "loomtree")
        .ok_or_else(|| CliError::usage("there is no home directory; name the files with --db and --config"))
}

/// Where the database is if nobody says otherwise. The folder is not made yet.
pub(crate) fn default_db() -> Result<PathBuf> {
    Ok(folders()?.data_dir().join("loom.db"))
}

/// Where the configuration is if nobody says otherwise.
pub(crate) fn default_config() -> Result<PathBuf> {
    Ok(folders()?.config_dir().join("config.yaml"))
}

/// The longest file of settings that is read, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// The deepest brackets in a file of settings. The parser's time grows with the square of the depth.
const MAX_SETTINGS_NESTING: usize = 100;

/// Reads a file of settings. Refuses what is no regular file: a device has no end, and a pipe may never have a beginning.
///
/// # Errors
/// If it cannot be read, or is too long or too deep.
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

/// Whether brackets are nested more deeply than settings need. Those in quotes and comments count too.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_SETTINGS_NESTING
    })
}

/// Makes a folder and those above it; on Unix only their owner may look into the new ones.
pub(crate) fn create_private_dir(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|e| CliError::io(format!("making {}", folder.display()), e))
}

/// The folder that work belongs to: the one given, else the current one, by its real path.
pub(crate) fn workspace(given: Option<&Path>) -> Result<String> {
    let folder = given.unwrap_or(Path::new("."));
    let real = folder.canonicalize().map_err(|e| CliError::io(format!("the workspace {}", folder.display()), e))?;
    Ok(real.to_string_lossy().into_owned())
}

/// Has the library's log written to standard error, as much as was asked for.
pub(crate) fn log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "loomtree=info",
        2 => "loomtree=debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::new(level);
    // The only one to set a log up in this program, so it cannot be there already.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Lets a model in the box write with one thread, unless the person set `CANDLE_NUM_THREADS`. Its threads wait for each
/// other without sleeping, many times a token: where other programs use the cores too, two are many times slower than one.
///
/// To be called before any other thread is there, for it sets a variable of the environment.
#[cfg(feature = "local")]
pub(crate) fn limit_local_threads() {
    // What stands there is no mistake, and a variable that is set stays as it is.
    let _ = dotenvy::from_read("CANDLE_NUM_THREADS=1".as_bytes());
}

/// Keeps the process's memory and environment, with its keys, from the commands that it runs: `/proc/PID/environ` and `mem` are
/// then not readable for other processes of the same user. Programs above this one are not covered.
pub(crate) fn hide_environment() {
    #[cfg(all(target_os = "linux", feature = "workspace"))]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "commands could read this program's environment");
    }
}

/// What runs requests to models, and hears Ctrl-C meanwhile.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|e| CliError::io("starting threads", e))
}
