//! Import and export of conversations.
//!
//! An import streams its file: memory does not grow with the file, except for the ids of a foreign format. Lines are
//! parsed while earlier ones are committed. An import is idempotent: existing items are skipped. Malformed items are
//! reported with their line and skipped.

mod batch;
pub mod jsonl;
pub mod markdown;
mod pi;

use std::io::{self, BufRead};

pub use crate::recall;
use crate::{
    id::TreeId,
    ops::{Actor, OpsError},
    store::StoreError,
};

/// Import format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Lossless JSONL of loomtree.
    Loomtree,
    /// Session JSONL of pi, versions 1 to 3.
    Pi,
}

impl Format {
    /// Returns the name of the format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loomtree => "loomtree",
            Self::Pi => "pi",
        }
    }
}

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// Name of the format.
    pub format: &'static str,
    /// Trees that were created or extended.
    pub trees: Vec<TreeId>,
    /// Messages of users, models and tools in the file.
    pub messages: u64,
    /// Created nodes of all kinds.
    pub nodes: u64,
    /// Items that already existed.
    pub skipped: u64,
    /// Entries that are not messages (settings, summaries, labels); stored as context nodes or bookmarks.
    pub other: u64,
    /// Items that could not be read or stored, each with its line.
    pub problems: Vec<String>,
}

/// Error that stops an import or export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file could not be read or written.
    #[error("reading or writing failed: {0}")]
    Io(#[from] io::Error),
    /// The format of the file is unknown.
    #[error("{0}")]
    Format(String),
    /// The store failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
}

impl From<StoreError> for ArchiveError {
    fn from(error: StoreError) -> Self {
        Self::Ops(error.into())
    }
}

/// Imports a file. `name` identifies it in problem reports; `progress` receives the number of bytes read.
///
/// ```
/// use loomtree::{archive::{self, jsonl}, prelude::*};
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
/// let imported = archive::import(&reader, None, "letters.jsonl", &mut lines.as_slice(), &mut |_| {})?;
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
) -> Result<Imported, ArchiveError> {
    let mut lines = SourceLines { input, name, number: 0, bytes: 0, progress };
    let Some(first) = lines.next()? else {
        return Err(ArchiveError::Format(format!("{name} is empty")));
    };
    let format = match format {
        Some(format) => format,
        None => detect(&first).ok_or_else(|| {
            ArchiveError::Format(format!("{name}: unknown format; known are loomtree and pi session JSONL"))
        })?,
    };
    match format {
        Format::Loomtree => jsonl::import(actor, &first, &mut lines),
        Format::Pi => pi::import(actor, &first, &mut lines),
    }
}

/// Detects the format by the first line.
fn detect(first: &SourceLine) -> Option<Format> {
    #[derive(serde::Deserialize)]
    struct FileHeader {
        r#type: String,
        harness: Option<String>,
    }
    let head: FileHeader = serde_json::from_str(&first.text).ok()?;
    match (head.r#type.as_str(), head.harness) {
        ("loomtree", _) => Some(Format::Loomtree),
        ("session", None) => Some(Format::Pi),
        _ => None,
    }
}

/// Line of a file with its number.
pub(crate) struct SourceLine {
    text: String,
    number: u64,
}

/// Lines of a file, without blank ones.
pub(crate) struct SourceLines<'a> {
    input: &'a mut dyn BufRead,
    name: &'a str,
    number: u64,
    bytes: u64,
    progress: &'a mut dyn FnMut(u64),
}

/// Maximum bytes of a line. A message with images can be long; a longer line means that the file is not text.
const MAX_LINE_BYTES: u64 = 256 << 20;

impl SourceLines<'_> {
    fn next(&mut self) -> Result<Option<SourceLine>, ArchiveError> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = io::Read::take(&mut *self.input, MAX_LINE_BYTES + 1);
            let read = limited.read_until(b'\n', &mut bytes)? as u64;
            if read == 0 {
                (self.progress)(self.bytes);
                return Ok(None);
            }
            self.number += 1;
            self.bytes += read;
            if read > MAX_LINE_BYTES {
                return Err(ArchiveError::Format(format!(
                    "{} is longer than {MAX_LINE_BYTES} bytes",
                    self.place(self.number)
                )));
            }
            if self.number.is_multiple_of(1_024) {
                (self.progress)(self.bytes);
            }
            // Invalid UTF-8 makes the line malformed JSON, which is reported as such.
            let text = String::from_utf8(bytes)
                .unwrap_or_else(|e| format!("\u{fffd}{}", String::from_utf8_lossy(e.as_bytes())));
            let text = text.trim_start_matches('\u{feff}');
            if !text.trim().is_empty() {
                return Ok(Some(SourceLine { text: text.to_owned(), number: self.number }));
            }
        }
    }

    /// Formats a line number for problem reports.
    fn place(&self, number: u64) -> String {
        format!("{}, line {number}", self.name)
    }
}
