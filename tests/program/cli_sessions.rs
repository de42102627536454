//! Tests of `loom sessions` and its subcommands, and of conversations that begin without a tree.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::{cli::Home, fake_model_server, pty::Terminal};

use fake_model_server::{Server, good, models};
use serde_json::Value;

/// The sessions of this workspace.
fn sessions(home: &Home) -> Vec<Value> {
    home.json(&["sessions"]).remove(0).as_array().unwrap().clone()
}

fn words(path: &[Value]) -> Vec<&str> {
    path.iter().map(|node| node["content"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_without_a_database_begins_a_conversation() {
    let home = Home::new();
    assert_ne!(home.run(&["chat", "Hello.", "-m", "nosuch:model"]).code, 0);
    assert_ne!(home.run(&["view"]).code, 0, "without a model nothing is created");
    let list = || models(&[("m", "somebody")]);
    let server = Server::start([list(), list(), good("Hello, too."), list(), good("Red.")]).await;
    let model = format!("{}#m", server.url());
    assert_eq!(home.ok(&["chat", "Never use an ORM.", "-m", &model]), "Hello, too.\n");
    home.ok(&["chat", "Which colour?", "-m", &model]);
    assert_eq!(words(&home.json(&["view"])), ["", "Never use an ORM.", "Hello, too.", "Which colour?", "Red."]);
    let found = sessions(&home);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["title"], &found[0]["turns"]), (&"Never use an ORM.".into(), &5.into()));
    assert!(server.requests()[4].body.to_string().contains("- Never use an ORM. (turn 2)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_begun_named_shown_reset_and_ended() {
    let home = Home::new();
    home.start("A shop.");
    let list = || models(&[("m", "somebody")]);
    let server = Server::start([list(), good("Old words."), list(), good("New words.")]).await;
    let model = format!("{}#m", server.url());
    home.ok(&["chat", "The old one.", "-m", &model]);
    let text = home.ok(&["sessions", "new", "prices", "--system", "Answer in euros."]);
    assert!(text.contains("\"prices\"") && text.contains("begins"), "{text}");
    home.ok(&["chat", "How much?", "-m", &model]);
    let request = server.requests()[3].body.to_string();
    assert!(request.contains("Answer in euros.") && !request.contains("Old words."), "{request}");

    let shown = home.json(&["sessions", "show", "prices"]).remove(0);
    assert_eq!((&shown["name"], &shown["turns"]), (&"prices".into(), &3.into()), "{shown}");
    assert!(home.ok(&["sessions", "show"]).contains("Summary of this session:"));
    let id = shown["id"].as_str().unwrap().to_lowercase();
    let short = &id[id.len() - 8..];
    home.ok(&["sessions", "name", short, "costs"]);
    assert!(home.ok(&["sessions"]).contains("costs: How much?"), "{}", home.ok(&["sessions"]));
    assert!(home.ok(&["sessions", "--all", "-n", "1"]).contains("… more; `loom sessions --all -n 0` lists all"));
    assert!(!home.ok(&["sessions", "-n", "0"]).contains("more"));
    let used = home.json(&["stats", "--session", short]).remove(0);
    assert_eq!(used["all"]["generations"], 1, "{used}");
    assert_eq!(home.json(&["stats", "--session"]).remove(0)["all"]["generations"], 1, "that of this conversation");
    assert!(home.ok(&["stats", "--session", "costs"]).contains("not reported"));

    server.then([list(), good("Again.")]);
    home.ok(&["sessions", "reset", "--keep-system"]);
    home.ok(&["chat", "And now?", "-m", &model]);
    let request = server.requests()[5].body.to_string();
    assert!(request.contains("Answer in euros.") && !request.contains("How much?"), "{request}");
    assert_eq!(home.json(&["sessions", "show", "costs"])[0]["id"], shown["id"], "a reset keeps the session");

    server.then([list(), good("Fresh.")]);
    home.ok(&["sessions", "end", "costs"]);
    assert!(home.ok(&["sessions"]).contains("· over"));
    home.ok(&["chat", "Still there?", "-m", &model]);
    let request = server.requests()[7].body.to_string();
    assert!(!request.contains("And now?"), "an ended session is not continued: {request}");
    assert_ne!(home.json(&["sessions", "show"])[0]["id"], shown["id"]);
    let wrong = home.fails(1, &["sessions", "end", "nosuch"]);
    assert!(wrong.contains("no session \"nosuch\""), "{wrong}");
    let refused = home.fails(2, &["sessions", "new", "--with", "owner"]);
    assert!(refused.contains("cannot talk with itself"), "{refused}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_offers_the_other_sessions() {
    let home = Home::new();
    home.start("A shop.");
    let list = || models(&[("m", "somebody")]);
    let server = Server::start([list(), good("One."), list(), good("Two.")]).await;
    let model = format!("{}#m", server.url());
    home.ok(&["chat", "The first.", "-m", &model]);
    let input = "/new second\nThe second.\n/sessions\n/resume a shop\n/quit\n";
    let ran = home.pipe(&["chat", "-m", &model], input);
    assert!(ran.out.contains("begins here") && ran.out.contains("second: "), "{ran:?}");
    assert!(ran.err.contains("no session \"a shop\""), "{ran:?}");
    let first = sessions(&home).into_iter().find(|session| session["name"].is_null()).unwrap();
    let id = first["id"].as_str().unwrap();
    server.then([list(), good("Three.")]);
    let ran = home.pipe(&["chat", "-m", &model], format!("/resume {id}\nGo on.\n"));
    assert!(ran.out.contains("continues here") && ran.out.contains("Three."), "{ran:?}");
    let path = home.json(&["view"]);
    assert_eq!(words(&path), ["A shop.", "The first.", "One.", "Go on.", "Three."]);
    let mut terminal = Terminal::start(&home, &["chat", "-m", &model]);
    terminal.wait("1 other session here", 1);
    terminal.wait(">  ", 1);
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_conversation_is_resumed_and_asked_by_turn_number() {
    let home = Home::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/claude-code/session.jsonl");
    home.ok(&["import", fixture]);
    let imported = home.json(&["sessions", "--all"]);
    let session = &imported[0][0];
    assert_eq!((&session["title"], &session["person_turns"]), (&"The slow clock".into(), &4.into()), "{imported:?}");
    let id = session["id"].as_str().unwrap();
    let found = home.ok(&["recall", "--session", id, "--turns", "2-2"]);
    assert!(found.contains("turn 2") && found.contains("Why is the clock slow?"), "{found}");
    assert!(!found.contains("turn 3"), "{found}");
    // A new session of the tree names those turns by their numbers too.
    home.ok(&["trees", "--use", "slow clock"]);
    let found = home.ok(&["do", "--as", "collaborator", "→ recall turns:2-2"]);
    assert!(
        found.contains("of an earlier session of this tree") && found.contains("Why is the clock slow?"),
        "{found}"
    );
    let server = Server::with_model("m", [good("You asked about the clock.")]).await;
    let model = format!("{}#m", server.url());
    let told = home.ok(&["resume", id, "-m", &model, "What did I ask first?"]);
    assert!(told.contains("You asked about the clock."), "{told}");
    let prompt = server.requests().pop().unwrap().body["messages"].to_string();
    assert!(prompt.contains("Why is the clock slow?") && prompt.contains("What did I ask first?"), "{prompt}");
}
