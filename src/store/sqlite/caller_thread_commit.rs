//! Commits on the thread of a caller that waits for them, while the writer thread sleeps.
//!
//! A caller that commits one change after another without a pause is faster with the thread: it tokenizes a change while
//! the thread writes. So its second change wakes the thread, which then polls the queue. Callers with pauses, such as a
//! program in Python, would wake the thread for each change.
//!
//! Only small appends are committed here. They take less time than the switch of threads that they save, and
//! never start the work of a large change: a batch of the search index, slices of a branch, the rewriting after a purge.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

use super::{
    job_queue::{IdleWriterState, MIN_CHECKPOINT_TRANSACTIONS, WriteJob},
    prepared_change::PreparedChange,
    writer::{WriterHandle, WriterThread},
};
use crate::store::{Change, Mutation, Receipt, Result};

/// Maximum number of nodes that are committed here at once.
const MAX_NODES: usize = 128;
/// Maximum text in bytes that is committed here at once.
const MAX_BYTES: usize = 128 * 1024;
/// Maximum pause after a commit for which the next change wakes the writer thread.
const MAX_BUSY_PAUSE: Duration = Duration::from_micros(10);
/// Committed changes whose words the writer thread reads at once.
const MAX_UNTOKENIZED_CHANGES: usize = 16;

/// The writer in a caller's hands. Rolls back an open transaction when it is dropped, as after a panic.
struct BorrowedWriter<'s>(MutexGuard<'s, IdleWriterState>);

#[allow(clippy::expect_used)] // created with a writer, which nothing takes
impl Deref for BorrowedWriter<'_> {
    type Target = WriterThread;

    fn deref(&self) -> &WriterThread {
        self.0.writer.as_ref().expect("present until dropped")
    }
}

#[allow(clippy::expect_used)] // created with a writer, which nothing takes
impl DerefMut for BorrowedWriter<'_> {
    fn deref_mut(&mut self) -> &mut WriterThread {
        self.0.writer.as_mut().expect("present until dropped")
    }
}

impl Drop for BorrowedWriter<'_> {
    fn drop(&mut self) {
        self.roll_back();
        self.0.committed = Some(Instant::now());
    }
}

impl WriterHandle {
    /// Commits small changes in one transaction on this thread if the writer thread sleeps; else returns them, to be queued.
    /// If one of several fails, all are returned: in the queue the others do not fail with it.
    pub(super) fn commit_here(&self, changes: Vec<Change>) -> std::result::Result<Vec<Result<Receipt>>, Vec<Change>> {
        let Some((nodes, bytes)) = small_appends(&changes) else { return Err(changes) };
        let (Ok(queue), Some(state)) = (self.queue(), self.idle.try_state()) else { return Err(changes) };
        let is_busy = state.committed.is_some_and(|committed| committed.elapsed() < MAX_BUSY_PAUSE);
        if is_busy || state.writer.is_none() {
            return Err(changes);
        }
        let mut writer = BorrowedWriter(state);
        let unindexed = writer.cache.unindexed.as_ref();
        if unindexed.is_none_or(|unindexed| unindexed.is_due_after(nodes, bytes)) {
            return Err(changes);
        }
        match writer.try_begin() {
            Ok(true) => {}
            // Another process has the file, or its lock cannot be taken: the writer thread waits, or reports the error.
            Ok(false) | Err(_) => return Err(changes),
        }
        let works: Vec<_> = changes.into_iter().map(PreparedChange::new).collect();
        let applied = writer.apply_all(&works, |work| self.tokenizers.prepare_hashes(work, &self.rules));
        let result = applied.and_then(|receipts| writer.commit().map(|()| receipts));
        let receipts = match result {
            Ok(receipts) => receipts,
            Err(error) if works.len() == 1 => return Ok(vec![Err(writer.with_context(error))]),
            Err(_) => {
                writer.roll_back();
                drop(writer);
                return Err(works.iter().map(|work| work.change.clone()).collect());
            }
        };
        writer.uncheckpointed += 1;
        let is_checkpoint_due = writer.uncheckpointed == MIN_CHECKPOINT_TRANSACTIONS;
        writer.0.untokenized_changes.extend(works);
        let untokenized_changes = match writer.0.untokenized_changes.len() {
            MAX_UNTOKENIZED_CHANGES.. => std::mem::take(&mut writer.0.untokenized_changes),
            _ => Vec::new(),
        };
        drop(writer);
        if is_checkpoint_due {
            self.idle.send(queue, WriteJob::CheckpointDue);
        }
        if !untokenized_changes.is_empty() {
            self.idle.send(queue, WriteJob::Words(untokenized_changes));
        }
        Ok(receipts.into_iter().map(Ok).collect())
    }
}

impl WriterThread {
    /// Applies changes in the open transaction until one fails.
    fn apply_all(&mut self, works: &[Arc<PreparedChange>], prepare: impl Fn(&PreparedChange)) -> Result<Vec<Receipt>> {
        let apply = |work: &Arc<PreparedChange>| {
            prepare(work);
            self.apply(work, &[])
        };
        works.iter().map(apply).collect()
    }
}

