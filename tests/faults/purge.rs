//! Purging: no byte of the text is left in the database, its log or its index, and everything else verifies.

use std::{fs, path::Path};

use loomtree::{
    id::SessionId,
    ops::{Actor, NodeDraft, OpsError, TreeDraft},
    store::{Mutation, PurgeTarget, StoreError},
    types::{EdgeKind, Json, LinkTarget, Node, Op, Parent, SummarySubject, ToolCallFields, TreePatch},
};

use crate::{assert_clean, support::store::Scene};

const SHORT: &str = "zquxSHORTquxz";
/// A marker in each page of a long text.
const LONG: &str = "zquxLONGquxz";
/// A marker in the text that belongs to the tree and not to a node.
const TITLE: &str = "zquxTITLEquxz";

fn words(length: usize) -> String {
    if length == 0 { format!("said {SHORT} once") } else { format!("{LONG} and so on, ").repeat(length) }
}

fn json(key: &str, length: usize) -> Json {
    Json::parse(format!("{{\"{key}\": \"{}\"}}", words(length))).unwrap()
}

/// Appends a node with text in every field.
fn full_node(owner: &Actor, parent: &Node, length: usize) -> Node {
    let draft = NodeDraft::text(words(length))
        .raw(format!("raw {}", words(length)))
        .tool(ToolCallFields {
            calls: Some(json("arguments", length)),
            call_id: Some(format!("call {SHORT}")),
            name: Some(format!("tool {SHORT}")),
        })
        .metadata(json("kept", length))
        .provenance(json("envelope", length));
    let id = owner.append(Parent::Node(parent.id), draft).unwrap().nodes[0].id;
    owner.bookmark(id, &format!("old label {SHORT}")).unwrap();
    owner.bookmark(id, &format!("label {SHORT}")).unwrap();
    owner.link(id, LinkTarget::Node(parent.id), Some(format!("note {SHORT}"))).unwrap();
    let now = owner.loom().snapshot().unwrap().last_seq().unwrap();
    owner.save_summary(SummarySubject::Node(id), (0, now), "m", &format!("summary {SHORT}")).unwrap();
    owner.save_summary(SummarySubject::Tree(parent.tree), (2, now), "m", &format!("of the tree {SHORT}")).unwrap();
    owner.loom().node(id).unwrap()
}

