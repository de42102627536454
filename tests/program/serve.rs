//! `loom serve`: the own API, access, events and crashes, over loopback.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    http::{HttpServer, answer, events},
};

/// Creates a tree and returns the ids of the tree and of its root.
async fn tree(server: &HttpServer, content: &str) -> (String, String) {
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
async fn continuations_stream_side_by_side_and_can_be_cancelled() {
    let server = HttpServer::start(&Home::new(), &[]);
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
    let (status, error) = server.post(&path, json!({ "n": 65 })).await;
    assert_eq!((status, error["error"]["code"].as_str()), (422, Some("invalid")));
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
    let mut server = HttpServer::start(&Home::new(), &[]);
    let stream = server.request(Method::GET, "/api/v1/events").send().await.unwrap();
    let ended = tokio::spawn(events(stream, usize::MAX));
    let started = std::time::Instant::now();
    let status = tokio::task::block_in_place(|| server.terminate());
    assert!(status.success());
    assert_eq!(ended.await.unwrap().last().unwrap().0, "bye");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

/// Returns every route of the OpenAPI document as method and path, ids filled with one that does not exist.
async fn routes(server: &HttpServer, token: &str) -> Vec<(Method, String)> {
    let request = server.request(Method::GET, "/api/v1/openapi.json").bearer_auth(token);
    let document = answer(request).await.1;
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path: Vec<&str> = path
            .split('/')
            .map(|part| if part.starts_with('{') { "01M839FST2Y84E52N1S0Z6P1XS" } else { part })
            .collect();
        for method in item.as_object().unwrap().keys() {
            if let Ok(method) = method.to_uppercase().parse() {
                routes.push((method, path.join("/")));
            }
        }
    }
    routes
}

#[tokio::test]
async fn every_route_needs_a_token_of_the_right_scope() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let reader = home.ok(&["serve", "token", "new", "reader", "--scope", "read"]);
    let writer = home.ok(&["serve", "token", "new", "writer", "--scope", "write"]);
    let server = HttpServer::start(&home, &[]);
    let routes = routes(&server, reader.trim()).await;
    assert!(routes.len() > 50, "{}", routes.len());
    for (method, path) in routes {
        let (status, error) = answer(server.request(method.clone(), &path).json(&json!({}))).await;
        assert_eq!((status, error["error"]["code"].as_str()), (401, Some("unauthorized")), "{method} {path}");
        if method != Method::GET {
            let request = server.request(method.clone(), &path).bearer_auth(reader.trim()).json(&json!({}));
            let (status, error) = answer(request).await;
            assert_eq!((status, error["error"]["code"].as_str()), (403, Some("scope")), "{method} {path}");
        }
        let is_admin = path.ends_with("/purge") || path.contains("/approvals") || path.contains("/agents");
        if is_admin && method != Method::GET {
            let body = json!({ "approve": true });
            let request = server.request(method.clone(), &path).bearer_auth(writer.trim()).json(&body);
            assert_eq!(answer(request).await.0, 403, "{method} {path}");
        }
    }
    let listed = home.ok(&["serve", "token", "list"]);
    assert!(listed.contains("reader") && !listed.contains(reader.trim()));
    home.ok(&["serve", "token", "revoke", "writer"]);
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let request = server.request(Method::GET, "/api/v1/trees").bearer_auth(writer.trim());
    assert_eq!(answer(request).await.0, 401, "a revoked token is refused within a second");
}

