//! Files that the `:` line imports and exports. The write thread runs both, so the screen stays usable.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{
    id::{NodeId, TreeId},
    interchange::{
        self, ImportOptions, Imported, InterchangeError,
        export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice, markdown},
        jsonl,
    },
    ops::{Actor, OpsError},
    store::Snapshot,
};

fn failure(path: &Path, error: impl std::fmt::Display) -> OpsError {
    OpsError::Invalid(format!("{}: {error}", path.display()))
}

/// Names of the formats besides [`ExportFormat::NAMES`]: the tree as `import` reads it, and the path as a text.
const TEXT_FORMATS: [&str; 3] = ["jsonl", "markdown", "prose"];

/// End of the conversation to write, with the selected versions.
pub(super) struct PathEnd {
    pub(super) tree: TreeId,
    pub(super) node: NodeId,
    pub(super) versions: Vec<NodeId>,
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

fn write_format(
    snapshot: &dyn Snapshot,
    end: &PathEnd,
    format: &str,
    out: &mut dyn Write,
) -> Result<ExportReport, InterchangeError> {
    let options = ExportOptions::default().leaves(LeafChoice::One(end.node));
    if let Some((_, format)) = ExportFormat::NAMES.iter().find(|(name, _)| *name == format) {
        return export::write(snapshot, end.tree, *format, options, out);
    }
    let mut report = ExportReport::default();
    if format == "jsonl" {
        report.written = jsonl::export(snapshot, &[end.tree], out)?.nodes;
        return Ok(report);
    }
    let mut nodes = snapshot.path_back(end.node, &end.versions, 0)?;
    report.retain(&mut nodes, options);
    let text = match format {
        "markdown" => markdown::path(&nodes, &snapshot.agents()?),
        "prose" => {
            let tree = snapshot.tree(end.tree)?.ok_or_else(|| OpsError::missing("tree", end.tree))?;
            markdown::prose(&nodes, tree.mode)
        }
        unknown => {
            let names = TEXT_FORMATS.into_iter().chain(ExportFormat::NAMES.iter().map(|(name, _)| *name));
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(InterchangeError::Format(format!("no format {unknown:?}; there are {names}")));
        }
    };
    out.write_all(text.as_bytes())?;
    Ok(report)
}

/// Writes the conversation that ends at a node, or its tree, into a new file.
pub(super) fn export(
    actor: &Actor,
    end: &PathEnd,
    format: &str,
    path: &Path,
    job: &mut FileJob<'_>,
) -> Result<ExportReport, OpsError> {
    let snapshot = actor.loom().snapshot()?;
    let mut buffer = ExportBuffer { bytes: Vec::new(), job };
    let report = write_format(&*snapshot, end, format, &mut buffer).map_err(|error| match error {
        InterchangeError::Io(error) => OpsError::Invalid(error.to_string()),
        error => OpsError::Invalid(error.to_string()),
    })?;
    let file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => failure(path, "the file already exists; nothing was written"),
        _ => failure(path, error),
    })?;
    let mut out = BufWriter::new(file);
    out.write_all(&buffer.bytes).and_then(|()| out.flush()).map_err(|error| failure(path, error))?;
    Ok(report)
}
