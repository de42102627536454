//! Client for Anthropic's Messages protocol against a loopback server, with and without faults.

// Clippy knows test functions, but not the helpers beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::fake_model_server;

use std::time::Duration;

use fake_model_server::{KEY, Server, Step, all, head, models, send, status, wait};
use loomtree::provider::{
    ANTHROPIC_VERSION, Client, Endpoint, ErrorClass, Finish, FinishReason, Message, Model, Names, Prompt, Protocol,
    ProviderError, Request, Retry, Secret, StreamError, Target, ToolCall, Usage, list_models, resolve,
};
use serde_json::{Value, json};

fn endpoint(server: &Server) -> Endpoint {
    let protocol = Protocol::Anthropic { version: ANTHROPIC_VERSION.to_owned() };
    Endpoint::at(&server.url(), Some("claude")).key(Secret::new(KEY)).protocol(protocol)
}

fn client(endpoint: Endpoint) -> Client {
    let quick = Retry { first_wait: Duration::from_millis(1), ..Retry::default() };
    Client::new(endpoint).unwrap().with_retry(quick)
}

fn chat(text: &str) -> Request {
    Request::new(Prompt::Chat(vec![Message::system("be brief").cached(), Message::user(text)]))
}

async fn ask(script: Vec<Step>) -> (String, Result<Finish, ProviderError>, Server) {
    let server = Server::start([script]).await;
    let (text, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    (text, last, server)
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// First event: 3 new prompt tokens, 5 read from the cache and 2 written to it.
fn start() -> String {
    let usage = json!({
        "input_tokens": 3, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1,
    });
    let message = json!({"id": "msg-1", "type": "message", "role": "assistant", "model": "claude-1", "content": [],
        "stop_reason": null, "usage": usage});
    event(&json!({"type": "message_start", "message": message}))
}

fn block(index: u32, block: Value) -> String {
    event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn delta(index: u32, delta: Value) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn stop(index: u32) -> String {
    event(&json!({"type": "content_block_stop", "index": index}))
}

fn text(index: u32, pieces: &[&str]) -> String {
    let said = pieces.iter().map(|piece| delta(index, json!({"type": "text_delta", "text": piece})));
    [block(index, json!({"type": "text", "text": ""}))].into_iter().chain(said).chain([stop(index)]).collect()
}

fn end(reason: &str) -> String {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    [
        event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})),
        event(&json!({"type": "message_stop"})),
    ]
    .concat()
}

fn error(kind: &str, message: &str) -> String {
    event(&json!({"type": "error", "error": {"type": kind, "message": message}}))
}

fn good(reply: &str) -> Vec<Step> {
    vec![head(), send([start(), text(0, &[reply]), end("end_turn")].concat())]
}

