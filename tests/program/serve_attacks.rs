//! `loom serve`: hostile clients. Every read has a time limit.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{
    cli::Home,
    fake_model_server::{Server as Upstream, status as answer},
    loom_server::HttpServer,
};

const PATIENCE: Duration = Duration::from_secs(10);

/// A valid request, which the tests change.
const VALID: &[u8] = b"POST /api/v1/trees HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
    content-length: 15\r\nconnection: close\r\n\r\n{\"content\":\"x\"}";

/// Sends bytes and returns the answer until the server closes. The client closes its side after the
/// first part of the answer, or a tenth of a second.
async fn exchange(url: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_millis(100), stream.read_buf(&mut answer)).await;
    let _ = stream.shutdown().await;
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "no end of the answer to {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
    answer
}

/// The status of an answer; 0 for none.
fn status(answer: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(answer);
    text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_thousand_malformed_requests_neither_stop_nor_hang_the_server() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    assert_eq!(server.post("/api/v1/trees", json!({ "content": "x" })).await.0, 201);
    let mut seed = 7u32;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % most
    };
    let mut running = tokio::task::JoinSet::new();
    for round in 0..1_000 {
        let mut bytes = VALID.to_vec();
        match round % 4 {
            // Bytes are changed, a part is cut out, a part is doubled, the end is missing.
            0 => (0..4).for_each(|_| bytes[next(VALID.len())] = u8::try_from(next(256)).unwrap()),
            1 => drop(bytes.drain(next(80)..90 + next(40))),
            2 => bytes = [&VALID[..next(VALID.len())], &VALID[next(VALID.len())..]].concat(),
            _ => bytes.truncate(next(VALID.len())),
        }
        if running.len() >= 32 {
            running.join_next().await.unwrap().unwrap();
        }
        let url = server.url.clone();
        running.spawn(async move {
            let answer = exchange(&url, &bytes).await;
            let (sent, answer) = (String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&answer));
            assert!(status(answer.as_bytes()) < 500, "{answer} for {sent:?}");
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    assert_eq!(server.post("/api/v1/trees", json!({ "content": "x" })).await.0, 201);
}

#[tokio::test]
async fn requests_with_two_meanings_are_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let request = |rest: &str| format!("POST /api/v1/trees HTTP/1.1\r\ncontent-type: application/json\r\n{rest}");
    let body = "{\"content\":\"x\"}";
    for (what, text) in [
        ("two lengths", request(&format!("host: localhost\r\ncontent-length: 15\r\ncontent-length: 3\r\n\r\n{body}"))),
        ("a negative length", request(&format!("host: localhost\r\ncontent-length: -1\r\n\r\n{body}"))),
        ("a huge length", request(&format!("host: localhost\r\ncontent-length: 99999999999\r\n\r\n{body}"))),
        ("a broken chunk", request("host: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")),
        ("no host", request(&format!("content-length: 15\r\n\r\n{body}"))),
        ("two hosts", request(&format!("host: localhost\r\nhost: evil.example\r\ncontent-length: 15\r\n\r\n{body}"))),
        ("a foreign host", request(&format!("host: evil.example\r\ncontent-length: 15\r\n\r\n{body}"))),
        ("a host with a path", request(&format!("host: localhost/@evil.example\r\ncontent-length: 15\r\n\r\n{body}"))),
        (
            "a foreign host in the target",
            request(&format!("host: localhost\r\ncontent-length: 15\r\n\r\n{body}"))
                .replace("POST /api", "POST http://evil.example/api"),
        ),
        ("not HTTP", "\x16\x03\x01\x02\x00".to_owned()),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
    ] {
        let found = status(&exchange(&server.url, text.as_bytes()).await);
        assert!(found == 0 || (400..500).contains(&found), "{what}: {found}");
    }
    let trees = server.get("/api/v1/trees").await.1;
    assert_eq!(trees["data"], json!([]), "none of them was executed");
}

