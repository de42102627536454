//! Appends and paths on PostgreSQL beside bare SQL: `cargo bench --features postgres --bench postgres`; `-- --nodes N` sets
//! the size of the large database, `-- --paths` measures paths alone. A throw-away server syncs every commit to the disk of `/tmp`.
//!
//! Bare SQL inserts the same rows into a table with the columns, keys and indexes of `nodes`, by one pipelined transaction,
//! and scans the rows of a tree. The benches `recall` and `context` run on such a server with `LOOM_TEST_BACKEND=postgres`.
// A benchmark prints its table, panics on errors, and divides counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss
)]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::server;
use loomtree::{
    id::{NodeId, RandomIds, TreeId},
    ops::{Actor, Loom, NodeDraft, TreeDraft},
    store::{Location, Mutation, OpenOptions},
    types::{Op, Parent},
};

/// Duration of each measurement.
const SPAN: Duration = Duration::from_secs(4);
/// Rows of a grouped insert, and callers of the store.
const GROUP: usize = 64;

fn owner(url: &str, seed: u64) -> Actor {
    let (clock, ids) = (Arc::new(common::WallClock), Arc::new(RandomIds::seeded(seed)));
    let store = OpenOptions::new(clock.clone(), ids.clone()).connect(&Location::Postgres(url.to_owned())).unwrap();
    let loom = Loom::new(store, clock, ids);
    let agent = loom.agent("owner").unwrap();
    loom.actor(&agent)
}