#[tokio::test]
async fn a_message_streams_in_chunks_of_any_size() {
    let ping = event(&json!({"type": "ping"}));
    let thinking = delta(0, json!({"type": "thinking_delta", "thinking": "hm"}));
    let stream = [start(), ping, thinking, text(1, &["Grüß ", "dich 🌳", ""]), end("end_turn")].concat();
    for size in [1, 2, 3, 64, stream.len()] {
        let pieces = stream.as_bytes().chunks(size).map(send);
        let (said, last, server) = ask([head()].into_iter().chain(pieces).collect()).await;
        assert_eq!(said, "Grüß dich 🌳", "pieces of {size}");
        let finish = last.unwrap();
        assert_eq!((finish.reason, finish.model.as_deref()), (FinishReason::Stop, Some("claude-1")));
        assert_eq!(finish.request_id.as_deref(), Some("req-1"));
        let usage = Usage { prompt: 10, cached: 5, cache_write: 2, output: 7, share: false };
        assert_eq!(finish.usage, Some(usage));
        assert!(finish.first_token.is_some_and(|first| first <= finish.total));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn requests_have_the_format_of_the_api() {
    let (_, last, server) = ask(good("a")).await;
    assert!(last.is_ok());
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/messages");
    assert_eq!((request.header("x-api-key"), request.header("authorization")), (Some(KEY), None));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let expected = json!({
        "model": "claude", "max_tokens": 8192, "stream": true,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn tool_use_is_joined_and_unchanged() {
    let tool = |index, id: &str, pieces: &[&str]| {
        let begun = block(index, json!({"type": "tool_use", "id": id, "name": "view", "input": {}}));
        let more = pieces.iter().map(|piece| delta(index, json!({"type": "input_json_delta", "partial_json": piece})));
        [begun].into_iter().chain(more).chain([stop(index)]).collect::<String>()
    };
    let tools = [tool(1, "a", &["", "{\"id\":", " \"ä\"}"]), tool(2, "b", &["{oops"]), tool(3, "c", &[])].concat();
    let (said, last, _) = ask(vec![head(), send([start(), text(0, &["See:"]), tools, end("tool_use")].concat())]).await;
    let last = last.unwrap();
    let calls: Vec<_> = last.calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!((said.as_str(), last.reason), ("See:", FinishReason::Calls));
    assert_eq!(calls, [("a", "{\"id\": \"ä\"}"), ("b", "{oops"), ("c", "{}")]);
    assert_eq!(last.calls[0].name, "view");
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    for (word, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::Refused),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ] {
        let (_, last, _) = ask(vec![head(), send([start(), text(0, &["a"]), end(word)].concat())]).await;
        assert_eq!(last.unwrap().reason, reason, "{word}");
    }
}

/// Returns the cause of a reply that was interrupted after its first text, and not retried.
async fn interrupted(rest: Vec<Step>) -> StreamError {
    let begun = [start(), block(0, json!({"type": "text", "text": "one "}))].concat();
    let more = delta(0, json!({"type": "text_delta", "text": "two"}));
    let (said, last, server) = ask([vec![head(), send(begun), send(more)], rest].concat()).await;
    assert_eq!((said.as_str(), server.requests().len()), ("one two", 1));
    let error = last.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Retryable);
    let ProviderError::Interrupted { cause, so_far } = error else { panic!("{error:?}") };
    // The server counted the prompt and not yet the reply: the sum is unknown.
    assert_eq!((so_far.reason, so_far.usage), (FinishReason::Interrupted, None));
    cause
}

#[tokio::test]
async fn an_interrupted_stream_gives_its_text_and_the_cause() {
    assert_eq!(interrupted(vec![]).await, StreamError::ClosedEarly);
    assert_eq!(interrupted(vec![send("event: content_block_delta\ndata: {\"ty")]).await, StreamError::ClosedEarly);
    assert_eq!(interrupted(vec![send(event(&json!({"type": "message_stop"})))]).await, StreamError::NoFinishReason);
    assert_eq!(
        interrupted(vec![send(error("overloaded_error", "Over\u{1b}loaded"))]).await,
        StreamError::Server("Overloaded".into())
    );
    // Without the field `event`.
    let unnamed = "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops\"}}\n\n";
    assert_eq!(interrupted(vec![send(unnamed)]).await, StreamError::Server("oops".into()));
    for malformed in ["data: {nonsense\n\n", "data: {\"a\":1}\n\n", "data: {\"choices\":[]}\n\n", "data: <html>\n\n"] {
        let cause = interrupted(vec![send(malformed), send(end("end_turn"))]).await;
        assert!(matches!(cause, StreamError::Malformed(_)), "{malformed}: {cause:?}");
    }
    let cause = interrupted(vec![send(b"event: ping\ndata: \xff\xfe\n\n")]).await;
    assert!(matches!(cause, StreamError::Malformed(_)), "{cause:?}");
    let cause = interrupted(vec![wait(200), Step::Reset]).await;
    assert!(matches!(cause, StreamError::Connection(_)), "{cause:?}");
}

#[tokio::test]
async fn transient_failures_before_any_text_are_retried() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let scripts = [
        status(529, "", overloaded),
        vec![head(), send([start(), error("overloaded_error", "Overloaded")].concat())],
        vec![head(), send([start(), block(0, json!({"type": "tool_use", "id": "a", "name": "x"}))].concat())],
        good("a"),
    ];
    let server = Server::start(scripts).await;
    let (said, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    assert_eq!((said.as_str(), last.is_ok(), server.requests().len()), ("a", true, 4));

    for (kind, code, class) in [
        ("invalid_request_error", 400, ErrorClass::Configuration),
        ("authentication_error", 401, ErrorClass::Configuration),
        ("rate_limit_error", 429, ErrorClass::Retryable),
    ] {
        let in_the_stream = vec![head(), send([start(), error(kind, "no")].concat())];
        let server = Server::start((0..4).map(|_| in_the_stream.clone())).await;
        let error = all(client(endpoint(&server)).stream(chat("hi"))).await.1.unwrap_err();
        assert!(matches!(error, ProviderError::Http { status, .. } if status == code), "{error:?}");
        assert_eq!((error.class(), server.requests().len()), (class, if code == 429 { 4 } else { 1 }));
    }
}

#[tokio::test]
async fn pings_without_progress_time_out() {
    let pings = (0..80).flat_map(|_| [wait(50), send(event(&json!({"type": "ping"})))]);
    let begun = [start(), delta(0, json!({"type": "text_delta", "text": "one"}))].concat();
    let server = Server::start([[head(), send(begun)].into_iter().chain(pings).collect()]).await;
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.between_chunks = Duration::from_millis(200);
    let error = all(client(endpoint).stream(chat("hi"))).await.1.unwrap_err();
    assert!(matches!(&error, ProviderError::Interrupted { cause: StreamError::Stalled(_), .. }), "{error:?}");
}

#[tokio::test]
async fn a_refused_prefill_becomes_a_user_message() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error",
        "message":"This model does not support assistant message prefill."}}"#;
    let server = Server::start([status(400, "", refusal), good("upon"), good("a time")]).await;
    let model = client(endpoint(&server));
    let own = || Request::new(Prompt::Chat(vec![Message::user("Tell"), Message::assistant("Once")]));
    for said in ["upon", "a time"] {
        assert_eq!(all(model.stream(own())).await.0, said);
    }
    let last = |at: usize| server.requests()[at].body["messages"].as_array().unwrap().last().unwrap()["role"].clone();
    assert_eq!([last(0), last(1), last(2)], ["assistant", "user", "user"]);
}

