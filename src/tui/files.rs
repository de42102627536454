//! Files that the `:` line imports and exports. The write thread runs both, so the screen stays usable.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read as _, Write as _},
    path::Path,
};

use crate::{
    archive::{
        self, ImportOptions, Imported,
        export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice},
    },
    id::{NodeId, TreeId},
    ops::{Actor, OpsError},
};

/// Bytes with which a database begins.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

fn failure(path: &Path, error: impl std::fmt::Display) -> OpsError {
    OpsError::Invalid(format!("{}: {error}", path.display()))
}

/// Imports a file whose format is detected.
pub(super) fn import(actor: &Actor, path: &Path) -> Result<Imported, OpsError> {
    let mut head = vec![0; SQLITE_MAGIC.len()];
    let mut file = File::open(path).map_err(|error| failure(path, error))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(failure(path, "not a file"));
    }
    if file.read_exact(&mut head).is_ok() && head == SQLITE_MAGIC {
        let done = archive::import_database(actor, ImportOptions::default(), path);
        return done.map_err(|error| OpsError::Invalid(error.to_string()));
    }
    let file = File::open(path).map_err(|error| failure(path, error))?;
    let name = path.display().to_string();
    let done = archive::import(actor, None, &name, &mut BufReader::new(file), &mut |_| {});
    done.map_err(|error| OpsError::Invalid(error.to_string()))
}

/// Writes the conversation that ends at a node, or its tree, into a new file.
pub(super) fn export(
    actor: &Actor,
    (tree, node): (TreeId, NodeId),
    format: &str,
    path: &Path,
) -> Result<ExportReport, OpsError> {
    let Some((_, format)) = ExportFormat::NAMES.iter().find(|(name, _)| *name == format) else {
        let names: Vec<&str> = ExportFormat::NAMES.iter().map(|(name, _)| *name).collect();
        return Err(OpsError::Invalid(format!("no format {format:?}; there are {}", names.join(", "))));
    };
    let snapshot = actor.loom().snapshot()?;
    let mut bytes = Vec::new();
    let options = ExportOptions::default().leaves(LeafChoice::One(node));
    let report = export::write(&*snapshot, tree, *format, options, &mut bytes)
        .map_err(|error| OpsError::Invalid(error.to_string()))?;
    let file = File::create_new(path).map_err(|error| failure(path, error))?;
    let mut out = BufWriter::new(file);
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(|error| failure(path, error))?;
    Ok(report)
}
