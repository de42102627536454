//! `loom serve`: OpenAI's APIs and the recording proxy, over loopback.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{DONE, Server as Upstream, Step, finish, good, head, send, status, text, usage},
    loom_server::{HttpServer, answer, events},
};

const MODEL: &str = "scripted:words";

fn types(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_conversation_keeps_items_in_order_and_unknown_ones_unchanged() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let shell = json!({ "type": "shell_call", "call_id": "s", "action": { "commands": ["ls"], "timeout_ms": null } });
    let body = json!({ "metadata": { "topic": "boats" }, "items": [{ "role": "user", "content": "hi" }, shell] });
    let conversation = server.ok("/v1/conversations", body).await;
    let path = format!("/v1/conversations/{}", conversation["id"].as_str().unwrap());
    assert_eq!(
        (&conversation["object"], &conversation["metadata"]["topic"]),
        (&json!("conversation"), &json!("boats"))
    );
    let (_, page) = server.get(&format!("{path}/items?order=asc&limit=1")).await;
    assert_eq!((types(&page["data"]), &page["has_more"]), (vec!["message"], &json!(true)));
    let (_, page) = server.get(&format!("{path}/items?order=asc&after={}", page["last_id"].as_str().unwrap())).await;
    let mut item = page["data"][0].clone();
    let id = item.as_object_mut().unwrap().remove("id").unwrap();
    assert_eq!(item, shell);
    let request = server.request(Method::DELETE, &format!("{path}/items/{}", id.as_str().unwrap()));
    assert_eq!(answer(request).await.1["id"], conversation["id"]);
    let response = server
        .ok("/v1/responses", json!({ "model": MODEL, "input": "go on", "conversation": conversation["id"] }))
        .await;
    assert_eq!(response["conversation"]["id"], conversation["id"]);
    let (_, page) = server.get(&format!("{path}/items?order=asc")).await;
    let roles: Vec<_> = page["data"].as_array().unwrap().iter().map(|item| item["role"].clone()).collect();
    assert_eq!(roles, ["user", "user", "assistant"]);
    assert!(home.ok(&["trees"]).contains("Conversation"));
    assert_eq!(answer(server.request(Method::DELETE, &path)).await.1["deleted"], true);
    assert_eq!(server.get(&path).await.0, 404);
}

#[tokio::test]
async fn items_that_are_deleted_at_the_same_moment_stay_deleted() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let item = |number: usize| json!({ "role": "user", "content": number.to_string() });
    for _ in 0..3 {
        let body = json!({ "items": (0..9).map(item).collect::<Value>() });
        let conversation = server.ok("/v1/conversations", body).await;
        let items = format!("/v1/conversations/{}/items", conversation["id"].as_str().unwrap());
        let page = server.get(&format!("{items}?order=asc")).await.1;
        let ids: Vec<&str> = page["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        let delete = |id: &&str| answer(server.request(Method::DELETE, &format!("{items}/{id}")));
        let deleted = futures_util::future::join_all(ids[..8].iter().map(delete)).await;
        assert!(deleted.iter().all(|(status, _)| *status == 200), "{deleted:?}");
        let left = server.get(&items).await.1;
        assert_eq!((&left["first_id"], &left["last_id"]), (&json!(ids[8]), &json!(ids[8])), "{left}");
    }
}

