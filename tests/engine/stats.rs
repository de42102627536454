//! Tests of usage totals by agent and model, for a tree, a path, a session and an agent, and of `loom stats`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::sync::Arc;

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{Model, Money, Prices, Scripted, ScriptedReply},
    session::{GenerateRequest, Stats, generate, path_stats, stats},
    store::{GenerationFilter, PurgeTarget},
    types::{Mode, NewAgent, Node, Parent},
};
use support::store::Scene;

/// Prices: two dollars per output word, one per prompt word.
fn prices() -> Prices {
    serde_json::from_str(
        r#"{"scripted:*": {"input": 1e6, "output": 2e6}, "free": {"input": 0, "output": 0, "currency": "EUR"}}"#,
    )
    .unwrap()
}

fn scene() -> (Scene, Actor, Node) {
    let scene = Scene::new(5);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("one two three").mode(Mode::Buffer)).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    // Another agent that sees the text only, like the subject.
    let subject = owner.loom().agent("subject").unwrap().profile;
    owner.create_agent(NewAgent { id: owner.loom().agent_id(), name: "critic".to_owned(), ..subject }).unwrap();
    (scene, owner.in_session(session), root)
}

async fn grow(actor: &Actor, from: NodeId, by: &str, reference: &str, replies: &[&str]) -> Vec<Node> {
    let model = Scripted::new(replies.iter().map(|reply| ScriptedReply::words(reply))).with_reference(reference);
    let plan =
        GenerateRequest::new(from, actor.loom().agent(by).unwrap(), Arc::new(model) as Arc<dyn Model>, replies.len());
    let mut nodes = generate(actor, plan.prices(prices()), |_| {}).await.unwrap();
    nodes.sort_by_key(|node| replies.iter().position(|reply| *reply == node.content));
    nodes
}

fn dollars(amount: f64) -> Vec<Money> {
    vec![Money { amount, currency: "USD".into() }]
}

fn sums(actor: &Actor, filter: GenerationFilter) -> Stats {
    stats(&*actor.loom().snapshot().unwrap(), &filter).unwrap()
}

#[tokio::test]
async fn totals_are_grouped_by_agent_and_model_and_filtered() {
    let (_scene, actor, root) = scene();
    let tree = GenerationFilter::default().tree(root.tree);
    assert_eq!(sums(&actor, tree), Stats::default());
    // Prompts of 3 words each, then one of 4, because texts join without a separator; replies of 2, 1, 1 and 5 pieces.
    let first = grow(&actor, root.id, "subject", "scripted:a", &["alpha beta", "gamma"]).await;
    grow(&actor, root.id, "critic", "free", &["delta"]).await;
    let elsewhere = actor.loom().actor(&actor.loom().agent("owner").unwrap());
    let last = grow(&elsewhere, first[0].id, "subject", "scripted:b", &[" w x y z"]).await;

    let found = sums(&actor, tree);
    let rows: Vec<_> = found
        .shares
        .iter()
        .map(|share| (share.model.as_deref().unwrap(), share.sums.generations, share.sums.taken_up, share.sums.output))
        .collect();
    assert_eq!(rows, [("scripted:b", 1, 0, 5), ("scripted:a", 2, 1, 3), ("free", 1, 0, 1)]);
    let cost: Vec<_> = found.shares.iter().map(|share| share.sums.cost()).collect();
    let free = vec![Money { amount: 0.0, currency: "EUR".into() }];
    assert_eq!(cost, [dollars(14.0), dollars(12.0), free.clone()]);
    assert_eq!((found.all.prompt, found.all.output, found.all.generations, found.all.priced), (13, 9, 4, 4));
    assert_eq!(found.all.cost(), [free, dollars(26.0)].concat());

    let path = path_stats(&*actor.loom().snapshot().unwrap(), last[0].id, &[]).unwrap();
    assert_eq!((path.all.generations, path.all.prompt, path.all.output), (2, 7, 7));
    let session = GenerationFilter::default().session(actor.session());
    assert_eq!((sums(&actor, session).all.generations, sums(&actor, session).all.prompt), (3, 9));
    let agent = Some(actor.loom().agent("critic").unwrap().id());
    assert_eq!(sums(&actor, tree.agent(agent)).all.generations, 1);
    assert_eq!(sums(&actor, session.agent(agent)).all.generations, 1);
    let other = actor.create_tree(TreeDraft::new("other")).unwrap().0.id;
    assert_eq!(sums(&actor, tree.tree(other)), Stats::default());
    let both = session.tree(other);
    assert_eq!(sums(&actor, both), Stats::default());
    assert_eq!(sums(&actor, GenerationFilter::default()), found);

    // Pruning keeps the cost; a purge removes the metadata and keeps the token count.
    actor.prune(first[0].id).unwrap();
    let pruned = sums(&actor, tree);
    assert_eq!((pruned.all.output, pruned.all.cost()), (9, found.all.cost()));
    actor.purge(PurgeTarget::Node(last[0].id)).unwrap();
    let purged = sums(&actor, tree);
    assert_eq!((purged.all.generations, purged.all.prompt, purged.all.output), (4, 9, 9));
    assert_eq!(purged.shares[0].model, None);
}

