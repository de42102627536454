//! Imports of foreign formats: each fixture's messages, branches, sessions, and the laws that every format keeps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use loomtree::{
    id::TreeId,
    interchange::{self, Format, ImportOptions, Imported, jsonl},
    ops::{Actor, NodeDraft},
    recall::{self, Query, Scope},
    store::{SessionFilter, TreeFilter},
    types::{AuthorType, EdgeKind, LinkTarget, Node, Session},
};
use support::store::Scene;

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import")).join(name)
}

fn import_bytes(actor: &Actor, options: ImportOptions, bytes: &[u8]) -> Imported {
    interchange::import_with(actor, options, "test", &mut &*bytes, &mut |_| {}).unwrap()
}

/// Imports a fixture with options: a file, a folder, or a database that its SQL makes.
fn import_file(actor: &Actor, options: ImportOptions, path: &Path) -> Imported {
    if path.extension().is_some_and(|extension| extension == "sql") {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("foreign.db");
        let conn = rusqlite::Connection::open(&database).unwrap();
        conn.execute_batch(&fs::read_to_string(path).unwrap()).unwrap();
        drop(conn);
        let before = fs::read(&database).unwrap();
        let done = interchange::import_database(actor, options, "made", &database).unwrap();
        assert_eq!(fs::read(&database).unwrap(), before, "the source is never changed");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        return done;
    }
    if path.is_dir() {
        return interchange::import_path(actor, options, path, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    }
    import_bytes(actor, options, &fs::read(path).unwrap())
}

pub(crate) fn import(actor: &Actor, name: &str) -> Imported {
    import_file(actor, ImportOptions::default(), &fixture(name))
}

pub(crate) fn nodes(actor: &Actor, tree: TreeId) -> Vec<Node> {
    actor.loom().snapshot().unwrap().nodes_after(tree, 0, 0).unwrap()
}

pub(crate) fn find<'a>(nodes: &'a [Node], text: &str) -> &'a Node {
    nodes.iter().find(|node| node.content == text).unwrap_or_else(|| panic!("no node {text:?}"))
}

pub(crate) fn sessions(actor: &Actor, tree: TreeId) -> Vec<Session> {
    actor.loom().sessions(&SessionFilter::default().tree(tree)).unwrap()
}

/// The path to a node as its texts, without the root.
pub(crate) fn path(actor: &Actor, node: &Node) -> Vec<String> {
    let path = actor.loom().snapshot().unwrap().path_back(node.id, &[], 0).unwrap();
    path.into_iter().skip(1).map(|node| node.content).collect()
}

