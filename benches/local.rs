//! Built-in local model: load time, memory, prompt evaluation, generation, and the saving of a shared prompt.
//!
//! Run `cargo bench --features local --bench local`, with the weights in `LOOM_MODELS_DIR` (downloaded by
//! `loom models fetch smollm2`). Without weights, the bench is skipped. On a machine with shared cores, set
//! `CANDLE_NUM_THREADS=1`.

// A bench prints its table, panics on errors and divides counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::panic, clippy::cast_precision_loss)]

use std::time::{Duration, Instant};

use loomtree::provider::{
    Finish, Generation, KNOWN_WEIGHTS, LoadedModel, MODELS_VARIABLE, Model, Prompt, Request, Sampling,
};

const REPLY_TOKENS: u32 = 64;

#[tokio::main]
async fn main() {
    let weights = &KNOWN_WEIGHTS[0];
    let folder = std::env::var_os(MODELS_VARIABLE).unwrap_or_default();
    let path = std::path::Path::new(&folder).join(weights.files[0].name);
    if !path.is_file() {
        println!("skipped: {MODELS_VARIABLE} names no folder with {}", weights.files[0].name);
        return;
    }
    let before = resident();
    let started = Instant::now();
    let model = LoadedModel::load("local:smollm2", &path, Sampling::default()).await.unwrap();
    println!("load                      {:>8.2} s", started.elapsed().as_secs_f64());
    println!("memory after load         {:>8.0} MB more", resident() - before);

    let long = prompt("The first keeper of the light", 900);
    let (finish, _) = collect(model.stream(request(&long, 0))).await;
    let usage = finish.usage.unwrap();
    let first = finish.first_token.unwrap();
    println!("prompt                    {:>8} tokens", usage.prompt);
    println!(
        "reading it                {:>8.2} s, {:.0} tokens/s",
        first.as_secs_f64(),
        usage.prompt as f64 / first.as_secs_f64()
    );
    let (short, _) = collect(model.stream(request("Once upon a time", 0))).await;
    println!("writing, short prompt     {:>8.1} tokens/s", pace(&short));
    let (again, _) = collect(model.stream(request(&long, 0))).await;
    println!("writing, that prompt      {:>8.1} tokens/s", pace(&again));
    let grown = format!("{long} And then the door opened.");
    let (grown, _) = collect(model.stream(request(&grown, 0))).await;
    let usage = grown.usage.unwrap();
    println!(
        "the prompt and six words  {:>8.2} s to the first word, {} of {} tokens cached",
        grown.first_token.unwrap().as_secs_f64(),
        usage.cached,
        usage.prompt
    );

    // Each measurement starts with a prompt that shares no prefix with the last one.
    let started = Instant::now();
    let shared = prompt("The second keeper of the light", 900);
    let mut together = Vec::new();
    let replies = model.stream_n(request(&shared, 5), 3).into_iter().map(collect);
    for (_, text) in futures_util::future::join_all(replies).await {
        together.push(text);
    }
    println!("three together            {:>8.2} s", started.elapsed().as_secs_f64());
    let mut apart = Duration::ZERO;
    let mut same = 0;
    for (seed, expected) in (5..).zip(&together) {
        collect(model.stream(request("Something else altogether.", 0))).await;
        let started = Instant::now();
        let (_, text) = collect(model.stream(request(&shared, seed))).await;
        apart += started.elapsed();
        same += usize::from(text == *expected);
    }
    println!("three apart               {:>8.2} s, {same} of 3 texts the same", apart.as_secs_f64());
    println!("memory at the end         {:>8.0} MB in all", resident());
}

fn request(prompt: &str, seed: u64) -> Request {
    let sampling = Sampling::default().seed(seed).max_tokens(REPLY_TOKENS);
    Request::new(Prompt::Raw(prompt.to_owned())).sampling(sampling)
}

/// Returns a prompt of about `words` words with a distinct beginning.
fn prompt(beginning: &str, words: usize) -> String {
    let words = (0..words).map(|n| ["wind", "lamp", "stair", "salt", "book", "glass", "night"][n * n % 7]);
    std::iter::once(beginning).chain(words).collect::<Vec<_>>().join(" ")
}

async fn collect(mut reply: Generation) -> (Finish, String) {
    let mut text = String::new();
    let finish = reply.read_to_string(&mut text).await.unwrap();
    (finish, text)
}

fn pace(finish: &Finish) -> f64 {
    let written = finish.total - finish.first_token.unwrap();
    (finish.usage.unwrap().output - 1) as f64 / written.as_secs_f64()
}

/// Returns the resident memory in MB, or 0 if `/proc` does not report it.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let kilobytes = line.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or_default();
    kilobytes / 1024.0
}
