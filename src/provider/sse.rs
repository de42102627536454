//! Incremental parser for server-sent events.
//!
//! Two requirements exclude the existing crates, which buffer until a blank line: an endless line must be an error instead
//! of unbounded memory, and an incomplete event at the end of the stream must be distinguished from a complete one. `id`
//! and `retry` are left out: model servers cannot resume a stream.
//!
//! ```
//! let mut parser = loomtree::provider::sse::SseParser::new(1024);
//! let mut events = Vec::new();
//! parser.push(b"data: o", &mut events)?;
//! parser.push(b"ne\r\n\r\n: a comment\n", &mut events)?;
//! assert_eq!(events[0].data, "one");
//! # Ok::<(), loomtree::provider::sse::SseError>(())
//! ```

/// A complete event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent {
    /// Value of the field `event`; empty if absent.
    pub kind: String,
    /// Values of the `data` lines, joined by line feeds.
    pub data: String,
}

/// Error of an invalid event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line or the data of an event exceeds this limit in bytes.
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
    /// A field of an event is not UTF-8.
    #[error("an event is not UTF-8")]
    Utf8,
}

/// A parser that buffers at most one incomplete event between chunks.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    data: String,
    has_data: bool,
    kind: String,
    after_cr: bool,
    first_line: bool,
}

impl SseParser {
    /// Creates a parser for lines and events of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> SseParser {
        SseParser {
            limit,
            line: Vec::new(),
            data: String::new(),
            has_data: false,
            kind: String::new(),
            after_cr: false,
            first_line: true,
        }
    }

    /// Parses the next chunk and appends the completed events to `events`.
    ///
    /// Lines end with LF, CR LF or CR. A CR ends its line at once, so that an event does not wait for the next byte.
    ///
    /// # Errors
    /// Returns [`SseError`]. Events before the error are in `events`; the parser must not be used again.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > self.limit {
                return Err(SseError::TooLong(self.limit));
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(&line)?);
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    /// Ends the stream and returns the event without a final blank line, if any.
    ///
    /// The standard discards this event. Some servers omit the last line feeds, so the caller gets it; it may be incomplete.
    ///
    /// # Errors
    /// Returns the errors of [`push`](SseParser::push).
    pub fn finish(mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line)?;
        }
        Ok(self.dispatch())
    }

    fn end_line(&mut self, mut line: &[u8]) -> Result<Option<SseEvent>, SseError> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.add_data(value)?,
            b"event" => self.kind = std::str::from_utf8(value).map_err(|_| SseError::Utf8)?.to_owned(),
            // The standard ignores comments (empty name) and unknown fields; `id` and `retry` are not used.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), SseError> {
        if self.data.len() + 1 + value.len() > self.limit {
            return Err(SseError::TooLong(self.limit));
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push('\n');
        }
        self.data.push_str(std::str::from_utf8(value).map_err(|_| SseError::Utf8)?);
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(SseEvent { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<(String, String)>, SseError> {
        let mut parser = SseParser::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events)?;
        }
        events.extend(parser.finish()?);
        Ok(events.into_iter().map(|event| (event.kind, event.data)).collect())
    }

    fn data(text: &str) -> Vec<String> {
        parse([text.as_bytes()]).unwrap().into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn fields_lines_and_comments() {
        assert_eq!(data("data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata\n\n"), ["a", "b", " c", ""]);
        for line in ["\n", "\r\n", "\r"] {
            let text = ["data: a", "data: b", "", "data: c", "", ""].join(line);
            assert_eq!(data(&text), ["a\nb", "c"], "{line:?}");
        }
        assert_eq!(data("\u{feff}data: a\n\n: note\nid: 1\nretry: 5\nnonsense\n\n\n\n"), ["a"]);
        assert_eq!(data("data: a: b\n\ndata: unfinished"), ["a: b", "unfinished"]);
        assert_eq!(
            parse([&b"event: error\ndata: x\n\ndata: y\n\n"[..]]).unwrap(),
            [("error".to_owned(), "x".to_owned()), (String::new(), "y".to_owned())]
        );
    }

    #[test]
    fn an_event_is_emitted_with_its_last_byte() {
        for text in ["data: a\n\n", "data: a\r\r", "data: a\r\n\r"] {
            let mut parser = SseParser::new(64);
            let mut events = Vec::new();
            parser.push(text.as_bytes(), &mut events).unwrap();
            assert_eq!(events.len(), 1, "{text:?}");
        }
    }

    #[test]
    fn long_lines_and_invalid_utf8_are_errors() {
        assert_eq!(parse([&[b'x'; 64][..]]), Ok(vec![]));
        assert_eq!(parse([&[b'x'; 65][..]]), Err(SseError::TooLong(64)));
        assert_eq!(parse([&b"xxxxxxxxxxxxxxxx"[..]; 5]), Err(SseError::TooLong(64)));
        assert_eq!(parse([&b"data: 0123456789\n"[..]; 7]), Err(SseError::TooLong(64)));
        assert_eq!(parse([&b"data: \xff\n"[..]]), Err(SseError::Utf8));
        assert_eq!(parse([&b": \xff\n"[..]]), Ok(vec![]));
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            "(data|event|id|:)?:? ?[a-zäß✓🌳: ]{0,12}".prop_map(String::into_bytes),
            Just(Vec::new()),
            proptest::collection::vec(any::<u8>(), 0..70),
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n"), Just("")];
        proptest::collection::vec((line, end), 0..24)
            .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.into()].concat()).collect())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            bytes in stream(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let whole = parse([&bytes[..]]);
            prop_assert_eq!(parse(pieces), whole.clone());
            prop_assert_eq!(parse(bytes.chunks(1)), whole);
        }
    }
}
