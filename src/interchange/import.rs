//! The import of a file, a folder or a database: its format, its options and its report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::Path,
    sync::atomic::AtomicBool,
};

#[cfg(any(feature = "cli", feature = "serve"))]
use super::zip_export::{self, import_zip};
use super::{
    DETECTED_BYTES, Format, basemode, bounded_reader, chatgpt, claude_ai, claude_code, codex, detect, detect_database,
    exoloom, foreign_databases, gemini, goose, importer::Importer, jsonl, librechat, lines::SourceLines, llama_app,
    loomsidian, markdown_chat, open_webui, openai_chat, opencode, pi_agent, pyloom, silly_tavern, write_batch, zstd,
};
use crate::{
    id::TreeId,
    ops::{Actor, OpsError},
    store::StoreError,
    types::setters,
};

/// Options of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Format of the file; `None`: detected by its beginning.
    pub format: Option<Format>,
    /// Reads and counts only, and writes nothing.
    pub dry_run: bool,
    /// Maximum bytes to which a compressed file may unpack; `None`: any number.
    pub max_unpacked: Option<u64>,
}

setters!(ImportOptions {
    /// Sets the format of the file.
    format(option Format);
    /// Sets whether the import only reads and counts.
    dry_run(bool);
    /// Sets the maximum bytes to which a compressed file may unpack.
    max_unpacked(some u64);
});

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Imported {
    /// Name of the format.
    pub format: &'static str,
    /// True if nothing was written. The other fields then describe an import of the file.
    #[serde(rename = "dry_run")]
    pub is_dry_run: bool,
    /// Trees that were created or extended.
    pub trees: Vec<TreeId>,
    /// Conversations in the file.
    pub conversations: u64,
    /// Sessions that were started.
    pub sessions: u64,
    /// Messages of users, models and tools in the file.
    pub messages: u64,
    /// New branches: messages whose parent had a continuation.
    pub branches: u64,
    /// Messages that changed since an earlier import, now versions.
    pub versions: u64,
    /// Created nodes of all kinds.
    pub nodes: u64,
    /// Items that already existed.
    pub skipped: u64,
    /// Entries that are not messages (settings, summaries, labels); stored as context nodes or bookmarks.
    pub other: u64,
    /// Number of entries of each kind that were left out on purpose.
    pub left_out: BTreeMap<String, u64>,
    /// Items that could not be read or stored, each with its place.
    pub problems: Vec<String>,
    /// Number of problems beyond those listed.
    pub more_problems: u64,
}

impl Imported {
    /// Adds the result of another file.
    pub fn add(&mut self, other: &Self) {
        self.is_dry_run |= other.is_dry_run;
        let known: BTreeSet<TreeId> = self.trees.iter().copied().collect();
        self.trees.extend(other.trees.iter().filter(|tree| !known.contains(tree)));
        self.conversations += other.conversations;
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.branches += other.branches;
        self.versions += other.versions;
        self.nodes += other.nodes;
        self.skipped += other.skipped;
        self.other += other.other;
        for (kind, number) in &other.left_out {
            *self.left_out.entry(kind.clone()).or_default() += number;
        }
        let listed = other.problems.len().min(write_batch::MAX_PROBLEMS.saturating_sub(self.problems.len()));
        self.problems.extend(other.problems.iter().take(listed).cloned());
        self.more_problems += other.more_problems + (other.problems.len() - listed) as u64;
    }
}

/// Error that stops an import or export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// The file could not be read or written.
    #[error("reading or writing failed: {0}")]
    Io(#[from] io::Error),
    /// The format of the file is unknown.
    #[error("{0}")]
    Format(String),
    /// The caller cancelled the export. A cancelled import is complete up to a message.
    #[error("cancelled")]
    Cancelled,
    /// The store failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
}

impl From<StoreError> for InterchangeError {
    fn from(error: StoreError) -> Self {
        Self::Ops(error.into())
    }
}

