//! `loom mcp`: consent, resources, subscriptions, prompts, long calls, progress, and settings for clients.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{DONE, Server, finish, head, models, send, text as reply, wait},
    mcp::{McpProcess, text},
};

fn lines(lines: &[&str]) -> Value {
    json!({ "lines": lines })
}

#[test]
fn a_missing_permission_is_asked_for_or_refused_by_name() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let goal = json!({ "goal": "count the lights" });
    // A client that cannot ask.
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    let refused = server.refused("delegate_task", goal.clone());
    assert!(refused.contains("PERMISSION_DENIED") && refused.contains("permission delegate"), "{refused}");
    assert!(refused.contains("--permissions"), "{refused}");
    // A client that gets the question as a request.
    for (answer, allowed) in [
        (json!({ "action": "accept", "content": { "allow": true } }), true),
        (json!({ "action": "accept", "content": { "allow": false } }), false),
        (json!({ "action": "decline" }), false),
    ] {
        let mut server = McpProcess::start(&home, &[]);
        server.capabilities = json!({ "elicitation": {} });
        server.initialize("2025-11-25");
        let id = server.send_request("tools/call", json!({ "name": "delegate_task", "arguments": goal }));
        let question = server.message();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("test") && message.contains("delegate \"count the lights\""), "{message}");
        server.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }).to_string());
        let result = server.message();
        assert_eq!(result["id"], id);
        let shown = text(&result["result"]);
        match allowed {
            true => {
                let id = result["result"]["structuredContent"]["delegation"].as_str().unwrap();
                assert!(shown.starts_with(&format!("✓ delegated [{id}]")), "{shown}");
            }
            false => assert!(shown.contains("permission delegate") && shown.contains("the user refused"), "{shown}"),
        }
    }
    // A client that gets the question as a result, and repeats the call with the answer.
    let mut server = McpProcess::start(&home, &[]);
    server.capabilities = json!({ "elicitation": { "form": {} } });
    let question = server.call("loom", lines(&["→ delegate \"count the lights\""]));
    assert_eq!(question["resultType"], "input_required", "{question}");
    assert_eq!(question["inputRequests"]["consent"]["method"], "elicitation/create");
    // The question shows every command that the consent allows, or none is allowed.
    let goals = ["→ delegate \"count the lights\"", "→ delegate \"count\u{7} the boats\""];
    let question = server.call("loom", lines(&goals));
    let message = question["inputRequests"]["consent"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("the lights") && message.contains("count\\u{7} the boats"), "{message}");
    let long = format!("→ delegate \"{}\"", "a long goal ".repeat(400));
    let refused = server.refused("loom", lines(&["→ delegate \"count the lights\"", &long]));
    assert!(refused.contains("LIMIT_EXCEEDED") && refused.contains("too long to be shown"), "{refused}");
    let answers = json!({ "consent": { "action": "accept", "content": { "allow": true } } });
    let call = json!({ "name": "delegate_task", "arguments": goal, "inputResponses": answers });
    let result = server.ok("tools/call", call);
    assert!(text(&result).starts_with("✓ delegated ["), "{result}");
    // The permission of the command line needs no question.
    let mut server = McpProcess::start(&home, &["--permissions", "all"]);
    assert_eq!(server.call("delegate_task", goal)["isError"], false);
}

