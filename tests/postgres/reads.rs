//! Paths and lists: the same as in a file, and by few statements.

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, SessionFilter, TreeFilter},
    types::{AuthorType, EdgeKind, LinkTarget, Node, Op, Parent},
};

use super::{
    append, append_all, cluster, grow,
    locks::{OtherClient, database},
    nodes, on_server,
};
use crate::support::store::Scene;

/// Adds a long chain with branches, notes, versions and a pruned branch. Returns versions that a session may select.
fn grow_long(owner: &Actor) -> Vec<NodeId> {
    let (_, root) = owner.create_tree(TreeDraft::new("A long one")).unwrap();
    let (mut tip, mut chain) = (root.id, Vec::new());
    for number in 0..200 {
        tip = append(owner, tip, number).unwrap();
        chain.push(tip);
        if number % 30 == 11 {
            append_all(owner, tip, 2);
        }
    }
    owner.append(Parent::Node(chain[150]), NodeDraft::text("a note").kind(Some(EdgeKind::Annotation))).unwrap();
    let version = |at: usize, text: &str| owner.edit(chain[at], text).unwrap().nodes[0].id;
    let versions = vec![version(40, "another"), version(120, "another"), version(120, "a third"), version(199, "last")];
    owner.bookmark(chain[7], "early").unwrap();
    let branch = append_all(owner, chain[60], 1)[0];
    let below = append(owner, branch, 1).unwrap();
    append(owner, below, 2).unwrap();
    owner.prune(branch).unwrap();
    versions
}

fn path(actor: &Actor, to: NodeId, versions: &[NodeId], limit: u32) -> Vec<Node> {
    let mut path = actor.loom().snapshot().unwrap().path_back(to, versions, limit).unwrap();
    path.iter_mut().for_each(|node| node.seq = 0);
    path
}

#[test]
fn a_path_is_that_of_the_file_with_the_states_of_its_nodes() {
    let Some(cluster) = cluster() else { return };
    let (file, server) = (Scene::of_file(41), on_server(cluster, 41));
    let (ours, theirs) = (file.owner(), server.owner());
    let versions = [&ours, &theirs].map(|owner| {
        grow(owner);
        grow_long(owner)
    });
    assert_eq!(versions[0], versions[1]);
    let all = nodes(&theirs);
    for tip in all.iter().map(|node| node.id) {
        let selected: &[&[NodeId]] = &[&[], &versions[0][..2], &versions[0][1..]];
        for versions in selected {
            let here = path(&theirs, tip, versions, 0);
            assert_eq!(here, path(&ours, tip, versions, 0), "to {tip} by {versions:?}");
            assert_eq!(path(&theirs, tip, versions, 3), here[here.len().saturating_sub(3)..]);
            for node in &here {
                assert_eq!(Some(&node.state), all.iter().find(|other| other.id == node.id).map(|other| &other.state));
            }
        }
    }
}

/// A trunk of ten nodes, `times` times, each with a branch of ten beside the next. Returns the trunk and the ends of branches.
pub(super) fn grow_branches(owner: &Actor, times: usize) -> (Vec<NodeId>, Vec<NodeId>) {
    let (_, root) = owner.create_tree(TreeDraft::new("A tree with branches")).unwrap();
    let (mut trunk, mut ends, mut drafts) = (vec![root.id], Vec::new(), Vec::new());
    for _ in 0..times {
        for is_trunk in [true, false] {
            let mut at = trunk[trunk.len() - 1];
            for _ in 0..10 {
                let node = owner.draft(Parent::Node(at), NodeDraft::text("a rope").keep_position(true));
                at = node.id;
                drafts.push(Mutation::Append(Box::new(node)));
                if is_trunk {
                    trunk.push(at);
                }
            }
            ends.extend((!is_trunk).then_some(at));
        }
    }
    owner.commit(Op::Import, drafts).unwrap();
    (trunk, ends)
}

