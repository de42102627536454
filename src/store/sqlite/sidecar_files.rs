//! Files next to the database: SQLite's log, partial replies, copies made before a migration. They may hold text that a
//! purge of the database does not reach.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Lists the database and the regular files in its folder whose names start with its name, and the partial replies;
/// sorted.
///
/// # Errors
/// If the folder cannot be read.
pub fn sidecar_files(database: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = database.file_name() else { return Ok(Vec::new()) };
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let rest = path.file_name().and_then(|own| own.as_encoded_bytes().strip_prefix(name.as_encoded_bytes()));
        match rest {
            Some(b".drafts") => files.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path())),
            Some(rest) if rest.first().is_none_or(|next| matches!(next, b'-' | b'.')) => files.push(path),
            _ => {}
        }
    }
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Lists the complete and partial copies made before a migration. A purge of the database leaves their text.
///
/// # Errors
/// If the folder cannot be read.
pub fn migration_copies(database: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = sidecar_files(database)?;
    files.retain(|path| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.contains(".schema-") && (name.ends_with(".bak") || name.ends_with(".part"))
    });
    Ok(files)
}

/// Counts the occurrences of `bytes` in a file. Does not find bytes that SQLite stores compressed or across pages.
///
/// # Errors
/// If the file cannot be read.
pub fn count_bytes(file: &Path, bytes: &[u8]) -> io::Result<u64> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let mut file = File::open(file)?;
    let mut window = Vec::with_capacity(CHUNK_BYTES + bytes.len());
    let mut count = 0;
    loop {
        if file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut window)? == 0 {
            return Ok(count);
        }
        count += window.windows(bytes.len()).filter(|found| *found == bytes).count() as u64;
        // A match may start in this chunk and end in the next.
        window.drain(..window.len().saturating_sub(bytes.len() - 1));
    }
}