pub(crate) fn export(actor: &Actor) -> String {
    let snapshot = actor.loom().snapshot().unwrap();
    let trees: Vec<TreeId> = snapshot.trees(TreeFilter::default()).unwrap().iter().map(|tree| tree.id).collect();
    let mut out = Vec::new();
    jsonl::export(&*snapshot, &trees, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn verify(actor: &Actor) {
    assert_eq!(actor.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// Every fixture with its format.
fn fixtures() -> Vec<(Format, PathBuf)> {
    let mut found = Vec::new();
    for format in Format::ALL.iter().copied().filter(|format| *format != Format::Loomtree) {
        let files = fs::read_dir(fixture(format.as_str())).unwrap_or_else(|_| panic!("{format:?} has no fixtures"));
        found.extend(files.map(|file| (format, file.unwrap().path())));
    }
    found.sort();
    found
}

/// The format is recognised, a second import adds nothing, a dry run counts the same and writes nothing, and the own
/// export of everything is byte-equal after an import of it.
#[test]
fn every_fixture_keeps_the_laws() {
    for (format, file) in fixtures() {
        let scene = Scene::new(1);
        let owner = scene.owner();
        let dry = import_file(&owner, ImportOptions::default().dry_run(true), &file);
        assert!(owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap().is_empty(), "{file:?}");
        let first = import_file(&owner, ImportOptions::default(), &file);
        assert_eq!(first.format, format.as_str(), "{file:?}");
        let facts = |done: &Imported| {
            // The path of a database differs between two imports.
            let problems = done.problems.iter().map(|problem| problem.rsplit(", ").next().unwrap().to_owned());
            (done.messages, done.nodes, done.branches, problems.collect::<Vec<_>>())
        };
        assert_eq!(facts(&dry), facts(&first), "{file:?}");
        verify(&owner);
        let again = import_file(&owner, ImportOptions::default().format(format), &file);
        assert_eq!((again.nodes, again.sessions, again.branches, again.versions), (0, 0, 0, 0), "{file:?}");
        assert_eq!(again.messages, first.messages, "{file:?}");
        let exported = export(&owner);
        let other = Scene::new(2).owner();
        assert_eq!(import_bytes(&other, ImportOptions::default(), exported.as_bytes()).problems, Vec::<String>::new());
        assert_eq!(export(&other), exported, "{file:?}");
        verify(&other);
    }
}

/// A file that is imported while it grows, line by line, gives the same messages in the same order as the whole file.
#[test]
fn a_grown_file_appends() {
    let whole = fs::read_to_string(fixture("pi/session.jsonl")).unwrap();
    let (scene, other) = (Scene::new(1), Scene::new(2));
    let owner = scene.owner();
    let lines: Vec<&str> = whole.lines().collect();
    let mut added = 0;
    for end in 2..=lines.len() {
        added += import_bytes(&owner, ImportOptions::default(), lines[..end].join("\n").as_bytes()).nodes;
    }
    let at_once = import_bytes(&other.owner(), ImportOptions::default(), whole.as_bytes());
    assert_eq!(added, at_once.nodes);
    let texts = |actor: &Actor| {
        let tree = actor.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap()[0].id;
        nodes(actor, tree).into_iter().map(|node| (node.content, node.turn)).collect::<Vec<_>>()
    };
    assert_eq!(texts(&owner), texts(&other.owner()));
    let tree = at_once.trees[0];
    let [session] = sessions(&other.owner(), tree).try_into().unwrap();
    assert_eq!(session.workspace, "/w");
}

#[test]
fn a_command_of_the_program_titles_no_tree() {
    let text = fs::read_to_string(fixture("pi/session.jsonl")).unwrap();
    for (first, title) in [("/model gpt-5", "Look at the pump."), ("/tmp/a.png is broken", "/tmp/a.png is broken")] {
        let scene = Scene::new(1);
        let owner = scene.owner();
        let next =
            r#"{"type":"message","id":"z1","parentId":"a1","message":{"role":"user","content":"Look at the pump."}}"#;
        let text = text.replace("\"hi there\"", &format!("{first:?}"));
        let lines: Vec<&str> = text.lines().take(2).chain([next]).collect();
        let tree = import_bytes(&owner, ImportOptions::default(), lines.join("\n").as_bytes()).trees[0];
        assert_eq!(owner.loom().tree(tree).unwrap().title, title);
    }
}

#[test]
fn a_changed_message_is_a_version() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let text = fs::read_to_string(fixture("pi/session.jsonl")).unwrap();
    let tree = import_bytes(&owner, ImportOptions::default(), text.as_bytes()).trees[0];
    owner.exclude(find(&nodes(&owner, tree), "hi there").id).unwrap();
    let changed = text.replace("\"hi there\"", "\"hi all\"");
    let second = import_bytes(&owner, ImportOptions::default(), changed.as_bytes());
    assert_eq!((second.versions, second.nodes), (1, 1));
    assert!(find(&nodes(&owner, tree), "hi all").state.excluded, "models still do not read it");
    owner.include(find(&nodes(&owner, tree), "hi all").id).unwrap();
    let all = nodes(&owner, tree);
    let (old, new) = (find(&all, "hi there"), find(&all, "hi all"));
    assert_eq!((new.kind, new.version_of, new.role()), (EdgeKind::Version, Some(old.id), AuthorType::Human));
    // Both texts are known now.
    for text in [&text, &changed] {
        assert_eq!(import_bytes(&owner, ImportOptions::default(), text.as_bytes()).nodes, 0);
    }
    assert_eq!(path(&owner, find(&all, "done"))[0], "hi all", "the path shows the newest version");
    // A purged message does not come back.
    owner.purge(loomtree::store::PurgeTarget::Node(old.id)).unwrap();
    owner.purge(loomtree::store::PurgeTarget::Node(new.id)).unwrap();
    assert_eq!(import_bytes(&owner, ImportOptions::default(), text.as_bytes()).nodes, 0);
    verify(&owner);
}

/// Claude Code writes a reply line by line, with the results of its calls between them.
#[test]
fn a_reply_that_grows_keeps_the_results_of_its_calls() {
    let text = fs::read_to_string(fixture("claude-code/session.jsonl")).unwrap();
    let head: Vec<&str> = text.lines().take(8).collect();
    let (scene, other) = (Scene::new(1), Scene::new(2));
    let (owner, at_once) = (scene.owner(), other.owner());
    import_bytes(&owner, ImportOptions::default(), head.join("\n").as_bytes());
    let grown = import_bytes(&owner, ImportOptions::default(), text.as_bytes());
    import_bytes(&at_once, ImportOptions::default(), text.as_bytes());
    assert!(grown.versions > 0, "{grown:?}");
    let results = |actor: &Actor| {
        let trees = actor.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap();
        let all: Vec<Node> = trees.iter().flat_map(|tree| nodes(actor, tree.id)).collect();
        let reply = all.iter().rfind(|node| node.content.starts_with("I will read b")).unwrap().clone();
        let of_reply = all.iter().filter(|node| node.parent == Some(reply.id) && node.kind == EdgeKind::Tool);
        of_reply.map(|node| node.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(results(&owner), results(&at_once));
    assert!(results(&owner).contains(&"fn tick() {}".to_owned()), "{:?}", results(&owner));
}

#[test]
fn a_claude_code_session_keeps_its_path_and_its_rewind() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "claude-code/session.jsonl");
    assert_eq!(done.problems.len(), 1, "{:?}", done.problems);
    assert!(done.problems[0].contains("line 23"), "{:?}", done.problems);
    assert_eq!((done.conversations, done.sessions, done.branches), (2, 2, 1));
    assert_eq!(done.left_out.get("progress"), Some(&1));
    let snapshot = owner.loom().snapshot().unwrap();
    let trees = snapshot.trees(TreeFilter::default()).unwrap();
    let tree = trees.iter().find(|tree| tree.title == "The slow clock").unwrap();
    let all = nodes(&owner, tree.id);
    // Four lines of one answer are one message with two calls, and its results are no branches.
    let answer = find(&all, "I will read both files.");
    assert_eq!(answer.tokens, Some(57));
    assert_eq!(find(&all, "Two files matter.").parent, Some(answer.id));
    let result = find(&all, "1 test failed");
    assert_eq!(
        (result.kind, result.parent, result.tool.name.as_deref()),
        (EdgeKind::Tool, Some(answer.id), Some("Bash"))
    );
    assert_eq!(find(&all, "fn tick() {}").parent, Some(answer.id));
    assert_eq!(answer.state.continuations, 1);
    let slow = find(&all, "The tick sleeps too long.");
    assert_eq!((slow.parent, slow.state.continuations), (Some(answer.id), 2));
    // The compaction is a note, and the path continues through it.
    assert_eq!(find(&all, "Conversation compacted").kind, EdgeKind::Context);
    assert_eq!(
        path(&owner, find(&all, "Yes.")),
        [
            "Why is the clock slow? Never use a global variable.",
            "I will read both files.",
            "The tick sleeps too long.",
            "Then ask someone to fix it.",
            "",
            "Is it done?\n[image]",
            "Yes."
        ]
    );
    assert!(find(&all, "Is it done?\n[image]").raw.as_deref().unwrap().contains("AAAA"));
    // Unknown entries are kept.
    assert!(find(&all, "future-entry").metadata.as_ref().unwrap().as_str().contains("\"kept\":true"));
    // The side chain is a tree that the calling message links to.
    let side = trees.iter().find(|other| other.id != tree.id);
    let call = all.iter().find(|node| node.tool.calls.as_ref().is_some_and(|calls| calls.as_str().contains("Task")));
    let links = snapshot.links(call.unwrap().id).unwrap();
    assert_eq!(links[0].target, LinkTarget::Tree(side.unwrap().id));
}

#[test]
fn an_imported_conversation_is_a_session() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "claude-code/session.jsonl");
    let tree = done.trees.iter().find(|tree| owner.loom().tree(**tree).unwrap().title == "The slow clock").unwrap();
    let [session] = sessions(&owner, *tree).try_into().unwrap();
    assert_eq!(
        (session.workspace.as_str(), session.model.as_deref()),
        ("/work/clock", Some("anthropic:claude-sonnet-4-5"))
    );
    let last = find(&nodes(&owner, *tree), "Fixed.").clone();
    assert_eq!((session.position, session.last_active_at), (Some(last.id), last.created_at));
    // Turns are numbered from 1 without a gap; recall finds them by number.
    let turns = owner.loom().turns(session.id, 0, 1_000).unwrap();
    let numbers: Vec<u64> = turns.iter().filter_map(|turn| turn.turn).collect();
    assert_eq!(numbers, (1..=turns.len() as u64).collect::<Vec<_>>());
    let state = owner.loom().snapshot().unwrap().session_state(session.id).unwrap();
    assert_eq!(state.constraints[0].text, "Never use a global variable.");
    assert_eq!(state.current_focus.as_deref(), Some("Fix it yourself."));
    // The conversation continues with the next turn.
    let agents = owner.loom().snapshot().unwrap().agents().unwrap();
    let agent = owner.loom().actor(agents.iter().find(|agent| agent.id() == session.agent).unwrap());
    let next = agent.in_session(session.id).append_turn(NodeDraft::text("Anything else?")).unwrap();
    let next = owner.loom().node(next.nodes[0].id).unwrap();
    assert_eq!((next.parent, next.turn), (Some(last.id), Some(turns.len() as u64 + 1)));
    // A session that moved on stays where it is, although the file is imported again.
    assert_eq!(import(&owner, "claude-code/session.jsonl").nodes, 0);
    assert_eq!(owner.loom().session(session.id).unwrap().position, Some(next.id));
    let found =
        recall::search(&*owner.loom().snapshot().unwrap(), &Query::new("tick sleeps", Scope::Session(session.id)));
    assert!(found.unwrap().hits[0].node.turn.is_some());
}

#[test]
fn a_resumed_file_continues_the_tree_of_the_first() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let first = import(&owner, "claude-code/session.jsonl");
    let resumed = import(&owner, "claude-code/resumed.jsonl");
    assert_eq!((resumed.nodes, resumed.skipped, resumed.problems.len()), (2, 1, 0), "{resumed:?}");
    assert!(first.trees.contains(&resumed.trees[0]));
    let all = nodes(&owner, resumed.trees[0]);
    assert!(path(&owner, find(&all, "Added.")).contains(&"Fixed.".to_owned()));
    assert_eq!(sessions(&owner, resumed.trees[0]).len(), 2);
    assert_eq!(owner.loom().tree(resumed.trees[0]).unwrap().title, "The slow clock");
}

