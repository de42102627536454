//! Imports of what programs write more than once, in parts, or deeper than a parser goes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::{
    import_formats::{find, import, nodes, path, sessions, verify},
    support::store::Scene,
};

use std::{fs, sync::atomic::AtomicBool};

use loomtree::{
    interchange::{self, Format, ImportOptions, Imported},
    ops::Actor,
    types::{EdgeKind, LinkTarget, Node},
};
use serde_json::json;

pub(crate) fn import_text(actor: &Actor, format: Format, text: &str) -> Imported {
    interchange::import(actor, Some(format), "made", &mut text.as_bytes(), &mut |_| {}).unwrap()
}

pub(crate) fn lines(values: &[serde_json::Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Gemini CLI writes a reply, then the same reply with its tokens, then with its calls. It is one message. A file that is
/// imported in between gets the calls as a version.
#[test]
fn a_reply_of_gemini_that_is_written_in_parts_is_one_message() {
    let reply = json!({"id": "m2", "type": "gemini", "content": "I look.", "model": "gemini-2.5-pro", "thoughts": [], "tokens": null});
    let mut counted = reply.clone();
    counted["tokens"] = json!({"input": 3, "output": 8});
    let mut called = counted.clone();
    called["toolCalls"] = json!([{"id": "c", "name": "ls", "args": {}, "status": "success", "result": [{"functionResponse": {"response": {"output": "a.rs"}}}]}]);
    let update = json!({"$set": {"lastUpdated": "2026-03-01T10:00:03Z"}});
    let all = [
        json!({"sessionId": "g", "projectHash": "f", "startTime": "2026-03-01T10:00:00Z"}),
        json!({"id": "m1", "type": "user", "content": [{"text": "List."}]}),
        reply,
        update.clone(),
        counted,
        called,
        update,
        json!({"id": "m3", "type": "user", "content": "Thanks."}),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Gemini, &lines(&all));
    assert_eq!((done.messages, done.versions, done.problems.len()), (4, 0, 0), "{done:?}");
    let found = nodes(&owner, done.trees[0]);
    let look = find(&found, "I look.");
    assert_eq!((look.tokens, look.tool.calls.is_some()), (Some(8), true));
    assert_eq!((find(&found, "a.rs").parent, find(&found, "Thanks.").parent), (Some(look.id), Some(look.id)));
    assert_eq!(import_text(&owner, Format::Gemini, &lines(&all)).nodes, 0);

    let second = Scene::new(2);
    let other = second.owner();
    import_text(&other, Format::Gemini, &lines(&all[..4]));
    let grown = import_text(&other, Format::Gemini, &lines(&all));
    assert_eq!((grown.versions, import_text(&other, Format::Gemini, &lines(&all)).nodes), (1, 0), "{grown:?}");
    let found = nodes(&other, grown.trees[0]);
    let version = found.iter().find(|node| node.kind == EdgeKind::Version).unwrap();
    assert_eq!((version.content.as_str(), version.tool.calls.is_some()), ("I look.", true));
    verify(&other);
}

/// Rewinding to a message that is not on the path drops the path, as the program does.
#[test]
fn an_unknown_rewind_of_gemini_begins_anew() {
    let all = [
        json!({"sessionId": "g", "projectHash": "f", "startTime": "2026-03-01T10:00:00Z"}),
        json!({"id": "m1", "type": "user", "content": "One."}),
        json!({"$rewindTo": "elsewhere"}),
        json!({"id": "m2", "type": "user", "content": "Two."}),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Gemini, &lines(&all));
    assert_eq!((done.branches, done.problems.len()), (1, 1));
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&found, "Two.")), ["Two."]);
}

