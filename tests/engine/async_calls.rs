//! Calls of the library from asynchronous code: operations, reads and the stream of changes.

// Clippy treats only functions marked #[test] as tests, not their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use loomtree::{
    ops::TreeDraft,
    store::{JournalFilter, Snapshot, StoreError},
};

use crate::support::store::Scene;

fn is_send<T: Send + ?Sized>() {}

#[test]
fn snapshots_and_futures_may_move_between_threads() {
    is_send::<dyn Snapshot>();
    is_send::<loomtree::session::Changes>();
}

/// On a runtime of one thread, a future that blocks would keep the ticks from being counted.
#[tokio::test(flavor = "current_thread")]
async fn an_operation_does_not_block_the_runtime() {
    let scene = Scene::new(41);
    let owner = scene.owner();
    let (_, root) = owner.run(|owner| owner.create_tree(TreeDraft::new("root"))).await.unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let slow = owner.run(move |owner| {
        owner.transaction(|owner| {
            // Ends only if the runtime's thread still runs the other branch of the join.
            held.recv_timeout(Duration::from_secs(60)).unwrap();
            owner.append(root.id, "slow")
        })
    });
    let (slow, ()) = tokio::join!(slow, async {
        tokio::task::yield_now().await;
        release.send(()).unwrap();
    });
    assert_eq!(slow.unwrap().nodes.len(), 1);
    let refused = owner.run(|owner| owner.prune(loomtree::id::NodeId::from_bytes([0; 16]))).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn changes_arrive_in_order_without_loss_from_every_writer() {
    const WRITERS: usize = 4;
    const APPENDS: usize = 200;
    let scene = Scene::new(42);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    // The last final entry may precede the root's while another transaction of the server's database runs.
    let after = owner.loom().snapshot().unwrap().journal(JournalFilter::default().limit(1)).unwrap()[0].seq;
    let mut changes = owner.loom().changes(after);
    // Half of the writers use a store of their own, as another process does.
    let other = scene.owner();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let actor = if number % 2 == 0 { owner.clone() } else { other.clone() };
            std::thread::spawn(move || {
                for _ in 0..APPENDS {
                    actor.append(root.id, "text").unwrap();
                }
            })
        })
        .collect();
    let mut last = after;
    for number in 1..=(WRITERS * APPENDS) as u64 {
        let seq = changes.next().await.unwrap().unwrap().seq;
        // Only a file's numbers have no gaps.
        assert!(if scene.location.file().is_some() { seq == after + number } else { seq > last });
        last = seq;
    }
    for writer in writers {
        writer.join().unwrap();
    }
    // A read that is dropped while it waits loses nothing.
    tokio::select! {
        biased;
        _ = changes.next() => panic!("nothing was committed"),
        () = tokio::task::yield_now() => {}
    }
    let receipt = owner.append(root.id, "last").unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap().seq, receipt.seq);
    // The position of an earlier entry starts there, over several pages.
    let mut again = owner.loom().changes(0);
    let journal = owner.loom().snapshot().unwrap().journal(JournalFilter::default().oldest_first(true)).unwrap();
    assert_eq!(journal.last().unwrap().seq, receipt.seq);
    for expected in journal {
        assert_eq!(again.next().await.unwrap().unwrap(), expected);
    }
}

#[tokio::test]
async fn a_stream_of_changes_ends_after_an_error() {
    let scene = Scene::new(43);
    let owner = scene.owner();
    let escaped = owner.transaction(|owner| Ok(owner.clone())).unwrap();
    let mut changes = escaped.loom().changes(0);
    let error = changes.next().await.unwrap().unwrap_err();
    assert!(matches!(error, loomtree::ops::OpsError::Store(StoreError::Refused(_))), "{error:?}");
    assert!(changes.next().await.is_none());
}