#[test]
fn a_resumed_file_may_come_before_the_first() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    import(&owner, "claude-code/resumed.jsonl");
    let first = import(&owner, "claude-code/session.jsonl");
    // The messages that both have are in the tree of the resumed file, where the session of the first file is not.
    assert!(!first.problems.iter().any(|problem| problem.contains("another tree")), "{:?}", first.problems);
    for session in first.trees.iter().flat_map(|tree| sessions(&owner, *tree)) {
        let position = session.position.map(|node| owner.loom().node(node).unwrap().tree);
        assert!(position.is_none_or(|tree| tree == session.tree), "{session:?}");
    }
}

#[test]
fn openai_chats_with_the_same_opening_are_branches_of_one_tree() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "openai-chat/chats.jsonl");
    assert_eq!((done.trees.len(), done.branches, done.problems.len()), (2, 1, 1), "{done:?}");
    let tree = |title: &str| owner.loom().find_tree(title).unwrap().id;
    let all = nodes(&owner, tree("river"));
    let river = find(&all, "Name a river.");
    assert_eq!(river.state.continuations, 2);
    assert_eq!(find(&all, "You are brief.").author_type, AuthorType::System);
    let lake = find(&all, "Lake Constance");
    assert_eq!((lake.kind, lake.tool.call_id.as_deref()), (EdgeKind::Tool, Some("c1")));
    assert_eq!(find(&all, "The tool said so.").kind, EdgeKind::Thought);
    assert_eq!(path(&owner, find(&all, "Lake Constance.")).len(), 6);
    // Replies that name no model are not the owner's.
    let agents = owner.loom().snapshot().unwrap().agents().unwrap();
    let author = |node: &Node| agents.iter().find(|agent| agent.id() == node.author).unwrap().name();
    let both = [all, nodes(&owner, tree("See this"))].concat();
    let replies: BTreeSet<&str> =
        both.iter().filter(|node| node.author_type == AuthorType::Model).map(author).collect();
    assert!(!replies.contains("owner"), "{replies:?}");
    assert!(replies.contains("assistant"), "{replies:?}");
    assert_eq!(find(&nodes(&owner, tree("See this")), "See this.\n[image_url]").author_type, AuthorType::Human);
}