/// The tree of a subagent is linked from the one of its session.
#[test]
fn subagents_of_gemini_and_codex_are_linked() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let folder = tempfile::tempdir().unwrap();
    let import_file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        interchange::import_path(&owner, ImportOptions::default(), &path, &mut |_| {}, &AtomicBool::new(false)).unwrap()
    };
    let header = |id: &str, kind: &str| json!({"sessionId": id, "projectHash": "f", "startTime": "2026-03-01T10:00:00Z", "kind": kind});
    let user = json!({"id": "m1", "type": "user", "content": "Go."});
    let main = import_file("chats/session-a.jsonl", lines(&[header("gm-1", "main"), user.clone()]));
    let sub = import_file("chats/gm-1/gm-2.jsonl", lines(&[header("gm-2", "subagent"), user]));
    let linked = |main: &Imported, sub: &Imported| {
        let snapshot = owner.loom().snapshot().unwrap();
        let points = |node: &Node| {
            snapshot.links(node.id).unwrap().iter().any(|link| link.target == LinkTarget::Tree(sub.trees[0]))
        };
        nodes(&owner, main.trees[0]).into_iter().find(points).expect("the tree is linked")
    };
    assert_eq!(linked(&main, &sub).depth, 0);

    let item = |payload: serde_json::Value| json!({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload});
    let call = item(json!({"type": "function_call", "name": "spawn_agent", "arguments": "{}", "call_id": "call-1"}));
    let meta = |payload: serde_json::Value| json!({"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": payload});
    let main = import_file("rollout-1.jsonl", lines(&[meta(json!({"id": "cx-1"})), call]));
    let spawn = json!({"parent_thread_id": "cx-1", "spawn_call_id": "call-1"});
    let said = item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}));
    let sub = import_file(
        "rollout-2.jsonl",
        lines(&[meta(json!({"id": "cx-2", "source": {"subagent": {"thread_spawn": spawn}}})), said]),
    );
    linked(&main, &sub);
}

/// Tokens of Codex CLI come in an event after the reply, and an interruption too.
#[test]
fn events_of_codex_complete_the_reply_before_them() {
    let line = |kind: &str, payload: serde_json::Value| json!({"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload});
    let said = |role: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}),
        )
    };
    let count = |info: serde_json::Value| line("event_msg", json!({"type": "token_count", "info": info}));
    let all = [
        line("session_meta", json!({"id": "cx"})),
        said("user", "Hello."),
        said("assistant", "Hi."),
        count(json!({"last_token_usage": {"input_tokens": 5, "output_tokens": 7}})),
        count(json!(null)),
        said("user", "More."),
        said("assistant", "It is"),
        line("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"})),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Codex, &lines(&all));
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(find(&found, "Hi.").tokens, Some(7));
    assert_eq!((find(&found, "Hi.").interrupted, find(&found, "It is").interrupted), (false, true));
    assert_eq!(import_text(&owner, Format::Codex, &lines(&all)).nodes, 0);
}

/// A compaction that keeps the newest messages repeats them after itself, so its logical parent stands behind it. The
/// conversation stays one path.
#[test]
fn a_compaction_of_claude_code_that_keeps_messages_is_no_fork() {
    let line = |kind: &str, uuid: &str, parent: serde_json::Value, more: serde_json::Value| {
        let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/w", "timestamp": "2026-03-01T10:00:00Z"});
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let user = |uuid: &str, parent: serde_json::Value, text: &str| {
        line("user", uuid, parent, json!({"message": {"role": "user", "content": text}}))
    };
    let model = |uuid: &str, parent: &str, text: &str| {
        line(
            "assistant",
            uuid,
            json!(parent),
            json!({"message": {"id": uuid, "role": "assistant", "model": "claude", "content": [{"type": "text", "text": text}]}}),
        )
    };
    let all = [
        user("u1", json!(null), "Start."),
        model("a1", "u1", "Ready."),
        user("u2", json!("a1"), "On."),
        line(
            "system",
            "cb",
            json!(null),
            json!({"subtype": "compact_boundary", "content": "Compacted", "logicalParentUuid": "a2"}),
        ),
        line(
            "user",
            "cs",
            json!("cb"),
            json!({"isCompactSummary": true, "message": {"role": "user", "content": "A summary."}}),
        ),
        model("a2", "cs", "Kept."),
        user("u3", json!("a2"), "After."),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::ClaudeCode, &lines(&all));
    assert_eq!((done.branches, done.problems.len()), (0, 0), "{:?}", done.problems);
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&found, "After.")), ["Start.", "Ready.", "On.", "Kept.", "After."]);
    assert_eq!(find(&found, "Compacted").parent, Some(find(&found, "On.").id));
}

