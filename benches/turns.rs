//! A session of a hundred turns, as two tables: `cargo bench --bench turns`. Commands, notes and branches by scripted
//! models; what of each prompt's bytes begins like the prompt before, and what the engine takes of a turn's time. With
//! `LOOM_TEST_SERVER` set to the address of a real server (`http://127.0.0.1:8089/v1`) also the time to the first token at
//! the thirtieth turn, with both renderings.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::{memory_folder, owner};
use loomtree::{
    context::{ContextOptions, Rendering},
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{self, Model, Prompt, Request, Sampling, Scripted, ScriptedReply},
    session::{BoxFuture, GenerateRequest, ModelResolver, Progress, ToolAccess, actor_at, generate},
    tools::ToolError,
    types::{Agent, Parent},
};

const TURNS: usize = 100;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        println!("| rendering | window | prompts | bytes that begin like the prompt before | limit | |");
        println!("| --- | --- | --- | --- | --- | --- |");
        let mut times = Vec::new();
        for window in [128_000, 32_000, 8_000] {
            for rendering in [Rendering::Stable, Rendering::Live] {
                let (prompts, share, took) =
                    session(ContextOptions { window, rendering, ..ContextOptions::default() }).await;
                let limit = if window < 32_000 { 0.90 } else { 0.96 };
                let verdict = match rendering {
                    Rendering::Stable if share < limit => "MISSED",
                    Rendering::Stable => "ok",
                    Rendering::Live => "",
                };
                println!(
                    "| {rendering:?} | {window} | {prompts} | {:.1} % | ≥ {:.0} % | {verdict} |",
                    share * 100.0,
                    limit * 100.0
                );
                times.push((rendering, window, took));
            }
        }
        println!("\n| engine time in a turn | median | 95 of 100 | limit | |\n| --- | --- | --- | --- | --- |");
        for (rendering, window, mut took) in times {
            took.sort();
            let (median, most) = (took[took.len() / 2], took[took.len() * 95 / 100]);
            let verdict = if median < Duration::from_millis(10) { "ok" } else { "MISSED" };
            println!("| {rendering:?}, {window} | {median:.2?} | {most:.2?} | < 10 ms | {verdict} |");
        }
        if let Ok(server) = std::env::var("LOOM_TEST_SERVER") {
            first_token(&server).await;
        }
    });
}

/// Replies come from one list, whoever asks.
struct One(Arc<dyn Model>);

impl ModelResolver for One {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        Box::pin(async { Ok(Arc::clone(&self.0)) })
    }
}

/// A tree, and its root.
fn tree(owner: &Actor) -> NodeId {
    let first = "We are writing a story about a lighthouse keeper. I say what happens, and you write it.";
    owner.create_tree(TreeDraft::new(NodeDraft::text(first)).title("A lighthouse")).unwrap().1.id
}

fn words(turn: usize, count: usize) -> String {
    const STOCK: [&str; 12] =
        ["the", "keeper", "climbed", "slowly", "towards", "a", "light", "that", "nobody", "had", "lit", "before"];
    (0..count).map(|at| STOCK[(turn * 7 + at * 5 + at / 12) % 12]).collect::<Vec<_>>().join(" ") + "."
}

/// What the model says in a turn, a reply for each round.
fn script(turn: usize, root: &str) -> Vec<String> {
    let last = words(turn, 90);
    match turn % 5 {
        0 => vec![format!("I note that.\n→ annotate \"{}\"", words(turn, 8)), last],
        2 => vec![format!("Let me look.\n→ view {root}\n→ list {root} continuations"), last],
        3 => vec![format!("→ continue from {root} n:2\n→ bookmark \"turn {turn}\""), last],
        _ => vec![last],
    }
}

