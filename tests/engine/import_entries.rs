//! Imports of entries that stand between messages or look like them: prompts during a turn, texts and titles of the program, hidden
//! messages, attachments, reasoning without an answer, repeated ids.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use loomtree::{
    interchange::Format,
    types::{AuthorType, EdgeKind, Node},
};
use serde_json::{Value, json};

use crate::{
    import_cases::{import_text, lines},
    import_formats::{find, nodes, path, sessions, verify},
    support::store::Scene,
};

/// A line of Claude Code.
fn claude(kind: &str, uuid: &str, parent: Value, more: &Value) -> Value {
    let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/w", "timestamp": "2026-03-01T10:00:00Z"});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn claude_user(uuid: &str, parent: Value, content: &Value) -> Value {
    claude("user", uuid, parent, &json!({"message": {"role": "user", "content": content}}))
}

fn claude_model(uuid: &str, parent: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    let message = json!({"id": uuid, "role": "assistant", "model": "claude", "content": content});
    claude("assistant", uuid, json!(parent), &json!({ "message": message }))
}

fn claude_queued(uuid: &str, parent: &str, attachment: &Value) -> Value {
    let mut attached = json!({"type": "queued_command"});
    for (name, value) in attachment.as_object().unwrap() {
        attached[name] = value.clone();
    }
    claude("attachment", uuid, json!(parent), &json!({ "attachment": attached }))
}

/// An item of a rollout of Codex.
fn codex(payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload})
}

fn codex_message(role: &str, text: &str) -> Value {
    codex(json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}))
}

fn codex_event(payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00Z", "type": "event_msg", "payload": payload})
}

/// Providers count their answers anew after a restart, and goose writes a text and its calls in two rows of one id.
#[test]
fn rows_of_goose_with_one_id_are_messages_of_their_own() {
    let said = |id: &str, role: &str, text: &str| json!({"id": id, "role": role, "created": 1, "content": [{"type": "text", "text": text}]});
    let call = json!({"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {}}}});
    let session = json!({"id": "g", "working_dir": "/w", "conversation": [
        said("u1", "user", "One?"),
        said("chatcmpl-1", "assistant", "First."),
        said("u2", "user", "Two?"),
        said("chatcmpl-1", "assistant", "Second."),
        json!({"id": "chatcmpl-1", "role": "assistant", "created": 1, "content": [call]}),
        said("u3", "user", "Thanks."),
    ]});
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Goose, &session.to_string());
    assert_eq!((done.messages, done.versions, done.branches), (6, 0, 0), "{done:?}");
    let all = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&all, "Thanks.")), ["One?", "First.", "Two?", "Second.", "", "Thanks."]);
    assert_eq!(import_text(&owner, Format::Goose, &session.to_string()).nodes, 0);
}

#[test]
fn hidden_messages_of_silly_tavern_stay_on_the_path_and_are_excluded() {
    let said = |name: &str, is_user: bool, is_system: bool, second: u32, text: &str, extra: Value| json!({"name": name, "is_user": is_user, "is_system": is_system, "send_date": format!("2026-03-01T10:00:0{second}.000Z"), "mes": text, "extra": extra});
    let all = [
        json!({"chat_metadata": {}, "user_name": "Ben", "character_name": "Ada"}),
        said("Ada", false, true, 1, "Hidden greeting.", json!({})),
        said("Ben", true, true, 2, "Hidden question?", json!({})),
        said("Ben", false, true, 3, "A comment.", json!({"type": "comment"})),
        said("SillyTavern System", false, true, 4, "Help.", json!({})),
        said("Ada", false, false, 5, "Shown.", json!({})),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::SillyTavern, &lines(&all));
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&found, "Shown.")), ["Hidden greeting.", "Hidden question?", "Shown."]);
    let facts = |text| {
        let node: &Node = find(&found, text);
        (node.author_type, node.state.excluded)
    };
    assert_eq!(facts("Hidden greeting."), (AuthorType::Model, true));
    assert_eq!((facts("Hidden question?"), facts("Shown.").1), ((AuthorType::Human, true), false));
    for note in ["A comment.", "Help."] {
        assert_eq!(find(&found, note).kind, EdgeKind::Context);
    }
}

