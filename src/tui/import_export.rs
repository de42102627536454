//! Files that the `:` line imports and exports. The write thread runs both, so the screen stays usable.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{
    id::{NodeId, TreeId},
    interchange::{
        self, ImportOptions, Imported, InterchangeError,
        export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice},
    },
    ops::{Actor, OpsError},
};

fn failure(path: &Path, error: impl std::fmt::Display) -> OpsError {
    OpsError::Invalid(format!("{}: {error}", path.display()))
}

/// Time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Running import or export: receives bytes done and all bytes, and may be cancelled by another thread.
pub(super) struct FileJob<'a> {
    pub(super) report: &'a dyn Fn(u64, u64),
    pub(super) cancel: &'a AtomicBool,
    reported: Option<Instant>,
}

impl<'a> FileJob<'a> {
    pub(super) fn new(report: &'a dyn Fn(u64, u64), cancel: &'a AtomicBool) -> Self {
        Self { report, cancel, reported: None }
    }

    fn progress(&mut self, done: u64, total: u64) {
        if self.reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            self.reported = Some(Instant::now());
            (self.report)(done, total);
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Imports a file, database or folder whose format is detected.
pub(super) fn import(actor: &Actor, path: &Path, job: &mut FileJob<'_>) -> Result<Imported, OpsError> {
    let metadata = path.metadata().map_err(|error| failure(path, error))?;
    if !metadata.is_file() && !interchange::is_source_folder(path) {
        return Err(failure(path, "not a file"));
    }
    let (size, cancel) = (metadata.len(), job.cancel);
    let mut progress = |bytes| job.progress(bytes, size);
    let done = interchange::import_path(actor, ImportOptions::default(), path, &mut progress, cancel);
    done.map_err(|error| OpsError::Invalid(error.to_string()))
}

/// Bytes of an export, which end with an error where it is cancelled.
struct ExportBuffer<'a, 'b> {
    bytes: Vec<u8>,
    job: &'a mut FileJob<'b>,
}

impl Write for ExportBuffer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.job.is_cancelled() {
            return Err(io::Error::other("cancelled; nothing was written"));
        }
        self.bytes.extend_from_slice(bytes);
        self.job.progress(self.bytes.len() as u64, 0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the conversation that ends at a node, or its tree, into a new file.
pub(super) fn export(
    actor: &Actor,
    (tree, node): (TreeId, NodeId),
    format: &str,
    path: &Path,
    job: &mut FileJob<'_>,
) -> Result<ExportReport, OpsError> {
    let Some((_, format)) = ExportFormat::NAMES.iter().find(|(name, _)| *name == format) else {
        let names: Vec<&str> = ExportFormat::NAMES.iter().map(|(name, _)| *name).collect();
        return Err(OpsError::Invalid(format!("no format {format:?}; there are {}", names.join(", "))));
    };
    let snapshot = actor.loom().snapshot()?;
    let mut buffer = ExportBuffer { bytes: Vec::new(), job };
    let options = ExportOptions::default().leaves(LeafChoice::One(node));
    let report = export::write(&*snapshot, tree, *format, options, &mut buffer).map_err(|error| match error {
        InterchangeError::Io(error) => OpsError::Invalid(error.to_string()),
        error => OpsError::Invalid(error.to_string()),
    })?;
    let file = File::create_new(path).map_err(|error| failure(path, error))?;
    let mut out = BufWriter::new(file);
    out.write_all(&buffer.bytes).and_then(|()| out.flush()).map_err(|error| failure(path, error))?;
    Ok(report)
}
