//! Output queue of the scanner: positions, batches, and the one case in which events wait.
//!
//! Events cover the output in order without a gap, so a position is the sum of what was given out. After a thought in
//! one line (`→ think: …`) events wait, for an arrow back would make all of them one scratchpad: until it comes, or a
//! batch is complete, another thought begins, [`AHEAD`] bytes have passed, or the output ends.

use std::ops::Range;

use super::event::{Event, Kind};

/// Bytes searched backwards for an arrow after a one-line thought. The output may be delayed by this much.
const AHEAD: usize = 4096;

/// A thought in one line, and what came since.
#[derive(Debug)]
struct Ahead {
    text: String,
    pieces: Vec<(Kind, Range<usize>)>,
    /// True if a batch was open before it.
    batch: bool,
}

/// Sink of events.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Bytes of text given out.
    at: usize,
    /// True if calls were given out whose batch is not complete.
    pub(super) batch: bool,
    ahead: Option<Ahead>,
}

impl Output {
    /// True if an arrow back would mean something now.
    pub(super) fn looks_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Gives a piece out, or has it wait.
    pub(super) fn give(&mut self, kind: Kind, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        if text.is_empty() {
            return;
        }
        self.batch |= matches!(kind, Kind::Call { .. });
        let Some(ahead) = &mut self.ahead else {
            let span = self.at..self.at + text.len();
            self.at = span.end;
            return sink(kind.event(text, span));
        };
        let begin = ahead.text.len();
        ahead.text.push_str(text);
        match ahead.pieces.last_mut() {
            Some((Kind::Prose, range)) if kind == Kind::Prose => range.end = ahead.text.len(),
            _ => ahead.pieces.push((kind, begin..ahead.text.len())),
        }
    }

    /// Gives prose out; it is not the end of a batch by itself, since blank lines are prose too.
    pub(super) fn prose(&mut self, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        self.give(Kind::Prose, text, sink);
    }

    /// A thought in one line begins: what comes next waits.
    pub(super) fn look_ahead(&mut self, line: &str, sink: &mut impl FnMut(Event<'_>)) {
        self.flush(sink);
        let pieces = vec![(Kind::Thought { closed: true }, 0..line.len())];
        self.ahead = Some(Ahead { text: line.to_owned(), pieces, batch: self.batch });
    }

    /// An arrow back came: what waited is a scratchpad.
    pub(super) fn back(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if let Some(ahead) = self.ahead.take() {
            // The calls that waited were none.
            self.batch = ahead.batch;
            self.give(Kind::Thought { closed: true }, &ahead.text, sink);
        }
    }

    /// At a line's start: gives up looking for an arrow back if too much has passed.
    pub(super) fn bound(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.text.len() > AHEAD) {
            self.flush(sink);
        }
    }

    /// No arrow back came: the thought was its line, and what waited goes out.
    pub(super) fn flush(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if let Some(ahead) = self.ahead.take() {
            for (kind, range) in ahead.pieces {
                self.give(kind, &ahead.text[range], sink);
            }
        }
    }

    /// Ends the batch if one is open.
    pub(super) fn end_batch(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if std::mem::take(&mut self.batch) {
            self.flush(sink);
            self.batch = false;
            sink(Event::BatchEnd);
        }
    }
}
