//! `loom serve`: exports as downloads and imports as uploads.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    loom_server::{HttpServer, answer},
};

/// Creates a tree with two replies, of which one is bookmarked and one is pruned. Returns the ids of the tree and the reply.
async fn sample(server: &HttpServer<'_>) -> (String, String) {
    let created = server.ok("/api/v1/trees", json!({ "content": "Name a <river>." })).await;
    let children = format!("/api/v1/nodes/{}/children", created["root"]["id"].as_str().unwrap());
    let elbe = server.ok(&children, json!({ "content": "The Elbe." })).await["id"].as_str().unwrap().to_owned();
    let nile = server.ok(&children, json!({ "content": "PRUNED" })).await["id"].as_str().unwrap().to_owned();
    server.ok(&format!("/api/v1/nodes/{elbe}/changes"), json!({ "op": "bookmark", "label": "short" })).await;
    server.ok(&format!("/api/v1/nodes/{nile}/changes"), json!({ "op": "prune" })).await;
    (created["tree"]["id"].as_str().unwrap().to_owned(), elbe)
}

/// Downloads an export. Returns its status, media type and text.
async fn export(server: &HttpServer<'_>, tree: &str, query: &str) -> (u16, String, String) {
    let path = format!("/api/v1/trees/{tree}/export{query}");
    let response = server.request(Method::GET, &path).send().await.unwrap();
    let media = response.headers()["content-type"].to_str().unwrap().to_owned();
    if response.status() == 200 {
        let disposition = response.headers()["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with(&format!("attachment; filename=\"{tree}.")), "{disposition}");
        // A download with another format does not overwrite the lossless one.
        assert_eq!(disposition.ends_with("openai-chat.jsonl\""), query.contains("format=openai-chat"), "{disposition}");
        assert!(!disposition.contains("html.html"), "{disposition}");
        assert!(response.headers()["content-security-policy"].to_str().unwrap().contains("sandbox"));
    }
    (response.status().as_u16(), media, response.text().await.unwrap())
}

async fn import(server: &HttpServer<'_>, query: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    answer(server.request(Method::POST, &format!("/api/v1/imports{query}")).body(body)).await
}

#[tokio::test]
async fn replies_without_words_are_shown_by_their_calls() {
    let home = Home::new();
    home.ok(&[
        "import",
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/codex/rollout-2026-03-01T10-00-00-0001.jsonl"),
    ]);
    let server = HttpServer::start(&home, &[]);
    let tree = server.get("/api/v1/trees").await.1["data"][0]["id"].as_str().unwrap().to_owned();
    let nodes = server.get(&format!("/api/v1/trees/{tree}/nodes?limit=500")).await.1;
    let silent =
        nodes["data"].as_array().unwrap().iter().find(|node| node["content"] == "" && !node["tool_calls"].is_null());
    let id = silent.unwrap()["id"].as_str().unwrap();
    let window = server.get(&format!("/api/v1/nodes/{id}/window?above=40&below=40&path=1")).await.1;
    let calls = window["path"][0]["calls"].as_array().unwrap();
    assert!(!calls.is_empty(), "{window}");
    let line = window["lines"].as_array().unwrap().iter().find(|line| line["id"] == id).unwrap();
    assert!(line["text"].as_str().unwrap().starts_with(calls[0].as_str().unwrap()), "{line} {calls:?}");
}

#[tokio::test]
async fn a_later_change_is_not_undone_in_place_of_an_earlier() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, elbe) = sample(&server).await;
    let until = server.get(&format!("/api/v1/nodes/{elbe}/window")).await.1["journal"].as_u64().unwrap();
    server.ok(&format!("/api/v1/nodes/{elbe}/changes"), json!({ "op": "annotate", "content": "later" })).await;
    let (status, error) = server.post(&format!("/api/v1/trees/{tree}/undo?until={until}"), json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("conflict")), "{error}");
    server.ok(&format!("/api/v1/trees/{tree}/undo"), json!({})).await;
    let undone = server.ok(&format!("/api/v1/trees/{tree}/undo?until={until}"), json!({})).await;
    assert_eq!(undone["reverted"]["op"], "prune", "{undone}");
}

