//! The longest wait of another writer beside changes of a large branch: `cargo bench --bench waits`. `-- --nodes N` sets the
//! length of the branch, a chain. The other writer has a connection of its own, as another process has.
// A benchmark prints its table, panics on errors, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, PurgeTarget},
    types::{Op, Parent},
};

/// Appends a chain of short messages and returns its first node.
fn chain(owner: &Actor, root: NodeId, nodes: usize) -> NodeId {
    let (mut first, mut tip) = (None, root);
    for start in (0..nodes).step_by(1_000) {
        let mut batch = Vec::new();
        for number in start..nodes.min(start + 1_000) {
            let text = format!("message {number} of a long branch");
            let node = owner.draft(Parent::Node(tip), NodeDraft::text(text).keep_position(true));
            tip = node.id;
            first = first.or(Some(tip));
            batch.push(Mutation::Append(Box::new(node)));
        }
        owner.commit(Op::Import, batch).unwrap();
    }
    first.unwrap()
}

/// Runs `change` while `other` appends, and prints the duration and the waits of the other writer.
fn measure(what: &str, (other, at): (&Actor, NodeId), change: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let (took, mut waits) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut waits = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                other.append(Parent::Node(at), NodeDraft::text("beside").keep_position(true)).unwrap();
                waits.push(start.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            waits
        });
        let start = Instant::now();
        change();
        let took = start.elapsed();
        // Marks are replaced after the receipt.
        std::thread::sleep(Duration::from_millis(500));
        done.store(true, Ordering::Relaxed);
        (took, writer.join().unwrap())
    });
    waits.sort_unstable();
    let at = |share: usize| waits[(waits.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "| {what:<16} | {:>8.2} s | {:>6} | {:>8.1} ms | {:>8.1} ms | {:>8.1} ms |",
        took.as_secs_f64(),
        waits.len(),
        at(50),
        at(99),
        at(100)
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let given = arguments.iter().position(|word| word == "--nodes").and_then(|at| arguments.get(at + 1));
    let nodes = given.map_or(100_000, |number| number.parse().unwrap());
    // A disk: most of a wait is the sync of a commit.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loom.db");
    let waits = |options: loomtree::store::OpenOptions| options.wait(Duration::from_secs(600));
    let (owner, beside) = (common::owner_of(&path, 1, waits), common::owner_of(&path, 2, waits));
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let (_, target) = owner.create_tree(TreeDraft::new("target")).unwrap();
    let from = chain(&owner, root.id, nodes);
    let other = (&beside, target.id);
    println!("| {nodes} nodes     |       took | writes |      median |         99 % |     longest |");
    measure("nothing", other, || std::thread::sleep(Duration::from_secs(1)));
    measure("copy", other, || drop(owner.copy_branch(from, root.id).unwrap()));
    measure("undo of the copy", other, || drop(owner.undo(Some(tree.id)).unwrap()));
    measure("move", other, || drop(owner.move_branch(from, target.id).unwrap()));
    measure("undo of the move", other, || drop(owner.undo(Some(tree.id)).unwrap()));
    measure("prune", other, || drop(owner.prune(from).unwrap()));
    measure("restore", other, || drop(owner.restore(from).unwrap()));
    measure("purge", other, || drop(owner.purge(PurgeTarget::Tree(tree.id)).unwrap()));
}
