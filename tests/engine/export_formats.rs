//! Exports for other programs: their bytes, and that nothing leaves that was hidden.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use loomtree::{
    id::{NodeId, TreeId},
    interchange::{
        self,
        export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice},
    },
    ops::{Actor, NodeDraft, SplitAt, TreeDraft},
    store::{ChildFilter, Mutation, PurgeTarget},
    types::{AuthorType, EdgeKind, Json, Mode, Op, Parent},
};
use serde_json::{Value, json};
use support::store::Scene;

/// A dialogue with two replies, of which one is continued, and with one node of each kind that is left out.
struct Sample {
    owner: Actor,
    tree: TreeId,
    end: NodeId,
}

fn sample(scene: &Scene) -> Sample {
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Name a <b>river</b>.").title("Rivers & \"lakes\"")).unwrap();
    let add = |parent: NodeId, draft: NodeDraft| owner.append(Parent::Node(parent), draft).unwrap().nodes[0].id;
    let model = |text: &str| NodeDraft::text(text).author_type(AuthorType::Model);
    let elbe = add(root.id, model("The Elbe."));
    add(root.id, model("The Nile."));
    let pruned = add(root.id, model("PRUNED"));
    owner.prune(pruned).unwrap();
    let mut thought = owner.draft(Parent::Node(elbe), model("THOUGHT"));
    thought.kind = EdgeKind::Thought;
    owner.commit(Op::Append, vec![Mutation::Append(Box::new(thought))]).unwrap();
    owner.annotate(elbe, "NOTE").unwrap();
    let excluded = add(elbe, NodeDraft::text("EXCLUDED"));
    owner.exclude(excluded).unwrap();
    let purged = add(excluded, NodeDraft::text("PURGED"));
    owner.purge(PurgeTarget::Node(purged)).unwrap();
    let calls = r#"[{"id":"c1","name":"lakes","input":{"n":1}},{"id":"c2","name":"lakes","input":{}}]"#;
    let mut call = owner.draft(Parent::Node(purged), model(""));
    call.tool.calls = Some(Json::parse(calls).unwrap());
    let call_id = call.id;
    let mut result = owner.draft(Parent::Node(call_id), NodeDraft::text("Lake Constance"));
    (result.kind, result.author_type) = (EdgeKind::Tool, AuthorType::Tool);
    (result.tool.call_id, result.tool.name) = (Some("c1".to_owned()), Some("lakes".to_owned()));
    let mutations = [call, result].map(|node| Mutation::Append(Box::new(node)));
    owner.commit(Op::Append, mutations.into()).unwrap();
    let end = add(call_id, model("Lake Constance."));
    Sample { owner, tree: tree.id, end }
}

fn write(sample: &Sample, format: ExportFormat, options: ExportOptions) -> (String, ExportReport) {
    let snapshot = sample.owner.loom().snapshot().unwrap();
    let mut out = Vec::new();
    let report = export::write(&*snapshot, sample.tree, format, options, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), report)
}

const HIDDEN: [&str; 5] = ["PRUNED", "THOUGHT", "NOTE", "EXCLUDED", "PURGED"];

#[test]
fn what_is_hidden_never_leaves_unless_it_is_included() {
    let scene = Scene::new(1);
    let sample = sample(&scene);
    for (name, format) in ExportFormat::NAMES {
        let (text, report) = write(&sample, *format, ExportOptions::default());
        assert!(HIDDEN.iter().all(|hidden| !text.contains(hidden)), "{name}: {text}");
        assert!(report.written > 0 && !report.left_out.is_empty(), "{name}: {report:?}");
        assert_eq!(write(&sample, *format, ExportOptions::default()).0, text, "{name} is deterministic");
    }
    let all = ExportOptions::default().pruned(true).excluded(true).thoughts(true);
    let (text, report) = write(&sample, ExportFormat::OpenAiChat, all);
    for included in ["PRUNED", "THOUGHT", "EXCLUDED"] {
        assert!(text.contains(included), "{included}: {text}");
    }
    assert!(!text.contains("PURGED") && !text.contains("NOTE"));
    assert_eq!(report.left_out.get("purged"), Some(&1));
    let (notes, _) =
        export::notes(&*sample.owner.loom().snapshot().unwrap(), sample.tree, ExportOptions::default()).unwrap();
    assert!(notes.iter().all(|(_, text)| HIDDEN.iter().all(|hidden| !text.contains(hidden))));
}

