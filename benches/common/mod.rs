//! What the benches share: a folder in memory, a store in it, trees of a given shape.
#![allow(dead_code)] // each needs a part of it

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

#[cfg(feature = "postgres")]
#[allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a bench stops at an error
#[path = "../../tests/support/postgres.rs"]
pub mod server;

use loomtree::{
    id::{NodeId, RandomIds, TreeId},
    ops::{Actor, Loom, NodeDraft, TreeDraft},
    store::{Location, Mutation, OpenOptions},
    types::{Clock, Op, Parent, Timestamp},
};

/// The machine's clock.
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
    }
}

/// A 500-byte message.
pub fn message() -> String {
    "The way I see it, it stems from what was said. ".repeat(11)[..500].to_owned()
}

/// A folder on the memory file system where there is one: there the limit is SQLite's own code.
pub fn memory_folder() -> tempfile::TempDir {
    let shm = PathBuf::from("/dev/shm");
    let made = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
    made.unwrap()
}

/// The owner at work in a database.
pub fn owner(path: &std::path::Path, seed: u64) -> Actor {
    owner_of(path, seed, |options| options)
}

/// The same of a store that is opened otherwise than usual.
pub fn owner_of(path: &std::path::Path, seed: u64, change: impl Fn(OpenOptions) -> OpenOptions) -> Actor {
    let (clock, ids) = (Arc::new(WallClock), Arc::new(RandomIds::seeded(seed)));
    let store = change(OpenOptions::new(clock.clone(), ids.clone())).connect(&location(path)).unwrap();
    let loom = Loom::new(store, clock, ids);
    let agent = loom.agent("owner").unwrap();
    loom.actor(&agent)
}

/// The file at a path, or with `LOOM_TEST_BACKEND=postgres` a database for it, of a server that syncs each commit.
fn location(path: &std::path::Path) -> Location {
    #[cfg(feature = "postgres")]
    if server::is_selected() {
        use std::{collections::HashMap, sync::Mutex};
        static DATABASES: Mutex<Option<(server::Cluster, HashMap<PathBuf, String>)>> = Mutex::new(None);
        let mut databases = DATABASES.lock().unwrap();
        let start = || (server::Cluster::start(&server::programs().unwrap(), true).unwrap(), HashMap::new());
        let (cluster, urls) = databases.get_or_insert_with(start);
        return Location::Postgres(urls.entry(path.to_owned()).or_insert_with(|| cluster.new_database()).clone());
    }
    Location::File(path.to_owned())
}

/// A tree of `nodes` nodes of 500 bytes: a trunk, with a branch of ten nodes at every tenth of it. Returns the tree,
/// its root and the trunk's tip.
pub fn grow(owner: &Actor, nodes: usize) -> (TreeId, NodeId, NodeId) {
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let text = message();
    let (mut tip, mut made) = (root.id, 1);
    let mut batch = Vec::new();
    while made < nodes {
        let mut at = tip;
        // Ten nodes of trunk, then ten of a branch from where the trunk was.
        for step in 0..20.min(nodes - made) {
            if step == 10 {
                at = tip;
            }
            let node = owner.draft(Parent::Node(at), NodeDraft::text(text.as_str()).keep_position(true));
            at = node.id;
            if step < 10 {
                tip = at;
            }
            batch.push(Mutation::Append(Box::new(node)));
            made += 1;
        }
        if batch.len() >= 1_000 || made >= nodes {
            owner.commit(Op::Import, std::mem::take(&mut batch)).unwrap();
        }
    }
    (tree.id, root.id, tip)
}
