//! One arrow line from text to command: `cargo bench --bench arrow`. Lines are those of `fixtures/arrow/tune.jsonl`, or of
//! the file that is given behind `--`.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

use std::{fs, hint::black_box, time::Instant};

use loomtree::arrow;

/// How often each line is understood.
const ROUNDS: usize = 200;

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/arrow/tune.jsonl").to_owned();
    let text = fs::read_to_string(given.unwrap_or(own)).unwrap();
    let rows = text.lines().filter(|row| !row.is_empty());
    let lines: Vec<String> = rows
        .map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap()["line"].as_str().unwrap().to_owned())
        .collect();
    let mut each: Vec<f64> = lines.iter().map(|line| micros(line)).collect();
    each.sort_by(f64::total_cmp);
    let at = |share: f64| each[((each.len() - 1) as f64 * share) as usize];
    println!("| {:<36} | {:>9} | {:>9} | {:>9} | limit |", "one line, µs", "median", "p95", "slowest");
    println!(
        "| {:<36} | {:>9.2} | {:>9.2} | {:>9.2} | 5     |",
        format!("{} lines", lines.len()),
        at(0.5),
        at(0.95),
        at(1.0)
    );
}

/// The median time of understanding `line`.
fn micros(line: &str) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let _ = black_box(arrow::parse(black_box(line)));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}