/// Such a path is read as ranges. Versions were added after the rows that they replace, and one after the end of the path.
#[test]
fn a_path_with_branches_beside_it_is_that_of_the_file() {
    let Some(cluster) = cluster() else { return };
    let (file, server) = (Scene::of_file(46), on_server(cluster, 46));
    let (ours, theirs) = (file.owner(), server.owner());
    let grown = [&ours, &theirs].map(|owner| {
        let (trunk, ends) = grow_branches(owner, 90);
        let edit = |at: usize, text: &str| owner.edit(trunk[at], text).unwrap().nodes[0].id;
        let mut versions = vec![edit(30, "another"), edit(250, "another"), edit(250, "a third")];
        owner.append(Parent::Node(trunk[150]), NodeDraft::text("a note").kind(Some(EdgeKind::Annotation))).unwrap();
        owner.bookmark(trunk[77], "a place").unwrap();
        owner.prune(ends[3]).unwrap();
        // A second writer's rows are between those of the path.
        let mut tips = [trunk[900], ends[20]];
        for number in 0..40 {
            tips = tips.map(|tip| append(owner, tip, number).unwrap());
        }
        versions.push(edit(480, "the last"));
        // Marks of branch points, and of nodes with one child.
        for at in [200, 205] {
            owner.exclude(trunk[at]).unwrap();
            owner.link(trunk[at + 10], LinkTarget::Node(trunk[3]), None).unwrap();
        }
        // A cut reply, and its edit by a person.
        let reply = NodeDraft::text("a reply").author_type(Some(AuthorType::Model)).interrupted(true);
        tips[0] = owner.append(Parent::Node(tips[0]), reply).unwrap().nodes[0].id;
        let edited = owner.edit(tips[0], "a whole reply").unwrap().nodes[0].id;
        (versions, [vec![trunk[900], trunk[403], ends[3], ends[89], edited], tips.to_vec()].concat())
    });
    assert_eq!(grown[0], grown[1]);
    let (versions, ends) = &grown[0];
    for to in ends {
        for selected in [&[], &versions[..1], &versions[1..2], &versions[2..]] {
            for limit in [0, 300, 3] {
                let here = path(&theirs, *to, selected, limit);
                assert_eq!(here, path(&ours, *to, selected, limit), "to {to} by {selected:?}");
            }
        }
    }
    let [edited, reply] = [4, 5].map(|at| path(&theirs, ends[at], &[], 0).pop().unwrap());
    assert_eq!((edited.role, reply.interrupted), (Some(AuthorType::Model), true));
}

#[test]
fn few_rows_beside_a_path_are_read() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 47);
    let (trunk, _) = grow_branches(&scene.owner(), 100);
    let tip = trunk[trunk.len() - 1];
    // A connection reports its statistics when it ends.
    let fetched = || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let sql = "SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'nodes'";
        cluster.sql(database(&scene), sql).unwrap().trim().parse::<usize>().unwrap()
    };
    let before = fetched();
    assert_eq!(path(&scene.again(48).owner(), tip, &[], 0).len(), 1_001);
    let rows = fetched() - before;
    assert!((1_001..1_600).contains(&rows), "{rows} rows");
}

