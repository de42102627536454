//! A reply while it comes: its words, what it asks for, and all that was really said.

use super::{ToolRequest, header_filter::HeaderFilter};
use crate::{
    arrow::{Event, Scanner},
    provider::{Finish, FinishReason},
};

/// A reply while it comes.
#[derive(Debug)]
pub(super) struct ReplyParser {
    /// Reads the reply for arrow lines; `None` where they mean nothing.
    scanner: Option<Scanner>,
    found: ParsedItem,
    /// Everything that came.
    raw: String,
}

/// What was found in a reply so far.
#[derive(Debug, Default)]
struct ParsedItem {
    /// The words before the batch.
    prose: String,
    echo: HeaderFilter,
    asked: Vec<ToolRequest>,
    /// Where the last arrow line ends in what came.
    last: usize,
    /// Whether the batch is complete. What comes after it was said without its answers.
    batch: bool,
}

/// A reply that ended.
pub(super) struct ParsedReply {
    /// The words before what it asks for.
    pub(super) words: String,
    /// All that was said, where that is more.
    pub(super) raw: Option<String>,
    pub(super) asked: Vec<ToolRequest>,
}

impl ParsedItem {
    /// Takes in what the scanner found; words that are to be shown go to `shown`.
    fn take(&mut self, event: &Event<'_>, shown: &mut String) {
        if self.batch {
            return;
        }
        match event {
            // Blank lines between commands are nobody's words.
            Event::Prose(text) if !self.calls() || !text.trim().is_empty() => {
                let words = self.echo.push(text);
                self.say(&words, shown);
            }
            Event::Prose(_) => {}
            Event::Call(call) => {
                self.settle(shown);
                self.asked.push(ToolRequest::Line { text: call.text.to_owned(), closed: call.closed });
                self.last = call.span.end;
            }
            Event::Thought(thought) => self.asked.push(ToolRequest::Thought(thought.text.to_owned())),
            Event::BatchEnd => self.batch = true,
        }
    }

    /// Takes what could have been an echo for words, now that none can follow.
    fn settle(&mut self, shown: &mut String) {
        let words = self.echo.end();
        self.say(&words, shown);
    }

    fn say(&mut self, words: &str, shown: &mut String) {
        self.prose.push_str(words);
        shown.push_str(words);
    }

    fn calls(&self) -> bool {
        self.asked.iter().any(ToolRequest::expects_result)
    }
}

impl ReplyParser {
    /// A reply of which nothing came yet; `commands`: whether arrow lines mean something in it.
    pub(super) fn new(commands: bool) -> Self {
        Self { scanner: commands.then(Scanner::new), found: ParsedItem::default(), raw: String::new() }
    }

    /// Takes more of it in; returns the words in that, to be shown, and whether a batch is complete now.
    pub(super) fn push(&mut self, text: String) -> (String, bool) {
        self.raw.push_str(&text);
        let Some(scanner) = &mut self.scanner else { return (text, false) };
        let (mut shown, found) = (String::new(), &mut self.found);
        scanner.push(text.as_bytes(), &mut |event| found.take(&event, &mut shown));
        (shown, self.found.batch)
    }

    /// Ends it; returns it whole, and the last words to be shown. A reply that did not come to its end asks for nothing:
    /// nobody knows what its last line was to be.
    pub(super) fn end(mut self, finish: Option<&Finish>) -> (ParsedReply, String) {
        let mut shown = String::new();
        let Some(scanner) = self.scanner.take() else {
            let calls = finish.map(|finish| finish.calls.clone()).unwrap_or_default();
            let asked = calls.into_iter().map(ToolRequest::Call).collect();
            return (ParsedReply { words: self.raw, raw: None, asked }, shown);
        };
        let mut found = self.found;
        let complete = found.batch;
        scanner.finish(&mut |event| found.take(&event, &mut shown));
        found.settle(&mut shown);
        let cut = !complete && finish.is_some_and(|finish| finish.reason == FinishReason::Length);
        if cut && found.last == self.raw.len() && !self.raw.ends_with('\n') {
            // The reply ended at its limit within the line, as far as anybody can tell.
            if let Some(ToolRequest::Line { closed, .. }) = found.asked.last_mut() {
                *closed = false;
            }
        }
        match finish {
            Some(finish) if !complete => found.asked.extend(finish.calls.iter().cloned().map(ToolRequest::Call)),
            None if !complete => found.asked.retain(|asked| !asked.expects_result()),
            _ => {}
        }
        let mut words = found.prose;
        if !found.asked.is_empty() {
            words.truncate(words.trim_end().len());
        }
        let raw = (words != self.raw).then_some(self.raw);
        (ParsedReply { words, raw, asked: found.asked }, shown)
    }
}
