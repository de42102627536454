//! Zip archives of data exports. Their conversations are read without unpacking them to disk, so the paths in an archive
//! are names only.

use std::{
    io::{BufReader, Read, Seek},
    sync::atomic::AtomicBool,
};

use zip::{ZipArchive, result::ZipError};

use super::{
    ImportOptions, Imported, InterchangeError, bounded_reader::BoundedReader, import::import_until,
    write_batch::MAX_PROBLEMS,
};
use crate::ops::Actor;

/// Bytes with which an archive begins.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// Imports the files of conversations in a zip archive in the order of their names: `conversations.json`, whole or split, and
/// JSON lines. `progress` receives the number of bytes read of each file. The result is that of all files together.
///
/// # Errors
/// If the archive cannot be read or has no conversations; also those of [`super::import`].
pub fn import_zip(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    file: impl Read + Seek,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<Imported, InterchangeError> {
    let zip_error = |error: ZipError| InterchangeError::Format(format!("reading {name}: {error}"));
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(zip_error)?;
    let is_wanted = |entry: &String| {
        let file = entry.rsplit('/').next().unwrap_or(entry);
        let is_lines = file.ends_with(".jsonl") && !file.starts_with("._");
        is_lines || file.starts_with("conversations") && file.ends_with(".json")
    };
    let mut entries: Vec<String> =
        archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).filter(is_wanted).collect();
    entries.sort();
    let (mut all, mut unread): (Option<Imported>, Vec<String>) = (None, Vec::new());
    let mut left = options.max_unpacked.unwrap_or(u64::MAX);
    for entry in entries {
        let file = BoundedReader::new(archive.by_name(&entry).map_err(zip_error)?, left);
        let mut input = BufReader::with_capacity(1 << 16, file);
        let done = import_until(actor, options, &format!("{name}/{entry}"), &mut input, progress, cancel);
        left = input.get_ref().left;
        match (done, &mut all) {
            (Ok(done), Some(all)) => all.add(&done),
            (Ok(done), None) => all = Some(done),
            // Other files of the archive may be readable.
            (Err(InterchangeError::Format(problem)), _) => unread.push(problem),
            (Err(error), _) => return Err(error),
        }
    }
    let Some(mut all) = all else {
        let first = unread.into_iter().next();
        return Err(InterchangeError::Format(
            first.unwrap_or_else(|| format!("{name} has no conversations.json and no .jsonl file")),
        ));
    };
    let room = MAX_PROBLEMS.saturating_sub(all.problems.len()).min(unread.len());
    all.more_problems += (unread.len() - room) as u64;
    all.problems.extend(unread.into_iter().take(room));
    Ok(all)
}
