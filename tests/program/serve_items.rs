//! `loom serve`: conversations of work items, over loopback.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{DONE, Server as Upstream, Step, finish, head, send, status, text, usage},
    loom_server::{HttpServer, answer},
};

const MODEL: &str = "scripted:words";

/// A URL at which no server listens.
const NOWHERE: &str = "http://127.0.0.1:9/v1";

/// Starts a server with a configuration: a part of `conversation`, and the URL of a model `m`.
fn start<'h>(home: &'h Home, conversation: &str, url: &str) -> HttpServer<'h> {
    let model = format!("models: {{ m: {{ base_url: '{url}', model: m, window: 32000, parallel: 4 }} }}");
    std::fs::write(home.file("config.yaml"), format!("{model}\nconversation:\n{conversation}\n")).unwrap();
    let config = home.file("config.yaml");
    HttpServer::start(home, &["--config", config.to_str().unwrap()])
}

fn contents(record: &Value) -> Vec<&str> {
    record["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

/// An answer of an OpenAI server.
fn reply(content: &str) -> Vec<Step> {
    vec![head(), send(text(content)), send(finish("stop")), send(usage(30, 0, 7)), send(DONE)]
}

#[tokio::test]
async fn dispatches_of_an_item_share_a_conversation_until_it_is_archived() {
    let upstream = Upstream::start([reply("It leaks in A."), reply("And in B."), reply("New eyes.")]).await;
    let home = Home::new();
    let server = start(&home, "", &upstream.url());
    let model = "m";
    let message = |text: &str| json!({ "content": text, "system_message": "You fix bugs.", "model": model });
    let path = "/api/v1/items/SHOP-7/messages?project=shop";
    let first = server
        .ok(
            path,
            json!({ "content": "Look.", "system_message": "You fix bugs.", "model": model,
        "metadata": { "dispatcher": "d1" } }),
        )
        .await;
    assert_eq!(
        (&first["message"]["role"], &first["replies"][0]["content"]),
        (&json!("user"), &json!("It leaks in A."))
    );
    let second = server.ok(path, message("Go on.")).await;
    let id = second["session_id"].as_str().unwrap();
    assert_eq!(first["session_id"], id);
    // The second request holds everything of the first.
    let messages = upstream.requests()[1].body["messages"].to_string();
    for said in ["You fix bugs.", "Look.", "It leaks in A.", "Go on."] {
        assert!(messages.contains(said), "{messages}");
    }
    let (status, record) = server.get(&format!("/api/v1/conversations/{id}")).await;
    assert_eq!(status, 200);
    assert_eq!(contents(&record), ["You fix bugs.", "Look.", "It leaks in A.", "Go on.", "And in B."]);
    let roles: Vec<&Value> = record["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
    let fields: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    let mut wanted = [
        "session_id",
        "bead_id",
        "project_id",
        "messages",
        "created_at",
        "updated_at",
        "expires_at",
        "token_count",
        "metadata",
    ];
    wanted.sort_unstable();
    assert_eq!(fields, wanted);
    assert_eq!((&record["bead_id"], &record["project_id"]), (&json!("SHOP-7"), &json!("shop")));
    assert_eq!((&record["metadata"]["dispatcher"], &record["metadata"]["agent_id"]), (&json!("d1"), &json!("subject")));
    assert_eq!(record["messages"][4]["token_count"], 7);
    let time = |field: &str| record[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let lasts = time("expires_at").duration_since(time("created_at"));
    assert_eq!(lasts.as_hours(), 24);
    for path in ["items", "beads"] {
        let (_, found) = server.get(&format!("/api/v1/{path}/SHOP-7/conversation?project=shop")).await;
        assert_eq!(found, record);
    }
    let path = format!("/api/v1/conversations/{id}");
    let (_, deleted) = answer(server.request(Method::DELETE, &path)).await;
    assert_eq!(deleted["success"], true);
    assert!(deleted["message"].is_string());
    for path in [path.as_str(), "/api/v1/items/SHOP-7/conversation?project=shop"] {
        assert_eq!(server.get(path).await.0, 404, "{path}");
    }
    for path in [path, "/api/v1/items/SHOP-7/conversation?project=shop".to_owned()] {
        let query = if path.contains('?') { "&" } else { "?" };
        let (_, archived) = server.get(&format!("{path}{query}archived=true")).await;
        assert_eq!(contents(&archived).len(), 5, "nothing was deleted");
    }
    // The next dispatch begins anew, also if the dispatcher kept the old id.
    let mut body = message("Start over.");
    body["session_id"] = json!(id);
    let third = server.ok("/api/v1/items/SHOP-7/messages?project=shop", body).await;
    assert_ne!(third["session_id"], id);
    let messages = upstream.requests()[2].body["messages"].to_string();
    assert!(messages.contains("You fix bugs.") && !messages.contains("It leaks in A."), "{messages}");
}

#[tokio::test]
async fn a_repeated_dispatch_asks_once_and_an_answer_that_broke_off_is_marked() {
    let failed = status(400, "", "");
    let broken = vec![head(), send(text("It leaks"))];
    let upstream = Upstream::start([failed, reply("It leaks in A."), broken]).await;
    let home = Home::new();
    let server = start(&home, "", &upstream.url());
    let path = "/api/v1/items/SHOP-7/messages?project=shop";
    let look = json!({ "content": "Look.", "model": "m" });
    assert_eq!(server.post(path, look.clone()).await.0, 502);
    let answered = server.ok(path, look).await;
    assert_eq!(answered["replies"][0].get("interrupted"), None, "{answered}");
    let more = server.ok(path, json!({ "content": "More.", "model": "m" })).await;
    assert_eq!(more["replies"][0]["interrupted"], true, "{more}");
    let (_, record) = server.get("/api/v1/items/SHOP-7/conversation?project=shop").await;
    assert_eq!(contents(&record), ["Look.", "It leaks in A.", "More.", "It leaks"]);
}

#[tokio::test]
async fn of_dispatches_at_the_same_moment_one_is_answered() {
    let mut slow = reply("It leaks.");
    slow.insert(1, Step::Wait(Duration::from_millis(500)));
    let upstream = Upstream::start([slow]).await;
    let home = Home::new();
    let server = start(&home, "", &upstream.url());
    let path = "/api/v1/items/7/messages";
    server.ok(path, json!({ "content": "Begin.", "model": MODEL })).await;
    let answers =
        futures_util::future::join_all((0..4).map(|_| server.post(path, json!({ "content": "Look.", "model": "m" }))))
            .await;
    let mut statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409], "{answers:?}");
    // The lease of a dispatch ends with it.
    server.ok(path, json!({ "content": "Again.", "model": MODEL })).await;
}

#[tokio::test]
async fn a_reset_clears_the_messages_and_keeps_the_session() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "content": "Look.", "system_message": "You fix bugs.", "model": MODEL });
    let sent = server.ok("/api/v1/items/7/messages", body).await;
    let path = format!("/api/v1/conversations/{}", sent["session_id"].as_str().unwrap());
    let before = server.get(&path).await.1;
    let kept = server.ok(&format!("{path}/reset"), json!({ "keep_system_message": true })).await;
    assert_eq!(contents(&kept), ["You fix bugs."]);
    for field in ["session_id", "bead_id", "project_id", "metadata", "created_at", "expires_at"] {
        assert_eq!(kept[field], before[field], "{field}");
    }
    assert_eq!(contents(&server.ok(&format!("{path}/reset"), json!({})).await), [""; 0]);
    server.ok("/api/v1/items/7/messages", json!({ "content": "Again.", "model": MODEL })).await;
    let (_, record) = server.get(&path).await;
    assert_eq!(contents(&record)[0], "Again.");
}