#[test]
fn a_conversation_is_a_line_of_chat_messages() {
    let scene = Scene::new(1);
    let sample = sample(&scene);
    let one = ExportOptions::default().leaves(LeafChoice::One(sample.end));
    let (text, report) = write(&sample, ExportFormat::OpenAiChat, one);
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "lakes", "arguments": "{\"n\":1}" } });
    assert_eq!(
        line["messages"],
        json!([
            { "role": "user", "content": "Name a <b>river</b>." },
            { "role": "assistant", "content": "The Elbe." },
            { "role": "assistant", "content": "", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "c1", "content": "Lake Constance" },
            { "role": "assistant", "content": "Lake Constance." }
        ])
    );
    assert_eq!(report.left_out.get("tool calls without a result"), Some(&1));
    let (text, _) = write(&sample, ExportFormat::ShareGpt, one);
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(line["conversations"][1], json!({ "from": "gpt", "value": "The Elbe." }));
    // Every leaf is a line of its own; bookmarked nodes on the path of another one are none.
    assert_eq!(write(&sample, ExportFormat::OpenAiChat, ExportOptions::default()).0.lines().count(), 2);
    sample.owner.bookmark(sample.end, "end").unwrap();
    let root = sample.owner.loom().tree(sample.tree).unwrap().root.unwrap();
    sample.owner.bookmark(root, "start").unwrap();
    let marked = ExportOptions::default().leaves(LeafChoice::Bookmarked);
    let (text, report) = write(&sample, ExportFormat::OpenAiChat, marked);
    assert_eq!((text.lines().count(), report.left_out.get("bookmarks on the path of another one")), (1, Some(&1)));
}

/// An export that is imported and exported again has the same bytes.
#[test]
fn chat_messages_survive_an_import() {
    let scene = Scene::new(1);
    let sample = sample(&scene);
    let first = write(&sample, ExportFormat::OpenAiChat, ExportOptions::default()).0;
    let other = Scene::new(2);
    let owner = other.owner();
    let done = interchange::import(&owner, None, "x", &mut first.as_bytes(), &mut |_| {}).unwrap();
    assert_eq!((done.trees.len(), done.branches, done.problems.len()), (1, 1, 0));
    let again = Sample { owner, tree: done.trees[0], end: sample.end };
    let mut lines: Vec<String> =
        write(&again, ExportFormat::OpenAiChat, ExportOptions::default()).0.lines().map(str::to_owned).collect();
    let mut expected: Vec<String> = first.lines().map(str::to_owned).collect();
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn the_continued_or_bookmarked_reply_is_preferred() {
    let scene = Scene::new(1);
    let sample = sample(&scene);
    let (text, _) = write(&sample, ExportFormat::Preference, ExportOptions::default());
    let pair: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(pair["prompt"], json!([{ "role": "user", "content": "Name a <b>river</b>." }]));
    assert_eq!(pair["chosen"], json!([{ "role": "assistant", "content": "The Elbe." }]));
    assert_eq!(pair["rejected"], json!([{ "role": "assistant", "content": "The Nile." }]));
    // A bookmark counts more than a continuation.
    let root = sample.owner.loom().tree(sample.tree).unwrap().root.unwrap();
    let snapshot = sample.owner.loom().snapshot().unwrap();
    let replies = snapshot.children(root, &ChildFilter::default()).unwrap();
    drop(snapshot);
    sample.owner.bookmark(replies[1].id, "better").unwrap();
    let (text, _) = write(&sample, ExportFormat::OpenAiPreference, ExportOptions::default().pruned(true));
    let pairs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pairs.len(), 2, "{text}");
    assert!(pairs.iter().all(|pair| pair["preferred_output"][0]["content"] == "The Nile."));
    assert_eq!(pairs[1]["non_preferred_output"][0]["content"], "PRUNED");
    assert_eq!(pairs[0]["input"]["messages"][0]["role"], "user");
    // The prompt and the replies have the newest text, and of a split all parts.
    let halves = sample.owner.split(replies[0].id, &SplitAt::After("The ".to_owned())).unwrap().nodes;
    sample.owner.edit(halves[0].id, "That ").unwrap();
    sample.owner.edit(root, "Name a lake.").unwrap();
    let (text, _) = write(&sample, ExportFormat::Preference, ExportOptions::default());
    let pair: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(pair["prompt"], json!([{ "role": "user", "content": "Name a lake." }]));
    assert_eq!(pair["rejected"][0]["content"], "That Elbe.");
}

