//! Tests of generations: concurrent continuations, saving, interruption, cancellation and failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{
        Finish, FinishReason, Generation, Model, Prompt, ProviderError, Request, Role, Scripted, ScriptedEnd,
        ScriptedReply, StreamError,
    },
    session::{GenerateError, GenerateRequest, Progress, generate, recover},
    store::ChildFilter,
    types::{Mode, Node, Parent},
};
use support::store::Scene;

fn scene(mode: Mode) -> (Scene, Actor, Node) {
    let scene = Scene::new(5);
    let owner = scene.owner();
    let draft = TreeDraft::new("Once upon a time").mode(mode).system_context("be brief");
    let (tree, root) = owner.create_tree(draft).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    (scene, owner.in_session(session), root)
}

fn plan(actor: &Actor, from: NodeId, models: Vec<Arc<dyn Model>>, n: usize) -> GenerateRequest {
    let author = actor.loom().agent("subject").unwrap();
    GenerateRequest::new(from, author, Arc::new(Scripted::new([])), n).models(models)
}

fn position(actor: &Actor) -> Option<NodeId> {
    actor.loom().session(actor.session().unwrap()).unwrap().position
}

fn so_far() -> Box<Finish> {
    Box::new(Finish::new(FinishReason::Interrupted))
}

#[tokio::test]
async fn one_continuation_streams_and_moves_the_position() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let model = Arc::new(Scripted::new([ScriptedReply::chunks(["there ", "was ", "a fox"])]));
    let mut heard = String::new();
    let nodes = generate(&actor, plan(&actor, root.id, vec![model.clone()], 1), |progress| {
        if let Progress::Text { text, .. } = progress {
            heard.push_str(&text);
        }
    })
    .await
    .unwrap();
    assert_eq!(heard, "there was a fox");
    assert_eq!((nodes.len(), nodes[0].content.as_str(), nodes[0].parent), (1, "there was a fox", Some(root.id)));
    assert!(!nodes[0].interrupted);
    assert_eq!(position(&actor), Some(nodes[0].id));
    assert_eq!(nodes[0].author, actor.loom().agent("subject").unwrap().id());
    let kept = actor.loom().snapshot().unwrap().provenance(nodes[0].id).unwrap().unwrap();
    assert!(kept.as_str().contains("\"finish\":\"stop\""), "{}", kept.as_str());
    let Prompt::Chat(messages) = &model.requests()[0].prompt else { panic!("a dialogue is chat") };
    let said: Vec<_> = messages.iter().map(|m| (m.role, m.text())).collect();
    assert_eq!(said, [(Role::System, "be brief".to_owned()), (Role::User, "Once upon a time".to_owned())]);

    let undone = actor.undo(Some(root.tree)).unwrap();
    assert_eq!(undone.target.entry.node, Some(nodes[0].id));
    assert_eq!(position(&actor), Some(root.id), "one stands where the undone node hung");
}

#[tokio::test]
async fn a_buffer_is_continued_as_one_text() {
    let (_scene, actor, root) = scene(Mode::Buffer);
    let tail = actor.append(Parent::Node(root.id), NodeDraft::text(", in a wood,")).unwrap().nodes[0].id;
    actor.edit(root.id, "Long ago").unwrap();
    let model = Arc::new(Scripted::new([ScriptedReply::words(" lived a fox")]));
    generate(&actor, plan(&actor, tail, vec![model.clone()], 1), |_| {}).await.unwrap();
    assert_eq!(model.requests()[0].prompt, Prompt::Raw("Long ago, in a wood,".to_owned()));
}

#[tokio::test]
async fn each_reply_is_saved_at_its_end_independently_of_failures() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let slow = Duration::from_millis(150);
    let cut = ProviderError::Interrupted { cause: StreamError::ClosedEarly, so_far: so_far() };
    let fails = |after| ScriptedEnd::Fail { after, error: cut.clone() };
    let model = Arc::new(Scripted::new([
        ScriptedReply::chunks(["slow ", "one"]).delayed(slow),
        ScriptedReply::chunks(["quick ", "one"]),
        ScriptedReply::chunks(["cut ", "one"]).ending(fails(1)),
        ScriptedReply::chunks(["never"]).ending(fails(0)),
    ]));
    let mut ended = Vec::new();
    let nodes = generate(&actor, plan(&actor, root.id, vec![model], 4), |progress| match progress {
        Progress::Saved { node, .. } => {
            // The reply is in the store before its event arrives.
            assert!(actor.loom().node(node.id).is_ok());
            ended.push(node.content);
        }
        Progress::Failed { saved, .. } => ended.push(saved.map_or("nothing".to_owned(), |n| n.content)),
        _ => {}
    })
    .await
    .unwrap();
    assert_eq!(ended, ["nothing", "slow one", "quick one", "cut "], "a failure is reported at once");
    assert_eq!(nodes.iter().map(|node| node.content.as_str()).collect::<Vec<_>>(), ["slow one", "quick one", "cut "]);
    let children = actor.loom().snapshot().unwrap().children(root.id, &ChildFilter::default()).unwrap();
    assert!(children.iter().map(|node| node.id).eq(nodes.iter().map(|node| node.id)));
    let interrupted: Vec<_> = nodes.iter().filter(|n| n.interrupted).map(|n| n.content.as_str()).collect();
    assert_eq!(interrupted, ["cut "]);
    assert_eq!(position(&actor), Some(root.id), "with several, one stays where one is");
    assert_eq!(actor.loom().tree(root.tree).unwrap().counts.leaves, 3);
}

