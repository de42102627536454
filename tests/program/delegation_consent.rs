//! The ways in which a delegation can begin, each with the consent that it needs: a table of entry point, advance approval and
//! effect. No agent was given a permission: the collaborator may delegate by default.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{Server, Step, good},
    loom_server::{HttpServer, answer},
    mcp::{McpProcess, text},
    pty::Terminal,
};

/// An entry point of delegations.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// The model's reply in `loom chat` at a terminal, in a script, and in a script of `loom resume`.
    Chat,
    ChatScript,
    ResumeScript,
    /// The model's reply in `loom continue --by collaborator`.
    Continue,
    /// The user's line in `loom chat` at a terminal, and as an argument of `loom do`.
    ChatLine,
    Do,
    /// `loom delegate` in a script.
    Command,
    /// The reply of the screen's collaborator, and the user's line there.
    Screen,
    ScreenLine,
    /// A reply of the collaborator over HTTP.
    Http,
    /// A tool call over MCP by a client that cannot ask, and by one that asks the user.
    Mcp,
    McpAsking,
    /// A reply of the collaborator, which the model of an MCP client had continue. The client's agent may do everything.
    McpInvoked,
}

/// The advance approval of plans.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Approval {
    None,
    /// `--allow-delegate`.
    Flag,
    /// `delegate.allow`.
    Config,
}

/// The effect of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Effect {
    /// The work runs without a question.
    Runs,
    /// The user is asked; without a yes no work runs.
    Asks,
    /// Nobody can be asked, and no work runs.
    Refused,
}

const HANDS_OVER: &str = "I hand it over.\n→ delegate \"Paint the shed\"";
const LINE: &str = "→ delegate \"Paint the shed\"";

