//! `loom serve`: the own API, access, events and crashes, over loopback.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    loom_server::{HttpServer, answer, events},
    rounds,
};

/// Creates a tree and returns the ids of the tree and of its root.
async fn tree(server: &HttpServer<'_>, content: &str) -> (String, String) {
    let created = server.ok("/api/v1/trees", json!({ "content": content })).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&created["tree"]["id"]), text(&created["root"]["id"]))
}

#[tokio::test]
async fn a_tree_is_grown_marked_searched_and_undone() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, root) = tree(&server, "The harbour was empty.").await;
    let child =
        server.ok(&format!("/api/v1/nodes/{root}/children"), json!({ "content": "A lighthouse blinked." })).await;
    let id = child["id"].as_str().unwrap();
    let changes = format!("/api/v1/nodes/{id}/changes");
    server.ok(&changes, json!({ "op": "bookmark", "label": "light" })).await;
    server.ok(&changes, json!({ "op": "annotate", "content": "check the tense" })).await;
    let edited = server.ok(&changes, json!({ "op": "edit", "content": "A lighthouse winked." })).await;
    assert_eq!(edited["node"]["edited_from"], id);
    let (_, path) = server.get(&format!("/api/v1/nodes/{id}/path")).await;
    assert_eq!(path["data"].as_array().unwrap().len(), 2);
    let (_, found) =
        answer(server.request(Method::POST, "/api/v1/recall").json(&json!({ "query": "winked", "tree": tree }))).await;
    assert_eq!(found["hits"][0]["node"]["content"], "A lighthouse winked.");
    let undone = server.ok(&format!("/api/v1/trees/{tree}/undo"), json!({})).await;
    assert_eq!(undone["reverted"]["op"], "edit");
    let (_, listed) = server.get(&format!("/api/v1/trees/{tree}/nodes?limit=1")).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let next = listed["next"].as_str().unwrap();
    let (_, rest) = server.get(&format!("/api/v1/trees/{tree}/nodes?after={next}")).await;
    assert!(rest["data"].as_array().unwrap().iter().all(|node| node["id"] != root.as_str()));
    let lines = server.ok("/api/v1/arrow", json!({ "tree": tree, "lines": ["→ tree", "view nowhere"] })).await;
    assert_eq!((&lines["results"][0]["ok"], &lines["results"][1]["ok"]), (&json!(true), &json!(false)));
    assert!(home.ok(&["tree"]).contains("lighthouse"), "the command line shows what the server wrote");
}

#[tokio::test]
async fn a_page_of_sessions_is_followed_by_the_next_one() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, _) = tree(&server, "A shed.").await;
    for _ in 0..3 {
        server.ok("/api/v1/sessions", json!({ "tree": tree })).await;
    }
    let path = format!("/api/v1/sessions?tree={tree}");
    let ids = |page: &Value| -> Vec<Value> {
        page["data"].as_array().unwrap().iter().map(|session| session["id"].clone()).collect()
    };
    let all = ids(&server.get(&path).await.1);
    let (_, first) = server.get(&format!("{path}&limit=2")).await;
    assert_eq!(ids(&first), all[..2]);
    let (_, last) = server.get(&format!("{path}&limit={}&after={}", all.len(), first["next"].as_str().unwrap())).await;
    assert_eq!((ids(&last), &last["next"]), (all[2..].to_vec(), &Value::Null));
    assert_eq!(server.get(&format!("{path}&limit={}", all.len())).await.1["next"], Value::Null);
}

#[tokio::test]
async fn a_person_undoes_the_last_change_of_an_agent_that_the_log_marks() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, root) = tree(&server, "A shed.").await;
    home.ok(&["--as", "collaborator", "annotate", &root, "red?"]);
    server.ok(&format!("/api/v1/nodes/{root}/children"), json!({ "content": "Paint it." })).await;
    let journal = format!("/api/v1/trees/{tree}/journal");
    let (_, log) = server.get(&journal).await;
    let row = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap().to_owned();
        (text("agent"), text("description").split(" [").next().unwrap().to_owned(), entry["undo"] == true)
    };
    let rows: Vec<_> = log["data"].as_array().unwrap().iter().map(row).collect();
    let expected = [("owner", "responded to", true), ("collaborator", "annotated", true)];
    assert_eq!(rows[..2], expected.map(|(agent, words, undo)| (agent.to_owned(), words.to_owned(), undo)));
    assert!(rows[2..].iter().all(|(_, _, undo)| !undo), "one undo for each agent: {rows:?}");
    let undo = format!("/api/v1/trees/{tree}/undo?agent=collaborator");
    assert_eq!(server.ok(&undo, json!({})).await["reverted"]["op"], "annotate");
    assert_eq!(server.get(&format!("/api/v1/nodes/{root}")).await.1["state"]["annotations"], 0);
    assert_ne!(server.post(&undo, json!({})).await.0, 200, "nothing is left to undo");
    let as_agent = server.request(Method::POST, &format!("/api/v1/trees/{tree}/undo?agent=owner"));
    let (status, refused) = answer(as_agent.header("x-loom-agent", "collaborator").json(&json!({}))).await;
    assert_ne!(status, 200, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("only a human"), "{refused}");
}

