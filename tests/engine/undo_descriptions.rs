//! Descriptions of undo and redo: each operation of an agent is described when it is undone and redone.

#![allow(clippy::unwrap_used, clippy::expect_used)] // what fails here fails the test

use crate::support;

use std::collections::BTreeSet;

use loomtree::{
    exec::escape::quoted,
    id::{LocalId, NodeId},
    interchange::{self, jsonl},
    ops::{Actor, DocumentEdit, NodeDraft, OpDescription, SplitAt, TreeDraft, describe_entry, tree_history},
    session_state::RecordKind,
    store::{JournalFilter, PurgeTarget},
    types::{LinkTarget, Mode, NewAgent, Op, Parent, PinTarget, StashContent, TreePatch},
};
use support::store::Scene;

fn words(told: &OpDescription, known: &[(NodeId, &str)], actor: &Actor) -> String {
    let name = |id: &LocalId| {
        let found = known.iter().find(|(node, _)| actor.loom().node(*node).unwrap().local == *id);
        found.map_or("NEW", |(_, name)| *name).to_owned()
    };
    told.words(&name, &quoted)
}

#[test]
fn every_operation_is_described_when_it_is_undone() {
    let scene = Scene::new(3);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root").title("A study")).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let actor = owner.clone().in_session(session);
    let add = |at, text: &str| actor.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id;
    let one = add(root.id, "one two");
    let two = add(root.id, "another");
    let end = add(one, "the end");
    let known = [(root.id, "ROOT"), (one, "ONE"), (two, "TWO"), (end, "END")];
    let id = tree.id;
    let link = || LinkTarget::Node(two);
    let pin = || PinTarget::Node(one);
    let patch = || TreePatch::default().description(Some("what for".to_owned()));
    let notes = actor.create_document("the notes", "# One\nwords").unwrap();
    let helper = NewAgent { name: "helper".to_owned(), ..actor.loom().agent("subject").unwrap().profile };
    let helper = NewAgent { id: actor.loom().agent_id(), ..helper };
    let changed = NewAgent { model: Some("other:model".to_owned()), ..helper.clone() };
    let document = || PinTarget::Document { id: notes, section: None };
    type Does<'a> = Box<dyn Fn() + 'a>;
    let steps: Vec<(&str, Does<'_>)> = vec![
        ("created the document \"the notes\"", Box::new(|| ())),
        ("responded to ONE as NEW", Box::new(|| assert_ne!(add(one, "more"), one))),
        ("annotated ONE as NEW", Box::new(|| drop(actor.annotate(one, "a note").unwrap()))),
        ("edited ONE as NEW", Box::new(|| drop(actor.edit(one, "otherwise").unwrap()))),
        ("bookmarked ONE", Box::new(|| drop(actor.bookmark(one, "here").unwrap()))),
        ("changed the bookmark of ONE", Box::new(|| drop(actor.bookmark(one, "there").unwrap()))),
        ("changed the bookmark of ONE", Box::new(|| drop(actor.unbookmark(one).unwrap()))),
        ("pruned TWO", Box::new(|| drop(actor.prune(two).unwrap()))),
        ("restored TWO", Box::new(|| drop(actor.restore(two).unwrap()))),
        ("excluded ONE", Box::new(|| drop(actor.exclude(one).unwrap()))),
        ("included ONE", Box::new(|| drop(actor.include(one).unwrap()))),
        ("linked ONE", Box::new(|| drop(actor.link(one, link(), None).unwrap()))),
        ("unlinked ONE", Box::new(|| drop(actor.unlink(one, &link()).unwrap()))),
        ("merged into NEW", Box::new(|| drop(actor.merge(&[one, two], "both").unwrap()))),
        ("split ONE as NEW", Box::new(|| drop(actor.split(one, &SplitAt::Character(3)).unwrap()))),
        ("copied to NEW", Box::new(|| drop(actor.copy_branch(two, end).unwrap()))),
        ("moved to NEW", Box::new(|| drop(actor.move_branch(two, end).unwrap()))),
        ("changed the tree \"A study\"", Box::new(|| drop(actor.rename(id, patch()).unwrap()))),
        ("archived the tree \"A study\"", Box::new(|| drop(actor.archive_tree(id).unwrap()))),
        ("unarchived the tree \"A study\"", Box::new(|| drop(actor.unarchive_tree(id).unwrap()))),
        (
            "wrote the document \"the notes\"",
            Box::new(|| drop(actor.write_document(notes, &DocumentEdit::Append("more".to_owned())).unwrap())),
        ),
        ("reverted the document \"the notes\"", Box::new(|| drop(actor.revert_document(notes, 1).unwrap()))),
        ("pinned \"the notes\"", Box::new(|| drop(actor.pin(id, document()).unwrap()))),
        ("pinned ONE", Box::new(|| drop(actor.pin(id, pin()).unwrap()))),
        ("dropped pin ONE", Box::new(|| drop(actor.unpin(id, pin()).unwrap()))),
        (
            "stashed \"aside\"",
            Box::new(|| drop(actor.stash(id, "aside", StashContent::Words("w".to_owned())).unwrap())),
        ),
        ("stashed \"aside\"", Box::new(|| drop(actor.stash(id, "aside", StashContent::Node(one)).unwrap()))),
        ("dropped stash \"aside\"", Box::new(|| drop(actor.unstash(id, "aside").unwrap()))),
        ("decided", Box::new(|| drop(actor.record(RecordKind::Decision, "so be it").unwrap()))),
        ("removed the document \"the notes\"", Box::new(|| drop(actor.remove_document(notes).unwrap()))),
        ("created the agent \"helper\"", Box::new(|| drop(actor.create_agent(helper.clone()).unwrap()))),
        ("changed the agent \"helper\"", Box::new(|| drop(actor.update_agent(changed.clone()).unwrap()))),
        ("removed the agent \"helper\"", Box::new(|| drop(actor.remove_agent(helper.id).unwrap()))),
        (
            "continued from ONE as NEW",
            Box::new(|| {
                let node = actor.draft(Parent::Node(one), NodeDraft::text("generated"));
                actor.commit(Op::Generate, vec![loomtree::store::Mutation::Append(Box::new(node))]).unwrap();
            }),
        ),
    ];
    let mut played = BTreeSet::new();
    for (named, does) in &steps {
        does();
        let undone = actor.undo(Some(id)).unwrap();
        assert_eq!(words(&undone.description, &known, &actor), *named);
        played.insert(undone.target.entry.op);
        let again = actor.redo(Some(id)).unwrap();
        assert_eq!(words(&again.description, &known, &actor), *named);
        // The log describes the undo and the redo in the same way.
        let snapshot = actor.loom().snapshot().unwrap();
        let entries = snapshot.journal(JournalFilter::default().limit(40)).unwrap();
        let group = |op| entries.iter().find(|entry| entry.op == op && entry.seq == entry.group).unwrap();
        let told = |op| words(&describe_entry(&*snapshot, group(op)).unwrap(), &known, &actor);
        assert_eq!(told(Op::Undo), format!("undid: {named}"));
        assert_eq!(told(Op::Redo), format!("redid: {named}"));
    }
    let (other, _) = owner.create_tree(TreeDraft::new("root").title("Next").mode(Mode::Buffer)).unwrap();
    let undone = owner.undo(Some(other.id)).unwrap();
    assert_eq!(words(&undone.description, &known, &actor), "began the tree \"Next\"");
    played.insert(undone.target.entry.op);
    let elsewhere = Scene::new(9).owner();
    let (story, _) = elsewhere.create_tree(TreeDraft::new("once").title("Told")).unwrap();
    let mut lines = Vec::new();
    jsonl::export(&*elsewhere.loom().snapshot().unwrap(), &[story.id], &mut lines).unwrap();
    interchange::import(&owner, None, "story.jsonl", &mut lines.as_slice(), &mut |_| {}).unwrap();
    let undone = owner.undo(Some(story.id)).unwrap();
    assert_eq!(words(&undone.description, &known, &actor), "imported the tree \"Told\"");
    played.insert(undone.target.entry.op);
    let all: BTreeSet<Op> = Op::ALL.iter().copied().filter(|op| op.can_be_undone()).collect();
    assert_eq!(played, all);
    assert_eq!(actor.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn undo_skips_operations_on_purged_content() {
    let scene = Scene::of_file(4);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let one = owner.append(Parent::Node(root.id), NodeDraft::text("one")).unwrap().nodes[0].id;
    owner.annotate(root.id, "stays").unwrap();
    owner.stash(tree.id, "secret", StashContent::Words("the secret words".to_owned())).unwrap();
    owner.unstash(tree.id, "secret").unwrap();
    owner.bookmark(one, "secret label").unwrap();
    owner.unbookmark(one).unwrap();
    owner.purge(PurgeTarget::Node(one)).unwrap();
    assert_eq!(owner.undo(Some(tree.id)).unwrap().target.entry.op, Op::Annotate);
    let file = std::fs::read(&scene.path).unwrap();
    let has = |words: &str| file.windows(words.len()).any(|bytes| bytes == words.as_bytes());
    assert!(!has("the secret words") && !has("secret label"));
}

#[test]
fn pages_of_a_history_hold_the_documents_of_its_sessions_however_many_others_there_are() {
    let scene = Scene::new(3);
    let owner = scene.owner();
    let own = |title: &str| {
        let (tree, root) = owner.create_tree(TreeDraft::new("root").title(title)).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        (tree, root, owner.clone().in_session(session))
    };
    let (tree, root, actor) = own("mine");
    let (_, _, other) = own("other");
    actor.create_document("mine", "words").unwrap();
    let notes = other.create_document("theirs", "words").unwrap();
    for _ in 0..300 {
        other.write_document(notes, &DocumentEdit::Append("more".to_owned())).unwrap();
    }
    for _ in 0..4 {
        actor.append(Parent::Node(root.id), NodeDraft::text("a line")).unwrap();
    }
    let snapshot = owner.loom().snapshot().unwrap();
    let all = tree_history(&*snapshot, tree.id, 0, 1_000).unwrap();
    assert_eq!(all.iter().filter(|entry| entry.op == Op::WriteDocument).count(), 1);
    for size in [1, 3, 500] {
        let (mut pages, mut before) = (Vec::new(), 0);
        loop {
            let page = tree_history(&*snapshot, tree.id, before, size).unwrap();
            let Some(last) = page.last() else { break };
            before = last.seq;
            pages.extend(page);
        }
        assert_eq!(pages, all, "pages of {size}");
    }
}
