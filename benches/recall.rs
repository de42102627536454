//! Recall against its limits, as one table: `cargo bench --bench recall`. `-- --turns N` sets the size of the archive (50,000
//! if it does not; the limits are meant for a million), `--file PATH` keeps it there and takes it up again. `--meaning` adds
//! searches with vectors of 384 numbers made from the words of a text, without the time of a model.
//!
//! The archive is made of real conversations, copied until they are as many: the LoCoMo ones where they are beside the
//! repository, else those of `fixtures/recall`. A word that few turns say would stand in every copy, so each copy has its own
//! rare words, and what was rare stays rare. The questions are those that people asked of the originals.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod common;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use loomtree::{
    id::{NodeId, SessionId},
    interchange::recall::{self, EmbedError, Embedder, Filter, Query, QueryEmbedding, Scope},
    ops::{Actor, NodeDraft, TreeDraft},
    session_state::ExtractionRules,
    store::{Mutation, SessionFilter},
    types::{NewNode, Op, Parent, Timestamp, ToolCallFields},
};
use rusqlite::Connection;
use serde_json::Value;

/// A word in so many turns of the originals or fewer is rare.
const RARE: usize = 20;
/// Questions that are asked, about.
const ASKED: usize = 300;
/// Every so many turns, one is the result of a tool.
const TOOLS: usize = 25;
const WORKSPACE: &str = "/bench";

struct Corpus {
    conversations: Vec<Vec<String>>,
    questions: Vec<String>,
    rare: HashSet<String>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let of = |name: &str| arguments.iter().position(|word| word == name).and_then(|at| arguments.get(at + 1));
    let turns = of("--turns").map_or(50_000, |count| count.parse().unwrap());
    let folder = common::memory_folder();
    let file = of("--file").map_or_else(|| folder.path().join("recall.db"), PathBuf::from);
    let corpus = corpus();
    println!("| {:<60} | {:<46} | {:<32} | {:<6} |", "what", "measured", "limit", "");
    println!("|{}|{}|{}|{}|", "-".repeat(62), "-".repeat(48), "-".repeat(34), "-".repeat(8));
    let there = file.exists();
    let owner = common::owner(&file, 5);
    if !there {
        let made = seconds(|| grow(&owner, &corpus, turns));
        row(&format!("growing {turns} turns, 500 a commit"), &format!("{:.0} turns/s", turns as f64 / made), "", None);
    }
    searches(&owner, &corpus);
    looks(&owner);
    if arguments.iter().any(|word| word == "--meaning") {
        by_meaning(&owner, &corpus);
    }
    drop(owner);
    appends(&corpus);
}

fn row(what: &str, measured: &str, limit: &str, ok: Option<bool>) {
    let verdict = ok.map_or("", |ok| if ok { "ok" } else { "MISSED" });
    println!("| {what:<60} | {measured:<46} | {limit:<32} | {verdict:<6} |");
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// The median and the 95th of a hundred, in milliseconds.
fn spread(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2] * 1e3, times[times.len() * 95 / 100] * 1e3)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn corpus() -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (conversations, questions) = match fs::read_to_string(root.join("../shared/data/locomo/dev.json")) {
        Ok(text) => locomo(&serde_json::from_str(&text).unwrap()),
        Err(_) => fixtures(&root.join("fixtures/recall")),
    };
    let mut in_turns: HashMap<String, usize> = HashMap::new();
    for turn in conversations.iter().flatten() {
        for word in words(&turn.to_lowercase()).collect::<HashSet<_>>() {
            *in_turns.entry(word.to_owned()).or_default() += 1;
        }
    }
    let rare = in_turns.into_iter().filter(|(_, turns)| *turns <= RARE).map(|(word, _)| word).collect();
    Corpus { conversations, questions, rare }
}

fn locomo(read: &Value) -> (Vec<Vec<String>>, Vec<String>) {
    let said = |conversation: &Value| -> Vec<String> {
        let sittings = (1..100).filter_map(|number| conversation[format!("session_{number}")].as_array().cloned());
        sittings.flatten().map(|turn| turn["text"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let all = read.as_array().unwrap();
    let asked = all.iter().flat_map(|one| one["qa"].as_array().into_iter().flatten());
    (all.iter().map(said).collect(), asked.map(|one| one["question"].as_str().unwrap().to_owned()).collect())
}

/// The conversations of the hints' fixtures, and what is said in them.
fn fixtures(folder: &Path) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut conversations, mut questions) = (Vec::new(), Vec::new());
    for name in ["hints.jsonl", "hints-heldout.jsonl"] {
        for line in fs::read_to_string(folder.join(name)).unwrap().lines() {
            let read: Value = serde_json::from_str(line).unwrap();
            if let Some(turns) = read["turns"].as_array() {
                conversations.push(turns.iter().map(|turn| turn.as_str().unwrap()[3..].to_owned()).collect());
            }
            questions.extend(read["say"].as_str().map(str::to_owned));
        }
    }
    (conversations, questions)
}

impl Corpus {
    /// A turn as a copy has it: with rare words of its own.
    fn turn(&self, text: &str, copy: usize) -> String {
        let (mut said, mut rest) = (String::with_capacity(text.len() + 32), text);
        let letters: String = format!("{copy}").bytes().map(|digit| char::from(digit - b'0' + b'b')).collect();
        while let Some(start) = rest.find(char::is_alphanumeric) {
            let end = rest[start..].find(|c: char| !c.is_alphanumeric()).map_or(rest.len(), |end| start + end);
            said.push_str(&rest[..end]);
            if copy > 0 && self.rare.contains(&rest[start..end].to_lowercase()) {
                said.push_str(&letters);
            }
            rest = &rest[end..];
        }
        said.push_str(rest);
        said
    }

    /// Turns without end, with the copy and the conversation that each is of.
    fn turns(&self) -> impl Iterator<Item = (usize, usize, String)> + '_ {
        (0..).flat_map(move |copy| {
            (0..)
                .zip(&self.conversations)
                .flat_map(move |(number, turns)| turns.iter().map(move |text| (copy, number, self.turn(text, copy))))
        })
    }
}

