//! The stream scanner on whole replies, and its laws: the events are the same however the text is cut, they cover the
//! text without a gap, and what stands in fences, quotes, blocks and scratchpads is never a call.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{fmt::Write, fs, ops::Range, path::Path};

use loomtree::arrow::{Event, Scanner, scan};
use proptest::prelude::*;

use crate::support::rounds;

/// An event that outlives its chunk; prose is joined.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Prose(String),
    Call { text: String, span: Range<usize>, closed: bool },
    Thought { text: String, span: Range<usize>, closed: bool },
    BatchEnd,
}

fn keep(seen: &mut Vec<Seen>, event: Event<'_>) {
    match event {
        Event::Prose(more) => match seen.last_mut() {
            Some(Seen::Prose(text)) => text.push_str(more),
            _ => seen.push(Seen::Prose(more.to_owned())),
        },
        Event::Call(call) => {
            seen.push(Seen::Call { text: call.text.to_owned(), span: call.span, closed: call.closed });
        }
        Event::Thought(thought) => {
            seen.push(Seen::Thought { text: thought.text.to_owned(), span: thought.span, closed: thought.closed });
        }
        Event::BatchEnd => seen.push(Seen::BatchEnd),
    }
}

/// The events of bytes that come in chunks of these sizes, over and over.
fn in_chunks(bytes: &[u8], sizes: &[usize]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut scanner = Scanner::new();
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        scanner.push(chunk, &mut |event| keep(&mut seen, event));
        rest = after;
    }
    scanner.finish(&mut |event| keep(&mut seen, event));
    seen
}

fn whole(bytes: &[u8]) -> Vec<Seen> {
    in_chunks(bytes, &[usize::MAX])
}

/// Prose and spans follow each other without a gap from the text's beginning to its end, and batches are of calls.
fn assert_covers(bytes: &[u8], seen: &[Seen]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut at, mut open) = (0, false);
    for event in seen {
        match event {
            Seen::Prose(prose) => {
                assert!(
                    !open || prose.trim_matches(['\u{feff}', '\u{200b}', ' ', '\r', '\n', '\t', '\u{3000}']).is_empty()
                );
                assert_eq!(&text[at..at + prose.len()], prose);
                at += prose.len();
            }
            Seen::Call { text: part, span, .. } | Seen::Thought { text: part, span, .. } => {
                open |= matches!(event, Seen::Call { .. });
                assert_eq!(span.start, at);
                assert!(text[span.clone()].contains(part.as_str()));
                at = span.end;
            }
            Seen::BatchEnd => assert!(std::mem::take(&mut open), "a batch of no calls"),
        }
    }
    assert!(!open, "a batch without an end");
    assert_eq!(at, text.len());
}

fn calls(seen: &[Seen]) -> Vec<&str> {
    seen.iter()
        .filter_map(|event| match event {
            Seen::Call { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Every reply in the corpus as its snapshot says, whole and in every size of chunk up to 16 bytes.
#[test]
fn replies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/arrow/scan");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        count += 1;
        let bytes = fs::read(&path).unwrap();
        let seen = whole(&bytes);
        assert_covers(&bytes, &seen);
        for size in 1..=16 {
            assert_eq!(in_chunks(&bytes, &[size]), seen, "{} in chunks of {size}", path.display());
        }
        let mut shown = String::new();
        for event in &seen {
            let open = |closed: &bool| if *closed { "" } else { ", not closed" };
            match event {
                Seen::Prose(text) => writeln!(shown, "prose {text:?}"),
                Seen::Call { text, span, closed } => writeln!(shown, "call {span:?}{} {text:?}", open(closed)),
                Seen::Thought { text, span, closed } => writeln!(shown, "thought {span:?}{} {text:?}", open(closed)),
                Seen::BatchEnd => writeln!(shown, "batch ends"),
            }
            .unwrap();
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, shown));
    }
    assert!(count >= 15, "the corpus was not found");
}

/// What decides what a line is, whole and in parts.
const FRAGMENTS: &[&[u8]] = &[
    "→".as_bytes(),
    "➔".as_bytes(),
    "⇒".as_bytes(),
    "←".as_bytes(),
    b"->",
    b"<-",
    b"\xe2",
    b"\x86",
    b"\x92",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\0",
    b"\n",
    b"\n",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\r",
    b" ",
    b"    ",
    b"\t",
    b"- ",
    b"* ",
    b"1. ",
    b"2) ",
    b"> ",
    b"`",
    b"``",
    b"```",
    b"````",
    b"~~~",
    b"\"",
    "“".as_bytes(),
    "”".as_bytes(),
    b"\\",
    b"<<<",
    b"<<<\n",
    b">>>",
    b"\n>>>\n",
    b"<",
    b"-",
    b" # ",
    b" // ",
    b":",
    b"(",
    b")",
    b"view",
    b" a7x2",
    b"undo",
    b"think",
    b" think",
    b": so",
    b"word",
    "é海".as_bytes(),
    "\n→ view a7x2\n".as_bytes(),
    "\n→ think: so\n".as_bytes(),
    "\n→ think\n".as_bytes(),
    "\n←\n".as_bytes(),
];

fn fragments() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(FRAGMENTS), 0..60).prop_map(|parts| parts.concat())
}