#[tokio::test]
async fn cancelling_saves_the_partial_reply() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let model = Arc::new(Scripted::new([ScriptedReply::chunks(["half a "]).ending(ScriptedEnd::Hang)]));
    let plan = plan(&actor, root.id, vec![model], 2);
    let cancel = plan.cancel.clone();
    let nodes = generate(&actor, plan, |progress| {
        if let Progress::Text { index: 1, .. } = progress {
            cancel.cancel();
        }
    })
    .await
    .unwrap();
    assert_eq!(nodes.iter().map(|n| (n.content.as_str(), n.interrupted)).collect::<Vec<_>>(), [("half a ", true); 2]);
}

#[tokio::test]
async fn requests_respect_the_models_concurrency_limit() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let reply = || ScriptedReply::chunks(["a", "b", "c"]).delayed(Duration::from_millis(5));
    let model = Arc::new(Scripted::new([reply(), reply(), reply()]).with_parallel(1));
    let mut order = Vec::new();
    generate(&actor, plan(&actor, root.id, vec![model], 3), |progress| {
        if let Progress::Text { index, .. } = progress {
            order.push(index);
        }
    })
    .await
    .unwrap();
    order.dedup();
    assert_eq!(order.len(), 3, "streams were mixed: {order:?}");
}

#[tokio::test]
async fn several_models_with_an_empty_reply() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let one = Arc::new(Scripted::new([ScriptedReply::words("one")]).with_reference("test:one"));
    let two = Arc::new(Scripted::new([ScriptedReply::words("two")]).with_reference("test:two"));
    let nodes = generate(&actor, plan(&actor, root.id, vec![one, two], 2), |_| {}).await.unwrap();
    assert_eq!(nodes.len(), 4);
    let silent = Arc::new(Scripted::new([ScriptedReply::chunks([""; 0])]));
    let failed = generate(&actor, plan(&actor, root.id, vec![silent], 1), |_| {}).await.unwrap_err();
    assert!(matches!(failed, GenerateError::Empty), "{failed}");
    let failed = generate(&actor, plan(&actor, root.id, Vec::new(), 1), |_| {}).await.unwrap_err();
    assert!(matches!(failed, GenerateError::NoContinuations), "{failed}");
    assert_eq!(actor.loom().tree(root.tree).unwrap().counts.leaves, 4);
}

/// Dropping a generation releases its files, like a kill of the process.
#[tokio::test]
async fn partial_replies_of_a_killed_process_are_recovered() {
    let (scene, actor, root) = scene(Mode::Dialogue);
    let drafts = scene.path.with_extension("drafts");
    let model =
        Arc::new(Scripted::new([ScriptedReply::chunks(["half ", "a word \u{1f98a}"]).ending(ScriptedEnd::Hang)]));
    let plan = plan(&actor, root.id, vec![model], 2).partials_dir(drafts.clone());
    let while_it_runs = actor.clone();
    let folder = drafts.clone();
    let hung = generate(&actor, plan, |_| assert_eq!(recover(&while_it_runs, &folder).unwrap(), []));
    tokio::time::timeout(Duration::from_millis(300), hung).await.unwrap_err();
    assert_eq!(actor.loom().tree(root.tree).unwrap().counts.nodes, 1);

    let found = recover(&actor, &drafts).unwrap();
    assert_eq!(found.len(), 2);
    for id in found {
        let node = actor.loom().node(id).unwrap();
        assert_eq!((node.content.as_str(), node.interrupted), ("half a word \u{1f98a}", true));
        assert_eq!((node.parent, node.author), (Some(root.id), actor.loom().agent("subject").unwrap().id()));
    }
    assert!(!drafts.exists());
    assert_eq!(recover(&actor, &drafts).unwrap(), []);
}