#[tokio::test]
async fn several_replies_are_several_requests() {
    let server = Server::start([good("a"), good("a")]).await;
    let model = client(endpoint(&server).supports_n(true));
    for reply in model.stream_n(chat("hi"), 2) {
        assert_eq!(all(reply).await.0, "a");
    }
    assert_eq!((model.max_choices_per_request(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn a_single_json_object_is_decoded_and_a_raw_prompt_refused() {
    let body = json!({"id": "m", "type": "message", "role": "assistant", "model": "claude-1", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "all"}, {"type": "tool_use", "id": "a", "name": "view", "input": {"id": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    let (said, last, server) = ask(status(200, "", &body.to_string())).await;
    let last = last.unwrap();
    let call = ToolCall { id: "a".into(), name: "view".into(), arguments: "{\"id\":1}".into() };
    assert_eq!((said.as_str(), last.calls), ("all", vec![call]));
    assert_eq!(last.usage, Some(Usage { prompt: 3, output: 2, ..Usage::default() }));
    let error = all(client(endpoint(&server)).stream(Request::new(Prompt::Raw("Once".into())))).await.1.unwrap_err();
    assert_eq!((error.class(), server.requests().len()), (ErrorClass::Configuration, 1));
}

#[tokio::test]
async fn the_key_is_never_printed() {
    let wrong = format!(r#"{{"type":"error","error":{{"type":"authentication_error","message":"bad key {KEY}"}}}}"#);
    let message = json!({"type": "message_start", "message": {"id": KEY, "model": KEY}});
    let said = delta(0, json!({"type": "text_delta", "text": "a"}));
    for script in [
        status(401, &format!("request-id: {KEY}"), &wrong),
        vec![head(), send(error("api_error", KEY))],
        vec![head(), send([event(&message), said.clone(), end(KEY)].concat())],
        vec![head(), send([said, format!("data: {KEY} is not JSON\n\n")].concat())],
    ] {
        let server = Server::start((0..4).map(|_| script.clone())).await;
        let model = client(endpoint(&server));
        let last = all(model.stream(chat("hi"))).await.1;
        let shown = format!("{last:?} {model:?} {}", last.as_ref().map_or_else(ToString::to_string, |_| String::new()));
        assert!(!shown.contains("sk-very"), "{shown}");
    }
    let bad = endpoint(&Server::start([]).await).key(Secret::new("sk-very\u{1}secret"));
    let error = all(client(bad).stream(chat("hi"))).await.1.unwrap_err();
    assert_eq!((error.class(), format!("{error:?}").contains("sk-very")), (ErrorClass::Configuration, false));
}

#[tokio::test]
async fn references_keys_addresses_and_versions_are_found() {
    let env = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| KEY.to_owned());
    let Ok(Target::Endpoint(found)) = resolve("anthropic:claude-x", &Names::new(), &env) else { panic!("not found") };
    assert_eq!((found.base_url.as_str(), found.model.as_deref()), ("https://api.anthropic.com/v1", Some("claude-x")));
    assert_eq!(found.protocol, Protocol::Anthropic { version: ANTHROPIC_VERSION.into() });
    let error = resolve("anthropic:claude-x", &Names::new(), &|_| None).unwrap_err();
    assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");

    let server = Server::start([models(&[("claude-1", "")])]).await;
    // The variable of the provider's own libraries has no /v1, the configuration's address may.
    let bare = server.url().replace("/v1", "");
    let moved = |name: &str| if name == "ANTHROPIC_BASE_URL" { Some(bare.clone()) } else { env(name) };
    let Ok(Target::Endpoint(found)) = resolve("anthropic", &Names::new(), &moved) else { panic!("not found") };
    assert_eq!(list_models(&found).await.unwrap()[0].id, "claude-1");
    assert_eq!(
        (&server.requests()[0].line[..], server.requests()[0].header("x-api-key")),
        ("GET /v1/models", Some(KEY))
    );

    let configured = |text: Value| -> Result<Endpoint, ProviderError> {
        let names = Names::from([("mine".to_owned(), serde_json::from_value(text).unwrap())]);
        match resolve("mine", &names, &env)? {
            Target::Endpoint(endpoint) => Ok(endpoint),
            other => panic!("{other:?}"),
        }
    };
    let found =
        configured(json!({"provider": "anthropic", "base_url": "http://h/v1", "version": "2030-01-01"})).unwrap();
    assert_eq!((found.base_url.as_str(), found.reference.as_str()), ("http://h/v1", "mine"));
    assert_eq!(found.protocol, Protocol::Anthropic { version: "2030-01-01".into() });
    assert!(configured(json!({"base_url": "http://h/v1", "version": "1"})).is_err());
}