fn llama_messages(calls: &Value) -> [Value; 4] {
    let extra = json!([{"type": "TEXT", "name": "notes.txt", "content": "Slate is flat."}, {"type": "IMAGE", "name": "a.png", "base64Url": "data:,"}]);
    [
        json!({"id": "r", "type": "root", "role": "system", "content": "", "timestamp": 1, "parent": null}),
        json!({"id": "u", "role": "user", "content": "Read it.", "timestamp": 2, "parent": "r", "extra": extra}),
        json!({"id": "a", "role": "assistant", "content": "I count.", "timestamp": 3, "parent": "u", "model": "qwen3", "toolCalls": calls}),
        json!({"id": "t", "role": "tool", "content": "42", "timestamp": 4, "parent": "a", "toolCallId": "c"}),
    ]
}

#[test]
fn both_exports_of_llama_cpp_keep_calls_results_and_attached_texts() {
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "count", "arguments": "{}"}}]);
    let conversation = json!({"id": "la", "name": "Stones", "currNode": "t"});
    let old = json!([{"conv": conversation, "messages": llama_messages(&json!(calls.to_string()))}]);
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::LlamaApp, &serde_json::to_string_pretty(&old).unwrap());
    assert_eq!((done.messages, done.problems.len()), (3, 0), "{done:?}");
    let all = nodes(&owner, done.trees[0]);
    let (answer, result) = (find(&all, "I count."), find(&all, "42"));
    assert_eq!(path(&owner, answer), ["Read it.\n[notes.txt]\nSlate is flat.\n[a.png]", "I count."]);
    assert_eq!((result.kind, result.parent), (EdgeKind::Tool, Some(answer.id)));
    assert_eq!((result.tool.call_id.as_deref(), result.tool.name.as_deref()), (Some("c"), Some("count")));
    assert!(answer.tool.calls.as_ref().unwrap().as_str().contains("\"count\""));
    // The newer export of the conversation adds nothing.
    let mut session = json!({"type": "session", "harness": "llama.app"});
    session.as_object_mut().unwrap().extend(conversation.as_object().unwrap().clone());
    let messages = llama_messages(&calls).map(|message| json!({"type": "message", "message": message}));
    let new = format!("{session}\n{}", lines(&messages));
    for text in [new, old.to_string(), old[0].to_string()] {
        let again = import_text(&owner, Format::LlamaApp, &text);
        assert_eq!((again.messages, again.nodes, again.problems.len()), (3, 0, 0), "{again:?}");
    }
}