#[tokio::test]
async fn a_conversation_expires_by_configuration_and_the_clean_up_archives_it() {
    let home = Home::new();
    let server = start(&home, "  session_expiration: 1200ms\n  cleanup_interval: 200ms", NOWHERE);
    let body = json!({ "content": "Look.", "model": MODEL });
    let first = server.ok("/api/v1/items/7/messages", body.clone()).await;
    server.ok("/api/v1/items/7/messages", body.clone()).await;
    let path = format!("/api/v1/conversations/{}", first["session_id"].as_str().unwrap());
    assert_eq!(server.get(&path).await.0, 200);
    let listed = async || server.get("/api/v1/trees").await.1["data"].as_array().unwrap().len();
    assert_eq!(listed().await, 1);
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    assert_eq!(server.get(&path).await.0, 404, "use does not prolong it");
    for _ in 0..50 {
        if listed().await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(listed().await, 0, "the clean-up task archives it");
    let second = server.ok("/api/v1/items/7/messages", body).await;
    assert_ne!(second["session_id"], first["session_id"]);
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    for line in ["loom_sessions{state=\"expired\"} 1", "loom_sessions{state=\"active\"} 1"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn a_switch_turns_conversations_off_for_a_project() {
    let home = Home::new();
    let server = start(&home, "  projects: { once: false }", NOWHERE);
    for (project, shared) in [("once", false), ("shop", true)] {
        let path = format!("/api/v1/items/7/messages?project={project}");
        let first = server.ok(&path, json!({ "content": "Look.", "model": MODEL })).await;
        let second = server.ok(&path, json!({ "content": "Look.", "model": MODEL })).await;
        assert_eq!(first["session_id"] == second["session_id"], shared, "{project}");
    }
    std::fs::write(home.file("config.yaml"), "conversation: { token_strategy: summarization }").unwrap();
    let config = home.file("config.yaml");
    let refused = home.fails(2, &["--config", config.to_str().unwrap(), "trees"]);
    assert!(refused.contains("summary would replace"), "{refused}");
}

#[tokio::test]
async fn a_long_conversation_is_sent_with_its_system_message_and_newest_messages() {
    let upstream = Upstream::start((0..12).map(|_| reply("Noted."))).await;
    let home = Home::new();
    let server = start(&home, "  max_tokens: 1500\n  keep_recent_messages: 3", &upstream.url());
    for at in 0..12 {
        let content = format!("Finding {at}. {}", "order ".repeat(300));
        let body = json!({ "content": content, "system_message": "You fix bugs.", "model": "m" });
        server.ok("/api/v1/items/7/messages", body).await;
    }
    let last = upstream.requests()[11].body["messages"].to_string();
    assert!(last.contains("You fix bugs.") && last.contains("Finding 11.") && last.contains("Finding 10."), "{last}");
    assert!(!last.contains("Finding 2."));
    let record = server.get("/api/v1/items/7/conversation").await.1;
    assert_eq!(contents(&record).len(), 25, "nothing is cut in the store");
}

#[tokio::test]
async fn another_project_or_item_answers_404_at_every_endpoint() {
    let home = Home::new();
    let token = |project: &str| home.ok(&["serve", "token", "new", project, "--project", project]).trim().to_owned();
    let (red, blue) = (token("red"), token("blue"));
    let server = HttpServer::start(&home, &[]);
    let post = |path: &str, token: &str, body: Value| {
        answer(server.request(Method::POST, path).bearer_auth(token).json(&body))
    };
    let body = json!({ "content": "the red secret", "model": MODEL });
    let (status, sent) = post("/api/v1/items/R-1/messages", &red, body.clone()).await;
    assert_eq!(status, 200, "{sent}");
    let id = sent["session_id"].as_str().unwrap();
    let get = |path: String, token: &str| answer(server.request(Method::GET, &path).bearer_auth(token));
    assert_eq!(get(format!("/api/v1/conversations/{id}"), &red).await.0, 200);
    assert_eq!(get("/api/v1/items/R-1/conversation".to_owned(), &red).await.0, 200);
    for path in [
        format!("/api/v1/conversations/{id}"),
        format!("/api/v1/conversations/{id}?archived=true"),
        "/api/v1/items/R-1/conversation".to_owned(),
        "/api/v1/items/R-1/conversation?project=red".to_owned(),
        "/api/v1/beads/R-1/conversation?project=red".to_owned(),
        format!("/api/v1/sessions/{id}"),
        format!("/api/v1/sessions/{id}/turns"),
    ] {
        let (status, error) = get(path.clone(), &blue).await;
        assert_eq!(status, 404, "{path}");
        assert!(!error.to_string().contains("the red secret"));
    }
    let request = server.request(Method::DELETE, &format!("/api/v1/conversations/{id}")).bearer_auth(&blue);
    assert_eq!(answer(request).await.0, 404);
    assert_eq!(post(&format!("/api/v1/conversations/{id}/reset"), &blue, json!({})).await.0, 404);
    assert_eq!(post("/api/v1/items/R-1/messages?project=red", &blue, body.clone()).await.0, 404);
    // The same key in the own project is another item, and does not take the foreign conversation.
    let mut taken = body.clone();
    taken["session_id"] = json!(id);
    assert_eq!(post("/api/v1/items/R-1/messages", &blue, taken.clone()).await.0, 404);
    assert_eq!(post("/api/v1/items/R-2/messages", &red, taken).await.0, 404, "nor does another item of the project");
    let (_, own) = post("/api/v1/items/R-1/messages", &blue, body).await;
    assert_ne!(own["session_id"], id);
}
