//! The store compared with plain SQLite, as one table: `cargo bench --bench limits`. Each row alternates with its
//! reference and is judged by the ratio of the medians. `-- --nodes N` sets the size of the large tree.
// A benchmark prints its table, panics on errors, and divides counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod common;

use std::{
    fs,
    io::{BufReader, Write},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use loomtree::{
    id::NodeId,
    interchange::{self, jsonl},
    ops::{Actor, NodeDraft},
    store::{ChildFilter, Mutation},
    types::{EdgeKind, Op, Parent},
};
use rusqlite::Connection;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["child", "sync", path, callers, count] => sync_child(path.as_ref(), number(callers), number(count)),
        ["child", "open", path] => open_child(path.as_ref()),
        ["child", "import", path, file] => import_child(path.as_ref(), file.as_ref()),
        _ => {
            let at = words.iter().position(|w| *w == "--nodes");
            table(at.and_then(|at| words.get(at + 1)).map_or(1_000_000, |n| number(n)));
        }
    }
}

fn number(word: &str) -> usize {
    word.parse().unwrap()
}

fn row(what: &str, measured: &str, limit: &str, ok: Option<bool>) {
    let verdict = ok.map_or("", |ok| if ok { "ok" } else { "MISSED" });
    println!("| {what:<55} | {measured:<50} | {limit:<33} | {verdict:<6} |");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs `a` and `b` alternately. Returns the median seconds of each, and the median ratio of each `a` to the following
/// `b`. A temporary slowdown of the machine affects both.
fn alternate(rounds: usize, mut a: impl FnMut() -> f64, mut b: impl FnMut() -> f64) -> (f64, f64, f64) {
    let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| (a(), b())).collect();
    let of = |value: fn(&(f64, f64)) -> f64| median(pairs.iter().map(value).collect());
    (of(|pair| pair.0), of(|pair| pair.1), of(|pair| pair.0 / pair.1))
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn table(nodes: usize) {
    println!("| {:<55} | {:<50} | {:<33} | {:<6} |", "what", "measured", "limit", "");
    println!("|{}|{}|{}|{}|", "-".repeat(57), "-".repeat(52), "-".repeat(35), "-".repeat(8));
    syncs();
    appends();
    let folder = common::memory_folder();
    let large = folder.path().join("large.db");
    let owner = common::owner(&large, 7);
    let made = seconds(|| _ = common::grow(&owner, nodes));
    row(&format!("growing {nodes} nodes, 1,000 a commit"), &format!("{:.0} nodes/s", nodes as f64 / made), "", None);
    sizes(&owner, nodes);
    reads(&owner, &large);
    drop(owner);
    opening(&large);
    imports(folder.path(), &large);
}

/// Counts syncs per acknowledged append with strace.
fn syncs() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("strace").arg("-V").output().is_err() {
        return row("syncs an ack", "skipped: strace is not installed", "", None);
    }
    for (callers, limit) in [(1, 1.0), (64, 1.0 / 16.0)] {
        let path = folder.path().join(format!("{callers}.db"));
        drop(common::owner(&path, 1));
        let count = 640;
        let all = counted(&path, callers, count) - counted(&path, callers, 0);
        let each = all / count as f64;
        row(
            &format!("syncs an ack, {callers} caller(s), a real disk"),
            &format!("{each:.4} ({all} for {count} acks)"),
            &format!("≤ {limit:.4}"),
            Some(each <= limit),
        );
    }
}

fn counted(path: &Path, callers: usize, count: usize) -> f64 {
    let log = path.with_extension("strace");
    let done = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["child", "sync", path.to_str().unwrap(), &callers.to_string(), &count.to_string()])
        .status()
        .unwrap();
    assert!(done.success());
    fs::read_to_string(&log).unwrap().lines().filter(|l| l.contains("sync(") && !l.contains("resumed")).count() as f64
}

fn sync_child(path: &Path, callers: usize, count: usize) {
    let owner = common::owner(path, std::process::id().into());
    let (_, root, _) = common::grow(&owner, 1);
    append_all(&owner, root, callers, count);
}