fn plan() -> Vec<Step> {
    good(&json!({ "subtasks": [{ "id": "all", "title": "Paint all", "criteria": "two coats" }] }).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_plan_is_asked_about_unless_plans_were_allowed() {
    use By::*;
    use Effect::*;
    let table = [
        (Chat, Approval::None, Asks),
        (ChatScript, Approval::None, Refused),
        (ChatScript, Approval::Flag, Runs),
        (ChatScript, Approval::Config, Runs),
        (ResumeScript, Approval::None, Refused),
        (ResumeScript, Approval::Flag, Runs),
        (Continue, Approval::None, Refused),
        (Continue, Approval::Flag, Runs),
        (ChatLine, Approval::None, Asks),
        (Do, Approval::None, Refused),
        (Do, Approval::Config, Runs),
        (Command, Approval::None, Refused),
        (Command, Approval::Flag, Runs),
        (Screen, Approval::None, Asks),
        (Screen, Approval::Config, Runs),
        (ScreenLine, Approval::None, Asks),
        (Http, Approval::None, Asks),
        (Http, Approval::Config, Runs),
        (Mcp, Approval::None, Refused),
        (Mcp, Approval::Config, Runs),
        (McpAsking, Approval::None, Asks),
        (McpInvoked, Approval::None, Refused),
        (McpInvoked, Approval::Config, Runs),
    ];
    for (by, approval, effect) in table {
        let row = format!("{by:?}, approval: {approval:?}, {effect:?}");
        eprintln!("{row}");
        let home = Home::new();
        home.start("A shed.");
        let model = Server::with_model("m", replies(by, effect)).await;
        let allow = if approval == Approval::Config { "\n  allow: true" } else { " {}" };
        let folder = home.file(".config/loomtree");
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!("model: {}#m\ndelegate:{allow}\n", model.url());
        std::fs::write(folder.join("config.yaml"), config).unwrap();
        let flag: &[&str] = if approval == Approval::Flag { &["--allow-delegate"] } else { &[] };
        match by {
            Chat | ChatLine => at_terminal(&home, by),
            ChatScript => _ = home.run(&[&["chat", "Paint it."], flag].concat()),
            ResumeScript => {
                home.ok(&["chat", "Paint it."]);
                home.run(&[&["resume", "--newest", "Now."], flag].concat());
            }
            Continue => _ = home.run(&[&["continue", "-n", "1", "--by", "collaborator"], flag].concat()),
            Do => _ = home.run(&["do", LINE]),
            Command => _ = home.run(&[&["delegate", "Paint the shed"], flag].concat()),
            Screen | ScreenLine => on_screen(&home, by, effect),
            Http => over_http(&home, effect).await,
            Mcp | McpAsking | McpInvoked => over_mcp(&home, by, effect),
        }
        let worked = || model.requests().iter().any(|request| request.body.to_string().contains("Subtask 1 of 1"));
        assert_eq!(worked(), effect == Runs, "{row}: {:#?}", model.requests().last().map(|last| last.body.to_string()));
    }
}

/// The model's replies: a turn that delegates or a line of the user, the plan, the work if it may run.
fn replies(by: By, effect: Effect) -> Vec<Vec<Step>> {
    let by_model = matches!(
        by,
        By::Chat | By::ChatScript | By::ResumeScript | By::Continue | By::Screen | By::Http | By::McpInvoked
    );
    let mut replies = Vec::new();
    replies.extend((by == By::ResumeScript).then(|| good("Well.")));
    replies.extend(by_model.then(|| good(HANDS_OVER)));
    // An invoked agent is refused before it plans.
    replies.extend((by != By::McpInvoked || effect == Effect::Runs).then(plan));
    if effect == Effect::Runs {
        replies.extend([good("It is painted."), good(r#"{"passed": true, "why": "two coats"}"#)]);
    }
    replies.push(good("So it is."));
    replies
}

/// Delegates in `loom chat` and refuses the plan.
fn at_terminal(home: &Home, by: By) {
    let mut terminal = Terminal::start(home, &["chat"]);
    terminal.wait(">  ", 1);
    terminal.keys(&format!("{}\r", if by == By::Chat { "Paint it." } else { LINE }));
    terminal.wait("Allow it?", 1);
    terminal.keys("n\r");
    terminal.wait("it was refused", 1);
}

fn on_screen(home: &Home, by: By, effect: Effect) {
    let mut terminal = Terminal::start(home, &[]);
    terminal.sees("saved");
    terminal.keys(&if by == By::Screen { "r".to_owned() } else { format!("i{LINE}\r") });
    if effect == Effect::Asks {
        terminal.sees("allow it?");
        terminal.keys("n");
    }
    terminal.sees(if by == By::Screen { "So it is." } else { "it was refused" });
}

async fn over_http(home: &Home, effect: Effect) {
    let server = HttpServer::start(home, &[]);
    let tree = server.get("/api/v1/trees").await.1["data"][0].clone();
    let path = format!("/api/v1/nodes/{}/continuations", tree["root_id"].as_str().unwrap());
    let turn = answer(server.request(Method::POST, &path).json(&json!({ "agent": "collaborator" })));
    let refuse = async {
        if effect != Effect::Asks {
            return 204;
        }
        loop {
            let waiting = server.get("/api/v1/approvals").await.1["data"][0].clone();
            if waiting["tool"] == "delegate" {
                let decision = json!({ "approve": false });
                return server.post(&format!("/api/v1/approvals/{}", waiting["id"]), decision).await.0;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (turn, refused) =
        tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(turn, refuse) }).await.unwrap();
    assert_eq!((turn.0, refused), (200, 204), "{}", turn.1);
}

fn over_mcp(home: &Home, by: By, effect: Effect) {
    let args: &[&str] = if by == By::McpInvoked { &["--as", "owner", "--permissions", "all"] } else { &[] };
    let mut server = McpProcess::start(home, args);
    if by == By::McpAsking {
        server.capabilities = json!({ "elicitation": {} });
    }
    server.initialize("2025-11-25");
    if by == By::McpInvoked {
        server.call("loom", json!({ "lines": ["→ continue using agent:\"collaborator\""] }));
    } else {
        let call = json!({ "name": "delegate_task", "arguments": { "goal": "Paint the shed" } });
        server.send_request("tools/call", call);
        let mut message = server.message();
        assert_eq!(message["method"] == "elicitation/create", effect == Effect::Asks, "{message}");
        if effect == Effect::Asks {
            let refusal = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "decline" } });
            server.send(&refusal.to_string());
            message = server.message();
        }
        let shown = text(&message["result"]);
        assert_eq!(shown.contains("permission delegate"), effect != Effect::Runs, "{shown}");
    }
    // A delegation over MCP runs in the background.
    let begun = Instant::now();
    let listed = || -> Option<Value> {
        let ran = home.json(&["delegate", "--list"]);
        ran.first().cloned()
    };
    while effect == Effect::Runs && !listed().is_some_and(|first| first.to_string().contains("ended")) {
        assert!(begun.elapsed().as_secs() < 60, "the delegation never ends: {:?}", listed());
        std::thread::sleep(Duration::from_millis(20));
    }
}
