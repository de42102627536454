//! Processes killed at random moments, thousands of times: acknowledged changes exist, none exists in part, and
//! `verify` finds no problem.
//!
//! `cargo test` kills 50 children, `.ci/run` 300; `LOOM_KILLS=5000` sets another number, `LOOM_SEED` another random sequence. Each
//! child writes from four threads, each with its own agent, so that the last operation of each is known.

// Clippy recognizes only functions marked #[test] as tests, and not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use support::child;
#[path = "crash/judge.rs"]
mod judge;
mod support;
#[path = "crash/writer.rs"]
mod writer;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::{rounds, store::Scene};

use crate::judge::Judge;

/// Kills of one database before a new one is created, so that each recovery starts from earlier ones.
const PER_DATABASE: usize = 25;

/// The entry point of child processes started by a test; does nothing in the test process.
#[test]
fn child_process() {
    if let Some(job) = child::job() {
        writer::write(job[0].as_ref(), job[1].parse().unwrap());
    }
}

/// Starts a writer and kills it; returns the changes that it acknowledged.
fn kill_one(path: &Path, seed: u64, rng: &mut StdRng, early: bool) -> Vec<String> {
    let job = [path.to_str().unwrap().to_owned(), seed.to_string()];
    let (mut child, said) = child::start(child::command(&[], &[&job[0], &job[1]]));
    let first = if early {
        // During creation, migration, recovery or opening of the file.
        std::thread::sleep(Duration::from_micros(rng.random_range(0..25_000)));
        None
    } else {
        let first = said.recv_timeout(Duration::from_secs(60)).expect("the child acks within a minute");
        std::thread::sleep(Duration::from_micros(rng.random_range(0..60_000)));
        Some(first)
    };
    let alive = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    let end = child.wait_with_output().unwrap();
    assert!(alive, "the child ended by itself: {}", String::from_utf8_lossy(&end.stderr));
    first.into_iter().chain(rest(&said)).collect()
}

fn rest(said: &Receiver<String>) -> Vec<String> {
    said.iter().collect()
}

/// Copies the files that the kill left. Checking the copy leaves the recovery of the original to the next child.
fn copied(path: &Path, to: &Path) -> PathBuf {
    for ending in ["", "-wal", "-shm"] {
        let named = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        let _ = fs::remove_file(named(to));
        if named(path).exists() {
            fs::copy(named(path), named(to)).unwrap();
        }
    }
    to.to_owned()
}

#[test]
fn killed_at_any_moment_loses_nothing_that_was_acked() {
    let kills = rounds::of("LOOM_KILLS", 50, 300) as usize;
    let seed = rounds::number("LOOM_SEED", 20_260_730);
    println!("{kills} kills, LOOM_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut total = judge::Totals::default();
    let mut killed = 0;
    while killed < kills {
        let scene = Scene::new(seed);
        let copy = scene.path.with_file_name("copy.db");
        let mut judge = Judge::default();
        let in_this = PER_DATABASE.min(kills - killed);
        for kill in 0..in_this {
            let early = kill == 0 || rng.random_range(0..10) == 0;
            let child_seed = seed.wrapping_add(1 + (killed + kill) as u64);
            let said = kill_one(&scene.path, child_seed, &mut rng, early);
            let at = format!("LOOM_SEED={seed}, kill {}", killed + kill);
            judge.hear(&said, &at);
            let path = if rng.random_bool(0.5) { copied(&scene.path, &copy) } else { scene.path.clone() };
            if path.exists() {
                judge.judge(&path, &at);
            }
        }
        killed += in_this;
        total.add(&judge.totals());
        // The database is still writable.
        drop(scene.owner());
    }
    println!(
        "{killed} kills, {} acked ({} nodes), 0 lost, 0 half; {} unacked were there whole",
        total.acked, total.nodes, total.unacked
    );
    assert!(total.acked > killed as u64, "the children did something: {}", total.acked);
}
