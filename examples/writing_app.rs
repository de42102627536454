//! The core of a writing application: awaited operations, a live view of changes, one undo for several operations,
//! continuations by a model, search, and the text as prose: `cargo run --example writing_app`.

#![allow(clippy::print_stdout)] // an example shows what it does

use std::sync::Arc;

use loomtree::{interchange::export::markdown, prelude::*, recall::Scope};

#[tokio::main]
async fn main() -> loomtree::Result<()> {
    let folder = tempfile::tempdir()?;
    let loom = session::open(folder.path().join("novel.db"))?;
    let writer = loom.actor(&loom.agent("owner")?);

    // Every operation and every read can be awaited.
    let draft = TreeDraft::new("The storm came at night.").title("The wreck").mode(Mode::Buffer);
    let (tree, root) = writer.run(|writer| writer.create_tree(draft)).await?;

    // The view follows the changes of every process that writes the file.
    let mut changes = loom.changes(loom.snapshot()?.last_seq()?);
    let view = tokio::spawn(async move {
        while let Some(Ok(change)) = changes.next().await {
            println!("change {}: {}", change.seq, change.op);
        }
    });

    // All operations of a transaction are committed or none, and one undo reverts them.
    let step = move |writer: &Actor| {
        let scene = writer.append(root.id, " A ship ran aground.")?.nodes[0].id;
        writer.bookmark(scene, "chapter 1")?;
        writer.annotate(scene, "name the ship")?;
        Ok(scene)
    };
    let scene = writer.run(move |writer| writer.transaction(step)).await?;
    writer.run(move |writer| writer.undo(Some(tree.id))).await?;
    writer.run(move |writer| writer.redo(Some(tree.id))).await?;

    // Each continuation streams and is saved as a branch.
    let model = Arc::new(Scripted::named("words")?);
    let request = GenerateRequest::new(scene, loom.agent("subject")?, model, 3);
    let branches = generate(&writer, request, |progress| {
        if let Progress::Text { index, text } = progress {
            println!("branch {index}:{text}");
        }
    })
    .await?;

    let chosen = branches[0].id;
    let query = recall::Query::new("ship", Scope::Tree(tree.id));
    let (hits, prose) = loom
        .run(move |loom| -> loomtree::Result<_> {
            let hits = recall::search(&*loom.snapshot()?, &query)?.hits;
            Ok((hits, markdown::prose(&loom.path(chosen)?, tree.mode)))
        })
        .await?;
    println!("{} passages with a ship\n{prose}", hits.len());
    view.abort();
    Ok(())
}
