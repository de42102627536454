//! Imports of databases, folders, compressed files and Markdown, and their cancellation.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use loomtree::{
    interchange::{self, ImportOptions},
    ops::{NodeDraft, TreeDraft},
    types::{AuthorType, EdgeKind, LinkTarget, Parent},
};

use crate::{
    import_formats::{export, find, fixture, import, nodes, path, sessions, verify},
    support::store::Scene,
};

#[test]
fn sessions_of_goose_keep_calls_results_and_summaries() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "goose/sessions.sql");
    assert_eq!((done.conversations, done.trees.len(), done.problems.len()), (3, 2, 1), "{done:?}");
    let tree = owner.loom().find_tree("Geese").unwrap().id;
    let all = nodes(&owner, tree);
    let answer = find(&all, "I will count them.");
    let [first, second] = ["three geese", "bad arguments"].map(|text| find(&all, text));
    assert_eq!((first.kind, first.parent, second.parent), (EdgeKind::Tool, Some(answer.id), Some(answer.id)));
    assert!(second.metadata.as_ref().unwrap().as_str().contains("\"failed\":true"));
    assert_eq!((answer.tokens, find(&all, "Look at the pond.").kind), (Some(42), EdgeKind::Thought));
    assert_eq!(find(&all, "Three geese were counted.").kind, EdgeKind::Context);
    let last = find(&all, "And here?\n[image]");
    assert_eq!(path(&owner, last), ["How many geese?", "I will count them.", "Three geese.", "And here?\n[image]"]);
    let [session] = sessions(&owner, tree).try_into().unwrap();
    assert_eq!(
        (session.workspace.as_str(), session.model.as_deref()),
        ("/work/pond", Some("anthropic:claude-sonnet-4-5-20250929"))
    );
    let links = owner.loom().snapshot().unwrap().links(owner.loom().tree(tree).unwrap().root.unwrap()).unwrap();
    assert_eq!(links[0].target, LinkTarget::Tree(owner.loom().find_tree("Count the eggs").unwrap().id));

    let old = import(&owner, "goose/20250401_1.jsonl");
    assert_eq!((old.messages, old.problems.len()), (4, 1), "{old:?}");
    let all = nodes(&owner, old.trees[0]);
    assert_eq!(find(&all, "an old file").kind, EdgeKind::Tool);
    assert_eq!(path(&owner, find(&all, "An old answer.")).len(), 3);
    let exported = import(&owner, "goose/export.json");
    assert_eq!(path(&owner, find(&nodes(&owner, exported.trees[0]), "It is.")), ["Is it exported?", "It is."]);
}

#[test]
fn threads_of_zed_are_read_compressed_and_plain() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "zed/threads.sql");
    assert_eq!((done.trees.len(), done.problems.len()), (3, 1), "{done:?}");
    assert!(done.problems[0].contains("row 4"), "{:?}", done.problems);
    assert_eq!(done.left_out.get("Resume"), Some(&1));
    let tree = owner.loom().find_tree("A red light").unwrap().id;
    let all = nodes(&owner, tree);
    let (look, failed) = (find(&all, "I look."), find(&all, "no such file"));
    assert_eq!(
        (failed.parent, failed.tool.name.as_deref(), find(&all, "Read the file.").kind),
        (Some(look.id), Some("read_file"), EdgeKind::Thought)
    );
    assert_eq!(
        path(&owner, find(&all, "[image]")),
        ["Why is the light red?\nfn light() {}", "I look.", "It is a warning.", "It waits.", "[image]"]
    );
    let [session] = sessions(&owner, tree).try_into().unwrap();
    assert_eq!(
        (session.workspace.as_str(), session.model.as_deref()),
        ("/work/lamp", Some("anthropic:claude-sonnet-4-5"))
    );
    let old = nodes(&owner, owner.loom().find_tree("An old thread").unwrap().id);
    assert_eq!(path(&owner, find(&old, "Thanks.")), ["Be brief.", "An old lamp?", "Yes.", "Thanks."]);
    assert_eq!(find(&old, "a lamp").parent, Some(find(&old, "Yes.").id));
}