/// Nodes of an exported page as JSON.
fn page_nodes(sample: &Sample, options: ExportOptions) -> Vec<Value> {
    let (page, _) = write(sample, ExportFormat::Html, options);
    let json = page.split("id=\"tree\">").nth(1).unwrap().split("</script>").next().unwrap();
    let saved: Value = serde_json::from_str(json).unwrap();
    saved["nodes"].as_array().unwrap().clone()
}

/// Texts of the notes of a tree.
fn notes(sample: &Sample, options: ExportOptions) -> Vec<String> {
    let notes = export::notes(&*sample.owner.loom().snapshot().unwrap(), sample.tree, options).unwrap().0;
    notes.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_split_text_is_exported_whole() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Once upon a time")).unwrap();
    let add =
        |parent: NodeId, text: &str| owner.append(Parent::Node(parent), NodeDraft::text(text)).unwrap().nodes[0].id;
    let split = |node: NodeId, after: &str| {
        let halves = owner.split(node, &SplitAt::After(after.to_owned())).unwrap().nodes;
        [halves[0].id, halves[1].id]
    };
    let middle = add(root.id, "red green blue");
    let end = add(middle, "The end.");
    let sample = Sample { owner: owner.clone(), tree: tree.id, end };
    let [start, _] = split(root.id, "Once");
    owner.edit(start, "Twice").unwrap();
    let [first, _] = split(middle, "green");
    split(first, "red");
    let aside = add(first, "An aside.");
    owner.edit(owner.loom().snapshot().unwrap().versions(first).unwrap()[1].parent.unwrap(), "RED").unwrap();

    let nodes = page_nodes(&sample, ExportOptions::default());
    let texts = |of: usize| -> Vec<String> {
        let is_shown = |at: usize, node: &Value| at == of || node["version_of"] == of;
        let shown = nodes.iter().enumerate().filter(|(at, node)| is_shown(*at, node));
        shown.map(|(_, node)| node["markdown"].to_string()).collect()
    };
    let at = |id: NodeId| nodes.iter().position(|node| node["id"] == id.to_string()).unwrap();
    for (place, original, whole) in
        [(root.id, "Once upon a time", "Twice upon a time"), (middle, "red green blue", "RED green blue")]
    {
        let texts = texts(at(place));
        assert!(texts.len() == 2 && texts[0].contains(original) && texts[1].contains(whole), "{texts:?}");
    }
    // A continuation of a part is no tree of its own.
    assert_eq!(nodes[at(aside)]["parent"], at(middle));
    assert_eq!(nodes.iter().filter(|node| node["parent"].is_null() && node["version_of"].is_null()).count(), 1);

    let notes = notes(&sample, ExportOptions::default());
    assert!(notes[0].contains("\nTwice upon a time\n") && notes[0].contains("\nRED green blue\n"), "{notes:?}");
    assert_eq!(notes.len(), 3, "{notes:?}");
    for format in [ExportFormat::Dot, ExportFormat::Mermaid] {
        let (drawing, _) = write(&sample, format, ExportOptions::default());
        assert!(drawing.contains("Twice upon a time"), "{drawing}");
    }
}

