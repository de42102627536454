//! Tests of continuing, importing and exporting.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    time::Duration,
};

use support::{Home, Ran};

/// Starts a model server that sends two words, then hangs or closes the connection. Returns its reference.
fn server(hangs: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, hangs));
        }
    });
    format!("http://{address}/v1#slow")
}

fn answer(mut stream: TcpStream, hangs: bool) {
    let mut request = [0; 65_536];
    let read = stream.read(&mut request).unwrap_or(0);
    if request[..read].starts_with(b"GET") {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"Two words\"}}]}\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(format!("{head}{event}").as_bytes());
    if hangs {
        std::thread::sleep(Duration::from_secs(20));
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_saves_the_partial_reply() {
    let home = Home::new();
    home.start("Tell me something.");
    let mut command = home.command(&["continue", "-n", "1", "-m", &server(true)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 9];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Two words");
    let killed = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(killed.success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{ran:?}");
    let node = &home.json(&["view", "."])[0];
    assert_eq!((node["content"].as_str(), node["interrupted"].as_bool()), (Some("Two words"), Some(true)));
}

/// The progress lines name the whole model. The echo of Ctrl-C does not wrap behind them, or one would remain.
#[test]
#[cfg(unix)]
fn progress_lines_are_cleared_after_ctrl_c() {
    use crate::support::pty::Terminal;
    let home = Home::new();
    home.start("Tell me something.");
    let model = server(true);
    let mut terminal = Terminal::start(&home, &["continue", "-n", "3", "-m", &model]);
    terminal.wait("Two words", 3);
    std::thread::sleep(Duration::from_millis(200));
    terminal.keys("\x03");
    assert_eq!(terminal.ends(), 130);
    assert!(terminal.text().contains(&format!("{model}\u{1b}[0m Two words")), "{:?}", terminal.text());
    let screen = terminal.screen();
    assert!(!screen.contains(&model) && screen.contains("interrupted"), "{screen}");
}

#[test]
fn an_interrupted_stream_is_reported_and_saved() {
    let home = Home::new();
    home.start("Tell me something.");
    let said = home.fails(1, &["continue", "-n", "1", "-m", &server(false)]);
    assert!(said.contains("saved as"), "{said}");
    assert!(home.ok(&["tree"]).contains("interrupted  Two words"));
    let said = home.fails(1, &["continue", "/", "-n", "1", "-m", &server(false), "-m", "scripted:words"]);
    assert!(said.contains("1 of 2 failed"), "{said}");
}

#[test]
fn a_model_continues() {
    let home = Home::new();
    let root = home.start("Tell me something.");
    let one = home.run(&["continue", "-n", "1", "--model", "scripted:words"]);
    assert_eq!((one.code, one.err.as_str()), (0, ""), "{one:?}");
    assert_eq!(one.out.lines().count(), 1, "{one:?}");
    let node = &home.json(&["view", "."])[0];
    assert_eq!(node["content"].as_str(), Some(one.out.trim_end()));
    assert_eq!((node["author"].as_str(), node["depth"].as_u64()), (Some("subject"), Some(1)));
    assert_eq!(node["provenance"]["reference"], "scripted:words");

    let three = home.ok(&["continue", "/", "-n", "3", "-m", "scripted:words"]);
    assert_eq!(three.matches("loom switch ").count(), 3, "{three}");
    let two = home.json(&["continue", &root, "-n", "2", "-m", "scripted:words"]);
    assert_eq!((two.len(), two[0]["depth"].as_u64()), (2, Some(1)));
    assert!(home.ok(&["tree"]).contains("6 branches"));

    assert!(home.fails(1, &["continue", "-m", "scripted:nothing-like-it"]).contains("nothing-like-it"));
    assert!(home.fails(1, &["continue", "-m", "http://127.0.0.1:9/v1#m"]).contains("127.0.0.1:9"));
    home.fails(2, &["continue", "-n", "0"]);
    home.fails(2, &["continue", "--logprobs", "21"]);
    let nothing = home.fails(1, &["continue"]);
    for way in ["OPENAI_API_KEY", "Ollama", "--model http://"] {
        assert!(nothing.contains(way), "{nothing}");
    }
}

#[test]
fn exported_trees_can_be_imported() {
    let home = Home::new();
    home.start("Tell me a story about a lighthouse.");
    let asked = home.say("subject", None, "Once there was a keeper. She kept jars.");
    let rain = home.say("subject", Some(&asked), "Sounds: rain, gulls, a door.");
    home.say("owner", Some(&asked), "What was in them? \x1b[31m");
    home.ok(&["bookmark", &rain, "the good one"]);
    home.ok(&["annotate", &asked, "why jars?"]);
    home.ok(&["export", "-o", "one.jsonl"]);
    assert!(home.fails(1, &["export", "-o", "one.jsonl"]).contains("--force"));
    home.ok(&["export", "--all", "-o", "one.jsonl", "--force"]);
    let first = home.ok(&["export", "--all"]);
    assert_eq!(first, std::fs::read_to_string(home.file("one.jsonl")).unwrap());

    let other = Home::new();
    let file = home.file("one.jsonl");
    let file = file.to_str().unwrap();
    let said = other.ok(&["import", file]);
    assert!(said.contains("loomtree: 1 tree") && said.contains("loom trees --use"), "{said}");
    assert_eq!(other.ok(&["export", "--all"]), first);
    assert_eq!(other.json(&["import", file])[0]["nodes"], 0);
    assert_eq!(other.json(&["import", "--format", "loomtree", file])[0]["nodes"], 0);
    assert_eq!(other.pipe(&["import", "-"], &first).code, 0);
    assert_eq!(other.ok(&["export", "--all"]), first);

    let path = home.ok(&["export", "--path", &rain]);
    assert!(path.contains("### owner") && path.ends_with("Sounds: rain, gulls, a door.\n"), "{path}");
    home.ok(&["export", "--format", "markdown", "-o", "path.md"]);
    home.fails(2, &["export", "--path", "--format", "jsonl"]);
    home.fails(1, &["import", "no-such-file"]);
    std::fs::write(home.file("letter.txt"), "dear reader\n").unwrap();
    assert!(home.fails(1, &["import", "letter.txt"]).contains("unknown format"));
    std::fs::write(home.file("empty"), "").unwrap();
    assert!(home.fails(1, &["import", "empty"]).contains("is empty"));
}
