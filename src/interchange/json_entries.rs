//! Entries of a JSON document, read one after the other: memory grows with the largest entry, not with the file.

use std::io::{self, BufReader, Read};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde_json::Value;

use super::{Importer, InterchangeError, SourceLines, source_record::SourcePlace};

/// Receives an entry and its place.
type EachEntry<'a> = dyn FnMut(SourcePlace, Value) -> Result<(), InterchangeError> + 'a;

/// Reads an entry into the importer.
type ReadEntry<'a> = dyn FnMut(SourcePlace, Value, &mut Importer<'_>) -> Result<(), InterchangeError> + 'a;

/// Calls `read` with every element of a file's array, or with the file's only value. A malformed rest of the file is a
/// problem of the import.
pub(super) fn read_entries(
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
    read: &mut ReadEntry<'_>,
) -> Result<(), InterchangeError> {
    let end = entries(lines, &mut |place, entry| read(place, entry, importer))?;
    if let Some((place, error)) = end {
        importer.problem(place, format!("the rest of the file cannot be read: {error}"));
    }
    Ok(())
}

/// Reads a document as [`read_entries`] does whose first line is read already.
pub(super) fn read_entries_after(
    first: String,
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
    read: &mut ReadEntry<'_>,
) -> Result<(), InterchangeError> {
    let mut input = io::Cursor::new(first).chain(&mut *lines.input);
    let mut whole = SourceLines {
        input: &mut input,
        name: lines.name,
        number: 0,
        bytes: lines.bytes,
        progress: &mut *lines.progress,
        cancel: lines.cancel,
    };
    read_entries(&mut whole, importer, read)
}

/// Reads the whole rest of a file as text.
pub(super) fn read_text(lines: &mut SourceLines<'_>) -> Result<String, InterchangeError> {
    let mut bytes = Vec::new();
    CountedReader { lines }.read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Calls `each` with every entry. Returns the place and the error at which a malformed file ends.
fn entries(
    lines: &mut SourceLines<'_>,
    each: &mut EachEntry<'_>,
) -> Result<Option<(SourcePlace, serde_json::Error)>, InterchangeError> {
    let mut input = BufReader::with_capacity(1 << 16, CountedReader { lines });
    let mut number = 0;
    let mut failure = None;
    let mut reader = serde_json::Deserializer::from_reader(&mut input);
    let seed = EntryVisitor { each, number: &mut number, failure: &mut failure };
    let parsed = seed.deserialize(&mut reader).and_then(|()| reader.end());
    match (failure, parsed) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) if error.is_io() => Err(InterchangeError::Io(error.into())),
        (None, Err(error)) => Ok(Some((SourcePlace::Entry(number + 1), error))),
        (None, Ok(())) => Ok(None),
    }
}

/// Reader that reports its progress and omits a byte order mark.
struct CountedReader<'a, 'b> {
    lines: &'a mut SourceLines<'b>,
}

impl Read for CountedReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = self.lines.input.read(buffer)?;
        if self.lines.bytes == 0 && buffer[..read].starts_with(b"\xef\xbb\xbf") {
            buffer.copy_within(3..read, 0);
            read -= 3;
        }
        self.lines.bytes += read as u64;
        (self.lines.progress)(self.lines.bytes);
        Ok(read)
    }
}

struct EntryVisitor<'a, 'b> {
    each: &'a mut EachEntry<'b>,
    number: &'a mut u64,
    failure: &'a mut Option<InterchangeError>,
}

impl EntryVisitor<'_, '_> {
    fn entry<E: serde::de::Error>(&mut self, value: Value) -> Result<(), E> {
        *self.number += 1;
        (self.each)(SourcePlace::Entry(*self.number), value).map_err(|failure| {
            *self.failure = Some(failure);
            E::custom("the import failed")
        })
    }
}

impl<'de> DeserializeSeed<'de> for EntryVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntryVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of conversations, or one conversation")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            self.entry(entry)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        let value: Value = serde::Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        self.entry(value)
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        Err(E::custom("a text is no conversation"))
    }
}
