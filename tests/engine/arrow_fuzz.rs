//! Random and mutated replies, for as long as `LOOM_FUZZ_SECONDS` says (2 if it does not): the scanner gives the same
//! events however they are cut, covers them without a gap, and whatever it finds is understood or refused without a
//! panic. A failure is made small and shown by proptest; the seeds are the numbers of the rounds, so it comes again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use std::{
    cell::Cell,
    fmt, fs,
    path::Path,
    time::{Duration, Instant},
};

use loomtree::{
    arrow::{Event, ParseError, ParsedLine, Scanner, parse},
    tools::TABLE,
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};

/// Lines to begin with: the forms of the table, and every line of the fixtures.
fn lines() -> Vec<String> {
    fn walk(folder: &Path, lines: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, lines);
            } else if path.extension().is_some_and(|e| e == "txt") {
                let bytes = fs::read(&path).unwrap();
                lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
            }
        }
    }
    let mut lines = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/arrow"), &mut lines);
    for spec in TABLE {
        lines.extend(spec.forms.iter().map(|form| format!("→ {}", form.replace("ID", "a7x2"))));
        lines.extend(spec.synonyms.iter().map(|verb| format!("→ {verb} a7x2 \"so\"")));
    }
    lines.sort();
    lines.dedup();
    lines
}

/// What is put into a line to break it.
const BREAKS: &[&str] = &[
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

/// How a line is changed.
#[derive(Debug, Clone)]
enum Change {
    Insert(usize, &'static str),
    Remove(usize, usize),
    Double(usize, usize),
    Byte(usize, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let at = 0..200_usize;
    prop_oneof![
        4 => (at.clone(), prop::sample::select(BREAKS)).prop_map(|(at, text)| Change::Insert(at, text)),
        2 => (at.clone(), 1..12_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        1 => (at.clone(), 1..40_usize).prop_map(|(at, length)| Change::Double(at, length)),
        1 => (at, any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
    ]
}

fn changed(line: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    for change in changes {
        let place = |at: usize, length: usize| {
            let from = at % (bytes.len() + 1);
            from..(from + length).min(bytes.len())
        };
        match change {
            Change::Insert(at, text) => drop(bytes.splice(place(*at, 0), text.bytes())),
            Change::Remove(at, length) => drop(bytes.drain(place(*at, *length))),
            Change::Double(at, length) => {
                let part = place(*at, *length);
                let copy = bytes[part.clone()].to_vec();
                drop(bytes.splice(part.end..part.end, copy));
            }
            Change::Byte(at, byte) => {
                let part = place(*at, 1);
                bytes[part].fill(*byte);
            }
        }
    }
    bytes
}

/// Bytes that a failure shows as text.
struct Reply(Vec<u8>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({})", String::from_utf8_lossy(&self.0), self.0.escape_ascii())
    }
}

/// Replies of changed lines, and plain noise.
fn input() -> impl Strategy<Value = Reply> {
    let line = (prop::sample::select(lines()), prop::collection::vec(change(), 0..4))
        .prop_map(|(line, changes)| changed(&line, &changes));
    let bytes = prop_oneof![
        8 => prop::collection::vec(line, 1..8).prop_map(|lines| lines.join(&b'\n')),
        1 => prop::collection::vec(any::<u8>(), 0..300),
        1 => prop::collection::vec(prop::sample::select(BREAKS), 0..80).prop_map(|parts| parts.concat().into_bytes()),
    ];
    bytes.prop_map(Reply)
}

/// What was found, one string an event; prose is joined.
fn events(bytes: &[u8], size: usize, call: &mut impl FnMut(&str)) -> Vec<String> {
    let (mut seen, mut at, mut prose): (Vec<String>, usize, bool) = (Vec::new(), 0, false);
    let mut sink = |event: Event<'_>| {
        let span = match &event {
            Event::Prose(text) => at..at + text.len(),
            Event::Call(found) => found.span.clone(),
            Event::Thought(thought) => thought.span.clone(),
            Event::BatchEnd => at..at,
        };
        assert_eq!(span.start, at, "a gap before {event:?}");
        at = span.end;
        match &event {
            Event::Prose(text) if prose => seen.last_mut().unwrap().push_str(text),
            Event::Prose(text) => seen.push((*text).to_owned()),
            Event::Call(found) => {
                call(found.text);
                seen.push(format!("{event:?}"));
            }
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

/// What is true of every refusal: it says why, about a part of the line.
fn reasoned(text: &str, answer: &Result<ParsedLine, ParseError>) {
    if let Err(refusal) = answer {
        assert!(!refusal.message.is_empty());
        assert!(text.get(refusal.span.start..refusal.span.end).is_some(), "{refusal:?} of {text:?}");
    }
}

#[test]
fn fuzz() {
    let seconds = std::env::var("LOOM_FUZZ_SECONDS").map_or(2.0, |text| text.parse().unwrap());
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let (inputs, calls, refusals) = (Cell::new(0_u64), Cell::new(0_u64), Cell::new(0_u64));
    let count = |counter: &Cell<u64>| counter.set(counter.get() + 1);
    let strategy = (input(), 1..20_usize);
    let mut round = 0;
    while round == 0 || Instant::now() < until {
        let config =
            Config { cases: 100, failure_persistence: None, rng_seed: RngSeed::Fixed(round), ..Config::default() };
        TestRunner::new(config)
            .run(&strategy, |(Reply(bytes), size)| {
                count(&inputs);
                let whole = events(&bytes, usize::MAX, &mut |text| {
                    let answer = parse(text);
                    reasoned(text, &answer);
                    count(&calls);
                    if answer.is_err() {
                        count(&refusals);
                    }
                });
                prop_assert_eq!(events(&bytes, size, &mut |_| ()), whole);
                Ok(())
            })
            .unwrap_or_else(|failure| panic!("round {round}: {failure}"));
        round += 1;
    }
    println!("{} inputs, {} calls, {} of them refused", inputs.get(), calls.get(), refusals.get());
}
