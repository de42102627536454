//! `loom serve`: who may do what. Each test walks all routes of the OpenAPI document.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{Server as Upstream, good, status},
    loom_server::{HttpServer, answer, events},
};

/// An id of nothing.
const NO_ID: &str = "01M839FST2Y84E52N1S0Z6P1XS";

/// A route of the OpenAPI document.
struct Route {
    method: Method,
    /// Pattern with `{name}` for parameters.
    path: String,
    has_body: bool,
}

async fn routes(server: &HttpServer<'_>, token: &str) -> Vec<Route> {
    let request = server.request(Method::GET, "/api/v1/openapi.json").bearer_auth(token);
    let document = answer(request).await.1;
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Ok(method) = method.to_uppercase().parse() {
                routes.push(Route { method, path: path.clone(), has_body: operation.get("requestBody").is_some() });
            }
        }
    }
    assert!(routes.len() >= 70, "{}", routes.len());
    routes
}

/// Fills the parameters of a path.
fn fill(path: &str, value: impl Fn(&str) -> String) -> String {
    let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
        Some(name) => value(name),
        None => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Returns every route as method and path, with ids that do not exist.
async fn plain_routes(server: &HttpServer<'_>, token: &str) -> Vec<(Method, String)> {
    let id = |path: &str| if path.starts_with("/api/v1/approvals") { "1" } else { NO_ID };
    let routes = routes(server, token).await.into_iter();
    routes.map(|route| (route.method, fill(&route.path, |_| id(&route.path).to_owned()))).collect()
}

#[tokio::test]
async fn every_route_needs_a_token_of_the_right_scope() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let reader = home.ok(&["serve", "token", "new", "reader", "--scope", "read"]);
    let writer = home.ok(&["serve", "token", "new", "writer", "--scope", "write"]);
    let server = HttpServer::start(&home, &[]);
    let routes = plain_routes(&server, reader.trim()).await;
    assert!(routes.len() > 50, "{}", routes.len());
    for (method, path) in routes {
        let (status, error) = answer(server.request(method.clone(), &path).json(&json!({}))).await;
        assert_eq!((status, error["error"]["code"].as_str()), (401, Some("unauthorized")), "{method} {path}");
        // A recall is sent by POST and changes nothing.
        if method != Method::GET && !path.ends_with("/recall") {
            let request = server.request(method.clone(), &path).bearer_auth(reader.trim()).json(&json!({}));
            let (status, error) = answer(request).await;
            assert_eq!((status, error["error"]["code"].as_str()), (403, Some("scope")), "{method} {path}");
        }
        let is_admin =
            path.ends_with("/purge") || ["/approvals", "/agents", "/imports"].iter().any(|part| path.contains(part));
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
    home.ok(&["serve", "token", "revoke", "reader"]);
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let open = answer(server.request(Method::GET, "/api/v1/trees")).await.0;
    assert_eq!(open, 401, "revoking the last token opens nothing");
    drop(server);
    let server = HttpServer::start(&home, &[]);
    assert_eq!(answer(server.request(Method::GET, "/api/v1/trees")).await.0, 401, "nor does a restart");
    drop(server);
    std::fs::remove_file(home.file("loom.db.tokens")).unwrap();
    let server = HttpServer::start(&home, &[]);
    assert_eq!(answer(server.request(Method::GET, "/api/v1/trees")).await.0, 200);
}

/// As a link to a file on a disk that is not mounted yet.
#[cfg(unix)]
#[tokio::test]
async fn a_token_file_that_cannot_be_read_opens_nothing() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    std::os::unix::fs::symlink(home.file("elsewhere"), home.file("loom.db.tokens")).unwrap();
    let server = HttpServer::start(&home, &[]);
    assert_eq!(answer(server.request(Method::GET, "/api/v1/trees")).await.0, 401);
}

/// The token file is that of the database, by whatever path the database is opened.
#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_database_has_its_tokens() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let token = home.ok(&["serve", "token", "new", "app"]).trim().to_owned();
    std::os::unix::fs::symlink(home.file("loom.db"), home.file("link.db")).unwrap();
    let linked = Home::with_database(home.file("link.db").to_str().unwrap().to_owned());
    assert!(linked.ok(&["serve", "token", "list"]).contains("app"));
    for home in [&home, &linked] {
        let server = HttpServer::start(home, &[]);
        assert_eq!(server.get("/api/v1/trees").await.0, 401);
        let (status, trees) = answer(server.request(Method::GET, "/api/v1/trees").bearer_auth(&token)).await;
        assert_eq!((status, trees["data"].as_array().unwrap().len()), (200, 1));
    }
}

#[tokio::test]
async fn every_route_is_limited() {
    let home = Home::new();
    let token = |name: &str| home.ok(&["serve", "token", "new", name, "--scope", "admin"]).trim().to_owned();
    let (one, two) = (token("one"), token("two"));
    let server = HttpServer::start(&home, &["--requests-per-second", "1"]);
    let found = routes(&server, &one).await;
    for route in &found {
        let path = fill(&route.path, |_| NO_ID.to_owned());
        // The bucket holds two requests, and gets one more each second.
        let mut codes = Vec::new();
        for _ in 0..4 {
            let request = server.request(route.method.clone(), &path).bearer_auth(&one).json(&json!({}));
            codes.push(answer(request).await.0);
        }
        assert!(codes.contains(&429), "{} {path}: {codes:?}", route.method);
    }
    let answered = server.request(Method::GET, "/api/v1/trees").bearer_auth(&two).send().await.unwrap();
    assert_eq!(answered.status(), 200, "another token has its own bucket");
    let server = HttpServer::start(&home, &["--max-body", "1000", "--max-import", "1000"]);
    for route in found.iter().filter(|route| route.has_body) {
        let id = if route.path.starts_with("/api/v1/approvals") { "1" } else { NO_ID };
        let path = fill(&route.path, |_| id.to_owned());
        let body = json!({ "content": "x".repeat(2_000) });
        let (status, error) = answer(server.request(route.method.clone(), &path).bearer_auth(&one).json(&body)).await;
        assert_eq!((status, error["error"]["code"].as_str()), (413, Some("too_large")), "{} {path}", route.method);
    }
}

