//! Fenced code blocks: where one opens and what closes it.
//!
//! As CommonMark has it: three or more backticks or tildes; a backtick fence has no backtick in the rest of its line
//! (else it is a code span); it is closed by at least as many of the same with nothing after them, indented at most
//! three spaces, or else it runs to the end. One thing is looser: a fence may open at any indentation, since one in a
//! list is indented as its item is, and taking it for prose would run the arrow lines in it. Its closing line may
//! then be indented as much and three spaces more.

/// A fence as it was opened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fence {
    pub(super) marker: u8,
    pub(super) length: usize,
    deepest: usize,
}

impl Fence {
    /// Opens a fence with the markers at the beginning of a text at a column, and returns it with their length: three; more
    /// may follow. An error with the number of markers if there are fewer.
    pub(super) fn open(text: &[u8], indent: usize) -> Result<(Self, usize), usize> {
        const MARKERS: usize = 3;
        let run = text.iter().take(MARKERS).take_while(|byte| **byte == text[0]).count();
        if run < MARKERS {
            return Err(run);
        }
        Ok((Self { marker: text[0], length: MARKERS, deepest: if indent <= 3 { 3 } else { indent + 3 } }, MARKERS))
    }
}

/// Type of a line inside a fence, so far: it needs no look back, so all of it goes out at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Line {
    /// Blanks up to this column.
    Indent(usize),
    /// So many markers.
    Run(usize),
    /// Enough markers, then blanks.
    Closing,
    /// Inside a fenced code block.
    Code,
}

impl Fence {
    /// The line after more bytes of it.
    pub(super) fn read(self, mut line: Line, bytes: &[u8]) -> Line {
        for byte in bytes {
            if line == Line::Code {
                break;
            }
            line = self.step(line, *byte);
        }
        line
    }

    fn step(self, line: Line, byte: u8) -> Line {
        match (line, byte) {
            (Line::Indent(column), b' ') if column < self.deepest => Line::Indent(column + 1),
            (Line::Indent(column), b'\t') if column / 4 * 4 + 4 <= self.deepest => Line::Indent(column / 4 * 4 + 4),
            (Line::Indent(_), byte) if byte == self.marker => Line::Run(1),
            (Line::Run(length), byte) if byte == self.marker => Line::Run(length + 1),
            (Line::Run(length), b' ' | b'\t' | b'\r') if length >= self.length => Line::Closing,
            (Line::Closing, b' ' | b'\t' | b'\r') => Line::Closing,
            _ => Line::Code,
        }
    }

    /// True if the rest of its line lets it open a block; a backtick makes it a code span.
    pub(super) fn opens_with(self, information: &[u8]) -> bool {
        self.marker != b'`' || memchr::memchr(b'`', information).is_none()
    }

    /// True if a line that ends so closes the fence.
    pub(super) fn closed_by(self, line: Line) -> bool {
        line == Line::Closing || matches!(line, Line::Run(length) if length >= self.length)
    }
}
