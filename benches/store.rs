//! Single operations of the store, measured by criterion: `cargo bench --bench store`.
// A benchmark prints its table, panics on errors, and divides counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod common;

use criterion::{Criterion, criterion_group, criterion_main};
use loomtree::{
    ops::NodeDraft,
    store::ChildFilter,
    types::{EdgeKind, Parent},
};

fn store(c: &mut Criterion) {
    let folder = common::memory_folder();
    let owner = common::owner(&folder.path().join("loom.db"), 1);
    let (tree, root, tip) = common::grow(&owner, 100_000);
    let text = common::message();
    let mut at = tip;
    c.bench_function("append one message of 500 bytes", |b| {
        b.iter(|| at = owner.append(Parent::Node(at), NodeDraft::text(text.as_str())).unwrap().nodes[0].id);
    });
    let loom = owner.loom();
    let snapshot = loom.snapshot().unwrap();
    c.bench_function("path tail of 100", |b| b.iter(|| snapshot.path_back(tip, &[], 100).unwrap()));
    c.bench_function("path of 10,000", |b| b.iter(|| snapshot.path_back(tip, &[], 10_000).unwrap()));
    let filter = ChildFilter::default().kind(EdgeKind::Continuation);
    c.bench_function("children", |b| b.iter(|| snapshot.children(root, &filter).unwrap()));
    c.bench_function("tree with its counts", |b| b.iter(|| snapshot.tree(tree).unwrap()));
    let local = snapshot.node(tip).unwrap().unwrap().local;
    c.bench_function("resolve a local id", |b| b.iter(|| snapshot.resolve(tree, &local).unwrap()));
}

criterion_group!(benches, store);
criterion_main!(benches);