#[test]
fn a_chatgpt_export_keeps_branches_and_position() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "chatgpt/conversations.json");
    assert_eq!((done.conversations, done.trees.len()), (2, 2), "{:?}", done.problems);
    let problems = done.problems.join("\n");
    for expected in ["entry 2: it has no mapping", "its parent \"gone\" is missing", "among its own ancestors"] {
        assert!(problems.contains(expected), "{problems}");
    }
    let tree = owner.loom().find_tree("Boats").unwrap().id;
    let all = nodes(&owner, tree);
    let [first, second] = ["A boat.", "A red boat."].map(|text| find(&all, text));
    assert_eq!(first.parent, second.parent);
    assert_eq!(
        path(&owner, find(&all, "One boat.")),
        ["What is in the picture?", "A boat.", "[image_asset_pointer]\nAnd here?", "", "print(1)", "One boat."]
    );
    let output = find(&all, "1");
    assert_eq!((output.kind, output.tool.name.as_deref()), (EdgeKind::Tool, Some("python")));
    assert_eq!(find(&all, "Looking\nIt floats.").kind, EdgeKind::Thought);
    assert!(find(&all, "One boat.").interrupted);
    assert_eq!(sessions(&owner, tree)[0].position, Some(find(&all, "One boat.").id));
    assert_eq!(owner.loom().find_tree("Only a question").unwrap().counts.nodes, 2);
}

