//! Opens a tree and streams three continuations of its first node: `cargo run --example quickstart`.

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use loomtree::prelude::*;

#[tokio::main]
async fn main() -> loomtree::Result<()> {
    let folder = tempfile::tempdir()?;
    let loom = session::open(folder.path().join("trees.db"))?;
    let owner = loom.actor(&loom.agent("owner")?);
    let (_, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
    let model = Arc::new(Scripted::named("words")?);
    let request = GenerateRequest::new(root.id, loom.agent("subject")?, model, 3);
    let nodes = generate(&owner, request, |progress| {
        if let Progress::Text { index, text } = progress {
            println!("{index}: {text}");
        }
    })
    .await?;
    assert_eq!(nodes.len(), 3); // each is saved as a node under the root
    Ok(())
}
