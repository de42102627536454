use super::*;
use crate::provider::{Sampling, ToolCall};

const FIRST: Capabilities = Capabilities { usage: true, completion_tokens: false, prefill: true };

fn sent_body(messages: Vec<Message>) -> Value {
    body_with(FIRST, messages)
}

fn body_with(capabilities: Capabilities, messages: Vec<Message>) -> Value {
    let (path, bytes) = request_body(Some("claude"), &Request::new(Prompt::Chat(messages)), capabilities).unwrap();
    assert_eq!(path, "messages");
    serde_json::from_slice(&bytes.unwrap()).unwrap()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn roles(body: &Value) -> Vec<&str> {
    body["messages"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect()
}

#[test]
fn a_request_contains_set_and_required_options() {
    let sampling = Sampling {
        temperature: Some(0.5),
        max_tokens: Some(9),
        stop: vec!["\n\n".into()],
        seed: Some(1),
        logprobs: Some(1),
    };
    let tool =
        ToolDefinition { name: "view".into(), description: "Shows.".into(), parameters: json!({"type": "object"}) };
    let prompt = Prompt::Chat(vec![Message::system("be brief"), Message::user("hi")]);
    let request = Request { prompt, tools: vec![tool], sampling };
    let (_, bytes) = request_body(Some("claude"), &request, FIRST).unwrap();
    let expected = json!({
        "model": "claude", "max_tokens": 9, "system": [text("be brief")],
        "messages": [{"role": "user", "content": [text("hi")]}],
        "tools": [{"name": "view", "description": "Shows.", "input_schema": {"type": "object"}}],
        "stream": true, "temperature": 0.5, "stop_sequences": ["\n\n"],
    });
    assert_eq!(serde_json::from_slice::<Value>(&bytes.unwrap()).unwrap(), expected);
    assert_eq!(sent_body(vec![Message::user("hi")])["max_tokens"], DEFAULT_MAX_TOKENS);
    assert!(request_body(None, &Request::new(Prompt::Raw("Once".into())), FIRST).is_err());
}

#[test]
fn roles_alternate_and_the_user_is_first() {
    let (s, u, a) = (Message::system("s"), Message::user("u"), Message::assistant("a"));
    for messages in [
        vec![],
        vec![s.clone()],
        vec![a.clone()],
        vec![a.clone(), a.clone(), u.clone()],
        vec![s.clone(), u.clone(), u.clone(), s.clone(), a.clone(), s, a.clone(), u.clone()],
        vec![Message::user(" \n"), a, Message::user(""), u],
    ] {
        let body = sent_body(messages.clone());
        let roles = roles(&body);
        assert_eq!(roles[0], "user", "{messages:?}");
        assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
        let texts = body["messages"].as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap());
        assert!(texts.clone().count() > 0);
        assert!(texts.into_iter().all(|block| !block["text"].as_str().unwrap().trim().is_empty()));
    }
    let later = sent_body(vec![Message::system("s"), Message::user("u"), Message::system("now: noon")]);
    assert_eq!(later["system"], json!([text("s")]));
    assert_eq!(later["messages"], json!([{"role": "user", "content": [text("u"), text("now: noon")]}]));
}

#[test]
fn a_final_assistant_message_is_a_prefill_or_followed_by_the_user() {
    let messages = || vec![Message::user("u"), Message::assistant("Once upon \n")];
    let body = sent_body(messages());
    assert_eq!(body["messages"][1]["content"], json!([text("Once upon")]));
    let body = body_with(Capabilities { prefill: false, ..FIRST }, messages());
    assert_eq!(roles(&body), ["user", "assistant", "user"]);
}

#[test]
fn at_most_four_cache_breakpoints_are_set() {
    let marked = json!({"type": "ephemeral"});
    let body = sent_body(vec![
        Message::system("s").cached(),
        Message::user("u").with(MessagePart::Image("map".into())).cached(),
        Message::assistant("a"),
        Message::user("v"),
    ]);
    assert_eq!(body["system"][0]["cache_control"], marked);
    let first = &body["messages"][0]["content"];
    assert_eq!((first[0].get("cache_control"), &first[1]["cache_control"]), (None, &marked));
    assert_eq!(first[1]["text"], "[image: map]");
    assert_eq!(body["messages"][2]["content"][0].get("cache_control"), None);

    let turns = (0..6).map(|n| Message::new([Role::User, Role::Assistant][n % 2], "t").cached());
    let body = sent_body([Message::system("s").cached()].into_iter().chain(turns).collect());
    assert_eq!(body["system"][0]["cache_control"], marked);
    let marks = body["messages"].as_array().unwrap().iter().map(|t| t["content"][0].get("cache_control").is_some());
    assert_eq!(marks.collect::<Vec<_>>(), [false, false, false, true, true, true]);
}

#[test]
fn calls_and_results_are_blocks_with_results_first() {
    let call = |id: &str, arguments: &str| {
        MessagePart::Call(ToolCall { id: id.into(), name: "view".into(), arguments: arguments.into() })
    };
    let result = |id: &str, failed| MessagePart::Result { call: id.into(), text: "seen".into(), failed };
    let body = sent_body(vec![
        Message::user("go"),
        Message::assistant("see").with(call("a", r#"{"id":1}"#)).with(call("b", "{oops")),
        Message::user("and?").with(result("b", true)).with(result("a", false)),
    ]);
    let expected = json!([
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [
            text("see"),
            {"type": "tool_use", "id": "a", "name": "view", "input": {"id": 1}},
            {"type": "tool_use", "id": "b", "name": "view", "input": {"invalid": "{oops"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "seen", "is_error": true},
            {"type": "tool_result", "tool_use_id": "a", "content": "seen"},
            text("and?"),
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn unknown_events_are_ignored_and_malformed_ones_are_errors() {
    for known in [
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"x"}}"#,
        r#"{"type":"something_new","what":1}"#,
    ] {
        let answer = decode(known.as_bytes()).unwrap();
        let empty = answer.pieces.iter().all(|piece| *piece == StreamPiece::default());
        assert!(empty && !answer.done && answer.error.is_none(), "{known}");
    }
    for nonsense in ["{}", "[]", "{", r#"{"choices":[]}"#, r#"{"type":"content_block_delta","index":0}"#] {
        assert!(decode(nonsense.as_bytes()).is_err(), "{nonsense}");
    }
}
