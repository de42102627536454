//! Appends on PostgreSQL beside bare SQL: `cargo bench --features postgres --bench postgres`. A throw-away server syncs
//! every commit to the disk of `/tmp`.
//!
//! Bare SQL inserts the same rows into a table with the columns, keys and indexes of `nodes`, by one pipelined transaction.
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
#[allow(dead_code)] // tests need the rest of it
#[path = "../tests/support/postgres.rs"]
mod server;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use loomtree::{
    id::RandomIds,
    ops::{Actor, Loom, NodeDraft, TreeDraft},
    store::{Location, OpenOptions},
    types::Parent,
};

/// Duration of each measurement.
const SPAN: Duration = Duration::from_secs(4);
/// Rows of a grouped insert, and callers of the store.
const GROUP: usize = 64;

fn owner(url: &str) -> Actor {
    let (clock, ids) = (Arc::new(common::WallClock), Arc::new(RandomIds::seeded(1)));
    let store = OpenOptions::new(clock.clone(), ids.clone()).connect(&Location::Postgres(url.to_owned())).unwrap();
    let loom = Loom::new(store, clock, ids);
    let agent = loom.agent("owner").unwrap();
    loom.actor(&agent)
}

/// Appends a second by callers, each in its own tree, under its last node or at its session's position.
fn appends(owner: &Actor, callers: usize, in_session: bool) -> f64 {
    let text = common::message();
    let places: Vec<(Actor, Parent)> = (0..callers)
        .map(|_| {
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
    let programs = server::programs().expect("the programs of a PostgreSQL server");
    let cluster = server::Cluster::start(&programs, true).unwrap();
    let url = cluster.new_database();
    let owner = owner(&url);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    });
    println!("| rows a second | 1 caller or row | {GROUP} callers or rows |\n| --- | --- | --- |");
    let line = |name: &str, one: f64, many: f64| println!("| {name} | {one:.0} | {many:.0} |");
    for _ in 0..2 {
        line("bare SQL", runtime.block_on(bare(&client, 1)), runtime.block_on(bare(&client, GROUP)));
        line("append under a node", appends(&owner, 1, false), appends(&owner, GROUP, false));
        line("append at a session's position", appends(&owner, 1, true), appends(&owner, GROUP, true));
    }
}