/// Appends `count` nodes from concurrent callers; each waits for its receipt before its next append.
fn append_all(owner: &Actor, at: NodeId, callers: usize, count: usize) {
    let text = common::message();
    if callers == 1 {
        let mut at = at;
        for _ in 0..count {
            at = owner.append(Parent::Node(at), NodeDraft::text(text.as_str())).unwrap().nodes[0].id;
        }
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..callers {
            let (owner, text) = (owner.clone(), text.clone());
            tasks.spawn(async move {
                let mut at = at;
                for _ in 0..count / callers {
                    let node = owner.draft(Parent::Node(at), NodeDraft::text(text.as_str()));
                    let pending = owner.submit(Op::Append, vec![Mutation::Append(Box::new(node))]);
                    at = pending.await.unwrap().nodes[0].id;
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    });
}

fn bare(path: &Path) -> Connection {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)",
    )
    .unwrap();
    conn
}

fn bare_appends(conn: &Connection, text: &str, count: usize, a_transaction: usize) {
    for _ in 0..count / a_transaction {
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..a_transaction {
            conn.prepare_cached("INSERT INTO t (text) VALUES (?1)").unwrap().execute([text]).unwrap();
        }
        conn.execute_batch("COMMIT").unwrap();
    }
}

/// Measures appends on a memory file system against a single table. The full-text index may cost half of the rate.
fn appends() {
    let folder = common::memory_folder();
    let (owner, conn) = (common::owner(&folder.path().join("loom.db"), 1), bare(&folder.path().join("bare.db")));
    let (_, root, _) = common::grow(&owner, 1_000);
    let text = common::message();
    // Targets are rates on a machine with 176,000 plain inserts/s of one row, and 1,080,000/s of 64 rows.
    for (callers, target, reference, count) in [(1, 30_000.0, 176_000.0, 4_000), (64, 100_000.0, 1_080_000.0, 12_800)] {
        let (ours, theirs, ratio) = alternate(
            7,
            || seconds(|| append_all(&owner, root, callers, count)),
            || seconds(|| bare_appends(&conn, &text, count, callers)),
        );
        let rate = count as f64 / ours;
        let (target, limit) = (target / 2.0, 2.0 * reference / target);
        let bare = count as f64 / theirs;
        row(
            &format!("appends in memory, {callers} caller(s), journal and index included"),
            &format!("{rate:.0}/s; bare SQLite {bare:.0}/s; ratio {ratio:.1}"),
            &format!("≥ {target:.0}/s or ratio ≤ {limit:.1}"),
            Some(rate >= target || ratio <= limit),
        );
    }
}

fn sizes(owner: &Actor, nodes: usize) {
    let folder = common::memory_folder();
    let small = common::owner(&folder.path().join("small.db"), 3);
    let (_, _, small_tip) = common::grow(&small, 100);
    let loom = owner.loom();
    let tree = loom.snapshot().unwrap().trees(loomtree::store::TreeFilter::default()).unwrap()[0].clone();
    let tip = deepest(owner, tree.root.unwrap());
    let (large, little, ratio) = alternate(
        25,
        || seconds(|| append_all(owner, tip, 1, 1_000)),
        || seconds(|| append_all(&small, small_tip, 1, 1_000)),
    );
    row(
        &format!("an append at {nodes} nodes against one at 100"),
        &format!("{:.1} µs, {:.1} µs; ratio {:.2}", large * 1e3, little * 1e3, ratio),
        "≤ 1.2",
        Some(ratio <= 1.2),
    );
    let counts = loom.tree(tree.id).unwrap().counts;
    let before = counts.nodes;
    owner.append(Parent::Node(tree.root.unwrap()), NodeDraft::text("forked").keep_position(true)).unwrap();
    let added = loom.tree(tree.id).unwrap().counts.nodes - before;
    row(&format!("a fork at the root of {before} nodes"), &format!("{added} node written"), "1 node", Some(added == 1));
}

/// The last node of the trunk that [`common::grow`] made.
fn deepest(owner: &Actor, root: NodeId) -> NodeId {
    let snapshot = owner.loom().snapshot().unwrap();
    let tree = snapshot.node(root).unwrap().unwrap().tree;
    let counts = snapshot.tree(tree).unwrap().unwrap().counts;
    let last = snapshot.nodes_after(tree, counts.nodes.saturating_sub(100), 0).unwrap_or_default();
    last.iter().rev().find(|n| n.depth == counts.max_depth).map_or(root, |n| n.id)
}

fn reads(owner: &Actor, file: &Path) {
    let snapshot = owner.loom().snapshot().unwrap();
    let tree = snapshot.trees(loomtree::store::TreeFilter::default()).unwrap()[0].clone();
    let tip = deepest(owner, tree.root.unwrap());
    let conn = Connection::open(file).unwrap();
    let seq = snapshot.node(tip).unwrap().unwrap().seq;
    let bare = |count: usize| {
        let mut statement = conn
            .prepare_cached(
                "WITH RECURSIVE path (node) AS (
                     SELECT ?1 UNION ALL SELECT n.parent FROM path JOIN nodes n ON n.seq = path.node
                     WHERE n.parent IS NOT NULL LIMIT ?2
                 ) SELECT n.seq, n.content FROM path JOIN nodes n ON n.seq = path.node",
            )
            .unwrap();
        let read = |r: &rusqlite::Row<'_>| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?));
        let path: Vec<(i64, String)> =
            statement.query_map(rusqlite::params![seq, count], read).unwrap().map(Result::unwrap).collect();
        assert_eq!(path.len(), count);
    };
    let ours = || assert_eq!(snapshot.path_back(tip, &[], 10_000).unwrap().len(), 10_000);
    ours();
    bare(10_000);
    let (mine, theirs, ratio) = alternate(15, || seconds(ours), || seconds(|| bare(10_000)));
    row(
        "a path of 10,000 nodes with text",
        &format!("{:.1} ms; recursive CTE {:.1} ms; ratio {:.2}", mine * 1e3, theirs * 1e3, ratio),
        "≤ 1.5 × the CTE",
        Some(ratio <= 1.5),
    );
    let root = tree.root.unwrap();
    let filter = ChildFilter::default().kind(EdgeKind::Continuation).limit(100);
    // The limit is 100 µs on a machine where the CTE takes 50 µs.
    let tail = || drop(snapshot.path_back(tip, &[], 100).unwrap());
    let (mine, theirs, ratio) = alternate(200, || seconds(tail), || seconds(|| bare(100)));
    row(
        &format!("a path's tail of 100 at {} nodes", tree.counts.nodes),
        &format!("{:.1} µs; recursive CTE {:.1} µs; ratio {:.2}", mine * 1e6, theirs * 1e6, ratio),
        "< 100 µs or ≤ 2 × the CTE",
        Some(mine < 100e-6 || ratio <= 2.0),
    );
    let small: [(&str, &dyn Fn()); 2] = [
        ("children", &|| drop(snapshot.children(root, &filter).unwrap())),
        ("a tree's counts", &|| drop(snapshot.tree(tree.id).unwrap())),
    ];
    for (what, run) in small {
        run();
        let each = median((0..200).map(|_| seconds(run)).collect());
        row(
            &format!("{what} at {} nodes", tree.counts.nodes),
            &format!("{:.1} µs", each * 1e6),
            "< 100 µs",
            Some(each < 100e-6),
        );
    }
    drop(snapshot);
    owner.loom().store().verify(&mut |_| {}).unwrap();
    let text = tree.counts.nodes as f64 * 500.0;
    let bytes = fs::metadata(file).unwrap().len() as f64;
    row(
        "the file against its text, 500-byte messages",
        &format!("{:.2} ×", bytes / text),
        "≤ 2 ×",
        Some(bytes / text <= 2.0),
    );
}

