//! The context assembler and the estimate of tokens, as two tables: `cargo bench --bench context`. `-- --nodes N` sets
//! the size of the large tree. The estimate is judged against real tokenizers; nothing is downloaded.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

mod common;
#[path = "common/texts.rs"]
mod texts;

use std::{hint::black_box, time::Instant};

use common::{grow, memory_folder, message, owner};
use loomtree::{
    context::{ContextOptions, ContextRequest, Rendering, assemble},
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::Mutation,
    tokens::{TokenizerFamily, estimated_tokens},
    types::{Op, Parent},
};

fn main() {
    tokens();
    let args: Vec<String> = std::env::args().collect();
    let named = args.iter().position(|arg| arg == "--nodes").and_then(|at| args.get(at + 1));
    contexts(named.and_then(|nodes| nodes.parse().ok()).unwrap_or(1_000_000));
}

/// The estimate beside what tokenizers say.
fn tokens() {
    println!("| text | tokenizer | tokens | mean error | most under | most over | limit | |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut means = Vec::new();
    for (vocabulary, name, count) in tokenizers() {
        for (kind, texts) in texts::all() {
            let judged = texts::judge(vocabulary, &texts, &count);
            means.push(judged.mean);
            let verdict = if judged.under < 15.0 { "ok" } else { "MISSED" };
            let texts::Judged { tokens, mean, under, over } = judged;
            println!(
                "| {kind} | {name} | {tokens} | {mean:.1} % | {under:.1} % | {over:.1} % | under ≤ 15 % | {verdict} |"
            );
        }
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    println!("| all, in the mean | | | {mean:.1} % | | | ≤ 10 % | {} |", if mean <= 10.0 { "ok" } else { "MISSED" });
    let text: String = texts::all().into_iter().flat_map(|(_, texts)| texts).collect();
    let seconds = median(15, || _ = black_box(estimated_tokens(black_box(&text))));
    println!("\nThe estimate reads {:.0} MB/s.\n", text.len() as f64 / 1e6 / seconds);
}

type Tokenizer = (TokenizerFamily, &'static str, Box<dyn Fn(&str) -> usize>);

/// Tokenizers, each with the vocabulary that the estimate has for it. The small model's is there with the feature `local` and its file in `LOOM_MODELS_DIR`.
fn tokenizers() -> Vec<Tokenizer> {
    let (wide, narrow) = (tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap());
    let openai: [Tokenizer; 2] = [
        (TokenizerFamily::O200k, "o200k", Box::new(move |text| wide.encode_ordinary(text).len())),
        (TokenizerFamily::Cl100k, "cl100k", Box::new(move |text| narrow.encode_ordinary(text).len())),
    ];
    openai.into_iter().chain(small()).collect()
}

#[cfg(feature = "local")]
fn small() -> Option<Tokenizer> {
    use loomtree::provider::{KNOWN_WEIGHTS, LoadedModel, MODELS_VARIABLE, Model, Sampling};
    let path = std::path::PathBuf::from(std::env::var_os(MODELS_VARIABLE)?).join(KNOWN_WEIGHTS[0].files[0].name);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let load = || runtime.block_on(LoadedModel::load("local:smollm2", &path, Sampling::default())).unwrap();
    let model = path.is_file().then(load)?;
    Some((TokenizerFamily::Small, "smollm2", Box::new(move |text| model.count(text).unwrap())))
}

#[cfg(not(feature = "local"))]
fn small() -> Option<Tokenizer> {
    None
}

/// What a context costs in trees of different sizes and depths.
fn contexts(nodes: usize) {
    let folder = memory_folder();
    let owner = owner(&folder.path().join("loom.db"), 1);
    let (_, _, small) = grow(&owner, 2_000);
    let (_, _, large) = grow(&owner, nodes);
    let (shallow, deep) = (chain(&owner, 100), chain(&owner, nodes / 10));
    println!("| context | small | large | ratio | limit | |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (agent, rendering) in
        [("subject", Rendering::Stable), ("collaborator", Rendering::Live), ("collaborator", Rendering::Stable)]
    {
        let who = if agent == "subject" { "bare".to_owned() } else { format!("{rendering:?}").to_lowercase() };
        let options = |window| ContextOptions { window, reserve: Some(0), rendering, ..ContextOptions::default() };
        let (first, second) = pair(&owner, agent, options(100_000), small, large);
        row(&format!("{who}, 100,000 tokens, 2,000 and {nodes} nodes"), first, second);
        let (first, second) = pair(&owner, agent, options(10_000), shallow, deep);
        row(&format!("{who}, 10,000 tokens, depth 100 and {}", nodes / 10), first, second);
    }
}

/// A conversation without branches; returns its last node.
fn chain(owner: &Actor, length: usize) -> NodeId {
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let (text, mut at, mut batch) = (message(), root.id, Vec::new());
    for made in 0..length {
        let node = owner.draft(Parent::Node(at), NodeDraft::text(text.as_str()).keep_position(true));
        at = node.id;
        batch.push(Mutation::Append(Box::new(node)));
        if batch.len() >= 1_000 || made + 1 == length {
            owner.commit(Op::Import, std::mem::take(&mut batch)).unwrap();
        }
    }
    at
}

/// Seconds of both, measured in turns.
fn pair(owner: &Actor, agent: &str, options: ContextOptions, first: NodeId, second: NodeId) -> (f64, f64) {
    let agent = owner.loom().agent(agent).unwrap();
    let once = |to| {
        let ask = ContextRequest {
            agent: &agent,
            leaf: to,
            versions: &[],
            context_start: None,
            session: None,
            rounds: &[],
            scope: None,
            input: None,
            instruction: None,
            host_tools: &[],
            options,
            now: owner.loom().now(),
        };
        let began = Instant::now();
        let snapshot = owner.loom().snapshot().unwrap();
        let made = black_box(assemble(&*snapshot, &ask).unwrap());
        let took = began.elapsed().as_secs_f64();
        // A full window drops up to half of its turns at once, so that the prefix stays the same for many turns.
        assert!(made.report.total > options.window * 4 / 10, "the window is not full: {}", made.report.total);
        took
    };
    let (mut one, mut two): (Vec<f64>, Vec<f64>) = (0..41).map(|_| (once(first), once(second))).unzip();
    one.sort_by(f64::total_cmp);
    two.sort_by(f64::total_cmp);
    (one[one.len() / 2], two[two.len() / 2])
}

fn row(what: &str, small: f64, large: f64) {
    let ratio = large / small;
    let verdict = if ratio <= 1.2 && large < 5e-3 { "ok" } else { "MISSED" };
    let (small, large) = (small * 1e3, large * 1e3);
    println!("| {what} | {small:.2} ms | {large:.2} ms | {ratio:.2} | < 5 ms, ≤ 1.2 | {verdict} |");
}

/// Seconds that `run` takes.
fn median(rounds: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}