/// Lists the files of the database that contain `text`.
pub(crate) fn files_with(path: &Path, text: &str) -> Vec<String> {
    let folder = path.parent().unwrap();
    let mut found = Vec::new();
    for file in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let bytes = fs::read(file.path()).unwrap();
        if bytes.windows(text.len()).any(|w| w == text.as_bytes()) {
            found.push(file.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

struct Stocked {
    scene: Scene,
    owner: Actor,
    root: Node,
    session: SessionId,
    nodes: Vec<Node>,
    kept: Node,
}

/// Creates a tree with text to purge and text to keep, rewritten often enough to leave traces in free pages.
fn stocked(seed: u64) -> Stocked {
    let scene = Scene::new(seed);
    let owner = scene.owner();
    let draft = TreeDraft::new("the root stays").title(format!("first title {TITLE}"));
    let (tree, root) = owner.create_tree(draft.system_context(format!("system {TITLE}"))).unwrap();
    let patch = TreePatch::default().title(Some(format!("title {TITLE}")));
    owner.rename(tree.id, patch).unwrap();
    let session = owner.start_session("/project", tree.id, Some(root.id)).unwrap();
    let speaker = owner.clone().in_session(session);
    let mut nodes = Vec::new();
    let mut parent = root.clone();
    for length in [0, 40, 2_000] {
        parent = full_node(&speaker, &parent, length);
        nodes.push(parent.clone());
    }
    let after = owner.append(Parent::Node(parent.id), NodeDraft::text("what follows stays")).unwrap();
    let kept = owner.loom().node(after.nodes[0].id).unwrap();
    assert!(!files_with(&scene.path, SHORT).is_empty() && !files_with(&scene.path, LONG).is_empty());
    Stocked { scene, owner, root, session, nodes, kept }
}

fn assert_gone(stocked: &Stocked, texts: &[&str]) {
    let Stocked { scene, owner, root, nodes, kept, .. } = stocked;
    for text in texts {
        assert_eq!(files_with(&scene.path, text), Vec::<String>::new(), "{text} is left");
    }
    let snapshot = owner.loom().snapshot().unwrap();
    for node in nodes {
        let tombstone = snapshot.node(node.id).unwrap().expect("the tombstone stays");
        assert!(tombstone.purged_at.is_some());
        assert_eq!((tombstone.content.as_str(), &tombstone.raw, &tombstone.metadata), ("", &None, &None));
        assert_eq!(tombstone.tool, ToolCallFields::default());
        assert_eq!((tombstone.hash, tombstone.parent, tombstone.seq), (node.hash, node.parent, node.seq));
        assert_eq!(snapshot.provenance(node.id).unwrap(), None);
    }
    assert_eq!(snapshot.node(kept.id).unwrap().unwrap().hash, kept.hash);
    assert_eq!(snapshot.path_back(kept.id, &[], 0).unwrap().len(), 5, "the path through them is whole");
    assert_eq!(snapshot.node(root.id).unwrap().unwrap().hash, root.hash);
    drop(snapshot);
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn purged_nodes_leave_no_byte() {
    let stocked = stocked(61);
    for node in &stocked.nodes {
        stocked.owner.purge(PurgeTarget::Node(node.id)).unwrap();
    }
    assert_gone(&stocked, &[SHORT, LONG]);
    assert_eq!(stocked.owner.loom().node(stocked.kept.id).unwrap().content, "what follows stays");
}

#[test]
fn a_purged_session_leaves_no_byte() {
    let stocked = stocked(62);
    let at_work = stocked.owner.clone().in_session(stocked.session);
    at_work.record(loomtree::session_state::RecordKind::Decision, &words(0)).unwrap();
    stocked.owner.purge(PurgeTarget::Session(stocked.session)).unwrap();
    assert_gone(&stocked, &[SHORT, LONG]);
    assert_eq!(stocked.owner.loom().node(stocked.kept.id).unwrap().content, "what follows stays");
}

#[test]
fn a_purged_tree_leaves_no_byte() {
    let stocked = stocked(63);
    stocked.owner.name_session(stocked.session, &format!("session {TITLE}")).unwrap();
    stocked.owner.purge(PurgeTarget::Tree(stocked.root.tree)).unwrap();
    assert_gone(&stocked, &[SHORT, LONG, TITLE, "what follows stays", "the root stays"]);
}

#[test]
fn a_purge_reaches_wordings_and_notes_by_their_own_ids_only() {
    let stocked = stocked(64);
    let owner = &stocked.owner;
    let note = owner.annotate(stocked.nodes[0].id, "zquxNOTEquxz").unwrap().nodes[0].id;
    assert_eq!(owner.loom().node(note).unwrap().kind, EdgeKind::Annotation);
    owner.purge(PurgeTarget::Node(stocked.nodes[0].id)).unwrap();
    assert_eq!(owner.loom().node(note).unwrap().content, "zquxNOTEquxz", "a note is a node of its own");
    owner.purge(PurgeTarget::Node(note)).unwrap();
    assert_eq!(files_with(&stocked.scene.path, "zquxNOTEquxz"), Vec::<String>::new());
    let again = owner.purge(PurgeTarget::Node(note)).unwrap_err();
    assert!(matches!(again, OpsError::Store(StoreError::Conflict(_))), "{again:?}");
    assert!(owner.undo(Some(stocked.root.tree)).is_err() || owner.loom().node(note).unwrap().content.is_empty());
}

#[test]
fn a_purge_that_a_reader_keeps_from_scrubbing_says_so_and_fails_nobody_else() {
    let stocked = stocked(65);
    let Stocked { scene, root, .. } = &stocked;
    let store = scene.options().wait(std::time::Duration::from_millis(200)).open(&scene.path).unwrap();
    let loom = scene.over(store);
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let purge = |at: usize| vec![Mutation::Purge(PurgeTarget::Node(stocked.nodes[at].id))];
    let (said, neighbours) = {
        let reader = loom.snapshot().unwrap();
        reader.last_seq().unwrap();
        // A lock blocks the writer thread, so that all of these share a transaction.
        let holder = rusqlite::Connection::open(&scene.path).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let draft =
            |text: &str| vec![Mutation::Append(Box::new(owner.draft(Parent::Node(root.id), NodeDraft::text(text))))];
        let before = owner.submit(Op::Append, draft("before"));
        let purged = owner.submit(Op::Purge, purge(0));
        let after = owner.submit(Op::Append, draft("after"));
        holder.execute_batch("COMMIT").unwrap();
        (purged.wait(), [before.wait(), after.wait()])
    };
    let error = said.unwrap_err().to_string();
    assert!(error.starts_with("the content is purged, but traces may be left"), "{error}");
    for neighbour in neighbours {
        let receipt = neighbour.expect("a neighbour of the purge is done, and told so");
        assert!(loom.node(receipt.nodes[0].id).is_ok());
    }
    assert!(loom.node(stocked.nodes[0].id).unwrap().purged_at.is_some());
    // The next purge removes the traces.
    owner.commit(Op::Purge, purge(1)).unwrap();
    owner.commit(Op::Purge, purge(2)).unwrap();
    assert_gone(&stocked, &[SHORT, LONG]);
}
