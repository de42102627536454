//! Incremental parser of a streaming reply: text, tool requests and the raw reply.

use super::{ToolRequest, header_filter::HeaderFilter};
use crate::{
    arrow::{Event, Scanner, ends_turn},
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
    text: String,
    header_filter: HeaderFilter,
    requests: Vec<ToolRequest>,
    /// True after the line `→ done`, which is no request.
    done: bool,
    /// Byte offset in the raw reply at which the last arrow line ends.
    last_call_end: usize,
    /// Set when the command batch is complete. Later text is discarded: the model wrote it before seeing the results.
    batch_complete: bool,
}

/// Parsed reply at its end.
pub(super) struct ParsedReply {
    /// Text before the tool requests.
    pub(super) text: String,
    /// Complete reply; `None` if it equals the text.
    pub(super) raw: Option<String>,
    pub(super) requests: Vec<ToolRequest>,
    /// True if the reply has the line `→ done`: it is meant as the last one of the turn.
    pub(super) done: bool,
}

impl ParsedItem {
    /// Processes a scanner event and appends visible text to `shown`.
    fn on_event(&mut self, event: &Event<'_>, shown: &mut String) {
        if self.batch_complete {
            return;
        }
        match event {
            // Blank lines between commands are not part of the text.
            Event::Prose(text) if !self.in_batch() || !text.trim().is_empty() => {
                let text = self.header_filter.push(text);
                self.push_text(&text, shown);
            }
            Event::Prose(_) => {}
            Event::Call(call) => {
                self.flush_header(shown);
                if ends_turn(call.text) {
                    self.done = true;
                    return;
                }
                self.requests.push(ToolRequest::Line { text: call.text.to_owned(), closed: call.closed });
                self.last_call_end = call.span.end;
            }
            Event::Thought(thought) => self.requests.push(ToolRequest::Thought(thought.text.to_owned())),
            Event::BatchEnd => self.batch_complete = true,
        }
    }

    /// Releases the text that the header filter holds.
    fn flush_header(&mut self, shown: &mut String) {
        let text = self.header_filter.end();
        self.push_text(&text, shown);
    }

    fn push_text(&mut self, text: &str, shown: &mut String) {
        self.text.push_str(text);
        shown.push_str(text);
    }

    /// True after the first arrow line that is no thought.
    fn in_batch(&self) -> bool {
        self.done || self.requests.iter().any(ToolRequest::expects_result)
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
        scanner.push(text.as_bytes(), &mut |event| found.on_event(&event, &mut shown));
        (shown, self.found.batch_complete)
    }

    /// Ends the parse and returns the reply with its last visible text. An interrupted reply requests no results,
    /// because its last line may be incomplete.
    pub(super) fn end(mut self, finish: Option<&Finish>) -> (ParsedReply, String) {
        let mut shown = String::new();
        let Some(scanner) = self.scanner.take() else {
            let calls = finish.map(|finish| finish.calls.clone()).unwrap_or_default();
            let requests = calls.into_iter().map(ToolRequest::Call).collect();
            return (ParsedReply { text: self.raw, raw: None, requests, done: false }, shown);
        };
        let mut found = self.found;
        let complete = found.batch_complete;
        scanner.finish(&mut |event| found.on_event(&event, &mut shown));
        found.flush_header(&mut shown);
        let truncated = !complete && finish.is_some_and(|finish| finish.reason == FinishReason::Length);
        found.done &= !truncated;
        if truncated && found.last_call_end == self.raw.len() && !self.raw.ends_with('\n') {
            // The reply hit its length limit, so the last line may be incomplete.
            if let Some(ToolRequest::Line { closed, .. }) = found.requests.last_mut() {
                *closed = false;
            }
        }
        match finish {
            Some(finish) if !complete => found.requests.extend(finish.calls.iter().cloned().map(ToolRequest::Call)),
            None if !complete => found.requests.retain(|request| !request.expects_result()),
            _ => {}
        }
        let mut text = found.text;
        if found.done || !found.requests.is_empty() {
            text.truncate(text.trim_end().len());
        }
        // A lone `→ done` is an empty reply.
        let is_empty = found.done && text.is_empty() && found.requests.is_empty();
        let raw = (text != self.raw && !is_empty).then_some(self.raw);
        (ParsedReply { text, raw, requests: found.requests, done: found.done }, shown)
    }
}
