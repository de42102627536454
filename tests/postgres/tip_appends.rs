//! Appends below the newest node of a tree, which the writer knows from its own last append, while another server writes.

use std::time::Duration;

use loomtree::{
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft, OpsError, TreeDraft},
    store::{StoreError, TreeFilter},
    types::{AuthorType, Json, Node, Parent},
};

use super::{
    append, append_all, cluster,
    locks::{OtherClient, await_waiter, database, lock_of, uuid},
    nodes, on_server,
};
use crate::support::store::Scene;

/// A session of a server in a tree of three messages, and another server.
struct TwoServers {
    ours: Actor,
    theirs: Actor,
    session: SessionId,
    tip: NodeId,
}

impl TwoServers {
    fn start(scene: &Scene) -> Self {
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("A conversation")).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        let (ours, theirs) = (owner.in_session(session), scene.again(101).owner());
        let mut servers = Self { ours, theirs, session, tip: root.id };
        servers.speak();
        servers.speak();
        servers
    }

    /// Appends at the session's position; returns the new node.
    fn speak(&mut self) -> Node {
        let receipt = self.ours.append(Parent::Position(self.session), NodeDraft::text("a rope")).unwrap();
        self.tip = receipt.nodes[0].id;
        self.node(self.tip)
    }

    fn node(&self, id: NodeId) -> Node {
        self.ours.loom().node(id).unwrap()
    }

    fn verify(&self) {
        assert_eq!(self.theirs.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    }
}

/// Look-ups of nodes by their ids so far. A connection reports them when it is idle or ends.
fn look_ups(scene: &Scene, cluster: &crate::support::postgres::Cluster) -> String {
    std::thread::sleep(Duration::from_millis(1_200));
    let sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'nodes_id'";
    cluster.sql(database(scene), sql).unwrap().trim().to_owned()
}

#[test]
fn a_conversation_goes_on_without_a_look_up_of_its_nodes() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 61);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A conversation")).unwrap();
    let mut tip = append(&owner, root.id, 0).unwrap();
    let before = look_ups(&scene, cluster);
    for number in 0..20 {
        tip = append(&owner, tip, number).unwrap();
    }
    let receipt = owner.append(Parent::Node(tip), NodeDraft::text("a\0b")).unwrap();
    assert_eq!(look_ups(&scene, cluster), before);
    assert_eq!(owner.loom().node(receipt.nodes[0].id).unwrap().content, "a\u{fffd}b");
    append(&owner, root.id, 0).unwrap();
    assert_ne!(look_ups(&scene, cluster), before, "a branch is no continuation of the newest node");
}

#[test]
fn turns_and_envelopes_are_those_of_the_file() {
    let Some(cluster) = cluster() else { return };
    let grown = [Scene::of_file(62), on_server(cluster, 62)].map(|scene| {
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("A conversation")).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        let actor = owner.clone().in_session(session);
        let usage = Json::parse(r#"{"usage":{"prompt":40,"output":2}}"#).unwrap();
        for number in 0..6 {
            let text = format!("message {number}");
            let draft = match number % 3 {
                0 => NodeDraft::text(text),
                1 => NodeDraft::text(text).author_type(Some(AuthorType::Model)).provenance(Some(usage.clone())),
                _ => NodeDraft::text("I must always write tests.").keep_position(number == 5),
            };
            let receipt = actor.append(Parent::Position(session), draft).unwrap();
            assert_eq!(receipt.nodes[0].turn, Some(number + 1));
        }
        assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
        let nodes = nodes(&owner);
        let snapshot = owner.loom().snapshot().unwrap();
        let envelopes: Vec<_> = nodes.iter().map(|node| snapshot.provenance(node.id).unwrap()).collect();
        let (trees, session, state) =
            (snapshot.trees(TreeFilter::default()), snapshot.session(session), snapshot.session_state(session));
        format!("{nodes:#?} {envelopes:?} {trees:#?} {session:#?} {state:?}")
    });
    assert_eq!(grown[0], grown[1]);
}