/// The permissions of the acting agent hold for each route that changes a tree, as on the command line.
#[tokio::test]
async fn an_agent_that_may_not_write_changes_no_tree() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, root) = tree(&server, "A shed.").await;
    let (tree, node) = (format!("/api/v1/trees/{tree}"), format!("/api/v1/nodes/{root}"));
    let before = home.ok(&["log"]);
    for (method, path, body) in [
        (Method::POST, format!("{node}/children"), json!({ "content": "x" })),
        (Method::POST, format!("{node}/changes"), json!({ "op": "annotate", "content": "x" })),
        (Method::POST, format!("{node}/text"), json!({ "appended": "x" })),
        (Method::POST, "/api/v1/trees".to_owned(), json!({ "content": "x" })),
        (Method::POST, "/api/v1/conversations".to_owned(), json!({})),
        (Method::PATCH, tree.clone(), json!({ "title": "x" })),
        (Method::DELETE, tree.clone(), json!({})),
        (Method::POST, format!("{tree}/undo"), json!({})),
        (Method::POST, format!("{tree}/redo"), json!({})),
        (Method::POST, "/v1/conversations".to_owned(), json!({})),
    ] {
        let asked = server.request(method, &path).header("x-loom-agent", "subject").json(&body);
        let (status, refused) = answer(asked).await;
        let said = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(status == 403 && said.contains("lacks the permission loom_write"), "{path}: {status} {refused}");
    }
    assert_eq!(home.ok(&["log"]), before);
}

#[tokio::test]
async fn a_conversation_is_begun_named_reset_and_ended() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let begun = server.post("/api/v1/conversations", json!({ "name": "prices", "workspace": "/shop" })).await;
    assert_eq!((begun.0, &begun.1["metadata"]["name"]), (201, &json!("prices")), "{begun:?}");
    let path = format!("/api/v1/sessions/{}", begun.1["id"].as_str().unwrap());
    let (_, tree) = server.get(&format!("/api/v1/trees/{}", begun.1["tree_id"].as_str().unwrap())).await;
    assert_eq!(tree["title"], "prices");
    let (status, named) = answer(server.request(Method::PATCH, &path).json(&json!({ "name": "costs" }))).await;
    assert_eq!((status, &named["metadata"]["name"]), (200, &json!("costs")));
    let reset = server.ok(&format!("{path}/reset"), json!({ "system": "Be brief." })).await;
    assert_ne!(reset["tree_id"], begun.1["tree_id"]);
    let (_, root) = server.get(&format!("/api/v1/nodes/{}", reset["position_id"].as_str().unwrap())).await;
    assert_eq!((&root["content"], &root["author_type"]), (&json!("Be brief."), &json!("system")));
    assert_eq!(answer(server.request(Method::DELETE, &path)).await.0, 200);
    assert_eq!(server.get(&path).await.1["active"], false);
    let line = json!({ "session": reset["id"], "lines": ["respond . \"x\""] });
    assert_eq!(server.post("/api/v1/arrow", line).await.0, 409);
}

#[tokio::test]
async fn a_document_is_sent_as_markdown_tokens() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let made = server.ok("/api/v1/documents", json!({ "name": "plan", "content": "# Plan\n<b>now</b>" })).await;
    let tokens = json!([{ "open": { "tag": "h1" } }, { "text": "Plan" }, "close"]);
    assert_eq!(made["markdown"].as_array().unwrap()[..3], tokens.as_array().unwrap()[..]);
    assert!(made["markdown"].to_string().contains("<b>now</b>"), "HTML stays text: {made}");
    let (_, read) = server.get("/api/v1/documents/plan").await;
    assert_eq!((&read["markdown"], &read["version"]["content"]), (&made["markdown"], &made["version"]["content"]));
}

