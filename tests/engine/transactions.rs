//! Transactions: several operations that are committed and undone as one.

// Clippy treats only functions marked #[test] as tests, not their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{panic, sync::mpsc, thread};

use loomtree::{
    id::{NodeId, TreeId},
    ops::{Actor, NodeDraft, OpsError, SplitAt, TreeDraft},
    session_state::RecordKind,
    store::{JournalFilter, PurgeTarget, StoreError},
    types::{LinkTarget, Mode, Parent, PinTarget, SessionPatch, StashContent, TreePatch},
};

use crate::support::store::Scene;

fn scene() -> (Scene, Actor, TreeId, NodeId) {
    let scene = Scene::new(31);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("It began with a storm at sea.")).unwrap();
    (scene, owner, tree.id, root.id)
}

fn last_seq(actor: &Actor) -> u64 {
    let entries = actor.loom().snapshot().unwrap().journal(JournalFilter::default().limit(1)).unwrap();
    entries.first().map_or(0, |entry| entry.seq)
}

fn visible(actor: &Actor, node: NodeId) -> bool {
    actor.loom().node(node).unwrap().state.hidden_by.is_none()
}

fn assert_clean(actor: &Actor) {
    let report = actor.loom().store().verify(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}

#[test]
fn one_undo_reverts_all_operations_of_a_transaction_and_one_redo_repeats_them() {
    let (_scene, owner, tree, root) = scene();
    let before = last_seq(&owner);
    let (one, edit) = owner
        .transaction(|owner| {
            let one = owner.append(root, "A ship ran aground.")?.nodes[0].id;
            owner.annotate(one, "too dry")?;
            // Reads see the operations before them.
            assert_eq!(owner.loom().node(one)?.state.annotations, 1);
            let edit = owner.edit(one, "A ship broke on the rocks.")?.nodes[0].id;
            owner.bookmark(edit, "opening")?;
            owner.link(edit, LinkTarget::Node(root), None)?;
            owner.rename(tree, TreePatch::default().title(Some("Wreck".to_owned())))?;
            Ok((one, edit))
        })
        .unwrap();
    let entries = owner.loom().snapshot().unwrap().journal(JournalFilter::default().after(before));
    let entries = entries.unwrap();
    assert_eq!(entries.len(), 6);
    assert!(entries.iter().all(|entry| entry.group == entries[5].seq), "one group");

    owner.undo(Some(tree)).unwrap();
    assert!(!visible(&owner, one) && !visible(&owner, edit));
    assert!(owner.loom().snapshot().unwrap().links(root).unwrap().is_empty());
    assert_ne!(owner.loom().tree(tree).unwrap().title, "Wreck");
    owner.redo(Some(tree)).unwrap();
    assert!(visible(&owner, one) && visible(&owner, edit));
    assert_eq!(owner.loom().tree(tree).unwrap().title, "Wreck");
    owner.undo(Some(tree)).unwrap();
    let undone = owner.undo(Some(tree)).unwrap();
    assert_eq!(undone.target.entry.op, loomtree::types::Op::CreateTree, "the transaction was one step");
    assert!(matches!(owner.undo(Some(tree)), Err(OpsError::NothingToRevert(_))));
    assert_clean(&owner);
}

#[test]
fn a_failed_transaction_changes_nothing() {
    let (_scene, owner, tree, root) = scene();
    let before = last_seq(&owner);
    let failed = owner.transaction(|owner| {
        owner.append(root, "one")?;
        owner.append(root, "two")?;
        owner.annotate(root, " ") // refused before it reaches the store
    });
    assert!(matches!(failed, Err(OpsError::Invalid(_))));
    // A change that the store refuses ends the transaction, also if the closure ignores the error.
    let ignored = owner.transaction(|owner| {
        owner.append(root, "three")?;
        assert!(owner.prune(root).is_err(), "a root");
        let rolled_back = owner.append(root, "four").unwrap_err().to_string();
        assert!(rolled_back.starts_with("the transaction was rolled back: the root cannot be pruned"), "{rolled_back}");
        Ok(())
    });
    assert!(matches!(ignored, Err(OpsError::Store(StoreError::Refused(_)))), "{ignored:?}");
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        let _ = owner.transaction(|owner| -> loomtree::ops::Result<()> {
            owner.append(root, "five")?;
            panic!("in the closure");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(last_seq(&owner), before);
    assert_eq!(owner.loom().tree(tree).unwrap().counts.nodes, 1);
    owner.append(root, "six").unwrap();
    assert_clean(&owner);
}

#[test]
fn every_operation_works_in_a_transaction_and_is_undone_with_it() {
    let (_scene, owner, tree, root) = scene();
    let session = owner.start_session("/work", tree, Some(root)).unwrap();
    let owner = owner.in_session(session);
    owner
        .transaction(|owner| {
            let one = owner.append_turn("one two".into())?.nodes[0].id;
            let halves = owner.split(one, &SplitAt::After("one".to_owned()))?;
            let other = owner.append(root, "another")?.nodes[0].id;
            owner.merge(&[halves.nodes[1].id, other], "both")?;
            owner.copy_branch(other, halves.nodes[1].id)?;
            owner.move_branch(other, halves.nodes[0].id)?;
            owner.exclude(halves.nodes[0].id)?;
            owner.pin(tree, PinTarget::Node(halves.nodes[0].id))?;
            owner.stash(tree, "later", StashContent::Words("words".to_owned()))?;
            owner.record(RecordKind::Decision, "use the past tense")?;
            let state = owner.loom().snapshot()?.session_state(session)?;
            assert!(format!("{state:?}").contains("past tense"), "uncommitted turns are part of the state");
            let document = owner.create_document("notes", "# Notes")?;
            owner.write_document(document, &loomtree::ops::DocumentEdit::Append("more".to_owned()))?;
            owner.switch_to(session, root)?;
            owner.update_session(session, SessionPatch::default())?;
            let (buffer, _) = owner.create_tree(TreeDraft::new("a buffer").mode(Mode::Buffer))?;
            assert_eq!(owner.loom().find_node(buffer.id, &buffer.root.unwrap().to_string())?.tree, buffer.id);
            Ok(())
        })
        .unwrap();
    owner.undo(Some(tree)).unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    assert_eq!(snapshot.tree(tree).unwrap().unwrap().counts.nodes, 1, "only the root is visible");
    assert!(snapshot.documents().unwrap()[0].removed);
    assert!(snapshot.memory(owner.agent(), tree).unwrap().pins.is_empty());
    drop(snapshot);
    assert_clean(&owner);
}

#[test]
fn a_transaction_refuses_what_one_undo_cannot_revert_and_what_would_wait_for_itself() {
    let (_scene, owner, tree, root) = scene();
    let subject = owner.loom().agent("subject").unwrap();
    let refused = |error: OpsError, reason: &str| {
        assert!(matches!(error, OpsError::Store(StoreError::Refused(_))), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    owner
        .transaction(|inner| {
            inner.append(root, "one")?;
            refused(inner.purge(PurgeTarget::Node(root)).unwrap_err(), "purge");
            refused(inner.undo(Some(tree)).unwrap_err(), "undo");
            refused(inner.transaction(|_| Ok(())).unwrap_err(), "another one");
            refused(inner.loom().actor(&subject).append(root, "x").unwrap_err(), "one agent");
            // The actor outside of the transaction would wait for its end.
            refused(owner.append(root, "x").unwrap_err(), "open transaction");
            refused(owner.transaction(|_| Ok(())).unwrap_err(), "open transaction");
            let snapshot = inner.loom().snapshot()?;
            refused(inner.append(root, "x").unwrap_err(), "snapshot");
            drop(snapshot);
            inner.append(root, "two")?;
            Ok(())
        })
        .unwrap();
    assert_eq!(owner.loom().node(root).unwrap().state.continuations, 2);
    let escaped = owner.transaction(|inner| Ok(inner.clone())).unwrap();
    refused(escaped.append(root, "x").unwrap_err(), "ended");
}

#[test]
fn other_writers_wait_for_a_transaction_and_readers_do_not_see_it() {
    let (_scene, owner, tree, root) = scene();
    let (started, start) = mpsc::channel();
    let other = owner.clone();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            start.recv().unwrap();
            other.append(root, "other").unwrap().seq
        });
        let count = owner.loom().tree(tree).unwrap().counts.nodes;
        let last = owner
            .transaction(|inner| {
                inner.append(root, "one")?;
                started.send(()).unwrap();
                assert_eq!(owner.loom().tree(tree)?.counts.nodes, count, "uncommitted");
                Ok(inner.append(root, "two")?.seq)
            })
            .unwrap();
        assert!(waiting.join().unwrap() > last);
    });
    assert_eq!(owner.loom().node(root).unwrap().state.continuations, 3);
    assert_clean(&owner);
}

#[test]
fn a_version_is_copied_with_what_follows_it() {
    let scene = Scene::new(32);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("One.").mode(Mode::Buffer)).unwrap();
    let append = |parent, text: &str| owner.append(Parent::Node(parent), NodeDraft::text(text)).unwrap().nodes[0].id;
    let two = append(root.id, "Two.");
    append(append(two, "Three."), "Four.");
    let deux = owner.edit(two, "Deux.").unwrap().nodes[0].id;
    let copied = owner.copy_branch(deux, root.id).unwrap();
    assert_eq!(copied.affected, 3);
    let leaf = owner.loom().leaf(&owner.loom().node(copied.nodes[0].id).unwrap(), &[]).unwrap();
    let path = owner.loom().snapshot().unwrap().path_back(leaf.id, &[], 0).unwrap();
    let texts: Vec<&str> = path.iter().map(|node| node.content.as_str()).collect();
    assert_eq!(texts, ["One.", "Deux.", "Three.", "Four."]);
    owner.undo(Some(tree.id)).unwrap();
    assert!(!visible(&owner, leaf.id));
    assert_clean(&owner);
}

