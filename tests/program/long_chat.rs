//! Test of a conversation of 300 turns as a process, with a server on loopback. Early directives are followed and early
//! facts found outside of the window. A kill during a turn loses only the text that had not arrived.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;
use crate::support::fake_model_server;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use fake_model_server::{DONE, Server, Step, finish, good, head, models, send, status, text};
use serde_json::{Value, json};
use support::Home;

/// Directive of the second turn, which holds for the whole session.
const ORDER: &str = "Never use an ORM in this project, raw SQL only.";
/// Fact that is mentioned once, in the twelfth turn.
const FACT: &str = "About the machine that was set up in May for the next release of the shop and its friends: \
                    the staging host is called brimstone, and it listens on port 6432.";

/// Running program with its input and events.
struct Talk {
    child: Child,
    lines: ChildStdin,
    events: Receiver<Value>,
}

impl Talk {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&[args, &["--json"]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (lines, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // A line that the kill truncated is ignored.
                let Ok(event) = serde_json::from_str(&line) else { break };
                let _ = send.send(event);
            }
        });
        Self { child, lines, events }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
    }

    /// Waits for a matching event.
    #[track_caller]
    fn wait(&self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(60)).expect("the program goes on");
            if fits(&event) {
                return event;
            }
        }
    }

    /// Sends a line and waits until the reply with these words is saved.
    #[track_caller]
    fn exchange(&mut self, line: &str, answer: &str) {
        self.say(line);
        self.wait(|event| event["event"] == "saved" && event["node"]["content"] == answer);
    }
}

/// User message of a turn, long enough that a few dozen fill the window.
fn small_talk(turn: usize) -> String {
    let day = "We walked along the river, saw the herons by the weir, and came home before it began to rain.";
    format!("Entry {turn} of the diary. {day} {day}")
}

fn reply(turn: usize) -> String {
    format!("Entry {turn} is kept. The herons stay until the river freezes, as they do in most years.")
}

/// Reply with a native tool call.
fn calling(name: &str, arguments: &Value) -> Vec<Step> {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }] });
    vec![head(), send(format!("data: {delta}\n\n")), send(finish("tool_calls")), send(DONE)]
}

fn messages(request: &fake_model_server::Recorded) -> Vec<(String, String)> {
    let all = request.body["messages"].as_array().unwrap();
    all.iter().map(|m| (m["role"].as_str().unwrap().to_owned(), m["content"].to_string())).collect()
}