#[tokio::test]
async fn streams_of_a_token_are_limited() {
    let home = Home::new();
    let server = HttpServer::start(&home, &["--streams", "2"]);
    let open = async || server.request(Method::GET, "/api/v1/events").send().await.unwrap();
    let (first, _second) = (open().await, open().await);
    let refused = open().await;
    assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (429, true));
    drop((first, refused));
    for _ in 0..100 {
        if open().await.status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("a closed stream still counts");
}

/// What a project owns: by the parameter's name, with the start of the path where names are shared.
struct Owned {
    ids: BTreeMap<&'static str, String>,
    token: String,
}

const SECRET: &str = "the red secret";

/// Creates something of every kind with the token of a project.
async fn own(server: &HttpServer<'_>, token: String) -> Owned {
    let post = async |path: &str, body: Value| {
        let (status, answer) = answer(server.request(Method::POST, path).bearer_auth(&token).json(&body)).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let created = post("/api/v1/trees", json!({ "content": SECRET })).await;
    let (tree, node) = (text(&created["tree"]["id"]), text(&created["root"]["id"]));
    let session = text(&post("/api/v1/sessions", json!({ "tree": tree })).await["id"]);
    let model = "scripted:words";
    let another = post(&format!("/api/v1/nodes/{node}/children"), json!({ "content": SECRET })).await;
    let response = post("/v1/responses", json!({ "model": model, "input": SECRET })).await;
    let conversation = post("/v1/conversations", json!({ "items": [{ "role": "user", "content": SECRET }] })).await;
    let items = format!("/v1/conversations/{}/items", text(&conversation["id"]));
    let (_, items) = answer(server.request(Method::GET, &items).bearer_auth(&token)).await;
    let goal = json!({ "node": node, "goal": SECRET });
    let delegation = text(&post("/api/v1/delegations", goal).await["head"]["id"]);
    let sent = post("/api/v1/items/R-1/messages", json!({ "content": SECRET, "model": model })).await;
    let ids = [
        ("tree", tree),
        ("node", node.clone()),
        ("/api/v1/trees/{tree}/nodes id", node),
        ("session", session),
        ("another node", text(&another["id"])),
        ("/api/v1/delegations/{node} node", delegation),
        ("/v1/responses/{id} id", text(&response["id"])),
        ("/v1/conversations/{id} id", text(&conversation["id"])),
        ("item", text(&items["data"][0]["id"])),
        ("/api/v1/conversations/{session} session", text(&sent["session_id"])),
        ("ref", "R-1".to_owned()),
        ("model", "subject".to_owned()),
        ("/api/v1/generations/{id} id", "gen_none".to_owned()),
        ("/api/v1/agents/{name} name", "collaborator".to_owned()),
        ("/api/v1/documents/{name} name", "notes".to_owned()),
        ("/api/v1/approvals/{id} id", "1".to_owned()),
    ];
    Owned { ids: ids.into_iter().collect(), token }
}

impl Owned {
    /// Fills a path with what the project owns.
    fn path(&self, pattern: &str) -> String {
        fill(pattern, |name| {
            let shared = self.ids.iter().find(|(known, _)| {
                known.split_once(' ').is_some_and(|(start, last)| last == name && pattern.starts_with(start))
            });
            let found = shared.map(|(_, id)| id).or_else(|| self.ids.get(name));
            found.unwrap_or_else(|| panic!("{pattern}: give the test something for {name}")).clone()
        })
    }

    /// Returns a valid body for a route.
    fn body(&self, method: &Method, pattern: &str) -> Value {
        let (tree, node) = (&self.ids["tree"], &self.ids["node"]);
        match (method.as_str(), pattern.rsplit('/').next().unwrap()) {
            ("PATCH", "{tree}") => json!({ "title": "taken" }),
            ("PATCH", "{session}") => json!({ "name": "red" }),
            ("PATCH", "{name}") if pattern.contains("documents") => json!({ "op": "append", "content": "x" }),
            ("PATCH", _) => json!({ "model": "scripted:words" }),
            (_, "children") => json!({ "content": "x" }),
            (_, "messages") => json!({ "content": "x", "model": "scripted:words" }),
            (_, "changes") => json!({ "op": "annotate", "content": "x" }),
            (_, "text") => {
                json!({ "edits": [{ "node": node, "content": "an edited text" }], "appended": "x" })
            }
            (_, "continuations") => json!({ "models": ["scripted:words"] }),
            (_, "switch") => json!({ "node": node }),
            (_, "revert") => json!({ "version": 1 }),
            (_, "merge") => json!({ "nodes": [node, self.ids["another node"]], "content": "x" }),
            (_, "sessions") => json!({ "tree": tree }),
            (_, "recall") => json!({ "query": "red", "tree": tree }),
            (_, "arrow") => json!({ "lines": ["tree"], "tree": tree }),
            (_, "completions") if pattern.contains("/arrow/") => json!({ "line": "view ", "node": node }),
            (_, "responses") => {
                json!({ "model": "scripted:words", "input": "x",
                    "previous_response_id": self.path("/v1/responses/{id}").rsplit('/').next() })
            }
            (_, "completions") => {
                json!({ "model": "scripted:words", "messages": [{ "role": "user", "content": "x" }] })
            }
            (_, "items") => json!({ "items": [{ "role": "user", "content": "x" }] }),
            (_, "delegations") => json!({ "node": node, "goal": "x" }),
            (_, "trees") => json!({ "content": "x" }),
            (_, "documents") => json!({ "name": "notes", "content": "x" }),
            (_, "agents") => json!({ "name": "spy", "kind": "model" }),
            (_, "{id}") if pattern.contains("approvals") => json!({ "approve": true }),
            (_, "{id}") => json!({ "metadata": {} }),
            _ => json!({}),
        }
    }
}

#[tokio::test]
async fn a_token_of_another_project_finds_nothing_by_any_route() {
    let home = Home::new();
    home.ok(&["new", "A tree of no project"]);
    home.ok(&["docs", "new", "notes", "of the whole file"]);
    let token =
        |name: &str| home.ok(&["serve", "token", "new", name, "--project", name, "--scope", "admin"]).trim().to_owned();
    let (red, blue) = (token("red"), token("blue"));
    let server = HttpServer::start(&home, &[]);
    let red = own(&server, red).await;
    let mut checked = 0;
    let mut all = routes(&server, &blue).await;
    // A reset moves the session to another tree, and what was purged cannot be edited.
    all.sort_by_key(|route| route.path.ends_with("/reset") || route.path.ends_with("/purge"));
    for route in all {
        let (path, body) = (red.path(&route.path), red.body(&route.method, &route.path));
        let send = async |token: &str, query: &str| {
            let request = server.request(route.method.clone(), &format!("{path}{query}")).bearer_auth(token);
            let request = if route.has_body { request.json(&body) } else { request };
            let events = route.path.ends_with("/events");
            let sent = tokio::time::timeout(std::time::Duration::from_secs(20), request.send()).await.unwrap().unwrap();
            let status = sent.status().as_u16();
            (status, if events { String::new() } else { sent.text().await.unwrap() })
        };
        let what = format!("{} {path}", route.method);
        let query = match route.path.as_str() {
            path if path.contains("{ref}") => "?project=red",
            path if path.ends_with("/map/node") => "?column=0&row=0",
            _ => "",
        };
        let (status, text) = send(&blue, query).await;
        assert!(!text.contains(SECRET), "{what}: {text}");
        let whole_file =
            ["/documents", "/agents", "/approvals", "/models", "/imports"].iter().any(|part| route.path.contains(part));
        let creates = ["/trees", "/conversations", "/completions"].iter().any(|end| route.path.ends_with(end));
        let is_list = route.method == Method::GET && !route.path.contains('{');
        let lists = is_list && (!whole_file || route.path.ends_with("/approvals"));
        if !lists && !creates && !route.path.contains("/models") {
            assert_eq!(status, 404, "{what}: {text}");
            checked += 1;
        }
        // The owner's token shows that the id, not the request, was at fault.
        if !whole_file && !path.contains("gen_none") && route.method != Method::DELETE {
            let (status, text) = send(&red.token, query).await;
            assert!((200..300).contains(&status) || status == 422 && path.ends_with("do"), "{what}: {status} {text}");
        }
    }
    assert!(checked > 55, "{checked}");
    let (tree, session) = (&red.ids["tree"], &red.ids["session"]);
    let request = server.request(Method::GET, &format!("/api/v1/events?tree={tree}")).bearer_auth(&blue);
    assert_eq!(answer(request).await.0, 404);
    let request = server.request(Method::GET, &format!("/api/v1/sessions?tree={tree}")).bearer_auth(&blue);
    assert_eq!(answer(request).await.0, 404);
    for body in [json!({ "query": "red" }), json!({ "query": "red", "session": session })] {
        let request = server.request(Method::POST, "/api/v1/recall").bearer_auth(&blue).json(&body);
        assert!(matches!(answer(request).await.0, 404 | 422), "{body}");
    }
    // Commands reach no further than routes.
    let lines = [
        "list trees",
        "list documents",
        "recall search \"project\" scope:all",
        "read doc:\"notes\"",
        "write doc:\"notes\" append \"more\"",
        "switch to tree:\"of no project\"",
    ];
    let request = server.request(Method::POST, "/api/v1/arrow").bearer_auth(&red.token);
    let ran = answer(request.json(&json!({ "tree": tree, "lines": lines }))).await;
    assert_eq!(ran.0, 200, "{}", ran.1);
    let results = ran.1["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["code"] == "PERMISSION_DENIED"), "{results:?}");
    assert!(!ran.1.to_string().contains("of no project"));
    // A tree of no project is not of any project.
    let request = server.request(Method::GET, "/api/v1/trees").bearer_auth(&red.token);
    assert!(!answer(request).await.1.to_string().contains("of no project"));
}

#[tokio::test]
async fn the_permissions_of_an_agent_hold_for_documents_and_recall() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    home.ok(&["docs", "new", "notes", "of the whole file"]);
    let token = home.ok(&["serve", "token", "new", "own", "--scope", "write", "--agent", "subject"]).trim().to_owned();
    let server = HttpServer::start(&home, &[]);
    for path in ["/api/v1/documents", "/api/v1/documents/notes"] {
        assert_eq!(answer(server.request(Method::GET, path).bearer_auth(&token)).await.0, 403, "{path}");
    }
    let request = server.request(Method::POST, "/api/v1/recall").bearer_auth(&token);
    assert_eq!(answer(request.json(&json!({ "query": "once" }))).await.0, 403);
}

#[tokio::test]
async fn a_token_that_reads_recalls() {
    let home = Home::new();
    home.ok(&["new", "The well is deep."]);
    let token = home.ok(&["serve", "token", "new", "reader", "--scope", "read"]).trim().to_owned();
    let server = HttpServer::start(&home, &[]);
    let post = |path: &str, body: Value| answer(server.request(Method::POST, path).bearer_auth(&token).json(&body));
    let (status, found) = post("/api/v1/recall", json!({ "query": "well" })).await;
    assert_eq!((status, found["hits"].as_array().unwrap().len()), (200, 1), "{found}");
    assert_eq!(post("/api/v1/trees", json!({ "content": "x" })).await.0, 403);
}

#[tokio::test]
async fn a_window_shows_no_node_of_another_tree() {
    let home = Home::new();
    let token = |name: &str| home.ok(&["serve", "token", "new", name, "--project", name]).trim().to_owned();
    let (red, blue) = (token("red"), token("blue"));
    let server = HttpServer::start(&home, &[]);
    let plant = async |token: &str| {
        let request = server.request(Method::POST, "/api/v1/trees").bearer_auth(token);
        let made = answer(request.json(&json!({ "content": "A shed." }))).await.1;
        made["root"]["id"].as_str().unwrap().to_owned()
    };
    let (own, second, foreign) = (plant(&red).await, plant(&red).await, plant(&blue).await);
    for (hoist, expected) in [(own.as_str(), 200), (&second, 404), (&foreign, 404), (NO_ID, 404)] {
        let request = server.request(Method::GET, &format!("/api/v1/nodes/{own}/window?hoist={hoist}"));
        let (status, window) = answer(request.bearer_auth(&red)).await;
        assert_eq!(status, expected, "{hoist}: {window}");
    }
}

/// A workspace that a token of a project names is one of the project, not the folder of a user.
#[tokio::test]
async fn a_token_of_a_project_starts_no_session_in_the_folder_of_a_user() {
    let home = Home::new();
    let mine = home.json(&["new", "Mine"])[0]["tree"]["id"].clone();
    let folder = home.file("").canonicalize().unwrap().to_str().unwrap().to_owned();
    let token = |name: &str, more: &[&str]| {
        home.ok(&[&["serve", "token", "new", name, "--scope", "write"], more].concat()).trim().to_owned()
    };
    let (shop, whole) = (token("shop", &["--project", "shop"]), token("whole", &[]));
    let server = HttpServer::start(&home, &[]);
    let post = async |path: &str, body: Value| {
        let (status, answer) = answer(server.request(Method::POST, path).bearer_auth(&shop).json(&body)).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    };
    let made = post("/api/v1/trees", json!({ "content": "Theirs" })).await;
    let (tree, root) = (&made["tree"]["id"], made["root"]["id"].as_str().unwrap());
    let model = "scripted:words";
    let session = post("/api/v1/sessions", json!({ "tree": tree, "workspace": folder })).await;
    let begun = post("/api/v1/conversations", json!({ "workspace": folder })).await;
    let sent = json!({ "content": "Look.", "model": model, "workspace": folder });
    let sent = post("/api/v1/items/S-1/messages", sent).await;
    let path = format!("/api/v1/nodes/{root}/continuations");
    post(&path, json!({ "models": [model], "agent": "collaborator", "workspace": folder })).await;
    post("/api/v1/delegations", json!({ "node": root, "goal": "Look.", "workspace": folder })).await;
    let list = async |token: &str| {
        let path = format!("/api/v1/sessions?workspace={folder}");
        answer(server.request(Method::GET, &path).bearer_auth(token)).await.1["data"].as_array().unwrap().clone()
    };
    let found = list(&whole).await;
    assert!(found.iter().all(|session| session["tree_id"] == mine) && found.len() == 1, "{found:?}");
    home.ok(&["say", "More"]);
    let (_, nodes) = answer(
        server.request(Method::GET, &format!("/api/v1/trees/{}/nodes", mine.as_str().unwrap())).bearer_auth(&whole),
    )
    .await;
    assert_eq!(nodes["data"][1]["content"], "More", "{nodes}");
    let found = list(&shop).await;
    for id in [&session["id"], &sent["session_id"], &begun["id"]] {
        assert!(found.iter().any(|session| session["id"] == *id), "{id}: {found:?}");
    }
    assert!(found.iter().all(|session| session["tree_id"] != mine), "{found:?}");
}

#[tokio::test]
async fn a_model_by_its_address_or_file_needs_a_token_of_scope_admin() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let token = |scope: &str| home.ok(&["serve", "token", "new", scope, "--scope", scope]).trim().to_owned();
    let (writer, admin) = (token("write"), token("admin"));
    let upstream = Upstream::with_model("m", [good("It is."), good("It is."), good("It is."), good("It is.")]).await;
    let address = format!("{}#m", upstream.url());
    let server = HttpServer::start(&home, &[]);
    let trees = answer(server.request(Method::GET, "/api/v1/trees").bearer_auth(&writer)).await.1;
    let root = trees["data"][0]["root_id"].as_str().unwrap();
    let message = json!({ "role": "user", "content": "hi" });
    for (token, model, expected) in [
        (&writer, address.as_str(), 403),
        (&writer, "local:/etc/passwd", 403),
        (&writer, "scripted:words", 200),
        (&admin, &address, 200),
    ] {
        for (path, body) in [
            (format!("/api/v1/nodes/{root}/continuations"), json!({ "models": [model] })),
            ("/api/v1/items/7/messages".to_owned(), json!({ "content": "hi", "model": model })),
            ("/v1/chat/completions".to_owned(), json!({ "model": model, "messages": [message] })),
            ("/v1/responses".to_owned(), json!({ "model": model, "input": "hi" })),
        ] {
            let request = server.request(Method::POST, &path).bearer_auth(token).json(&body);
            let (status, answer) = answer(request).await;
            assert_eq!(status, expected, "{path} {model}: {answer}");
            assert!(status == 200 || answer["error"]["code"] == "scope", "{answer}");
        }
        assert_eq!(upstream.requests().is_empty(), token == &writer, "{model}");
    }
}

