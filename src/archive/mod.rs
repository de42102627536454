//! The archive's doors: histories come in whole, and go out.
//!
//! An import is streamed: memory does not grow with the file (except for the ids of a foreign format's entries), and
//! the next lines are read while the last ones are written. It is idempotent: what is there already is skipped.
//! Malformed items are reported with their place and skipped; the rest comes in.

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

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The engine's own JSONL, lossless.
    Loomtree,
    /// pi's session JSONL, versions 1 to 3.
    Pi,
}

impl Format {
    /// The format's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loomtree => "loomtree",
            Self::Pi => "pi",
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// The format that was read.
    pub format: &'static str,
    /// The trees that were made or added to.
    pub trees: Vec<TreeId>,
    /// Messages in the file: what people, models and tools said.
    pub messages: u64,
    /// Nodes that were made, of all kinds.
    pub nodes: u64,
    /// Items that were there already.
    pub skipped: u64,
    /// Entries that are not messages (settings, summaries, labels), kept as context nodes or marks.
    pub other: u64,
    /// What could not be read or stored, with its place.
    pub problems: Vec<String>,
}

/// Why an import or export stopped.
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

/// Imports a file. `name` is what problems call it; `progress` hears how many bytes have been read.
///
/// # Errors
/// If the format is not known, the file cannot be read, or the store fails; what was imported until then stays, and
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

/// The format of a file that begins with this line.
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

/// A line of a file, with its place.
pub(crate) struct SourceLine {
    text: String,
    number: u64,
}

/// A file, line by line; blank lines are passed over.
pub(crate) struct SourceLines<'a> {
    input: &'a mut dyn BufRead,
    name: &'a str,
    number: u64,
    bytes: u64,
    progress: &'a mut dyn FnMut(u64),
}

/// The longest line that is read, in bytes: a message with images may be long, a file that is no text is longer.
const LONGEST_LINE: u64 = 256 << 20;

impl SourceLines<'_> {
    fn next(&mut self) -> Result<Option<SourceLine>, ArchiveError> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = io::Read::take(&mut *self.input, LONGEST_LINE + 1);
            let read = limited.read_until(b'\n', &mut bytes)? as u64;
            if read == 0 {
                (self.progress)(self.bytes);
                return Ok(None);
            }
            self.number += 1;
            self.bytes += read;
            if read > LONGEST_LINE {
                return Err(ArchiveError::Format(format!(
                    "{} is longer than {LONGEST_LINE} bytes",
                    self.place(self.number)
                )));
            }
            if self.number.is_multiple_of(1_024) {
                (self.progress)(self.bytes);
            }
            // Bytes that are no UTF-8 make the line malformed JSON, which is reported like any other.
            let text = String::from_utf8(bytes)
                .unwrap_or_else(|e| format!("\u{fffd}{}", String::from_utf8_lossy(e.as_bytes())));
            let text = text.trim_start_matches('\u{feff}');
            if !text.trim().is_empty() {
                return Ok(Some(SourceLine { text: text.to_owned(), number: self.number }));
            }
        }
    }

    /// A line's place, for people.
    fn place(&self, number: u64) -> String {
        format!("{}, line {number}", self.name)
    }
}