#[test]
fn a_list_of_sessions_is_one_statement() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 42);
    let database = database(&scene);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Many sessions")).unwrap();
    let nodes = append_all(&owner, root.id, 3);
    let hidden = append(&owner, nodes[2], 1).unwrap();
    for number in 0..40 {
        let session = owner.start_session("/work", tree.id, Some(nodes[number % 2])).unwrap();
        owner.clone().in_session(session).show_cursor(nodes[(number + 1) % 2]).wait().unwrap();
    }
    let below = owner.start_session("/work", tree.id, Some(hidden)).unwrap();
    owner.clone().in_session(below).show_cursor(hidden).wait().unwrap();
    owner.prune(hidden).unwrap();
    cluster.sql(database, &format!("ALTER DATABASE {database} SET log_statement = 'all'")).unwrap();
    // Statements of this database alone are in the log.
    let statements = || {
        let log = std::fs::read_to_string(cluster.folder().join("log")).unwrap();
        log.lines().filter(|line| line.contains("LOG:  execute ")).count()
    };
    let again = scene.again(43).owner();
    let snapshot = again.loom().snapshot().unwrap();
    let before = statements();
    let found = snapshot.sessions(&SessionFilter::default()).unwrap();
    // One more session is in a pruned branch, for whose position and cursor the tree is walked.
    let run = statements() - before;
    assert!((1..20).contains(&run), "{run} statements");
    assert_eq!(found.len(), 41);
    for session in &found {
        assert_eq!(Some(session), snapshot.session(session.id).unwrap().as_ref());
    }
    let at = |id| found.iter().find(|session| session.id == id).map(|session| (session.position, session.cursor));
    assert_eq!(at(below), Some((Some(nodes[2]), Some(nodes[2]))));
    assert!(found.iter().filter(|session| session.id != below).all(|session| session.cursor.is_some()));
    assert_eq!(snapshot.trees(TreeFilter::default()).unwrap().len(), 1);
}

/// A cursor of the server reads 1,024 rows at once.
#[test]
fn a_branch_of_several_pages_is_copied_and_mapped() {
    let Some(cluster) = cluster() else { return };
    let owner = on_server(cluster, 44).owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A large branch")).unwrap();
    let from = append(&owner, root.id, 0).unwrap();
    let mut tip = from;
    let drafts = (1..2_100).map(|number| {
        let node = owner.draft(Parent::Node(tip), NodeDraft::text(format!("message {number}")));
        tip = node.id;
        Mutation::Append(Box::new(node))
    });
    let drafts = drafts.collect();
    owner.commit(Op::Import, drafts).unwrap();
    let (other, to) = owner.create_tree(TreeDraft::new("A copy")).unwrap();
    assert_eq!(owner.copy_branch(from, to.id).unwrap().nodes.len(), 2_100);
    let snapshot = owner.loom().snapshot().unwrap();
    let texts = |tip| -> Vec<String> {
        let path = snapshot.path_back(tip, &[], 0).unwrap();
        path.into_iter().skip(1).map(|node| node.content).collect()
    };
    let leaf = snapshot.leaf(to.id).unwrap().unwrap();
    assert_eq!(texts(leaf.id), texts(tip));
    for tree in [tree.id, other.id] {
        for _ in 0..2 {
            let mut depths = Vec::new();
            snapshot.shape(tree, &mut |row| depths.push(row.depth)).unwrap();
            assert_eq!(depths, (0..=2_100).collect::<Vec<_>>());
        }
    }
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// A tree that counts many nodes ends a page.
#[test]
fn a_rebuild_locks_the_trees_of_one_page() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 45);
    let owner = scene.owner();
    let mut trees = [0; 2].map(|_| owner.create_tree(TreeDraft::new("A tree")).unwrap());
    trees.sort_by_key(|(tree, _)| tree.id);
    let [(first, root), (second, _)] = trees;
    cluster.sql(database(&scene), "UPDATE tree_state SET nodes = 20000").unwrap();
    let other = OtherClient::lock(&scene, second.id);
    std::thread::scope(|scope| {
        let rebuilt = scope.spawn(|| owner.loom().store().rebuild().unwrap());
        let counted = || owner.loom().snapshot().unwrap().tree(first.id).unwrap().unwrap().counts.nodes;
        let start = std::time::Instant::now();
        while counted() != 1 {
            assert!(start.elapsed().as_secs() < 20, "the first page is committed");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        append(&owner, root.id, 1).unwrap();
        assert!(!rebuilt.is_finished());
        drop(other);
        assert_eq!(rebuilt.join().unwrap().trees, 2);
    });
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}
