//! Import and export.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use loomtree::{
    id::TreeId,
    interchange::{
        self, Format, ImportOptions, Imported, InterchangeError,
        export::{self, ExportFormat, ExportOptions},
        jsonl,
    },
    ops::{self, Actor},
    store::TreeFilter,
};

/// Name of the own format, which holds everything but the journal.
const OWN_FORMAT: &str = "loomtree";

/// Writes trees into a file, or returns the text. Without trees, every tree is written.
pub(crate) fn export(
    loom: &ops::Loom,
    path: Option<PathBuf>,
    trees: Option<Vec<TreeId>>,
    format: &str,
) -> Result<Option<Vec<u8>>, InterchangeError> {
    let Some(path) = path else {
        let mut text = Vec::new();
        write(loom, trees, format, &mut text)?;
        return Ok(Some(text));
    };
    // The file gets its name when it is complete.
    let mut part = path.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let mut file = BufWriter::new(File::create(&part)?);
    let written = write(loom, trees, format, &mut file)
        .and_then(|()| Ok(file.into_inner().map_err(|e| e.into_error())?.sync_all()?));
    match written.and_then(|()| Ok(std::fs::rename(&part, &path)?)) {
        Ok(()) => Ok(None),
        Err(error) => {
            let _ = std::fs::remove_file(&part); // the error of the export counts
            Err(error)
        }
    }
}

fn write(
    loom: &ops::Loom,
    trees: Option<Vec<TreeId>>,
    format: &str,
    out: &mut dyn Write,
) -> Result<(), InterchangeError> {
    let snapshot = loom.snapshot()?;
    let trees = match trees {
        Some(trees) => trees,
        None => snapshot.trees(TreeFilter::default().archived(true))?.iter().map(|tree| tree.id).collect(),
    };
    if format == OWN_FORMAT {
        jsonl::export_trees(&*snapshot, &trees, out)?;
        return Ok(());
    }
    let known = ExportFormat::NAMES.iter().find(|(name, _)| *name == format).map(|(_, format)| *format);
    let format = known.ok_or_else(|| {
        let names: Vec<&str> = ExportFormat::NAMES.iter().map(|(name, _)| *name).collect();
        InterchangeError::Format(format!("unknown format {format:?}; known are {OWN_FORMAT}, {}", names.join(", ")))
    })?;
    for tree in trees {
        export::write(&*snapshot, tree, format, ExportOptions::default(), out)?;
    }
    Ok(())
}

/// Imports a file, the database or the folder of another program.
pub(crate) fn import(
    actor: &Actor,
    path: &Path,
    format: Option<&str>,
    dry_run: bool,
) -> Result<Imported, InterchangeError> {
    let format = format
        .map(|name| {
            Format::of_name(name).ok_or_else(|| {
                InterchangeError::Format(format!("unknown format {name:?}; known are {}", Format::names().join(", ")))
            })
        })
        .transpose()?;
    let options = ImportOptions::default().format(format).dry_run(dry_run);
    interchange::import_path(actor, options, path, &mut |_| {}, &AtomicBool::new(false))
}
