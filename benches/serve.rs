//! The HTTP server under load, beside the library called directly: `cargo bench --bench serve`. Clients are a closed loop
//! over loopback in this process, the server is a process of its own; both share the machine. The files are on the disk
//! of the folder for temporary files (`TMPDIR`), so an append waits for it.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod common;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    types::Parent,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// Time of each measurement.
const TIME: Duration = Duration::from_secs(4);

const CLIENTS: [usize; 3] = [1, 16, 256];

const STREAMS: usize = 1_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("| measurement | result | limit | |\n| --- | --- | --- | --- |");
    let library = library();
    runtime.block_on(async {
        load(library).await;
        streams().await;
        proxy().await;
    });
}

fn row(what: &str, result: &str, limit: &str, holds: Option<bool>) {
    let verdict = holds.map_or("", |holds| if holds { "ok" } else { "MISSED" });
    println!("| {what} | {result} | {limit} | {verdict} |");
}

/// The time below which a share of all times is.
fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// Returns the appends and reads per second of 64 threads that call the library.
fn library() -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let owner = common::owner(&folder.path().join("loom.db"), 1);
    let appends = threads(&owner, |owner, at| {
        let draft = NodeDraft::text(common::message());
        owner.append(Parent::Node(at), draft).unwrap().nodes[0].id
    });
    let reads = threads(&owner, |owner, at| owner.loom().node(at).unwrap().id);
    row("library, 64 threads: appends", &format!("{appends:.0}/s"), "", None);
    row("library, 64 threads: reads of a node", &format!("{reads:.0}/s"), "", None);
    (appends, reads)
}

/// Returns the calls per second of 64 threads, each at a tree of its own.
fn threads(owner: &Actor, call: impl Fn(&Actor, NodeId) -> NodeId + Sync) -> f64 {
    let roots: Vec<NodeId> = (0..64).map(|_| owner.create_tree(TreeDraft::new("root")).unwrap().1.id).collect();
    let (calls, begun) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for root in roots {
            let (calls, call) = (&calls, &call);
            scope.spawn(move || {
                let mut at = root;
                while begun.elapsed() < TIME {
                    at = call(owner, at);
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    calls.into_inner() as f64 / begun.elapsed().as_secs_f64()
}

/// A server in a temporary folder. It is killed when dropped.
struct Server {
    folder: tempfile::TempDir,
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
        command.env_clear().env("HOME", folder.path()).arg("--db").arg(folder.path().join("loom.db"));
        command.args(["--json", "serve", "--listen", "127.0.0.1:0", "--requests-per-second", "1000000"]).args(args);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = started["address"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { folder, child, address }
    }

    /// Resident memory in MB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN);
        kib / 1_024.0
    }

    async fn client(&self) -> Client {
        Client::connect(&self.address).await
    }

    /// Creates a tree, and returns the id of its root.
    async fn root(&self) -> String {
        let answer = self.client().await.send("POST", "/api/v1/trees", r#"{"content":"root"}"#).await;
        let created: serde_json::Value = serde_json::from_str(&answer).unwrap();
        created["root"]["id"].as_str().unwrap().to_owned()
    }
}

/// One connection that stays open.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::new() }
    }

    /// Sends a request and returns the body of its answer, which must be a success.
    async fn send(&mut self, method: &str, path: &str, body: &str) -> String {
        self.write(method, path, body).await;
        let head = self.head().await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let length: usize = length.parse().unwrap();
        while self.received.len() < length {
            assert_ne!(self.stream.read_buf(&mut self.received).await.unwrap(), 0);
        }
        let rest = self.received.split_off(length);
        let body = std::mem::replace(&mut self.received, rest);
        assert!(head.starts_with("HTTP/1.1 2"), "{head}{}", String::from_utf8_lossy(&body));
        String::from_utf8(body).unwrap()
    }

    async fn write(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Reads the header of an answer.
    async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.received.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = self.received.split_off(end + 4);
                return String::from_utf8(std::mem::replace(&mut self.received, rest)).unwrap();
            }
            assert_ne!(self.stream.read_buf(&mut self.received).await.unwrap(), 0);
        }
    }

    /// Reads until the text was received, and returns the time.
    async fn wait_for(&mut self, text: &str) -> Instant {
        loop {
            if self.received.windows(text.len()).any(|window| window == text.as_bytes()) {
                return Instant::now();
            }
            assert_ne!(self.stream.read_buf(&mut self.received).await.unwrap(), 0);
        }
    }
}

/// A closed loop of clients. Returns calls per second and the time of each call. `call` gets a client and the node that it
/// is at, and returns the next one.
async fn closed_loop(server: &Server, clients: usize, writes: bool) -> (f64, Vec<Duration>) {
    let mut ready = Vec::new();
    for _ in 0..clients {
        ready.push((server.root().await, server.client().await));
    }
    let text = serde_json::json!({ "content": common::message() }).to_string();
    let (text, begun) = (Arc::new(text), Instant::now());
    let mut running = Vec::new();
    for (mut at, mut client) in ready {
        let text = Arc::clone(&text);
        running.push(tokio::spawn(async move {
            let mut times = Vec::new();
            while begun.elapsed() < TIME {
                let sent = Instant::now();
                if writes {
                    let answer = client.send("POST", &format!("/api/v1/nodes/{at}/children"), &text).await;
                    let id = answer.split_once("\"id\":\"").unwrap().1;
                    id[..26].clone_into(&mut at);
                } else {
                    client.send("GET", &format!("/api/v1/nodes/{at}"), "").await;
                }
                times.push(sent.elapsed());
            }
            times
        }));
    }
    let mut times = Vec::new();
    for client in running {
        times.extend(client.await.unwrap());
    }
    (times.len() as f64 / begun.elapsed().as_secs_f64(), times)
}

