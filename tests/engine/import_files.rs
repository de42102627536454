//! Imports by file: the name that identifies a file, its detection, side conversations that precede their parents, and the
//! blocks and parts of messages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{fs, path::Path, sync::atomic::AtomicBool};

use loomtree::{
    id::TreeId,
    interchange::{self, Format, ImportOptions, Imported},
    ops::Actor,
    types::{AuthorType, EdgeKind, Link, LinkTarget},
};
use serde_json::{Value, json};

use crate::{
    import_formats::{find, nodes, path, verify},
    support::store::Scene,
};

fn import_text(actor: &Actor, name: &str, text: &str) -> Imported {
    interchange::import(actor, None, name, &mut text.as_bytes(), &mut |_| {}).unwrap()
}

fn import_path(actor: &Actor, path: &Path) -> Imported {
    interchange::import_path(actor, ImportOptions::default(), path, &mut |_| {}, &AtomicBool::new(false)).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Links to a tree from another one.
fn links_to(actor: &Actor, to: TreeId, from: TreeId) -> Vec<Link> {
    let snapshot = actor.loom().snapshot().unwrap();
    let all = nodes(actor, from);
    let links = all.iter().flat_map(|node| snapshot.links(node.id).unwrap());
    links.filter(|link| link.target == LinkTarget::Tree(to)).collect()
}

fn pyloom(first: &str, second: &str) -> String {
    json!({"root": {"text": first, "children": [{"text": second, "children": []}]}}).to_string()
}

#[test]
fn a_file_is_known_by_any_spelling_of_its_path() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name).join("tree.json"));
    write(&one, &pyloom("It rained.", " It stopped."));
    write(&two, &pyloom("It snowed.", " It thawed."));
    let first = import_path(&owner, &one);
    for spelling in ["one/./tree.json", "two/../one/tree.json"] {
        let again = import_path(&owner, &folder.path().join(spelling));
        assert_eq!((again.nodes, &again.trees), (0, &first.trees), "{spelling}");
    }
    let other = import_path(&owner, &two);
    assert_eq!((other.versions, other.nodes, other.trees == first.trees), (0, 3, false), "{other:?}");

    // An earlier version knew files by their paths as typed. Another file of that name is none of them.
    let typed = folder.path().join("one/../one/old.json");
    let old = pyloom("An old tree.", " An old leaf.");
    let before = import_text(&owner, typed.to_str().unwrap(), &old);
    write(&typed, &old);
    let again = import_path(&owner, &typed);
    assert_eq!((again.nodes, again.trees), (0, before.trees.clone()));
    write(&typed, &pyloom("A new tree.", " A new leaf."));
    let new = import_path(&owner, &typed);
    assert_eq!((new.versions, new.nodes, new.trees == before.trees), (0, 3, false), "{new:?}");
    verify(&owner);
}

/// Standard input and uploads have names that say little.
#[test]
fn texts_of_one_name_are_two_trees() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let [rain, snow] = [pyloom("It rained.", " It stopped."), pyloom("It snowed.", " It thawed.")];
    let first = import_text(&owner, "-", &rain);
    assert_ne!(import_text(&owner, "-", &snow).trees, first.trees);
    assert_eq!(import_text(&owner, "-", &rain).nodes, 0);

    let note = |nodes: &[(&str, Value, &str)]| {
        let node = |(id, parent, text): &(&str, Value, &str)| {
            ((*id).to_owned(), json!({"text": text, "parentId": parent, "collapsed": false}))
        };
        let nodes: serde_json::Map<String, Value> = nodes.iter().map(node).collect();
        json!({"state": {"Untitled.md": {"current": null, "nodes": nodes}}}).to_string()
    };
    let mut texts = vec![("n2", json!(null), "One vault."), ("n3", json!("n2"), " Its leaf.")];
    let vault = import_text(&owner, "data.json", &note(&texts));
    let other = import_text(&owner, "data.json", &note(&[("m1", json!(null), "Another vault.")]));
    assert_ne!(vault.trees, other.trees);
    // A root that is added before the known one changes nothing.
    texts.insert(0, ("n1", json!(null), "Another beginning."));
    let grown = import_text(&owner, "data.json", &note(&texts));
    assert_eq!((grown.nodes, &grown.trees), (1, &vault.trees), "{grown:?}");
    assert_eq!(owner.loom().tree(vault.trees[0]).unwrap().title, "Untitled");
    verify(&owner);
}

