//! Arrow commands as tool calls of the archive: stored with the reply, in the views, in recall and in exports.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[allow(dead_code)] // not all of it is needed here
use crate::support::sample_tree as play;

use std::sync::Arc;

use loomtree::{
    id::NodeId,
    interchange::export::{self, ExportFormat, ExportOptions},
    ops::{Actor, NodeDraft},
    provider::{Scripted, ScriptedReply},
    recall::{self, Query, Scope},
    session::{BoxFuture, GenerateRequest, HostTools, ModelResolver, ToolAccess, actor_at, generate},
    tools::{ErrorCode, HostTool, ToolError},
    types::{Agent, AuthorType, EdgeKind, Json, Parent, Permission, Permissions, ToolCallFields},
};
use play::Play;
use serde_json::{Value, json};

struct NoModels;

impl ModelResolver for NoModels {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn loomtree::provider::Model>, ToolError>> {
        Box::pin(async { Err(ToolError::new(ErrorCode::NotConfigured, "no model is attached")) })
    }
}

/// A tool that writes a file, unless it has the name `locked`.
fn toolbox(only_confirms: bool) -> Arc<HostTools> {
    let text = json!({ "type": "string" });
    let write = HostTool {
        name: "write_file".to_owned(),
        description: "Writes a file.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "path": text, "content": text }, "required": ["path", "content"] }),
        permission: Permission::DocWrite,
        only_confirms,
    };
    let handler = |arguments: Value| -> BoxFuture<'static, Result<String, ToolError>> {
        Box::pin(async move {
            match arguments["path"].as_str() {
                Some("locked") => Err(ToolError::new(ErrorCode::Conflict, "it is locked")),
                Some(path) => Ok(format!("created {path}")),
                None => Ok(String::new()),
            }
        })
    };
    Arc::new(HostTools::default().with(write, Box::new(handler)).unwrap())
}

const REPLY: &str = "I write it.\n→ write_file path:\"notes.txt\" <<<\nA heron\nsleeps.\n>>>\n→ write_file path:\"locked\" \
                     content:\"otter\"\n→ blorb everything\n";

/// Runs a turn of two rounds and returns the agent's actor and the node with the commands.
async fn turn(play: &Play) -> (Actor, NodeId) {
    let held = [Permission::LoomAware, Permission::DocRead, Permission::DocWrite];
    let permissions: Permissions = held.into_iter().collect();
    play.agent("scribe", permissions);
    let asked = play.owner.append(Parent::Node(play.nine), NodeDraft::text("Write it down.")).unwrap().nodes[0].id;
    let agent = play.loom.agent("scribe").unwrap();
    let actor = actor_at(&play.loom, &agent, "/work", asked).unwrap();
    let model = Arc::new(Scripted::new([REPLY, "Done."].map(ScriptedReply::words)));
    let commands = ToolAccess::new(Arc::new(NoModels)).tools(toolbox(true));
    let nodes = generate(&actor, GenerateRequest::turn(asked, agent, model, commands), |_| {}).await.unwrap();
    (actor, nodes[0].id)
}

/// Rows of `conversation_turns` of a role: calls or the id of the call, the tool and the content.
fn rows(play: &Play, role: &str) -> Vec<(Option<String>, Option<String>, Option<String>)> {
    let conn = rusqlite::Connection::open(&play.scene.path).unwrap();
    let sql = "SELECT coalesce(tool_calls, tool_call_id), tool_name, content FROM conversation_turns WHERE role = ?1 ORDER BY id";
    let mut statement = conn.prepare(sql).unwrap();
    statement.query_map([role], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).unwrap().map(Result::unwrap).collect()
}

fn found(play: &Play, text: &str) -> Vec<NodeId> {
    let query = Query::new(text, Scope::Tree(play.tree));
    recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap().hits.iter().map(|hit| hit.node.id).collect()
}