#[test]
fn what_another_server_wrote_about_the_newest_node_counts() {
    let Some(cluster) = cluster() else { return };
    let mut servers = TwoServers::start(&on_server(cluster, 63));
    // A branch beside the tip, and a message below it.
    let old = servers.tip;
    append_all(&servers.theirs, old, 1);
    let tip = append(&servers.ours, old, 1).unwrap();
    assert_eq!(servers.node(old).state.continuations, 2);
    // A pruned tip is left out of the conversation.
    servers.ours.switch_to(servers.session, tip).unwrap();
    servers.speak();
    servers.theirs.prune(servers.tip).unwrap();
    assert_eq!(servers.speak().parent, Some(tip));
    // A note or a bookmark gives a node a row that counts its children.
    servers.theirs.annotate(servers.tip, "a note").unwrap();
    let noted = servers.tip;
    assert_eq!(servers.speak().parent, Some(noted));
    servers.theirs.bookmark(servers.tip, "here").unwrap();
    let marked = servers.tip;
    assert_eq!(servers.speak().parent, Some(marked));
    assert_eq!(servers.node(marked).state.continuations, 1);
    // A session that stands elsewhere now.
    servers.theirs.switch_to(servers.session, old).unwrap();
    assert_eq!(servers.speak().parent, Some(old));
    servers.verify();
}

#[test]
fn a_lease_and_the_end_of_a_session_by_another_server_refuse_an_append() {
    let Some(cluster) = cluster() else { return };
    let mut servers = TwoServers::start(&on_server(cluster, 64));
    let other = servers.theirs.loom().agent("collaborator").unwrap();
    let reviewer = servers.theirs.loom().actor(&other);
    reviewer.lease(servers.tip, reviewer.agent(), Duration::from_secs(60)).wait().unwrap();
    let refused = servers.ours.append(Parent::Position(servers.session), NodeDraft::text("a rope"));
    assert!(matches!(refused, Err(OpsError::Store(StoreError::Leased { .. }))), "{refused:?}");
    reviewer.release(servers.tip, reviewer.agent()).wait().unwrap();
    servers.speak();
    servers.theirs.end_session(servers.session).unwrap();
    let refused = servers.ours.append(Parent::Position(servers.session), NodeDraft::text("a rope"));
    assert!(matches!(refused, Err(OpsError::Store(StoreError::SessionEnded))), "{refused:?}");
    servers.verify();
}

#[test]
fn a_lease_that_is_taken_while_an_append_waits_for_its_tree_refuses_it() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 65);
    let servers = TwoServers::start(&scene);
    let row = || cluster.sql(database(&scene), "SELECT xmin FROM tree_state").unwrap();
    let other = servers.theirs.loom().agent("collaborator").unwrap();
    let reviewer = servers.theirs.loom().actor(&other);
    let before = row();
    reviewer.lease(servers.tip, reviewer.agent(), Duration::from_secs(60)).wait().unwrap();
    assert_ne!(row(), before, "a lease changes the row of its tree");
    reviewer.release(servers.tip, reviewer.agent()).wait().unwrap();
    let tree = servers.node(servers.tip).tree;
    let agent = uuid(reviewer.agent().to_bytes());
    let mut client = OtherClient::begin(&scene, &lock_of(tree));
    client.run(&format!(
        "INSERT INTO leases SELECT tree, last_node, '{agent}', NULL, updated_at + 30000 FROM tree_state;
         UPDATE tree_state SET last_node = last_node"
    ));
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| servers.ours.append(Parent::Position(servers.session), NodeDraft::text("a rope")));
        await_waiter(cluster, &scene);
        client.run("COMMIT");
        let refused = refused.join().unwrap();
        assert!(matches!(refused, Err(OpsError::Store(StoreError::Leased { .. }))), "{refused:?}");
    });
}