/// Returns the bytes of a prompt with a placeholder for the random local id of the message.
fn prompt(request: &fake_model_server::Recorded, said: &Value) -> String {
    request.body.to_string().replace(said.as_str().unwrap(), "ID")
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_turns_survive_a_kill_without_loss() {
    let home = Home::new();
    home.ok(&["new", "--title", "shop", "The shop."]);
    let list = || models(&[("m", "somebody")]);
    let server = Server::start([list(), status(401, "", "{\"error\": {\"message\": \"no key\"}}")]).await;
    let model = format!("{}#m", server.url());
    let options = ["-m", &model, "--window", "12000", "--native"];
    let chat = |args: &[&'static str]| -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).chain(options.iter().map(|arg| (*arg).to_owned())).collect()
    };
    let start = |args: &[&'static str]| {
        let args = chat(args);
        Talk::start(&home, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };

    // The first turn fails: the key is wrong. The second has the directive.
    home.fails(1, &[&["chat"], options.as_slice(), &["We build a shop."]].concat());
    server.then([list()]);
    let mut talk = start(&["chat"]);
    for turn in (2..300).step_by(2) {
        server.then([good(&reply(turn))]);
        let said = match turn {
            2 => ORDER.to_owned(),
            12 => FACT.to_owned(),
            _ => small_talk(turn),
        };
        talk.exchange(&said, &reply(turn));
    }

    // Turn 300 refers to an omitted turn: a hint names it, and two commands find it.
    let asked = server.requests().len();
    server.then([
        good("Let me look.\n→ recall search \"staging host\""),
        calling("conversation_recall", &json!({ "action": "range", "start_turn": 13, "end_turn": 13 })),
        good("It is brimstone."),
    ]);
    talk.exchange("What was the name of that staging host again?", "It is brimstone.");
    let requests = server.requests().split_off(asked);
    let first = messages(&requests[0]);
    let texts: Vec<&str> = first.iter().map(|(_, text)| text.as_str()).collect();
    let shown = texts.join("\n");
    assert!(shown.contains(&small_talk(298)) && !shown.contains(&small_talk(150)), "the window is full");
    let (block, window) = texts.split_last().unwrap();
    assert!(window.iter().all(|text| !text.contains("brimstone")), "what was said is out of it");
    assert!(block.contains("brimstone"), "the hint quotes it: {block}");
    assert!(!shown.contains("turn_count"), "the state has what the model uses");
    let state = shown.split("constraints:").nth(1).expect("the state has constraints");
    assert!(state.starts_with(&format!("\\n- {ORDER} (turn 3)")), "{state}");
    assert_eq!(shown.matches("Never use an ORM").count(), 1, "only the state says it");
    let hint = &first.last().unwrap().1;
    assert!(hint.contains("Hint: ") && hint.contains("turn 13") && hint.contains("→ recall search"), "{hint}");
    let found = &messages(&requests[1]).last().unwrap().1.clone();
    assert!(found.contains("[Turn 13] human") && found.contains(FACT), "{found}");
    let mut answers = requests[2].body["messages"].as_array().unwrap().iter();
    let by_call = answers.rfind(|message| message["role"] == "tool" && message["tool_call_id"] == "call-1");
    let by_call = by_call.expect("the call is answered")["content"].as_str().unwrap();
    assert!(by_call.contains("[Turn 13] human") && by_call.contains(FACT), "{by_call}");
    for request in &requests {
        assert!(request.body.to_string().contains(ORDER));
    }

    // Copies the file between two turns; then the process dies during the next reply.
    home.ok(&["backup", "between.db"]);
    let asked = server.requests().len();
    server.then([vec![head(), send(text("It listens on ")), Step::Stall]]);
    talk.say("And its port?");
    let said = talk.wait(|event| event["event"] == "said")["node"]["local_id"].clone();
    talk.wait(|event| event["event"] == "text" && event["text"] == "It listens on ");
    let unbroken = prompt(&server.requests()[asked], &said);
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
    server.client_closed(1).await;

    // After a resume the interrupted turn is present, marked, and the conversation continues.
    let listed = home.json(&["sessions"]);
    assert_eq!(listed[0][0]["first_words"], "The shop.", "{listed:?}");
    let session = listed[0][0]["id"].as_str().unwrap().to_owned();
    server.then([list(), good("Sorry: on port 6432.")]);
    let told = home.ok(&[&["resume", &session], options.as_slice(), &["Go on."]].concat());
    assert!(told.contains("is a partial reply: the process ended") && told.contains("Sorry: on port 6432."), "{told}");
    let path = home.json(&["view"]);
    let end: Vec<_> = path[path.len() - 4..]
        .iter()
        .map(|node| (node["content"].as_str().unwrap(), node["interrupted"].as_bool().unwrap_or(false)))
        .collect();
    let cut = [("And its port?", false), ("It listens on ", true), ("Go on.", false), ("Sorry: on port 6432.", false)];
    assert_eq!(end, cut);

    // Killed between the turns, the next prompt would have been byte-equal.
    for name in ["loom.db", "loom.db-wal", "loom.db-shm"] {
        let _ = fs::remove_file(home.file(name));
    }
    fs::rename(home.file("between.db"), home.file("loom.db")).unwrap();
    let asked = server.requests().len();
    server.then([list(), good("On port 6432.")]);
    let args = [&["resume", "--newest", "And its port?"], options.as_slice()].concat();
    let events = home.json(&args);
    let said = events.iter().find(|event| event["event"] == "said").unwrap()["node"]["local_id"].clone();
    assert_eq!(prompt(&server.requests()[asked + 1], &said), unbroken);
}

/// One conversation on the screen, in chats, by `say` and `continue`, killed and resumed: `LOOM_TURNS` sets the number of
/// its messages.
#[cfg(all(feature = "tui", unix))]
#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_the_screen_holds_in_every_interface_and_after_a_kill() {
    let turns = usize::try_from(crate::support::rounds::of("LOOM_TURNS", 24, 300)).unwrap();
    let home = Home::new();
    home.ok(&["new", "--title", "shop", "The shop."]);
    let server = Server::with_model("m", [good("Raw SQL it is.")]).await;
    let folder = home.file(".config/loomtree");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("model: {}#m\nwindow: 12000\n", server.url())).unwrap();
    let mut screen = crate::support::pty::Terminal::start(&home, &[]);
    screen.sees("saved");
    screen.keys(&format!("i{ORDER}\r"));
    screen.sees("depth 1");
    screen.keys("r");
    screen.sees("Raw SQL it is.");
    // While the reply is being saved, `q` asks.
    screen.sees("r answer");
    screen.keys("q");
    assert_eq!(screen.ends(), 0);
    for turn in (4..turns / 2).step_by(2) {
        server.then([good(&reply(turn))]);
        home.ok(&["say", &small_talk(turn)]);
        home.ok(&["continue", "-n", "1", "--by", "collaborator"]);
    }
    let mut talk = Talk::start(&home, &["chat"]);
    for turn in (turns / 2..turns).step_by(2) {
        server.then([good(&reply(turn))]);
        talk.exchange(&small_talk(turn), &reply(turn));
    }
    server.then([vec![head(), send(text("It is ")), Step::Stall]]);
    talk.say("Which database?");
    talk.wait(|event| event["event"] == "text" && event["text"] == "It is ");
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
    let collaborators = || -> Vec<Value> {
        let sessions = home.json(&["sessions", "--all"]);
        let all = sessions.iter().flat_map(|row| row.as_array().unwrap());
        all.filter(|session| session["agent"] == "collaborator").cloned().collect()
    };
    let session = collaborators()[0]["id"].as_str().unwrap().to_owned();
    server.then([good("Postgres.")]);
    assert!(home.ok(&["resume", &session, "Go on."]).contains("Postgres."));
    let requests = server.requests();
    for request in requests.iter().filter(|request| request.line.starts_with("POST")).skip(1) {
        let shown = request.body.to_string();
        assert!(shown.contains(&format!("constraints:\\n- {ORDER} (turn 2)")), "{shown}");
    }
    // The root, the order, the talk, and the two last questions are turns of one session.
    let said = (4..turns / 2).step_by(2).count() + (turns / 2..turns).step_by(2).count() + 4;
    let own = collaborators();
    assert_eq!((own.len(), &own[0]["person_turns"]), (1, &said.into()), "{own:?}");
}