#[tokio::test]
async fn the_proxy_passes_a_path_as_written_and_none_that_leaves_the_provider() {
    let home = Home::new();
    let upstream = Upstream::start((0..2).map(|_| answer(200, "", "{}"))).await;
    let base = upstream.url().replace("/v1", "/base");
    let server = HttpServer::start(&home, &["--openai-upstream", &base, "--anthropic-upstream", &base]);
    for (path, expected) in [
        ("/proxy/openai/v1/models/org%2Fmodel?x=%2F", 200),
        ("/proxy/anthropic/v1/models/a%20b", 200),
        ("/proxy/openai/v1/../../admin", 422),
        ("/proxy/openai/v1/%2e%2e/%2E./admin", 422),
        ("/proxy/openai/.%2e/admin", 422),
        ("/proxy/openai/v1/./models", 422),
        ("/proxy/anthropic/%2e%2e/admin", 422),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut found = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut found)).await.unwrap().unwrap();
        assert_eq!(status(&found), expected, "{path}: {}", String::from_utf8_lossy(&found));
    }
    let lines: Vec<String> = upstream.requests().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["GET /base/v1/models/org%2Fmodel?x=%2F", "GET /base/v1/models/a%20b"]);
}

#[tokio::test]
async fn header_bombs_are_refused_and_cost_nothing() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    for head in [
        format!("GET /api/v1/trees HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)),
        format!("GET /api/v1/trees HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(100_000)),
        format!("GET /api/v1/trees?{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(1 << 20)),
    ] {
        let found = status(&exchange(&server.url, head.as_bytes()).await);
        assert!(found == 0 || (400..500).contains(&found), "{found}");
    }
    assert_eq!(server.get("/api/v1/trees").await.0, 200);
}

#[tokio::test]
async fn slow_clients_hold_nobody_up() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let mut slow = Vec::new();
    for at in 0..200 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // Half of them stop in the header, half in the body.
        stream.write_all(&VALID[..if at % 2 == 0 { 40 } else { VALID.len() - 5 }]).await.unwrap();
        slow.push(stream);
    }
    let started = Instant::now();
    for _ in 0..20 {
        let (status, _) = server.post("/api/v1/trees", json!({ "content": "on time" })).await;
        assert_eq!(status, 201);
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // A body that arrives byte by byte is a body.
    for byte in &VALID[VALID.len() - 5..] {
        slow[1].write_all(&[*byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, slow[1].read_to_end(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status(&answer), 201);
}

/// Returns how many streams the limits of open files allow, of those that are wanted.
#[cfg(unix)]
fn possible(wanted: u64) -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    wanted.min(getrlimit(Resource::Nofile).current.unwrap_or(wanted).saturating_sub(500))
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_cost_little_and_all_see_an_append() {
    let count = std::env::var("LOOM_STREAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let count = possible(count);
    let home = Home::new();
    let server = HttpServer::start(&home, &["--streams", "20000", "--requests-per-second", "100000"]);
    let created = server.ok("/api/v1/trees", json!({ "content": "Once" })).await;
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        streams.push(stream);
    }
    // All are open once each has its header.
    for stream in &mut streams {
        let mut bytes = [0; 12];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
        assert_eq!(&bytes, b"HTTP/1.1 200");
    }
    assert_eq!(server.get("/api/v1/trees").await.0, 200);
    let node = created["root"]["id"].as_str().unwrap();
    server.ok(&format!("/api/v1/nodes/{node}/children"), json!({ "content": "a light" })).await;
    for mut stream in streams {
        let seen = async {
            let (mut text, mut bytes) = (String::new(), [0; 4_096]);
            while !text.contains("event: append") && !text.contains("\"op\":\"append\"") {
                let read = stream.read(&mut bytes).await.unwrap();
                assert!(read > 0, "{text}");
                text.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap();
    }
    // They are gone when their clients are.
    for _ in 0..100 {
        let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
        if metrics.lines().any(|line| line == "loom_open_streams 0") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("streams of clients that went away are still open");
}