#[tokio::test]
async fn a_document_is_written_from_the_version_that_was_read() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    server.ok("/api/v1/documents", json!({ "name": "plan", "content": "one" })).await;
    let write = async |base: u64, text: &str| {
        let path = format!("/api/v1/documents/plan?base={base}");
        answer(server.request(Method::PATCH, &path).json(&json!({ "op": "whole", "content": text }))).await
    };
    assert_eq!(write(1, "two").await.0, 200);
    let (status, refused) = write(1, "three").await;
    assert_eq!((status, refused["error"]["code"].as_str()), (409, Some("conflict")));
    assert_eq!(server.get("/api/v1/documents/plan").await.1["version"]["content"], "two");
}

#[tokio::test]
async fn a_short_id_in_an_address_is_refused_with_the_route_that_takes_it() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, root) = tree(&server, "A shed.").await;
    let (_, node) = server.get(&format!("/api/v1/nodes/{root}")).await;
    let short = node["local_id"].as_str().unwrap();
    let (status, refused) = server.get(&format!("/api/v1/nodes/{short}")).await;
    assert_eq!(status, 404);
    assert!(refused["error"]["message"].as_str().unwrap().contains("/trees/TREE/nodes/ID"), "{refused}");
    assert_eq!(server.get(&format!("/api/v1/trees/{tree}/nodes/{short}")).await.1["id"], node["id"]);
}

#[tokio::test]
async fn numbers_that_no_row_can_have_are_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, _) = tree(&server, "Once").await;
    server.ok("/api/v1/documents", json!({ "name": "notes", "content": "x" })).await;
    let revert = json!({ "version": 9_223_372_036_854_775_808_u64 });
    assert_eq!(server.post("/api/v1/documents/notes/revert", revert).await.0, 422);
    assert_eq!(server.get(&format!("/api/v1/trees/{tree}/nodes?after={}", u64::MAX)).await.0, 422);
    assert_eq!(server.get(&format!("/api/v1/documents/notes?version={}", u64::MAX)).await.0, 422);
}

#[tokio::test]
async fn continuations_stream_side_by_side_and_can_be_cancelled() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (_, root) = tree(&server, "Once").await;
    let path = format!("/api/v1/nodes/{root}/continuations");
    let body = json!({ "n": 3, "models": ["scripted:words"], "stream": true });
    let response = server.request(Method::POST, &path).json(&body).send().await.unwrap();
    assert!(response.headers()["x-loom-generation"].to_str().unwrap().starts_with("gen_"));
    let events = events(response, usize::MAX).await;
    let saved = events.iter().filter(|(kind, ..)| kind == "saved").count();
    assert_eq!((saved, events.last().unwrap().0.as_str()), (3, "end"));
    let indices: Vec<_> =
        events.iter().filter(|(kind, ..)| kind == "text").map(|(.., data)| data["index"].clone()).collect();
    assert!(indices[..6].iter().any(|index| *index != indices[0]), "the streams mix: {indices:?}");
    let (status, _) = answer(server.request(Method::DELETE, "/api/v1/generations/gen_none")).await;
    assert_eq!(status, 404);
    // Two models with half of all numbers each would be none.
    let models = ["scripted:words", "scripted:words"];
    for body in
        [json!({ "n": 65 }), json!({ "n": 33, "models": models }), json!({ "n": 1_u64 << 63, "models": models })]
    {
        let (status, error) = server.post(&path, body).await;
        assert_eq!((status, error["error"]["code"].as_str()), (422, Some("invalid")));
    }
}

