//! Incremental parser of a streaming reply: text, tool requests and the raw reply.

use super::{ToolRequest, header_filter::HeaderFilter};
use crate::{
    arrow::{Event, Scanner},
    provider::{Finish, FinishReason},
};

/// Reply that is still streaming.
#[derive(Debug)]
pub(super) struct ReplyParser {
    /// Scanner for arrow lines; `None` if the turn has no commands.
    scanner: Option<Scanner>,
    found: ParsedItem,
    /// Complete reply as received.
    raw: String,
}

/// Items that were parsed so far.
#[derive(Debug, Default)]
struct ParsedItem {
    /// Text before the batch.
    prose: String,
    echo: HeaderFilter,
    asked: Vec<ToolRequest>,
    /// Byte offset in the raw reply at which the last arrow line ends.
    last: usize,
    /// Set when the command batch is complete. Later text is discarded: the model wrote it before seeing the results.
    batch: bool,
}

/// Parsed reply at its end.
pub(super) struct ParsedReply {
    /// Text before the tool requests.
    pub(super) words: String,
    /// Complete reply; `None` if it equals the text.
    pub(super) raw: Option<String>,
    pub(super) asked: Vec<ToolRequest>,
}

impl ParsedItem {
    /// Processes a scanner event and appends visible text to `shown`.
    fn take(&mut self, event: &Event<'_>, shown: &mut String) {
        if self.batch {
            return;
        }
        match event {
            // Blank lines between commands are not part of the text.
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

    /// Releases the text that the header filter holds.
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
    /// Creates a parser. If `commands` is true, arrow lines are tool requests.
    pub(super) fn new(commands: bool) -> Self {
        Self { scanner: commands.then(Scanner::new), found: ParsedItem::default(), raw: String::new() }
    }

    /// Parses more text. Returns the visible text, and true if a batch is complete.
    pub(super) fn push(&mut self, text: String) -> (String, bool) {
        self.raw.push_str(&text);
        let Some(scanner) = &mut self.scanner else { return (text, false) };
        let (mut shown, found) = (String::new(), &mut self.found);
        scanner.push(text.as_bytes(), &mut |event| found.take(&event, &mut shown));
        (shown, self.found.batch)
    }

    /// Ends the parse and returns the reply with its last visible text. An interrupted reply requests no results,
    /// because its last line may be incomplete.
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
            // The reply hit its length limit, so the last line may be incomplete.
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
