//! Runs one turn of an agent that issues commands and calls a tool of this program: `cargo run --example agent_with_tool`.
//! The model is scripted; `provider::open` opens a real one.

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use loomtree::{
    ops::TreeDraft,
    provider::{Model, Scripted, ScriptedReply},
    session::{self, GenerateRequest, HostTools, Progress, ToolAccess},
    tools::HostTool,
    types::Permission,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let loom = session::open(folder.path().join("trees.db"))?;
    let owner = loom.actor(&loom.agent("owner")?);
    let (_, root) = owner.create_tree(TreeDraft::new("Will it rain in Brest?"))?;

    // A host tool: name, JSON schema of its arguments, required permission, handler.
    let weather = HostTool {
        name: "weather".to_owned(),
        description: "Returns the weather of a city.".to_owned(),
        parameters: serde_json::json!({
            "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
        }),
        permission: Permission::LoomAware,
        only_confirms: false,
    };
    let look = |asked: serde_json::Value| -> session::BoxFuture<'static, _> {
        Box::pin(async move { Ok(format!("Rain in {}.", asked["city"].as_str().unwrap_or("the world"))) })
    };
    let tools = HostTools::default().with(weather, Box::new(look))?;

    let replies = ["I look.\n→ weather city:\"Brest\"\n→ annotate \"asked for the weather\"", "It will."];
    let model: Arc<dyn Model> = Arc::new(Scripted::new(replies.map(ScriptedReply::words)));
    let commands = ToolAccess::new(Arc::new(Arc::clone(&model))).tools(Arc::new(tools));
    let collaborator = loom.agent("collaborator")?;
    let actor = session::actor_at(&loom, &collaborator, "example", root.id)?;
    let mut turn = session::spawn(actor, GenerateRequest::turn(root.id, collaborator, model, commands));
    while let Some(event) = turn.next().await {
        match event {
            Progress::Text { text, .. } => print!("{text}"),
            Progress::Ran { line, reply, .. } => println!("  {line}\n  {reply}"),
            Progress::Saved { node, .. } => println!("\n[{}]", node.local),
            _ => {}
        }
    }
    assert_eq!(turn.end().await?.len(), 2); // each round is a node; the results are side children of the first
    Ok(())
}