/// The halves of a split can be edited though a newer version of the whole exists.
#[test]
fn the_path_that_is_edited_is_the_one_through_the_edited_versions() {
    let scene = Scene::new(33);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("One.").mode(Mode::Buffer)).unwrap();
    let append = |parent, text: &str| owner.append(Parent::Node(parent), NodeDraft::text(text)).unwrap().nodes[0].id;
    let two = append(root.id, "Two. Three.");
    let end = append(two, "Four.");
    let halves = owner.split(two, &SplitAt::After("Two.".to_owned())).unwrap().nodes;
    let whole = owner.edit(two, "Zwei. Drei.").unwrap().nodes[0].id;
    let edit = |node, text: &str| (node, text.to_owned());
    for edits in [vec![edit(halves[0].id, "Deux.")], vec![edit(halves[1].id, " Trois.")], vec![edit(whole, "Dos.")]] {
        assert_eq!(owner.edit_path(end, &edits, None).unwrap().len(), 1, "{edits:?}");
    }
    let twice = [edit(end, "Fin."), edit(end, "Ende.")];
    assert!(matches!(owner.edit_path(end, &twice, None), Err(OpsError::Invalid(_))));
    let beside = append(root.id, "Beside.");
    assert!(matches!(owner.edit_path(end, &[edit(beside, "x")], None), Err(OpsError::Invalid(_))));
}
