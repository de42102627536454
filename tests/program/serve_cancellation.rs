//! `loom serve`: requests that end before their answer, by the time limit or because the client disconnects.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use std::{sync::Arc, time::Duration};

use loomtree::{
    context::ContextOptions,
    provider::{Model, Prices, Scripted, ScriptedReply},
    serve::{BrowserLogins, Server, ServerLimits, ServerSettings, TokenFile, Upstreams},
    session::{BoxFuture, CancellationToken, ConversationSettings, ModelResolver, ToolAccess},
    tools::ToolError,
    types::Agent,
};
use reqwest::Method;
use serde_json::json;

use crate::support::{
    cli::Home,
    fake_model_server::{Server as Upstream, Step, head, send, text},
    loom_server::{HttpServer, answer},
};

#[tokio::test]
async fn a_client_that_disconnects_cancels_the_model_call_of_an_arrow_line() {
    let upstream = Upstream::with_model("m", [vec![head(), send(text("It is ")), Step::Stall]]).await;
    let home = Home::new();
    std::fs::write(home.file("config.yaml"), format!("model: {}#m\n", upstream.url())).unwrap();
    let config = home.file("config.yaml");
    let server = HttpServer::start(&home, &["--config", config.to_str().unwrap()]);
    let tree = server.ok("/api/v1/trees", json!({ "content": "Once" })).await["tree"]["id"].clone();
    let request = server.request(Method::POST, "/api/v1/arrow").json(&json!({ "tree": tree, "lines": ["→ continue"] }));
    let running = tokio::spawn(request.send());
    let is_asked = || upstream.requests().iter().any(|request| request.line.starts_with("POST"));
    for _ in 0..400 {
        if is_asked() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert!(is_asked() && !running.is_finished());
    running.abort();
    upstream.client_closed(1).await;
}

/// A host with one model, which takes longer for an answer than a request has.
struct SlowModel(Arc<dyn Model>);

impl ModelResolver for SlowModel {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        let model = Arc::clone(&self.0);
        Box::pin(async move { Ok(model) })
    }
}

/// Serves with a limit of one second for each request, on a thread that ends with the test program. Returns the URL.
fn serve_briefly(home: &Home) -> String {
    // An error means that another test has set it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let reply = ScriptedReply::words("It leaks in A.").delayed(Duration::from_millis(600));
    let db = home.file("loom.db");
    let settings = ServerSettings {
        loom: loomtree::session::open(&db).unwrap(),
        tool_access: ToolAccess::new(Arc::new(SlowModel(Arc::new(Scripted::new([reply]))))),
        context: ContextOptions::default(),
        conversation: ConversationSettings::default(),
        partials_dir: None,
        prices: Prices::default(),
        tokens: TokenFile::of(&db),
        browsers: BrowserLogins::default(),
        limits: ServerLimits { seconds: 1, ..ServerLimits::default() },
        hosts: Vec::new(),
        approvals: Arc::default(),
        upstreams: Upstreams { openai: Upstreams::OPENAI.to_owned(), anthropic: Upstreams::ANTHROPIC.to_owned() },
        models: Vec::new(),
        mcp: None,
    };
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = Server::bind("127.0.0.1:0".parse().unwrap(), settings).await.unwrap();
            sender.send(server.address().unwrap()).unwrap();
            server.run(CancellationToken::new()).await.unwrap();
        });
    });
    format!("http://{}", address.recv().unwrap())
}

#[tokio::test]
async fn an_answer_that_outlasts_its_request_is_stored() {
    let home = Home::new();
    let url = serve_briefly(&home);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let get = async |path: String| answer(client.get(format!("{url}/api/v1{path}"))).await.1["data"].clone();
    let dispatch = json!({ "content": "Look." });
    let completion = json!({ "messages": [{ "role": "user", "content": "Look." }] });
    for (path, body) in [("/api/v1/items/7/messages", dispatch), ("/v1/chat/completions", completion)] {
        let (status, refused) = answer(client.post(format!("{url}{path}")).json(&body)).await;
        assert_eq!((status, &refused["error"]["code"]), (408, &json!("timeout")), "{path}: {refused}");
        // The generation of a dispatch can still be cancelled.
        let running = get("/generations".to_owned()).await.as_array().unwrap().len();
        assert!(running == 1 || !path.contains("items"), "{running} generations are listed");
    }
    let mut found = Vec::new();
    for _ in 0..200 {
        found.clear();
        for tree in get("/trees".to_owned()).await.as_array().unwrap() {
            found.push(get(format!("/trees/{}/nodes", tree["id"].as_str().unwrap())).await.to_string());
        }
        if found.len() == 2 && found.iter().all(|nodes| nodes.contains("It leaks in A.")) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("an answer is not stored: {found:?}");
}