#[tokio::test]
async fn every_format_is_the_same_as_at_the_command_line() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, elbe) = sample(&server).await;
    for (query, media, arguments) in [
        ("", "application/x-ndjson", vec!["export", &tree]),
        ("?format=openai-chat", "application/x-ndjson", vec!["export", &tree, "--format", "openai-chat"]),
        ("?format=dot", "text/vnd.graphviz", vec!["export", &tree, "--format", "dot"]),
        (
            "?format=mermaid&include=pruned",
            "text/plain",
            vec!["export", &tree, "--format", "mermaid", "--include", "pruned"],
        ),
        ("?format=html", "text/html", vec!["export", &tree, "--format", "html"]),
        (
            "?format=sharegpt&bookmarked=true",
            "application/x-ndjson",
            vec!["export", &tree, "--format", "sharegpt", "--bookmarked"],
        ),
        ("?format=preference", "application/x-ndjson", vec!["export", &tree, "--format", "preference"]),
    ] {
        let (status, found, text) = export(&server, &tree, query).await;
        assert_eq!((status, found.split(';').next().unwrap()), (200, media), "{query}: {text}");
        assert_eq!(text, home.ok(&arguments), "{query}");
    }
    let (_, media, text) = export(&server, &tree, &format!("?format=markdown&node={elbe}")).await;
    assert!(media.starts_with("text/markdown") && text.contains("The Elbe."), "{text}");
    let (_, _, prose) = export(&server, &tree, &format!("?format=prose&node={elbe}")).await;
    assert_eq!(prose, "Name a <river>.\n\nThe Elbe.\n");
    let (_, _, chat) = export(&server, &tree, "?format=openai-chat").await;
    assert!(!chat.contains("PRUNED"), "{chat}");
    let (_, report) = server.get(&format!("/api/v1/trees/{tree}/export/report?format=openai-chat")).await;
    assert_eq!(report, json!({ "written": 1, "left_out": { "pruned branches": 1 } }));
    for query in ["?format=docx", "?format=markdown", "?include=all", "?bookmarked=true"] {
        assert_eq!(export(&server, &tree, query).await.0, 422, "{query}");
    }
    let other = server.ok("/api/v1/trees", json!({ "content": "x" })).await["tree"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        export(&server, &other, &format!("?format=markdown&node={elbe}")).await.0,
        404,
        "a node of another tree"
    );
}

#[tokio::test]
async fn an_export_that_is_imported_elsewhere_is_exported_again_with_the_same_bytes() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (tree, _) = sample(&server).await;
    let file = export(&server, &tree, "").await.2;
    let target = Home::new();
    let other = HttpServer::start(&target, &[]);
    let (status, counted) = import(&other, "?dry_run=true&name=rivers.jsonl", file.clone()).await;
    assert_eq!((status, &counted["dry_run"], &counted["nodes"]), (200, &json!(true), &json!(3)), "{counted}");
    assert_eq!(other.get(&format!("/api/v1/trees/{tree}")).await.0, 404);
    let (_, imported) = import(&other, "", file.clone()).await;
    assert_eq!((&imported["format"], &imported["trees"][0]), (&json!("loomtree"), &json!(tree)), "{imported}");
    assert_eq!(export(&other, &tree, "").await.2, file);
    let (_, again) = import(&other, "", file).await;
    assert_eq!((&again["nodes"], &again["skipped"]), (&json!(0), &json!(3)), "{again}");
    let chat = json!({ "messages": [{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "ho" }] });
    let lines = format!("{chat}\nnot JSON\n");
    let (_, read) = import(&other, "?format=openai-chat&name=talk.jsonl", lines).await;
    assert_eq!((&read["conversations"], &read["messages"]), (&json!(1), &json!(2)), "{read}");
    assert!(read["problems"][0].as_str().unwrap().contains("talk.jsonl, line 2"), "{read}");
}

#[tokio::test]
async fn uploads_that_cannot_be_read_are_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &["--max-import", "5000"]);
    for (query, body, expected) in [
        ("", "", 422),
        ("", "plain words", 422),
        ("?format=llm", "x", 422),
        ("?format=docx", "x", 422),
        ("?dry_run=perhaps", "x", 400),
        ("", "PK\u{3}\u{4}zip", 422),
        ("", "SQLite format 3\0", 422),
        ("?name=notes.db", "SQLite format 3\0 and no more", 422),
    ] {
        let (status, error) = import(&server, query, body).await;
        assert_eq!(status, expected, "{query} {body:?}: {error}");
    }
    let long = "x".repeat(6_000);
    let (status, error) = import(&server, "", long.clone()).await;
    assert_eq!((status, &error["error"]["code"]), (413, &json!("too_large")));
    // A body without a length is counted while it is read.
    let pieces = (0..6).map(move |_| Ok::<_, std::io::Error>(long[..1_000].to_owned()));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    assert_eq!(import(&server, "?format=openai-chat", body).await.0, 413);
    assert_eq!(server.get("/api/v1/trees").await.1["data"], json!([]), "nothing was stored");
}

