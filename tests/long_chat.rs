//! A conversation of 300 turns by the real program, with a real server on loopback: what was said early is obeyed and found
//! though it is far out of the window, and a kill in mid-turn costs the words that had not come, and nothing else.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[path = "support/sse.rs"]
mod sse;
#[path = "support/cli.rs"]
mod support;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use serde_json::{Value, json};
use sse::{DONE, Server, Step, finish, good, head, models, send, status, text};
use support::Home;

/// What is said in the second turn, and is to hold for ever.
const ORDER: &str = "Never use an ORM in this project, raw SQL only.";
/// What is said in the twelfth, once.
const FACT: &str = "The staging host is called brimstone, and it listens on port 6432.";

/// A conversation that is held with the program while it runs.
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
                // A line that a kill cut off is none.
                let Ok(event) = serde_json::from_str(&line) else { break };
                let _ = send.send(event);
            }
        });
        Self { child, lines, events }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
    }

    /// Waits for an event that fits.
    #[track_caller]
    fn wait(&self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(60)).expect("the program goes on");
            if fits(&event) {
                return event;
            }
        }
    }

    /// Says a line, and waits until the answer with these words is saved.
    #[track_caller]
    fn exchange(&mut self, line: &str, answer: &str) {
        self.say(line);
        self.wait(|event| event["event"] == "saved" && event["node"]["content"] == answer);
    }
}

/// What a person says in a turn: long enough that a few dozen fill the window.
fn small_talk(turn: usize) -> String {
    let day = "We walked along the river, saw the herons by the weir, and came home before it began to rain.";
    format!("Entry {turn} of the diary. {day} {day}")
}

fn reply(turn: usize) -> String {
    format!("Entry {turn} is kept. The herons stay until the river freezes, as they do in most years.")
}

/// An answer that calls a tool in the provider's own way.
fn calling(name: &str, arguments: &Value) -> Vec<Step> {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }] });
    vec![head(), send(format!("data: {delta}\n\n")), send(finish("tool_calls")), send(DONE)]
}

fn messages(request: &sse::Recorded) -> Vec<(String, String)> {
    let all = request.body["messages"].as_array().unwrap();
    all.iter().map(|m| (m["role"].as_str().unwrap().to_owned(), m["content"].to_string())).collect()
}

/// The bytes of a prompt; the short id of the message that is answered is drawn anew each time.
fn prompt(request: &sse::Recorded, said: &Value) -> String {
    request.body.to_string().replace(said.as_str().unwrap(), "ID")
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_turns_forget_nothing_and_a_kill_changes_nothing() {
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

    // The first turn gets no answer: the key is wrong. The second has the order.
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

    // Turn 300 refers to what is out of sight: a hint says so, and two doors lead there.
    let asked = server.requests().len();
    server.then([
        good("Let me look.\n→ recall search \"staging host\""),
        calling("conversation_recall", &json!({ "action": "range", "start_turn": 12, "end_turn": 12 })),
        good("It is brimstone."),
    ]);
    talk.exchange("What was the name of that staging host again?", "It is brimstone.");
    let requests = server.requests().split_off(asked);
    let first = messages(&requests[0]);
    let shown = first.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    assert!(shown.contains(&small_talk(298)) && !shown.contains(&small_talk(150)), "the window is full");
    assert!(!shown.contains("brimstone"), "what was said is out of it");
    assert!(shown.contains("turn_count: 300"), "{shown}");
    let state = shown.split("constraints:").nth(1).expect("the state has constraints");
    assert!(state.starts_with(&format!("\\n- {ORDER} (turn 2)")), "{state}");
    assert_eq!(shown.matches("Never use an ORM").count(), 1, "only the state says it");
    let hint = &first.last().unwrap().1;
    assert!(hint.contains("Hint: ") && hint.contains("turn 12") && hint.contains("→ recall search"), "{hint}");
    let found = &messages(&requests[1]).last().unwrap().1.clone();
    assert!(found.contains("[Turn 12] human") && found.contains(FACT), "{found}");
    let mut answers = requests[2].body["messages"].as_array().unwrap().iter();
    let by_call = answers.rfind(|message| message["role"] == "tool" && message["tool_call_id"] == "call-1");
    let by_call = by_call.expect("the call is answered")["content"].as_str().unwrap();
    assert!(by_call.contains("[Turn 12] human") && by_call.contains(FACT), "{by_call}");
    for request in &requests {
        assert!(request.body.to_string().contains(ORDER));
    }

    // The file as it is between two turns; then the next turn begins, and the process dies within the reply.
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

    // Resumed, the turn that was cut off is there as far as it came, and marked, and the conversation goes on after it.
    let listed = home.json(&["sessions"]);
    assert_eq!(listed[0][0]["first_words"], "We build a shop.", "{listed:?}");
    let session = listed[0][0]["id"].as_str().unwrap().to_owned();
    server.then([list(), good("Sorry: on port 6432.")]);
    let told = home.ok(&[&["resume", &session], options.as_slice(), &["Go on."]].concat());
    assert!(told.contains("was cut off within the reply") && told.contains("Sorry: on port 6432."), "{told}");
    let path = home.json(&["view"]);
    let end: Vec<_> = path[path.len() - 4..]
        .iter()
        .map(|node| (node["content"].as_str().unwrap(), node["interrupted"].as_bool().unwrap_or(false)))
        .collect();
    let cut = [("And its port?", false), ("It listens on ", true), ("Go on.", false), ("Sorry: on port 6432.", false)];
    assert_eq!(end, cut);

    // Had it died between the turns, the next prompt would have been byte for byte what it was.
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