/// The web interface of llama.cpp exports several conversations as an archive with a file for each.
#[cfg(feature = "cli")]
#[test]
fn an_archive_of_json_lines_is_imported() {
    use std::{fs, io::Write as _, sync::atomic::AtomicBool};

    use loomtree::interchange::{self, ImportOptions};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.zip");
    let mut archive = zip::ZipWriter::new(fs::File::create(&file).unwrap());
    for id in ["one", "two"] {
        archive.start_file(format!("2026_{id}.jsonl"), zip::write::SimpleFileOptions::default()).unwrap();
        let session = json!({"type": "session", "harness": "llama.app", "id": id, "name": id});
        let message =
            json!({"type": "message", "message": {"id": "u", "role": "user", "content": "Hi.", "timestamp": 2}});
        archive.write_all(lines(&[session, message]).as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    let scene = Scene::new(1);
    let owner = scene.owner();
    let cancel = AtomicBool::new(false);
    let done = interchange::import_path(&owner, ImportOptions::default(), &file, &mut |_| {}, &cancel).unwrap();
    assert_eq!((done.format, done.trees.len(), done.problems.len()), ("llama-app", 2, 0), "{done:?}");
}

#[test]
fn a_prompt_that_claude_code_queued_is_a_message_and_its_own_texts_are_notes() {
    let all = [
        claude_user("u1", json!(null), &json!("Start.")),
        claude_model("a1", "u1", "I look."),
        claude_queued(
            "q1",
            "a1",
            &json!({"prompt": "Use the other file.", "commandMode": "prompt", "origin": {"kind": "human"}}),
        ),
        claude_model("a2", "q1", "The other file."),
        claude_queued("q2", "a2", &json!({"prompt": [{"type": "text", "text": "And this one."}]})),
        claude_queued("q3", "q2", &json!({"prompt": "A task ended.", "commandMode": "task-notification"})),
        claude_queued("q4", "q3", &json!({"prompt": "Seen.", "origin": {"kind": "peer"}})),
        claude_model("a3", "q4", "Both."),
        claude_user("n1", json!("a3"), &json!("<task-notification>\nDone.\n</task-notification>")),
        claude_user("n2", json!("n1"), &json!([{"type": "text", "text": "[Request interrupted by user]"}])),
        claude_user("n3", json!("n2"), &json!("<bash-input>ls</bash-input>")),
        claude_user("n4", json!("n3"), &json!("<bash-stdout>a</bash-stdout>")),
        claude(
            "user",
            "n5",
            json!("n4"),
            &json!({"message": {"role": "user", "content": "From a peer."}, "origin": {"kind": "peer"}}),
        ),
        claude_user("u2", json!("n5"), &json!("Thanks.")),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::ClaudeCode, &lines(&all));
    assert_eq!((done.branches, done.other, done.problems.len()), (0, 7, 0), "{done:?}");
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(
        path(&owner, find(&found, "Thanks.")),
        ["Start.", "I look.", "Use the other file.", "The other file.", "And this one.", "Both.", "Thanks."]
    );
    assert_eq!(find(&found, "And this one.").author_type, AuthorType::Human);
    assert_eq!(find(&found, "From a peer.").kind, EdgeKind::Context);
    assert_eq!(import_text(&owner, Format::ClaudeCode, &lines(&all)).nodes, 0);
}

/// Lines without folder and time precede the first message.
#[test]
fn settings_and_titles_before_the_first_message_of_claude_code_begin_no_conversation() {
    let all = [
        json!({"type": "permission-mode", "permissionMode": "default", "sessionId": "s"}),
        json!({"type": "ai-title", "aiTitle": "Generated early", "sessionId": "s"}),
        json!({"type": "custom-title", "customTitle": "The clock", "sessionId": "s"}),
        claude_user("u1", json!(null), &json!("Why is it slow?")),
        claude_model("a1", "u1", "I look."),
        json!({"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"}),
        json!({"type": "ai-title", "aiTitle": "Generated late", "sessionId": "s"}),
        json!({"type": "summary", "summary": "Summarized", "leafUuid": "a1", "sessionId": "s"}),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::ClaudeCode, &lines(&all));
    assert_eq!((done.conversations, done.messages, done.other), (1, 2, 0), "{done:?}");
    assert_eq!(done.left_out.get("permission-mode"), Some(&2));
    let tree = owner.loom().tree(done.trees[0]).unwrap();
    assert_eq!((tree.title.as_str(), tree.created_at.as_millis()), ("The clock", 1_772_359_200_000));
    assert_eq!(sessions(&owner, tree.id)[0].workspace, "/w");
}

/// A title replaces the first words of the first prompt, but not a title that the user gave.
#[test]
fn a_title_that_claude_code_writes_after_an_import_is_set() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let mut all = vec![claude_user("u1", json!(null), &json!("Why is it slow?")), claude_model("a1", "u1", "I look.")];
    let tree = import_text(&owner, Format::ClaudeCode, &lines(&all)).trees[0];
    let title = || owner.loom().tree(tree).unwrap().title;
    assert_eq!(title(), "Why is it slow?");
    all.push(json!({"type": "ai-title", "aiTitle": "The slow clock", "sessionId": "s"}));
    assert_eq!(import_text(&owner, Format::ClaudeCode, &lines(&all)).nodes, 0);
    assert_eq!(title(), "The slow clock");
    all.push(json!({"type": "ai-title", "aiTitle": "Another title", "sessionId": "s"}));
    import_text(&owner, Format::ClaudeCode, &lines(&all));
    assert_eq!(title(), "The slow clock", "the title may be the user's");
}

#[test]
fn texts_that_codex_writes_are_no_turns_of_its_user() {
    let texts = [
        "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
        "<skill>\n<name>draw</name>\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        "<hook_prompt hook_run_id=\"h\">Go on.</hook_prompt>",
    ];
    let mut all = vec![
        json!({"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "cx"}}),
        codex_message("user", "First."),
        codex_message("assistant", "One."),
        codex_message("user", "Second."),
    ];
    all.extend(texts.map(|text| codex_message("user", text)));
    all.push(codex_event(json!({"type": "thread_rolled_back", "num_turns": 1})));
    all.push(codex_message("user", "Second, reworded."));
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Codex, &lines(&all));
    assert_eq!((done.other, done.branches), (5, 1), "{done:?}");
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&found, "Second, reworded.")), ["First.", "One.", "Second, reworded."]);
}