/// Imports a file. `name` identifies it in problem reports; `progress` receives the number of bytes read.
///
/// ```
/// use loomtree::{interchange::{self, jsonl}, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let mut lines = Vec::new();
/// jsonl::export(&*loom.snapshot()?, &[tree.id], &mut lines)?;
///
/// let other = session::open(folder.path().join("other.db"))?;
/// let reader = other.actor(&other.agent("owner")?);
/// let imported = interchange::import(&reader, None, "letters.jsonl", &mut lines.as_slice(), &mut |_| {})?;
/// assert_eq!((imported.nodes, other.node(root.id)?.content), (1, root.content));
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If the format is unknown, the file cannot be read, or the store fails. Items committed before the error remain, and
/// the import can be repeated.
pub fn import(
    actor: &Actor,
    format: Option<Format>,
    name: &str,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, InterchangeError> {
    let options = ImportOptions { format, ..ImportOptions::default() };
    import_with(actor, options, name, input, progress)
}

/// Imports a file as [`import`] does, with options.
///
/// # Errors
/// The errors of [`import`].
pub fn import_with(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, InterchangeError> {
    import_until(actor, options, name, input, progress, &AtomicBool::new(false))
}

/// Imports a file as [`import_with`] does, until it ends or `cancel` is set by another thread.
pub(super) fn import_until(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<Imported, InterchangeError> {
    let mut head = Vec::new();
    input.take(detect::HEAD_BYTES).read_to_end(&mut head)?;
    if zstd::is_compressed(&head) {
        let unpacked = zstd::ZstdReader::new(io::Cursor::new(head).chain(input));
        let max_bytes = options.max_unpacked.unwrap_or(u64::MAX);
        let mut unpacked = BufReader::new(bounded_reader::BoundedReader::new(unpacked, max_bytes));
        let mut head = Vec::new();
        (&mut unpacked).take(detect::HEAD_BYTES).read_to_end(&mut head).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => InterchangeError::Format(format!("{name} cannot be decompressed: {error}")),
            _ => error.into(),
        })?;
        return import_text(actor, options, name, (head, &mut unpacked), progress, cancel);
    }
    import_text(actor, options, name, (head, input), progress, cancel)
}

/// Imports a file of which the beginning is read already.
fn import_text(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    (head, input): (Vec<u8>, &mut dyn BufRead),
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<Imported, InterchangeError> {
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(InterchangeError::Format(format!("{name} is empty")));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect::format(&head).ok_or_else(|| {
            InterchangeError::Format(format!("{name}: unknown format; known are {}", Format::names().join(", ")))
        })?,
    };
    let mut input = io::Cursor::new(head).chain(input);
    let mut lines = SourceLines { input: &mut input, name, number: 0, bytes: 0, progress, cancel };
    if format == Format::Loomtree {
        let Some(first) = lines.next()? else {
            return Err(InterchangeError::Format(format!("{name} is empty")));
        };
        return jsonl::import(actor, &first, &mut lines, options.dry_run);
    }
    let mut importer = Importer::new(actor, name, format.as_str(), options.dry_run, cancel);
    let read = read_lines(format, &mut lines, &mut importer).and_then(|()| importer.link_earlier_trees());
    importer.complete(read)
}

/// Reads a file in a foreign format.
fn read_lines(
    format: Format,
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    match format {
        Format::Loomtree => Ok(()),
        Format::Pi => pi_agent::read(lines, importer),
        Format::ClaudeCode => claude_code::read(lines, importer),
        Format::Codex => codex::read(lines, importer),
        Format::Gemini => gemini::read(lines, importer),
        Format::ChatGpt => chatgpt::read(lines, importer),
        Format::ClaudeAi => claude_ai::read(lines, importer),
        Format::OpenWebUi => open_webui::read(lines, importer),
        Format::SillyTavern => silly_tavern::read(lines, importer),
        Format::LibreChat => librechat::read(lines, importer),
        Format::LlamaApp => llama_app::read(lines, importer),
        Format::Loomsidian => loomsidian::read(lines, importer),
        Format::Exoloom => exoloom::read(lines, importer),
        Format::Pyloom => pyloom::read(lines, importer),
        Format::Basemode => basemode::read(lines, importer),
        Format::Goose => goose::read(lines, importer),
        Format::OpenAiChat => openai_chat::read(lines, importer),
        Format::Markdown => markdown_chat::read(lines, importer),
        Format::Llm | Format::OpenCode | Format::Zed | Format::Cursor => {
            Err(InterchangeError::Format(format!("{}: a database is imported from its file", lines.name)))
        }
    }
}

/// Imports the database of another program. It is opened for reading only. `name` identifies it in problem reports.
///
/// # Errors
/// If the file is no database of a known program, it cannot be read, or the store fails. Items committed before the error
/// remain, and the import can be repeated.
pub fn import_database(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    path: &Path,
) -> Result<Imported, InterchangeError> {
    read_database(actor, options, name, path, &AtomicBool::new(false))
}

/// Imports a file, a database, the zip archive of a data export or the folder of a program, until it ends or `cancel` is set by another thread. A cancelled
/// import is complete up to a message. `progress` receives the number of bytes read of a file. A conversation without an id
/// is known by the absolute path of its file, however `path` spells it.
///
/// # Errors
/// The errors of [`import`] and [`import_database`].
pub fn import_path(
    actor: &Actor,
    options: ImportOptions,
    path: &Path,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<Imported, InterchangeError> {
    let name = source_name(actor, options, path, cancel)?;
    if path.is_dir() {
        if !is_source_folder(path) {
            return Err(InterchangeError::Format(format!("{name} is a folder of no known program")));
        }
        let mut importer = Importer::new(actor, &name, Format::OpenCode.as_str(), options.dry_run, cancel);
        let read = opencode::read_folder(path, &mut importer).and_then(|()| importer.link_earlier_trees());
        return importer.complete(read);
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    if file.fill_buf()?.starts_with(foreign_databases::SQLITE_MAGIC) {
        return read_database(actor, options, &name, path, cancel);
    }
    #[cfg(any(feature = "cli", feature = "serve"))]
    if file.buffer().starts_with(zip_export::MAGIC) {
        return import_zip(actor, options, &name, file, progress, cancel);
    }
    import_until(actor, options, &name, &mut file, progress, cancel)
}

/// Returns the name by which conversations without an id are known: the absolute path of their file. A file that an earlier
/// version imported by its path as typed keeps that name.
fn source_name(
    actor: &Actor,
    options: ImportOptions,
    path: &Path,
    cancel: &AtomicBool,
) -> Result<String, InterchangeError> {
    let typed = path.display().to_string();
    // Only the folder is resolved: some formats read the name of the file, which a link may change.
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let folder = folder.filter(|_| path.is_file()).and_then(|folder| folder.canonicalize().ok());
    let Some((folder, file)) = folder.zip(path.file_name()) else { return Ok(typed) };
    let name = folder.join(file).display().to_string();
    if name == typed {
        return Ok(name);
    }
    let Some(format) = options.format.or_else(|| detect_path(path)) else { return Ok(name) };
    let snapshot = actor.loom().snapshot()?;
    let is_known = |name: &str| -> Result<bool, InterchangeError> {
        Ok(snapshot.source(&format!("{}:{name}:session", format.as_str()))?.is_some())
    };
    if is_known(&name)? || !is_known(&typed)? {
        return Ok(name);
    }
    // A file of the same name in another folder shares no message with the known one.
    let dry = ImportOptions { format: Some(format), dry_run: true, ..options };
    let mut file = BufReader::new(File::open(path)?);
    let read = import_until(actor, dry, &typed, &mut file, &mut |_| {}, cancel)?;
    Ok(if read.skipped > read.conversations + read.versions { typed } else { name })
}

/// Returns the format of a file or database, or of a program's folder. `None` if it is unknown or cannot be read.
#[must_use]
pub fn detect_path(path: &Path) -> Option<Format> {
    if path.is_dir() {
        return is_source_folder(path).then_some(Format::OpenCode);
    }
    let mut file = BufReader::new(File::open(path).ok()?);
    let mut head = Vec::new();
    let start = file.fill_buf().ok()?;
    if start.starts_with(foreign_databases::SQLITE_MAGIC) {
        return detect_database(path).ok()?;
    } else if zstd::is_compressed(start) {
        zstd::ZstdReader::new(file).take(DETECTED_BYTES).read_to_end(&mut head).ok()?;
    } else {
        file.take(DETECTED_BYTES).read_to_end(&mut head).ok()?;
    }
    detect(&head)
}

/// True for a folder that is imported as a whole: the storage of older versions of opencode.
#[must_use]
pub fn is_source_folder(path: &Path) -> bool {
    opencode::is_storage(path)
}

/// Returns the format of a database. An error if it is unknown, or not the one that the options name.
fn database_format(options: ImportOptions, name: &str, path: &Path) -> Result<Format, InterchangeError> {
    let Some(format) = detect_database(path)? else {
        return Err(InterchangeError::Format(format!("{name}: unknown format: it is a database of no known program")));
    };
    if options.format.is_some_and(|wanted| wanted != format) {
        return Err(InterchangeError::Format(format!("{name} is a database of {}", format.as_str())));
    }
    Ok(format)
}

fn read_database(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    path: &Path,
    cancel: &AtomicBool,
) -> Result<Imported, InterchangeError> {
    let format = database_format(options, name, path)?;
    let mut importer = Importer::new(actor, name, format.as_str(), options.dry_run, cancel);
    let read = foreign_databases::read(path, &mut importer).and_then(|()| importer.link_earlier_trees());
    importer.complete(read)
}