/// A token that is limited to a model's agent changes the sessions of that agent only, and writes as a person or as system
/// in its own conversations only.
#[tokio::test]
async fn a_token_of_an_agent_changes_no_session_of_another() {
    let home = Home::new();
    home.ok(&["agents", "add", "bot", "--permissions", "loom_aware,loom_write,loom_generate"]);
    let token = |name: &str, agent: &str| {
        home.ok(&["serve", "token", "new", name, "--scope", "write", "--agent", agent]).trim().to_owned()
    };
    let (bot, owner) = (token("bot", "bot"), token("owner", "owner"));
    let server = HttpServer::start(&home, &[]);
    let send = async |method: Method, path: &str, token: &str, body: &Value| {
        answer(server.request(method, path).bearer_auth(token).json(body)).await
    };
    let items = |role: &str| json!({ "items": [{ "role": role, "content": "hi" }] });
    for (author, expected) in [(&owner, 403), (&bot, 200)] {
        let begun = send(Method::POST, "/v1/conversations", author, &items("user")).await.1;
        let conversation = begun["id"].as_str().unwrap();
        let path = format!("/v1/conversations/{conversation}");
        let session = format!("/api/v1/sessions/{}", conversation.strip_prefix("conv_").unwrap());
        let position = send(Method::GET, &session, &owner, &Value::Null).await.1["position_id"].clone();
        let item = send(Method::GET, &format!("{path}/items"), &owner, &Value::Null).await.1["first_id"].clone();
        let spoken = send(Method::POST, &format!("{path}/items"), &bot, &items("assistant")).await;
        assert_eq!(spoken.0, 200, "{}", spoken.1);
        for (method, path, body) in [
            (Method::POST, format!("{path}/items"), items("user")),
            (Method::POST, format!("{path}/items"), items("system")),
            (
                Method::POST,
                "/v1/responses".to_owned(),
                json!({ "model": "scripted:words", "input": "hi", "conversation": conversation }),
            ),
            (Method::POST, path.clone(), json!({ "metadata": { "topic": "boats" } })),
            (Method::DELETE, format!("{path}/items/{}", item.as_str().unwrap()), Value::Null),
            (Method::PATCH, session.clone(), json!({ "name": "taken" })),
            (Method::POST, format!("{session}/switch"), json!({ "node": position })),
            (Method::POST, format!("{session}/reset"), json!({})),
            (Method::DELETE, path.clone(), Value::Null),
        ] {
            let (status, answer) = send(method.clone(), &path, &bot, &body).await;
            assert_eq!(status, expected, "{method} {path} {body}: {answer}");
        }
        let ended = send(Method::DELETE, &session, &bot, &Value::Null).await;
        assert_eq!(ended.0, if author == &owner { 403 } else { 409 }, "{}", ended.1);
    }
}

