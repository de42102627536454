//! Commits whose answer is lost with the server or the connection, while a synchronous standby is behind.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use loomtree::{ops::TreeDraft, store::Location};

use super::append;
use crate::support::{postgres, postgres::Cluster, skip, store::Scene};

/// A server, its synchronous standby, and a scene that uses whichever writes.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    scene: Scene,
    database: String,
}

impl Pair {
    fn start(programs: &Path, seed: u64) -> Self {
        let primary = Cluster::start(programs, true).unwrap();
        let standby = primary.synchronous_standby(programs).unwrap();
        let hosts = format!("{}&host={}", primary.folder().display(), standby.folder().display());
        let one = primary.new_database();
        let database = one.split(['/', '?']).nth(3).unwrap().to_owned();
        let url = one.replace(&primary.folder().display().to_string(), &hosts) + "&target_session_attrs=read-write";
        Self { primary, standby, scene: Scene::of_file(seed).with(Location::Postgres(url)), database }
    }

    /// Cuts the standby off from the primary, or connects it again.
    fn follow(&self, follows: bool) {
        let primary =
            if follows { format!("user=loom host={}", self.primary.folder().display()) } else { String::new() };
        let set = format!("ALTER SYSTEM SET primary_conninfo = '{primary}'");
        self.standby.sql("postgres", &set).unwrap();
        self.standby.sql("postgres", "SELECT pg_reload_conf()").unwrap();
        let receivers = if follows { "1" } else { "0" };
        wait_until(|| {
            let count = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
            self.standby.sql("postgres", count).unwrap().trim() == receivers
        });
    }

    /// The number of the transaction whose commit waits for the standby; empty if there is none.
    fn waiting(&self) -> String {
        let sql = "SELECT backend_xid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'loom'";
        self.primary.sql("postgres", sql).unwrap().trim().to_owned()
    }
}

fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "it happens");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_commit_whose_number_another_transaction_took_is_repeated() {
    let Some(programs) = postgres::programs() else { return skip::missing("initdb") };
    let pair = Pair::start(&programs, 51);
    let owner = pair.scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A failover")).unwrap();
    wait_until(|| {
        let behind = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn < pg_current_wal_lsn()";
        pair.primary.sql("postgres", behind).unwrap().trim() == "0"
    });
    pair.follow(false);
    let access = pair.standby.folder().join("data/pg_hba.conf");
    let rules = std::fs::read_to_string(&access).unwrap();
    thread::scope(|scope| {
        let written = scope.spawn(|| append(&owner, root.id, 1));
        wait_until(|| !pair.waiting().is_empty());
        let number = pair.waiting();
        // The client comes back after other transactions of the new server have taken the numbers.
        std::fs::write(&access, format!("local {} all reject\n{rules}", pair.database)).unwrap();
        pair.standby.sql("postgres", "SELECT pg_reload_conf()").unwrap();
        pair.primary.kill();
        pair.standby.promote();
        let burn = "DO $$ BEGIN FOR i IN 1..200 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
        pair.standby.sql("postgres", burn).unwrap();
        let status = pair.standby.sql("postgres", &format!("SELECT pg_xact_status('{number}')")).unwrap();
        assert_eq!(status.trim(), "committed", "another transaction has the number");
        std::fs::write(&access, &rules).unwrap();
        pair.standby.sql("postgres", "SELECT pg_reload_conf()").unwrap();
        let id = written.join().unwrap().expect("it is acknowledged");
        assert!(owner.loom().snapshot().unwrap().node(id).unwrap().is_some(), "an acknowledged message is lost");
    });
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_commit_whose_connection_ended_waits_for_the_standby() {
    let Some(programs) = postgres::programs() else { return skip::missing("initdb") };
    let pair = Pair::start(&programs, 52);
    let owner = pair.scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A standby")).unwrap();
    pair.follow(false);
    thread::scope(|scope| {
        let written = scope.spawn(|| append(&owner, root.id, 1));
        wait_until(|| !pair.waiting().is_empty());
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE wait_event = 'SyncRep' AND application_name = 'loom'";
        pair.primary.sql("postgres", end).unwrap();
        // The transaction is committed, and not on the standby.
        thread::sleep(Duration::from_millis(700));
        assert!(!written.is_finished(), "it is acknowledged without the standby");
        pair.follow(true);
        assert!(written.join().unwrap().is_some());
    });
    assert_eq!(owner.loom().snapshot().unwrap().tree(tree.id).unwrap().unwrap().counts.nodes, 2);
}
