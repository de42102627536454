//! Model clients against a loopback server with the faults of real servers.

// Clippy knows test functions, but not the helpers beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::fake_model_server;

use std::time::{Duration, Instant};

use fake_model_server::{
    DONE, KEY, Server, Step, all, chunk, chunked_head, finish, good, head, last_chunk, models, send, status, text,
    usage, wait,
};
use loomtree::provider::discover::discover;
use loomtree::provider::{
    Client, Endpoint, ErrorClass, Finish, FinishReason, KNOWN_WEIGHTS, MODELS_VARIABLE, Message, Model, Names, Prompt,
    ProviderError, Request, RequestPhase, Retry, Sampling, Secret, StreamError, StreamEvent, Target, Timeouts,
    ToolCall, ToolDefinition, Usage, list_models, open, resolve,
};

/// Endpoint with time-outs long enough for a busy machine.
fn endpoint(server: &Server) -> Endpoint {
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(10),
        between_chunks: Duration::from_secs(10),
    };
    Endpoint::at(&server.url(), Some("m")).key(Secret::new(KEY)).timeouts(timeouts)
}

fn client(endpoint: Endpoint) -> Client {
    let quick = Retry { first_wait: Duration::from_millis(1), ..Retry::default() };
    Client::new(endpoint).unwrap().with_retry(quick)
}

fn chat(content: &str) -> Request {
    Request::new(Prompt::Chat(vec![Message::user(content)]))
}

/// Sends one request to a server with one script. Returns the text, the terminal item and the server.
async fn ask(script: Vec<Step>) -> (String, Result<Finish, ProviderError>, Server) {
    let server = Server::start([script]).await;
    let (text, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    (text, last, server)
}

/// Returns text and cause of a reply that was interrupted after its first text, and not retried.
async fn interrupted(script: Vec<Step>) -> (String, StreamError) {
    let (text, last, server) = ask(script).await;
    let error = last.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Retryable);
    assert_eq!(server.requests().len(), 1, "emitted text is not requested again");
    match error {
        ProviderError::Interrupted { cause, so_far } => {
            assert_eq!((so_far.reason, so_far.model.as_deref()), (FinishReason::Interrupted, Some("m-1")));
            assert!(so_far.first_token.is_some_and(|first| first <= so_far.total));
            (text, cause)
        }
        other => panic!("not an interruption: {other:?}"),
    }
}

