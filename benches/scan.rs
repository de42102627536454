//! The stream scanner, as one table: `cargo bench --bench scan`. Each figure is the median of several runs over the
//! same text, which is long enough to come from memory. Beside it stands what the standard library takes to check the
//! same bytes for UTF-8, without looking for anything.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::{hint::black_box, time::Instant};

use loomtree::arrow::{Event, Scanner};

const MEGABYTE: usize = 1 << 20;
const LENGTH: usize = 64 * MEGABYTE;
/// About four tokens: what a provider sends at once.
const TOKENS: usize = 16;
/// A fast model's time for a token, in nanoseconds: 1,000 a second.
const TOKEN_TIME: f64 = 1e6;

fn main() {
    println!(
        "| {:<48} | {:<20} | {:<20} | {:<14} | {:<6} |",
        "text, and how it comes", "scanner", "std UTF-8 check", "limit", ""
    );
    println!("|{}|{}|{}|{}|{}|", "-".repeat(50), "-".repeat(22), "-".repeat(22), "-".repeat(16), "-".repeat(8));
    let texts = [
        ("prose, lines of about 600 bytes", prose(10), true),
        ("prose, lines of about 60 bytes", prose(1), true),
        ("prose with dashes and curly quotes", typeset(), true),
        ("code in fences, short lines", code(), false),
        ("lists: each line a possible arrow line", lists(), false),
        ("Japanese prose", japanese(), true),
        ("batches: two of three lines are calls", batches(), false),
    ];
    for (what, text, judged) in &texts {
        let least = LENGTH as f64 / median(9, || _ = black_box(std::str::from_utf8(black_box(text.as_bytes())))) / 1e9;
        let rate = LENGTH as f64 / median(9, || scan(text, MEGABYTE)) / 1e9;
        let limit = if *judged { "> 1 GB/s" } else { "" };
        let verdict = if !judged {
            ""
        } else if rate > 1.0 {
            "ok"
        } else {
            "MISSED"
        };
        let (rate, least) = (format!("{rate:.2} GB/s"), format!("{least:.2} GB/s"));
        row(&format!("{what}, 1 MB"), &rate, &least, limit, verdict);
    }
    for (what, text, _) in &texts {
        let each = median(5, || scan(text, TOKENS)) * 1e9 / (LENGTH / TOKENS) as f64;
        let rate = TOKENS as f64 / each;
        let verdict = if each < TOKEN_TIME / 1e3 { "ok" } else { "MISSED" };
        row(&format!("{what}, 16 B"), &format!("{each:.0} ns, {rate:.2} GB/s"), "", "< 1 µs a chunk", verdict);
    }
    println!("\nA model that writes 1,000 tokens a second takes {TOKEN_TIME:.0} ns for one.");
}

fn row(what: &str, measured: &str, least: &str, limit: &str, verdict: &str) {
    println!("| {what:<48} | {measured:<20} | {least:<20} | {limit:<14} | {verdict:<6} |");
}

/// Seconds that `run` takes.
fn median(rounds: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

fn scan(text: &str, chunk: usize) {
    let mut seen = 0_usize;
    let mut sink = |event: Event<'_>| match event {
        Event::Prose(text) => seen += text.len(),
        Event::Call(call) => seen += call.span.len(),
        Event::Thought(thought) => seen += thought.span.len(),
        Event::BatchEnd => {}
    };
    let mut scanner = Scanner::new();
    for chunk in text.as_bytes().chunks(chunk) {
        scanner.push(black_box(chunk), &mut sink);
    }
    scanner.finish(&mut sink);
    assert_eq!(black_box(seen), text.len());
}

/// Repeats what `part` makes of a running number up to the length of all texts, exactly.
fn filled(part: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(LENGTH + 4096);
    let mut number = 0;
    while text.len() < LENGTH {
        text.push_str(&part(number));
        number += 1;
    }
    text.truncate((0..=LENGTH).rev().find(|end| text.is_char_boundary(*end)).unwrap());
    text.extend(std::iter::repeat_n(' ', LENGTH - text.len()));
    text
}

const SENTENCES: [&str; 4] = [
    "The way I see it, the shift comes from what she did not say.",
    "Nobody at the table moved; the lamp had burned low by then.",
    "It was late, and 3 of the boats had not come back to the harbour.",
    "He wrote it down anyway.",
];

fn prose(sentences: usize) -> String {
    filled(|number| {
        let line: Vec<&str> = (0..sentences).map(|n| SENTENCES[(number + n * 7 / 3) % 4]).collect();
        let end = if number % 3 == 0 { "\n\n" } else { "\n" };
        line.join(" ") + end
    })
}

fn typeset() -> String {
    filled(|number| {
        let one = SENTENCES[number % 4];
        format!("“{one}” — that’s what Zoë said … {one} {one}\n\n“No,” he said. {one}\n")
    })
}

fn code() -> String {
    filled(|_| {
        "So:\n\n```rust\nfn main() {\n    let path = \"notes\";\n    for line in read(path)? {\n        println!(\"{line}\");\n    }\n}\n```\n\n".to_owned()
    })
}

fn lists() -> String {
    filled(|number| {
        format!("- {}\n  - `code` and words\n{}. {}\n", SENTENCES[number % 4], number % 50, SENTENCES[(number + 1) % 4])
    })
}

fn japanese() -> String {
    filled(|_| {
        "港に戻らなかった船が三艘あった。誰もその夜のことを口にしなかった。\n「もう遅い」と彼は言った。\n".to_owned()
    })
}

fn batches() -> String {
    filled(|number| {
        format!("→ view a{number}x\n→ annotate a{number}x \"{}\"\n{}\n", SENTENCES[number % 4], SENTENCES[number % 3])
    })
}