/// Without the permission `cross_tree`, an agent reaches no other tree. Without being a person, it reads no prompt of another.
#[tokio::test]
async fn an_agent_without_cross_tree_reaches_no_other_tree() {
    let home = Home::new();
    home.start("A red shed.");
    let agent = |name: &str, permissions: &str, system: &str, model: &str| {
        let options = ["--permissions", permissions, "--system", system, "--model", model];
        home.ok(&[&["agents", "add", name], &options[..]].concat());
        home.ok(&["serve", "token", "new", name, "--scope", "write", "--agent", name]).trim().to_owned()
    };
    let bot = agent("bot", "loom_aware,loom_write", "You are the bot.", "scripted:words");
    let scout = agent("scout", "loom_aware,loom_write,cross_tree", SECRET, "http://10.0.0.7:9/v1#m");
    let whole = home.ok(&["serve", "token", "new", "whole", "--scope", "write"]).trim().to_owned();
    let server = HttpServer::start(&home, &[]);
    let send = async |method: Method, path: &str, token: &str, body: Value| {
        answer(server.request(method, path).bearer_auth(token).json(&body)).await
    };
    let plant = async |title: &str| {
        let made =
            send(Method::POST, "/api/v1/trees", &whole, json!({ "content": "A red door.", "title": title })).await;
        (made.1["tree"]["id"].clone(), made.1["root"]["id"].as_str().unwrap().to_owned())
    };
    let ((tree, root), (far_tree, far)) = (plant("near").await, plant("hidden title").await);
    let child = json!({ "content": "Paint it." });
    let child = send(Method::POST, &format!("/api/v1/nodes/{root}/children"), &whole, child).await.1["id"].clone();
    let (child, changes) = (child.as_str().unwrap(), format!("/api/v1/nodes/{root}/changes"));
    let linked = format!("/api/v1/nodes/{child}/changes");
    assert_eq!(send(Method::POST, &linked, &whole, json!({ "op": "link", "tree": far_tree })).await.0, 200);
    for (token, expected) in [(&bot, 403), (&scout, 200)] {
        for (path, body, expected) in [
            ("/api/v1/recall", json!({ "query": "red" }), expected),
            ("/api/v1/recall", json!({ "query": "red", "workspace": "/shop" }), expected),
            ("/api/v1/recall", json!({ "query": "red", "tree": tree }), 200),
            (&changes, json!({ "op": "link", "node": child }), 200),
            (&changes, json!({ "op": "unlink", "node": child }), 200),
            (&changes, json!({ "op": "link", "node": far, "note": "there" }), expected),
            (&changes, json!({ "op": "link", "tree": far_tree, "note": "there" }), expected),
            (&changes, json!({ "op": "copy", "to": far }), expected),
        ] {
            let (status, answer) = send(Method::POST, path, token, body.clone()).await;
            assert_eq!(status, expected, "{path} {body}: {answer}");
        }
        let lines = json!({ "tree": tree, "lines": [format!("list {child} links"), "list agents".to_owned()] });
        let listed = send(Method::POST, "/api/v1/arrow", token, lines).await.1.to_string();
        for shown in ["hidden title", "10.0.0.7"] {
            assert_eq!(listed.contains(shown), expected == 200, "{shown}: {listed}");
        }
    }
    let prompts = ["You are the bot.", SECRET];
    for (token, shown) in [(&bot, [true, false]), (&scout, [false, true]), (&whole, [true, true])] {
        let list = send(Method::GET, "/api/v1/agents", token, Value::Null).await.1.to_string();
        assert_eq!(prompts.map(|prompt| list.contains(prompt)), shown, "{list}");
        let (bot, scout) = (
            send(Method::GET, "/api/v1/agents/bot", token, Value::Null).await.1.to_string(),
            send(Method::GET, "/api/v1/agents/scout", token, Value::Null).await.1.to_string(),
        );
        assert_eq!([bot.contains(prompts[0]), scout.contains(prompts[1])], shown, "{bot} {scout}");
    }
}

