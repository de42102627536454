//! The scanner's state and what it does with each chunk; the module's documentation describes both.

use super::{
    Event,
    event::Kind,
    fence::{Fence, Line},
    line_kind::{self, LineStart, blank, lead},
    logical_line::{LineEnd, Words},
    output::Output,
    scratchpad::{self, ThoughtOpening},
    utf8,
};

/// Finds arrow lines in text that comes in chunks.
///
/// ```
/// use loomtree::arrow::{Event, Scanner};
///
/// let mut calls = Vec::new();
/// let mut sink = |event: Event<'_>| {
///     if let Event::Call(call) = event {
///         calls.push(call.text.to_owned());
///     }
/// };
/// let mut scanner = Scanner::new();
/// for chunk in "I'll look.\n→ view a7x2\nThen".as_bytes().chunks(5) {
///     scanner.push(chunk, &mut sink);
/// }
/// scanner.finish(&mut sink);
/// assert_eq!(calls, ["→ view a7x2"]);
/// ```
#[derive(Debug)]
pub struct Scanner {
    /// True if every line is a command, with an arrow or without.
    commands: bool,
    utf8: utf8::Utf8,
    mode: Mode,
    /// The undecided lead of a line, or the logical line so far.
    held: String,
    output: Output,
}

/// State of the scanner. The modes that hold text say where in it the physical line begins.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// At a line's start or in its lead.
    Start,
    /// In a line of prose.
    Prose,
    /// In the line that opens a fence; first in its run of markers.
    Opening { fence: Fence, run: bool },
    /// In fenced code.
    Fenced { fence: Fence, line: Line },
    /// In an arrow line: its first physical line, or one that a quote carried it on to.
    Arrow { words: Words, first: bool, line: usize },
    /// In block content, of a call or of a thought.
    Block { words: Words, thought: bool, line: usize },
    /// In a scratchpad.
    Scratchpad { line: usize },
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner for a model's output.
    #[must_use]
    pub fn new() -> Self {
        let (utf8, output) = (utf8::Utf8::default(), Output::default());
        Self { commands: false, utf8, mode: Mode::Start, held: String::new(), output }
    }

    /// A scanner for text in which every line is a command, with an arrow or without: what a person or a script gives a
    /// program. Blank lines, fenced code, and lines that start with `#` or `>` are none.
    #[must_use]
    pub fn commands() -> Self {
        Self { commands: true, ..Self::new() }
    }

    /// Takes the next bytes of the output.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut utf8 = std::mem::take(&mut self.utf8);
        utf8.push(chunk, &mut |text| self.push_str(text, sink));
        self.utf8 = utf8;
    }

    /// Ends the output: what was held back is decided.
    pub fn finish(mut self, sink: &mut impl FnMut(Event<'_>)) {
        let mut utf8 = std::mem::take(&mut self.utf8);
        utf8.finish(&mut |text| self.push_str(text, sink));
        if matches!(self.mode, Mode::Start) && !self.held.is_empty() {
            self.last_lead(sink);
        }
        if let Mode::Arrow { line, .. } | Mode::Block { line, .. } | Mode::Scratchpad { line } = self.mode
            && (line < self.held.len() || matches!(self.mode, Mode::Arrow { first: true, .. }))
        {
            self.line_end(sink);
        }
        match self.mode {
            Mode::Arrow { .. } | Mode::Block { thought: false, .. } => self.close(Kind::Call { closed: false }, sink),
            Mode::Block { .. } | Mode::Scratchpad { .. } => self.close(Kind::Thought { closed: false }, sink),
            _ => {}
        }
        self.output.flush(sink);
        self.output.end_batch(sink);
    }

    pub(super) fn push_str(&mut self, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        // Prose from `from` to `at` is read and not given out.
        let (mut from, mut at) = (0, 0);
        while at < text.len() {
            match self.mode {
                Mode::Start => (from, at) = self.start(text, from, at, sink),
                Mode::Prose => at += self.lines_of_prose(&text.as_bytes()[at..]),
                Mode::Opening { fence, run } => at += self.opening(fence, run, &text.as_bytes()[at..]),
                Mode::Fenced { fence, line } => at += self.fenced(fence, line, &text.as_bytes()[at..]),
                Mode::Arrow { .. } | Mode::Block { .. } | Mode::Scratchpad { .. } => {
                    at += self.hold(&text[at..], sink);
                    from = at;
                }
            }
        }
        self.output.prose(&text[from..], sink);
    }

    /// At a line's start: decides by its lead what the line is. Returns the new `from` and `at` of [`Self::push_str`].
    fn start(&mut self, text: &str, mut from: usize, at: usize, sink: &mut impl FnMut(Event<'_>)) -> (usize, usize) {
        if self.output.looks_ahead() {
            self.output.prose(&text[from..at], sink);
            from = at;
            self.output.bound(sink);
        }
        let (known, rest) = (self.held.len(), &text[at..]);
        let seen = if known == 0 {
            match rest.as_bytes()[0] {
                b'\n' => return (from, at + 1),
                _ if !self.commands && !line_kind::may_lead(rest.as_bytes()) => LineStart::Prose { words: 0 },
                _ => lead(rest, false, self.output.looks_ahead()),
            }
        } else {
            self.held.push_str(beginning(rest, line_kind::DECIDED));
            lead(&self.held, false, self.output.looks_ahead())
        };
        // Where the line is held in part, `at` is 0 and nothing else waits to be given out.
        let after = |end: usize| at + end - known;
        match self.command(seen, if known == 0 { rest } else { &self.held }) {
            LineStart::Undecided => {
                self.output.prose(&text[from..at], sink);
                if known == 0 {
                    self.held.push_str(rest);
                }
                (text.len(), text.len())
            }
            LineStart::Blank { end } => {
                self.release(known, sink);
                (from, after(end))
            }
            LineStart::Arrow { words, ticks, .. } => {
                self.output.prose(&text[from..at], sink);
                self.held.truncate(known);
                self.mode = Mode::Arrow { words: Words::new(ticks), first: true, line: words };
                (at, at)
            }
            LineStart::Back { end } => {
                self.release(known, sink);
                self.output.prose(&text[at..after(end)], sink);
                self.output.back(sink);
                (after(end), after(end))
            }
            prose => {
                if self.output.batch {
                    self.output.prose(&text[from..at], sink);
                    from = at;
                    self.output.end_batch(sink);
                }
                self.release(known, sink);
                let LineStart::Fence { fence, end } = prose else {
                    self.mode = Mode::Prose;
                    return (from, at);
                };
                self.mode = Mode::Opening { fence, run: true };
                (from, after(end))
            }
        }
    }

    /// In a line of prose: passes it, and lines after it whose first bytes show that they are prose too. Returns how
    /// many bytes were read.
    fn lines_of_prose(&mut self, bytes: &[u8]) -> usize {
        let alike = !self.commands && !self.output.looks_ahead();
        let mut at = 0;
        loop {
            let Some(end) = memchr::memchr(b'\n', &bytes[at..]) else { return bytes.len() };
            at += end + 1;
            while bytes.get(at) == Some(&b'\n') {
                at += 1;
            }
            if !alike || line_kind::may_lead(&bytes[at..]) {
                self.mode = Mode::Start;
                return at;
            }
        }
    }

    /// Reading of a line start where every line is a command.
    fn command(&self, lead: LineStart, line: &str) -> LineStart {
        match lead {
            LineStart::Prose { words } if self.commands && !line[words..].starts_with(['#', '>']) => {
                LineStart::Arrow { begin: words, words, ticks: 0 }
            }
            lead => lead,
        }
    }

    /// Gives the held part of a lead out as prose.
    fn release(&mut self, known: usize, sink: &mut impl FnMut(Event<'_>)) {
        self.output.prose(&self.held[..known], sink);
        self.held.clear();
    }

    /// Decides a lead that the output ended in.
    fn last_lead(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        let seen = lead(&self.held, true, self.output.looks_ahead());
        match self.command(seen, &self.held) {
            LineStart::Arrow { words, ticks, .. } => {
                self.mode = Mode::Arrow { words: Words::new(ticks), first: true, line: words };
                return;
            }
            LineStart::Prose { .. } | LineStart::Fence { .. } => self.output.end_batch(sink),
            _ => {}
        }
        self.release(self.held.len(), sink);
        if matches!(seen, LineStart::Back { .. }) {
            self.output.back(sink);
        }
    }

    /// In the line that opens a fence. Returns how many bytes were read.
    fn opening(&mut self, mut fence: Fence, run: bool, bytes: &[u8]) -> usize {
        let markers = if run { bytes.iter().take_while(|byte| **byte == fence.marker).count() } else { 0 };
        fence.length += markers;
        let rest = &bytes[markers..];
        let line_end = memchr::memchr(b'\n', rest);
        let information = &rest[..line_end.unwrap_or(rest.len())];
        self.mode = if !fence.opens_with(information) {
            Mode::Prose
        } else if line_end.is_some() {
            Mode::Fenced { fence, line: Line::Indent(0) }
        } else {
            Mode::Opening { fence, run: run && rest.is_empty() }
        };
        match self.mode {
            Mode::Prose => markers,
            _ => line_end.map_or(bytes.len(), |end| markers + end + 1),
        }
    }

    /// In fenced code, up to the end of the fence or of the bytes. Returns how many were read. Only lines with a marker
    /// in them are looked at, and the last one, which may go on in the next chunk.
    fn fenced(&mut self, fence: Fence, mut line: Line, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            // The line that goes on from the last chunk may have its markers already.
            if matches!(line, Line::Indent(_) | Line::Code) {
                let marker = memchr::memchr(fence.marker, &bytes[at..]).map_or(bytes.len(), |end| at + end);
                if let Some(line_end) = memchr::memrchr(b'\n', &bytes[at..marker]) {
                    at += line_end + 1;
                    line = Line::Indent(0);
                }
            }
            let rest = &bytes[at..];
            let line_end = memchr::memchr(b'\n', rest);
            line = fence.read(line, &rest[..line_end.unwrap_or(rest.len())]);
            at = line_end.map_or(bytes.len(), |end| at + end + 1);
            if line_end.is_some() {
                if fence.closed_by(line) {
                    self.mode = Mode::Start;
                    return at;
                }
                line = Line::Indent(0);
            }
        }
        self.mode = Mode::Fenced { fence, line };
        at
    }

    /// Holds text up to a line end, and reads the line if it is there. Returns how many bytes were taken.
    fn hold(&mut self, text: &str, sink: &mut impl FnMut(Event<'_>)) -> usize {
        let line_end = memchr::memchr(b'\n', text.as_bytes());
        let taken = line_end.map_or(text.len(), |end| end + 1);
        self.held.push_str(&text[..taken]);
        if line_end.is_some() {
            self.line_end(sink);
        }
        taken
    }

    /// Reads a physical line of what is held.
    fn line_end(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        let next = self.held.len();
        match self.mode {
            Mode::Arrow { mut words, first, line } => {
                let text = &self.held[line..];
                let end = words.line(text);
                let thought = if first && end != LineEnd::Prose { scratchpad::opening(text) } else { None };
                match (end, thought) {
                    (LineEnd::Prose, _) => {
                        self.output.end_batch(sink);
                        self.close(Kind::Prose, sink);
                    }
                    (LineEnd::Block, _) => self.mode = Mode::Block { words, thought: thought.is_some(), line: next },
                    (_, Some(ThoughtOpening::Scratchpad)) => {
                        self.output.flush(sink);
                        self.mode = Mode::Scratchpad { line: next };
                    }
                    (_, Some(ThoughtOpening::Closed)) => self.close(Kind::Thought { closed: true }, sink),
                    (_, Some(ThoughtOpening::Words)) => {
                        self.output.look_ahead(&self.held, sink);
                        self.held.clear();
                        self.mode = Mode::Start;
                    }
                    (LineEnd::Quote, None) => self.mode = Mode::Arrow { words, first: false, line: next },
                    (LineEnd::Complete, None) => self.close(Kind::Call { closed: true }, sink),
                }
            }
            Mode::Block { words, thought, line } => {
                let end = |c| blank(c) || c == '\n' || c == '`' && words.is_in_backticks();
                if self.held[line..].trim_matches(end) != ">>>" {
                    self.mode = Mode::Block { words, thought, line: next };
                } else if thought {
                    self.close(Kind::Thought { closed: true }, sink);
                } else {
                    self.close(Kind::Call { closed: true }, sink);
                }
            }
            Mode::Scratchpad { line } if line_kind::is_back(&self.held[line..]) => {
                self.close(Kind::Thought { closed: true }, sink);
            }
            Mode::Scratchpad { .. } => self.mode = Mode::Scratchpad { line: next },
            _ => {}
        }
    }

    /// Gives what is held out as one piece.
    fn close(&mut self, kind: Kind, sink: &mut impl FnMut(Event<'_>)) {
        if matches!(kind, Kind::Thought { .. }) {
            self.output.flush(sink);
        }
        self.output.give(kind, &self.held, sink);
        self.held.clear();
        self.mode = Mode::Start;
    }
}

/// As many whole characters from a text's beginning as fit.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
