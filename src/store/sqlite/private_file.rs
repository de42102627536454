//! Creation of a database file that only its owner may read.

use std::path::Path;

/// Creates an empty file that only its owner may read, unless the file exists. SQLite would create it with default
/// permissions, and copies the mode to its log. Errors are ignored: opening the database reports them.
pub(super) fn create_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}