async fn load((appends, reads): (f64, f64)) {
    let server = Server::start(&[]);
    for clients in CLIENTS {
        for (what, writes, library) in [("appends", true, appends), ("reads of a node", false, reads)] {
            let (rate, mut times) = closed_loop(&server, clients, writes).await;
            let most = percentile(&mut times, 0.99);
            let (share, memory) = (rate / library, server.memory());
            let limited = writes && clients == 256;
            row(
                &format!("server, {clients} client(s): {what}"),
                &format!(
                    "{rate:.0}/s; 99th percentile {most:.1?}; {share:.2} of the library's 64 threads; {memory:.0} MB"
                ),
                if limited { "≥ 0.6 of the library" } else { "" },
                limited.then_some(share >= 0.6),
            );
        }
    }
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len()) >> 20;
    let size = size(&server.folder.path().join("loom.db"));
    row("server, database after the load", &format!("{size} MB"), "", None);
}

/// Raises the limit of open files, and returns how many streams it allows.
fn possible(wanted: usize) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
        let allowed = getrlimit(Resource::Nofile).current.map_or(wanted, |most| most as usize);
        wanted.min(allowed.saturating_sub(100))
    }
    #[cfg(not(unix))]
    wanted
}

async fn streams() {
    let count = possible(STREAMS);
    let server = Server::start(&["--streams", "20000"]);
    let root = server.root().await;
    let children = format!("/api/v1/nodes/{root}/children");
    let mut writer = server.client().await;
    for _ in 0..100 {
        writer.send("POST", &children, r#"{"content":"warm"}"#).await;
    }
    // A stream begins with the newest entry that the server has seen.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = server.memory();
    let mut open = Vec::new();
    for _ in 0..count {
        let mut client = server.client().await;
        client.write("GET", "/api/v1/events", "").await;
        client.head().await;
        open.push(client);
    }
    let waiting = server.memory() - before;
    let sent = Instant::now();
    let mut running = Vec::new();
    for mut client in open {
        running.push(tokio::spawn(async move { (client.wait_for("\"op\":\"append\"").await, client) }));
    }
    tokio::task::yield_now().await;
    writer.send("POST", &children, r#"{"content":"a light"}"#).await;
    let acknowledged = Instant::now();
    let mut open = Vec::new();
    let mut times = Vec::new();
    for client in running {
        let (seen, client) = client.await.unwrap();
        times.push(seen.saturating_duration_since(acknowledged));
        open.push(client);
    }
    let (median, last) = (percentile(&mut times, 0.5), percentile(&mut times, 1.0));
    let after = server.memory() - before;
    row(
        &format!("{count} event streams: memory"),
        &format!("{waiting:.1} MB; {after:.1} MB after an append"),
        "< 20 MB",
        Some(after < 20.0),
    );
    let acknowledged = acknowledged - sent;
    row(
        &format!("{count} event streams: time from the acknowledgement until a client sees the append"),
        &format!("median {median:.1?}, last {last:.1?} (append {acknowledged:.1?})"),
        "< 50 ms",
        Some(last < Duration::from_millis(50)),
    );
}

/// Answer of the provider: a stream with one event.
const UPSTREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: keep-alive\r\ncontent-length: 14\r\n\r\ndata: [DONE]\n\n";

/// Measures the time to the first byte of a call, directly and through the proxy, one after the other.
async fn proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut client = Client { stream, received: Vec::new() };
                while client.stream.readable().await.is_ok() {
                    let head = client.head().await.to_lowercase();
                    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                    let length: usize = length.parse().unwrap();
                    while client.received.len() < length {
                        client.stream.read_buf(&mut client.received).await.unwrap();
                    }
                    client.received.drain(..length);
                    client.stream.write_all(UPSTREAM.as_bytes()).await.unwrap();
                }
            });
        }
    });
    let server = Server::start(&["--openai-upstream", &format!("http://{upstream}")]);
    let body = serde_json::json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": common::message() }],
    });
    let body = body.to_string();
    let (mut direct, mut proxied) = (Vec::new(), Vec::new());
    let mut clients = [Client::connect(&upstream).await, server.client().await];
    for round in 0..330 {
        for (client, path, times) in
            [(0, "/v1/chat/completions", &mut direct), (1, "/proxy/openai/v1/chat/completions", &mut proxied)]
        {
            let client = &mut clients[client];
            let sent = Instant::now();
            client.write("POST", path, &body).await;
            let first = client.wait_for("data:").await - sent;
            client.received.clear();
            // The first calls open connections.
            if round >= 30 {
                times.push(first);
            }
        }
    }
    let [direct, median] = [&mut direct, &mut proxied].map(|times| percentile(times, 0.5));
    let most = percentile(&mut proxied, 0.99);
    let added = median.saturating_sub(direct);
    row(
        "proxy: time to the first byte",
        &format!("median {median:.1?}, 99th percentile {most:.1?}; directly {direct:.1?}; added {added:.1?}"),
        "added < 2 ms",
        Some(added < Duration::from_millis(2)),
    );
}