#[tokio::test]
async fn a_saved_reply_leaves_no_partial_file() {
    let (scene, actor, root) = scene(Mode::Dialogue);
    let drafts = scene.path.with_extension("drafts");
    let model = Arc::new(Scripted::new([ScriptedReply::words("a fox")]));
    let request = plan(&actor, root.id, vec![model], 2).partials_dir(drafts.clone());
    generate(&actor, request, |_| {}).await.unwrap();
    assert_eq!(std::fs::read_dir(&drafts).unwrap().count(), 0);
    // Other files in the folder are ignored.
    std::fs::write(drafts.join("x.draft"), b"\xff\xfe").unwrap();
    std::fs::write(drafts.join("y.txt"), "keep me").unwrap();
    // One that got no header is removed when no process can be about to write it.
    std::fs::write(drafts.join("begun.new"), "").unwrap();
    let old = std::fs::File::create(drafts.join("old.new")).unwrap();
    old.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    drop(old);
    assert_eq!(recover(&actor, &drafts).unwrap(), []);
    assert!(drafts.join("y.txt").exists() && drafts.join("begun.new").exists() && !drafts.join("old.new").exists());
}

/// Model whose client panics.
struct Panics(Scripted);

impl Model for Panics {
    fn reference(&self) -> &str {
        self.0.reference()
    }

    fn stream(&self, _: Request) -> Generation {
        panic!("a fault of the client")
    }

    fn parallel(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn a_panic_of_a_models_client_ends_the_generation() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let words = Arc::new(Scripted::new([ScriptedReply::words("a fox")]));
    let panics = Arc::new(Panics(Scripted::new([ScriptedReply::words("")])));
    let mut failures = 0;
    let nodes = generate(&actor, plan(&actor, root.id, vec![panics, words], 2), |progress| {
        failures += usize::from(matches!(progress, Progress::Failed { .. }));
    });
    let nodes = tokio::time::timeout(Duration::from_secs(20), nodes).await.unwrap().unwrap();
    assert_eq!((nodes.len(), failures), (2, 2));
}

/// Model whose server returns two replies per request.
struct Pairs(Scripted, Mutex<Vec<(usize, Option<u64>)>>);

impl Model for Pairs {
    fn reference(&self) -> &str {
        self.0.reference()
    }

    fn stream(&self, request: Request) -> Generation {
        self.0.stream(request)
    }

    fn stream_n(&self, request: Request, n: usize) -> Vec<Generation> {
        self.1.lock().unwrap().push((n, request.sampling.seed));
        (0..n).map(|_| self.stream(request.clone())).collect()
    }

    fn max_choices_per_request(&self) -> usize {
        2
    }

    fn parallel(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn replies_share_requests_and_requests_have_distinct_seeds() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let pairs =
        Arc::new(Pairs(Scripted::new([ScriptedReply::words("a"), ScriptedReply::words("b")]), Mutex::default()));
    let mut plan = plan(&actor, root.id, vec![pairs.clone(), Arc::new(Scripted::new([ScriptedReply::words("c")]))], 5);
    plan.sampling.seed = Some(7);
    let mut heard = Vec::new();
    let nodes = generate(&actor, plan, |progress| {
        if let Progress::Saved { index, .. } = progress {
            heard.push(index);
        }
    })
    .await
    .unwrap();
    heard.sort_unstable();
    let asked = pairs.1.lock().unwrap().clone();
    assert_eq!((nodes.len(), heard), (10, (0..10).collect()));
    assert_eq!(asked, [(2, Some(7)), (2, Some(9)), (1, Some(11))]);
    let snapshot = actor.loom().snapshot().unwrap();
    let seed = |node: &Node| snapshot.provenance(node.id).unwrap().unwrap().value().unwrap()["seed"].as_u64();
    let stored: Vec<_> = nodes[..5].iter().map(|node| seed(node).unwrap()).collect();
    assert_eq!(stored, [7, 7, 9, 9, 11]);
}

#[tokio::test]
async fn an_unoffered_tool_call_ends_the_reply_and_is_stored() {
    let (_scene, actor, root) = scene(Mode::Dialogue);
    let call = loomtree::provider::ToolCall { id: "1".into(), name: "x".into(), arguments: "{}".into() };
    let model = Arc::new(Scripted::new([ScriptedReply::words("there was").calling([call])]));
    let generating = generate(&actor, plan(&actor, root.id, vec![model], 1), |_| {});
    let nodes = tokio::time::timeout(Duration::from_secs(20), generating).await.expect("it ends").unwrap();
    assert_eq!((nodes.len(), nodes[0].content.as_str(), nodes[0].tool.calls.is_some()), (1, "there was", true));
}
