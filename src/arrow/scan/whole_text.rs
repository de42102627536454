//! Scan of a complete text.

use super::{
    Scanner,
    event::{Event, Kind},
};
use crate::arrow::lex::ARROWS;

/// The events of a whole model output; prose between two others is one event.
#[must_use]
pub fn scan(text: &str) -> Vec<Event<'_>> {
    collect(Scanner::new(), text)
}

/// The events of a whole text in which every line is a command ([`Scanner::commands`]).
#[must_use]
pub fn scan_commands(text: &str) -> Vec<Event<'_>> {
    collect(Scanner::commands(), text)
}

/// True if a person's message is commands: its first line that is not blank is an arrow line, and it holds nothing but calls.
/// Text that quotes arrow lines among others is text.
#[must_use]
pub fn is_command(text: &str) -> bool {
    let arrow = text.trim_start().starts_with(ARROWS) || text.trim_start().starts_with("->");
    let events = if arrow { scan(text) } else { Vec::new() };
    events.iter().any(|event| matches!(event, Event::Call(_) | Event::Thought(_)))
        && !events.iter().any(|event| matches!(event, Event::Prose(prose) if !prose.trim().is_empty()))
}

fn collect(mut scanner: Scanner, text: &str) -> Vec<Event<'_>> {
    let mut found: Vec<Event<'_>> = Vec::new();
    let mut at = 0;
    let mut sink = |event: Event<'_>| {
        let (kind, span) = match event {
            Event::Prose(prose) => (Kind::Prose, at..at + prose.len()),
            Event::Call(call) => (Kind::Call { closed: call.closed }, call.span),
            Event::Thought(thought) => (Kind::Thought { closed: thought.closed }, thought.span),
            Event::BatchEnd => return found.push(Event::BatchEnd),
        };
        at = span.end;
        match found.last_mut() {
            Some(Event::Prose(before)) if kind == Kind::Prose => *before = &text[span.start - before.len()..span.end],
            _ => found.push(kind.event(&text[span.clone()], span)),
        }
    };
    scanner.push_str(text, &mut sink);
    scanner.finish(&mut sink);
    found
}