/// The nodes and the bytes of text of changes that append few and short nodes; `None` for other changes.
fn small_appends(changes: &[Change]) -> Option<(usize, usize)> {
    let bytes = |mutation: &Mutation| match mutation {
        Mutation::Append(node) if PreparedChange::has_words_of(node) => {
            let metadata = node.metadata.as_ref().map_or(0, |metadata| metadata.as_str().len());
            Some(node.content.len() + node.raw.as_ref().map_or(0, String::len) + metadata)
        }
        _ => None,
    };
    let (mut nodes, mut total) = (0, 0);
    for change in changes {
        nodes += change.mutations.len();
        total += change.mutations.iter().map(bytes).sum::<Option<usize>>()?;
    }
    (nodes <= MAX_NODES && total <= MAX_BYTES).then_some((nodes, total))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{
        id::{IdSource as _, NodeId, RandomIds, TreeId},
        store::{OpenOptions, SqliteStore, Store as _, StoreError, default_agents},
        types::{AuthorType, FixedClock, Mode, NewNode, NewTree, Op, Parent, Timestamp},
    };

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    struct Bench {
        store: SqliteStore,
        ids: Arc<RandomIds>,
        root: NodeId,
        _folder: tempfile::TempDir,
    }

    impl Bench {
        fn set() -> Self {
            Self::with_page_limit(None)
        }

        fn with_page_limit(pages: Option<u32>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let ids = Arc::new(RandomIds::seeded(7));
            let options = OpenOptions::new(Arc::new(FixedClock::at(NOW)), Arc::clone(&ids) as _);
            let options = pages.into_iter().fold(options, OpenOptions::page_limit);
            let store = options.open(folder.path().join("loom.db")).unwrap();
            let (tree, root) = (TreeId::new(ids.ulid(NOW)), NodeId::new(ids.ulid(NOW)));
            let new = NewTree {
                id: tree,
                title: None,
                description: None,
                mode: Mode::Dialogue,
                system_context: None,
                created_at: NOW,
            };
            let bench = Self { store, ids, root, _folder: folder };
            let node = Mutation::Append(Box::new(bench.node(root, Parent::Root(tree))));
            bench.store.submit(change(vec![Mutation::CreateTree(new), node])).wait().unwrap();
            bench
        }

        fn node(&self, id: NodeId, parent: Parent) -> NewNode {
            NewNode::new(id, parent, (default_agents()[0].id, AuthorType::Human), NOW, "said")
        }

        fn append_to(&self, parent: NodeId) -> Change {
            change(vec![Mutation::Append(Box::new(self.node(self.new_id(), Parent::Node(parent))))])
        }

        fn new_id(&self) -> NodeId {
            NodeId::new(self.ids.ulid(NOW))
        }

        /// Commits on this thread, as soon as the writer thread sleeps.
        fn commit_here(&self, mut changes: Vec<Change>) -> Vec<Result<Receipt>> {
            loop {
                match self.store.writer.commit_here(changes) {
                    Ok(results) => return results,
                    Err(returned) => changes = returned,
                }
                thread::yield_now();
            }
        }
    }

    fn change(mutations: Vec<Mutation>) -> Change {
        Change { op: Op::Append, agent: default_agents()[0].id, session: None, at: NOW, mutations }
    }

    #[test]
    fn a_change_is_committed_by_its_caller_while_the_writer_thread_sleeps() {
        let bench = Bench::set();
        let results = bench.commit_here(vec![bench.append_to(bench.root), bench.append_to(bench.root)]);
        let seqs: Vec<u64> = results.into_iter().map(|result| result.unwrap().nodes[0].seq).collect();
        assert_eq!(seqs, [2, 3]);
        // The writer thread and other readers see it.
        let last = bench.store.submit(bench.append_to(bench.root)).wait().unwrap();
        assert_eq!(last.nodes[0].seq, 4);
        assert_eq!(bench.store.snapshot().unwrap().children(bench.root, &Default::default()).unwrap().len(), 3);
        assert_eq!(bench.store.verify(&mut |_| ()).unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn a_refused_change_leaves_nothing() {
        let bench = Bench::set();
        let missing = bench.new_id();
        assert!(bench.commit_here(vec![bench.append_to(missing)])[0].is_err());
        let after = bench.store.commit(bench.append_to(bench.root)).unwrap();
        assert_eq!(after.nodes[0].seq, 2);
        assert_eq!(bench.store.verify(&mut |_| ()).unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn a_full_disk_leaves_the_writer_as_it_was() {
        let bench = Bench::with_page_limit(Some(115));
        let large = || {
            let node =
                || NewNode { content: "word ".repeat(3_000), ..bench.node(bench.new_id(), Parent::Node(bench.root)) };
            change((0..8).map(|_| Mutation::Append(Box::new(node()))).collect())
        };
        let last = bench.store.commit(bench.append_to(bench.root)).unwrap().nodes[0].seq;
        // SQLite rolls such a transaction back by itself.
        let full = bench.commit_here(vec![large()]).pop().unwrap().unwrap_err();
        assert!(matches!(full, StoreError::Full), "{full:?}");
        let after = bench.store.commit(bench.append_to(bench.root)).unwrap();
        assert_eq!(after.nodes[0].seq, last + 1);
        {
            let open = bench.store.begin().unwrap();
            open.submit(bench.append_to(bench.root)).wait().unwrap();
            assert!(matches!(open.submit(large()).wait(), Err(StoreError::Full)));
        }
        let after = bench.store.commit(bench.append_to(bench.root)).unwrap();
        assert_eq!(after.nodes[0].seq, last + 2);
        assert_eq!(bench.store.verify(&mut |_| ()).unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn large_changes_and_other_operations_are_queued() {
        let bench = Bench::set();
        let node = |text: String| {
            Mutation::Append(Box::new(NewNode { content: text, ..bench.node(bench.root, Parent::Node(bench.root)) }))
        };
        let long = change(vec![node("word ".repeat(MAX_BYTES / 4))]);
        let many = change((0..=MAX_NODES).map(|_| node(String::new())).collect());
        let prune = change(vec![Mutation::Prune { node: bench.root }]);
        for change in [long, many, prune] {
            assert_eq!(small_appends(std::slice::from_ref(&change)), None, "{:?}", change.mutations[0]);
        }
    }
}