/// A database of `llm` that was upgraded keeps its older history, and texts that are made of fragments. A reply that its
/// user left is a branch.
#[test]
fn an_upgraded_database_of_llm_is_read_whole() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "llm/upgraded.sql");
    assert_eq!((done.conversations, done.branches, done.problems.len()), (2, 1, 0), "{done:?}");
    let before = nodes(&owner, owner.loom().find_tree("Before the upgrade").unwrap().id);
    assert_eq!(
        path(&owner, find(&before, "A file.")),
        ["Answer in verse.", "A shared file.\nSum it up.", "", "A file."]
    );
    let result = find(&before, "12 bytes");
    let caller = before.iter().find(|node| Some(node.id) == result.parent).unwrap();
    assert!(caller.tool.calls.is_some() && result.kind == EdgeKind::Tool);
    assert_eq!(find(&before, "Look first.").parent, Some(caller.id));
    let tree = owner.loom().find_tree("After the upgrade").unwrap().id;
    let after = nodes(&owner, tree);
    let chosen = find(&after, "The chosen reply.");
    assert_eq!(path(&owner, chosen), ["Read: A shared file. Well?", "The chosen reply."]);
    assert_eq!(find(&after, "A reply that was left.").parent, chosen.parent);
    assert_eq!((chosen.tokens, sessions(&owner, tree)[0].position), (Some(6), Some(chosen.id)));
    assert!(after.iter().all(|node| node.content != "twice"), "a response that is a turn is read once");
}

/// Newer versions of Open WebUI keep a row for each message, with a list of what the model did.
#[test]
fn rows_of_open_webui_are_messages_with_calls() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "open-webui/rows.sql");
    assert_eq!((done.messages, done.branches, done.problems.len()), (4, 1, 0), "{done:?}");
    let found = nodes(&owner, done.trees[0]);
    let yes = find(&found, "Yes.");
    assert_eq!((yes.tokens, find(&found, "rain").tool.call_id.as_deref()), (Some(4), Some("c1")));
    assert_eq!((find(&found, "rain").parent, find(&found, "Ask.").parent), (Some(yes.id), Some(yes.id)));
    assert!(find(&found, "No.").interrupted && !yes.interrupted);
    assert_eq!(sessions(&owner, done.trees[0])[0].position, Some(yes.id));

    // Older versions write the call into the text only.
    let text = concat!(
        "<details type=\"tool_calls\" done=\"true\" id=\"c9\" name=\"add\" arguments=\"&quot;{\\&quot;a\\&quot;:1}&quot;\" ",
        "result=\"&quot;3 &lt; 4&quot;\">\n<summary>Tool Executed</summary>\n</details>\nThree. <details type=\"x\">kept</details>"
    );
    let chat = json!([{"id": "o", "title": "Sum", "chat": {"history": {"currentId": "b", "messages": {
        "a": {"id": "a", "role": "user", "content": "1 + 2?"},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": text, "model": "m"},
    }}}}]);
    let done = import_text(&owner, Format::OpenWebUi, &chat.to_string());
    let found = nodes(&owner, done.trees[0]);
    let three = find(&found, "Three. <details type=\"x\">kept</details>");
    assert!(three.tool.calls.as_ref().unwrap().as_str().contains(r#""arguments":"{\"a\":1}""#));
    assert_eq!(find(&found, "3 < 4").parent, Some(three.id));
}

/// Nested trees are as deep as their conversations.
#[test]
fn trees_deeper_than_a_parser_goes_are_read() {
    const DEPTH: usize = 2_000;
    let scene = Scene::new(1);
    let owner = scene.owner();
    let node = |number: usize| format!(r#"{{"text":" word {number}","children":["#);
    let pyloom = format!(r#"{{"root":{}{}}}"#, (0..DEPTH).map(node).collect::<String>(), "]}".repeat(DEPTH));
    let done = import_text(&owner, Format::Pyloom, &pyloom);
    assert_eq!((done.messages, done.branches, done.problems.len()), (DEPTH as u64, 0, 0), "{:?}", done.problems);
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&found, " word 1999")).len(), DEPTH);
    assert_eq!(import_text(&owner, Format::Pyloom, &pyloom).nodes, 0);

    let node = |number: usize| {
        format!(
            r#"{{"messageId":"m{number}","text":"text {number}","isCreatedByUser":{},"children":["#,
            number.is_multiple_of(2)
        )
    };
    let chat = format!(
        r#"{{"conversationId":"deep","recursive":true,"messagesTree":[{}{}]}}"#,
        (0..DEPTH).map(node).collect::<String>(),
        "]}".repeat(DEPTH)
    );
    assert_eq!(interchange::detect(chat.as_bytes()), Some(Format::LibreChat));
    let done = import_text(&owner, Format::LibreChat, &chat);
    assert_eq!((done.messages, done.branches, done.problems.len()), (DEPTH as u64, 0, 0), "{:?}", done.problems);
    verify(&owner);
}