fn messages(play: &Play) -> Vec<Value> {
    let mut out = Vec::new();
    let options = ExportOptions::default();
    export::write(&*play.loom.snapshot().unwrap(), play.tree, ExportFormat::OpenAiChat, options, &mut out).unwrap();
    let lines = String::from_utf8(out).unwrap();
    let of_turn = |line: &&str| line.contains("Write it down.");
    let conversation: Value = serde_json::from_str(lines.lines().find(of_turn).unwrap()).unwrap();
    conversation["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_arrow_command_is_a_call_with_id_arguments_line_and_outcome() {
    let play = Play::new();
    let (actor, reply) = turn(&play).await;
    let stored = play.loom.node(reply).unwrap().tool.calls.unwrap();
    let calls: Vec<Value> = serde_json::from_str(stored.as_str()).unwrap();
    assert_eq!(calls.len(), 3);
    let arguments: Value = serde_json::from_str(calls[0]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "path": "notes.txt", "content": "A heron\nsleeps." }));
    assert_eq!(calls[0]["line"], "→ write_file path:\"notes.txt\" <<<\nA heron\nsleeps.\n>>>");
    assert_eq!((&calls[1]["name"], &calls[2]["name"]), (&json!("write_file"), &Value::Null));

    // The views of a file have the same calls, and each result names its own.
    let ids: Vec<&str> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    if play.scene.location.file().is_some() {
        let replies = rows(&play, "assistant");
        assert!(replies.iter().any(|(calls, ..)| calls.as_deref() == Some(stored.as_str())), "{replies:?}");
        let results = rows(&play, "tool");
        assert_eq!(results.iter().map(|(id, ..)| id.as_deref().unwrap()).collect::<Vec<_>>(), ids);
        assert!(results[0].2.as_deref().unwrap().starts_with("✓ write_file"), "{results:?}");
        assert!(results[1].2.as_deref().unwrap().starts_with("✗ CONFLICT"), "{results:?}");
    }

    // Recall finds the words of the arguments and shows calls with their outcome.
    assert_eq!(found(&play, "heron"), [reply]);
    let mut runner = play.runner("scribe", actor.session().unwrap());
    let said = runner.run_batch(vec![loomtree::exec::read("→ recall tool:write_file")])[0].to_string();
    assert!(said.contains("tool write_file(content=\"otter\", path=\"locked\")"), "{said}");
    assert!(said.contains("· failed:"), "{said}");
    let said = runner.run_batch(vec![loomtree::exec::read("→ recall search \"heron\"")])[0].to_string();
    assert!(said.contains("calls write_file path:\"notes.txt\"") && said.contains("heron"), "{said}");

    // An export pairs calls and results; a line that is no command is none of them.
    let messages = messages(&play);
    let calling = messages.iter().find(|message| message["content"] == "I write it.").unwrap();
    assert_eq!(calling["tool_calls"].as_array().unwrap().len(), 2, "{calling}");
    assert_eq!(calling["tool_calls"][0]["function"]["name"], "write_file");
    let answers: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!((answers.len(), answers[0]["tool_call_id"].as_str()), (2, Some(ids[0])));
    assert_eq!(play.loom.store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
}

#[test]
fn a_question_is_not_found_by_the_next_question() {
    let play = Play::new();
    let calls = r#"[{"id":"c1","name":"recall","arguments":"{\"search\":\"heron\"}","line":"→ recall \"heron\""}]"#;
    let tool = ToolCallFields { calls: Some(Json::parse(calls).unwrap()), ..ToolCallFields::default() };
    let asks = NodeDraft::text("Let me look.").tool(tool).author_type(AuthorType::Model);
    play.owner.append(Parent::Node(play.nine), asks).unwrap();
    assert_eq!(found(&play, "heron"), []);
}