#[tokio::test]
async fn totals_of_a_small_tree_read_only_that_tree() {
    let (_scene, actor, root) = scene();
    for at in 0..20 {
        actor.append(Parent::Node(root.id), NodeDraft::text(at.to_string())).unwrap();
    }
    let (tree, other) = actor.create_tree(TreeDraft::new("other")).unwrap();
    grow(&actor, root.id, "subject", "scripted:a", &["alpha"]).await;
    grow(&actor, other.id, "subject", "scripted:b", &["beta"]).await;
    let found = sums(&actor, GenerationFilter::default().tree(tree.id));
    assert_eq!((found.shares.len(), found.shares[0].model.as_deref()), (1, Some("scripted:b")));
}

#[tokio::test]
async fn foreign_metadata_is_counted_as_far_as_possible() {
    let (_scene, actor, root) = scene();
    let put = |provenance: Option<&str>, tokens| {
        let mut draft = NodeDraft::text("x")
            .author_type(loomtree::types::AuthorType::Model)
            .provenance(provenance.map(|text| loomtree::types::Json::parse(text).unwrap()));
        draft.tokens = tokens;
        actor.append(Parent::Node(root.id), draft).unwrap();
    };
    put(Some(r#"{"model": "ä\"b", "usage": {"prompt": 4, "new": 1}, "more": [1]}"#), None);
    put(Some(r#"{"usage": {"prompt": "many"}}"#), Some(3));
    put(Some("[1, 2]"), None);
    put(None, Some(5));
    let found = sums(&actor, GenerationFilter::default());
    assert_eq!((found.all.generations, found.all.prompt, found.all.output, found.all.uncounted), (4, 4, 8, 1));
    assert!(found.shares.iter().any(|share| share.model.as_deref() == Some("ä\"b")));
}

/// Measures the cost of a sum: `LOOM_MEASURE=1000000 cargo test --test stats measured -- --nocapture`.
#[test]
fn totals_of_many_generations_are_measured() {
    let Some(many) = std::env::var("LOOM_MEASURE").ok().and_then(|many| many.parse::<u32>().ok()) else {
        println!("skipped: LOOM_MEASURE does not say how many");
        return;
    };
    let (_scene, actor, root) = scene();
    let envelope = r#"{"reference":"openai:gpt-4o-mini","finish":"stop","model":"gpt-4o-mini-2024-07-18",
        "usage":{"prompt":1234,"cached":1024,"output":99},"cost":{"amount":0.000123,"currency":"USD"},
        "request_id":"req_0123456789abcdef0123456789abcdef","first_token_ms":321,"total_ms":1234}"#;
    let mut at = root.id;
    for batch in 0..many.div_ceil(1_000) {
        let mutations = (0..1_000).map(|n| {
            let draft = NodeDraft::text(format!("Some three hundred bytes, as a reply of {batch}.{n} has. ").repeat(6))
                .author_type(loomtree::types::AuthorType::Model)
                .provenance(loomtree::types::Json::parse(envelope).unwrap())
                .keep_position(true);
            let node = actor.draft(Parent::Node(at), draft);
            at = node.id;
            loomtree::store::Mutation::Append(Box::new(node))
        });
        actor.commit(loomtree::types::Op::Import, mutations.collect()).unwrap();
    }
    for tree in [Some(root.tree), None] {
        let started = std::time::Instant::now();
        let found = sums(&actor, GenerationFilter::default().tree(tree));
        println!("{} generations in {:?}", found.all.generations, started.elapsed());
    }
}