/// Each copy of a conversation is a session in a tree of its own; there is a turn a minute, and a pause every thirty.
fn grow(owner: &Actor, corpus: &Corpus, turns: usize) {
    let mut at: Option<((usize, usize), Actor, NodeId)> = None;
    let mut batch = Vec::new();
    let start = owner.loom().now().as_millis() - turns as i64 * 300_000;
    for (number, (copy, conversation, text)) in corpus.turns().take(turns).enumerate() {
        let key = (copy, conversation);
        let begins = at.as_ref().is_none_or(|(of, ..)| *of != key);
        if (begins || batch.len() == 500)
            && let Some((_, actor, _)) = &at
        {
            actor.commit(Op::Import, std::mem::take(&mut batch)).unwrap();
        }
        if begins {
            let (tree, root) = owner.create_tree(TreeDraft::new("")).unwrap();
            let session = owner.start_session(WORKSPACE, tree.id, Some(root.id)).unwrap();
            at = Some((key, owner.clone().in_session(session), root.id));
        }
        let (_, actor, tip) = at.as_mut().unwrap();
        let time = Timestamp::from_millis(start + number as i64 * 60_000 + number as i64 / 30 * 4 * 3_600_000 / 2);
        let mut node =
            NewNode { created_at: time, advance: true, ..actor.draft(Parent::Node(*tip), NodeDraft::text(text)) };
        if number % TOOLS == 0 {
            node.tool = ToolCallFields { name: Some("read_file".to_owned()), ..ToolCallFields::default() };
        }
        *tip = node.id;
        batch.push(Mutation::Append(Box::new(node)));
    }
    if let Some((_, actor, _)) = at {
        actor.commit(Op::Import, batch).unwrap();
    }
}

fn sessions(owner: &Actor) -> Vec<(SessionId, u64)> {
    let found = owner.loom().sessions(&SessionFilter::default().workspace(WORKSPACE.to_owned()));
    found.unwrap().into_iter().map(|session| (session.id, session.turns)).collect()
}

fn searches(owner: &Actor, corpus: &Corpus) {
    let sessions = sessions(owner);
    let turns: u64 = sessions.iter().map(|(_, turns)| turns).sum();
    let (middle, _) = sessions[sessions.len() / 2];
    let tree = owner.loom().session(middle).unwrap().tree;
    let scopes = [
        ("everything", Scope::Everything),
        ("the workspace, which is all of it", Scope::Workspace(WORKSPACE.to_owned())),
        ("a tree", Scope::Tree(tree)),
        ("a session", Scope::Session(middle)),
    ];
    let mut by_kind: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let questions: Vec<&String> = corpus.questions.iter().step_by(corpus.questions.len() / ASKED + 1).collect();
    for question in &questions {
        for (name, scope) in &scopes {
            let query = Query::new(question.as_str(), scope.clone()).limit(10);
            let start = Instant::now();
            let found = recall::search(&*owner.loom().snapshot().unwrap(), &query).unwrap();
            by_kind.entry(name).or_default().push(start.elapsed().as_secs_f64());
            let is_found = !found.hits.is_empty() || !found.near.is_empty();
            assert!(*name != "everything" || is_found, "{question}");
        }
    }
    for (name, _) in &scopes {
        let (median, most) = spread(by_kind.remove(name).unwrap());
        row(
            &format!("{} questions over {turns} turns, scope {name}", questions.len()),
            &format!("median {median:.1} ms, 95 of 100 below {most:.1} ms"),
            "median < 10 ms, 95 of 100 < 50 ms",
            Some(median < 10.0 && most < 50.0),
        );
    }
}

/// A model whose vectors are sums of pseudo-random vectors of a text's words.
struct WordSums;