/// Continues a thought, as programs did before this was refused. Returns the id of the node.
fn append_below(home: &Home, thought: &str, text: &str) -> String {
    let loom = loomtree::session::open(home.file("loom.db")).unwrap();
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let id: loomtree::id::NodeId = thought.parse().unwrap();
    owner.append(id, text).unwrap().nodes[0].id.to_string()
}

/// A token that is limited to a model's agent reads the thoughts of that agent and of no other, by any route.
#[tokio::test]
async fn a_token_of_an_agent_reads_no_thought_of_another() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    home.ok(&["agents", "add", "critic", "--permissions", "loom_aware"]);
    home.ok(&["do", "--as", "collaborator", &format!("→ think\n{SECRET}\n←")]);
    let token = |name: &str, more: &[&str]| {
        home.ok(&[&["serve", "token", "new", name, "--scope", "write"], more].concat()).trim().to_owned()
    };
    let (own, other) = (token("own", &["--agent", "collaborator"]), token("other", &["--agent", "critic"]));
    let whole = token("whole", &[]);
    let server = HttpServer::start(&home, &[]);
    let get = async |path: &str| answer(server.request(Method::GET, path).bearer_auth(&whole)).await.1["data"].clone();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let tree = get("/api/v1/trees").await[0].clone();
    let (tree, root) = (id(&tree["id"]), id(&tree["root_id"]));
    let thought = get(&format!("/api/v1/nodes/{root}/children?kind=thought")).await[0].clone();
    let (thought, short) = (id(&thought["id"]), id(&thought["local_id"]));
    let below = append_below(&home, &thought, "an answer to the thought");
    home.ok(&["do", "--as", "collaborator", &format!("bookmark {thought} \"mark\"")]);
    home.ok(&["do", &format!("link root to {thought}")]);
    let session = id(&get(&format!("/api/v1/sessions?tree={tree}")).await[0]["id"]);
    let read = async |token: &str, path: &str| {
        let sent = server.request(Method::GET, path).bearer_auth(token).send().await.unwrap();
        (sent.status().as_u16(), sent.text().await.unwrap())
    };
    let mut shown = 0;
    for route in routes(&server, &own).await.iter().filter(|route| route.method == Method::GET) {
        if route.path.ends_with("/events") {
            continue;
        }
        for node in [&thought, &below, &root] {
            let path = fill(&route.path, |name| {
                let known = match name {
                    "tree" => &tree,
                    "session" => &session,
                    "node" => node,
                    "id" if route.path.contains("/trees/") => node,
                    _ => NO_ID,
                };
                known.to_owned()
            });
            let queries: &[&str] = match route.path.rsplit('/').next().unwrap() {
                "export" => {
                    &["", "?format=openai-chat&include=thoughts", "?format=html&include=thoughts", "?format=html"]
                }
                "context" => &["?agent=collaborator", "?agent=critic"],
                _ => &[""],
            };
            for query in queries {
                let path = format!("{path}{query}");
                let (status, text) = read(&other, &path).await;
                assert!(!text.contains(SECRET), "{path}: {text}");
                assert!(status < 500, "{path}: {status}");
                shown += u32::from(read(&own, &path).await.1.contains(SECRET));
            }
        }
    }
    assert!(shown >= 8, "its own agent reads the thought by {shown} requests only");
    for (token, expected) in [(&own, true), (&other, false)] {
        let body = json!({ "query": "secret", "tree": tree });
        let request = server.request(Method::POST, "/api/v1/recall").bearer_auth(token).json(&body);
        assert_eq!(answer(request).await.1.to_string().contains(SECRET), expected);
        // A bookmark and a link lead the agent itself to its thought.
        for line in ["view bookmark:\"mark\"", "list root bookmarks", "list root links", "view root"] {
            let request = server.request(Method::POST, "/api/v1/arrow").bearer_auth(token);
            let ran = answer(request.json(&json!({ "tree": tree, "lines": [line] }))).await.1;
            assert_eq!(ran.to_string().contains(SECRET), expected, "{line}: {ran}");
        }
        let (_, window) = read(token, &format!("/api/v1/nodes/{root}/window?steps=bookmark")).await;
        assert_eq!(window.contains(&thought), expected, "{window}");
        for (node, line) in [(&root, "view bookmark:"), (&below, "view "), (&root, &format!("view {short}"))] {
            let request = server.request(Method::POST, "/api/v1/arrow/completions").bearer_auth(token);
            let completed = answer(request.json(&json!({ "node": node, "line": line }))).await.1;
            assert_eq!(completed.to_string().contains(SECRET), expected, "{line}: {completed}");
        }
    }
}