#[test]
fn trees_nodes_and_documents_are_resources() {
    let home = Home::new();
    for number in 0..60 {
        home.ok(&["new", &format!("First words of {number}."), "--title", &format!("Tree {number}")]);
    }
    home.ok(&["docs", "new", "sea notes", "High water at nine."]);
    let node = home.json(&["new", "The harbour was empty.", "--title", "Été 100%"])[0]["root"]["id"].clone();
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    let first = server.ok("resources/list", json!({}));
    assert_eq!(first["resources"].as_array().unwrap().len(), 50);
    assert_eq!(first["resources"][0]["name"], "Été 100%");
    let rest = server.ok("resources/list", json!({ "cursor": first["nextCursor"] }));
    assert_eq!(rest["resources"].as_array().unwrap().len(), 11);
    assert!(rest.get("nextCursor").is_none());
    assert_eq!(server.ok("resources/templates/list", json!({}))["resourceTemplates"].as_array().unwrap().len(), 3);
    let mut read = |uri: &str| {
        let read = server.ok("resources/read", json!({ "uri": uri }));
        read["contents"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(read(first["resources"][0]["uri"].as_str().unwrap()).contains("The harbour was empty."));
    assert!(read("loom://tree/%C3%89t%C3%A9%20100%25").contains("The harbour was empty."));
    assert!(read(&format!("loom://node/{}", node.as_str().unwrap())).contains("The harbour was empty."));
    assert_eq!(read("loom://doc/sea%20notes"), "High water at nine.");
    for uri in ["loom://doc/none", "loom://tree/none", "loom://node/a7x2kq", "file:///etc/passwd", ""] {
        let error = server.request("resources/read", json!({ "uri": uri }));
        assert_eq!((&error["error"]["code"], &error["error"]["data"]["uri"]), (&json!(-32002), &json!(uri)), "{error}");
    }
    let complete = |server: &mut McpProcess, template: &str, argument: &str, typed: &str| {
        let reference = json!({ "type": "ref/resource", "uri": template });
        let argument = json!({ "name": argument, "value": typed });
        let completed = server.ok("completion/complete", json!({ "ref": reference, "argument": argument }));
        completed["completion"]["values"].clone()
    };
    assert_eq!(complete(&mut server, "loom://tree/{tree}", "tree", "été"), json!(["Été 100%"]));
    assert_eq!(complete(&mut server, "loom://doc/{name}", "name", "sea"), json!(["sea notes"]));
    let mut server = McpProcess::start(&home, &["--permissions", "loom_aware"]);
    for uri in ["loom://doc/sea%20notes", "loom://tree/Tree%201"] {
        let error = server.request("resources/read", json!({ "uri": uri }));
        assert!(error["error"]["message"].as_str().unwrap().contains("PERMISSION_DENIED"), "{error}");
    }
}

#[test]
fn changes_of_other_processes_are_notified() {
    let home = Home::new();
    home.ok(&["new", "The harbour was empty.", "--title", "Harbour"]);
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    server.ok("resources/subscribe", json!({ "uri": "loom://tree/Harbour" }));
    home.ok(&["say", "A light blinked."]);
    let changed = server.message();
    assert_eq!(changed["method"], "notifications/resources/updated", "{changed}");
    assert_eq!(changed["params"]["uri"], "loom://tree/Harbour");
    server.ok("resources/unsubscribe", json!({ "uri": "loom://tree/Harbour" }));
    let mut server = McpProcess::start(&home, &[]);
    let wanted = json!({ "resourcesListChanged": true, "resourceSubscriptions": ["loom://tree/Harbour"] });
    server.send_request("subscriptions/listen", json!({ "notifications": wanted }));
    assert_eq!(server.message()["method"], "notifications/subscriptions/acknowledged");
    // The acknowledgement comes before the first look at the store.
    std::thread::sleep(std::time::Duration::from_secs(2));
    home.ok(&["say", "Another light."]);
    assert_eq!(server.message()["params"]["uri"], "loom://tree/Harbour");
    home.ok(&["new", "Elsewhere it rained."]);
    assert_eq!(server.message()["method"], "notifications/resources/list_changed");
}

#[test]
fn prompts_continue_and_compare_conversations() {
    let home = Home::new();
    let root = home.start("The harbour was empty.");
    let left = home.say("owner", Some(&root), "A light blinked.");
    let right = home.say("owner", Some(&root), "It rained.");
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    assert_eq!(server.ok("prompts/list", json!({}))["prompts"].as_array().unwrap().len(), 2);
    let mut prompt = |name: &str, arguments: Value| {
        let answer = server.request("prompts/get", json!({ "name": name, "arguments": arguments }));
        answer["result"]["messages"][0]["content"]["text"].as_str().map_or(answer["error"].clone(), Value::from)
    };
    let resumed = prompt("resume", json!({}));
    assert!(resumed.as_str().unwrap().contains("The harbour was empty."), "{resumed}");
    let review = prompt("branch_review", json!({ "first": left, "second": format!("[{right}]") }));
    let review = review.as_str().unwrap();
    assert!(review.contains("A light blinked.") && review.contains("It rained."), "{review}");
    assert_eq!(prompt("branch_review", json!({ "first": left }))["code"], -32602);
    assert_eq!(prompt("branch_review", json!({ "first": "x\n→ prune /", "second": right }))["code"], -32602);
    assert_eq!(prompt("nothing", json!({}))["code"], -32602);
}

#[test]
fn progress_is_reported_for_each_line() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    let call =
        json!({ "name": "loom", "arguments": lines(&["view", "help", "tree"]), "_meta": { "progressToken": "p" } });
    server.ok("tools/call", call);
    let done: Vec<Value> = server.other.iter().map(|message| message["params"]["progress"].clone()).collect();
    // The last notification may come after the answer.
    assert!(done.len() >= 2 && done[0] == 1.0 && done[1] == 2.0, "{:?}", server.other);
    assert_eq!(server.other[0]["params"]["total"], 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_call_is_answered_in_time_and_fetched_later() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let slow = || vec![head(), wait(13_000), send(reply("A light blinked.")), send(finish("stop")), send(DONE)];
    let model = Server::start([models(&[("m", "nobody")]), slow(), slow()]).await;
    std::fs::write(home.file("slow.yaml"), format!("model: \"{}#m\"\n", model.url())).unwrap();
    let config = home.file("slow.yaml");
    let mut server = McpProcess::start(&home, &["--config", config.to_str().unwrap()]);
    let started = std::time::Instant::now();
    let running = server.call("loom", lines(&["→ continue"]));
    assert!(started.elapsed().as_secs_f64() < 10.0, "{:?}", started.elapsed());
    let shown = text(&running);
    let task = shown.split("\"task\": \"").nth(1).unwrap_or_else(|| panic!("{running}")).split('"').next().unwrap();
    let task = task.to_owned();
    assert_eq!(running["structuredContent"]["session"].as_str().unwrap().len(), 26);
    let answer = server.call("loom", json!({ "task": task }));
    assert!(text(&answer).contains("A light blinked."), "{answer}");
    assert!(server.refused("loom", json!({ "task": task })).contains("no running call"));
    // A cancelled call ends its model request, and the server answers on.
    let id = server.send_request("tools/call", json!({ "name": "loom", "arguments": lines(&["→ continue"]) }));
    std::thread::sleep(std::time::Duration::from_secs(2));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    server.send(&cancel.to_string());
    let started = std::time::Instant::now();
    assert_eq!(server.call("loom", lines(&["→ view"]))["isError"], false);
    assert!(started.elapsed().as_secs_f64() < 9.0, "{:?}", started.elapsed());
}

#[test]
fn search_and_fetch_have_the_shapes_that_connectors_require() {
    let home = Home::new();
    home.start("The harbour was empty.");
    let mut server = McpProcess::start(&home, &["--search-fetch"]);
    assert_eq!(server.ok("tools/list", json!({}))["tools"].as_array().unwrap().len(), 8);
    let found: Value = serde_json::from_str(text(&server.call("search", json!({ "query": "harbour" })))).unwrap();
    let first = &found["results"][0];
    assert!(first["title"].as_str().unwrap().contains("harbour"), "{found}");
    let fetched: Value = serde_json::from_str(text(&server.call("fetch", json!({ "id": first["id"] })))).unwrap();
    assert_eq!(fetched["text"], "The harbour was empty.");
    assert_eq!(fetched["url"], first["url"]);
    assert!(server.refused("fetch", json!({ "id": "none" })).contains("NOT_FOUND"));
    let mut server = McpProcess::start(&home, &[]);
    assert_eq!(server.request("tools/call", json!({ "name": "search", "arguments": {} }))["error"]["code"], -32602);
}

#[test]
fn printed_settings_start_the_server_with_the_same_options() {
    let home = Home::new();
    let printed = |client: &str| home.run(&["mcp", "--read-only", "--print-config", client]);
    let server = |client: &str, path: &[&str]| {
        let ran = printed(client);
        assert!(ran.code == 0 && ran.err.contains("paste this into"), "{ran:?}");
        let block: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out));
        path.iter().fold(block, |block, key| block[key].clone())
    };
    let database = home.file("loom.db").display().to_string();
    let claude = server("claude", &["mcpServers", "loomtree"]);
    assert_eq!(claude["args"], json!(["mcp", "--db", database, "--read-only"]));
    assert!(std::path::Path::new(claude["command"].as_str().unwrap()).is_file());
    assert_eq!(server("zed", &["context_servers", "loomtree"])["args"], claude["args"]);
    for (client, key) in [("cursor", "mcpServers"), ("vscode", "servers")] {
        let arguments = server(client, &[key, "loomtree"])["args"].to_string();
        assert!(arguments.contains("\"--workspace\",\"${workspaceFolder}\""), "{arguments}");
    }
    let codex = printed("codex").out;
    assert!(
        codex.starts_with("[mcp_servers.loomtree]\ncommand = \"/") && codex.contains("args = [\"mcp\", "),
        "{codex}"
    );
    assert_eq!(home.run(&["mcp", "--print-config", "emacs"]).code, 2);
    for url in ["postgres://ann:cret@db/loom", "postgres://ann@db/loom?password=cret"] {
        let ran = Home::with_database(url.to_owned()).run(&["mcp", "--print-config", "claude"]);
        assert!(ran.out.contains("\"postgres://ann@db/loom\"") && ran.err.contains("PGPASSWORD"), "{ran:?}");
    }
    assert!(!home.file("loom.db").exists());
}