#[tokio::test]
async fn a_response_is_a_node_that_others_continue_and_branch_from() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let first = server.ok("/v1/responses", json!({ "model": MODEL, "input": "one" })).await;
    assert_eq!((&first["status"], &first["usage"]["output_tokens"]), (&json!("completed"), &json!(12)));
    for word in ["two", "another two"] {
        let body = json!({ "model": MODEL, "input": word, "previous_response_id": first["id"] });
        let second = server.ok("/v1/responses", body).await;
        let (_, input) =
            server.get(&format!("/v1/responses/{}/input_items?order=asc", second["id"].as_str().unwrap())).await;
        assert_eq!(input["data"].as_array().unwrap().len(), 3);
    }
    let (_, trees) = server.get("/api/v1/trees").await;
    assert_eq!((trees["data"].as_array().unwrap().len(), &trees["data"][0]["leaves"]), (1, &json!(2)));
    // The caller wrote the input, the model's agent the output.
    let (_, nodes) = server.get(&format!("/api/v1/trees/{}/nodes", trees["data"][0]["id"].as_str().unwrap())).await;
    let authors = |of: &Value| (of["author_id"].clone(), of["author_type"].clone());
    let (input, output) = (authors(&nodes["data"][0]), authors(&nodes["data"][1]));
    assert_eq!((&input.1, &output.1), (&json!("human"), &json!("model")), "{nodes}");
    assert_ne!(input.0, output.0, "{nodes}");
    let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
    assert_eq!(server.get(&path).await.1["output"], first["output"]);
    let both = json!({ "model": MODEL, "input": "x", "previous_response_id": "resp_a", "conversation": "conv_b" });
    assert!([404, 422].contains(&server.post("/v1/responses", both).await.0));
    assert_eq!(answer(server.request(Method::DELETE, &path)).await.1["deleted"], true);
    assert_eq!(server.get(&path).await.0, 404);
    let unstored = server.ok("/v1/responses", json!({ "model": MODEL, "input": "secret", "store": false })).await;
    assert_eq!(unstored["status"], "completed");
    assert_eq!(server.get("/api/v1/trees").await.1["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stored_response_replays_the_events_of_the_live_one() {
    let home = Home::new();
    let mut server = HttpServer::start(&home, &[]);
    let body = json!({ "model": MODEL, "input": "hi", "stream": true });
    let live = server.request(Method::POST, "/v1/responses").json(&body).send().await.unwrap();
    let live = events(live, usize::MAX).await;
    let kinds: Vec<&str> = live.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert_eq!(
        kinds[..4],
        ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]
    );
    assert_eq!(*kinds.last().unwrap(), "response.completed");
    let id = live[0].2["response"]["id"].as_str().unwrap().to_owned();
    // After a restart, the events come from the store.
    server.kill();
    let server = HttpServer::start(&home, &[]);
    let path = format!("/v1/responses/{id}?stream=true&starting_after=3");
    let replayed = events(server.request(Method::GET, &path).send().await.unwrap(), usize::MAX).await;
    assert_eq!(replayed, live[4..]);
}

#[tokio::test]
async fn a_background_response_is_polled_and_cancelled() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let started = server.ok("/v1/responses", json!({ "model": MODEL, "input": "long", "background": true })).await;
    assert_eq!(started["status"], "in_progress");
    let path = format!("/v1/responses/{}", started["id"].as_str().unwrap());
    let cancelled = server.ok(&format!("{path}/cancel"), json!({})).await;
    assert!(["cancelled", "completed"].contains(&cancelled["status"].as_str().unwrap()), "{cancelled}");
    assert_eq!(server.get(&path).await.1["status"], cancelled["status"]);
}

#[tokio::test]
async fn completions_of_one_client_form_a_tree() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let ask = |messages: Value| {
        let request = server.ok("/v1/chat/completions", json!({ "model": MODEL, "messages": messages }));
        async move { request.await["choices"][0]["message"]["content"].as_str().unwrap().to_owned() }
    };
    let system = |text: &str| json!({ "role": "system", "content": text });
    let user = |text: &str| json!({ "role": "user", "content": text });
    let reply = ask(json!([system("It is 10:00"), user("one")])).await;
    let assistant = json!({ "role": "assistant", "content": reply });
    ask(json!([system("It is 10:01"), user("one"), assistant, user("two")])).await;
    let (_, trees) = server.get("/api/v1/trees").await;
    assert_eq!((trees["data"].as_array().unwrap().len(), &trees["data"][0]["nodes"]), (1, &json!(4)));
    // An earlier message is edited: a branch.
    ask(json!([user("one"), { "role": "assistant", "content": "something else" }, user("two")])).await;
    let (_, trees) = server.get("/api/v1/trees").await;
    assert_eq!((trees["data"].as_array().unwrap().len(), &trees["data"][0]["leaves"]), (1, &json!(2)));
}

