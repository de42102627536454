//! The targets on a stable toolchain: every seed, then random mutations of seeds for as many seconds as
//! `LOOM_FUZZ_SECONDS` says (0.5 if unset), or as many mutations as `LOOM_FUZZ_ROUNDS` says. The rounds are seeded by their
//! number, so a failure repeats. A failing input is made smaller and written to `target/fuzz-failures`.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng as _, rngs::StdRng};

use super::{FUZZ_TARGETS, FuzzTarget, target};

/// Runs of a failing input while it is made smaller.
const MAX_SHRINK_RUNS: usize = 400;

/// Longest input that mutations make, in bytes.
const MAX_INPUT_BYTES: usize = 16 << 10;

/// Defines a test for each target, so that the test runner runs them in parallel.
macro_rules! explore {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            explore(target(stringify!($name)));
        })*

        #[test]
        fn every_target_is_explored() {
            let names: Vec<&str> = FUZZ_TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

explore!(
    arrow_line,
    scanner,
    jsonl,
    pi,
    claude_code,
    codex,
    gemini,
    chatgpt,
    claude_ai,
    open_webui,
    silly_tavern,
    openai_chat,
    librechat,
    llama_app,
    loomsidian,
    exoloom,
    pyloom,
    basemode,
    goose,
    markdown,
    llm_database,
    opencode_database,
    open_webui_database,
    goose_database,
    zed_database,
    cursor_database,
    basemode_database,
    sse,
    openai,
    anthropic,
    config,
    screen
);

fn explore(target: &FuzzTarget) {
    let seconds = std::env::var("LOOM_FUZZ_SECONDS").map_or(0.5, |text| text.parse().unwrap());
    let rounds: Option<u64> = std::env::var("LOOM_FUZZ_ROUNDS").ok().map(|text| text.parse().unwrap());
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let seeds = target.seeds();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    seeds.iter().for_each(|seed| run(target, seed));
    let mut round = 0;
    while rounds.map_or_else(|| Instant::now() < until, |rounds| round < rounds) {
        run(target, &mutation(&mut StdRng::seed_from_u64(round), &seeds, target.words));
        round += 1;
    }
    println!("{}: {} seeds, {round} mutations", target.name, seeds.len());
}

/// Longest time of one input.
const MAX_RUN_TIME: Duration = Duration::from_secs(30);

fn run(target: &FuzzTarget, input: &[u8]) {
    let start = Instant::now();
    let fails = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err();
    if !fails(input) {
        assert!(start.elapsed() < MAX_RUN_TIME, "{} is slow with {}", target.name, input.escape_ascii());
        return;
    }
    let small = shrink(input.to_vec(), &fails);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz-failures");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(target.name);
    fs::write(&file, &small).unwrap();
    panic!("{} fails with {}: {}", target.name, file.display(), small.escape_ascii());
}

/// Removes parts of an input as long as it fails.
fn shrink(mut input: Vec<u8>, fails: &impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut size, mut runs) = (input.len() / 2, 0);
    while size > 0 {
        let mut at = 0;
        while at < input.len() && runs < MAX_SHRINK_RUNS {
            let mut shorter = input.clone();
            shorter.drain(at..(at + size).min(input.len()));
            runs += 1;
            if fails(&shorter) {
                input = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    input
}

/// Returns an index below `length`, which is not 0.
fn below(random: &mut StdRng, length: usize) -> usize {
    usize::try_from(random.next_u64() % length as u64).unwrap()
}

/// Returns a slice of at most `most` bytes, at a random place.
fn slice(random: &mut StdRng, bytes: &[u8], most: usize) -> std::ops::Range<usize> {
    let start = below(random, bytes.len() + 1);
    start..(start + 1 + below(random, most)).min(bytes.len())
}

/// Returns a seed, or noise, with a few random changes.
fn mutation(random: &mut StdRng, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut input = if below(random, 20) == 0 { Vec::new() } else { seeds[below(random, seeds.len())].clone() };
    for _ in 0..below(random, 7) {
        let place = below(random, input.len() + 1);
        match below(random, 16) {
            0..6 => drop(input.splice(place..place, words[below(random, words.len())].bytes())),
            6..9 => drop(input.drain(slice(random, &input, 12))),
            9 => drop(input.drain(slice(random, &input, 400))),
            10 | 11 => {
                let part = slice(random, &input, 40);
                let copy = input[part.clone()].to_vec();
                drop(input.splice(part.end..part.end, copy));
            }
            12 => {
                let part = slice(random, &input, 1);
                let byte = random.next_u64().to_le_bytes()[0];
                input[part].fill(byte);
            }
            13 => {
                let noise = random.next_u64().to_le_bytes();
                drop(input.splice(place..place, noise));
            }
            14 => {
                let other = &seeds[below(random, seeds.len())];
                let part = slice(random, other, 200);
                drop(input.splice(place..place, other[part].iter().copied()));
            }
            _ => {
                input.push(b'\n');
                input.extend(&seeds[below(random, seeds.len())]);
            }
        }
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}