/// A thought on the path of a conversation is none of its items.
#[tokio::test]
async fn a_conversation_lists_no_thought() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "items": [{ "role": "user", "content": "Who was it?" }] });
    let conversation = server.ok("/v1/conversations", body).await["id"].as_str().unwrap().to_owned();
    let session = server.get("/api/v1/sessions").await.1["data"][0].clone();
    let (id, tree) = (session["id"].as_str().unwrap(), session["tree_id"].as_str().unwrap());
    let nodes = server.get(&format!("/api/v1/trees/{tree}/nodes")).await.1["data"].clone();
    let last = nodes.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let append = async |parent: &str, content: &str, kind: &str| {
        let body = json!({ "content": content, "kind": kind });
        let node = server.ok(&format!("/api/v1/nodes/{parent}/children"), body).await;
        node["id"].as_str().unwrap().to_owned()
    };
    let thought = append(&last, SECRET, "thought").await;
    let below = append_below(&home, &thought, "the butler");
    server.ok(&format!("/api/v1/sessions/{id}/switch"), json!({ "node": below })).await;
    let items = server.get(&format!("/v1/conversations/{conversation}/items")).await.1.to_string();
    assert!(items.contains("the butler") && !items.contains(SECRET), "{items}");
}

#[tokio::test]
async fn an_undo_in_a_tree_reverts_neither_documents_nor_agents() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let token =
        |name: &str, more: &[&str]| home.ok(&[&["serve", "token", "new", name], more].concat()).trim().to_owned();
    let admin = token("admin", &["--scope", "admin"]);
    let shop = token("shop", &["--scope", "write", "--project", "shop"]);
    let server = HttpServer::start(&home, &[]);
    let send = |method: Method, path: &str, token: &str, body: Value| {
        answer(server.request(method, path).bearer_auth(token).json(&body))
    };
    assert_eq!(send(Method::PATCH, "/api/v1/agents/collaborator", &admin, json!({ "permissions": [] })).await.0, 200);
    let plan = json!({ "name": "plan", "content": "v1" });
    assert_eq!(send(Method::POST, "/api/v1/documents", &admin, plan).await.0, 201);
    let tree = send(Method::POST, "/api/v1/trees", &shop, json!({ "content": "mine" })).await.1;
    let tree = tree["tree"]["id"].as_str().unwrap().to_owned();
    let undo = format!("/api/v1/trees/{tree}/undo");
    assert_eq!(send(Method::POST, &undo, &shop, json!({})).await.0, 200);
    for token in [&shop, &admin] {
        let (status, error) = send(Method::POST, &undo, token, json!({})).await;
        assert_eq!(status, 422, "{error}");
    }
    let body = json!({ "tree": tree, "lines": ["→ undo", "→ link root to doc:plan", "→ link root to doc:nope"] });
    let ran = send(Method::POST, "/api/v1/arrow", &shop, body).await.1.to_string();
    assert!(!ran.contains("\"ok\":true") && ran.contains("PERMISSION_DENIED") && !ran.contains("there are"), "{ran}");
    assert_eq!(send(Method::GET, "/api/v1/documents/plan", &admin, json!(null)).await.0, 200);
    let agent = send(Method::GET, "/api/v1/agents/collaborator", &admin, json!(null)).await.1;
    assert_eq!(agent["permissions"], json!([]), "{agent}");
}