/// Creates a zip archive of these files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write as _;
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[tokio::test]
async fn archives_and_databases_are_uploaded() {
    let fixture = |name: &str| format!("{}/fixtures/import/{name}", env!("CARGO_MANIFEST_DIR"));
    let home = Home::new();
    let server = HttpServer::start(&home, &["--max-import", "1000000"]);
    let chats = std::fs::read(fixture("chatgpt/conversations.json")).unwrap();
    // Names in an archive are no paths: nothing is unpacked.
    let export =
        zip(&[("../../conversations.json", &chats), ("/etc/conversations-1.json", &chats), ("user.json", b"{")]);
    let (status, counted) = import(&server, "?dry_run=true&name=export.zip", export.clone()).await;
    assert_eq!((status, &counted["conversations"], &counted["dry_run"]), (200, &json!(4), &json!(true)), "{counted}");
    let (_, imported) = import(&server, "?format=chatgpt", export.clone()).await;
    assert_eq!((&imported["format"], &imported["conversations"]), (&json!("chatgpt"), &json!(4)), "{imported}");
    assert_eq!(imported["trees"].as_array().unwrap().len(), 2, "both files have the same conversations");
    assert_eq!(import(&server, "", export).await.1["nodes"], 0);
    let database = home.file("foreign.db");
    let conn = rusqlite::Connection::open(&database).unwrap();
    conn.execute_batch(&std::fs::read_to_string(fixture("llm/responses.sql")).unwrap()).unwrap();
    drop(conn);
    let database = std::fs::read(&database).unwrap();
    let (status, imported) = import(&server, "?name=logs.db", database.clone()).await;
    assert_eq!((status, &imported["format"]), (200, &json!("llm")), "{imported}");
    assert!(imported["nodes"].as_u64().unwrap() > 4, "{imported}");
    assert_eq!(import(&server, "?format=llm", database.clone()).await.1["nodes"], 0);
    let (status, error) = import(&server, "?format=goose&name=logs.db", database.clone()).await;
    assert_eq!((status, &error["error"]["message"]), (422, &json!("logs.db is a database of llm")));
    let (status, error) = import(&server, "?name=logs.db", database[..5_000].to_vec()).await;
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 422 && message.starts_with("logs.db cannot be read: "), "{status} {error}");
    // A small archive that unpacks to more than an upload may have.
    let bomb = zip(&[("conversations.json", &[&chats[..], &[b' '; 5_000_000]].concat())]);
    assert!(bomb.len() < 100_000);
    let (status, error) = import(&server, "", bomb).await;
    assert_eq!((status, &error["error"]["code"]), (413, &json!("too_large")), "{error}");
    assert_eq!(import(&server, "", zip(&[("notes.txt", b"x")])).await.0, 422);
    for _ in 0..400 {
        let mut left = std::fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
        if !left.any(|entry| entry.file_name().to_string_lossy().starts_with("loom-upload-")) {
            return;
        }
        // A test of another process may be uploading.
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("an upload was left behind");
}

#[tokio::test]
async fn a_project_exports_its_trees_without_the_rest_of_the_file() {
    let home = Home::new();
    home.ok(&["docs", "new", "notes", "of the whole file"]);
    home.ok(&["agents", "add", "spy", "--kind", "model", "--system", "a secret system prompt"]);
    let token = home.ok(&["serve", "token", "new", "red", "--project", "red", "--scope", "admin"]);
    let server = HttpServer::start(&home, &[]);
    let send = |method: Method, path: &str| server.request(method, path).bearer_auth(token.trim());
    let body = json!({ "content": "ours" });
    let (_, created) = answer(send(Method::POST, "/api/v1/trees").json(&body)).await;
    let path = format!("/api/v1/trees/{}/export", created["tree"]["id"].as_str().unwrap());
    let text = send(Method::GET, &path).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("ours") && text.contains("\"owner\""), "{text}");
    for other in ["whole file", "spy", "secret", "collaborator"] {
        assert!(!text.contains(other), "{other}: {text}");
    }
    // The file is whole: it can be imported.
    let target = Home::new();
    let target = HttpServer::start(&target, &[]);
    assert_eq!(import(&target, "", text).await.1["nodes"], 1);
}
