//! Locks of trees and sessions: their order, changes that wait for them, and what is written after them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use loomtree::{
    id::TreeId,
    ops::{Actor, OpsError, TreeDraft},
    session_state::RecordKind,
    store::{JournalFilter, Location, Mutation, PurgeTarget, SessionFilter, StoreError},
    types::{
        AgentAction, LinkTarget, Op, Parent, PinTarget, StashContent, SummarySubject, TodoDraft, TodoPatch, TodoScope,
    },
};

use super::{cluster, on_server};
use crate::support::{postgres, postgres::Cluster, store::Scene};

/// Another client of the database, in an open transaction.
pub(super) struct OtherClient {
    psql: Child,
    output: BufReader<ChildStdout>,
}

impl OtherClient {
    /// Begins a transaction and runs statements in it.
    pub(super) fn begin(scene: &Scene, sql: &str) -> Self {
        let Location::Postgres(url) = &scene.location else { unreachable!() };
        let program = postgres::programs().unwrap().join("psql");
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url];
        let mut psql =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(psql.stdout.take().unwrap());
        let mut client = Self { psql, output };
        client.run(&format!("BEGIN; {sql}"));
        client
    }

    /// Begins a transaction that locks a tree.
    pub(super) fn lock(scene: &Scene, tree: TreeId) -> Self {
        Self::begin(scene, &lock_of(tree))
    }

    pub(super) fn run(&mut self, sql: &str) {
        writeln!(self.psql.stdin.as_mut().unwrap(), "{sql};\n\\echo done").unwrap();
        let done = (&mut self.output).lines().any(|line| line.unwrap() == "done");
        assert!(done, "{sql}");
    }
}

impl Drop for OtherClient {
    /// Rolls back what is not committed.
    fn drop(&mut self) {
        drop(self.psql.stdin.take());
        self.psql.wait().unwrap();
    }
}

