//! Rows that an append leaves out or updates in place.

use loomtree::{
    ops::{Actor, TreeDraft},
    types::{NodeState, Parent},
};

use super::{append, cluster, locks::database, nodes, on_server};

/// The states of all nodes in order.
fn states(owner: &Actor) -> Vec<NodeState> {
    nodes(owner).into_iter().map(|node| node.state).collect()
}

#[test]
fn a_node_with_an_only_child_has_no_row_of_state() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 31);
    let (owner, database) = (scene.owner(), database(&scene));
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut chain = Vec::new();
    for number in 0..6 {
        chain.push(append(&owner, chain.last().copied().unwrap_or(root.id), number).unwrap());
    }
    let rows = || cluster.sql(database, "SELECT string_agg(continuations::text, ',' ORDER BY node) FROM node_state");
    let continuations = || states(&owner).iter().map(|state| state.continuations).collect::<Vec<_>>();
    assert_eq!(rows().unwrap().trim(), "");
    assert_eq!(continuations(), [1, 1, 1, 1, 1, 1, 0]);
    // A mark makes a row with the count; so do a second child and a pruned one.
    owner.bookmark(chain[2], "here").unwrap();
    append(&owner, chain[0], 7).unwrap();
    owner.prune(chain[5]).unwrap();
    assert_eq!(rows().unwrap().trim(), "2,1,0,0");
    assert_eq!(continuations(), [1, 2, 1, 1, 1, 0, 0, 0]);
    // A child below a node that has a row is counted there.
    append(&owner, chain[4], 8).unwrap();
    owner.restore(chain[5]).unwrap();
    assert_eq!(continuations(), [1, 2, 1, 1, 1, 2, 0, 0, 0]);
    // Rows as older versions wrote them change nothing.
    let (before, tip) = (states(&owner), chain[5]);
    let path = owner.loom().snapshot().unwrap().path_back(tip, &[], 0).unwrap();
    let older = "INSERT INTO node_state (tree, node, continuations) SELECT n.tree, n.seq, (
                     SELECT count(*) FROM nodes c WHERE c.tree = n.tree AND c.parent = n.seq) FROM nodes n
                 ON CONFLICT DO NOTHING";
    cluster.sql(database, older).unwrap();
    assert_eq!(states(&owner), before);
    assert_eq!(owner.loom().snapshot().unwrap().path_back(tip, &[], 0).unwrap(), path);
    append(&owner, tip, 9).unwrap();
    assert_eq!(continuations(), [1, 2, 1, 1, 1, 2, 1, 0, 0, 0]);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_turn_writes_no_index_entry_of_its_tree_and_session() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 32);
    let database = database(&scene).to_owned();
    {
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        for _ in 0..30 {
            owner.clone().in_session(session).append(Parent::Position(session), "a rope").unwrap();
        }
    }
    // A connection reports its statistics when it ends.
    drop(scene);
    let sql = "SELECT count(*) FROM pg_stat_user_tables
               WHERE relname IN ('tree_state', 'sessions') AND n_tup_upd >= 30 AND n_tup_hot_upd > n_tup_upd / 2";
    let is_in_place = || cluster.sql(&database, sql).unwrap().trim() == "2";
    assert!((0..100).any(|_| is_in_place() || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        false
    }));
}