#[tokio::test]
async fn a_chat_streams_in_chunks_of_any_size() {
    let stream =
        [": hello\n\n", &text("Grüß "), &text("dich 🌳"), &text(""), &finish("stop"), &usage(9, 4, 2), DONE].concat();
    for size in [1, 2, 3, 7, 64, stream.len()] {
        let pieces = stream.as_bytes().chunks(size).map(send);
        let (said, last, server) = ask([head()].into_iter().chain(pieces).collect()).await;
        assert_eq!(said, "Grüß dich 🌳", "pieces of {size}");
        let finish = last.unwrap();
        assert_eq!(finish.reason, FinishReason::Stop);
        assert_eq!(finish.model.as_deref(), Some("m-1"));
        assert_eq!(finish.request_id.as_deref(), Some("req-1"));
        assert_eq!(finish.usage, Some(Usage { prompt: 9, cached: 4, output: 2, ..Usage::default() }));
        assert!(finish.first_token.is_some_and(|first| first <= finish.total));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn requests_contain_the_set_options() {
    let raw = [r#"data: {"choices":[{"text":" upon","finish_reason":"length"}]}"#, "\r\n\r\n", DONE].concat();
    let server = Server::start([good("a"), vec![head(), send(raw)]]).await;
    let defaults = Sampling::default().temperature(0.5).max_tokens(9);
    let model = client(endpoint(&server).sampling(defaults));
    let sampling = Sampling::default().max_tokens(3).stop(vec!["\n".into()]).seed(7);
    all(model.stream(chat("hi").sampling(sampling))).await.1.unwrap();
    let prompt = Prompt::Raw("Once".into());
    let (said, last) = all(model.stream(Request::new(prompt))).await;
    assert_eq!((said.as_str(), last.unwrap().reason), (" upon", FinishReason::Length));

    let requests = server.requests();
    assert_eq!(requests[0].line, "POST /v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-very-secret"));
    let agent = requests[0].header("user-agent").unwrap();
    assert!(agent.starts_with("loomtree/"), "{agent}");
    let expected = serde_json::json!({
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true,
        "stream_options": {"include_usage": true}, "temperature": 0.5, "max_tokens": 3, "stop": ["\n"], "seed": 7,
    });
    assert_eq!(requests[0].body, expected);
    assert_eq!(requests[1].line, "POST /v1/completions");
    assert_eq!((&requests[1].body["prompt"], &requests[1].body["max_tokens"]), (&"Once".into(), &9.into()));
    assert_eq!(requests[1].body.get("messages"), None);
}

#[tokio::test]
async fn finish_reasons_are_mapped() {
    for (word, reason) in [
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::Refused),
        ("abort", FinishReason::Interrupted),
        ("tool_calls", FinishReason::Calls),
        ("new_word", FinishReason::Other("new_word".into())),
    ] {
        let (_, last, _) = ask(vec![head(), send(text("a")), send(finish(word)), send(DONE)]).await;
        assert_eq!(last.unwrap().reason, reason);
    }
}

#[tokio::test]
async fn an_interrupted_stream_gives_its_text_and_the_cause() {
    let begun = |rest: Vec<Step>| [vec![head(), send(text("one ")), send(text("two"))], rest].concat();
    let malformed = |cause: &StreamError| matches!(cause, StreamError::Malformed(_));

    assert_eq!(interrupted(begun(vec![])).await, ("one two".into(), StreamError::ClosedEarly));
    assert_eq!(interrupted(begun(vec![send("data: {\"choi")])).await, ("one two".into(), StreamError::ClosedEarly));
    assert_eq!(interrupted(begun(vec![send(DONE)])).await, ("one two".into(), StreamError::NoFinishReason));

    let (said, cause) = interrupted(vec![chunked_head(), chunk(&text("one")), send("ff\r\nda")]).await;
    assert_eq!(said, "one");
    assert!(matches!(cause, StreamError::Connection(_)), "closed within a chunk: {cause:?}");
    // The wait lets the text arrive: a reset discards unread data.
    let (said, cause) = interrupted(begun(vec![wait(200), Step::Reset])).await;
    assert_eq!(said, "one two");
    assert!(matches!(cause, StreamError::Connection(_)), "reset: {cause:?}");

    for rest in ["data: {nonsense\n\n", "data: {\"a\":1}\n\n", "data: <html>\n\n"] {
        let (said, cause) = interrupted(begun(vec![send(rest), send(text("three")), send(finish("stop"))])).await;
        assert_eq!(said, "one two");
        assert!(malformed(&cause), "{rest}: {cause:?}");
    }
    let (_, cause) = interrupted(begun(vec![send(b"data: {\"choices\":[{\"text\":\"\xff\xfe\"}]}\n\n")])).await;
    assert!(malformed(&cause), "{cause:?}");

    let error = "data: {\"error\":{\"message\":\"out of \\u001b[2Jmemory\",\"code\":500}}\n\n";
    assert_eq!(interrupted(begun(vec![send(error)])).await.1, StreamError::Server("out of [2Jmemory".into()));
    let error = "event: error\ndata: overloaded\n\n";
    assert_eq!(interrupted(begun(vec![send(error)])).await.1, StreamError::Server("overloaded".into()));
}

#[tokio::test]
async fn an_endless_line_is_an_error() {
    let mut script = vec![head(), send(text("one")), send("data: ")];
    script.extend((0..40).map(|_| send(vec![b'x'; 64 * 1024])));
    assert_eq!(interrupted(script).await, ("one".into(), StreamError::TooLong(1024 * 1024)));
}

#[tokio::test]
async fn a_stall_interrupts_the_reply_and_closes_the_connection() {
    let server = Server::start([vec![head(), send(text("one")), Step::Stall]]).await;
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.between_chunks = Duration::from_millis(150);
    let (said, last) = all(client(endpoint).stream(chat("hi"))).await;
    assert_eq!(said, "one");
    let error = last.unwrap_err();
    let ProviderError::Interrupted { cause, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*cause, StreamError::Stalled(Duration::from_millis(150)));
    server.client_closed(1).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn errors_after_the_finish_reason_are_ignored() {
    let begun = |rest: Vec<Step>| [vec![head(), send(text("one")), send(finish("stop"))], rest].concat();
    for rest in [vec![], vec![send("data: {nonsense\n\n")], vec![wait(200), Step::Reset], vec![send("data: [DONE]")]] {
        let (said, last, _) = ask(begun(rest.clone())).await;
        assert_eq!((said.as_str(), last.unwrap().reason), ("one", FinishReason::Stop), "{rest:?}");
    }
    let server = Server::start([begun(vec![Step::Stall])]).await;
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.between_chunks = Duration::from_millis(100);
    assert_eq!(all(client(endpoint).stream(chat("hi"))).await.1.unwrap().reason, FinishReason::Stop);
}

#[tokio::test]
async fn retry_after_delays_the_next_attempt() {
    let busy = status(429, "retry-after: 1", r#"{"error":{"message":"slower"}}"#);
    let server = Server::start([busy, good("a")]).await;
    let (said, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    assert_eq!((said.as_str(), last.is_ok()), ("a", true));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let apart = requests[1].at - requests[0].at;
    assert!(apart >= Duration::from_secs(1), "{apart:?}");
}

#[tokio::test]
async fn a_long_retry_after_and_an_empty_account_are_not_retried() {
    let (_, last, server) = ask(status(429, "retry-after: 3600", "")).await;
    let error = last.unwrap_err();
    assert!(
        matches!(error, ProviderError::Http { status: 429, retry_after: Some(asked), .. } if asked.as_secs() == 3600)
    );
    assert_eq!((error.class(), server.requests().len()), (ErrorClass::Retryable, 1));

    let (_, last, server) = ask(status(429, "", r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#)).await;
    assert_eq!((last.unwrap_err().class(), server.requests().len()), (ErrorClass::Configuration, 1));
}

#[tokio::test]
async fn server_errors_are_tried_four_times() {
    let broken = || status(500, "", "oops");
    let server = Server::start([broken(), broken(), broken(), good("a")]).await;
    assert_eq!(all(client(endpoint(&server)).stream(chat("hi"))).await.0, "a");
    assert_eq!(server.requests().len(), 4);

    let server = Server::start([broken(), broken(), broken(), broken(), good("a")]).await;
    let error = all(client(endpoint(&server)).stream(chat("hi"))).await.1.unwrap_err();
    assert!(matches!(&error, ProviderError::Http { status: 500, message, .. } if message == "oops"), "{error:?}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn failures_before_any_text_are_retried() {
    let scripts = [vec![], vec![Step::Reset], vec![head(), send(": wait\n\n"), send(DONE)], good("a")];
    let server = Server::start(scripts).await;
    let (said, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    assert_eq!((said.as_str(), last.is_ok(), server.requests().len()), ("a", true, 4));
}

#[tokio::test]
async fn a_wrong_key_is_reported_once_without_the_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect key {KEY} \u0007in Bearer {KEY}","code":"{KEY}"}}}}"#);
    let (_, last, server) = ask(status(401, "", &body)).await;
    let error = last.unwrap_err();
    assert_eq!((error.class(), server.requests().len()), (ErrorClass::Configuration, 1));
    assert_eq!(error.to_string(), "HTTP 401: Incorrect key *** in Bearer ***");
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn the_key_is_never_printed() {
    let stolen = format!(
        "data: {{\"model\":\"{KEY}\",\"id\":\"{KEY}\",\"choices\":[{{\"delta\":{{\"content\":\"a\"}},\"finish_reason\":\"{KEY}\"}}]}}\n\n"
    );
    for script in [
        vec![head(), send(text("a")), send(format!("data: {KEY} is not JSON\n\n"))],
        vec![head(), send(format!("data: {{\"error\":\"{KEY}\"}}\n\n"))],
        vec![head(), send(stolen)],
        status(302, &format!("location: http://elsewhere/?{KEY}"), ""),
        status(200, "", &format!("<html>{KEY}")),
        status(400, "", &format!("{}{KEY}", "x".repeat(290))),
    ] {
        let (_, last, server) = ask(script).await;
        let shown = format!("{last:?} {}", last.as_ref().map_or_else(ToString::to_string, |_| String::new()));
        assert!(!shown.contains("sk-very"), "{shown}");
        let model = client(endpoint(&server));
        assert!(!format!("{model:?} {:?}", endpoint(&server)).contains("sk-very"));
    }
    let bad = Endpoint::at("http://127.0.0.1:1", Some("m")).key(Secret::new("sk-very\u{1}secret"));
    let error = all(client(bad).stream(chat("hi"))).await.1.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Configuration);
    assert!(!format!("{error:?}").contains("sk-very"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([good("a")]).await;
    let location = format!("location: {}/chat/completions", other.url());
    let (_, last, _) = ask(status(307, &location, "")).await;
    let error = last.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Configuration);
    assert!(error.to_string().contains(&other.url()), "{error}");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn the_first_byte_has_its_own_timeout() {
    let slow = |time| vec![wait(time), head(), wait(time), send(text("a")), send(finish("stop"))];
    let server = Server::start([slow(100), vec![Step::Stall], vec![head(), Step::Stall]]).await;
    let mut endpoint = endpoint(&server);
    assert!(all(client(endpoint.clone()).stream(chat("hi"))).await.1.is_ok());
    endpoint.timeouts.first_byte = Duration::from_millis(150);
    for closed in [1, 2] {
        let error = all(client(endpoint.clone()).stream(chat("hi"))).await.1.unwrap_err();
        let expected = ProviderError::Timeout { phase: RequestPhase::FirstByte, after: Duration::from_millis(150) };
        assert_eq!((error.class(), error), (ErrorClass::Retryable, expected));
        server.client_closed(closed).await;
        assert_eq!(server.requests().len(), 1 + closed, "a slow server gets no retry");
    }
}

#[tokio::test]
async fn a_refused_connection_names_the_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = client(Endpoint::at(&format!("http://{address}/v1"), Some("m")));
    let error = all(model.stream(chat("hi"))).await.1.unwrap_err();
    assert!(matches!(&error, ProviderError::Connect { host, .. } if *host == address.to_string()), "{error:?}");
    assert_eq!(error.class(), ErrorClass::Retryable);
    assert!(error.to_string().contains("no program listens on the port"), "{error}");
}

#[tokio::test]
async fn a_single_json_object_is_decoded() {
    let body = r#"{"id":"c","model":"m-1","choices":[{"message":{"content":"all of it"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let (said, last, _) = ask(status(200, "content-type: application/json", body)).await;
    let finish = last.unwrap();
    assert_eq!((said.as_str(), &finish.reason), ("all of it", &FinishReason::Stop));
    assert_eq!(finish.usage, Some(Usage { prompt: 3, output: 2, ..Usage::default() }));
}

#[tokio::test]
async fn a_malformed_response_is_a_configuration_error() {
    for body in ["<html>a page</html>", "{\"hello\": 1}", "data: what?\n\n"] {
        let (said, last, server) = ask(status(200, "", body)).await;
        let error = last.unwrap_err();
        assert!(matches!(&error, ProviderError::Broken { cause: StreamError::Malformed(_) }), "{error:?}");
        assert_eq!((said.as_str(), error.class(), server.requests().len()), ("", ErrorClass::Configuration, 1));
    }
    let (_, last, _) = ask(status(400, "", r#"{"error":{"message":"no","code":"content_filter"}}"#)).await;
    assert_eq!(last.unwrap_err().class(), ErrorClass::Refused);
}

#[tokio::test]
async fn refused_stream_options_are_not_sent_again() {
    let refusal = status(422, "", r#"{"detail":"extra field stream_options not permitted"}"#);
    let server = Server::start([refusal, good("a")]).await;
    assert_eq!(all(client(endpoint(&server)).stream(chat("hi"))).await.0, "a");
    assert_eq!(server.requests()[1].body.get("stream_options"), None);
}

#[tokio::test]
async fn dropping_closes_the_connection() {
    let stalls = || vec![head(), send(text("one")), Step::Stall];
    let server = Server::start([stalls(), vec![Step::Stall], stalls()]).await;
    let model = client(endpoint(&server));
    let mut reply = model.stream(chat("hi"));
    assert_eq!(reply.next().await, Some(Ok(StreamEvent::Text("one".into()))));
    drop(reply);
    server.client_closed(1).await;

    let before_the_head = model.stream(chat("hi"));
    while server.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(before_the_head);
    server.client_closed(2).await;

    let mut reply = model.stream(chat("hi"));
    assert_eq!(reply.next().await, Some(Ok(StreamEvent::Text("one".into()))));
    reply.cancel();
    assert_eq!(reply.next().await, Some(Err(ProviderError::Cancelled)));
    assert_eq!(reply.next().await, None);
    server.client_closed(3).await;
}

#[tokio::test]
async fn parallel_replies_survive_the_interruption_of_one() {
    const N: usize = 6;
    // No reply ends before all requests have started, so the test hangs if they do not run in parallel.
    let scripts = (0..N).map(|n| {
        let mut script = vec![head(), send(text("a")), wait(300), send(text("b"))];
        if n != 2 {
            script.extend([send(finish("stop")), send(DONE)]);
        }
        script
    });
    let server = Server::start(scripts).await;
    let model = client(endpoint(&server));
    let mut replies: Vec<_> = (0..N).map(|_| model.stream(chat("hi"))).collect();
    for reply in &mut replies {
        assert_eq!(reply.next().await, Some(Ok(StreamEvent::Text("a".into()))));
    }
    assert_eq!(server.requests().len(), N);
    let mut cut = 0;
    for reply in replies {
        let (said, last) = all(reply).await;
        assert_eq!(said, "b");
        cut += usize::from(last.is_err());
    }
    assert_eq!(cut, 1);
}

#[tokio::test]
async fn a_slow_reader_loses_nothing_and_causes_no_stall() {
    // One chunk has more events than the channel holds. The server's pause after it is longer than the reader's, which is
    // longer than the time-out.
    let short = "data: {\"choices\":[{\"text\":\"x\"}]}\n\n";
    let end = [wait(1300), send(text("end")), send(finish("stop"))];
    let script = [head(), send(short.repeat(100))].into_iter().chain(end).collect();
    let server = Server::start([script]).await;
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.between_chunks = Duration::from_millis(800);
    let mut reply = client(endpoint).stream(chat("hi"));
    assert!(reply.next().await.is_some());
    tokio::time::sleep(Duration::from_millis(1000)).await;
    let (said, last) = all(reply).await;
    assert_eq!((said.len(), last.map(|finish| finish.reason)), (102, Ok(FinishReason::Stop)));
}

#[tokio::test]
async fn a_connection_is_reused_after_a_complete_reply() {
    let whole = || {
        let body = [text("a"), finish("stop"), DONE.to_owned()].concat();
        vec![chunked_head(), chunk(&body), last_chunk(), Step::KeepAlive]
    };
    let server = Server::start([whole(), whole()]).await;
    let model = client(endpoint(&server));
    for _ in 0..2 {
        all(model.stream(chat("hi"))).await.1.unwrap();
    }
    let connections: Vec<_> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0]);
}

#[tokio::test]
async fn missing_endpoint_details_are_requested() {
    let list = || models(&[("nomic-embed", "me"), ("first", "me"), ("second", "me")]);
    let server = Server::start([list(), list(), list(), good("a")]).await;
    let listed = list_models(&endpoint(&server)).await.unwrap();
    assert_eq!(listed.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ["nomic-embed", "first", "second"]);
    assert_eq!(server.requests()[0].line, "GET /v1/models");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-very-secret"));

    let named = Client::connect(endpoint(&server)).await.unwrap();
    assert_eq!((named.parallel(), named.reference()), (1, format!("{}#m", server.url()).as_str()));
    let no_env = |_: &str| None;
    let model = open(Some(&server.url()), &Names::new(), &no_env).await.unwrap();
    assert_eq!((model.parallel(), model.reference()), (1, format!("{}#first", server.url()).as_str()));
    all(model.stream(chat("hi"))).await.1.unwrap();
    let requests = server.requests();
    assert_eq!((&requests[3].body["model"], requests[3].header("authorization")), (&"first".into(), None));

    let server = Server::start([models(&[("a", "system")]), models(&[]), status(404, "", "")]).await;
    assert_eq!(Client::connect(endpoint(&server)).await.unwrap().parallel(), 8);
    let mut nameless = endpoint(&server);
    nameless.model = None;
    let error = Client::connect(nameless).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Configuration);
    // A named model needs no list of models.
    assert_eq!(Client::connect(endpoint(&server)).await.unwrap().parallel(), 8);
    let nobody = Endpoint::at("http://127.0.0.1:9", Some("m"));
    assert!(Client::connect(nobody).await.is_ok());
}

#[tokio::test]
async fn models_are_discovered_in_order() {
    let none = Server::start((0..9).map(|_| status(404, "", "not a model"))).await;
    let ollama = Server::start((0..9).map(|_| models(&[("o", "library")]))).await;
    let llama = Server::start((0..9).map(|_| models(&[("l", "me")]))).await;
    let stalling = Server::start((0..9).map(|_| vec![Step::Stall])).await;
    let address = |server: &Server| server.url();
    let found = async |pairs: &[(&str, String)]| {
        let closed = ["OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL"].map(|name| (name, address(&none)));
        let env = |name: &str| pairs.iter().chain(&closed).find(|pair| pair.0 == name).map(|pair| pair.1.clone());
        match discover(&Names::new(), &env).await {
            Ok(Some(Target::Endpoint(found))) => {
                format!("{} {:?}", found.reference, found.parallel)
            }
            Ok(Some(other)) => other.reference(),
            Ok(None) => "none".into(),
            Err(error) => error.to_string(),
        }
    };
    let (o, l) = (("OLLAMA_HOST", address(&ollama)), ("LLAMACPP_BASE_URL", address(&llama)));
    let router = ("OPENROUTER_API_KEY", KEY.to_owned());
    assert_eq!(found(&[]).await, "none");
    assert_eq!(found(std::slice::from_ref(&l)).await, "llamacpp:l Some(1)");
    assert_eq!(found(&[("OLLAMA_HOST", address(&stalling)), l.clone()]).await, "llamacpp:l Some(1)");
    assert_eq!(found(&[o.clone(), l.clone()]).await, "ollama:o Some(8)");
    assert_eq!(found(&[o.clone(), router.clone()]).await, "openrouter:openrouter/auto None");
    // Weights come last, and only with the feature `local`.
    let folder = tempfile::tempdir().unwrap();
    let weights = (MODELS_VARIABLE, folder.path().to_string_lossy().into_owned());
    assert_eq!(found(std::slice::from_ref(&weights)).await, "none");
    std::fs::write(folder.path().join(KNOWN_WEIGHTS[0].files[0].name), "").unwrap();
    let local = if cfg!(feature = "local") { "local:smollm2" } else { "none" };
    assert_eq!(found(std::slice::from_ref(&weights)).await, local);
    assert_eq!(found(&[weights, l.clone()]).await, "llamacpp:l Some(1)");
    let openai = ("OPENAI_API_KEY", KEY.to_owned());
    let anthropic = ("ANTHROPIC_API_KEY", KEY.to_owned());
    assert_eq!(found(&[router.clone(), anthropic.clone()]).await, "anthropic:claude-haiku-4-5 None");
    assert_eq!(found(&[router.clone(), anthropic, openai.clone()]).await, "openai:gpt-4o-mini None");
    assert_eq!(found(&[openai.clone(), ("LOOM_MODEL", "scripted:words".into())]).await, "scripted:words");
    let wrong = found(&[openai, o, ("LOOM_MODEL", "opnai:x".into())]).await;
    assert!(wrong.contains("LOOM_MODEL") && wrong.contains("opnai:x"), "{wrong}");
}

#[tokio::test]
async fn a_failed_discovery_gives_advice() {
    let env = |name: &str| (name.ends_with("_URL") || name == "OLLAMA_HOST").then(|| "http://127.0.0.1:9".to_owned());
    let Err(error) = open(None, &Names::new(), &env).await else { panic!("a model on the discard port") };
    assert!(error.to_string().contains("LOOM_MODEL"), "{error}");
    let scripted = open(Some("scripted:words"), &Names::new(), &env).await.unwrap();
    let (said, last) = all(scripted.stream(chat("hi"))).await;
    assert!(said.ends_with('.') && last.is_ok());
    assert!(resolve("scripted:nothing", &Names::new(), &env).unwrap().connect().await.is_err());
}

/// Against a real server: `LOOM_TEST_SERVER=http://127.0.0.1:8089/v1 cargo test --test provider real`.
#[tokio::test]
async fn a_real_server_chats_continues_and_is_cancelled() {
    let Ok(server) = std::env::var("LOOM_TEST_SERVER") else {
        println!("skipped: LOOM_TEST_SERVER does not name a server");
        return;
    };
    let no_env = |_: &str| None;
    let model = open(Some(&server), &Names::new(), &no_env).await.unwrap();
    println!("{}, {} at once", model.reference(), model.parallel());
    let sampling = Sampling::default().temperature(0.0).max_tokens(12).seed(1);
    let raw = Request::new(Prompt::Raw("Once upon a time".into())).sampling(sampling.clone());
    for request in [chat("Say hello.").sampling(sampling), raw.clone()] {
        let (said, last) = all(model.stream(request)).await;
        let finish = last.unwrap();
        println!("{said:?} {finish:?}");
        assert!(!said.is_empty() && matches!(finish.reason, FinishReason::Stop | FinishReason::Length));
    }
    let long = Sampling::default().max_tokens(2000);
    let mut reply = model.stream(raw.clone().sampling(long));
    assert!(matches!(reply.next().await, Some(Ok(StreamEvent::Text(_)))));
    drop(reply);
    let started = Instant::now();
    assert!(all(model.stream(raw)).await.1.is_ok(), "the server is free again");
    println!("free again after {:?}", started.elapsed());
}

/// Event of a chat with this delta.
fn delta(index: usize, delta: serde_json::Value) -> String {
    let chunk = serde_json::json!({"model": "m-1", "choices": [{"index": index, "delta": delta}]});
    format!("data: {chunk}\n\n")
}

/// Event that ends one of several replies.
fn finish_event(index: usize) -> String {
    let chunk = serde_json::json!({"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {chunk}\n\n")
}

#[tokio::test]
async fn tool_calls_are_joined_and_their_arguments_left_as_they_are() {
    let call = |index: u32, id: &str, name: &str, arguments: &str| {
        let function = serde_json::json!({"name": name, "arguments": arguments});
        delta(
            0,
            serde_json::json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
        )
    };
    let more = |index: u32, arguments: &str| {
        delta(0, serde_json::json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
    };
    let stream = [
        text("Let me look. "),
        call(0, "a", "view", ""),
        more(0, "{\"id\": \"ä"),
        call(1, "b", "find", "not JSON"),
        more(0, "\"}  "),
        finish("tool_calls"),
        usage(9, 0, 5),
        DONE.to_owned(),
    ]
    .concat();
    let expected = [
        ToolCall { id: "a".into(), name: "view".into(), arguments: "{\"id\": \"ä\"}  ".into() },
        ToolCall { id: "b".into(), name: "find".into(), arguments: "not JSON".into() },
    ];
    for size in [1, 5, stream.len()] {
        let pieces = stream.as_bytes().chunks(size).map(send);
        let (said, last, _) = ask([head()].into_iter().chain(pieces).collect()).await;
        let last = last.unwrap();
        assert_eq!(
            (said.as_str(), &last.calls[..], last.reason),
            ("Let me look. ", &expected[..], FinishReason::Calls)
        );
    }
    // Without text, and with the wrong finish reason.
    let (said, last, _) = ask(vec![head(), send(call(0, "a", "view", "{}")), send(finish("stop")), send(DONE)]).await;
    assert_eq!((said.as_str(), last.unwrap().reason), ("", FinishReason::Calls));
}

#[tokio::test]
async fn a_partial_tool_call_is_dropped_and_retried() {
    let half =
        serde_json::json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "rm", "arguments": "{"}}]});
    let server = Server::start([vec![head(), send(delta(0, half.clone()))], good("ok")]).await;
    let (said, last) = all(client(endpoint(&server)).stream(chat("hi"))).await;
    assert_eq!((said.as_str(), last.unwrap().calls.len(), server.requests().len()), ("ok", 0, 2));
    let script = vec![head(), send(text("so ")), send(delta(0, half))];
    let (_, last, _) = ask(script).await;
    let ProviderError::Interrupted { so_far, .. } = last.unwrap_err() else { panic!("a cut") };
    assert_eq!(so_far.calls, []);
}

#[tokio::test]
async fn tools_and_logprobs_are_requested_and_decoded() {
    let logprobs = serde_json::json!({"content": [{"token": "a", "logprob": -0.25, "top_logprobs": []}]});
    let chunk = serde_json::json!({"choices": [{"delta": {"content": "a"}, "logprobs": logprobs}]});
    let server = Server::start([vec![head(), send(format!("data: {chunk}\n\n")), send(finish("stop"))]]).await;
    let parameters = serde_json::json!({"type": "object", "properties": {}});
    let tool = ToolDefinition { name: "view".into(), description: "Shows.".into(), parameters: parameters.clone() };
    let sampling = Sampling::default().logprobs(2);
    let request = chat("hi").tools(vec![tool]).sampling(sampling);
    let last = all(client(endpoint(&server)).stream(request)).await.1.unwrap();
    assert_eq!((last.logprobs[0].token.as_str(), last.logprobs[0].logprob), ("a", -0.25));
    let body = &server.requests()[0].body;
    assert_eq!(body["tools"][0]["function"]["parameters"], parameters);
    assert_eq!((&body["logprobs"], &body["top_logprobs"]), (&true.into(), &2.into()));
}

fn client_with_n(server: &Server) -> Client {
    client(endpoint(server).supports_n(true))
}

#[tokio::test]
async fn replies_of_one_request_share_its_usage() {
    let said = |index: usize, text: &str| delta(index, serde_json::json!({"content": text}));
    let stream = [
        said(1, "b"),
        said(0, "aaa"),
        said(7, "not asked for"),
        said(2, "cccc"),
        said(1, ""),
        finish_event(1),
        finish_event(0),
        finish_event(2),
        usage(10, 4, 80),
        DONE.to_owned(),
    ];
    let server = Server::start([vec![head(), send(stream.concat())]]).await;
    let model = client_with_n(&server);
    let mut said = Vec::new();
    let mut used = Usage::default();
    for reply in model.stream_n(chat("hi"), 3) {
        let (text, last) = all(reply).await;
        said.push(text);
        let usage = last.unwrap().usage.unwrap();
        assert!(usage.share);
        used = Usage {
            prompt: used.prompt + usage.prompt,
            cached: used.cached + usage.cached,
            output: used.output + usage.output,
            ..used
        };
    }
    assert_eq!(
        (said.join(" "), used),
        ("aaa b cccc".into(), Usage { prompt: 10, cached: 4, output: 80, ..Usage::default() })
    );
    let requests = server.requests();
    assert_eq!((requests.len(), &requests[0].body["n"]), (1, &3.into()));
}

#[tokio::test]
async fn missing_replies_are_requested_again() {
    let server = Server::start([good("a"), good("b"), good("c")]).await;
    let replies = client_with_n(&server).stream_n(chat("hi"), 3);
    let mut said = Vec::new();
    for reply in replies {
        let (text, last) = all(reply).await;
        assert_eq!(last.unwrap().reason, FinishReason::Stop);
        said.push(text);
    }
    assert_eq!(said, ["a", "b", "c"]);
    let asked: Vec<_> = server.requests().iter().map(|request| request.body.get("n").cloned()).collect();
    assert_eq!(asked, [Some(3.into()), Some(2.into()), None]);
}

#[tokio::test]
async fn an_interruption_ends_only_incomplete_replies() {
    let said = |index: usize, text: &str| delta(index, serde_json::json!({"content": text}));
    let script = vec![
        head(),
        send([said(0, "a"), said(1, "b"), said(2, "c")].concat()),
        wait(100),
        send([said(0, "a"), said(1, "b"), finish_event(1)].concat()),
    ];
    let server = Server::start([script]).await;
    let mut replies = client_with_n(&server).stream_n(chat("hi"), 3);
    drop(replies.pop());
    let (said, last) = all(replies.remove(0)).await;
    assert!(matches!(last, Err(ProviderError::Interrupted { cause: StreamError::ClosedEarly, .. })), "{last:?}");
    let (other, last) = all(replies.remove(0)).await;
    assert_eq!((said.as_str(), other.as_str(), last.unwrap().reason), ("aa", "bb", FinishReason::Stop));
    assert_eq!(server.requests().len(), 1);

    let server = Server::start([vec![head(), send(text("a")), Step::Stall]]).await;
    let replies = client_with_n(&server).stream_n(chat("hi"), 2);
    while server.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(replies);
    server.client_closed(1).await;
}

#[tokio::test]
async fn without_n_each_reply_is_a_request() {
    let server = Server::start([good("a"), good("b")]).await;
    let model = client(endpoint(&server));
    assert_eq!(model.max_choices_per_request(), 1);
    let openai = |supports_n| Endpoint::at("https://api.openai.com/v1", Some("m")).supports_n(supports_n);
    let limits =
        [None, Some(false)].map(|supports_n| Client::new(openai(supports_n)).unwrap().max_choices_per_request());
    assert_eq!(limits, [8, 1]);
    for reply in model.stream_n(chat("hi"), 2) {
        assert!(all(reply).await.1.is_ok());
    }
    assert!(server.requests().iter().all(|request| request.body.get("n").is_none()));
}

#[tokio::test]
async fn an_endless_stream_is_ended() {
    // Keep-alives only, for much longer than the limit.
    let pings = (0..80).flat_map(|_| [wait(50), send(": still here\n\n")]);
    let server = Server::start([[head(), send(text("one"))].into_iter().chain(pings).collect()]).await;
    let mut slow = endpoint(&server);
    slow.timeouts.between_chunks = Duration::from_millis(200);
    let error = all(client(slow).stream(chat("hi"))).await.1.unwrap_err();
    assert!(matches!(&error, ProviderError::Interrupted { cause: StreamError::Stalled(_), .. }), "{error:?}");

    // More than the size limit of a stream.
    let comment = format!(": {}\n", "x".repeat(1 << 20));
    let much = (0..70).map(|_| send(&comment[..1 << 20]));
    let ends = (0..70).map(|_| send("\n"));
    let script = [head(), send(text("one"))].into_iter().chain(much.zip(ends).flat_map(|(a, b)| [a, b])).collect();
    assert_eq!(interrupted(script).await, ("one".into(), StreamError::TooLong(64 << 20)));
}

#[tokio::test]
async fn a_busy_server_is_not_retried_forever() {
    let server =
        Server::start((0..9).map(|_| status(429, "retry-after: 0", r#"{"error":{"message":"slower"}}"#))).await;
    let error = all(client(endpoint(&server)).stream(chat("hi"))).await.1.unwrap_err();
    assert_eq!((error.class(), server.requests().len()), (ErrorClass::Retryable, 4));
}

#[tokio::test]
async fn a_reply_without_usage_has_none() {
    let (_, last, _) = ask(good("a")).await;
    assert_eq!(last.unwrap().usage, None);
}

#[tokio::test]
async fn refused_options_are_not_sent_again_by_the_same_client() {
    let refusal = r#"{"error":{"message":"Use 'max_completion_tokens' instead of 'max_tokens'."}}"#;
    let server = Server::start([status(400, "", refusal), good("a"), good("b")]).await;
    let model = client(endpoint(&server));
    let sampling = Sampling::default().max_tokens(5);
    for _ in 0..2 {
        assert!(all(model.stream(chat("hi").sampling(sampling.clone()))).await.1.is_ok());
    }
    let asked: Vec<_> = server.requests().iter().map(|r| r.body.get("max_completion_tokens").is_some()).collect();
    assert_eq!(asked, [false, true, true]);
}
