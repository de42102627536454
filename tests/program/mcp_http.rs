//! MCP over HTTP at `/mcp` of `loom serve`: both kinds of clients, tokens, agents and hosts.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{cli::Home, loom_server::HttpServer};

/// Sends a message in the form of a revision, with more headers. Returns the status and the answer.
async fn post(
    server: &HttpServer<'_>,
    revision: &str,
    method: &str,
    mut params: Value,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let mut request = server.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    if revision >= "2026" {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        });
        request = request.header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
    }
    request = request.header("mcp-protocol-version", revision);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = request.json(&message).send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn call(line: &str) -> Value {
    json!({ "name": "loom", "arguments": { "lines": [line] } })
}

#[tokio::test]
async fn clients_of_both_kinds_call_tools_over_http() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let server = HttpServer::start(&home, &[]);
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let (status, greeting) = post(&server, "2025-11-25", "initialize", hello, &[]).await;
    assert_eq!((status, &greeting["result"]["protocolVersion"]), (200, &json!("2025-11-25")), "{greeting}");
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let (status, listed) = post(&server, revision, "tools/list", json!({}), &[]).await;
        assert_eq!(
            (status, listed["result"]["tools"].as_array().map(Vec::len)),
            (200, Some(6)),
            "{revision}: {listed}"
        );
        let (_, answer) = post(&server, revision, "tools/call", call("→ respond \"A light.\""), &[]).await;
        assert_eq!(answer["result"]["isError"], false, "{revision}: {answer}");
    }
    assert_eq!(home.ok(&["tree"]).matches("A light.").count(), 3);
}

#[tokio::test]
async fn access_is_that_of_the_server() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let token = |args: &[&str]| home.ok(&[&["serve", "token", "new"], args].concat()).trim().to_owned();
    let writer = token(&["writer"]);
    let reader = token(&["reader", "--scope", "read"]);
    let subject = token(&["subject", "--agent", "subject"]);
    let project = token(&["project", "--project", "shop"]);
    let server = HttpServer::start(&home, &[]);
    let line = || call("→ respond \"A light.\"");
    let bearer = |token: &str| format!("Bearer {token}");
    let send = async |token: &str, more: &[(&str, &str)]| {
        let authorization = bearer(token);
        let headers = [&[("authorization", authorization.as_str())], more].concat();
        post(&server, "2026-07-28", "tools/call", line(), &headers).await
    };
    assert_eq!(post(&server, "2026-07-28", "tools/call", line(), &[]).await.0, 401);
    assert_eq!(send(&reader, &[]).await.0, 403);
    assert_eq!(send(&project, &[]).await.0, 404);
    assert_eq!(send(&writer, &[("host", "evil.example")]).await.0, 421);
    assert_eq!(send(&writer, &[("origin", "http://evil.example")]).await.0, 421);
    // The subject has no permissions, whichever agent its client names.
    for agent in [&[][..], &[("x-loom-agent", "owner")]] {
        let (status, answer) = send(&subject, agent).await;
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{answer}");
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("PERMISSION_DENIED"), "{answer}");
    }
    let (_, answer) = send(&writer, &[]).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let authors: Vec<Value> = home.json(&["view"]).into_iter().map(|node| node["author_type"].clone()).collect();
    assert!(!authors.is_empty());
    let large = "x".repeat(17 << 20);
    let headers = [("authorization", bearer(&writer))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(post(&server, "2026-07-28", "tools/call", call(&large), &headers).await.0, 413);
}
