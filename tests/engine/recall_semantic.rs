//! Semantic recall: embeddings of a local test server, stored, and combined with the ranking by words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{Embeddings, Endpoint},
    recall::{self, Branch, EmbedError, Embedder, Filter, Query, QueryEmbedding, Scope},
    session::{Embedding, EmbeddingIndexer},
    store::PurgeTarget,
    types::Parent,
};
use serde_json::{Value, json};
use support::store::Scene;

/// Words per dimension of an embedding.
const MEANINGS: [&[&str]; 3] =
    [&["car", "automobile", "sedan"], &["dog", "puppy", "hound"], &["rain", "drizzle", "wet"]];

fn vector(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let mut vector: Vec<f32> =
        MEANINGS.iter().map(|words| words.iter().filter(|word| text.contains(**word)).count() as f32).collect();
    vector.push(0.1);
    // Stored as 0.
    vector.push(0.0001);
    vector
}

/// Starts an embedding server that counts its requests. It replies in reverse order; `spoil` changes each reply.
fn server(spoil: fn(String) -> String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let requests = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length, mut path) = (String::new(), 0, String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                if path.is_empty() {
                    path.clone_from(&line);
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            assert!(path.starts_with("POST /v1/embeddings "), "{path}");
            let asked: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(asked["model"], "small");
            let texts = asked["input"].as_array().unwrap().iter().enumerate();
            let data =
                texts.map(|(index, text)| json!({ "index": index, "embedding": vector(text.as_str().unwrap()) }));
            let answer = spoil(json!({ "data": data.rev().collect::<Vec<_>>() }).to_string());
            count.fetch_add(1, Ordering::SeqCst);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
            stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
        }
    });
    (url, requests)
}

fn embedding(runtime: &tokio::runtime::Runtime, url: &str) -> Embedding {
    let client = Embeddings::new(Endpoint::at(url, Some("small"))).unwrap();
    Embedding { runtime: runtime.handle().clone(), client: Arc::new(client) }
}

fn say(actor: &Actor, at: NodeId, text: &str) -> NodeId {
    actor.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id
}

fn found(actor: &Actor, text: &str, meaning: Option<&QueryEmbedding>) -> Vec<String> {
    let snapshot = actor.loom().snapshot().unwrap();
    let found = recall::search_with(&*snapshot, &Query::new(text, Scope::Everything), meaning).unwrap();
    found.ranked().into_iter().map(|hit| hit.node.content).collect()
}

#[test]
fn a_node_without_a_word_of_the_question_is_found_by_its_embedding() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (url, requests) = server(|answer| answer);
    let embedder = embedding(&runtime, &url);
    let scene = Scene::of_file(1);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let car = say(&owner, root.id, "We bought a sedan, a blue one.");
    say(&owner, root.id, "The hound barks.");
    say(&owner, root.id, "Drizzle all day.");
    for number in 0..100 {
        say(&owner, root.id, &format!("filler {number}"));
    }
    assert_eq!(found(&owner, "automobile", None), [""; 0]);
    assert_eq!(recall::embed(&owner, &embedder, 10).unwrap(), 32, "a batch");
    assert_eq!(recall::embed(&owner, &embedder, usize::MAX).unwrap(), 72, "the root has words too");
    assert_eq!(recall::embed(&owner, &embedder, usize::MAX).unwrap(), 0);
    let before = requests.load(Ordering::SeqCst);
    let meaning = QueryEmbedding::of(&embedder, "automobile").unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), before + 1);
    assert_eq!(found(&owner, "automobile", Some(&meaning))[0], "We bought a sedan, a blue one.");
    // Words weigh more than meaning.
    let meaning = QueryEmbedding::of(&embedder, "filler 7, not the car").unwrap();
    assert_eq!(found(&owner, "filler 7", Some(&meaning))[0], "filler 7");
    // Embeddings of another model are not compared.
    let other = Embedding {
        client: Arc::new(Embeddings::new(Endpoint::at(&url, Some("small")).reference("other")).unwrap()),
        ..embedder.clone()
    };
    let meaning = QueryEmbedding::of(&other, "automobile").unwrap();
    assert_eq!(found(&owner, "automobile", Some(&meaning)), [""; 0]);
    // A purged node has no embedding, and a rebuild has all others created again.
    let meaning = QueryEmbedding::of(&embedder, "automobile").unwrap();
    owner.purge(PurgeTarget::Node(car)).unwrap();
    assert!(!found(&owner, "automobile", Some(&meaning)).iter().any(|text| text.contains("sedan")));
    let count = |scene: &Scene| -> i64 {
        let conn = rusqlite::Connection::open(&scene.path).unwrap();
        conn.query_row("SELECT count(*) FROM vectors", [], |r| r.get(0)).unwrap()
    };
    assert_eq!(count(&scene), 103);
    owner.loom().store().rebuild().unwrap();
    assert_eq!(count(&scene), 0);
    assert_eq!(recall::embed(&owner, &embedder, usize::MAX).unwrap(), 104, "with the purged node, which has no text");
    assert_eq!(count(&scene), 103);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// An embedding model in memory.
struct Words;

