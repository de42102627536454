//! Files beside the database: SQLite's log, drafts of streams, copies made before a migration. They may hold words that a
//! purge of the database cannot reach.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Bytes of a file that are searched at once.
const CHUNK: usize = 1 << 20;

/// The regular files in the database's folder whose names begin with its own, the database included, and those in its
/// folder of drafts; sorted.
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

/// Those of [`sidecar_files`] that were made before a migration, whole or in part: the purge of the database leaves their
/// words.
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

/// Counts the places where a file holds these bytes. Bytes that SQLite stores compressed, or on two pages, are not found.
///
/// # Errors
/// If the file cannot be read.
pub fn count_bytes(file: &Path, bytes: &[u8]) -> io::Result<u64> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let mut file = File::open(file)?;
    let mut window = Vec::with_capacity(CHUNK + bytes.len());
    let mut count = 0;
    loop {
        if file.by_ref().take(CHUNK as u64).read_to_end(&mut window)? == 0 {
            return Ok(count);
        }
        count += window.windows(bytes.len()).filter(|found| *found == bytes).count() as u64;
        // A match may begin in this chunk and end in the next.
        window.drain(..window.len().saturating_sub(bytes.len() - 1));
    }
}