#[test]
fn commands_of_an_older_file_are_calls_in_every_view() {
    let play = Play::new();
    let Some(_) = play.scene.location.file() else { return };
    let session = play.session("owner", play.nine);
    let actor = play.owner.clone().in_session(session);
    let asked = actor.append(Parent::Node(play.nine), NodeDraft::text("Write it down.")).unwrap().nodes[0].id;
    // Programs before version 20 stored a command with its result only.
    let mut reply = NodeDraft::text("I write it.").author_type(AuthorType::Model);
    reply.raw = Some("I write it.\n→ write_file path:\"notes.txt\" content:\"A heron\"".to_owned());
    let reply = actor.append(Parent::Node(asked), reply).unwrap().nodes[0].id;
    let command = json!({
        "command": "→ write_file path:\"notes.txt\" content:\"A heron\"",
        "arguments": { "path": "notes.txt", "content": "A heron" },
    });
    let result = NodeDraft::text("✓ write_file\n  created notes.txt")
        .kind(EdgeKind::Tool)
        .author_type(AuthorType::Tool)
        .keep_position(true)
        .tool(ToolCallFields { name: Some("write_file".to_owned()), ..ToolCallFields::default() })
        .metadata(Some(Json::from(command)));
    let result = actor.append(Parent::Node(reply), result).unwrap().nodes[0].id;

    let id = format!("call_{}", play.loom.node(result).unwrap().local);
    let replies = rows(&play, "assistant");
    let calls: Value = serde_json::from_str(replies.last().unwrap().0.as_deref().unwrap()).unwrap();
    let arguments: Value = serde_json::from_str(calls[0]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!((&calls[0]["id"], &calls[0]["name"]), (&json!(id), &json!("write_file")));
    assert_eq!(arguments, json!({ "path": "notes.txt", "content": "A heron" }));
    assert_eq!(calls[0]["line"], "→ write_file path:\"notes.txt\" content:\"A heron\"");
    assert_eq!(rows(&play, "tool")[0].0.as_deref(), Some(id.as_str()));

    let mut runner = play.runner("owner", session);
    let said = runner.run_batch(vec![loomtree::exec::read("→ recall tool:write_file")])[0].to_string();
    assert!(said.contains("write_file(content=\"A heron\", path=\"notes.txt\")"), "{said}");
    let messages = messages(&play);
    let calling = messages.iter().find(|message| message["content"] == "I write it.").unwrap();
    assert_eq!(calling["tool_calls"][0]["id"], json!(id));
    assert!(messages.iter().any(|message| message["tool_call_id"] == json!(id)), "{messages:?}");

    // A file whose index was made without the words of commands is indexed anew when it is migrated.
    drop((runner, actor, play.owner, play.loom));
    let (scene, tree) = (play.scene, play.tree);
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    conn.execute_batch(
        "INSERT INTO recall_words (recall_words) VALUES ('delete-all');
         UPDATE recall_state SET indexed = (SELECT max(seq) FROM nodes)",
    )
    .unwrap();
    drop(conn);
    crate::support::store::downgrade(&scene.path, 19);
    let loom = scene.owner().loom().clone();
    let hits = recall::search(&*loom.snapshot().unwrap(), &Query::new("heron", Scope::Tree(tree))).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>(), [result]);
    assert_eq!(loom.store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn done_below_a_written_file_ends_the_turn() {
    // A failure has to be read, and so has the answer of a tool that says more.
    for (path, only_confirms, requests) in [("notes.txt", true, 1), ("locked", true, 2), ("notes.txt", false, 2)] {
        let play = Play::new();
        play.agent("scribe", [Permission::LoomAware, Permission::DocRead, Permission::DocWrite].into_iter().collect());
        let agent = play.loom.agent("scribe").unwrap();
        let actor = actor_at(&play.loom, &agent, "/work", play.nine).unwrap();
        let reply = format!("It is written.\n→ write_file path:\"{path}\" content:\"a heron\"\n→ done\n");
        let model = Arc::new(Scripted::new([reply.as_str(), "I have read it."].map(ScriptedReply::words)));
        let commands = ToolAccess::new(Arc::new(NoModels)).tools(toolbox(only_confirms));
        let request = GenerateRequest::turn(play.nine, agent, Arc::clone(&model) as _, commands);
        generate(&actor, request, |_| {}).await.unwrap();
        let asked = model.requests();
        assert_eq!(asked.len(), requests, "{path}, {only_confirms}: {:?}", asked.last());
    }
}