impl Embedder for Words {
    fn model(&self) -> &str {
        "words"
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

#[test]
fn what_is_near_in_meaning_is_no_match_and_passes_the_filter() {
    let scene = Scene::of_file(3);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let inside = say(&owner, root.id, "We bought a sedan.");
    let (_, other) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let outside = say(&owner, other.id, "A sedan of another tree.");
    recall::embed(&owner, &Words, usize::MAX).unwrap();
    // New nodes come before the rest.
    let newest = say(&owner, inside, "An old sedan.");
    assert_eq!(recall::embed(&owner, &Words, usize::MAX).unwrap(), 1);
    let meaning = QueryEmbedding::of(&Words, "automobile").unwrap();
    let search =
        |query: Query| recall::search_with(&*owner.loom().snapshot().unwrap(), &query, Some(&meaning)).unwrap();
    for scope in [Scope::Tree(tree.id), Scope::Everything] {
        let all = scope == Scope::Everything;
        let found = search(Query::new("automobile", scope));
        assert!(found.hits.is_empty() && found.absent == ["automobile"], "{found:?}");
        let near: HashSet<NodeId> = found.near.iter().map(|hit| hit.node.id).collect();
        assert!(near.contains(&inside) && near.contains(&newest) && near.contains(&outside) == all, "{found:?}");
    }
    let only = Filter::default().branch(Branch::To(inside));
    let found = search(Query::new("automobile", Scope::Everything).only(only));
    assert_eq!(found.near[0].node.id, inside);
    assert!(found.near.iter().all(|hit| hit.node.id == root.id || hit.similar && hit.node.id == inside), "{found:?}");
    // No sign bits of a purged node remain.
    let codes = |scene: &Scene| -> Vec<u8> {
        let conn = rusqlite::Connection::open(&scene.path).unwrap();
        conn.query_row("SELECT codes FROM vector_codes", [], |r| r.get(0)).unwrap()
    };
    let set = |codes: Vec<u8>| codes.iter().map(|byte| byte.count_ones()).sum::<u32>();
    let before = set(codes(&scene));
    owner.purge(PurgeTarget::Node(outside)).unwrap();
    assert!(set(codes(&scene)) < before);
    let problems = || owner.loom().store().verify(&mut |_| {}).unwrap().problems;
    assert_eq!(problems(), Vec::<String>::new());
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    conn.execute("UPDATE vector_codes SET codes = zeroblob(length(codes))", []).unwrap();
    assert!(problems().iter().any(|problem| problem.contains("sign bits")), "{:?}", problems());
    owner.loom().store().rebuild().unwrap();
    assert_eq!(problems(), Vec::<String>::new());
}

#[test]
fn the_background_thread_embeds_old_and_new_nodes() {
    let scene = Scene::new(4);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let first = say(&owner, root.id, "A hound.");
    let indexer = EmbeddingIndexer::start(owner.clone(), Arc::new(Words)).unwrap();
    let embedded = |node: NodeId| {
        let snapshot = owner.loom().snapshot().unwrap();
        let seq = snapshot.node(node).unwrap().unwrap().seq;
        snapshot.similarities("words", &vector("dog"), &[seq]).unwrap()[0].is_some()
    };
    let wait = |node: NodeId| {
        (0..1_000).any(|_| {
            embedded(node) || {
                thread::sleep(Duration::from_millis(20));
                false
            }
        })
    };
    assert!(wait(first));
    let second = say(&owner, first, "Two hounds.");
    assert!(wait(second));
    drop(indexer);
}

#[test]
fn an_invalid_reply_is_an_error_and_stores_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new(2);
    let owner = scene.owner();
    owner.create_tree(TreeDraft::new("begin")).unwrap();
    let spoils: [fn(String) -> String; 5] = [
        |_| "no JSON".to_owned(),
        |_| json!({ "data": [] }).to_string(),
        |_| json!({ "data": [{ "index": 0, "embedding": [] }] }).to_string(),
        |_| json!({ "data": [{ "index": 7, "embedding": [1.0] }] }).to_string(),
        |_| json!({ "data": [{ "index": 0, "embedding": [1e300] }] }).to_string(),
    ];
    for spoil in spoils {
        let embedder = embedding(&runtime, &server(spoil).0);
        // PostgreSQL leaves nodes for later while any transaction of the server is open that began before them.
        let failed = (0..1_000).map(|_| recall::embed(&owner, &embedder, 10)).find(|done| {
            thread::sleep(Duration::from_millis(if matches!(done, Ok(0)) { 10 } else { 0 }));
            !matches!(done, Ok(0))
        });
        let failed = failed.unwrap();
        assert!(matches!(failed, Err(EmbedError::Model(_))), "{failed:?}");
    }
    let nowhere = embedding(&runtime, "http://127.0.0.1:1/v1");
    assert!(matches!(nowhere.embed(&["x".to_owned()]), Err(EmbedError::Model(_))));
}

/// Embeddings of two numbers, the first of which stands behind `~` in the text; a question is similar by that number.
struct Stated;

impl Embedder for Stated {
    fn model(&self) -> &str {
        "stated"
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let stated = |text: &String| text.split_once('~').map_or(1.0, |(_, number)| number.parse::<f32>().unwrap());
        Ok(texts.iter().map(stated).map(|near| vec![near, (1.0 - near * near).sqrt()]).collect())
    }
}

#[test]
fn a_weakly_similar_node_counts_only_if_no_node_has_a_word() {
    let scene = Scene::of_file(3);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("begin ~0")).unwrap();
    let weak = say(&owner, root.id, "More salt. ~0.3");
    let unrelated = say(&owner, weak, "A bridge. ~0.1");
    recall::embed(&owner, &Stated, usize::MAX).unwrap();
    let similar = |question: &str| -> Vec<NodeId> {
        let meaning = QueryEmbedding::of(&Stated, question).unwrap();
        let query = Query::new(question, Scope::Tree(tree.id));
        let found = recall::search_with(&*owner.loom().snapshot().unwrap(), &query, Some(&meaning)).unwrap();
        found.ranked().into_iter().filter(|hit| hit.similar).map(|hit| hit.node.id).collect()
    };
    assert_eq!(similar("seasoning"), [weak]);
    assert!(!similar("seasoning of a bridge").contains(&weak), "the word is in {unrelated}");
}
