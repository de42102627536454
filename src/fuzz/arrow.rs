//! Arrow lines and the scanner that finds them in a stream.

use crate::arrow::{self, Event, ParseError, ParsedLine, Scanner};

/// Signs and words that break lines.
pub(super) const WORDS: &[&str] = &[
    "→ view a7x2",
    "→ annotate a7x2 \"so\"",
    "\"",
    "“",
    "”",
    "„",
    "\\",
    "<<<",
    "<<<\n",
    "\n>>>\n",
    "`",
    "```",
    "~~~",
    "→",
    "->",
    "←",
    "\n",
    "\r\n",
    "\n\n",
    "[",
    "]",
    "(",
    ":",
    "=",
    "--",
    "-",
    "#",
    " # ",
    "//",
    "'",
    "’",
    "«",
    "「",
    "」",
    "\0",
    "\t",
    "\u{feff}",
    "\u{202e}",
    "\u{301}",
    "ﬀ",
    "İ",
    "𝟓",
    "🦀",
    "99999999999999999999",
    "-1",
    "5-10",
    "a7x2-b3k9",
    "doc:",
    "n:",
    "depth:",
    "not ",
    "don't ",
    "?",
    "think",
    "…",
];

/// Parses a line. An accepted line's command has one written form; a refusal names a part of the line.
pub(super) fn line(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let answer = arrow::parse(&text);
    check_refusal(&text, &answer);
    let explanation = arrow::explain(&text);
    assert!(!explanation.decision.is_empty());
    if let Ok(parsed) = answer {
        let written = parsed.command.to_string();
        let again = arrow::parse(&written);
        assert_eq!(again.map(|again| again.command), Ok(parsed.command), "{text:?} is written {written:?}");
    }
}

/// Scans a reply whole and in pieces: the events are the same, cover the text without a gap, and their calls parse.
pub(super) fn scanner(bytes: &[u8]) {
    let whole = events(bytes, usize::MAX);
    for size in [1, 2 + bytes.len() % 17] {
        assert_eq!(events(bytes, size), whole, "in pieces of {size} bytes");
    }
    let text = String::from_utf8_lossy(bytes);
    for event in arrow::scan(&text) {
        if let Event::Call(call) = event {
            check_refusal(call.text, &arrow::parse(call.text));
        }
    }
    if arrow::is_command(&text) {
        assert!(arrow::scan_commands(&text).iter().any(|event| matches!(event, Event::Call(_) | Event::Thought(_))));
    }
}

/// Returns a string for each event; consecutive prose is one string.
fn events(bytes: &[u8], size: usize) -> Vec<String> {
    let (mut seen, mut at, mut prose): (Vec<String>, usize, bool) = (Vec::new(), 0, false);
    let mut sink = |event: Event<'_>| {
        let span = match &event {
            Event::Prose(text) => at..at + text.len(),
            Event::Call(call) => call.span.clone(),
            Event::Thought(thought) => thought.span.clone(),
            Event::BatchEnd => at..at,
        };
        assert_eq!(span.start, at, "a gap before {event:?}");
        at = span.end;
        match &event {
            Event::Prose(text) if prose => seen.last_mut().unwrap().push_str(text),
            Event::Prose(text) => seen.push((*text).to_owned()),
            _ => seen.push(format!("{event:?}")),
        }
        prose = matches!(event, Event::Prose(_));
    };
    let mut scanner = Scanner::new();
    bytes.chunks(size).for_each(|chunk| scanner.push(chunk, &mut sink));
    scanner.finish(&mut sink);
    assert_eq!(at, String::from_utf8_lossy(bytes).len(), "text was lost");
    seen
}

fn check_refusal(text: &str, answer: &Result<ParsedLine, ParseError>) {
    if let Err(refusal) = answer {
        assert!(!refusal.message.is_empty());
        assert!(text.get(refusal.span.start..refusal.span.end).is_some(), "{refusal:?} of {text:?}");
    }
}
