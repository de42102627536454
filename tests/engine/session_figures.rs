//! Figures of a session: turns of people, reported tokens, and the system prompt that was sent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::sync::Arc;

use loomtree::{
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{Generation, Model, Prompt, Request, Role, Scripted, ScriptedReply},
    session::{GenerateRequest, ToolAccess, actor_at, generate, stats},
    store::GenerationFilter,
    types::Parent,
};
use support::store::Scene;

/// Lets the owner say something and the collaborator answer it in two rounds. Returns the agent's session, the newest node
/// and the system message of the first request.
async fn exchange(owner: &Actor, after: NodeId, text: &str) -> (SessionId, NodeId, String) {
    let loom = owner.loom();
    let said = owner.append(Parent::Node(after), NodeDraft::text(text)).unwrap().nodes[0].id;
    let agent = loom.agent("collaborator").unwrap();
    let actor = actor_at(loom, &agent, "/work", said).unwrap();
    let script = ["I look.\n→ memory\n", "It is so."].map(ScriptedReply::words);
    let model = Arc::new(Scripted::new(script));
    let commands = ToolAccess::new(Arc::new(Arc::clone(&model) as Arc<dyn Model>));
    let request = GenerateRequest::turn(said, agent, Arc::clone(&model) as Arc<dyn Model>, commands);
    let nodes = generate(&actor, request, |_| {}).await.unwrap();
    let Prompt::Chat(messages) = &model.requests()[0].prompt else { panic!("a dialogue is a chat") };
    assert_eq!(messages[0].role, Role::System);
    (actor.session().unwrap(), nodes.last().unwrap().id, messages[0].text())
}

/// Turn count, tokens, system prompt and state of a session in the view for other programs.
fn row(scene: &Scene, session: SessionId) -> (u64, u64, String, String) {
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    let sql = "SELECT turn_count, total_tokens, system_prompt, session_state FROM cowork_sessions WHERE id = ?1";
    conn.query_row(sql, [session.to_string()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))).unwrap()
}

#[tokio::test]
async fn a_session_counts_messages_of_people_and_tokens_of_all_rounds() {
    let scene = Scene::of_file(61);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A pump.").system_context("You mend pumps.")).unwrap();
    let (session, at, system) = exchange(&owner, root.id, "Which one leaks?\nThe old one?").await;
    let (again, _, _) = exchange(&owner, at, "And now?").await;
    assert_eq!(session, again);

    let filter = GenerationFilter::default().session(session);
    let sums = stats(&*owner.loom().snapshot().unwrap(), &filter).unwrap().all;
    let read = owner.loom().session(session).unwrap();
    assert_eq!(sums.generations, 4);
    assert!(sums.prompt > 0 && sums.output > 0, "{sums:?}");
    // The root is received too, so there are three messages of the owner.
    assert_eq!((read.person_turns, read.tokens), (3, sums.prompt + sums.output));
    let (turns, tokens, prompt, state) = row(&scene, session);
    assert_eq!((turns, tokens), (3, sums.prompt + sums.output));
    assert!(prompt.contains("You mend pumps.") && system.starts_with(&prompt), "{prompt}");
    assert!(state.contains("\"current_focus\":\"And now?\""), "{state}");
    assert!(state.contains("\"todos\":{\"done\":0,\"open\":0}"), "{state}");

    // A prompt is stored again only when it changed, and a purge of the session removes it.
    let prompts = |sql: &str| -> u64 {
        rusqlite::Connection::open(&scene.path).unwrap().query_row(sql, [], |r| r.get(0)).unwrap()
    };
    assert_eq!(prompts("SELECT count(*) FROM system_prompts"), 1);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
    owner.purge(loomtree::store::PurgeTarget::Session(session)).unwrap();
    assert_eq!(prompts("SELECT count(*) FROM system_prompts"), 0);
}

#[tokio::test]
async fn the_figures_of_an_older_file_are_counted_when_it_is_migrated() {
    let scene = Scene::of_file(62);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A pump.")).unwrap();
    let (session, ..) = exchange(&owner, root.id, "Which one leaks?").await;
    let before = owner.loom().session(session).unwrap();
    drop(owner);
    support::store::downgrade(&scene.path, 20);
    let owner = scene.owner();
    let after = owner.loom().session(session).unwrap();
    assert_eq!((after.person_turns, after.tokens), (before.person_turns, before.tokens));
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
}

/// A model under another name.
struct Named(&'static str, Arc<Scripted>);

impl Model for Named {
    fn reference(&self) -> &str {
        self.0
    }

    fn stream(&self, request: Request) -> Generation {
        self.1.stream(request)
    }

    fn parallel(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn only_the_agent_of_a_session_changes_its_model() {
    let scene = Scene::new(63);
    let owner = scene.owner();
    let loom = owner.loom();
    let (_, root) = owner.create_tree(TreeDraft::new("A pump.")).unwrap();
    let agent = |name: &str| loom.agent(name).unwrap();
    let actor = actor_at(loom, &agent("collaborator"), "/work", root.id).unwrap();
    let session = actor.session().unwrap();
    let model = |reference| Arc::new(Named(reference, Arc::new(Scripted::new([ScriptedReply::words("Yes.")]))));
    let answer = async |author: &str, reference: &'static str| {
        let request = GenerateRequest::new(root.id, agent(author), model(reference) as Arc<dyn Model>, 1);
        generate(&actor, request, |_| {}).await.unwrap();
        loom.session(session).unwrap().model.unwrap()
    };
    assert_eq!(answer("collaborator", "test:one").await, "test:one");
    assert_eq!(answer("subject", "test:two").await, "test:one");
    assert_eq!(answer("collaborator", "test:three").await, "test:three");
}
