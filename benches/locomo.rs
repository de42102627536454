//! Answers the questions of a LoCoMo file by recall, for scoring: which turns hold the answer.
//!
//! `cargo bench --bench locomo -- FILE.json [--one-archive] > ranked.jsonl`; with `--features local`, `--weights FOLDER` adds the
//! meaning by `minilm`, whose files are in that folder.
//!
//! Each conversation comes in as a session, its speakers as agents, with the times that it has; each question goes
//! through the same search as `→ recall search`. By default each conversation has an archive of its own; with
//! `--one-archive` all are in one, and all of it is searched.
#![allow(clippy::print_stdout)] // its answers

use std::{collections::HashMap, error::Error, path::Path, time::Instant};

use jiff::{civil::DateTime, tz::TimeZone};
use loomtree::{
    id::{NodeId, SessionId},
    interchange::recall::{self, Embedder, Query, QueryEmbedding, Scope},
    ops::{Actor, Loom, TreeDraft},
    session,
    store::Mutation,
    types::{Agent, AgentKind, AuthorType, NewAgent, NewNode, Op, Parent, Timestamp},
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let one = arguments.iter().any(|argument| argument == "--one-archive");
    let weights = arguments.iter().position(|word| word == "--weights").and_then(|at| arguments.get(at + 1));
    let embedder = weights.map(|folder| embedder(Path::new(folder))).transpose()?;
    let files = || arguments.iter().filter(|argument| !argument.starts_with("--") && Some(*argument) != weights);
    let Some(file) = files().next() else {
        println!("skipped: name a LoCoMo file, `cargo bench --bench locomo -- FILE.json`");
        return Ok(());
    };
    let read: Value = serde_json::from_str(&std::fs::read_to_string(Path::new(file))?)?;
    let conversations = read.as_array().cloned().unwrap_or_else(|| vec![read]);
    let folder = tempfile::tempdir()?;
    let mut turns = HashMap::new();
    let mut archives = Vec::new();
    for (number, conversation) in conversations.iter().enumerate() {
        let name = if one { "all.db".to_owned() } else { format!("{number}.db") };
        let loom = session::open(folder.path().join(name))?;
        let sample = conversation["sample_id"].as_str().map_or_else(|| number.to_string(), str::to_owned);
        let at = import(&loom, &sample, conversation, &mut turns)?;
        if let Some(embedder) = &embedder {
            recall::embed(&loom.actor(&loom.agent("owner")?), &**embedder, usize::MAX)?;
        }
        archives.push((loom, sample, at));
    }
    for ((loom, sample, at), conversation) in archives.iter().zip(&conversations) {
        let scope = if one { Scope::Everything } else { Scope::Session(*at) };
        for (index, question) in conversation["qa"].as_array().into_iter().flatten().enumerate() {
            let query = Query::new(question["question"].as_str().unwrap_or_default(), scope.clone());
            let start = Instant::now();
            let meaning = embedder.as_deref().map(|embedder| QueryEmbedding::of(embedder, &query.text)).transpose()?;
            let found = recall::search_with(&*loom.snapshot()?, &query, meaning.as_ref())?;
            let latency = start.elapsed().as_secs_f64() * 1e3;
            let ranked = found.ranked().into_iter().take(query.limit);
            let ranked = ranked
                .filter_map(|hit| turns.get(&hit.node.id))
                .map(|(of, turn)| if one { format!("{of}/{turn}") } else { turn.clone() });
            let ranked: Vec<String> = ranked.collect();
            println!("{}", json!({ "sample_id": sample, "qa_index": index, "ranked": ranked, "latency_ms": latency }));
        }
    }
    Ok(())
}

#[cfg(feature = "local")]
fn embedder(folder: &Path) -> Result<Box<dyn Embedder>> {
    let weights = loomtree::provider::Weights::named("minilm").ok_or("no weights")?;
    Ok(Box::new(loomtree::provider::load_sentence_encoder(weights, folder)?))
}

#[cfg(not(feature = "local"))]
fn embedder(_: &Path) -> Result<Box<dyn Embedder>> {
    Err("--weights needs --features local".into())
}

/// Brings a conversation in as a session; notes which node is which turn.
fn import(
    loom: &Loom,
    sample: &str,
    conversation: &Value,
    turns: &mut HashMap<NodeId, (String, String)>,
) -> Result<SessionId> {
    let owner = loom.actor(&loom.agent("owner")?);
    let (tree, root) = owner.create_tree(TreeDraft::new("").title(sample.to_owned()))?;
    let session = owner.start_session("locomo", tree.id, Some(root.id))?;
    let owner = owner.in_session(session);
    let dialog = if conversation["conversation"].is_object() { &conversation["conversation"] } else { conversation };
    let mut at = root.id;
    for number in 1.. {
        let Some(said) = dialog[format!("session_{number}")].as_array() else {
            if number > 99 {
                break;
            }
            continue;
        };
        let began = dialog[format!("session_{number}_date_time")].as_str().unwrap_or_default();
        let began = DateTime::strptime("%I:%M %p on %d %B, %Y", began)?.to_zoned(TimeZone::UTC)?.timestamp();
        let mut nodes = Vec::new();
        for (minute, turn) in (0..).zip(said) {
            let speaker = speaker(&owner, turn["speaker"].as_str().unwrap_or("somebody"))?;
            let mut text = turn["text"].as_str().unwrap_or_default().to_owned();
            if let Some(caption) = turn["blip_caption"].as_str() {
                text.push_str(&format!("\n[a picture: {caption}]"));
            }
            let time = Timestamp::from_millis(began.as_millisecond() + minute * 60_000);
            let author = (speaker.id(), AuthorType::Human);
            let node = NewNode::new(loom.node_id(), Parent::Node(at), author, time, text);
            at = node.id;
            turns.insert(at, (sample.to_owned(), turn["dia_id"].as_str().unwrap_or_default().to_owned()));
            nodes.push(Mutation::Append(Box::new(NewNode { advance: true, ..node })));
        }
        owner.commit(Op::Import, nodes)?;
    }
    Ok(session)
}

/// The agent of this name, made if it is not there.
fn speaker(owner: &Actor, name: &str) -> Result<Agent> {
    if let Ok(agent) = owner.loom().agent(name) {
        return Ok(agent);
    }
    let agent = NewAgent::new(owner.loom().agent_id(), name, AgentKind::Human);
    owner.commit(Op::Agent, vec![Mutation::CreateAgent(agent)])?;
    Ok(owner.loom().agent(name)?)
}
