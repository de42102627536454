//! The index of words: made by short-lived processes, read past, and emptied by purges.

use loomtree::{
    ops::{NodeDraft, TreeDraft},
    recall::{Query, Scope, search},
    store::{Location, Mutation, PurgeTarget},
    types::{Op, Parent},
};

use super::{append_all, cluster, on_server};
use crate::support::{postgres::Cluster, store::Scene};

fn count(cluster: &Cluster, scene: &Scene, sql: &str) -> i64 {
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    cluster.sql(url.split(['/', '?']).nth(3).unwrap(), sql).unwrap().trim().parse().unwrap()
}

/// Words that no other text contains, and that PostgreSQL cannot compress.
fn noise(seed: u64, words: u64) -> String {
    let word = |number: u64| blake3::hash(&(seed * 100_000 + number).to_le_bytes()).to_hex()[..12].to_owned();
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn processes_that_write_a_few_messages_each_index_them() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 51);
    let (_, root) = scene.owner().create_tree(TreeDraft::new("Short")).unwrap();
    let indexed = || count(cluster, &scene, "SELECT nodes FROM search_state");
    for seed in 0..3 {
        assert_eq!(indexed(), 0);
        append_all(&scene.again(60 + seed).owner(), root.id, 100);
    }
    assert!(indexed() >= 256, "{}", indexed());
}

#[test]
fn a_search_in_a_tree_reads_no_text_of_others_that_waits_for_the_index() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 52);
    // Blocks of long texts; a connection reports its statistics when it ends.
    let read_blocks = || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let sql = "SELECT toast_blks_read + toast_blks_hit FROM pg_statio_user_tables WHERE relname = 'nodes'";
        count(cluster, &scene, sql)
    };
    let owner = scene.owner();
    let [(_, root), (other, other_root)] =
        ["Long", "Short"].map(|title| owner.create_tree(TreeDraft::new(title)).unwrap());
    let append =
        |parent, text: String| Mutation::Append(Box::new(owner.draft(Parent::Node(parent), NodeDraft::text(text))));
    owner.commit(Op::Append, (0..5).map(|seed| append(root.id, noise(seed, 900))).collect()).unwrap();
    // More than a page.
    owner.commit(Op::Append, (0..1_200).map(|number| append(root.id, format!("number {number}"))).collect()).unwrap();
    owner.commit(Op::Append, vec![append(other_root.id, "a lantern".to_owned())]).unwrap();
    drop(owner);
    scene.execute("DELETE FROM words; DELETE FROM passages");
    scene.execute("UPDATE search_state SET indexed = 0, nodes = 0, passages = 0, words = 0");
    let hits = |text: &str, scope| {
        let reader = scene.again(53).owner();
        let found = search(&*reader.loom().snapshot().unwrap(), &Query::new(text, scope)).unwrap();
        found.hits.iter().map(|hit| hit.node.content.clone()).collect::<Vec<_>>()
    };
    let before = read_blocks();
    assert_eq!(hits("lantern", Scope::Tree(other.id)), ["a lantern"]);
    assert_eq!(read_blocks(), before);
    assert_eq!(hits("1199", Scope::Everything), ["number 1199"]);
    assert!(read_blocks() > before);
}

#[test]
fn a_purge_removes_many_nodes_from_the_index_at_once() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 54);
    let owner = scene.owner();
    let [(tree, root), (_, other)] =
        ["A secret", "Other"].map(|title| owner.create_tree(TreeDraft::new(title)).unwrap());
    let texts = (0..600).map(|number| {
        let parent = if number % 3 == 0 { other.id } else { root.id };
        let text = format!("a lantern {number} and {}", noise(number, 5));
        Mutation::Append(Box::new(owner.draft(Parent::Node(parent), text.into())))
    });
    owner.commit(Op::Append, texts.collect()).unwrap();
    owner.loom().store().rebuild().unwrap();
    let updates = "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'search_state'";
    let indexed = count(cluster, &scene, "SELECT count(*) FROM words");
    owner.purge(PurgeTarget::Tree(tree.id)).unwrap();
    for (number, hits) in [(1, 0), (3, 1)] {
        let snapshot = owner.loom().snapshot().unwrap();
        let found = search(&*snapshot, &Query::new(noise(number, 1), Scope::Everything)).unwrap();
        assert_eq!(found.hits.len(), hits);
    }
    let left = count(cluster, &scene, "SELECT count(*) FROM words");
    assert!(left < indexed / 2 && left > indexed / 4, "{left} of {indexed}");
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    drop(owner);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let updates = count(cluster, &scene, updates);
    assert!(updates < 20, "{updates} updates of the index's figures");
}