/// The part of a file that the detection reads may end in a long message.
#[test]
fn a_format_is_detected_before_a_long_message() {
    let long = "long, \"quoted\" words ".repeat(10_000);
    let head = |text: &str| {
        let most = usize::try_from(interchange::DETECTED_BYTES).unwrap();
        interchange::detect(&text.as_bytes()[..most.min(text.len())])
    };
    let message = json!({"role": "user", "content": long});
    let mode = json!({"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"});
    let other = json!({"type": "of a later version"});
    let user = format!(r#"{{"uuid":"u","type":"user","message":{message}}}"#);
    let side = format!(r#"{{"parentUuid":null,"isSidechain":true,"type":"user","message":{message},"uuid":"u"}}"#);
    for text in [format!("{mode}\n{{\"message\":{message},"), format!("{other}\n{user}\n"), side] {
        assert_eq!(head(&text), Some(Format::ClaudeCode), "{}", &text[..80]);
    }
    let web_ui = format!(
        r#"[{{"id":"c","chat":{{"history":{{"messages":{{"a":{{"id":"a","parentId":null,"childrenIds":[],"content":{}}}}},"currentId":"a"}}}}}}]"#,
        message["content"]
    );
    assert_eq!(head(&web_ui), Some(Format::OpenWebUi));
    let llama = |content: &str| {
        json!([{"conv": {"id": "c", "currNode": "u"}, "messages": [
            {"id": "r", "convId": "c", "type": "root", "role": "system", "content": "", "parent": null, "children": ["u"]},
            {"id": "u", "convId": "c", "type": "text", "role": "user", "content": content, "parent": "r", "children": []},
        ]}])
    };
    for value in [llama("Hi."), llama(&long)] {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            assert_eq!(head(&text), Some(Format::LlamaApp), "{}", &text[..80]);
        }
    }
    // A value is no key.
    assert_eq!(head(r#"{"kind": "root", "form": "text", "children": []}"#), None);
}

#[test]
fn a_side_conversation_before_its_parent_is_linked_once() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload});
    let said = line(
        "response_item",
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}),
    );
    let spawn = json!({"parent_thread_id": "cx-1", "spawn_call_id": "call-1"});
    let side = format!(
        "{}\n{said}\n",
        line("session_meta", json!({"id": "cx-2", "source": {"subagent": {"thread_spawn": spawn}}}))
    );
    let main = format!("{}\n{said}\n", line("session_meta", json!({"id": "cx-1"})));
    let child = import_text(&owner, "side.jsonl", &side).trees[0];
    let parent = import_text(&owner, "main.jsonl", &main).trees[0];
    assert_eq!(links_to(&owner, child, parent).len(), 0);
    for _ in 0..2 {
        let again = import_text(&owner, "side.jsonl", &side);
        assert_eq!((again.nodes, again.problems.len()), (0, 0), "{again:?}");
        assert_eq!(links_to(&owner, child, parent).len(), 1);
    }

    // In one database, too.
    let database = scene.path.with_file_name("opencode.db");
    let script = "CREATE TABLE session (id TEXT, directory TEXT, title TEXT, parent_id TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
        INSERT INTO session VALUES ('side', '/w', 'A helper', 'main', 1), ('main', '/w', 'A task', NULL, 2);
        INSERT INTO message VALUES ('m1', 'side', 1, '{\"role\":\"user\"}'), ('m2', 'main', 2, '{\"role\":\"user\"}');
        INSERT INTO part VALUES ('p1', 'm1', 'side', '{\"type\":\"text\",\"text\":\"Help.\"}'),
            ('p2', 'm2', 'main', '{\"type\":\"text\",\"text\":\"Do it.\"}');";
    rusqlite::Connection::open(&database).unwrap().execute_batch(script).unwrap();
    let done = import_path(&owner, &database);
    let [side, main] = ["A helper", "A task"].map(|title| owner.loom().find_tree(title).unwrap().id);
    assert_eq!(links_to(&owner, side, main).len(), 1, "{done:?}");
    assert_eq!(import_path(&owner, &database).nodes, 0);
    assert_eq!(links_to(&owner, side, main).len(), 1);
    verify(&owner);
}

#[test]
fn blocks_of_librechat_are_texts_and_results() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let call = json!({"id": "c1", "name": "read", "args": "{\"p\":1}", "type": "tool_call", "output": "a zebra"});
    let content = json!([{"type": "tool_call", "tool_call": call}, {"type": "text", "text": {"value": "It is.", "annotations": []}}]);
    let chat = json!({"conversationId": "lc", "title": "File", "messages": [
        {"messageId": "a", "conversationId": "lc", "isCreatedByUser": true, "text": "Is it a zebra?"},
        {"messageId": "b", "parentMessageId": "a", "model": "gpt-5", "content": content},
        {"messageId": "c", "parentMessageId": "b", "isCreatedByUser": true, "text": "Thanks."},
    ]});
    let done = import_text(&owner, "chat.json", &chat.to_string());
    assert_eq!((done.messages, done.problems.len()), (4, 0), "{done:?}");
    let all = nodes(&owner, done.trees[0]);
    let (answer, result) = (find(&all, "It is."), find(&all, "a zebra"));
    assert_eq!(
        (result.kind, result.parent, result.tool.call_id.as_deref()),
        (EdgeKind::Tool, Some(answer.id), Some("c1"))
    );
    assert_eq!(result.tool.name.as_deref(), Some("read"));
    let calls = answer.tool.calls.as_ref().unwrap().value().unwrap();
    assert_eq!(calls, json!([{"id": "c1", "name": "read", "arguments": "{\"p\":1}"}]));
    assert_eq!(path(&owner, find(&all, "Thanks.")), ["Is it a zebra?", "It is.", "Thanks."]);
}

