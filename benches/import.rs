//! Imports of line formats, as one table: `cargo bench --bench import`. Each import runs in a process of its own, from
//! lines that are made while they are read, into a new database on a memory file system. `LOOM_IMPORT_GB=5` adds an
//! import of that size, whose peak memory is compared with a small one's.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

#[path = "common/mod.rs"]
mod common;

use std::{
    fs,
    io::{self, BufReader, Cursor, Read},
    process::Command,
    time::Instant,
};

use loomtree::interchange::{self, Format};

/// Messages of an import.
const MESSAGES: u64 = 200_000;
const MIN_RATE: f64 = 50_000.0;

/// Returns the line of a message, whose parent is the message before it.
type MakeLine = fn(u64, &str) -> String;

const FORMATS: &[(Format, MakeLine)] = &[
    (Format::ClaudeCode, claude_code),
    (Format::Codex, codex),
    (Format::Gemini, gemini),
    (Format::Pi, pi),
    (Format::SillyTavern, silly_tavern),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [child, format, messages] = words.as_slice()
        && child == "child"
    {
        return import(format, messages.parse().unwrap());
    }
    println!("| {:<14} | {:<16} | {:<12} | {:<12} | {:<6} |", "format", "messages/s", "peak MB", "limit", "");
    println!("|{}|{}|{}|{}|{}|", "-".repeat(16), "-".repeat(18), "-".repeat(14), "-".repeat(14), "-".repeat(8));
    let mut small = 0.0_f64;
    for (format, _) in FORMATS {
        let mut runs: Vec<[f64; 3]> = (0..3).map(|_| child(*format, MESSAGES)).collect();
        runs.sort_by(|a, b| a[1].total_cmp(&b[1]));
        let [nodes, seconds, memory] = runs[1];
        let rate = nodes / seconds;
        small = small.max(memory);
        row(format.as_str(), &format!("{rate:.0}"), memory, "≥ 50000/s", rate >= MIN_RATE);
    }
    if let Ok(size) = std::env::var("LOOM_IMPORT_GB") {
        let line = claude_code(1_000_000, &common::message()).len() as f64 + 1.0;
        let messages = size.parse::<f64>().unwrap() * 1e9 / line;
        let [nodes, seconds, memory] = child(Format::ClaudeCode, messages as u64);
        row(&format!("{size} GB"), &format!("{:.0}", nodes / seconds), memory, "memory flat", memory < small * 1.3);
    }
}

fn row(what: &str, rate: &str, memory: f64, limit: &str, is_met: bool) {
    let verdict = if is_met { "ok" } else { "MISSED" };
    println!("| {what:<14} | {rate:<16} | {memory:<12.0} | {limit:<12} | {verdict:<6} |");
}

/// Runs an import in a new process. Returns nodes, seconds and peak memory in MB.
fn child(format: Format, messages: u64) -> [f64; 3] {
    let words = ["child".to_owned(), format.as_str().to_owned(), messages.to_string()];
    let done = Command::new(std::env::current_exe().unwrap()).args(words).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let out = String::from_utf8(done.stdout).unwrap();
    let values: Vec<f64> = out.split_whitespace().map(|word| word.parse().unwrap()).collect();
    values.try_into().unwrap()
}

fn import(format: &str, messages: u64) {
    let (format, line) = *FORMATS.iter().find(|(known, _)| known.as_str() == format).unwrap();
    let folder = common::memory_folder();
    let owner = common::owner(&folder.path().join("loom.db"), 1);
    let made = MadeLines { line, next: 0, end: messages, text: common::message(), buffer: Cursor::new(Vec::new()) };
    let mut input = BufReader::with_capacity(1 << 16, made);
    let start = Instant::now();
    let done = interchange::import(&owner, Some(format), "made", &mut input, &mut |_| {}).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(done.problems.is_empty() && done.nodes >= messages, "{done:?}");
    println!("{} {seconds} {}", done.nodes, peak_memory());
}

fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0");
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Lines that are made while they are read.
struct MadeLines {
    line: MakeLine,
    next: u64,
    end: u64,
    text: String,
    buffer: Cursor<Vec<u8>>,
}

impl Read for MadeLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.buffer.read(buffer)?;
            if read > 0 || self.next == self.end {
                return Ok(read);
            }
            let mut line = (self.line)(self.next, &self.text);
            line.push('\n');
            self.next += 1;
            self.buffer = Cursor::new(line.into_bytes());
        }
    }
}

fn parent(number: u64) -> String {
    number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"m{parent}\""))
}

fn claude_code(number: u64, text: &str) -> String {
    let (kind, message) = if number.is_multiple_of(2) {
        ("user", format!(r#"{{"role":"user","content":"{number} {text}"}}"#))
    } else {
        let content = format!(r#"[{{"type":"text","text":"{number} {text}"}}]"#);
        let id = format!(r#""id":"a{number}","role":"assistant","model":"claude-sonnet-4-5""#);
        ("assistant", format!(r#"{{{id},"content":{content},"usage":{{"output_tokens":120}}}}"#))
    };
    format!(
        r#"{{"parentUuid":{},"isSidechain":false,"cwd":"/work","sessionId":"s","version":"2.0.1","type":"{kind}","message":{message},"uuid":"m{number}","timestamp":"2026-01-05T10:00:00.000Z"}}"#,
        parent(number)
    )
}

fn codex(number: u64, text: &str) -> String {
    let at = "2026-01-05T10:00:00.000Z";
    if number == 0 {
        return format!(r#"{{"timestamp":"{at}","type":"session_meta","payload":{{"id":"c","cwd":"/work"}}}}"#);
    }
    let (role, kind) = if number.is_multiple_of(2) { ("assistant", "output_text") } else { ("user", "input_text") };
    format!(
        r#"{{"timestamp":"{at}","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{number} {text}"}}]}}}}"#
    )
}

fn gemini(number: u64, text: &str) -> String {
    if number == 0 {
        return r#"{"sessionId":"g","projectHash":"f","startTime":"2026-01-05T10:00:00.000Z"}"#.to_owned();
    }
    let kind = if number.is_multiple_of(2) { "gemini" } else { "user" };
    format!(
        r#"{{"id":"m{number}","timestamp":"2026-01-05T10:00:00.000Z","type":"{kind}","content":"{number} {text}","model":"gemini-2.5-pro"}}"#
    )
}

fn pi(number: u64, text: &str) -> String {
    let Some(before) = number.checked_sub(1) else {
        return r#"{"type":"session","version":3,"id":"p","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/work"}"#
            .to_owned();
    };
    let role = if number.is_multiple_of(2) { "assistant" } else { "user" };
    let above = if before == 0 { "null".to_owned() } else { parent(number) };
    format!(
        r#"{{"type":"message","id":"m{number}","parentId":{above},"timestamp":"2026-01-05T10:00:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{number} {text}"}}],"provider":"openai","model":"gpt-5"}}}}"#
    )
}

fn silly_tavern(number: u64, text: &str) -> String {
    if number == 0 {
        return r#"{"user_name":"Ben","character_name":"Ada","create_date":"2026-1-5@10h00m00s","chat_metadata":{}}"#
            .to_owned();
    }
    let is_user = number.is_multiple_of(2);
    format!(
        r#"{{"name":"Ada","is_user":{is_user},"send_date":"2026-01-05T10:00:00.000Z","mes":"{number} {text}","extra":{{}}}}"#
    )
}