#[test]
fn a_version_is_exported_only_in_place_of_its_original() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Root").mode(Mode::Buffer)).unwrap();
    let add =
        |parent: NodeId, text: &str| owner.append(Parent::Node(parent), NodeDraft::text(text)).unwrap().nodes[0].id;
    let middle = add(root.id, "SECRET");
    let end = add(middle, "The end.");
    let edit = owner.edit(middle, "Harmless").unwrap().nodes[0].id;
    owner.purge(PurgeTarget::Node(middle)).unwrap();
    let undone = owner.edit(end, "UNDONE").unwrap().nodes[0].id;
    owner.prune(undone).unwrap();
    let sample = Sample { owner, tree: tree.id, end };
    let options = ExportOptions::default().pruned(true);
    let notes = notes(&sample, options);
    let at = |text: &str| notes[0].find(text).unwrap_or_else(|| panic!("{text}: {notes:?}"));
    assert!(at("\nRoot\n") < at("\nHarmless\n") && at("Harmless") < at("\nThe end.\n"));
    assert!(!notes[0].contains("UNDONE"));
    let nodes = page_nodes(&sample, options);
    assert_eq!(nodes.len(), 4, "{nodes:?}");
    assert_eq!((nodes[1]["id"].as_str(), &nodes[1]["parent"]), (Some(edit.to_string().as_str()), &json!(0)));
    assert_eq!((&nodes[2]["parent"], &nodes[3]["version_of"]), (&json!(1), &json!(2)));
}

#[test]
fn drawings_notes_and_pages_escape_content() {
    let scene = Scene::new(1);
    let sample = sample(&scene);
    let (dot, _) = write(&sample, ExportFormat::Dot, ExportOptions::default());
    assert!(dot.starts_with("digraph tree {") && dot.contains("n0 -> n1;") && dot.contains("(3 nodes)"), "{dot}");
    let (mermaid, _) = write(&sample, ExportFormat::Mermaid, ExportOptions::default());
    assert!(mermaid.contains("n0[\"Name a #lt;b#gt;river#lt;/b#gt;.\"]"), "{mermaid}");
    let (page, _) = write(&sample, ExportFormat::Html, ExportOptions::default());
    assert!(page.contains("<title>Rivers &amp; &quot;lakes&quot;</title>") && !page.contains("<b>river"));
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2), "content ends no element");
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("unsafe-inline"));
    assert_eq!(
        write(&sample, ExportFormat::Html, ExportOptions::default()).0,
        page,
        "the same tree gives the same bytes"
    );
    let json = page.split("id=\"tree\">").nth(1).unwrap().split("</script>").next().unwrap();
    let saved: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!(saved["nodes"].to_string().contains("river") && saved["tree"]["title"] == "Rivers & \"lakes\"");
    let (notes, report) =
        export::notes(&*sample.owner.loom().snapshot().unwrap(), sample.tree, ExportOptions::default()).unwrap();
    assert_eq!((notes.len() as u64, notes.len()), (report.written, 3));
    assert!(notes[0].0.starts_with("Name a briverb."), "{:?}", notes[0].0);
    let link = format!("[[{}]]", notes[1].0.trim_end_matches(".md"));
    assert!(notes[0].1.contains(&link), "{}", notes[0].1);
}

#[test]
fn a_buffer_is_no_conversation() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Once").mode(Mode::Buffer)).unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    let options = ExportOptions::default().leaves(LeafChoice::One(root.id));
    let refused = export::write(&*snapshot, tree.id, ExportFormat::OpenAiChat, options, &mut Vec::new());
    assert!(refused.unwrap_err().to_string().contains("prose"));
    export::write(&*snapshot, tree.id, ExportFormat::Html, options, &mut Vec::new()).unwrap();
}