#[test]
fn sessions_of_cursor_follow_their_list_of_messages() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "cursor/state.sql");
    let problems = done.problems.join("\n");
    assert!(done.problems.len() == 2 && problems.contains("\"gone\"") && problems.contains("\"c-4\""), "{problems}");
    assert_eq!(done.left_out.get("session without messages"), Some(&1));
    let tree = owner.loom().find_tree("The search box").unwrap().id;
    let all = nodes(&owner, tree);
    let look = find(&all, "I look at the schema.");
    assert_eq!((look.tokens, find(&all, "Is there an index?").parent), (Some(7), Some(look.id)));
    assert_eq!(find(&all, "CREATE TABLE words;").tool.name.as_deref(), Some("run_terminal_command_v2"));
    assert_eq!(
        path(&owner, find(&all, "It has no index.")),
        ["Make the search faster.", "I look at the schema.", "", "", "It has no index."]
    );
    let [session] = sessions(&owner, tree).try_into().unwrap();
    assert_eq!(
        (session.workspace.as_str(), session.model.as_deref()),
        ("/work/search", Some("anthropic:claude-sonnet-4-5"))
    );
    let old = nodes(&owner, owner.loom().find_tree("An old session").unwrap().id);
    assert_eq!(path(&owner, find(&old, "An old reply.")), ["An old bubble.", "An old reply."]);
    assert!(!export(&owner).contains("never-read"));
}

#[test]
fn the_database_of_basemode_loom_keeps_branches_marks_and_position() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "basemode-loom/loom.sql");
    assert_eq!((done.trees.len(), done.branches, done.problems.len()), (1, 1, 0), "{done:?}");
    assert_eq!(owner.loom().tree(done.trees[0]).unwrap().title, "The road");
    let all = nodes(&owner, done.trees[0]);
    let on = find(&all, " led on.");
    assert!(on.state.bookmark.is_some() && find(&all, " ended.").state.excluded);
    assert_eq!((on.author_type, find(&all, "A road story.").kind), (AuthorType::Model, EdgeKind::Context));
    assert_eq!(path(&owner, find(&all, " And yet.")), ["The road", " ended.", " And yet."]);
    assert_eq!(sessions(&owner, done.trees[0])[0].position, Some(on.id));
}

#[test]
fn the_older_storage_of_opencode_is_read_as_a_folder() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "opencode/storage");
    let problems = done.problems.join("\n");
    assert!(done.problems.len() == 2 && problems.contains("bad.json") && problems.contains("msg_3.json"), "{problems}");
    let tree = owner.loom().find_tree("An older session").unwrap().id;
    let all = nodes(&owner, tree);
    let answer = find(&all, "It is.");
    assert_eq!((answer.tokens, find(&all, "three folders").parent), (Some(9), Some(answer.id)));
    assert_eq!(path(&owner, answer), ["Is it stored in files?", "It is."]);
    assert_eq!((done.trees.len(), sessions(&owner, tree)[0].workspace.as_str()), (2, "/work/old"));
    // Another folder is none.
    let error = interchange::import_path(
        &owner,
        ImportOptions::default(),
        scene.path.parent().unwrap(),
        &mut |_| {},
        &AtomicBool::new(false),
    );
    assert!(error.unwrap_err().to_string().contains("no known program"));
}

#[test]
fn a_compressed_rollout_is_read() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "codex/compressed.jsonl.zst");
    let all = nodes(&owner, done.trees[0]);
    assert_eq!(path(&owner, find(&all, "It is.")), ["Is it compressed?", "It is."]);
    // Two frames are one stream. The messages before damage are imported.
    let bytes = fs::read(fixture("codex/compressed.jsonl.zst")).unwrap();
    let read = |bytes: &[u8]| interchange::import(&owner, None, "two.zst", &mut &*bytes, &mut |_| {});
    let twice = read(&[bytes.as_slice(), bytes.as_slice()].concat()).unwrap();
    assert_eq!((twice.messages, twice.nodes), (4, 2), "{twice:?}");
    assert!(read(&bytes[..bytes.len() - 9]).unwrap_err().to_string().contains("cannot be decompressed"));
    verify(&owner);
}

#[test]
fn two_markdown_exports_of_one_tree_are_one_tree() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let [first, second] = ["markdown/path.md", "markdown/branch.md"].map(|name| import(&owner, name));
    assert_eq!((first.trees.clone(), second.branches, second.skipped), (second.trees.clone(), 1, 2), "{second:?}");
    let all = nodes(&owner, first.trees[0]);
    let last = find(&all, "In the");
    assert_eq!(
        path(&owner, last),
        ["Where does the river begin?", "In a spring.\n\n    # a code line", "And where does it *end*?", "In the"]
    );
    assert!(last.interrupted);
    let roles = ["Where does the river begin?", "In a lake.", "And where does it *end*?"]
        .map(|text| find(&all, text).author_type);
    assert_eq!(roles, [AuthorType::Human, AuthorType::Model, AuthorType::Human]);
    assert_eq!(sessions(&owner, first.trees[0])[0].model.as_deref(), Some("openai:gpt-5"));

    let chat = import(&owner, "markdown/chat.md");
    assert_eq!(owner.loom().tree(chat.trees[0]).unwrap().title, "Rivers");
    let all = nodes(&owner, chat.trees[0]);
    let texts = path(&owner, find(&all, "Thanks."));
    assert_eq!(texts[..2], ["Be brief.", "Name a river, and show one heading."]);
    assert!(texts.len() == 4 && texts[2].contains("## User") && texts[2].ends_with("another level."), "{texts:?}");
    assert_eq!(sessions(&owner, chat.trees[0])[0].model.as_deref(), Some("openai:gpt-4o"));
}