/// A message of a pi extension to the model becomes a note with its words; a command that the user hid from the model stays hidden.
#[test]
fn notes_and_hidden_commands_of_pi_keep_their_meaning() {
    let all = [
        json!({"type": "session", "version": 3, "id": "p", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w"}),
        json!({"type": "message", "id": "a", "parentId": null, "message": {"role": "user", "content": "Hi."}}),
        json!({"type": "custom_message", "id": "b", "parentId": "a", "customType": "x", "content": [{"type": "text", "text": "Injected."}]}),
        json!({"type": "message", "id": "c", "parentId": "b", "message": {"role": "bashExecution", "command": "env", "output": "A=1", "excludeFromContext": true}}),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Pi, &lines(&all));
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(find(&found, "Injected.").kind, EdgeKind::Context);
    assert!(find(&found, "$ env\nA=1").state.excluded);
}

/// One conversation in every layout that programs save it in is one tree, whose messages are known the second time.
#[test]
fn chat_messages_are_read_in_every_layout() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let messages = json!([
        {"role": "user", "content": "Weather?", "timestamp": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "sunny", "is_error": true}]},
        {"role": "assistant", "content": "Sunny."},
    ]);
    let conversation = json!({ "messages": messages });
    let pretty = |value| serde_json::to_string_pretty(value).unwrap();
    let layouts = [
        pretty(&conversation),
        format!("{conversation}\n"),
        pretty(&messages),
        messages.to_string(),
        lines(messages.as_array().unwrap()),
        pretty(&json!([conversation])),
    ];
    for (number, text) in layouts.iter().enumerate() {
        assert_eq!(interchange::detect(text.as_bytes()), Some(Format::OpenAiChat), "{text}");
        let done = import_text(&owner, Format::OpenAiChat, text);
        assert_eq!((done.messages, done.trees.len(), done.problems.len()), (4, 1, 0), "{text}: {:?}", done.problems);
        assert_eq!(done.nodes == 0, number > 0, "{text}");
    }
    let all = nodes(&owner, owner.loom().find_tree("Weather?").unwrap().id);
    let result = find(&all, "sunny");
    assert_eq!((result.kind, result.tool.call_id.as_deref()), (EdgeKind::Tool, Some("t")));
    assert_eq!(result.parent, Some(find(&all, "I look.").id));
    assert_eq!(path(&owner, find(&all, "Sunny.")), ["Weather?", "I look.", "Sunny."]);
    assert_eq!(find(&all, "Weather?").created_at.as_millis(), 1_772_359_200_000);

    let turns = json!([{"from": "system", "value": "Be brief."}, {"from": "human", "value": "A loom?"}, {"from": "gpt", "value": "A machine."}]);
    let shared = json!({"id": "1", "conversations": turns}).to_string();
    assert_eq!(interchange::detect(shared.as_bytes()), Some(Format::OpenAiChat));
    let done = import_text(&owner, Format::OpenAiChat, &shared);
    assert_eq!((done.messages, done.problems.len()), (3, 0), "{:?}", done.problems);
    let request = json!({"system": "Be brief.", "messages": [{"role": "user", "content": "A loom?"}, {"role": "assistant", "content": "A machine."}]});
    let again = import_text(&owner, Format::OpenAiChat, &request.to_string());
    assert_eq!((again.messages, again.trees.clone()), (3, done.trees), "{:?}", again.problems);
    verify(&owner);
}