#[tokio::test]
async fn replies_of_one_completion_are_siblings_and_a_stream_reports_tokens() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "one" }], "n": 3 });
    let whole = server.ok("/v1/chat/completions", body.clone()).await;
    let choices = whole["choices"].as_array().unwrap();
    assert!(choices.iter().enumerate().all(|(at, choice)| choice["index"] == at && choice["finish_reason"] == "stop"));
    let (_, trees) = server.get("/api/v1/trees").await;
    assert_eq!((choices.len(), &trees["data"][0]["nodes"], &trees["data"][0]["leaves"]), (3, &json!(4), &json!(3)));
    let mut streamed = body.clone();
    (streamed["stream"], streamed["stream_options"]) = (json!(true), json!({ "include_usage": true }));
    let chunks = server.request(Method::POST, "/v1/chat/completions").json(&streamed).send().await.unwrap();
    let chunks = events(chunks, usize::MAX).await;
    for index in 0..3 {
        let of = chunks.iter().filter(|(.., chunk)| chunk["choices"][0]["index"] == index);
        let text: String =
            of.map(|(.., chunk)| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or("")).collect();
        assert!(!text.is_empty());
    }
    // The last event is `[DONE]`.
    let usage = &chunks[chunks.len() - 2].2["usage"];
    assert_eq!(usage["completion_tokens"], whole["usage"]["completion_tokens"]);
    let mut many = body;
    many["n"] = json!(11);
    assert_eq!(server.post("/v1/chat/completions", many).await.0, 422);
}

#[tokio::test]
async fn content_that_no_model_is_sent_is_refused() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } });
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": "What is it?" }, image] });
    let (status, error) =
        server.post("/v1/chat/completions", json!({ "model": MODEL, "messages": [message.clone()] })).await;
    let wanted = "content of the type \"image_url\" is not supported, only text";
    assert_eq!((status, &error["error"]["message"]), (422, &json!(wanted)));
    let numbers = json!([{ "role": "user", "content": 7 }]);
    assert_eq!(server.post("/v1/chat/completions", json!({ "model": MODEL, "messages": numbers })).await.0, 422);
    assert_eq!(server.get("/api/v1/trees").await.1["data"], json!([]), "nothing was stored");
    let refusal = json!([{ "role": "assistant", "content": [{ "type": "refusal", "refusal": "No." }] },
        { "role": "user", "content": "Why?" }]);
    server.ok("/v1/chat/completions", json!({ "model": MODEL, "messages": refusal })).await;
    // A client of Responses keeps items for several models.
    server.ok("/v1/responses", json!({ "model": MODEL, "input": [message] })).await;
}

#[tokio::test]
async fn a_response_that_is_not_stored_cannot_be_read_again() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let body = json!({ "model": MODEL, "input": "one", "store": false });
    let response = server.ok("/v1/responses", body).await;
    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    let mut status = 200;
    for _ in 0..200 {
        status = server.get(&path).await.0;
        if status == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(status, 404);
    let both = json!({ "model": MODEL, "input": "one", "store": false, "background": true });
    assert_eq!(server.post("/v1/responses", both).await.0, 422);
}

#[tokio::test]
async fn a_model_of_the_list_can_be_retrieved() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let (_, list) = server.get("/v1/models").await;
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"subject") && !ids.contains(&"owner"), "{ids:?}");
    assert_eq!(
        server.get("/v1/models/subject").await.1,
        list["data"][ids.iter().position(|id| *id == "subject").unwrap()]
    );
    assert_eq!(server.get("/v1/models/owner").await.0, 404);
}

#[tokio::test]
async fn calls_in_quick_succession_are_recorded_in_order() {
    let home = Home::new();
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"yes"}}]}"#;
    let upstream = Upstream::start((0..20).map(|_| status(200, "content-type: application/json", body))).await;
    let base = upstream.url();
    let server = HttpServer::start(&home, &["--openai-upstream", base.trim_end_matches("/v1")]);
    let mut messages = Vec::new();
    for turn in 0..20 {
        messages.push(json!({ "role": "user", "content": turn.to_string() }));
        let request = server.request(Method::POST, "/proxy/openai/v1/chat/completions");
        request.json(&json!({ "model": "m", "messages": messages })).send().await.unwrap().text().await.unwrap();
        messages.push(json!({ "role": "assistant", "content": "yes" }));
    }
    let mut trees = Value::Null;
    for _ in 0..100 {
        trees = server.get("/api/v1/trees").await.1;
        if trees["data"][0]["nodes"] == 40 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!((&trees["data"][0]["nodes"], &trees["data"][0]["leaves"]), (&json!(40), &json!(1)));
}

