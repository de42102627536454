//! Lines of a text file with their numbers.

use std::{
    io::{self, BufRead},
    sync::atomic::{AtomicBool, Ordering},
};

use super::InterchangeError;

/// Line of a file with its number.
pub(crate) struct SourceLine {
    pub(super) text: String,
    pub(super) number: u64,
}

/// Lines of a file, without blank ones. They end where the import is cancelled.
pub(crate) struct SourceLines<'a> {
    pub(super) input: &'a mut dyn BufRead,
    pub(super) name: &'a str,
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) progress: &'a mut dyn FnMut(u64),
    pub(super) cancel: &'a AtomicBool,
}

/// Maximum bytes of a line. A message with images can be long; a longer line means that the file is not text.
const MAX_LINE_BYTES: u64 = 256 << 20;

impl SourceLines<'_> {
    /// Reads the next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<SourceLine>, InterchangeError> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = io::Read::take(&mut *self.input, MAX_LINE_BYTES + 1);
            let read = limited.read_until(b'\n', &mut bytes)? as u64;
            if read == 0 || self.cancel.load(Ordering::Relaxed) {
                (self.progress)(self.bytes);
                return Ok(None);
            }
            self.number += 1;
            self.bytes += read;
            if read > MAX_LINE_BYTES {
                return Err(InterchangeError::Format(format!(
                    "{}, line {} is longer than {MAX_LINE_BYTES} bytes",
                    self.name, self.number
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
}