/// A first line that is longer than what the detection reads does not hide its format.
#[test]
fn a_long_first_line_is_detected() {
    let long = "long, \"quoted\" \\ words ".repeat(10_000);
    let long = json!(long);
    let chat = format!(r#"{{"messages": [{{"role": "system", "content": {long}}}]}}"#);
    let list = format!(r#"[{{"role": "user", "content": {long}}}]"#);
    let claude = format!(r#"{{"type": "user", "uuid": "u", "message": {{"role": "user", "content": {long}}}}}"#);
    for (text, format) in [(chat, Format::OpenAiChat), (list, Format::OpenAiChat), (claude, Format::ClaudeCode)] {
        let head = &text.as_bytes()[..usize::try_from(interchange::DETECTED_BYTES).unwrap()];
        assert_eq!(interchange::detect(head), Some(format), "{}", &text[..60]);
    }
    assert_eq!(interchange::detect(b"[1, 2, 3"), None);
}

/// A text that quotes a message, records with a role and trees of other programs are no lists of chat messages.
#[test]
fn only_chat_messages_are_detected_as_such() {
    let quote = r#"{"role": "user", "content": "hi"}"#;
    let markdown = format!("## User\n\nWhat does this mean?\n\n{quote}\n\n## Assistant\n\nA message.\n");
    assert_eq!(interchange::detect(markdown.as_bytes()), Some(Format::Markdown));
    let web_ui = json!([{"chat": {"history": {"messages": {}, "currentId": "a"}, "messages": [{"role": "user", "content": "x"}]}}]);
    assert_eq!(interchange::detect(serde_json::to_string_pretty(&web_ui).unwrap().as_bytes()), Some(Format::OpenWebUi));
    for other in [
        r#"{"name": "Bob", "role": "admin"}"#,
        r#"{"role": "user", "message": {"content": []}}"#,
        r#"{"role": "user", "parts": [{"text": "x"}]}"#,
        r#"{"messages": [{"role": "user", "content": "x", "children": []}]}"#,
    ] {
        assert_eq!(interchange::detect(other.as_bytes()), None, "{other}");
    }
}

/// A result of a tool in the message that called it belongs to that message, and a line that was cut does not lose the others.
#[test]
fn results_in_a_reply_and_cut_lines_keep_the_rest() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let searched = json!({"messages": [
        {"role": "user", "content": "News?"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "I search."},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "tool_result", "tool_use_id": "s", "content": "found"},
        ]},
        {"role": "user", "content": "Thanks."},
    ]});
    import_text(&owner, Format::OpenAiChat, &searched.to_string());
    let all = nodes(&owner, owner.loom().find_tree("News?").unwrap().id);
    let reply = all.iter().find(|node| node.tool.calls.is_some()).unwrap();
    assert_eq!((reply.author_type, reply.kind), (loomtree::types::AuthorType::Model, EdgeKind::Continuation));
    assert_eq!(find(&all, "found").parent, Some(reply.id));
    assert_eq!(find(&all, "I search.").kind, EdgeKind::Thought);
    assert_eq!(find(&all, "Thanks.").parent, Some(reply.id));

    let line = |text: &str| json!({"messages": [{"role": "user", "content": text}]}).to_string();
    let cut = format!("{}\n{}\n{}\n", &line(&"cut ".repeat(40))[..150], line("second"), line("third"));
    let done = import_text(&owner, Format::OpenAiChat, &cut);
    assert_eq!((done.messages, done.problems.len()), (2, 1), "{:?}", done.problems);
    verify(&owner);
}