#[test]
fn a_claude_ai_export_keeps_attachments_results_and_chains() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "claude-ai/conversations.json");
    assert_eq!((done.trees.len(), done.problems.len()), (2, 1), "{:?}", done.problems);
    let tree = owner.loom().find_tree("Bread").unwrap().id;
    let all = nodes(&owner, tree);
    let question = find(&all, "How long does bread rise?\n[recipe.txt]\n500 g flour\n[loaf.png]");
    assert_eq!(question.state.continuations, 2);
    let result = all.iter().find(|node| node.kind == EdgeKind::Tool).unwrap();
    assert_eq!((result.content.as_str(), result.tool.name.as_deref()), ("Two hours.", Some("web_search")));
    let answer = all.iter().find(|node| node.tool.calls.is_some()).unwrap();
    assert_eq!(sessions(&owner, tree)[0].position, Some(answer.id));
    let old = owner.loom().find_tree("An old chat").unwrap().id;
    assert_eq!(path(&owner, find(&nodes(&owner, old), "Without parents.")).len(), 2);
}

#[test]
fn a_rollback_of_codex_is_a_branch() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "codex/rollout-2026-03-01T10-00-00-0001.jsonl");
    assert_eq!((done.branches, done.problems.len()), (1, 1), "{:?}", done.problems);
    let all = nodes(&owner, done.trees[0]);
    let (delete, rename) = (find(&all, "Delete it."), find(&all, "Rename it."));
    assert_eq!((delete.parent, delete.turn < rename.turn), (rename.parent, true));
    assert_eq!(find(&all, "a.rs").tool.call_id.as_deref(), Some("call-1"));
    assert!(find(&all, "no").metadata.as_ref().unwrap().as_str().contains("\"failed\":true"));
    assert_eq!(find(&all, "Use ls.").kind, EdgeKind::Thought);
    assert_eq!(path(&owner, find(&all, "Thanks.")).first().unwrap(), "List the files.");
    let [session] = sessions(&owner, done.trees[0]).try_into().unwrap();
    assert_eq!((session.model.as_deref(), session.workspace.as_str()), (Some("openai:gpt-5-codex"), "/work/cli"));
}

#[test]
fn a_rewind_of_gemini_is_a_branch_and_a_repeated_id_a_version() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "gemini/session-2026-03-01T10-00-abcd.jsonl");
    assert_eq!((done.branches, done.versions, done.problems.len()), (1, 1, 1), "{:?}", done.problems);
    assert_eq!(owner.loom().tree(done.trees[0]).unwrap().title, "Distances in space");
    let all = nodes(&owner, done.trees[0]);
    assert_eq!(find(&all, "384,400 km.").version_of, Some(find(&all, "Far.").id));
    assert_eq!(find(&all, "And the sun?").parent, find(&all, "And Mars?").parent);
    assert_eq!(
        path(&owner, find(&all, "It varies.")),
        ["How far is the moon?", "384,400 km.", "And Mars?", "It varies."]
    );
    assert_eq!(find(&all, "384400").kind, EdgeKind::Tool);
}

