//! `loom serve`: the checks of the Open Responses compliance suite (https://www.openresponses.org/compliance), restated
//! here because its runner is not on npm: seven requests, the fields and types of the response object, and the events.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    cli::Home,
    fake_model_server::{DONE, Server as Upstream, Step, finish, good, head, send},
    loom_server::{HttpServer, events},
};

const MODEL: &str = "m";

/// Starts a server whose model answers by scripts.
fn start<'h>(home: &'h Home, upstream: &Upstream) -> HttpServer<'h> {
    let config = home.file("config.yaml");
    let model = format!("models: {{ m: {{ base_url: '{}', model: m, window: 32000 }} }}\n", upstream.url());
    std::fs::write(&config, model).unwrap();
    HttpServer::start(home, &["--config", config.to_str().unwrap()])
}

/// An answer of a model that calls a function.
fn call() -> Vec<Step> {
    let function = json!({ "name": "get_weather", "arguments": "{\"location\":\"San Francisco, CA\"}" });
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
    let choice = json!({ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null });
    let chunk = json!({ "id": "c-1", "model": "m", "choices": [choice] });
    vec![head(), send(format!("data: {chunk}\n\n")), send(finish("tool_calls")), send(DONE)]
}

fn message(role: &str, content: Value) -> Value {
    json!({ "type": "message", "role": role, "content": content })
}

fn weather_tool() -> Value {
    let location = json!({ "type": "string", "description": "The city and state, e.g. San Francisco, CA" });
    json!({
        "type": "function", "name": "get_weather", "description": "Get the current weather for a location",
        "parameters": { "type": "object", "properties": { "location": location }, "required": ["location"] },
    })
}

/// A name for the type of a value; a whole number is `integer`.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Checks that an object has fields of these types: alternatives are separated by `|`.
fn has_fields(what: &str, value: &Value, fields: &[(&str, &str)]) {
    for (name, kinds) in fields {
        let found = value.get(name).unwrap_or_else(|| panic!("{what} has no {name}: {value}"));
        let is_number = kind(found) == "integer" && kinds.contains("number");
        assert!(is_number || kinds.split('|').any(|one| one == kind(found)), "{what}: {name} is not {kinds}: {found}");
    }
}

fn is_one_of(what: &str, value: &Value, names: &[&str]) {
    assert!(value.as_str().is_some_and(|text| names.contains(&text)), "{what}: {value} is none of {names:?}");
}

/// Checks an item of the output.
fn is_item(item: &Value) {
    has_fields("an item", item, &[("id", "string"), ("type", "string"), ("status", "string")]);
    is_one_of("status", &item["status"], &["in_progress", "completed", "incomplete"]);
    match item["type"].as_str().unwrap() {
        "message" => {
            is_one_of("role", &item["role"], &["user", "assistant", "system", "developer"]);
            for part in item["content"].as_array().unwrap() {
                let kinds = [("type", "string"), ("text", "string"), ("annotations", "array"), ("logprobs", "array")];
                has_fields("a part", part, &kinds);
                assert_eq!(part["type"], "output_text");
            }
        }
        "function_call" => {
            has_fields("a call", item, &[("call_id", "string"), ("name", "string"), ("arguments", "string")]);
        }
        other => panic!("an item of the type {other}"),
    }
}

/// Checks the response object: every field that the specification requires, and its type.
fn is_response(response: &Value) {
    has_fields(
        "a response",
        response,
        &[
            ("id", "string"),
            ("created_at", "integer"),
            ("completed_at", "integer|null"),
            ("status", "string"),
            ("incomplete_details", "object|null"),
            ("model", "string"),
            ("previous_response_id", "string|null"),
            ("instructions", "string|null"),
            ("output", "array"),
            ("error", "object|null"),
            ("tools", "array"),
            ("parallel_tool_calls", "boolean"),
            ("text", "object"),
            ("top_p", "number"),
            ("presence_penalty", "number"),
            ("frequency_penalty", "number"),
            ("top_logprobs", "integer"),
            ("temperature", "number"),
            ("reasoning", "object|null"),
            ("usage", "object|null"),
            ("max_output_tokens", "integer|null"),
            ("max_tool_calls", "integer|null"),
            ("store", "boolean"),
            ("background", "boolean"),
            ("service_tier", "string"),
            ("metadata", "object"),
            ("safety_identifier", "string|null"),
            ("prompt_cache_key", "string|null"),
        ],
    );
    assert_eq!(response["object"], "response");
    is_one_of("tool_choice", &response["tool_choice"], &["none", "auto", "required"]);
    is_one_of("truncation", &response["truncation"], &["auto", "disabled"]);
    assert_eq!(response["text"]["format"]["type"], "text");
    for tool in response["tools"].as_array().unwrap() {
        let kinds = [("name", "string"), ("description", "string|null"), ("parameters", "object|null")];
        has_fields("a tool", tool, &kinds);
        has_fields("a tool", tool, &[("strict", "boolean|null")]);
    }
    if response["usage"].is_object() {
        let counts = [("input_tokens", "integer"), ("output_tokens", "integer"), ("total_tokens", "integer")];
        has_fields("usage", &response["usage"], &counts);
        has_fields("usage", &response["usage"]["input_tokens_details"], &[("cached_tokens", "integer")]);
        has_fields("usage", &response["usage"]["output_tokens_details"], &[("reasoning_tokens", "integer")]);
    }
    response["output"].as_array().unwrap().iter().for_each(is_item);
}