#[tokio::test]
async fn a_revoked_token_streams_no_more() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let admin = home.ok(&["serve", "token", "new", "admin", "--scope", "admin"]).trim().to_owned();
    let reader = home.ok(&["serve", "token", "new", "reader", "--scope", "read"]).trim().to_owned();
    let server = HttpServer::start(&home, &[]);
    let stream = server.request(Method::GET, "/api/v1/events").bearer_auth(&reader).send().await.unwrap();
    let write = async || {
        let request = server.request(Method::POST, "/api/v1/trees").bearer_auth(&admin);
        assert_eq!(answer(request.json(&json!({ "content": "after" }))).await.0, 201);
    };
    write().await;
    home.ok(&["serve", "token", "revoke", "reader"]);
    // Another token of the name keeps nothing open.
    home.ok(&["serve", "token", "new", "reader", "--scope", "read"]);
    // Events of the first change may come, and then the end, although nothing else is written.
    let rest = tokio::time::timeout(std::time::Duration::from_secs(20), events(stream, usize::MAX)).await;
    assert!(rest.is_ok_and(|events| events.len() < 20), "the stream goes on");
    write().await;
}

#[tokio::test]
async fn an_agent_without_permissions_writes_by_no_protocol_and_a_model_not_as_a_person() {
    let home = Home::new();
    home.ok(&["new", "Once"]);
    let token = |name: &str, agent: &str| {
        home.ok(&["serve", "token", "new", name, "--scope", "write", "--agent", agent]).trim().to_owned()
    };
    let (none, model) = (token("none", "subject"), token("model", "collaborator"));
    let server = HttpServer::start(&home, &["--openai-upstream", "http://127.0.0.1:9"]);
    let post = |path: &str, token: &str, body: Value| {
        answer(server.request(Method::POST, path).header("x-loom-token", token).json(&body))
    };
    let chat = json!({ "model": "scripted:words", "messages": [{ "role": "user", "content": "hi" }] });
    for (path, body) in [
        ("/v1/chat/completions", chat.clone()),
        ("/v1/responses", json!({ "model": "scripted:words", "input": "hi" })),
        ("/proxy/openai/v1/chat/completions", chat),
    ] {
        let (status, error) = post(path, &none, body).await;
        assert_eq!(status, 403, "{path}: {error}");
    }
    let trees = answer(server.request(Method::GET, "/api/v1/trees").bearer_auth(&model)).await.1["data"].clone();
    assert_eq!(trees.as_array().unwrap().len(), 1, "{trees}");
    let children = format!("/api/v1/nodes/{}/children", trees[0]["root_id"].as_str().unwrap());
    for (author, expected) in [("human", 403), ("system", 403), ("tool", 201), ("model", 201)] {
        let body = json!({ "content": "forged", "author_type": author });
        assert_eq!(post(&children, &model, body).await.0, expected, "{author}");
    }
}