/// The export of a path, imported into an empty database and exported again, has the same headings' authors and texts.
#[test]
fn the_own_markdown_comes_back() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "markdown/path.md");
    let snapshot = owner.loom().snapshot().unwrap();
    let last = find(&nodes(&owner, done.trees[0]), "In the").id;
    let path = snapshot.path_back(last, &[], 0).unwrap();
    let text = interchange::export::markdown::path(&path[1..], &snapshot.agents().unwrap());
    let second = Scene::new(2);
    let other = second.owner();
    let again = interchange::import(&other, None, "path.md", &mut text.as_bytes(), &mut |_| {}).unwrap();
    assert_eq!((again.format, again.messages, again.problems.len()), ("markdown", 4, 0));
    let texts = |actor, tree| nodes(actor, tree).into_iter().skip(1).map(|node| (node.content, node.author_type));
    assert!(texts(&other, again.trees[0]).eq(texts(&owner, done.trees[0])));
}

#[test]
fn content_that_looks_like_a_heading_comes_back_as_content() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let content = "Reply:\n\n### owner · 7fvmz4\n\nForged.\n\\### owner · 7fvmz4\n### A heading\nEnd";
    let (_, root) = owner.create_tree(TreeDraft::new("forged")).unwrap();
    let first = owner.append(Parent::Node(root.id), NodeDraft::text("Say it.")).unwrap().nodes[0].id;
    let last = owner.append(Parent::Node(first), NodeDraft::text(content)).unwrap().nodes[0].id;
    let snapshot = owner.loom().snapshot().unwrap();
    let path = snapshot.path_back(last, &[], 0).unwrap();
    let text = interchange::export::markdown::path(&path[1..], &snapshot.agents().unwrap());
    assert!(text.contains("\n\\### owner · 7fvmz4") && text.contains("\n\\\\###") && text.contains("\n### A heading"));
    let second = Scene::new(2);
    let other = second.owner();
    let done = interchange::import(&other, None, "path.md", &mut text.as_bytes(), &mut |_| {}).unwrap();
    assert_eq!(done.messages, 2);
    assert!(nodes(&other, done.trees[0]).iter().any(|node| node.content == content));
}

#[test]
fn a_cancelled_import_is_complete_up_to_a_message() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let mut lines =
        vec![r#"{"type":"session","version":3,"id":"long","timestamp":"2026-03-01T10:00:00Z","cwd":"/w"}"#.to_owned()];
    for number in 0..1_500 {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"m{}\"", number - 1) };
        lines.push(format!(
            r#"{{"type":"message","id":"m{number}","parentId":{parent},"message":{{"role":"user","content":"line {number}"}}}}"#
        ));
    }
    let file = scene.path.with_file_name("long.jsonl");
    fs::write(&file, lines.join("\n")).unwrap();
    let cancel = AtomicBool::new(false);
    let mut stop = |_| cancel.store(true, Ordering::Relaxed);
    let done = interchange::import_path(&owner, ImportOptions::default(), &file, &mut stop, &cancel).unwrap();
    assert_eq!((done.messages, done.problems.len()), (1_022, 0));
    verify(&owner);
    let [session] = sessions(&owner, done.trees[0]).try_into().unwrap();
    assert_eq!(session.position, Some(find(&nodes(&owner, done.trees[0]), "line 1021").id));
    // The rest follows.
    let cancel = AtomicBool::new(false);
    let rest = interchange::import_path(&owner, ImportOptions::default(), &file, &mut |_| {}, &cancel).unwrap();
    assert_eq!((rest.messages, rest.nodes), (1_500, 478));
    // A database ends at a message, too.
    let cancelled = AtomicBool::new(true);
    let script = fs::read_to_string(fixture("goose/sessions.sql")).unwrap();
    let database = scene.path.with_file_name("sessions.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch(&script).unwrap();
    let done = interchange::import_path(&owner, ImportOptions::default(), &database, &mut |_| {}, &cancelled).unwrap();
    assert_eq!((done.messages, done.nodes), (0, 0));
}
