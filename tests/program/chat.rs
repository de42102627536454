//! Tests of `loom chat` in a pseudo-terminal and through pipes, with a server on loopback.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;
use crate::support::fake_model_server;
use crate::support::pty;

use fake_model_server::{DONE, Server, Step, finish, good, head, models, send, text};
use pty::Terminal;
use support::Home;

fn hanging(words: &str) -> Vec<Step> {
    vec![head(), send(text(words)), Step::Stall]
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_in_a_terminal_with_an_agent_that_runs_commands() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let server = Server::start([
        models(&[("m", "somebody")]),
        vec![
            head(),
            send(text("Let me note that.\n")),
            send(text(&format!("→ annotate {root} \"a question\"\nSo"))),
            send(text(" it is.")),
            send(finish("stop")),
            send(DONE),
        ],
        good("Noted. \u{1b}[31mRed."),
        hanging("Half a "),
    ])
    .await;
    let mut terminal = Terminal::start(&home, &["chat", "-m", &format!("{}#m", server.url())]);
    terminal.wait("Ctrl-D ends", 1);
    terminal.wait(">  ", 1);
    terminal.keys("Note it, please.\r");
    terminal.wait("Let me note that.", 1);
    terminal.wait("✓ annotation", 1);
    // The id of the reply is named as one.
    terminal.wait(" · 2 rounds", 1);
    terminal.sees("node ");
    let shown = terminal.text();
    assert!(!shown.contains("So it is."), "what was said without the answers is not shown: {shown}");
    assert!(!shown.contains("\u{1b}[31m"), "content is no control code: {shown:?}");
    // A command of the user, and a turn that is cancelled.
    terminal.keys("→ tree\r");
    terminal.wait("* you are here", 1);
    terminal.keys("And then?\r");
    terminal.wait("Half a ", 1);
    terminal.keys("\u{3}");
    terminal.wait_after("cancelled", ">  ");
    // The program runs until its input ends.
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
    terminal.sees("`loom resume` continues it");

    let path = home.json(&["view"]);
    let said: Vec<_> = path.iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(
        said,
        ["Who is Marie?", "Note it, please.", "Let me note that.", "Noted. \u{1b}[31mRed.", "And then?", "Half a "]
    );
    assert_eq!(path[5]["interrupted"].as_bool(), Some(true));
    let second = &server.requests()[2].body["messages"];
    let last = second.as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(last.contains("=== Results ===\n→ annotate") && last.contains("✓ annotation ["), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_through_pipes_prints_events() {
    let home = Home::new();
    home.start("Who is Marie?");
    let server =
        Server::start([models(&[("m", "somebody")]), good("→ memory"), good("Nothing yet."), good("Yes.")]).await;
    let model = format!("{}#m", server.url());
    let ran =
        home.pipe(&["chat", "-m", &model, "--json"], "What do you keep?\n\n→ switch to root\nTwo lines\\\nof it?\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let events: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        named,
        ["said", "saved", "ran", "round", "text", "saved", "ran", "said", "text", "saved"],
        "{}",
        ran.out
    );
    assert_eq!(events[2]["line"], "→ memory");
    assert_eq!(events[7]["node"]["content"], "Two lines\nof it?");
    assert_eq!(home.json(&["view"]).len(), 3, "it went on from the root");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_message_is_one_turn_with_an_exit_code() {
    let home = Home::new();
    home.start("Who is Marie?");
    let server = Server::start([models(&[("m", "somebody")]), good("A girl.")]).await;
    let model = format!("{}#m", server.url());
    let said = home.ok(&["chat", "Tell me.", "--with", "subject", "-m", &model]);
    assert_eq!(said, "A girl.\n");
    let ran = home.run(&["chat", "And?", "-m", "http://127.0.0.1:9/v1#m"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.err.matches("cannot connect").count(), 1, "{ran:?}");
    let said = home.fails(2, &["chat", "Hm.", "--with", "owner"]);
    assert!(said.contains("cannot talk with itself"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn continue_by_a_loom_aware_agent_is_a_turn() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let server = Server::start([
        models(&[("m", "somebody")]),
        good(&format!("I mark it.\n→ bookmark {root} \"here\"")),
        good("Done."),
    ])
    .await;
    let model = format!("{}#m", server.url());
    let said = home.ok(&["continue", "-n", "1", "--by", "collaborator", "-m", &model]);
    assert!(said.contains("✓ bookmarked") && said.ends_with("Done.\n"), "{said}");
    let path = home.json(&["view"]);
    assert_eq!(path.last().unwrap()["content"], "Done.");
    assert!(home.ok(&["tree"]).contains("★ here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn continue_in_a_chat_uses_the_model_that_the_user_named() {
    let home = Home::new();
    home.start("Who is Marie?");
    let replies = [good("→ continue words:9\n"), good("She goes on."), good("It went on."), good("A girl.")];
    let server = Server::with_model("m", replies).await;
    let model = format!("{}#m", server.url());
    let said = home.ok(&["chat", "Go on.", "-m", &model]);
    assert!(said.contains("✓ 1 continuation") && said.ends_with("It went on.\n"), "{said}");
    // The user's own line too.
    let said = home.pipe(&["chat", "-m", &model], "→ continue words:9\n");
    assert!(said.out.contains("✓ 1 continuation"), "{said:?}");
    // Without any model, an agent learns what it can do instead.
    let said = home.run(&["do", "continue"]).out;
    assert!(said.contains("NOT_CONFIGURED") && said.contains("→ respond ID \"text\""), "{said}");
}

#[cfg(feature = "workspace")]
#[tokio::test(flavor = "multi_thread")]
async fn a_question_names_its_agent_and_comes_after_earlier_results() {
    let home = Home::new();
    home.start("A small project.");
    let reply = "I look and write.\n→ tree\n→ run_command command:\"true\" seconds:300\n";
    let server = Server::with_model("m", [good(reply), good("Refused.")]).await;
    let mut terminal = Terminal::start(&home, &["chat", "--tools", "-m", &format!("{}#m", server.url())]);
    terminal.wait(">  ", 1);
    terminal.keys("Do it.\r");
    terminal.wait("Allow it?", 1);
    let shown = terminal.text();
    let (tree, heading) = (shown.find("* you are here").unwrap(), shown.find(" · collaborator").unwrap());
    assert!(tree < heading && shown.contains("(at most 300 s)"), "{shown}");
    terminal.keys("n\r");
    terminal.wait_after("Refused.", ">  ");
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
}

/// Returns the last tool answers of a request.
#[cfg(feature = "workspace")]
fn last_message(server: &Server, request: usize) -> String {
    let messages = server.requests()[request].body["messages"].clone();
    messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[cfg(feature = "workspace")]
#[tokio::test(flavor = "multi_thread")]
async fn file_changes_are_approved_at_the_terminal() {
    let home = Home::new();
    home.start("A small project.");
    let write = |name: &str| good(&format!("I write it.\n→ write_file path:\"{name}\" <<<\none\u{1b}[2J\n>>>"));
    let server = Server::start([
        models(&[("m", "somebody")]),
        write("a.txt"),
        good("Written."),
        write("b.txt"),
        good("Refused."),
        write("c.txt"),
    ])
    .await;
    let mut terminal = Terminal::start(&home, &["chat", "--tools", "-m", &format!("{}#m", server.url())]);
    terminal.wait(">  ", 1);
    terminal.keys("Write a.\r");
    terminal.wait("create a.txt (1 line)", 1);
    terminal.wait("Allow it?", 1);
    assert!(
        terminal.text().contains("+one\\u{1b}[2J"),
        "what would be written is shown, harmless: {}",
        terminal.text()
    );
    assert!(!home.file("a.txt").exists());
    terminal.keys("y\r");
    terminal.wait("✓ write_file", 1);
    terminal.wait("Written.", 1);
    terminal.keys("Write b.\r");
    terminal.wait("Allow it?", 2);
    terminal.keys("not that one\r");
    terminal.wait("Refused.", 1);
    // A withdrawn question consumes no later line.
    terminal.keys("Write c.\r");
    terminal.wait("Allow it?", 3);
    terminal.keys("\u{3}");
    terminal.wait("cancelled", 1);
    terminal.keys("→ read_file path:\"a.txt\"\r");
    terminal.wait("a.txt · 1 line", 1);
    terminal.wait(">  ", 5);
    terminal.keys("→ write_file path:\"d.txt\" content:\"mine\"\r");
    terminal.wait("created d.txt", 1);
    assert_eq!(std::fs::read_to_string(home.file("a.txt")).unwrap(), "one\u{1b}[2J");
    assert!(!home.file("b.txt").exists() && !home.file("c.txt").exists() && home.file("d.txt").exists());
    let told = last_message(&server, 4);
    assert!(told.contains("✗ CANCELLED: write_file: it was refused: not that one"), "{told}");
}

#[cfg(feature = "workspace")]
#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_only_allowed_actions_run() {
    let home = Home::new();
    home.start("A small project.");
    let both = "→ write_file path:\"src/a.txt\" content:\"a\"\n→ write_file path:\"b.txt\" content:\"b\"";
    let server = Server::start([models(&[("m", "somebody")]), good(both), good("Done.")]).await;
    let model = format!("{}#m", server.url());
    std::fs::write(home.file("config.yaml"), "workspace:\n  write: ['src/**']\n").unwrap();
    let config = home.file("config.yaml");
    home.ok(&["--config", config.to_str().unwrap(), "chat", "--tools", "-m", &model, "Write both."]);
    let told = last_message(&server, 2);
    assert!(told.contains("created src/a.txt · 1 line") && told.contains("no terminal to ask at"), "{told}");
    assert!(home.file("src/a.txt").exists() && !home.file("b.txt").exists());
    let said = home.fails(2, &["continue", "--tools", "-m", &model]);
    assert!(said.contains("one continuation by an agent that runs commands"), "{said}");
}

fn path_of(server: &Server, request: usize) -> String {
    server.requests()[request].body["messages"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_resumed_and_picked() {
    let home = Home::new();
    let server = Server::start([models(&[("m", "somebody")]), good("One.")]).await;
    let list = || models(&[("m", "somebody")]);
    let model = format!("{}#m", server.url());
    home.start("A lighthouse.");
    assert!(home.ok(&["sessions"]).contains("no session has a turn yet"));
    assert!(home.fails(1, &["resume"]).contains("no session in this workspace has a turn yet"));
    home.ok(&["chat", "-m", &model, "The first words."]);
    home.start("A mill.");
    server.then([list(), good("Two.")]);
    home.ok(&["chat", "-m", &model, "The second words."]);

    let listed = home.json(&["sessions"]).remove(0);
    let spoken: Vec<_> =
        listed.as_array().unwrap().iter().filter(|one| one["agent"] == "collaborator").cloned().collect();
    let words: Vec<_> = spoken.iter().map(|one| one["first_words"].as_str().unwrap()).collect();
    assert_eq!(words, ["A mill.", "A lighthouse."], "the last active first");
    assert!(spoken.iter().all(|one| one["turns"] == 3 && one["continues"] == true && one["title"].is_string()));
    let text = home.ok(&["sessions"]);
    assert!(text.contains("2 turns · collaborator") && text.contains("A lighthouse."), "{text}");

    // The newest session with a message; then one by a part of its id; then, through a pipe, the newest again.
    server.then([list(), good("Three.")]);
    assert!(home.ok(&["resume", "--newest", "And then?", "-m", &model]).contains("Three."));
    assert!(path_of(&server, 5).contains("The second words.") && !path_of(&server, 5).contains("The first words."));
    let id = spoken[1]["id"].as_str().unwrap().to_lowercase();
    server.then([list(), good("Four."), list(), good("Five.")]);
    home.ok(&["resume", &id[id.len() - 8..], "Go on.", "-m", &model]);
    assert!(path_of(&server, 7).contains("The first words."));
    assert_eq!(home.pipe(&["resume", "-m", &model], "Again?\n").code, 0);
    assert!(path_of(&server, 9).contains("Go on.") && path_of(&server, 9).contains("Again?"));
    for wrong in ["nosuch", "x", ""] {
        assert!(home.fails(1, &["resume", wrong, "-m", &model]).contains("no session"), "{wrong:?}");
    }

    assert!(home.ok(&["recall", "--turns", "900-800"]).contains("no turns 900 to 800: this session has"));
    // The user's messages are turns of the agent's session, which is the newest.
    assert!(home.ok(&["recall", "--turns", "2-2"]).contains("The first words."));
    let other = spoken[0]["id"].as_str().unwrap();
    assert!(home.ok(&["recall", "--session", other, "--turns", "2-2", "--by", "human"]).contains("The second words."));
    let json = home.json(&["recall", "--session", other, "words"]);
    assert!(!json.is_empty() && json.iter().all(|hit| hit["session_id"] == spoken[0]["id"]), "{json:?}");
    assert!(home.fails(1, &["recall", "--session", "nosuch", "--summary"]).contains("no session"));
    let nothing = home.ok(&["recall", &"qzx wvk ".repeat(10_000)]);
    assert!(nothing.contains("nothing found") && nothing.len() < 200, "{nothing}");
    let summary = home.ok(&["recall", "--summary"]);
    assert!(summary.contains("Summary of this session:") && summary.contains("state:"), "{summary}");

    // In a terminal the user picks: an invalid number prompts again, 2 selects, q quits.
    let mut terminal = Terminal::start(&home, &["resume", "-m", &model]);
    terminal.wait("Session 1-", 1);
    terminal.keys("q\r");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(server.requests().len(), 10, "nobody was asked anything");
    server.then([list(), good("Six.")]);
    let mut terminal = Terminal::start(&home, &["resume", "-m", &model]);
    terminal.wait("Session 1-", 1);
    let shown = terminal.text();
    let second = shown.lines().find(|line| line.contains("  2  ")).unwrap();
    let is_first = second.contains("The first words.");
    terminal.keys("99\r");
    terminal.wait("Session 1-", 2);
    terminal.keys("2\r");
    terminal.wait(">  ", 1);
    terminal.keys("Hello again.\r");
    terminal.wait("Six.", 1);
    terminal.wait(">  ", 2);
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
    let asked = path_of(&server, 11);
    assert!(asked.contains("Hello again.") && asked.contains("The first words.") == is_first, "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_say_appended_is_a_turn_of_the_agent_that_continues() {
    let home = Home::new();
    home.start("A service.");
    let list = || models(&[("m", "somebody")]);
    let server = Server::start([list(), good("Agreed."), list(), good("SELECT 1;")]).await;
    let model = format!("{}#m", server.url());
    home.ok(&["say", "Never use an ORM, raw SQL only."]);
    home.ok(&["continue", "-n", "1", "--by", "collaborator", "-m", &model]);
    home.ok(&["say", "Write the query."]);
    home.ok(&["continue", "-n", "1", "--by", "collaborator", "-m", &model]);
    let request = server.requests()[3].body.to_string();
    for kept in ["constraints:\\n- Never use an ORM, raw SQL only. (turn 2)", "Write the query."] {
        assert!(request.contains(kept), "{kept}: {request}");
    }
    let sessions = home.json(&["sessions"]).remove(0);
    let session = sessions.as_array().unwrap().iter().find(|session| session["model"].is_string()).unwrap()["id"]
        .as_str()
        .unwrap();
    let found = home.json(&["recall", "ORM", "--session", session]);
    assert_eq!(found[0]["content"], "Never use an ORM, raw SQL only.", "{found:?}");
}

#[test]
fn a_failed_request_says_what_to_do_and_the_chat_goes_on() {
    let home = Home::new();
    home.start("A question.");
    // Nothing listens at port 1.
    let mut terminal = Terminal::start(&home, &["chat", "-m", "http://127.0.0.1:1/v1#m"]);
    terminal.wait(">  ", 1);
    terminal.keys("Are you there?\r");
    terminal.wait_after("loom doctor", ">  ");
    let shown = terminal.text();
    assert!(shown.contains("hint:") && shown.contains("start the server"), "{shown}");
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
}

/// `native: true` in the configuration does what `--native` does.
#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_offers_native_tools() {
    let home = Home::new();
    home.ok(&["new", "Once."]);
    let config = home.file("config.yaml");
    std::fs::write(&config, "native: true\n").unwrap();
    for (options, offered) in [(vec![], false), (vec!["--config", config.to_str().unwrap()], true)] {
        let server = Server::start([models(&[("m", "somebody")]), good("Yes.")]).await;
        let model = format!("{}#m", server.url());
        home.ok(&[options.as_slice(), &["chat", "-m", &model, "Is it?"]].concat());
        let request = server.requests().pop().unwrap();
        assert_eq!(request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty()), offered);
    }
}
