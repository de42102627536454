//! Conversations in the archive of a data export, read without unpacking it to disk.

use std::{fs::File, io::BufReader, path::Path};

use loomtree::archive::{self, ImportOptions, Imported};
use zip::ZipArchive;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    progress,
};

/// Bytes with which an archive begins.
pub(super) const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// Imports the files of conversations in an archive, whole or split, in the order of their names.
pub(super) fn import(path: &Path, options: ImportOptions, cx: &CommandContext<'_>) -> Result<Vec<Imported>> {
    let name = path.display().to_string();
    let zip_error = |error: zip::result::ZipError| CliError::failed(format!("reading {name}: {error}"));
    let file = File::open(path).map_err(|e| CliError::io(format!("reading {name}"), e))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(zip_error)?;
    let is_wanted = |entry: &String| {
        let file = entry.rsplit('/').next().unwrap_or(entry);
        file.starts_with("conversations") && file.ends_with(".json")
    };
    let mut entries: Vec<String> =
        archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).filter(is_wanted).collect();
    entries.sort();
    if entries.is_empty() {
        return Err(CliError::failed(format!("{name} has no conversations.json")));
    }
    let mut imported = Vec::new();
    for entry in entries {
        let file = archive.by_name(&entry).map_err(zip_error)?;
        let bar = progress::bar("importing", file.size(), true);
        let mut input = BufReader::with_capacity(1 << 16, file);
        let place = format!("{name}/{entry}");
        let done = archive::import_with(&cx.actor(), options, &place, &mut input, &mut |bytes| bar.set_position(bytes));
        bar.finish_and_clear();
        imported.push(done?);
    }
    Ok(imported)
}