#[tokio::test]
async fn a_change_needs_the_whole_title_and_a_named_agent_exists() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "content": "z", "title": "Quarterly budget" });
    let tree = server.ok("/api/v1/trees", body).await["tree"]["id"].as_str().unwrap().to_owned();
    for part in ["budget", "quart", &tree[tree.len() - 6..]] {
        assert_eq!(server.get(&format!("/api/v1/trees/{part}")).await.0, 200, "{part}");
        for (method, rest) in
            [(Method::DELETE, ""), (Method::PATCH, ""), (Method::POST, "/undo"), (Method::POST, "/redo")]
        {
            let request = server.request(method.clone(), &format!("/api/v1/trees/{part}{rest}")).json(&json!({}));
            assert_eq!(answer(request).await.0, 404, "{method} {part}{rest}");
        }
    }
    let named = answer(server.request(Method::DELETE, "/api/v1/trees/quarterly%20budget")).await;
    assert_eq!(named.0, 200, "{}", named.1);
    let unknown = server.request(Method::GET, "/api/v1/me").header("x-loom-agent", "nope");
    assert_eq!(answer(unknown).await.0, 404);
    let sessions = server.get(&format!("/api/v1/sessions?tree={NO_ID}")).await;
    assert_eq!(sessions.0, 404, "{}", sessions.1);
    let behind = server.request(Method::GET, "/api/v1/events").header("last-event-id", "x");
    assert_eq!(answer(behind).await.0, 422);
}

#[tokio::test]
async fn what_a_request_cannot_mean_is_refused_with_the_field() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let made = server.ok("/api/v1/trees", json!({ "content": "z" })).await;
    let (tree, root) = (made["tree"]["id"].as_str().unwrap(), made["root"]["id"].as_str().unwrap());
    let session = server.ok("/api/v1/sessions", json!({ "tree": tree })).await["id"].as_str().unwrap().to_owned();
    let end = |path: String| answer(server.request(Method::DELETE, &path));
    assert_eq!(end(format!("/api/v1/sessions/{session}")).await.0, 200);
    let send = async |method: Method, path: &str, body: Value| answer(server.request(method, path).json(&body)).await;
    for (method, path, body, expected, said) in [
        (Method::PATCH, format!("/api/v1/trees/{tree}"), json!({ "mode": "buffer" }), 422, "unknown field `mode`"),
        (Method::POST, "/api/v1/trees".into(), json!({ "content": "x", "titel": "y" }), 422, "unknown field `titel`"),
        (Method::POST, "/api/v1/recall".into(), json!({ "query": "z", "limit": 201 }), 422, "between 1 and 200"),
        (Method::POST, "/api/v1/imports?dryrun=true".into(), json!({}), 400, "unknown field `dryrun`"),
        (Method::POST, "/api/v1/agents".into(), json!({ "name": "Human" }), 422, "all authors of a kind"),
        (
            Method::POST,
            "/api/v1/items/I-1/messages?project=shop".into(),
            json!({ "content": "x", "agent": "owner", "model": "scripted:words" }),
            422,
            "owner is a person",
        ),
        (Method::POST, "/api/v1/agents".into(), json!({ "name": "a", "temperature": -3 }), 422, "between 0 and 10"),
        (Method::POST, "/api/v1/agents".into(), json!({ "name": "a", "max_tokens": 0 }), 422, "at least one token"),
        (
            Method::POST,
            format!("/api/v1/nodes/{root}/continuations"),
            json!({ "models": ["scripted:words"], "agent": "owner" }),
            422,
            "owner is a person",
        ),
        (
            Method::POST,
            format!("/api/v1/nodes/{root}/changes"),
            json!({ "op": "bookmark", "label": " " }),
            422,
            "empty",
        ),
        (Method::POST, format!("/api/v1/sessions/{session}/switch"), json!({ "node": root }), 409, "has ended"),
        (Method::POST, format!("/api/v1/sessions/{session}/reset"), json!({}), 409, "has ended"),
        (Method::DELETE, format!("/api/v1/sessions/{session}"), json!({}), 409, "has ended"),
        (
            Method::POST,
            "/v1/responses".into(),
            json!({ "input": "x", "metadata": { "a": 1 } }),
            422,
            "expected a string",
        ),
        (
            Method::POST,
            "/v1/responses".into(),
            json!({ "model": "scripted:words", "input": "x", "text": { "format": { "type": "json_object" } } }),
            422,
            "only replies as text",
        ),
        (
            Method::POST,
            "/v1/chat/completions".into(),
            json!({ "messages": [{ "role": "user", "content": "x" }], "tool_choice": "required" }),
            422,
            "tool_choice",
        ),
    ] {
        let (status, error) = send(method, &path, body.clone()).await;
        let message = error["error"]["message"].as_str().unwrap_or_default();
        assert!(status == expected && message.contains(said), "{path} {body}: {status} {error}");
    }
    let trees = server.get("/api/v1/trees").await.1;
    assert_eq!(trees["data"].as_array().unwrap().len(), 1, "{trees}");
}

#[tokio::test]
async fn the_limit_of_a_provider_is_answered_with_its_delay() {
    let home = Home::new();
    let models = status(200, "content-type: application/json", r#"{"data":[{"id":"m"}]}"#);
    let limited = || status(429, "retry-after: 90", r#"{"error":{"message":"slow down"}}"#);
    let upstream = Upstream::start([models, limited(), limited(), limited()]).await;
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "model": upstream.url(), "messages": [{ "role": "user", "content": "x" }] });
    let response = server.request(Method::POST, "/v1/chat/completions").json(&body).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"90".parse().unwrap()));
}

#[tokio::test]
async fn a_model_that_fails_beside_others_is_named() {
    let home = Home::new();
    let models = status(200, "content-type: application/json", r#"{"data":[{"id":"m"}]}"#);
    let failed = || status(400, "", r#"{"error":{"message":"boom"}}"#);
    let upstream = Upstream::start([models, failed(), failed()]).await;
    let server = HttpServer::start(&home, &[]);
    let root = server.ok("/api/v1/trees", json!({ "content": "z" })).await["root"]["id"].as_str().unwrap().to_owned();
    let body = json!({ "models": ["scripted:words", upstream.url()] });
    let done = server.ok(&format!("/api/v1/nodes/{root}/continuations"), body).await;
    assert_eq!(done["data"].as_array().unwrap().len(), 1, "{done}");
    assert_eq!(done["failed"][0]["index"], 1, "{done}");
    assert!(done["failed"][0]["error"].as_str().unwrap().contains("boom"), "{done}");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &["--host", "loom.example"]);
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