#[test]
fn reasoning_of_codex_stays_in_its_turn() {
    let summary = |text: &str| codex(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}));
    let all = [
        json!({"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "cx"}}),
        codex_message("user", "First."),
        codex(
            json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Open thought."}]}),
        ),
        codex_message("assistant", "One."),
        codex_message("user", "Second."),
        summary("Aborted thought."),
        codex_event(json!({"type": "turn_aborted", "reason": "interrupted"})),
        codex_message("user", "Third."),
        summary("Lost thought."),
        codex_message("user", "Fourth."),
        codex_message("assistant", "Four."),
    ];
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::Codex, &lines(&all));
    assert_eq!(done.problems.len(), 0, "{done:?}");
    let found = nodes(&owner, done.trees[0]);
    assert_eq!(
        path(&owner, find(&found, "Four.")),
        ["First.", "One.", "Second.", "", "Third.", "", "Fourth.", "Four."]
    );
    assert_eq!(find(&found, "Open thought.").parent, Some(find(&found, "One.").id));
    for (thought, prompt) in [("Aborted thought.", "Second."), ("Lost thought.", "Third.")] {
        let thought = find(&found, thought);
        let answer = found.iter().find(|node| Some(node.id) == thought.parent).unwrap();
        assert_eq!((answer.parent, answer.interrupted), (Some(find(&found, prompt).id), true));
        assert_eq!(answer.author_type, AuthorType::Model);
    }
    assert_eq!(import_text(&owner, Format::Codex, &lines(&all)).nodes, 0);
    verify(&owner);
}

/// Saved lists of OpenAI's Responses have items that are no messages.
#[test]
fn an_entry_without_a_role_does_not_end_a_chat() {
    let list = json!([
        {"role": "user", "content": "Weather?"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I ask."}]},
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        {"type": "unknown"},
        {"role": "assistant", "content": "Sunny."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Without an answer."}]},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "Gladly."},
    ]);
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import_text(&owner, Format::OpenAiChat, &json!({ "messages": list }).to_string());
    assert_eq!((done.messages, done.problems.len()), (6, 1), "{done:?}");
    assert!(done.problems[0].contains("message 5 has no role"), "{:?}", done.problems);
    let all = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&all, "Gladly.")), ["Weather?", "", "Sunny.", "Thanks.", "Gladly."]);
    assert!(all.iter().all(|node| node.content != "Without an answer."));
    let (thought, result) = (find(&all, "I ask."), find(&all, "sunny"));
    assert_eq!((thought.parent, result.tool.call_id.as_deref()), (result.parent, Some("c")));
    let bare = import_text(&owner, Format::OpenAiChat, &list.to_string());
    assert_eq!((bare.messages, bare.problems.len()), (6, 1), "{bare:?}");
}