impl Embedder for WordSums {
    fn model(&self) -> &str {
        "bench:word-sums"
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &String| {
            let mut sum = vec![0.0_f32; 384];
            for word in words(&text.to_lowercase()) {
                let mut state = word
                    .bytes()
                    .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
                    | 1;
                for number in &mut sum {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    *number += (state >> 40) as f32 / 8_388_608.0 - 1.0;
                }
            }
            sum
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// The same searches with vectors of all turns.
fn by_meaning(owner: &Actor, corpus: &Corpus) {
    let mut read = 0;
    let made = seconds(|| read = recall::embed(owner, &WordSums, usize::MAX).unwrap());
    row(&format!("saving {read} vectors, 32 a commit"), &format!("{:.0} turns/s", read as f64 / made), "", None);
    let mut times = Vec::new();
    for question in corpus.questions.iter().step_by(corpus.questions.len() / ASKED + 1) {
        let query = Query::new(question.as_str(), Scope::Everything).limit(10);
        let start = Instant::now();
        let meaning = QueryEmbedding::of(&WordSums, question).unwrap();
        recall::search_with(&*owner.loom().snapshot().unwrap(), &query, Some(&meaning)).unwrap();
        times.push(start.elapsed().as_secs_f64());
    }
    let (median, most) = spread(times);
    let measured = format!("median {median:.1} ms, 95 of 100 below {most:.1} ms");
    row("the same questions with meaning, scope everything", &measured, "median < 60 ms", Some(median < 60.0));
}

/// Turns by their numbers, and results of a tool.
fn looks(owner: &Actor) {
    let sessions = sessions(owner);
    let (session, turns) = sessions[sessions.len() / 2];
    let snapshot = owner.loom().snapshot().unwrap();
    let middle = turns / 2;
    let ways: [(&str, &dyn Fn()); 5] = [
        ("range, 20 turns of a session", &|| {
            assert!(
                !recall::turns(&*snapshot, session, middle..=middle + 19, &Filter::default(), 50).unwrap().is_empty()
            );
        }),
        ("range beyond the end", &|| {
            assert!(
                recall::turns(&*snapshot, session, turns + 10..=u64::MAX, &Filter::default(), 50).unwrap().is_empty()
            );
        }),
        ("tool_calls, the last 10 of a tool in a session", &|| {
            let results =
                recall::tool_results(&*snapshot, &Scope::Session(session), "read_file", &Filter::default(), 10)
                    .unwrap();
            assert!(turns < 300 || results.len() == 10);
        }),
        ("tool_calls, the last 10 of a tool anywhere", &|| {
            assert_eq!(
                recall::tool_results(&*snapshot, &Scope::Everything, "read_file", &Filter::default(), 10)
                    .unwrap()
                    .len(),
                10
            );
        }),
        ("tool_calls of a tool that nobody used", &|| {
            assert!(
                recall::tool_results(&*snapshot, &Scope::Everything, "nosuch", &Filter::default(), 10)
                    .unwrap()
                    .is_empty()
            );
        }),
    ];
    for (name, run) in ways {
        run();
        let (median, most) = spread((0..200).map(|_| seconds(run)).collect());
        row(name, &format!("median {median:.3} ms, 95 of 100 below {most:.3} ms"), "< 1 ms", Some(most < 1.0));
    }
}

/// Appends of one caller in memory, in turns with a store whose index stays empty: its texts have no words, and a trigger keeps
/// its rows out. Neither has a register, which hears words too.
fn appends(corpus: &Corpus) {
    let folder = common::memory_folder();
    let (with, without) = (folder.path().join("with.db"), folder.path().join("without.db"));
    let texts: Vec<String> = corpus.turns().take(20_000).map(|(_, _, text)| text).collect();
    let marks: Vec<String> =
        texts.iter().map(|text| ".-, ".repeat(text.len() / 4 + 1)[..text.len()].to_owned()).collect();
    let started = |path: &Path| {
        let owner = common::owner_of(path, 9, |options| options.register_rules(ExtractionRules::none()));
        let (tree, root) = owner.create_tree(TreeDraft::new("")).unwrap();
        let session = owner.start_session(WORKSPACE, tree.id, Some(root.id)).unwrap();
        (owner.clone().in_session(session), root.id)
    };
    let ((with, mut at), (bare, mut bare_at)) = (started(&with), started(&without));
    Connection::open(&without)
        .unwrap()
        .execute_batch("CREATE TRIGGER no_index BEFORE INSERT ON recall_passages BEGIN SELECT RAISE(IGNORE); END;")
        .unwrap();
    let (mut indexed, mut plain) = (Duration::ZERO, Duration::ZERO);
    let append = |actor: &Actor, at: &mut NodeId, texts: &[String]| {
        let start = Instant::now();
        for text in texts {
            *at = actor.append(Parent::Node(*at), NodeDraft::text(text.as_str())).unwrap().nodes[0].id;
        }
        start.elapsed()
    };
    for (texts, marks) in texts.chunks(500).zip(marks.chunks(500)) {
        indexed += append(&with, &mut at, texts);
        plain += append(&bare, &mut bare_at, marks);
    }
    let each = |time: Duration| time.as_secs_f64() / texts.len() as f64 * 1e6;
    let ratio = each(indexed) / each(plain);
    row(
        "an append of one caller in memory, with the index and without",
        &format!("{:.1} µs, {:.1} µs; ratio {ratio:.2}", each(indexed), each(plain)),
        "≤ 1.5",
        Some(ratio <= 1.5),
    );
}