#[test]
fn parts_of_opencode_that_are_no_text_are_kept() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let folder = scene.path.with_file_name("storage");
    let state = json!({"status": "completed", "input": {"f": 1}, "output": "read", "title": "notes.txt", "time": {"end": 2},
        "attachments": [{"mime": "image/png", "url": "data:image/png;base64,AAAA"}]});
    let files = [
        ("session/p/s.json", json!({"id": "s", "directory": "/w", "title": "Parts", "time": {"created": 1}})),
        ("message/s/m1.json", json!({"id": "m1", "role": "user", "time": {"created": 1}})),
        ("message/s/m2.json", json!({"id": "m2", "role": "assistant", "modelID": "m", "time": {"created": 2}})),
        ("message/s/m3.json", json!({"id": "m3", "role": "user", "time": {"created": 3}})),
        ("part/m1/a.json", json!({"id": "a", "type": "text", "text": "Explain @notes.txt"})),
        ("part/m1/b.json", json!({"id": "b", "type": "text", "synthetic": true, "text": "the words of the file"})),
        (
            "part/m1/c.json",
            json!({"id": "c", "type": "file", "filename": "notes.txt", "url": "data:text/plain;base64,WA=="}),
        ),
        ("part/m2/d.json", json!({"id": "d", "type": "tool", "callID": "k", "tool": "read", "state": state})),
        ("part/m2/e.json", json!({"id": "e", "type": "text", "text": "Fine."})),
        ("part/m3/f.json", json!({"id": "f", "type": "subtask", "prompt": "Look for more.", "agent": "x"})),
    ];
    for (name, value) in files {
        write(&folder.join(name), &value.to_string());
    }
    let done = import_path(&owner, &folder);
    assert_eq!((done.messages, done.other, done.problems.len(), done.left_out.len()), (4, 1, 0, 0), "{done:?}");
    let all = nodes(&owner, done.trees[0]);
    let (asked, note, result) =
        (find(&all, "Explain @notes.txt\n[notes.txt]"), find(&all, "the words of the file"), find(&all, "read"));
    assert!(asked.author_type == AuthorType::Human && asked.raw.as_ref().unwrap().contains("base64,WA=="));
    assert_eq!((note.kind, note.parent), (EdgeKind::Context, Some(asked.id)));
    let metadata = result.metadata.as_ref().unwrap().as_str();
    assert!(
        metadata.contains("base64,AAAA") && metadata.contains("\"title\"") && !metadata.contains("\"output\""),
        "{metadata}"
    );
    assert_eq!(
        path(&owner, find(&all, "Look for more.")),
        ["Explain @notes.txt\n[notes.txt]", "Fine.", "Look for more."]
    );
    assert_eq!(import_path(&owner, &folder).nodes, 0);
}

/// A chain of nodes without messages is passed by in one walk, a circle of them is left.
#[test]
fn a_long_chain_without_messages_is_read_in_time() {
    const NODES: usize = 30_000;
    let scene = Scene::new(1);
    let owner = scene.owner();
    let message = |id: &str, text: &str| json!({"id": id, "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}});
    let mut mapping = serde_json::Map::new();
    mapping.insert("first".to_owned(), json!({"parent": null, "message": message("first", "The first.")}));
    for number in 0..NODES {
        let parent = if number == 0 { "first".to_owned() } else { format!("n{}", number - 1) };
        mapping.insert(format!("n{number}"), json!({ "parent": parent, "message": null }));
    }
    mapping.insert(
        "last".to_owned(),
        json!({"parent": format!("n{}", NODES - 1), "message": message("last", "The last.")}),
    );
    for (id, parent) in [("x", "y"), ("y", "x")] {
        mapping.insert(id.to_owned(), json!({ "parent": parent }));
    }
    mapping.insert("lost".to_owned(), json!({"parent": "x", "message": message("lost", "Lost.")}));
    let chat = json!([{"conversation_id": "c", "title": "Long", "current_node": "last", "mapping": mapping}]);
    let done = import_text(&owner, "conversations.json", &chat.to_string());
    assert_eq!((done.messages, done.problems.len()), (3, 0), "{:?}", done.problems);
    let all = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&all, "The last.")), ["The first.", "The last."]);
    assert_eq!(path(&owner, find(&all, "Lost.")), ["Lost."]);
}