/// A whole session; returns how many prompts there were, what share of their bytes begins like the prompt before, and
/// how long each turn took.
async fn session(options: ContextOptions) -> (usize, f64, Vec<Duration>) {
    let folder = memory_folder();
    let owner = owner(&folder.path().join("loom.db"), 1);
    let loom = owner.loom().clone();
    let (agent, mut at) = (loom.agent("collaborator").unwrap(), tree(&owner));
    let root = loom.node(at).unwrap().local.to_string();
    let other: Arc<dyn Model> = Arc::new(Scripted::new((0..TURNS).map(|turn| ScriptedReply::words(&words(turn, 20)))));
    let (mut prompts, mut took) = (Vec::<String>::new(), Vec::new());
    for turn in 0..TURNS {
        at = owner.append(Parent::Node(at), NodeDraft::text(words(turn, 25))).unwrap().nodes[0].id;
        let model =
            Arc::new(Scripted::new(script(turn, &root).iter().map(|reply| ScriptedReply::chunks([reply.as_str()]))));
        let begun = Instant::now();
        let actor = actor_at(&loom, &agent, "/work", at).unwrap();
        let commands = ToolAccess::new(Arc::new(One(Arc::clone(&other))));
        let plan = GenerateRequest::turn(at, agent.clone(), Arc::clone(&model) as Arc<dyn Model>, commands);
        let nodes = generate(&actor, plan.context(options), |_| {}).await.unwrap();
        took.push(begun.elapsed());
        at = nodes.last().unwrap().id;
        prompts.extend(model.requests().iter().map(whole));
    }
    let (mut alike, mut all) = (0, 0);
    for pair in prompts.windows(2) {
        alike += pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
        all += pair[1].len();
    }
    (prompts.len(), alike as f64 / all as f64, took)
}

/// A request's prompt as one text.
fn whole(request: &Request) -> String {
    match &request.prompt {
        Prompt::Chat(messages) => messages.iter().map(|m| format!("{:?}\n{}\n", m.role, m.text())).collect(),
        Prompt::Raw(text) => text.clone(),
    }
}

/// How long a real server lets wait for its first token at the thirtieth turn.
async fn first_token(server: &str) {
    println!("\n| time to the first token at turn 30 | prompt tokens | of them in the server's cache | |");
    println!("| --- | --- | --- | --- |");
    let target = provider::resolve(server, &provider::Names::new(), &|_| None).unwrap();
    let model = target.connect().await.unwrap();
    for rendering in [Rendering::Live, Rendering::Stable] {
        let folder = memory_folder();
        let owner = owner(&folder.path().join("loom.db"), 1);
        let loom = owner.loom().clone();
        let (agent, mut at) = (loom.agent("collaborator").unwrap(), tree(&owner));
        let (mut waits, mut used) = (Vec::new(), None);
        for turn in 0..30 {
            at = owner.append(Parent::Node(at), NodeDraft::text(words(turn, 25))).unwrap().nodes[0].id;
            let reply = NodeDraft::text(words(turn, 60)).author_type(loomtree::types::AuthorType::Model);
            // What the model says does not matter, so that both sessions hold the same; and only the last turn but one
            // has to have been asked for the server's cache to hold what it will hold.
            if turn < 28 {
                at = owner.append(Parent::Node(at), reply).unwrap().nodes[0].id;
                continue;
            }
            let begun = Instant::now();
            let mut first = None;
            let plan = GenerateRequest::new(at, agent.clone(), Arc::clone(&model), 1)
                .context(ContextOptions { window: 8_192, rendering, ..ContextOptions::default() })
                .sampling(Sampling::default().max_tokens(4).temperature(0.0))
                .keep_position(true);
            generate(&owner, plan, |progress| match progress {
                Progress::Text { .. } => _ = first.get_or_insert_with(|| begun.elapsed()),
                Progress::Saved { usage, .. } => used = usage,
                _ => {}
            })
            .await
            .unwrap();
            waits.extend(first);
            at = owner.append(Parent::Node(at), reply).unwrap().nodes[0].id;
        }
        let (prompt, cached) = used.map_or((0, 0), |usage| (usage.prompt, usage.cached));
        println!("| {rendering:?} | {prompt} | {cached} | {:.2?} |", waits.last().unwrap());
    }
}