pub(super) fn uuid(id: [u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn lock_of(tree: TreeId) -> String {
    format!("SELECT 1 FROM tree_state WHERE tree = '{}' FOR UPDATE", uuid(tree.to_bytes()))
}

pub(super) fn database(scene: &Scene) -> &str {
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    url.split(['/', '?']).nth(3).unwrap()
}

/// Waits until the program waits for a lock in the database.
pub(super) fn await_waiter(cluster: &Cluster, scene: &Scene) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let start = Instant::now();
    while cluster.sql(database(scene), sql).unwrap().trim() == "0" {
        assert!(start.elapsed() < Duration::from_secs(20), "the change waits");
    }
}

/// A change that would lock the session first would wait for an append, which waits for the session.
#[test]
fn no_change_locks_its_session_while_it_waits_for_its_tree() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 41);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Locks")).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let here = owner.clone().in_session(session);
    let node = here.append(Parent::Position(session), "a message").unwrap().nodes[0].id;
    let scope = TodoScope { session, turn: 0 };
    let draft = |title: &str| TodoDraft { title: title.to_owned(), ..TodoDraft::default() };
    let todos = here.add_todos(scope, &[draft("one"), draft("two")]).unwrap();
    here.record(RecordKind::Decision, "decided").unwrap();
    let seq = cluster.sql(database(&scene), "SELECT seq FROM records").unwrap().trim().parse().unwrap();
    let stash = |label: &str| Mutation::Stash {
        tree: tree.id,
        label: label.to_owned(),
        content: StashContent::Words("words".to_owned()),
        tokens: 1,
        placement: None,
    };
    let action = AgentAction { after: 0, tool: "list".to_owned(), about: None };
    let mut patch = TodoPatch::default();
    patch.title = Some("first".to_owned());
    let pin = PinTarget::Node(node);
    let summary = Mutation::SaveSummary {
        of: SummarySubject::Tree(tree.id),
        made_of: 2,
        after: seq,
        model: "m".to_owned(),
        content: "A summary.".to_owned(),
    };
    let changes = [
        (Op::Memory, Mutation::Pin { tree: tree.id, target: pin.clone(), placement: None }),
        (Op::Memory, Mutation::Unpin { tree: tree.id, target: pin }),
        (Op::Memory, stash("a")),
        (Op::Memory, Mutation::Unstash { tree: tree.id, label: "a".to_owned() }),
        (Op::Memory, Mutation::RecordActions { tree: tree.id, action }),
        (Op::Todo, Mutation::UpdateTodo { todo: todos[0].id, patch }),
        (Op::Todo, Mutation::CarryOverTodo { todo: todos[0].id, turn: 1 }),
        (Op::Record, Mutation::SetRecordRemoved { record: seq, removed: true }),
        (Op::Session, Mutation::ShowCursor { node }),
        (Op::Memory, summary),
    ];
    let mut acts: Vec<(String, Box<dyn Fn() + Send + Sync>)> = Vec::new();
    for (op, mutation) in changes {
        let here = here.clone();
        let name = format!("{mutation:?}");
        acts.push((name, Box::new(move || drop(here.commit(op, vec![mutation.clone()]).unwrap()))));
    }
    let mut act = |name: &str, run: fn(&Actor, TreeId, loomtree::id::NodeId)| {
        let (here, tree, node) = (here.clone(), tree.id, root.id);
        acts.push((name.to_owned(), Box::new(move || run(&here, tree, node))));
    };
    act("link", |here, tree, node| drop(here.link(node, LinkTarget::Tree(tree), None).unwrap()));
    act("unlink", |here, tree, node| drop(here.unlink(node, &LinkTarget::Tree(tree)).unwrap()));
    act("undo", |here, tree, _| drop(here.undo(Some(tree)).unwrap()));
    act("transaction", |here, tree, _| {
        let add = |here: &Actor| here.stash(tree, "b", StashContent::Words("words".to_owned()));
        here.transaction(add).unwrap();
    });
    act("purge", |here, _, _| {
        let session = here.loom().snapshot().unwrap().sessions(&SessionFilter::default()).unwrap()[0].id;
        here.purge(PurgeTarget::Session(session)).unwrap();
    });
    for (name, run) in acts {
        let lock = OtherClient::lock(&scene, tree.id);
        thread::scope(|scope| {
            let writer = scope.spawn(run);
            await_waiter(cluster, &scene);
            let session = cluster.sql(database(&scene), "SELECT 1 FROM sessions FOR UPDATE NOWAIT");
            drop(lock);
            writer.join().unwrap();
            assert!(session.is_ok(), "{name}: {session:?}");
        });
    }
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_locked_tree_delays_its_own_changes_only() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 42);
    let owner = scene.owner();
    let [(locked, root), (_, other)] =
        ["Locked", "Other"].map(|title| owner.create_tree(TreeDraft::new(title)).unwrap());
    let lock = OtherClient::lock(&scene, locked.id);
    // Callers that do not wait for an answer: each message follows the one before.
    let (mut pending, mut parent) = (Vec::new(), root.id);
    for step in 0..3 {
        let node = owner.draft(Parent::Node(parent), format!("step {step}").into());
        parent = node.id;
        pending.push(owner.submit(Op::Append, vec![Mutation::Append(Box::new(node))]));
        await_waiter(cluster, &scene);
    }
    let start = Instant::now();
    let nodes = super::append_all(&owner, other.id, 5);
    owner.bookmark(nodes[2], "here").unwrap();
    owner.create_tree(TreeDraft::new("A new one")).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(owner.loom().snapshot().unwrap().tree(locked.id).unwrap().unwrap().counts.nodes, 1);
    drop(lock);
    pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    assert_eq!(owner.loom().path(parent).unwrap().len(), 4);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_lock_is_waited_for_as_long_as_the_options_say() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 43);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Locked")).unwrap();
    let patient = Duration::from_millis(600);
    let store = scene.options().wait(patient).connect(&scene.location).unwrap();
    let other = scene.share(store);
    let other = other.actor(&other.agent("owner").unwrap());
    let is_busy = |error: &OpsError| matches!(error, OpsError::Store(StoreError::Busy { .. }));
    let in_time = |run: &dyn Fn()| {
        let start = Instant::now();
        run();
        assert!((patient..Duration::from_secs(8)).contains(&start.elapsed()), "{:?}", start.elapsed());
    };
    let lock = OtherClient::lock(&scene, tree.id);
    in_time(&|| {
        let error = other.append(root.id, "refused").unwrap_err();
        assert!(is_busy(&error), "{error}");
    });
    drop(lock);
    other.append(root.id, "written").unwrap();
    let open = owner.loom().store().begin().unwrap();
    in_time(&|| {
        let error = other.transaction(|other| other.append(root.id, "refused")).unwrap_err();
        assert!(is_busy(&error), "{error}");
    });
    open.end(false).unwrap();
    other.transaction(|other| other.append(root.id, "written too")).unwrap();
}

