//! Default paths of the program's files, and access to its folders.

use std::path::{Path, PathBuf};

use loomtree::{provider::MODELS_VARIABLE, store::Location};

use super::{
    config::is_too_deep,
    env::env,
    error::{CliError, Result},
};

/// Returns the folder of built-in models' weights. The folder may not exist yet.
pub(crate) fn models_dir() -> Result<PathBuf> {
    let folder = env(MODELS_VARIABLE).map(PathBuf::from);
    folder.ok_or_else(|| CliError::usage(format!("there is no home directory; name a folder in {MODELS_VARIABLE}")))
}

/// Returns the folders of this user's files.
pub(super) fn folders() -> Result<directories::ProjectDirs> {
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
        // A link to a file is the same database, with the same tokens.
        Location::File(path) => Ok(path.canonicalize().unwrap_or_else(|_| path.clone())),
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
