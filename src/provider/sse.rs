//! Server-sent events from bytes, in whatever pieces they come.
//!
//! An own parser of a hundred lines rather than a crate: a line that never ends must become an error and
//! not memory, and what stands unfinished at the end of the stream must be told from what was complete.
//! The crates for it keep everything until a blank line comes. `id` and `retry` are left out: model
//! servers cannot resume a stream.
//!
//! ```
//! let mut parser = loomtree::provider::sse::SseParser::new(1024);
//! let mut events = Vec::new();
//! parser.push(b"data: o", &mut events)?;
//! parser.push(b"ne\r\n\r\n: a comment\n", &mut events)?;
//! assert_eq!(events[0].data, "one");
//! # Ok::<(), loomtree::provider::sse::SseError>(())
//! ```

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// What `event:` said, empty if nothing.
    pub kind: String,
    /// The `data:` lines joined by line feeds.
    pub data: String,
}

/// Why bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line, or the lines of one event together, are longer than this many bytes.
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
    /// A field of an event is not UTF-8.
    #[error("an event is not UTF-8")]
    Utf8,
}

/// A parser that keeps one unfinished event between pieces.
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
    /// Makes a parser that takes lines, and events, of up to `limit` bytes.
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

    /// Takes the next bytes and appends the events they complete to `events`.
    ///
    /// Lines end with LF, CR LF or CR; a CR ends its line at once, so that no event waits for the byte after it.
    ///
    /// # Errors
    /// [`SseError`]; events completed before the fault are in `events`, and the parser is of no further use.
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

    /// Ends the stream and returns the event that stood without its blank line, if any.
    ///
    /// The standard discards it. Servers that omit the last line feeds exist, so the caller gets to see
    /// it, and must expect it to be half of something.
    ///
    /// # Errors
    /// [`SseError`] as for [`push`](Parser::push).
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
            // A comment (empty name), `id`, `retry`, or nothing known: passed over, says the standard.
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
    fn an_event_is_out_as_soon_as_its_last_byte_is_in() {
        for text in ["data: a\n\n", "data: a\r\r", "data: a\r\n\r"] {
            let mut parser = SseParser::new(64);
            let mut events = Vec::new();
            parser.push(text.as_bytes(), &mut events).unwrap();
            assert_eq!(events.len(), 1, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_long_or_not_utf8_is_an_error() {
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