/// Appends a second by callers, each in its own tree, under its last node or at its session's position. The callers are
/// shared out to the servers.
fn appends(servers: &[Actor], callers: usize, in_session: bool) -> f64 {
    let text = common::message();
    let places: Vec<(Actor, Parent)> = (0..callers)
        .map(|caller| {
            let owner = &servers[caller % servers.len()];
            let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
            let session = owner.start_session("/bench", tree.id, Some(root.id)).unwrap();
            match in_session {
                true => (owner.clone().in_session(session), Parent::Position(session)),
                false => (owner.clone(), Parent::Node(root.id)),
            }
        })
        .collect();
    let start = Instant::now();
    let append = |(actor, mut at): (Actor, Parent)| {
        let mut count = 0;
        while start.elapsed() < SPAN {
            let receipt = actor.append(at, NodeDraft::text(text.as_str())).unwrap();
            at = if in_session { at } else { Parent::Node(receipt.nodes[0].id) };
            count += 1;
        }
        count
    };
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let writers: Vec<_> = places.into_iter().map(|place| scope.spawn(|| append(place))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    counts.iter().sum::<usize>() as f64 / start.elapsed().as_secs_f64()
}

/// Median microseconds of an append under a node by one caller.
fn append_time(owner: &Actor, mut at: NodeId) -> f64 {
    let text = common::message();
    median((0..1_000).map(|_| {
        let start = Instant::now();
        at = owner.append(Parent::Node(at), NodeDraft::text(text.as_str())).unwrap().nodes[0].id;
        start.elapsed().as_secs_f64() * 1e6
    }))
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A chain of 10,000 nodes below a root: the tree and the last node.
fn chain(owner: &Actor) -> (TreeId, NodeId) {
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let (text, mut tip) = (common::message(), root.id);
    for _ in 0..10 {
        let mut batch = Vec::new();
        for _ in 0..1_000 {
            let node = owner.draft(Parent::Node(tip), NodeDraft::text(text.as_str()));
            tip = node.id;
            batch.push(Mutation::Append(Box::new(node)));
        }
        owner.commit(Op::Import, batch).unwrap();
    }
    (tree.id, tip)
}

/// Median milliseconds of reading a path in each of two stores, in turn.
fn read_paths(stores: [(&Actor, NodeId); 2]) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..31 {
        for (times, (owner, tip)) in times.iter_mut().zip(stores) {
            let start = Instant::now();
            let snapshot = owner.loom().snapshot().unwrap();
            let read = snapshot.path_back(tip, &[], 10_000).unwrap();
            times.push(start.elapsed().as_secs_f64() * 1e3);
            assert!(read.len() > 9_000);
        }
    }
    times.map(|times| median(times.into_iter()))
}

/// Reads a path of 10,000 nodes here and in a file of SQLite, once without and once with branches beside it, and scans the
/// rows of the first.
async fn paths(owner: &Actor, client: &tokio_postgres::Client) {
    let folder = common::memory_folder();
    let file = {
        let (clock, ids) = (Arc::new(common::WallClock), Arc::new(RandomIds::seeded(1)));
        let location = Location::File(folder.path().join("paths.loom"));
        let store = OpenOptions::new(clock.clone(), ids.clone()).connect(&location).unwrap();
        let loom = Loom::new(store, clock, ids);
        loom.actor(&loom.agent("owner").unwrap())
    };
    let (tree, tip) = chain(owner);
    let alone = [(owner, tip), (&file, chain(&file).1)];
    let branched = [owner, &file].map(|owner| (owner, common::grow(owner, 20_000).2));
    client.batch_execute("VACUUM ANALYZE nodes, node_state").await.unwrap();
    for (name, stores) in [("alone", alone), ("with branches beside it", branched)] {
        let [here, there] = read_paths(stores);
        println!("path of 10,000 nodes {name}: {here:.1} ms; in SQLite {there:.1} ms; ratio {:.2}", here / there);
    }
    let scan =
        client.prepare("SELECT * FROM nodes WHERE tree = $1::text::uuid ORDER BY seq DESC LIMIT 10000").await.unwrap();
    let tree = format!("{:032x}", u128::from_be_bytes(tree.to_bytes()));
    let mut times = Vec::new();
    for _ in 0..15 {
        let start = Instant::now();
        let rows = client.query(&scan, &[&tree]).await.unwrap();
        assert_eq!(rows.len(), 10_000);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    println!("a scan of the rows of the first: {:.1} ms", median(times.into_iter()));
}

/// Rows a second of transactions of `rows` rows each into a table as `nodes`.
async fn bare(client: &tokio_postgres::Client, rows: usize) -> f64 {
    client.batch_execute("DROP TABLE IF EXISTS bare; CREATE TABLE bare (LIKE nodes INCLUDING ALL)").await.unwrap();
    let sql = "INSERT INTO bare (tree, seq, id, local_id, parent, depth, kind, author, author_type, created_at, hash, content)
               SELECT $1::text::uuid, seq, id::uuid, local, CASE WHEN depth = 0 THEN NULL ELSE seq - 1 END, depth, 0, $1::text::uuid,
                   0, 0, decode(md5(local), 'hex'), $2
               FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[]) r (seq, id, local, depth)";
    let (begin, insert, commit) = (
        client.prepare("BEGIN").await.unwrap(),
        client.prepare(sql).await.unwrap(),
        client.prepare("COMMIT").await.unwrap(),
    );
    let (text, tree) = (common::message(), "00000000-0000-0000-0000-000000000001");
    let start = Instant::now();
    let mut next = 0_i64;
    while start.elapsed() < SPAN {
        let seqs: Vec<i64> = (0..i64::try_from(rows).unwrap()).map(|row| next + row + 1).collect();
        let ids: Vec<String> =
            seqs.iter().map(|seq| format!("{:032x}", u128::try_from(*seq).unwrap() * 0x9e37_79b9_7f4a_7c15)).collect();
        let locals: Vec<String> = ids.iter().map(|id| id[16..].to_owned()).collect();
        let depths: Vec<i64> = seqs.iter().map(|seq| seq - 1).collect();
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 6] = [&tree, &text, &seqs, &ids, &locals, &depths];
        let done =
            tokio::join!(client.execute(&begin, &[]), client.execute(&insert, &params), client.execute(&commit, &[]),);
        assert_eq!(done.1.unwrap(), rows as u64);
        next += i64::try_from(rows).unwrap();
    }
    next as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let named = arguments.iter().position(|word| word == "--nodes").and_then(|at| arguments.get(at + 1));
    let nodes: usize = named.map_or(100_000, |nodes| nodes.parse().unwrap());
    let programs = server::programs().expect("the programs of a PostgreSQL server");
    let cluster = server::Cluster::start(&programs, true).unwrap();
    let url = cluster.new_database();
    let servers: Vec<Actor> = (1..=4).map(|seed| owner(&url, seed)).collect();
    let owner = &servers[..1];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    });
    if arguments.iter().any(|word| word == "--paths") {
        return runtime.block_on(paths(&owner[0], &client));
    }
    let (_, root, _) = common::grow(&owner[0], 100);
    let small = append_time(&owner[0], root);
    println!("| rows a second | 1 caller or row | {GROUP} callers or rows |\n| --- | --- | --- |");
    let line = |name: &str, one: f64, many: f64| println!("| {name} | {one:.0} | {many:.0} |");
    for _ in 0..2 {
        line("bare SQL", runtime.block_on(bare(&client, 1)), runtime.block_on(bare(&client, GROUP)));
        line("append under a node", appends(owner, 1, false), appends(owner, GROUP, false));
        line("append at a session's position", appends(owner, 1, true), appends(owner, GROUP, true));
    }
    println!("\n| {GROUP} callers, under nodes | rows a second |\n| --- | --- |");
    for count in [1, 2, 4] {
        println!("| {count} servers | {:.0} |", appends(&servers[..count], GROUP, false));
    }
    println!();
    runtime.block_on(paths(&owner[0], &client));
    let start = Instant::now();
    let (_, root, tip) = common::grow(&owner[0], nodes);
    println!("growing {nodes} nodes, 1,000 a commit: {:.0}/s", nodes as f64 / start.elapsed().as_secs_f64());
    let large = [root, tip].map(|at| append_time(&owner[0], at));
    println!(
        "an append at 100 nodes: {small:.0} µs; at {nodes}, under the root and a tip: {:.0} and {:.0} µs",
        large[0], large[1]
    );
}