#[tokio::test]
async fn events_resume_after_a_break_without_loss() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, root) = tree(&server, "Once").await;
    let stream = server.request(Method::GET, &format!("/api/v1/events?tree={tree}")).send().await.unwrap();
    let children = format!("/api/v1/nodes/{root}/children");
    for word in ["a", "b"] {
        server.ok(&children, json!({ "content": word })).await;
    }
    let first = events(stream, 2).await;
    assert_eq!(first.len(), 2);
    // Another process writes while no stream is open.
    home.ok(&["say", "c"]);
    server.ok(&children, json!({ "content": "d" })).await;
    let resumed =
        server.request(Method::GET, "/api/v1/events").header("last-event-id", &first[1].1).send().await.unwrap();
    let rest = events(resumed, 3).await;
    let appended = rest.iter().filter(|(.., data)| data["op"] == "append").count();
    assert_eq!(appended, 2, "{rest:?}");
    let numbers: Vec<u64> = first.iter().chain(&rest).map(|(_, id, _)| id.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_event_streams_with_bye() {
    let home = Home::new();
    let mut server = HttpServer::start(&home, &[]);
    let stream = server.request(Method::GET, "/api/v1/events").send().await.unwrap();
    let ended = tokio::spawn(events(stream, usize::MAX));
    let started = std::time::Instant::now();
    let status = tokio::task::block_in_place(|| server.terminate());
    assert!(status.success());
    assert_eq!(ended.await.unwrap().last().unwrap().0, "bye");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() {
    let home = Home::new();
    let rounds = rounds::of("LOOM_KILLS", 3, 12);
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..rounds {
        let mut server = HttpServer::start(&home, &[]);
        let (_, root) = tree(&server, &format!("round {round}")).await;
        let (url, client) = (format!("{}/api/v1/nodes/{root}/children", server.url), server.client.clone());
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (url, client) = (url.clone(), client.clone());
                tokio::spawn(async move {
                    let mut acknowledged = Vec::new();
                    for number in 0.. {
                        let body = json!({ "content": format!("{writer} {number}") });
                        let Ok(response) = client.post(&url).json(&body).send().await else { break };
                        let Ok(node) = response.json::<Value>().await else { break };
                        acknowledged.push(node["id"].as_str().unwrap().to_owned());
                    }
                    acknowledged
                })
            })
            .collect();
        tokio::time::sleep(std::time::Duration::from_millis(100 + 37 * u64::from(round % 7))).await;
        server.kill();
        for writer in writers {
            acknowledged.extend(writer.await.unwrap());
        }
    }
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    let server = HttpServer::start(&home, &[]);
    for id in acknowledged {
        assert_eq!(server.get(&format!("/api/v1/nodes/{id}")).await.0, 200, "{id}");
    }
    assert!(home.ok(&["verify"]).contains("no problems") || home.run(&["verify"]).code == 0);
}

#[tokio::test]
async fn values_out_of_range_are_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (_, root) = tree(&server, "A shed.").await;
    for query in ["limit=0", "limit=1001", "limit=-1"] {
        assert_eq!(server.get(&format!("/api/v1/trees?{query}")).await.0, 400, "{query}");
    }
    let (status, error) = server.get("/api/v1/trees?after=zzz").await;
    assert_eq!((status, &error["error"]["message"]), (422, &json!("\"zzz\" is no cursor of this list")));
    let children = format!("/api/v1/nodes/{root}/children");
    for metadata in [json!("text"), json!([1])] {
        let body = json!({ "content": "Paint it.", "metadata": metadata });
        assert_eq!(server.post(&children, body).await.0, 422, "{metadata}");
    }
    let (status, refused) = server.post(&children, json!({ "content": "Paint it.", "kind": "version" })).await;
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 422 && said.contains("`edit`"), "{status} {refused}");
    let child = server.ok(&children, json!({ "content": "Paint it.", "metadata": { "by": "hand" } })).await;
    let beside = server.ok(&children, json!({ "content": "Sell it." })).await;
    let text = format!("/api/v1/nodes/{}/text", child["id"].as_str().unwrap());
    let edit = |node: &Value| json!({ "node": node["id"], "content": "Leave it." });
    for edits in [json!([edit(&child), edit(&child)]), json!([edit(&beside)])] {
        assert_eq!(server.post(&text, json!({ "edits": edits })).await.0, 422, "{edits}");
    }
    server.ok(&text, json!({ "edits": [edit(&child)] })).await;
}

#[tokio::test]
async fn null_removes_a_value_of_an_agent() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    server.ok("/api/v1/agents", json!({ "name": "poet", "model": "scripted:words", "max_tokens": 9 })).await;
    let path = "/api/v1/agents/poet";
    let (_, changed) = answer(server.request(Method::PATCH, path).json(&json!({ "model": null }))).await;
    assert_eq!((&changed["model"], &changed["max_tokens"]), (&Value::Null, &json!(9)));
}