/// A piece of a reply that is well formed, and the calls in it.
#[derive(Debug, Clone)]
struct Part {
    text: String,
    calls: Vec<String>,
}

fn part() -> impl Strategy<Value = Part> {
    let forbidden = "→ prune a7x2\n-> undo\n  - `→ prune a7x2`\n";
    let none = |text: String| Part { text, calls: Vec::new() };
    let one = |call: &str| Part {
        text: format!("{call}\n"),
        calls: vec![call.trim_start_matches([' ', '-', '`']).trim_end_matches('`').to_owned()],
    };
    let fence =
        (prop::sample::select(vec!["`", "~"]), 3..6_usize, 0..4_usize).prop_map(move |(marker, length, indent)| {
            let (marker, shorter, indent) = (marker.repeat(length), marker.repeat(length - 1), " ".repeat(indent));
            none(format!("{indent}{marker}\n{forbidden}{shorter}\n{forbidden}{marker} x\n{forbidden}{marker}\n"))
        });
    let calls = ["→ view a7x2", "➔ ls", "  - → annotate a7x2 \"it's\" # so", "`→ tree`", "→"];
    let content = [
        format!("→ respond a <<<\n{forbidden}\"```\n←\n>>>"),
        format!("→ respond a \"so\n\n{forbidden}```\n<<<\n←\n>>>\n\""),
    ];
    let silent = [
        format!("> {}", forbidden.trim_end().replace('\n', "\n> ")) + "\n",
        format!("→ think\n{forbidden}```\n\"<<<\n←\n"),
        format!("So.\n→ think: \"why\nWell.\n{forbidden}←\n"),
        "It goes → prune a7x2\n`→ undo` takes it back\n".to_owned(),
        "\n".to_owned(),
        "Some words.\n".to_owned(),
    ];
    prop_oneof![
        fence,
        prop::sample::select(calls.to_vec()).prop_map(one),
        prop::sample::select(content.to_vec()).prop_map(move |text| one(&text)),
        prop::sample::select(silent.to_vec()).prop_map(none),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds::of("PROPTEST_CASES", 150, 600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_are_the_same_however_the_text_is_cut(bytes in fragments(), sizes in prop::collection::vec(1..12_usize, 1..8)) {
        let seen = whole(&bytes);
        assert_covers(&bytes, &seen);
        prop_assert_eq!(&in_chunks(&bytes, &[1]), &seen);
        prop_assert_eq!(&in_chunks(&bytes, &sizes), &seen);
    }

    #[test]
    fn any_bytes_cut_anywhere(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
        let seen = whole(&bytes);
        assert_covers(&bytes, &seen);
        prop_assert_eq!(in_chunks(&bytes, &[cut.max(1), usize::MAX]), seen);
    }

    #[test]
    fn one_call_of_a_text_is_the_scanner(bytes in fragments()) {
        let text = String::from_utf8_lossy(&bytes);
        let mut seen = Vec::new();
        for event in scan(&text) {
            keep(&mut seen, event);
        }
        prop_assert_eq!(seen, whole(&bytes));
    }

    #[test]
    fn what_stands_in_content_is_never_a_call(parts in prop::collection::vec(part(), 0..20), size in 1..40_usize) {
        let text: String = parts.iter().map(|part| part.text.as_str()).collect();
        let wanted: Vec<&str> = parts.iter().flat_map(|part| &part.calls).map(String::as_str).collect();
        let seen = in_chunks(text.as_bytes(), &[size]);
        assert_covers(text.as_bytes(), &seen);
        prop_assert_eq!(calls(&seen), wanted);
    }
}

/// Work is in proportion to the text: if it were not, these would not end.
#[test]
fn long_texts() {
    let megabyte = rounds::of("LOOM_TEXT_BYTES", 1 << 18, 1 << 20) as usize;
    let texts = [
        "a".repeat(megabyte),
        " ".repeat(megabyte),
        "→".to_owned() + &"[".repeat(megabyte),
        "→ x \"".to_owned() + &"\\\"“".repeat(megabyte / 8),
        "→ x \"\n".to_owned() + &"\n→ x \n".repeat(megabyte / 8),
        "→ x <<<\n".repeat(megabyte / 8),
        "→ think: x\n".repeat(megabyte / 8),
        "→ think: x\n".to_owned() + &"→ view\n".repeat(megabyte / 8),
        "`".repeat(megabyte),
        "`→ ".repeat(megabyte / 8),
        "→ `".to_owned() + &"``` ".repeat(megabyte / 8),
        "~~~\n".repeat(megabyte / 4),
        "- ".repeat(megabyte / 2),
        "-> ".repeat(megabyte / 2),
        "→ # // ".repeat(megabyte / 8),
        "1".repeat(megabyte),
        "\r".repeat(megabyte),
        "\n".repeat(megabyte),
    ];
    for text in texts {
        let seen = whole(text.as_bytes());
        assert_covers(text.as_bytes(), &seen);
        assert_eq!(in_chunks(text.as_bytes(), &[1, 7]), seen);
    }
}
