//! Three dispatches of one work item: each continues the conversation of the item, so the agent builds on what it found
//! before. Run it with `cargo run --example work_item`. The model is scripted; `provider::open` opens a real one.

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use loomtree::{
    ops::{Loom, NodeDraft, SessionDraft},
    provider::{Model, Scripted, ScriptedReply},
    session::{self, GenerateRequest},
    types::WorkItem,
};

const SYSTEM: &str = "You find the causes of bugs. Say what you know, and what you look at next.";

/// Replies of the model, one a dispatch.
const REPLIES: [&str; 3] = [
    "ProcessOrder() starts a thread for each order. I look for its end next.",
    "No thread ends when its order is cancelled. I look for other callers next.",
    "The cause: ProcessOrder() never stops the threads of cancelled orders. It needs a cancellation token.",
];

/// Sends a message to the conversation of a work item, and returns the agent's answer.
async fn dispatch(loom: &Loom, model: Arc<dyn Model>, text: &str) -> loomtree::Result<String> {
    let item = WorkItem { project: "shop".to_owned(), external_ref: "SHOP-7".to_owned() };
    let agent = loom.agent("subject")?;
    // The first dispatch starts the session; those after it find it, until it expires.
    let session = loom.actor(&agent).session_for_item(&item, SYSTEM, SessionDraft::of("/shop"))?;
    let asked = loom.actor(&loom.agent("owner")?).send_to(session.id, NodeDraft::text(text))?.nodes[0].id;
    let actor = loom.actor(&agent).in_session(session.id);
    let nodes = session::generate(&actor, GenerateRequest::new(asked, agent, model, 1), |_| {}).await?;
    Ok(nodes.into_iter().map(|node| node.content).collect())
}

/// Investigates a bug in three dispatches. Returns the prompt of each.
pub(crate) async fn investigate() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let loom = session::open(folder.path().join("trees.db"))?;
    let model = Arc::new(Scripted::new(REPLIES.map(ScriptedReply::words)));
    for text in ["Orders leak memory. Investigate.", "Continue the investigation.", "What is the cause?"] {
        let answer = dispatch(&loom, model.clone(), text).await?;
        println!("> {text}\n{answer}\n");
    }
    Ok(model.requests().iter().map(|request| format!("{:?}", request.prompt)).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prompts = investigate().await?;
    assert!(prompts[2].contains(REPLIES[0]) && prompts[2].contains(REPLIES[1]));
    Ok(())
}