/// The peak memory of this process in MB.
fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or("VmHWM: 0");
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn child(words: &[&str]) -> Vec<f64> {
    let done = Command::new(std::env::current_exe().unwrap()).arg("child").args(words).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().split_whitespace().map(|w| w.parse().unwrap()).collect()
}

fn open_child(path: &Path) {
    let start = Instant::now();
    let owner = common::owner(path, 1);
    let snapshot = owner.loom().snapshot().unwrap();
    let tree = snapshot.trees(loomtree::store::TreeFilter::default().limit(1)).unwrap()[0].clone();
    let root = tree.root.unwrap();
    let children = snapshot.children(root, &ChildFilter::default().limit(50)).unwrap();
    let mut at = children[0].id;
    for _ in 0..50 {
        match snapshot.children(at, &ChildFilter::default().limit(50)).unwrap().first() {
            Some(child) => at = child.id,
            None => break,
        }
    }
    let path = snapshot.path_back(at, &[], 100).unwrap();
    assert!(path.len() > 10);
    println!("{} {}", start.elapsed().as_secs_f64() * 1e3, peak_memory());
}

fn opening(path: &Path) {
    let runs: Vec<Vec<f64>> = (0..7).map(|_| child(&["open", path.to_str().unwrap()])).collect();
    let (ms, mb) = (median(runs.iter().map(|r| r[0]).collect()), median(runs.iter().map(|r| r[1]).collect()));
    row(
        "opening and the first view (outline of 50, path)",
        &format!("{ms:.1} ms, {mb:.1} MB"),
        "< 20 ms, < 30 MB",
        Some(ms < 20.0 && mb < 30.0),
    );
}

