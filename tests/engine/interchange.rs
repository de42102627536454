//! Import and export: the engine's JSONL byte for byte, pi's sessions, Markdown.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{io::BufReader, path::Path};

use loomtree::{
    exec::is_change,
    id::TreeId,
    interchange::{self, Imported, export::markdown, jsonl},
    ops::{Actor, DocumentEdit, NodeDraft, SessionReset, SplitAt, TreeDraft},
    recall::{self, Filter, Query, Scope},
    session_state::RecordKind,
    store::{JournalFilter, Mutation, PurgeTarget},
    types::{AgentKind, EdgeKind, Json, LinkTarget, Mode, NewAgent, Op, Parent, Permissions, Timestamp},
};
use support::store::Scene;

fn import(actor: &Actor, text: &str) -> Imported {
    interchange::import(actor, None, "test.jsonl", &mut BufReader::new(text.as_bytes()), &mut |_| {}).unwrap()
}

fn export(actor: &Actor, trees: &[TreeId]) -> String {
    let mut out = Vec::new();
    jsonl::export(actor.loom().snapshot().unwrap().as_ref(), trees, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A tree with an object of every kind.
fn everything(scene: &Scene, mode: Mode) -> (Actor, TreeId) {
    let owner = scene.owner();
    let agent = NewAgent {
        id: owner.loom().agent_id(),
        name: "Thomas \"the\" tank\n".to_owned(),
        kind: AgentKind::Model,
        model: Some("openai:gpt-4o".to_owned()),
        system_prompt: Some("be brief".to_owned()),
        temperature: Some(0.7),
        max_tokens: Some(100),
        stop: vec!["\n\n".to_owned()],
        permissions: Permissions::all(),
    };
    owner.create_agent(agent).unwrap();
    // PostgreSQL stores no NUL.
    let control = if scene.location.file().is_some() { '\u{0}' } else { '\u{1}' };
    let (tree, root) = owner
        .create_tree(
            TreeDraft::new(format!("Once{control}upon a \u{1f980} time")).mode(mode).system_context("you are a study"),
        )
        .unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let at_work = owner.clone().in_session(session);
    let draft = NodeDraft::text("hello, this is a reply")
        .raw("→ view x\nhello")
        .tokens(12)
        .interrupted(true)
        .metadata(Json::parse(r#"{"b":1.0,"a":[123456789012345678901234567890]}"#).unwrap())
        .provenance(Json::parse(r#"{"model":"gpt","usage":{"prompt":1}}"#).unwrap())
        .author_type(loomtree::types::AuthorType::Model);
    let reply = at_work.append(Parent::Position(session), draft).unwrap().nodes[0].id;
    scene.clock.set(Timestamp::from_millis(1_700_000_060_000));
    let edited = at_work.edit(reply, "another reply").unwrap().nodes[0].id;
    at_work.annotate(reply, "a note").unwrap();
    let tail = at_work.append(Parent::Node(reply), NodeDraft::text("and then some more")).unwrap().nodes[0].id;
    at_work.split(tail, &SplitAt::After("and then".to_owned())).unwrap();
    let gone = at_work.append(Parent::Node(edited), NodeDraft::text("to be pruned")).unwrap().nodes[0].id;
    let deep = at_work.append(Parent::Node(gone), NodeDraft::text("pruned first")).unwrap().nodes[0].id;
    at_work.prune(deep).unwrap();
    at_work.prune(gone).unwrap();
    at_work.append(Parent::Node(gone), NodeDraft::text("said in the dark")).unwrap();
    let secret = at_work.append(Parent::Node(root.id), NodeDraft::text("a secret")).unwrap().nodes[0].id;
    at_work.append(Parent::Node(secret), NodeDraft::text("after the secret")).unwrap();
    owner.purge(PurgeTarget::Node(secret)).unwrap();
    owner.bookmark(reply, "the turn").unwrap();
    owner.exclude(edited).unwrap();
    let notes = owner.create_document("notes", "# One\n\na").unwrap();
    owner.write_document(notes, &DocumentEdit::Append("b".to_owned())).unwrap();
    owner
        .link(reply, LinkTarget::Document { id: notes, section: Some("One".to_owned()) }, Some("why".to_owned()))
        .unwrap();
    owner.link(reply, LinkTarget::Node(root.id), None).unwrap();
    owner.link(root.id, LinkTarget::Tree(tree.id), None).unwrap();
    at_work.record(RecordKind::Decision, "it ends at sea").unwrap();
    owner.archive_tree(tree.id).unwrap();
    (owner, tree.id)
}

#[test]
fn export_import_export_is_byte_equal() {
    for mode in [Mode::Dialogue, Mode::Buffer] {
        let scene = Scene::new(1);
        let (owner, tree) = everything(&scene, mode);
        let first = export(&owner, &[tree]);
        let other = Scene::new(2);
        other.clock.set(Timestamp::from_millis(1_800_000_000_000));
        let stranger = other.owner();
        let imported = import(&stranger, &first);
        assert_eq!(imported.problems, Vec::<String>::new());
        assert_eq!(imported.trees, [tree]);
        assert_eq!(imported.messages, imported.nodes);
        let again = export(&stranger, &[tree]);
        for (a, b) in first.lines().zip(again.lines()) {
            assert_eq!(a, b);
        }
        assert_eq!(first, again);
        assert_eq!(stranger.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
        assert_eq!(owner.loom().tree(tree).unwrap().counts, stranger.loom().tree(tree).unwrap().counts);

        let repeated = import(&stranger, &first);
        assert_eq!((repeated.nodes, repeated.skipped), (0, imported.nodes));
        assert_eq!(repeated.problems, Vec::<String>::new());
        assert_eq!(export(&stranger, &[tree]), first);
    }
}

/// Records of a session from before its reset are of a conversation that has ended.
#[test]
fn an_import_revives_no_state_of_a_session_that_was_reset() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Where does it end?")).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let at_work = owner.clone().in_session(session);
    at_work.append(Parent::Position(session), NodeDraft::text("At the sea.")).unwrap();
    at_work.record(RecordKind::Decision, "it ends at sea").unwrap();
    let begun = owner.reset_session(session, SessionReset::default()).unwrap();
    at_work.record(RecordKind::Decision, "it ends in a lake").unwrap();
    let trees = [tree.id, begun.tree];
    let first = export(&owner, &trees);
    let stranger = Scene::new(2).owner();
    assert_eq!(import(&stranger, &first).problems, Vec::<String>::new());
    let state = |actor: &Actor| actor.loom().snapshot().unwrap().session_state(session).unwrap();
    assert_eq!(state(&stranger), state(&owner));
    assert_eq!(stranger.loom().snapshot().unwrap().records(session).unwrap().len(), 1);
    assert_eq!(export(&stranger, &trees), first);
}

#[test]
fn an_import_of_any_length_is_undone_with_its_tree() {
    let (scene, other) = (Scene::new(1), Scene::new(2));
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut at = root.id;
    let many = (0..9_000).map(|n| {
        let node = owner.draft(Parent::Node(at), NodeDraft::text(format!("turn {n}")));
        at = node.id;
        Mutation::Append(Box::new(node))
    });
    let many = many.collect();
    owner.commit(Op::Append, many).unwrap();
    owner.bookmark(at, "the end").unwrap();
    let stranger = other.owner();
    let id = tree.id;
    import(&stranger, &export(&owner, &[id]));
    let is_archived = || stranger.loom().tree(id).unwrap().archived_at.is_some();
    let own = stranger.append(Parent::Node(at), NodeDraft::text("my own")).unwrap().nodes[0].id;
    assert_eq!(stranger.undo(Some(id)).unwrap().target.entry.op, Op::Append);
    assert_eq!(stranger.undo(Some(id)).unwrap().target.entry.op, Op::Import);
    assert!(is_archived());
    assert!(stranger.undo(Some(id)).is_err(), "there is nothing before it");
    stranger.redo(Some(id)).unwrap();
    assert!(!is_archived());
    stranger.redo(Some(id)).unwrap();
    assert!(stranger.loom().node(own).unwrap().state.hidden_by.is_none());
    // Nodes appended after the import remain.
    owner.append(Parent::Node(at), NodeDraft::text("later")).unwrap();
    assert_eq!(import(&stranger, &export(&owner, &[id])).nodes, 1);
    assert_eq!(stranger.undo(Some(id)).unwrap().target.entry.op, Op::Append);
    assert_eq!(stranger.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_later_export_imports_only_new_nodes() {
    let (scene, other) = (Scene::new(1), Scene::new(2));
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let stranger = other.owner();
    import(&stranger, &export(&owner, &[tree.id]));
    owner.append(Parent::Node(root.id), NodeDraft::text("later")).unwrap();
    stranger.append(Parent::Node(root.id), NodeDraft::text("meanwhile")).unwrap();
    let second = import(&stranger, &export(&owner, &[tree.id]));
    assert_eq!((second.nodes, second.skipped), (1, 1));
    assert_eq!(stranger.loom().tree(tree.id).unwrap().counts.leaves, 2);
}

#[test]
fn an_invalid_line_is_reported_and_the_rest_is_imported() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let one = owner.append(Parent::Node(root.id), NodeDraft::text("one")).unwrap().nodes[0].id;
    owner.append(Parent::Node(root.id), NodeDraft::text("two")).unwrap();
    owner.append(Parent::Node(one), NodeDraft::text("under one")).unwrap();
    let text = export(&owner, &[tree.id]).replace("\"content\":\"one\"", "\"content\":\"forged\"");
    let text = text.replace("\n", "\n\n") + "{\"type\":\"node\"\n{\"type\":\"bird\"}\nnot json\n\u{feff}\n";
    let stranger = Scene::new(2);
    let imported = import(&stranger.owner(), &text);
    assert_eq!(imported.nodes, 2, "{:?}", imported.problems);
    let problems = imported.problems.join("\n");
    assert!(problems.contains("does not match its hash"), "{problems}");
    assert!(problems.contains("test.jsonl, line"), "{problems}");
    assert!(problems.contains("\"bird\""), "{problems}");
    assert_eq!(imported.problems.len(), 5, "{problems}");
}

/// An error in one batch drops only dependent lines, even if the next batch is already queued.
#[test]
fn invalid_lines_drop_only_dependent_lines() {
    let (scene, other) = (Scene::new(1), Scene::new(2));
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut at = root.id;
    let chain: Vec<Mutation> = (0..10_000)
        .map(|number| {
            // Every hundredth node is a child of the root without children.
            let leaf = number % 100 == 99;
            let parent = Parent::Node(if leaf { root.id } else { at });
            let node = owner.draft(parent, NodeDraft::text(format!("number {number}.")));
            at = if leaf { at } else { node.id };
            Mutation::Append(Box::new(node))
        })
        .collect();
    owner.commit(Op::Import, chain).unwrap();
    let text = export(&owner, &[tree.id]);
    let spoilt =
        text.replace("number 99.", "spoilt").replace("number 5099.", "spoilt").replace("number 9999.", "spoilt");
    let done = import(&other.owner(), &spoilt);
    assert_eq!((done.nodes, done.problems.len()), (9_998, 3), "{:?}", done.problems);
    let done = import(&other.owner(), &text);
    assert_eq!((done.nodes, done.skipped, done.problems.len()), (3, 9_998, 0), "{:?}", done.problems);
    assert!(other.owner().loom().store().verify(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn a_file_of_an_unknown_format_is_rejected() {
    let scene = Scene::new(1);
    for text in ["", "hello", "{\"type\":\"session\",\"harness\":\"other\"}", "[]", "{}"] {
        let refused = interchange::import(&scene.owner(), None, "x", &mut BufReader::new(text.as_bytes()), &mut |_| {});
        assert!(refused.is_err(), "{text:?}");
    }
}

const PI: &str = r##"{"type":"session","version":3,"id":"s1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/w"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2025-11-20T23:33:51.000Z","message":{"role":"user","content":"hi there","timestamp":1763681631000}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2025-11-20T23:33:52.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"let me look"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"x"}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"y"}}],"provider":"anthropic","model":"claude","usage":{"output":7},"stopReason":"toolUse","timestamp":1763681632000}}
{"type":"message","id":"a3","parentId":"a2","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"x's text"}],"isError":false}}
{"type":"message","id":"a4","parentId":"a3","message":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"y's text"}]}}
{"type":"model_change","id":"a5","parentId":"a4","provider":"openai","modelId":"gpt"}
{"type":"message","id":"a6","parentId":"a5","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"provider":"openai","model":"gpt","stopReason":"aborted"}}
{"type":"message","id":"a7","parentId":"a1","message":{"role":"assistant","content":[{"type":"text","text":"another way"},{"type":"image","data":"AAAA"}],"provider":"openai","model":"gpt"}}
{"type":"label","id":"a8","parentId":"a7","targetId":"a7","label":"better"}
garbage
{"type":"message","id":"a9","parentId":"zz","message":{"role":"user","content":"lost"}}
"##;

#[test]
fn a_pi_session_is_a_tree() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let imported = import(&owner, PI);
    assert_eq!((imported.messages, imported.other), (7, 2));
    assert_eq!(imported.problems.len(), 2, "{:?}", imported.problems);
    let tree = owner.loom().tree(imported.trees[0]).unwrap();
    assert_eq!(tree.title, "hi there");
    let snapshot = owner.loom().snapshot().unwrap();
    let nodes = snapshot.nodes_after(tree.id, 0, 0).unwrap();
    let find = |text: &str| nodes.iter().find(|n| n.content == text).unwrap_or_else(|| panic!("{text}"));
    let (look, done) = (find("let me look"), find("done"));
    assert_eq!(find("x's text").parent, Some(look.id));
    assert_eq!(find("x's text").kind, EdgeKind::Tool);
    assert_eq!(find("y's text").tool.call_id.as_deref(), Some("c2"));
    assert_eq!(find("hm").kind, EdgeKind::Thought);
    assert_eq!(done.parent, Some(look.id));
    assert!(done.interrupted && !look.interrupted);
    assert_eq!(find("another way\n[image]").state.bookmark.as_deref(), Some("better"));
    assert!(find("another way\n[image]").raw.as_deref().unwrap().contains("AAAA"));
    assert_eq!(look.tokens, Some(7));
    assert!(look.metadata.as_ref().unwrap().as_str().contains("stopReason"));
    assert_eq!(tree.counts.leaves, 3, "done, another way, lost");
    drop(snapshot);

    let again = import(&owner, PI);
    assert_eq!((again.nodes, again.messages), (0, 7));
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn the_shared_pi_session_is_imported_completely() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/histories/pi-session.jsonl"));
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {} is not here", path.display());
        return;
    };
    let said = text.lines().filter(|l| l.starts_with("{\"type\":\"message\"")).count() as u64;
    let scene = Scene::new(1);
    let owner = scene.owner();
    let imported = import(&owner, &text);
    assert_eq!(imported.problems, Vec::<String>::new());
    assert_eq!(imported.messages, said);
    let lines = text.lines().count() as u64;
    assert_eq!(imported.messages + imported.other + 1, lines, "every line is something");
    let snapshot = owner.loom().snapshot().unwrap();
    let nodes = snapshot.nodes_after(imported.trees[0], 0, 0).unwrap();
    let thoughts = nodes.iter().filter(|n| n.kind == EdgeKind::Thought).count() as u64;
    assert_eq!(nodes.len() as u64, lines + thoughts);
    // A tool result is found by a word in it.
    let found = recall::search(&*snapshot, &Query::new("which file has TS2739?", Scope::Tree(imported.trees[0])));
    let best = found.unwrap().hits.remove(0).node;
    assert_eq!((best.kind, best.tool.name.as_deref()), (EdgeKind::Tool, Some("bash")));
    assert!(best.content.contains("error TS2739"), "{}", best.content);
    let edits =
        recall::tool_results(&*snapshot, &Scope::Tree(imported.trees[0]), "edit", &Filter::default(), 5).unwrap();
    assert!(edits.len() == 5 && edits.windows(2).all(|two| two[0].0.seq > two[1].0.seq));
    drop(snapshot);
    assert_eq!(import(&owner, &text).nodes, 0);

    let first = export(&owner, &imported.trees);
    let other = Scene::new(2).owner();
    assert_eq!(import(&other, &first).problems, Vec::<String>::new());
    assert_eq!(export(&other, &imported.trees), first);
}

#[test]
fn a_path_is_exported_as_markdown() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("What now?\n")).unwrap();
    let node = owner.append(Parent::Node(root.id), NodeDraft::text("# This")).unwrap().nodes[0].id;
    let snapshot = owner.loom().snapshot().unwrap();
    let path = snapshot.path_back(node, &[], 0).unwrap();
    let text = markdown::path(&path, &snapshot.agents().unwrap());
    let expected = format!("### owner · {}\n\nWhat now?\n\n### owner · {}\n\n# This\n", path[0].local, path[1].local);
    assert_eq!(text, expected);
}

#[test]
fn an_edited_reply_is_a_models_reply_in_markdown() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("What now?")).unwrap();
    let reply = NodeDraft::text("This.").author_type(loomtree::types::AuthorType::Model);
    let reply = owner.append(Parent::Node(root.id), reply).unwrap().nodes[0].id;
    let edit = owner.edit(reply, "That.").unwrap().nodes[0].id;
    let snapshot = owner.loom().snapshot().unwrap();
    let path = snapshot.path_back(edit, &[], 0).unwrap();
    let text = markdown::path(&path, &snapshot.agents().unwrap());
    assert!(text.ends_with(&format!("### model, edited by owner · {}\n\nThat.\n", path[1].local)), "{text}");
}

#[test]
fn hashes_of_both_versions_survive_an_export() {
    let old = include_str!("../../fixtures/sample.jsonl");
    let scene = Scene::new(1);
    let owner = scene.owner();
    let imported = import(&owner, old);
    assert_eq!(imported.problems, Vec::<String>::new());
    let last = owner.loom().snapshot().unwrap().nodes_after(imported.trees[0], 0, 0).unwrap().pop().unwrap();
    let added = owner.append(Parent::Node(last.id), NodeDraft::text("after the old ones")).unwrap().nodes[0].id;
    assert_eq!((last.hash.version(), owner.loom().node(added).unwrap().hash.version()), (1, 2));
    let first = export(&owner, &imported.trees);
    let hashes = |text: &str, start: &str| text.matches(&format!("\"hash\":\"{start}")).count();
    assert_eq!((hashes(&first, "2:"), hashes(&first, "")), (1, hashes(old, "") + 1));
    let other = Scene::new(2).owner();
    assert_eq!(import(&other, &first).problems, Vec::<String>::new());
    assert_eq!(export(&other, &imported.trees), first);
    assert_eq!(other.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    // Nodes, and the links and marks that come after them, are told as one change.
    let entries = owner.loom().snapshot().unwrap().journal(JournalFilter::default()).unwrap();
    let told = entries.iter().filter(|entry| entry.op == Op::Import && is_change(entry)).count();
    assert!(told == 1 && entries.iter().any(|entry| entry.change == "link"), "{told}");
    let forged = first.replace("\"hash\":\"2:", "\"hash\":\"");
    assert_eq!(import(&Scene::new(3).owner(), &forged).problems.len(), 1, "the version belongs to the hash");
}