/// A purge that another client runs: the tree is locked, the content is gone, and the journal says so.
fn begin_purge(scene: &Scene, tree: TreeId) -> OtherClient {
    let tree_of = uuid(tree.to_bytes());
    let entry = "(pg_current_xact_id()::text::bigint << 20) + 1";
    OtherClient::begin(
        scene,
        &format!(
            "{}; UPDATE nodes SET content = '', purged_at = 1 WHERE tree = '{tree_of}';
             INSERT INTO journal (tree, seq, grp, at, agent, op, change)
                 SELECT '{tree_of}', {entry}, {entry}, 1, id, 17, 20 FROM agents LIMIT 1;
             UPDATE tree_state SET last_journal = {entry} WHERE tree = '{tree_of}'",
            lock_of(tree)
        ),
    )
}

#[test]
fn what_a_purge_removes_meanwhile_is_not_saved_as_vectors_or_summaries() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 44);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A secret")).unwrap();
    let after = owner.loom().snapshot().unwrap().journal(JournalFilter::default().limit(1)).unwrap()[0].seq;
    let save = Mutation::SaveEmbeddings {
        model: "m".to_owned(),
        range: (root.seq, root.seq),
        vectors: vec![(root.seq, vec![1.0, 0.0])],
    };
    let mut purge = begin_purge(&scene, tree.id);
    thread::scope(|scope| {
        let writer = scope.spawn(|| owner.commit(Op::Turn, vec![save]));
        await_waiter(cluster, &scene);
        purge.run("COMMIT");
        writer.join().unwrap().unwrap();
    });
    assert_eq!(cluster.sql(database(&scene), "SELECT count(*) FROM vectors").unwrap().trim(), "0");
    drop(purge);

    let (tree, _) = owner.create_tree(TreeDraft::new("Another secret")).unwrap();
    let mut purge = begin_purge(&scene, tree.id);
    thread::scope(|scope| {
        let writer =
            scope.spawn(|| owner.save_summary(SummarySubject::Tree(tree.id), (1, after), "m", "It is secret."));
        await_waiter(cluster, &scene);
        purge.run("COMMIT");
        let refused = writer.join().unwrap().unwrap_err();
        assert!(refused.to_string().contains("content was purged"), "{refused}");
    });
    assert_eq!(cluster.sql(database(&scene), "SELECT count(*) FROM summaries").unwrap().trim(), "0");
}

/// The vacuum after a purge may wait for another one.
#[test]
fn only_the_purge_waits_for_its_vacuum() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 45);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A secret")).unwrap();
    let node = owner.append(root.id, "a password").unwrap().nodes[0].id;
    let lock = OtherClient::begin(&scene, "LOCK TABLE nodes IN SHARE UPDATE EXCLUSIVE MODE");
    thread::scope(|scope| {
        let purge = scope.spawn(|| owner.purge(PurgeTarget::Node(node)));
        await_waiter(cluster, &scene);
        owner.append(root.id, "a message").unwrap();
        assert!(!purge.is_finished());
        drop(lock);
        purge.join().unwrap().unwrap();
    });
}