#[test]
fn a_chat_of_open_webui_keeps_its_branches_and_reasoning() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let done = import(&owner, "open-webui/chats.json");
    assert_eq!((done.branches, done.problems.len()), (1, 1), "{:?}", done.problems);
    let all = nodes(&owner, done.trees[0]);
    let green = find(&all, "Green.");
    assert_eq!(find(&all, "> taste").parent, Some(green.id));
    assert!(green.raw.as_deref().unwrap().contains("<details"));
    assert_eq!(sessions(&owner, done.trees[0])[0].position, Some(find(&all, "Why?").id));
}

#[test]
fn swipes_are_siblings_and_a_branch_file_joins_its_main_chat() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let names = ["Ada - main.jsonl", "Ada - branch.jsonl"];
    let [main, branch] = names.map(|name| {
        let bytes = fs::read(fixture("silly-tavern").join(name)).unwrap();
        interchange::import(&owner, None, &format!("chats/{name}"), &mut &*bytes, &mut |_| {}).unwrap()
    });
    assert_eq!((main.branches, branch.branches, branch.skipped), (1, 1, 3), "{branch:?}");
    assert_eq!(main.trees, branch.trees);
    let all = nodes(&owner, main.trees[0]);
    let swipes = ["a well.", "a lighthouse.", "a bridge."].map(|end| find(&all, &format!("Once there was {end}")));
    assert!(swipes.iter().all(|swipe| swipe.parent == swipes[0].parent));
    assert_eq!(find(&all, "Go on.").parent, Some(swipes[1].id));
    assert_eq!(find(&all, "Go on.").state.bookmark.as_deref(), Some("Ada - branch"));
    assert_eq!(find(&all, "Light.").parent, Some(swipes[1].id));
}

#[test]
fn an_edited_message_of_silly_tavern_is_a_version() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let chat = fs::read_to_string(fixture("silly-tavern/Bo - dated.jsonl")).unwrap();
    let first = import_bytes(&owner, ImportOptions::default(), chat.as_bytes());
    assert_eq!((first.branches, first.versions), (1, 0), "{first:?}");
    // The application changes the message and its swipe, and keeps the time.
    let edited = chat.replace("A ship came.", "A boat came.").replace("Tell me more.", "Tell me all.");
    let second = import_bytes(&owner, ImportOptions::default(), edited.as_bytes());
    assert_eq!((second.versions, second.nodes, second.branches), (2, 2, 0), "{second:?}");
    let all = nodes(&owner, first.trees[0]);
    assert_eq!(find(&all, "A boat came.").version_of, Some(find(&all, "A ship came.").id));
    assert_eq!(path(&owner, find(&all, "It sank.")), ["Hello, Bo.", "A boat came.", "Tell me all.", "It sank."]);
    // Another swipe is chosen: nothing is new, and the conversation continues there.
    let swiped = edited
        .replace("\"swipe_id\": 1", "\"swipe_id\": 0")
        .replace("\"mes\": \"A boat came.\"", "\"mes\": \"A train came.\"");
    let lines: Vec<&str> = swiped.lines().take(3).collect();
    let third = import_bytes(&owner, ImportOptions::default(), lines.join("\n").as_bytes());
    assert_eq!((third.versions, third.nodes), (0, 0), "{third:?}");
    verify(&owner);
}

