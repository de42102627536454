//! The web page: its files, logins and windows over HTTP, and every action in a real browser (`tests/page`).

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    loom_server::{HttpServer, answer},
    skip,
};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/sample.jsonl");

/// Folder with the packages of `tests/page`, as `npm install` made it.
fn tools() -> PathBuf {
    let named = std::env::var_os("LOOM_PAGE_TOOLS").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/page-tests"))
}

/// Runs a script of `tests/page` with the program, in Chromium. One at a time: several browsers on two cores exceed the
/// scripts' waits.
fn run_in_a_browser(script: &str) {
    static BROWSER: Mutex<()> = Mutex::new(());
    let _alone = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let chromium = std::env::var("LOOM_CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if !skip::has("node") || !Path::new(&chromium).exists() || !tools().join("node_modules/playwright-core").exists() {
        return skip::because("node, chromium or playwright-core is missing; .ci/run installs them");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page").join(script);
    let mut command = Command::new("node");
    let command = command.arg(script).arg(env!("CARGO_BIN_EXE_loom"));
    let output = command.env("LOOM_PAGE_TOOLS", tools()).env("LOOM_CHROMIUM", chromium).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_action_works_in_a_browser() {
    run_in_a_browser("page.mjs");
}

#[test]
fn text_is_written_in_a_browser() {
    run_in_a_browser("writing.mjs");
}

#[test]
fn actions_by_mouse_and_by_key_change_the_database() {
    run_in_a_browser("actions.mjs");
}

#[test]
fn windows_of_several_sizes_work_in_a_browser() {
    run_in_a_browser("sizes.mjs");
}

#[test]
fn fingers_tabs_and_scripts_work_in_a_browser() {
    run_in_a_browser("devices.mjs");
}

#[tokio::test]
async fn the_page_is_served_with_a_strict_policy_and_cached() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let index = server.request(Method::GET, "/").send().await.unwrap();
    let policy = index.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "trusted-types 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let tag = index.headers()["etag"].clone();
    let text = index.text().await.unwrap();
    let again = server.request(Method::GET, "/").header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let mut packed_bytes = text.len();
    let main = text.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let packed = server.request(Method::GET, main).header("accept-encoding", "gzip, br").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    for address in text.split("=\"/page/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let file = server.request(Method::GET, &format!("/page/{address}")).header("accept-encoding", "gzip");
        let file = file.send().await.unwrap();
        assert_eq!(file.status(), 200, "{address}");
        assert!(file.headers()["cache-control"].to_str().unwrap().contains("immutable"), "{address}");
        packed_bytes += file.bytes().await.unwrap().len();
    }
    assert!(packed_bytes < 100_000, "the page is {packed_bytes} bytes");
    for wrong in ["/page/other/main.js", "/page/../serve/mod.rs", "/page/x/..%2f..%2fmod.rs"] {
        assert_eq!(server.get(wrong).await.0, 404, "{wrong}");
    }
}

#[tokio::test]
async fn windows_show_lines_and_path_around_the_cursor() {
    let home = Home::new();
    home.ok(&["import", SAMPLE]);
    let server = HttpServer::start(&home, &[]);
    let node = home.json(&["view", "hj17rx"])[0]["id"].as_str().unwrap().to_owned();
    let window = |query: String| {
        let path = format!("/api/v1/nodes/{node}/window?{query}");
        let server = &server;
        async move { server.get(&path).await.1 }
    };
    let shown = window("above=2&below=3&path=2".to_owned()).await;
    let texts = |of: &str| -> Vec<String> {
        let rows = shown[of].as_array().unwrap().iter();
        rows.map(|row| row["local_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((texts("lines").len(), &shown["cursor"]), (6, &json!(2)));
    assert_eq!(texts("lines")[2], "hj17rx");
    assert_eq!(texts("path"), ["7q3thv", "hj17rx"]);
    assert_eq!(shown["more_path"], true);
    assert_eq!(shown["path"][1]["branch"], json!({ "number": 1, "count": 2 }));
    assert_eq!(texts("continuations"), ["7qbc12"]);
    let moved = window("steps=parent,parent,next&path=0".to_owned()).await;
    assert_ne!(moved["node"], node.as_str());
    assert!(moved["path"].as_array().unwrap().is_empty());
    assert_eq!(window("steps=fly".to_owned()).await["error"]["code"], "invalid");
    let root = shown["tree"]["root_id"].as_str().unwrap();
    let folded = server.get(&format!("/api/v1/nodes/{root}/window?folded={root}")).await.1;
    assert_eq!((folded["lines"].as_array().unwrap().len(), &folded["lines"][0]["folded"]), (1, &json!(true)));
    let (_, me) = server.get("/api/v1/me").await;
    assert_eq!((&me["agent"], &me["scope"]), (&json!("owner"), &json!("admin")));
}

#[tokio::test]
async fn arrow_lines_are_completed_from_declarations_and_the_store() {
    let home = Home::new();
    home.ok(&["import", SAMPLE]);
    home.ok(&["docs", "new", "my plan", "The light."]);
    let server = HttpServer::start(&home, &[]);
    let node = home.json(&["view", "9pakc5"])[0]["id"].clone();
    let complete = |line: &'static str| {
        let body = json!({ "line": line, "node": node });
        let server = &server;
        async move {
            let (_, answer) = server.post("/api/v1/arrow/completions", body).await;
            let texts = answer["options"].as_array().unwrap().iter();
            texts.map(|option| option["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(complete("→ boo").await, ["bookmark "]);
    assert_eq!(complete("-> show").await, ["view "], "a synonym");
    let ids = complete("→ view ").await;
    assert!(ids.contains(&"9pakc5 ".to_owned()) && ids.contains(&"full ".to_owned()), "{ids:?}");
    assert_eq!(complete("→ view hj17").await, ["hj17rx "], "an id of another branch");
    assert!(complete("→ view bookmark:").await[0].starts_with("bookmark:\""));
    assert_eq!(complete("→ continue from 9pakc5 n").await, ["n:"]);
    assert_eq!(complete("→ read doc:\"my").await, ["doc:\"my plan\" "]);
    assert_eq!(complete("→ delegate \"goal\" wait:").await, ["wait:yes ", "wait:no "]);
    assert!(complete("→ nonsense ").await.is_empty() && complete("→ move 9pakc5 beside ").await.is_empty());
}

#[tokio::test]
async fn a_node_is_split_at_a_character_and_pinned() {
    let home = Home::new();
    let root = home.json(&["new", "--buffer", "Zwölf 🙂 Boote."])[0]["root"]["id"].as_str().unwrap().to_owned();
    let server = HttpServer::start(&home, &[]);
    let path = format!("/api/v1/nodes/{root}/changes");
    let split = server.ok(&path, json!({ "op": "split", "at": 8 })).await;
    assert_eq!(split["node"]["content"], "Zwölf 🙂 ");
    let both = server.post(&path, json!({ "op": "split", "at": 8, "after": "Z" })).await;
    assert_eq!(both.0, 422, "{}", both.1);
    server.ok(&path, json!({ "op": "pin" })).await;
    let window = server.get(&format!("/api/v1/nodes/{root}/window")).await.1;
    assert_eq!(window["pins"], json!([root]));
    assert_eq!(window["path"][0]["prose"], json!([{ "text": "Zwölf 🙂 Boote.", "model": false }]));
    server.ok(&path, json!({ "op": "unpin" })).await;
    assert_eq!(server.get(&format!("/api/v1/nodes/{root}/window")).await.1["pins"], json!([]));
}

#[tokio::test]
async fn an_edited_text_is_saved_whole_or_not_at_all() {
    let home = Home::new();
    let created = home.json(&["new", "--buffer", "One light. "])[0].clone();
    let root = created["root"]["id"].as_str().unwrap();
    let server = HttpServer::start(&home, &[]);
    let children = format!("/api/v1/nodes/{root}/children");
    let second = server.ok(&children, json!({ "content": "Two boats." })).await["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/nodes/{second}/text");
    let edit = |node: &str, content: &str| json!({ "node": node, "content": content });
    let edits = json!([edit(root, "One lamp. "), edit(&second, "Two ships.")]);
    let saved = server.ok(&path, json!({ "edits": edits, "appended": " The end." })).await;
    let nodes = saved["nodes"].as_array().unwrap();
    let mut texts = Vec::new();
    for node in nodes {
        texts.push(server.get(&format!("/api/v1/nodes/{}", node.as_str().unwrap())).await.1["content"].clone());
    }
    assert_eq!(texts, ["One lamp. ", "Two ships.", " The end."]);
    let tree = created["tree"]["id"].as_str().unwrap();
    let count = async || server.get(&format!("/api/v1/trees/{tree}/nodes")).await.1["data"].as_array().unwrap().len();
    let before = count().await;
    // The second edit changes nothing, which is an error; the first is not saved then.
    let unchanged = json!({ "edits": [edit(root, "One star. "), edit(&second, "Two boats.")] });
    assert_eq!(server.post(&path, unchanged).await.0, 422);
    assert_eq!(server.post(&path, json!({})).await.0, 422);
    assert_eq!(count().await, before);
    server.ok(&format!("/api/v1/trees/{tree}/undo"), json!({})).await;
    let hidden = server.get(&format!("/api/v1/nodes/{}", nodes[0].as_str().unwrap())).await.1;
    assert!(hidden["state"]["pruned_by"].is_string(), "{hidden}");
    assert!(
        server.get(&format!("/api/v1/nodes/{}", nodes[2].as_str().unwrap())).await.1["state"]["pruned_by"].is_string()
    );
}

/// Replies of different models have authors of their own on the map, although one agent wrote them.
#[tokio::test]
async fn a_map_tells_models_apart() {
    let home = Home::new();
    home.ok(&["import", SAMPLE]);
    home.ok(&["continue", "9pakc5", "-n", "1", "-m", "scripted:words"]);
    let server = HttpServer::start(&home, &[]);
    let tree = server.get("/api/v1/trees").await.1["data"][0]["id"].as_str().unwrap().to_owned();
    let map = server.get(&format!("/api/v1/trees/{tree}/map?width=2000&height=2000")).await.1;
    let authors = map["authors"].as_array().unwrap().iter().filter(|author| author["name"] == "subject");
    let models: Vec<Option<&str>> = authors.map(|author| author["model"].as_str()).collect();
    assert!(models.len() == 2 && models.contains(&Some("scripted:words")), "{}", map["authors"]);
}

#[tokio::test]
async fn a_map_shows_the_whole_tree_and_finds_nodes_by_position() {
    let home = Home::new();
    home.ok(&["import", SAMPLE]);
    let server = HttpServer::start(&home, &[]);
    let view = |node: &str| home.json(&["view", node])[0].clone();
    let node = view("9pakc5");
    let (tree, id) = (node["tree_id"].as_str().unwrap(), node["id"].as_str().unwrap());
    let map = |query: String| {
        let path = format!("/api/v1/trees/{tree}/map?{query}");
        let server = &server;
        async move { server.get(&path).await.1 }
    };
    let whole = map(format!("width=2000&height=2000&cursor={id}&hits={id}")).await;
    let counts = server.get(&format!("/api/v1/trees/{tree}")).await.1;
    assert_eq!((&whole["rows"], &whole["stale"]), (&counts["leaves"], &json!(false)));
    assert_eq!(Some(whole["drawn"].as_array().unwrap().len() as u64), whole["nodes"].as_u64());
    let here = whole["path"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&here[0], &whole["hits"]), (&node["depth"], &json!([here])));
    assert!(whole["bookmarks"].as_array().unwrap().len() == 1 && whole["authors"].as_array().unwrap().len() > 1);
    let (column, row) = (here[0].as_u64().unwrap(), here[1].as_u64().unwrap() / 2);
    let found = server.get(&format!("/api/v1/trees/{tree}/map/node?column={column}&row={row}")).await;
    assert_eq!((found.0, &found.1["id"]), (200, &node["id"]));
    assert_eq!(server.get(&format!("/api/v1/trees/{tree}/map/node?column=0&row=999")).await.0, 404);
    // A small map draws branches together, and counts every node once.
    let small = map("width=40&height=8".to_owned()).await;
    assert!(small["clusters"].as_array().unwrap().len() < 5 && small["drawn"].as_array().unwrap().is_empty());
    // A change is seen at once: reading a small tree again costs nothing.
    home.ok(&["say", "--at", "9pakc5", "A new branch."]);
    let more = map(String::new()).await;
    assert_eq!(more["nodes"].as_u64().unwrap(), whole["nodes"].as_u64().unwrap() + 1);
    home.ok(&["prune", "9pakc5"]);
    assert!(map(format!("cursor={id}")).await["nodes"].as_u64().unwrap() < whole["nodes"].as_u64().unwrap());
    assert_eq!(map("width=0".to_owned()).await["error"]["code"], "invalid");
    assert_eq!(map("left=NaN".to_owned()).await["error"]["code"], "invalid");
}

/// Returns the cookie of a login.
async fn log_in(server: &HttpServer<'_>, body: Value) -> Result<String, u16> {
    let response = server.request(Method::POST, "/login").json(&body).send().await.unwrap();
    match response.status().as_u16() {
        204 => {
            let cookie = response.headers()["set-cookie"].to_str().unwrap();
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
            Ok(cookie.split(';').next().unwrap().to_owned())
        }
        status => Err(status),
    }
}

#[tokio::test]
async fn a_token_becomes_a_cookie_of_own_pages_only() {
    let home = Home::new();
    let token = home.ok(&["serve", "token", "new", "reader", "--scope", "read"]);
    let server = HttpServer::start(&home, &[]);
    assert_eq!(log_in(&server, json!({ "token": "loom_guess" })).await, Err(401));
    assert_eq!(log_in(&server, json!({ "code": "" })).await, Err(401));
    let cookie = log_in(&server, json!({ "token": token.trim() })).await.unwrap();
    assert!(!cookie.contains(token.trim()), "{cookie}");
    let other = log_in(&server, json!({ "token": token.trim() })).await.unwrap();
    let out = server.request(Method::DELETE, "/login").header("cookie", &other);
    assert_eq!(answer(out).await.0, 204);
    assert_eq!(answer(server.request(Method::GET, "/api/v1/me").header("cookie", &other)).await.0, 401);
    let me = |site: &'static str| {
        let request = server.request(Method::GET, "/api/v1/me").header("cookie", &cookie);
        async move { answer(request.header("sec-fetch-site", site)).await }
    };
    assert_eq!(me("same-origin").await.1["scope"], "read");
    assert_eq!(me("same-site").await.0, 401);
    assert_eq!(me("cross-site").await.0, 401);
    let foreign = server.request(Method::POST, "/login").header("origin", "http://evil.example").json(&json!({}));
    assert_eq!(answer(foreign).await.0, 421);
    let change = server.request(Method::POST, "/api/v1/trees").header("cookie", &cookie);
    assert_eq!(answer(change.json(&json!({ "content": "x" }))).await.0, 403);
    home.ok(&["serve", "token", "revoke", "reader"]);
    // The name of a token can be given again.
    home.ok(&["serve", "token", "new", "reader", "--scope", "admin"]);
    for _ in 0..100 {
        if me("same-origin").await.0 == 401 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    panic!("a revoked token still works as a cookie");
}

#[tokio::test]
async fn open_serves_only_who_has_the_link() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let mut child = home.command(&["--json", "open", "--no-browser"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let started: Value = serde_json::from_str(&line).unwrap();
    let (address, link) = (started["address"].as_str().unwrap(), started["link"].as_str().unwrap());
    let node = home.json(&["view"])[0]["id"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("{address}/#/{node}?code=")), "{link}");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let me = || client.get(format!("{address}/api/v1/me"));
    assert_eq!(answer(me()).await.0, 401, "without a login");
    let code = json!({ "code": link.split("code=").nth(1).unwrap() });
    let first = client.post(format!("{address}/login")).json(&code).send().await.unwrap();
    let cookie = first.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(answer(me().header("cookie", cookie)).await.0, 200);
    let second = client.post(format!("{address}/login")).json(&code).send().await.unwrap();
    assert_eq!(second.status(), 401, "the link works once");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Vendored files are those of the registry, and each has its licence.
#[test]
fn vendored_files_are_unchanged() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page/vendor"));
    let sums = std::fs::read_to_string(folder.join("BLAKE3SUMS")).unwrap();
    let mut listed = 0;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(blake3::hash(&std::fs::read(folder.join(name)).unwrap()).to_hex().as_str(), sum, "{name}");
        let library = name.trim_end_matches(".js");
        assert!(folder.join(format!("LICENSE-{library}")).exists(), "{name} has no licence");
        listed += 1;
    }
    let files = std::fs::read_dir(folder)
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "js"));
    assert_eq!(files.count(), listed);
}