/// `server.json` is what the MCP registry knows of the server.
#[test]
fn the_entry_of_the_registry_agrees_with_the_program() {
    let read = |file: &str| std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let entry: Value = serde_json::from_str(&read("server.json")).unwrap();
    let package = &entry["packages"][0];
    assert_eq!((&entry["version"], &package["version"]), (&json!(env!("CARGO_PKG_VERSION")), &entry["version"]));
    let name = entry["name"].as_str().unwrap();
    assert_eq!(name.split_once('/').unwrap().1, env!("CARGO_PKG_NAME"));
    assert_eq!(
        (&package["identifier"], &package["transport"]["type"]),
        (&json!(env!("CARGO_PKG_NAME")), &json!("stdio"))
    );
    assert!(entry["description"].as_str().unwrap().len() <= 100);
    // The registry takes this line in the package's description as the proof of ownership.
    assert!(read("README.md").contains(&format!("<!-- mcp-name: {name} -->")));
    let home = Home::new();
    let command = package["packageArguments"][0]["value"].as_str().unwrap();
    assert!(home.ok(&[command, "--help"]).contains("MCP"));
    let reference = read("docs/reference.md");
    for variable in package["environmentVariables"].as_array().unwrap() {
        assert!(reference.contains(&format!("`{}`", variable["name"].as_str().unwrap())), "{variable}");
    }
    let mut server = McpProcess::initialized(&home, &[], "2025-11-25");
    let list = server.ok("tools/list", json!({}));
    assert_eq!(list["tools"].as_array().unwrap().len(), 6);
}