fn import_child(path: &Path, file: &Path) {
    let owner = common::owner(path, 2);
    let input = fs::File::open(file).unwrap();
    let start = Instant::now();
    let mut input = BufReader::new(input);
    let done = interchange::import(&owner, None, "bench", &mut input, &mut |_| {}).unwrap();
    println!("{} {} {}", done.nodes, start.elapsed().as_secs_f64(), peak_memory());
}

/// Measures an import against as many rows in a single table, 64 per transaction. The full-text index may cost half of
/// the rate.
fn imports(folder: &Path, large: &Path) {
    let file: PathBuf = folder.join("export.jsonl");
    let owner = common::owner(large, 5);
    let tree = owner.loom().snapshot().unwrap().trees(loomtree::store::TreeFilter::default()).unwrap()[0].id;
    let mut out = std::io::BufWriter::new(fs::File::create(&file).unwrap());
    let start = Instant::now();
    let done = jsonl::export(owner.loom().snapshot().unwrap().as_ref(), &[tree], &mut out).unwrap();
    out.flush().unwrap();
    let took: Duration = start.elapsed();
    row("export as JSONL", &format!("{:.0} nodes/s", done.nodes as f64 / took.as_secs_f64()), "", None);
    drop(owner);
    let text = fs::read_to_string(&file).unwrap();
    let tenth: String = text.lines().take(done.lines as usize / 10).flat_map(|l| [l, "\n"]).collect();
    let part = folder.join("tenth.jsonl");
    fs::write(&part, tenth).unwrap();
    drop(text);
    let mut taken = 0;
    let mut import = |file: &Path| {
        taken += 1;
        let done = child(&["import", folder.join(format!("{taken}.db")).to_str().unwrap(), file.to_str().unwrap()]);
        fs::remove_file(folder.join(format!("{taken}.db"))).unwrap();
        done
    };
    let small = import(&part);
    let (mut memory, mut nodes, text) = (0.0, 0.0, common::message());
    let (ours, theirs, ratio) = alternate(
        3,
        || {
            let whole = import(&file);
            (nodes, memory) = (whole[0], whole[2].max(memory));
            whole[1]
        },
        || {
            let fresh = common::memory_folder();
            let conn = bare(&fresh.path().join("bare.db"));
            seconds(|| bare_appends(&conn, &text, done.nodes as usize, 64))
        },
    );
    let (rate, theirs) = (nodes / ours, done.nodes as f64 / theirs);
    row(
        &format!("import of {nodes:.0} nodes, journal and index included"),
        &format!("{rate:.0}/s; bare SQLite {theirs:.0}/s; ratio {ratio:.1}"),
        "≥ 50000/s or ratio ≤ 21.6",
        Some(rate >= 50_000.0 || ratio <= 21.6),
    );
    row(
        "the memory that it needs",
        &format!("{memory:.0} MB, for a tenth of it {:.0} MB", small[2]),
        "flat",
        Some(memory < small[2] * 1.3),
    );
}
