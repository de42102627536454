//! `loom serve`: delegations that are started, approved, refused, followed, cancelled and resumed over HTTP.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{Server, Step, good, head, models, send, text},
    loom_server::{HttpServer, answer, events},
};

const PASSED: &str = r#"{"passed": true, "why": "two coats"}"#;

/// Plan of two subtasks; the second depends on the first.
fn plan() -> Vec<Step> {
    let part = |id: &str, needs: &[&str]| json!({ "id": id, "title": format!("Paint the {id}"), "details": "green", "criteria": "two coats", "depends_on": needs });
    good(&json!({ "subtasks": [part("front", &[]), part("back", &["front"])] }).to_string())
}

/// Requests after the approval of the plan.
fn work() -> Vec<Vec<Step>> {
    vec![good("The front is done."), good(PASSED), good("The back is done."), good(PASSED)]
}

/// Writes a configuration with the model, and returns the arguments that name it.
fn config(home: &Home, model: &Server) -> Vec<String> {
    let path = home.file("config.yaml");
    std::fs::write(&path, format!("model: {}#m\ndelegate:\n  parallel: 1\n", model.url())).unwrap();
    vec!["--config".to_owned(), path.to_str().unwrap().to_owned()]
}

async fn start<'h>(home: &'h Home, model: &Server) -> HttpServer<'h> {
    let arguments = config(home, model);
    HttpServer::start(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Starts a delegation below the root of a new tree. Returns the path of the delegation.
async fn delegate(server: &HttpServer<'_>) -> String {
    let created = server.ok("/api/v1/trees", json!({ "content": "A shed." })).await;
    let goal = json!({ "node": created["root"]["id"], "goal": "Paint the shed", "context": "It is wet." });
    let (status, entry) = server.post("/api/v1/delegations", goal).await;
    assert_eq!((status, &entry["state"]), (202, &json!("running")), "{entry}");
    format!("/api/v1/delegations/{}", entry["head"]["id"].as_str().unwrap())
}

/// Waits for the approval of a delegation's plan, and returns it.
async fn waiting(server: &HttpServer<'_>, delegation: &str) -> Value {
    for _ in 0..400 {
        let waiting = server.get("/api/v1/approvals").await.1["data"][0].clone();
        if !waiting.is_null() {
            assert_eq!(waiting["tool"], "delegate");
            assert!(delegation.ends_with(waiting["node"].as_str().unwrap()), "{waiting}");
            assert_eq!(server.get(delegation).await.1["approval"], waiting["id"]);
            return waiting;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("no plan waits for an approval");
}

async fn decide(server: &HttpServer<'_>, waiting: &Value, decision: Value) -> u16 {
    server.post(&format!("/api/v1/approvals/{}", waiting["id"]), decision).await.0
}

/// Reads the events of a delegation to their end.
async fn follow(server: &HttpServer<'_>, delegation: &str) -> Vec<(String, String, Value)> {
    events(server.request(Method::GET, &format!("{delegation}/events")).send().await.unwrap(), usize::MAX).await
}

fn of_kind<'e>(events: &'e [(String, String, Value)], kind: &str) -> Vec<&'e str> {
    events.iter().filter(|(known, ..)| known == kind).map(|(.., data)| data["event"].as_str().unwrap_or("")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_is_started_approved_and_followed_to_its_report() {
    let home = Home::new();
    let model = Server::start([vec![models(&[("m", "m")]), plan()], work()].concat()).await;
    let mut server = start(&home, &model).await;
    let delegation = delegate(&server).await;
    let stream = server.request(Method::GET, &format!("{delegation}/events")).send().await.unwrap();
    let plan = waiting(&server, &delegation).await;
    assert!(plan["details"].as_str().unwrap().contains("Paint the front"), "{plan}");
    assert_eq!(decide(&server, &plan, json!({ "approve": true })).await, 204);
    assert_eq!(decide(&server, &plan, json!({ "approve": true })).await, 404, "a decision is made once");
    let live = tokio::time::timeout(Duration::from_secs(20), events(stream, usize::MAX)).await.unwrap();
    let stored =
        ["begun", "planned", "approved", "started", "finished", "verified", "started", "finished", "verified", "ended"];
    assert_eq!(of_kind(&live, "event"), stored);
    assert!(of_kind(&live, "progress").contains(&"verdict"), "{live:?}");
    let (kind, _, end) = live.last().unwrap();
    assert_eq!((kind.as_str(), &end["report"]["state"]), ("end", &json!("completed")), "{end}");
    // A client that was away gets the events after the last one that it knows.
    let resumed = server.request(Method::GET, &format!("{delegation}/events")).header("last-event-id", "8");
    let resumed = events(resumed.send().await.unwrap(), usize::MAX).await;
    assert_eq!(resumed.iter().map(|(_, id, _)| id.as_str()).collect::<Vec<_>>(), ["9", "10", ""]);
    let (_, detail) = server.get(&delegation).await;
    assert_eq!((&detail["state"], detail["events"].as_array().unwrap().len()), (&json!("ended"), stored.len()));
    assert_eq!((&detail["goal"], &detail["report"]["state"]), (&json!("Paint the shed"), &json!("completed")));
    let (_, listed) = server.get("/api/v1/delegations").await;
    assert_eq!(listed["data"][0]["head"]["id"], detail["head"]["id"]);
    assert!(home.ok(&["do", "recall tool:delegate"]).contains("task completed"), "the report is in the tree");
    assert_eq!(answer(server.request(Method::DELETE, &delegation)).await.0, 409, "it has ended");
    let goal = json!({ "node": detail["head"]["id"], "goal": " " });
    assert_eq!(server.post("/api/v1/delegations", goal).await.0, 422);
    let root = detail["head"]["parent_id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/v1/delegations/{root}")).await.0, 404, "not every node is a delegation");
    // The report is stored, so it outlives the server.
    tokio::task::block_in_place(|| server.kill());
    let server = start(&home, &model).await;
    assert_eq!(server.get(&delegation).await.1["report"], detail["report"]);
    let end = follow(&server, &delegation).await.pop().unwrap();
    assert_eq!((end.0.as_str(), &end.2["report"]), ("end", &detail["report"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_refused_and_work_is_cancelled_and_resumed() {
    let home = Home::new();
    let hanging = vec![head(), send(text("I begin ")), Step::Stall];
    let model = Server::start([vec![models(&[("m", "m")]), plan(), hanging], work()].concat()).await;
    let server = start(&home, &model).await;
    let delegation = delegate(&server).await;
    let plan = waiting(&server, &delegation).await;
    assert_eq!(decide(&server, &plan, json!({ "approve": false, "reason": "not today" })).await, 204);
    let refused = follow(&server, &delegation).await;
    assert!(refused.last().unwrap().2["error"]["message"].as_str().unwrap().contains("not today"), "{refused:?}");
    assert_eq!(server.get(&delegation).await.1["state"], "refused");
    assert!(home.ok(&["do", "recall tool:delegate"]).contains("not today"), "the failure is in the tree");
    let resume = format!("{delegation}/resume");
    assert_eq!(server.post(&resume, json!({})).await.0, 202);
    let plan = waiting(&server, &delegation).await;
    assert_eq!(server.post(&resume, json!({})).await.0, 409, "it is running");
    decide(&server, &plan, json!({ "approve": true })).await;
    for _ in 0..400 {
        if model.requests().len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(answer(server.request(Method::DELETE, &delegation)).await.0, 202);
    let stopped = follow(&server, &delegation).await;
    assert_eq!(stopped.last().unwrap().2["report"]["state"], "stopped", "{stopped:?}");
    assert_eq!(server.post(&resume, json!({})).await.0, 202);
    let ended = follow(&server, &delegation).await;
    assert_eq!(ended.last().unwrap().2["report"]["state"], "completed", "{ended:?}");
    // The permission of the acting agent decides, not the token alone.
    let (_, detail) = server.get(&delegation).await;
    let goal = json!({ "node": detail["head"]["id"], "goal": "more" });
    let asked = server.request(Method::POST, "/api/v1/delegations").header("x-loom-agent", "subject").json(&goal);
    assert_eq!(answer(asked).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_the_server_leaves_a_delegation_that_resumes() {
    let home = Home::new();
    let hanging = vec![head(), send(text("I begin ")), Step::Stall];
    let model =
        Server::start([vec![models(&[("m", "m")]), plan(), hanging, models(&[("m", "m")])], work()].concat()).await;
    let mut server = start(&home, &model).await;
    let delegation = delegate(&server).await;
    let plan = waiting(&server, &delegation).await;
    decide(&server, &plan, json!({ "approve": true })).await;
    let stream = server.request(Method::GET, &format!("{delegation}/events")).send().await.unwrap();
    for _ in 0..400 {
        if model.requests().len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let ended = tokio::spawn(events(stream, usize::MAX));
    assert!(tokio::task::block_in_place(|| server.terminate()).success());
    assert!(matches!(ended.await.unwrap().last().unwrap().0.as_str(), "bye" | "end"));
    assert!(home.ok(&["delegate", "--list"]).contains("stopped"));
    let server = start(&home, &model).await;
    assert_eq!(server.post(&format!("{delegation}/resume"), json!({})).await.0, 202);
    assert_eq!(follow(&server, &delegation).await.last().unwrap().2["report"]["state"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_decided_by_tokens_of_its_own_project_only() {
    let home = Home::new();
    let model = Server::start([vec![models(&[("m", "m")]), plan()], work()].concat()).await;
    let token =
        |name: &str| home.ok(&["serve", "token", "new", name, "--project", name, "--scope", "admin"]).trim().to_owned();
    let (red, blue) = (token("red"), token("blue"));
    let server = start(&home, &model).await;
    let send = async |token: &str, method: Method, path: &str, body: Value| {
        answer(server.request(method, path).bearer_auth(token).json(&body)).await
    };
    let (_, created) = send(&red, Method::POST, "/api/v1/trees", json!({ "content": "A shed." })).await;
    let goal = json!({ "node": created["root"]["id"], "goal": "Paint the shed" });
    let (status, entry) = send(&red, Method::POST, "/api/v1/delegations", goal).await;
    assert_eq!(status, 202, "{entry}");
    let mut waiting = Value::Null;
    for _ in 0..400 {
        waiting = send(&red, Method::GET, "/api/v1/approvals", Value::Null).await.1["data"][0].clone();
        if !waiting.is_null() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(waiting["node"], entry["head"]["id"]);
    assert_eq!(send(&blue, Method::GET, "/api/v1/approvals", Value::Null).await.1, json!({ "data": [] }));
    assert_eq!(send(&blue, Method::GET, "/api/v1/delegations", Value::Null).await.1, json!({ "data": [] }));
    let path = format!("/api/v1/approvals/{}", waiting["id"]);
    assert_eq!(send(&blue, Method::POST, &path, json!({ "approve": true })).await.0, 404);
    let always = json!({ "approve": true, "always": true });
    assert_eq!(send(&red, Method::POST, &path, always).await.0, 403, "it would hold for other projects");
    assert_eq!(send(&red, Method::POST, &path, json!({ "approve": true })).await.0, 204);
}
