//! Start and memory of `loom mcp` at a database of 1,000,000 nodes: `cargo bench --bench mcp`. `LOOM_BENCH_NODES` sets
//! another number. Resident memory counts pages of the program itself, which all its processes share.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Starts of the program, of which the table has the median.
const STARTS: usize = 9;

fn main() {
    let nodes = std::env::var("LOOM_BENCH_NODES").ok().and_then(|nodes| nodes.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("loom.db");
    common::grow(&common::owner(&db, 1), nodes);
    println!("| `loom mcp`, {nodes} nodes: time from the start, resident memory | median | limit | |");
    println!("| --- | --- | --- | --- |");
    let mut starts: Vec<Vec<(Duration, Memory)>> = (0..STARTS).map(|_| start(&db)).collect();
    for (at, what) in ["first answer (initialize)", "tools/list", "tree (opens the file)", "recall"].iter().enumerate()
    {
        starts.sort_by_key(|start| start[at].0);
        let (time, memory) = &starts[STARTS / 2][at];
        let holds = *time < Duration::from_millis(30) && memory.resident_kib < 20 << 10;
        let (limit, verdict) = match (at, holds) {
            (0, true) => ("< 30 ms, < 20 MB", "ok"),
            (0, false) => ("< 30 ms, < 20 MB", "MISSED"),
            _ => ("", ""),
        };
        println!("| {what} | {time:.1?}; {memory} | {limit} | {verdict} |");
    }
}

/// Memory of a process.
struct Memory {
    resident_kib: u64,
    /// Part that is the process's own.
    anonymous_kib: u64,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [resident, own] = [self.resident_kib, self.anonymous_kib].map(|kib| kib * 10 / 1_024);
        write!(f, "{}.{} MB, {}.{} MB of it its own", resident / 10, resident % 10, own / 10, own % 10)
    }
}

/// A running server.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn request(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writeln!(self.input, "{message}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
    }

    fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        Memory { resident_kib: field("VmRSS:"), anonymous_kib: field("RssAnon:") }
    }
}

/// Starts the server and sends four requests. Returns time and memory after each answer.
fn start(db: &Path) -> Vec<(Duration, Memory)> {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
    command.arg("--db").arg(db).arg("mcp").current_dir(db.parent().unwrap());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut server = Server { child, input, output };
    let client = json!({ "name": "bench", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let recall = json!({ "action": "search", "scope": "all", "query": "stems from what was said" });
    let requests = [
        ("initialize", initialize),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "loom", "arguments": { "lines": ["→ tree"], "session": "root" } })),
        ("tools/call", json!({ "name": "conversation_recall", "arguments": recall })),
    ];
    let mut measured = Vec::new();
    for (method, params) in requests {
        server.request(method, &params);
        measured.push((begun.elapsed(), server.memory()));
        if method == "initialize" {
            let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            writeln!(server.input, "{message}").unwrap();
        }
    }
    drop(server.input);
    server.child.wait().unwrap();
    measured
}