#[tokio::test]
async fn a_project_sees_its_own_trees_only() {
    let home = Home::new();
    home.ok(&["new", "Someone else's tree"]);
    let token = |project: &str| home.ok(&["serve", "token", "new", project, "--project", project]).trim().to_owned();
    let (red, blue) = (token("red"), token("blue"));
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "content": "red words" });
    let created = answer(server.request(Method::POST, "/api/v1/trees").bearer_auth(&red).json(&body)).await.1;
    let (tree, root) = (created["tree"]["id"].as_str().unwrap(), created["root"]["id"].as_str().unwrap());
    let sessions = answer(server.request(Method::GET, "/api/v1/sessions").bearer_auth(&red)).await.1;
    let session = sessions["data"][0]["id"].as_str().unwrap().to_owned();
    for (who, trees) in [(&red, 1), (&blue, 0)] {
        let listed = answer(server.request(Method::GET, "/api/v1/trees").bearer_auth(who)).await.1;
        assert_eq!(listed["data"].as_array().unwrap().len(), trees);
    }
    let reads = [
        format!("/api/v1/trees/{tree}"),
        format!("/api/v1/trees/{tree}/nodes"),
        format!("/api/v1/trees/{tree}/journal"),
        format!("/api/v1/trees/{tree}/bookmarks"),
        format!("/api/v1/nodes/{root}"),
        format!("/api/v1/nodes/{root}/path"),
        format!("/api/v1/nodes/{root}/children"),
        format!("/api/v1/nodes/{root}/context"),
        format!("/api/v1/sessions/{session}"),
        format!("/api/v1/sessions/{session}/turns"),
        format!("/api/v1/sessions/{session}/state"),
        format!("/api/v1/events?tree={tree}"),
    ];
    for path in reads {
        assert_eq!(answer(server.request(Method::GET, &path).bearer_auth(&blue)).await.0, 404, "{path}");
    }
    let writes = [
        (format!("/api/v1/nodes/{root}/children"), json!({ "content": "x" })),
        (format!("/api/v1/nodes/{root}/changes"), json!({ "op": "prune" })),
        (format!("/api/v1/nodes/{root}/continuations"), json!({ "models": ["scripted:words"] })),
        (format!("/api/v1/trees/{tree}/undo"), json!({})),
        (format!("/api/v1/sessions/{session}/switch"), json!({ "node": root })),
        ("/api/v1/recall".to_owned(), json!({ "query": "red", "tree": tree })),
        ("/api/v1/arrow".to_owned(), json!({ "lines": ["tree"], "tree": tree })),
    ];
    for (path, body) in writes {
        let request = server.request(Method::POST, &path).bearer_auth(&blue).json(&body);
        assert_eq!(answer(request).await.0, 404, "{path}");
    }
    let all = server.request(Method::POST, "/api/v1/recall").bearer_auth(&blue).json(&json!({ "query": "red" }));
    assert_eq!(answer(all).await.0, 422);
    assert_eq!(answer(server.request(Method::GET, "/api/v1/documents").bearer_auth(&blue)).await.0, 404);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let server = HttpServer::start(&Home::new(), &["--host", "loom.example"]);
    for (name, value, expected) in [
        ("host", "evil.example", 421),
        ("host", "127.0.0.1.evil.example", 421),
        ("host", "loom.example", 200),
        ("host", "localhost:1", 200),
        ("origin", "https://evil.example", 421),
        ("origin", "null", 421),
        ("origin", server.url.as_str(), 200),
    ] {
        let request = server.request(Method::GET, "/api/v1/trees").header(name, value);
        assert_eq!(answer(request).await.0, expected, "{name}: {value}");
    }
}

#[test]
fn beyond_this_machine_a_token_is_required() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let refused = home.fails(1, &["serve", "--listen", "0.0.0.0:0"]);
    assert!(refused.contains("no token") && refused.contains("loom serve token new"), "{refused}");
}

#[tokio::test]
async fn malformed_requests_neither_stop_nor_hang_the_server() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let server = HttpServer::start(&Home::new(), &[]);
    let address = server.url.strip_prefix("http://").unwrap();
    let whole = b"POST /api/v1/trees HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 15\r\nconnection: close\r\n\r\n{\"content\":\"x\"}";
    let mut seed = 7u32;
    for _ in 0..300 {
        let mut bytes = whole.to_vec();
        for _ in 0..4 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (seed >> 8) as usize % bytes.len();
            bytes[at] = seed.to_le_bytes()[1];
        }
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(std::time::Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "{:?}", String::from_utf8_lossy(&bytes));
        assert!(!answer.starts_with(b"HTTP/1.1 500"), "{:?}", String::from_utf8_lossy(&bytes));
    }
    assert_eq!(server.get("/api/v1/trees").await.0, 200);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() {
    let home = Home::new();
    let rounds = std::env::var("LOOM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
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
        tokio::time::sleep(std::time::Duration::from_millis(100 + 37 * (round % 7))).await;
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