#[tokio::test]
async fn the_proxy_passes_bytes_on_and_records_a_tree_without_the_key() {
    let home = Home::new();
    let body = r#"{ "id":"x", "choices":[ {"message":{"role":"assistant","content":"Hello"}} ], "usage":{"prompt_tokens":3} }"#;
    let upstream = Upstream::start([
        status(200, "content-type: application/json\r\nx-request-id: up-1", body),
        status(200, "content-type: application/json", body),
        status(401, "content-type: application/json", "{\"error\":\"no\"}"),
    ])
    .await;
    let base = upstream.url();
    let server = HttpServer::start(&home, &["--openai-upstream", base.trim_end_matches("/v1")]);
    let call = |messages: Value| {
        let request = server.request(Method::POST, "/proxy/openai/v1/chat/completions");
        let request = request.header("cookie", "theme=dark; loom_session_8420=secret; loom_session_80=old");
        request.bearer_auth("sk-secret-key").json(&json!({ "model": "m", "messages": messages })).send()
    };
    let response = call(json!([{ "role": "user", "content": "hi" }])).await.unwrap();
    let node = response.headers()["x-loom-node"].to_str().unwrap().to_owned();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.text().await.unwrap(), body);
    assert_eq!(upstream.requests()[0].header("authorization"), Some("Bearer sk-secret-key"));
    assert_eq!(upstream.requests()[0].header("cookie"), Some("theme=dark"), "logins of this server stay here");
    // Whoever has read the answer finds its node.
    let (found, recorded) = server.get(&format!("/api/v1/nodes/{node}")).await;
    assert_eq!(found, 200, "{recorded}");
    assert_eq!((&recorded["content"], &recorded["author_type"]), (&json!("Hello"), &json!("model")));
    let longer = json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "Hello" }, { "role": "user", "content": "more" }]);
    call(longer).await.unwrap().text().await.unwrap();
    let refused = call(json!([{ "role": "user", "content": "hi" }])).await.unwrap();
    assert_eq!(refused.status(), 401);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let (_, trees) = server.get("/api/v1/trees").await;
    assert_eq!((trees["data"].as_array().unwrap().len(), &trees["data"][0]["nodes"]), (1, &json!(4)));
    for entry in std::fs::read_dir(home.file("")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(13).any(|window| window == b"sk-secret-key"));
    }
}