#[test]
fn trees_of_other_branching_tools_keep_their_branches_and_marks() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let note = import(&owner, "loomsidian/data.json");
    assert_eq!((note.branches, note.left_out.get("settings")), (2, Some(&1)));
    let all = nodes(&owner, note.trees[0]);
    assert_eq!(path(&owner, find(&all, " Then it sailed.")), ["The ship <Ada> lay still.", " Then it sailed."]);
    assert!(find(&all, "The ship <Ada> lay still.").state.bookmark.is_some());
    assert_eq!(sessions(&owner, note.trees[0])[0].position, Some(find(&all, " Then it sailed.").id));
    assert!(!export(&owner).contains("sk-never-read"));

    let garden = import(&owner, "exoloom/tree.json");
    let all = nodes(&owner, garden.trees[0]);
    let (wall, none) = (find(&all, " It had a wall."), find(&all, " It had no wall."));
    assert_eq!((wall.author_type, wall.state.bookmark.is_some()), (AuthorType::Model, true));
    assert_eq!(none.state.hidden_by, Some(none.id));

    let night = import(&owner, "pyloom/tree.json");
    let all = nodes(&owner, night.trees[0]);
    assert_eq!(path(&owner, find(&all, " So I left.")), ["It was night.", " No one came.", " So I left."]);
    assert_eq!(find(&all, " A dog barked.").author_type, AuthorType::Model);
    assert_eq!(sessions(&owner, night.trees[0])[0].position, Some(find(&all, " So I left.").id));

    let road = import(&owner, "basemode-loom/export.json");
    let all = nodes(&owner, road.trees[0]);
    assert!(find(&all, " went down.").state.excluded && find(&all, " went up.").state.bookmark.is_some());
    assert_eq!(find(&all, "A note.").kind, EdgeKind::Context);
    assert_eq!(sessions(&owner, road.trees[0])[0].position, Some(find(&all, " went up.").id));
    verify(&owner);
}

#[test]
fn chats_of_librechat_and_llama_cpp_keep_their_branches() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let colours = import(&owner, "librechat/tree.json");
    let all = nodes(&owner, colours.trees[0]);
    let blue = find(&all, "Blue.");
    assert_eq!((blue.interrupted, find(&all, "Not red.").parent), (true, Some(blue.id)));
    assert_eq!(find(&all, "Name a colour.").state.continuations, 2);

    let stones = import(&owner, "llama-app/export.jsonl");
    assert_eq!((stones.conversations, stones.trees.len(), stones.problems.len()), (2, 1, 0), "{stones:?}");
    let all = nodes(&owner, stones.trees[0]);
    assert_eq!(find(&all, "Name a stone.").state.continuations, 2);
    assert_eq!(find(&all, "Hard.").kind, EdgeKind::Thought);
    assert_eq!(sessions(&owner, stones.trees[0])[0].position, Some(find(&all, "Basalt.").id));
}

#[test]
fn databases_of_other_programs_are_read() {
    let scene = Scene::of_file(1);
    let owner = scene.owner();
    let answers = import(&owner, "llm/responses.sql");
    assert_eq!((answers.conversations, answers.problems.len()), (2, 0), "{answers:?}");
    let all = nodes(&owner, owner.loom().find_tree("Capitals").unwrap().id);
    let santiago = find(&all, "Santiago.");
    assert_eq!(path(&owner, santiago), ["Be brief.", "Capital of Peru?", "Lima.", "And of Chile?", "Santiago."]);
    assert_eq!(santiago.tokens, Some(4));
    // A forked thread is a branch of the first one's tree.
    let threads = import(&owner, "llm/threads.sql");
    assert_eq!((threads.trees.len(), threads.sessions, threads.branches), (1, 2, 1), "{threads:?}");
    let all = nodes(&owner, threads.trees[0]);
    assert_eq!(find(&all, "How many trees?").state.continuations, 2);
    assert_eq!((find(&all, "7").kind, find(&all, "Count them.").kind), (EdgeKind::Tool, EdgeKind::Thought));
    // A sub-session of opencode is a tree of its own.
    let code = import(&owner, "opencode/opencode.sql");
    assert_eq!((code.trees.len(), code.problems.len()), (2, 0), "{code:?}");
    let tree = owner.loom().find_tree("A failing test").unwrap().id;
    let all = nodes(&owner, tree);
    assert_eq!(find(&all, "exit code 2").tool.name.as_deref(), Some("bash"));
    let [session] = sessions(&owner, tree).try_into().unwrap();
    assert_eq!(
        (session.workspace.as_str(), session.model.as_deref()),
        ("/work/oc", Some("anthropic:claude-sonnet-4-5"))
    );
    let coffee = import(&owner, "open-webui/webui.sql");
    assert_eq!(path(&owner, find(&nodes(&owner, coffee.trees[0]), "Arabica.")), ["Beans?", "Arabica."]);
    let nothing = scene.path.with_file_name("nothing.db");
    fs::write(&nothing, "SQLite format 3\0 and nothing").unwrap();
    assert!(interchange::import_database(&owner, ImportOptions::default(), "made", &nothing).is_err());
    assert!(
        interchange::import_database(&owner, ImportOptions::default(), "made", &scene.path).is_err(),
        "an own database is none"
    );
}