/// Checks an event of a stream.
fn is_event(event: &Value) {
    has_fields("an event", event, &[("sequence_number", "integer"), ("type", "string")]);
    let place = [("item_id", "string"), ("output_index", "integer"), ("content_index", "integer")];
    match event["type"].as_str().unwrap().strip_prefix("response.").unwrap() {
        "created" | "in_progress" | "completed" => is_response(&event["response"]),
        "output_item.added" | "output_item.done" => {
            has_fields("an event", event, &place[1..2]);
            is_item(&event["item"]);
        }
        "content_part.added" | "content_part.done" => {
            has_fields("an event", event, &place);
            has_fields("a part", &event["part"], &[("type", "string"), ("text", "string"), ("annotations", "array")]);
        }
        "output_text.delta" => {
            has_fields("an event", event, &place);
            has_fields("an event", event, &[("delta", "string"), ("logprobs", "array")]);
        }
        "output_text.done" => {
            has_fields("an event", event, &place);
            has_fields("an event", event, &[("text", "string"), ("logprobs", "array")]);
        }
        "function_call_arguments.delta" => {
            has_fields("an event", event, &place[..2]);
            has_fields("an event", event, &[("delta", "string")]);
        }
        "function_call_arguments.done" => {
            has_fields("an event", event, &place[..2]);
            has_fields("an event", event, &[("arguments", "string")]);
        }
        other => panic!("an event of the type {other}"),
    }
}

#[tokio::test]
async fn the_requests_of_the_compliance_suite_are_answered_by_complete_responses() {
    let home = Home::new();
    let image = json!([
        { "type": "input_text", "text": "What do you see in this image? Answer in one sentence." },
        { "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=" },
    ]);
    let name = "Hello Alice! Nice to meet you. How can I help you today?";
    let inputs = [
        json!([message("user", json!("Say hello in exactly 3 words."))]),
        json!([message("system", json!("You are a pirate.")), message("user", json!("Say hello."))]),
        json!([message("user", image)]),
        json!([
            message("user", json!("My name is Alice.")),
            message("assistant", json!(name)),
            message("user", json!("What is my name?")),
        ]),
    ];
    let upstream = Upstream::with_model(MODEL, inputs.iter().map(|_| good("Ahoy there, Alice")).chain([call()])).await;
    let server = start(&home, &upstream);
    for input in inputs {
        let response = server.ok("/v1/responses", json!({ "model": MODEL, "input": input, "stream": false })).await;
        is_response(&response);
        assert_eq!(response["status"], "completed", "{response}");
        assert!(response["completed_at"].as_i64() >= response["created_at"].as_i64(), "{response}");
        assert_eq!(response["output"][0]["content"][0]["text"], "Ahoy there, Alice");
    }
    // The model got every message with its role.
    let mut sent = upstream.requests();
    // The server also asks which models there are.
    sent.retain(|request| request.line.starts_with("POST"));
    let roles = |at: usize| -> Vec<String> {
        let messages = sent[at].body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (roles(1), roles(3)),
        (vec!["system".into(), "user".into()], vec!["user".into(), "assistant".into(), "user".into()])
    );
    let input = json!([message("user", json!("What's the weather like in San Francisco?"))]);
    let body = json!({ "model": MODEL, "input": input, "tools": [weather_tool()], "temperature": 0.7 });
    let response = server.ok("/v1/responses", body).await;
    is_response(&response);
    assert!(response["output"].as_array().unwrap().iter().any(|item| item["type"] == "function_call"), "{response}");
    assert_eq!(response["temperature"], 0.7, "the number that was sent");
}

#[tokio::test]
async fn the_streams_of_the_compliance_suite_have_valid_events_and_end_with_the_response() {
    let home = Home::new();
    let upstream = Upstream::with_model(MODEL, [good("1, 2, 3, 4, 5"), call()]).await;
    let server = start(&home, &upstream);
    let stream = async |body: Value| {
        let response = server.request(Method::POST, "/v1/responses").json(&body).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let events = events(response, usize::MAX).await;
        for (name, _, event) in &events {
            assert_eq!(event["type"], name.as_str());
            is_event(event);
        }
        events.into_iter().map(|(_, _, event)| event).collect::<Vec<_>>()
    };
    let input = json!([message("user", json!("Count from 1 to 5."))]);
    let counted = stream(json!({ "model": MODEL, "input": input, "stream": true })).await;
    assert_eq!(counted.last().unwrap()["response"]["status"], "completed");
    let input = json!([message("user", json!("What's the weather like in San Francisco?"))]);
    let body = json!({ "model": MODEL, "input": input, "tools": [weather_tool()], "stream": true });
    let called = stream(body).await;
    for (kind, has_item) in [
        ("response.output_item.added", true),
        ("response.function_call_arguments.delta", false),
        ("response.function_call_arguments.done", false),
        ("response.output_item.done", true),
        ("response.completed", false),
    ] {
        let is_found = |event: &Value| event["type"] == kind && (!has_item || event["item"]["type"] == "function_call");
        assert!(called.iter().any(is_found), "{kind} is missing");
    }
}