#[tokio::test]
async fn stats_count_the_tokens_of_calls_completions_and_responses() {
    let home = Home::new();
    let json_answer = |body: &Value| status(200, "content-type: application/json", &body.to_string());
    let counted = || vec![head(), send(text("Three.")), send(finish("stop")), send(usage(1_000, 0, 100)), send(DONE)];
    let message = json!({ "role": "assistant", "content": "One." });
    let upstream = Upstream::with_model(
        "m",
        [
            json_answer(&json!({ "choices": [{ "message": message }],
                "usage": { "prompt_tokens": 3, "completion_tokens": 2 } })),
            json_answer(&json!({ "role": "assistant", "content": [{ "type": "text", "text": "Two." }],
                "usage": { "input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 5 } })),
            counted(),
            counted(),
        ],
    )
    .await;
    let (base, model) = (upstream.url().replace("/v1", ""), format!("{}#m", upstream.url()));
    std::fs::write(home.file("config.yaml"), "prices: { 'http*': { input: 1000000, output: 0, currency: cents } }\n")
        .unwrap();
    let (config, asked) = (home.file("config.yaml"), json!([{ "role": "user", "content": "hi" }]));
    let config = ["--config", config.to_str().unwrap()];
    let server =
        HttpServer::start(&home, &[&config[..], &["--openai-upstream", &base, "--anthropic-upstream", &base]].concat());
    let called = json!({ "model": "m", "messages": asked });
    server.ok("/proxy/openai/v1/chat/completions", called.clone()).await;
    server.ok("/proxy/anthropic/v1/messages", called).await;
    server.ok("/v1/chat/completions", json!({ "model": model, "messages": asked })).await;
    server.ok("/v1/responses", json!({ "model": model, "input": "hi" })).await;
    let all = home.json(&["stats", "--all"])[0]["all"].clone();
    let numbers = ["generations", "uncounted", "prompt", "cached", "output", "priced"].map(|name| &all[name]);
    assert_eq!(json!(numbers), json!([4, 0, 2_033, 20, 207, 2]), "{all}");
    assert_eq!(all["cost"], json!([{ "amount": 2_000.0, "currency": "cents" }]));
}

#[tokio::test]
async fn an_answer_that_is_no_json_and_no_stream_names_no_node() {
    let home = Home::new();
    let upstream = Upstream::start([status(200, "content-type: text/html", "<p>hi</p>")]).await;
    let base = upstream.url();
    let server = HttpServer::start(&home, &["--openai-upstream", base.trim_end_matches("/v1")]);
    let request = server.request(Method::POST, "/proxy/openai/v1/chat/completions");
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let response = request.json(&body).send().await.unwrap();
    assert!(!response.headers().contains_key("x-loom-node"), "{response:?}");
    assert_eq!(response.text().await.unwrap(), "<p>hi</p>");
}

#[tokio::test]
async fn a_completion_that_breaks_off_is_stored_as_far_as_it_came() {
    let home = Home::new();
    let part = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"At the har\"}}]}\n\n";
    let models = || status(200, "content-type: application/json", r#"{"data":[{"id":"m"}]}"#);
    let broken = || status(200, "content-type: text/event-stream", part);
    let upstream = Upstream::start([models(), broken(), models(), broken()]).await;
    let server = HttpServer::start(&home, &[]);
    for (asked, stream) in [("one", false), ("two", true)] {
        let body =
            json!({ "model": upstream.url(), "stream": stream, "messages": [{ "role": "user", "content": asked }] });
        let request = server.request(Method::POST, "/v1/chat/completions").json(&body);
        request.send().await.unwrap().text().await.unwrap();
        let (_, trees) = server.get("/api/v1/trees").await;
        let newest = trees["data"][0]["id"].as_str().unwrap().to_owned();
        let nodes = server.get(&format!("/api/v1/trees/{newest}/nodes")).await.1["data"].clone();
        assert_eq!(nodes[0]["content"], asked, "{nodes}");
        assert_eq!((&nodes[1]["content"], &nodes[1]["interrupted"]), (&json!("At the har"), &json!(true)), "{nodes}");
    }
}

#[tokio::test]
async fn responses_of_one_conversation_run_one_at_a_time_and_none_is_lost() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let conversation = server.ok("/v1/conversations", json!({})).await["id"].as_str().unwrap().to_owned();
    let ask = |turn: usize| {
        let body = json!({ "model": "scripted:words", "input": format!("turn {turn}"), "conversation": conversation });
        answer(server.request(Method::POST, "/v1/responses").json(&body))
    };
    let asked = futures_util::future::join_all((0..8).map(ask)).await;
    let completed = asked.iter().filter(|(status, _)| *status == 200).count();
    assert!(completed > 0, "{asked:?}");
    // A conversation that does not exist is not found, and is not locked by the question.
    let body = json!({ "model": "scripted:words", "input": "x", "conversation": "conv_01M839FST2Y84E52N1S0Z6P1XS" });
    for _ in 0..2 {
        assert_eq!(server.post("/v1/responses", body.clone()).await.0, 404);
    }
    let locked = |(status, error): &&(u16, Value)| *status == 409 && error["error"]["code"] == "conversation_locked";
    assert_eq!(completed + asked.iter().filter(locked).count(), 8, "{asked:?}");
    let items = server.get(&format!("/v1/conversations/{conversation}/items?order=asc&limit=100")).await.1;
    let roles: Vec<_> = items["data"].as_array().unwrap().iter().map(|item| item["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant"].repeat(completed), "{items}");
}

#[tokio::test]
async fn items_added_while_a_response_runs_stay_in_the_conversation() {
    let held = || [vec![Step::Hold], good("answer")].concat();
    let upstream = Upstream::with_model("m", [held(), held()]).await;
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let conversation = server.ok("/v1/conversations", json!({})).await["id"].as_str().unwrap().to_owned();
    let items = format!("/v1/conversations/{conversation}/items");
    let ask = async |content: &str| {
        let input = json!([{ "role": "user", "content": content }]);
        let body = json!({ "model": upstream.url(), "input": input, "conversation": conversation, "background": true });
        server.ok("/v1/responses", body).await["id"].as_str().unwrap().to_owned()
    };
    let ended = async |response: String| {
        upstream.release();
        while server.get(&format!("/v1/responses/{response}")).await.1["status"] == "in_progress" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let contents = async || {
        let page = server.get(&format!("{items}?order=asc")).await.1;
        let text = |item: &Value| item["content"][0]["text"].as_str().or(item["content"].as_str()).unwrap().to_owned();
        page["data"].as_array().unwrap().iter().map(text).collect::<Vec<_>>()
    };
    let first = ask("one").await;
    server.ok(&items, json!({ "items": [{ "role": "user", "content": "added" }] })).await;
    ended(first).await;
    assert_eq!(contents().await, ["one", "added", "answer"]);

    // A person who goes elsewhere in the meantime stays there. The answer is in the tree.
    let second = ask("two").await;
    let session = conversation.strip_prefix("conv_").unwrap();
    let (status, tree) = server.get(&format!("/api/v1/sessions/{session}")).await;
    assert_eq!(status, 200);
    let nodes = server.get(&format!("/api/v1/trees/{}/nodes", tree["tree_id"].as_str().unwrap())).await.1;
    let one = nodes["data"].as_array().unwrap().iter().find(|node| node["content"] == "one").unwrap();
    server.ok(&format!("/api/v1/sessions/{session}/switch"), json!({ "node": one["id"] })).await;
    ended(second.clone()).await;
    assert_eq!(contents().await, ["one"]);
    let answer = server.get(&format!("/v1/responses/{second}")).await.1;
    assert_eq!(answer["output"][0]["content"][0]["text"], "answer", "{answer}");
}

#[tokio::test]
async fn a_deleted_response_and_what_follows_it_are_found_by_no_request() {
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let create = async |body: Value| server.ok("/v1/responses", body).await["id"].as_str().unwrap().to_owned();
    let first = create(json!({ "model": "scripted:words", "input": "one" })).await;
    let second = create(json!({ "model": "scripted:words", "input": "two", "previous_response_id": first })).await;
    assert_eq!(answer(server.request(Method::DELETE, &format!("/v1/responses/{first}"))).await.0, 200);
    for id in [&first, &second] {
        for rest in ["", "/input_items"] {
            assert_eq!(server.get(&format!("/v1/responses/{id}{rest}")).await.0, 404, "{id}{rest}");
        }
        assert_eq!(answer(server.request(Method::DELETE, &format!("/v1/responses/{id}"))).await.0, 404);
    }
}

#[tokio::test]
async fn the_proxy_does_not_pass_on_the_token_of_the_server() {
    let home = Home::new();
    let token = home.ok(&["serve", "token", "new", "app", "--scope", "write"]);
    let upstream = Upstream::start([status(200, "", "{}")]).await;
    let base = upstream.url();
    let server = HttpServer::start(&home, &["--anthropic-upstream", base.trim_end_matches("/v1")]);
    let request = server.request(Method::POST, "/proxy/anthropic/v1/messages").bearer_auth(token.trim());
    let request = request.header("cookie", "loom_session_80=secret").header("x-api-key", "sk-ant").json(&json!({}));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let received = &upstream.requests()[0];
    assert_eq!((received.header("authorization"), received.header("cookie")), (None, None));
    assert_eq!(received.header("x-api-key"), Some("sk-ant"));
}

#[tokio::test]
async fn a_provider_that_is_away_is_a_bad_gateway() {
    let home = Home::new();
    let server = HttpServer::start(&home, &["--anthropic-upstream", "http://127.0.0.1:9"]);
    let (status, error) = server.post("/proxy/anthropic/v1/messages", json!({ "messages": [] })).await;
    assert_eq!((status, error["error"]["code"].as_str()), (502, Some("upstream")));
}
