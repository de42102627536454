//! Bytes to text, as [`String::from_utf8_lossy`] would make it of all of them together, however they were cut.
//!
//! A chunk is checked by `simdutf8`: outside of ASCII the standard library's check alone takes as long as the scanner
//! may take for everything.

use std::str;

/// The last bytes of a chunk, where they may be the beginning of a character.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    held: [u8; 4],
    length: usize,
}

impl Utf8 {
    /// Gives the text of a chunk to `sink`, in one piece where the chunk is valid and cut between characters.
    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(&str)) {
        while self.length > 0 {
            let Some((first, rest)) = bytes.split_first() else { return };
            (self.held[self.length], bytes) = (*first, rest);
            self.length += 1;
            self.flush(false, sink);
        }
        loop {
            let error = match simdutf8::compat::from_utf8(bytes) {
                Ok(text) => return sink(text),
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            sink(str::from_utf8(valid).unwrap_or_default());
            let Some(wrong) = error.error_len() else {
                self.held[..rest.len()].copy_from_slice(rest);
                self.length = rest.len();
                return;
            };
            sink("\u{fffd}");
            bytes = &rest[wrong..];
        }
    }

    /// The bytes end in an incomplete character.
    pub(super) fn finish(&mut self, sink: &mut impl FnMut(&str)) {
        self.flush(true, sink);
    }

    /// Gives out what of the held bytes is decided.
    fn flush(&mut self, last: bool, sink: &mut impl FnMut(&str)) {
        while self.length > 0 {
            let done = match str::from_utf8(&self.held[..self.length]) {
                Ok(text) => {
                    sink(text);
                    self.length
                }
                Err(error) if error.valid_up_to() > 0 => {
                    sink(str::from_utf8(&self.held[..error.valid_up_to()]).unwrap_or_default());
                    error.valid_up_to()
                }
                Err(error) => {
                    let wrong = match error.error_len() {
                        None if !last => return,
                        wrong => wrong.unwrap_or(self.length),
                    };
                    sink("\u{fffd}");
                    wrong
                }
            };
            self.held.copy_within(done..self.length, 0);
            self.length -= done;
        }
    }
}
