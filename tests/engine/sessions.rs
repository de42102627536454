//! Sessions: find, continue, reset, isolate by work item, and resume without a difference in the prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loomtree::{
    context::ContextOptions,
    exec::{Executor, NoHost},
    id::{NodeId, SessionId},
    ops::{Actor, Loom, NodeDraft, SessionDraft, SessionReset, SplitAt, TreeDraft},
    provider::{Model, Scripted, ScriptedReply},
    recall::{self, Filter, Query, Scope},
    session::{GenerateRequest, Interruption, actor_at, context_of, generate, resume},
    session_state::{ExtractionRules, FileWriteTool, RecordKind},
    store::{SessionFilter, WordFilter},
    types::{
        AuthorType, EdgeKind, Json, Lease, Mode, Op, Parent, Prompt, SessionPatch, Timestamp, ToolCallFields, WorkItem,
    },
};
use support::store::Scene;

/// A tree with a session of the collaborator, with one question.
fn begun(scene: &Scene) -> (Actor, SessionId, NodeId) {
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A lighthouse.")).unwrap();
    let agent = owner.loom().agent("collaborator").unwrap();
    let session = actor_at(owner.loom(), &agent, "/work", root.id).unwrap().session().unwrap();
    let asked = owner.send_to(session, NodeDraft::text("Never use the word sea. What is in the log book?")).unwrap();
    (owner, session, asked.nodes[0].id)
}

/// The next prompt of a session, as rendered for providers.
fn next(owner: &Actor, session: SessionId) -> String {
    let loom = owner.loom();
    let session = loom.session(session).unwrap();
    let agent = loom.agent("collaborator").unwrap();
    let actor = loom.actor(&agent).in_session(session.id);
    let made = context_of(&actor, &agent, session.position.unwrap(), &[], ContextOptions::default()).unwrap();
    match made.prompt {
        Prompt::Raw(text) => text,
        Prompt::Chat(messages) => format!("{messages:#?}"),
    }
}

#[tokio::test]
async fn the_next_prompt_after_a_break_is_unchanged() {
    let scene = Scene::new(11);
    let (owner, session, mut at) = begun(&scene);
    let agent = owner.loom().agent("collaborator").unwrap();
    let actor = owner.loom().actor(&agent).in_session(session);
    for turn in 0..12 {
        let model: Arc<dyn Model> =
            Arc::new(Scripted::new([ScriptedReply::words(&format!("Entry {turn}: wind, and fog."))]));
        generate(&actor, GenerateRequest::new(at, agent.clone(), model, 1), |_| {}).await.unwrap();
        at = owner.send_to(session, NodeDraft::text(format!("And after entry {turn}?"))).unwrap().nodes[0].id;
    }
    let model: Arc<dyn Model> = Arc::new(Scripted::new([ScriptedReply::words("The last entry.")]));
    generate(&actor, GenerateRequest::new(at, agent.clone(), model, 1), |_| {}).await.unwrap();
    let pinned = owner.loom().node(at).unwrap().local.to_string();
    let mut runner = Executor::new(owner.loom().clone(), agent, session, &NoHost);
    for line in [&format!("→ pin [{pinned}]"), "→ stash \"log\" \"fog on the 3rd\"", "→ todo add \"count the entries\""]
    {
        let wanted = runner.read(line);
        assert!(runner.run_batch(vec![wanted])[0].to_string().starts_with('✓'), "{line}");
    }
    let before = next(&owner, session);
    for kept in ["Never use the word sea", "The last entry.", &pinned, "Stashed (not in context)"] {
        assert!(before.contains(kept), "{kept}: {before}");
    }
    let stood = owner.loom().session(session).unwrap();
    drop((runner, actor, owner));

    let again = scene.owner();
    let resumed = resume(&again, session, None).unwrap();
    assert_eq!((&resumed.session, resumed.interruption), (&stood, None));
    assert_eq!(next(&again, session), before);
}

#[test]
fn an_interrupted_turn_is_marked_once_and_its_lease_is_released() {
    let scene = Scene::new(12);
    let (owner, session, asked) = begun(&scene);
    let agent = owner.loom().agent("collaborator").unwrap();
    let actor = owner.loom().actor(&agent).in_session(session);
    actor.lease(asked, agent.id(), Duration::from_secs(60)).wait().unwrap();
    drop((actor, owner));

    let again = scene.owner();
    let resumed = resume(&again, session, None).unwrap();
    assert_eq!(resumed.interruption, Some(Interruption::NoReply(asked)));
    let loom = again.loom();
    let tree = loom.session(session).unwrap().tree;
    assert_eq!(loom.snapshot().unwrap().leases(tree).unwrap(), Vec::<Lease>::new());
    assert_eq!(loom.node(asked).unwrap().state.annotations, 1);
}

#[test]
fn an_expired_session_is_replaced_by_a_new_one() {
    let scene = Scene::new(13);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let draft = SessionDraft::of("/work").lasting(Duration::from_secs(3_600));
    let first = owner.open_session(tree.id, Some(root.id), draft).unwrap();
    let actor = owner.clone().in_session(first);
    actor.append_turn(NodeDraft::text("said in time")).unwrap();
    assert_eq!(owner.continue_session(first).unwrap(), first);
    let later = owner.loom().now().as_millis() + 3_601_000;
    scene.clock.set(Timestamp::from_millis(later));
    assert!(actor.append_turn(NodeDraft::text("too late")).is_err());
    let second = owner.continue_session(first).unwrap();
    assert_ne!(second, first);
    let loom = owner.loom();
    let fresh = loom.session(second).unwrap();
    assert!(fresh.tree != tree.id && !next(&owner, second).contains("said in time"), "it begins at a fresh root");
    assert_eq!(loom.turns(first, 0, 10).unwrap()[0].content, "said in time");
    let begun = owner.reset_session(second, SessionReset::default().system("Be brief.")).unwrap();
    let session = loom.session(second).unwrap();
    assert_eq!((session.position, session.tree == tree.id), (Some(begun.id), false));
    assert_eq!(loom.tree(tree.id).unwrap().counts.nodes, 2, "nothing was deleted");
    assert!(!loom.tree(session.tree).unwrap().titled, "words of the old tree are no title of the new one");
}

#[test]
fn work_items_cannot_see_each_other_even_by_guessed_ids() {
    let scene = Scene::new(14);
    let owner = scene.owner();
    let item = |key: &str| WorkItem { project: "light".to_owned(), external_ref: key.to_owned() };
    let open = |key: &str| {
        let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
        let draft = SessionDraft::of("/work").item(item(key));
        let id = owner.open_session(tree.id, Some(root.id), draft).unwrap();
        let actor = owner.clone().in_session(id);
        let said = actor.append_turn(NodeDraft::text(format!("the secret of {key}"))).unwrap();
        let answer = NodeDraft::text(format!("the secret of {key}, as bash told it"))
            .kind(EdgeKind::Tool)
            .tool(ToolCallFields { name: Some("bash".into()), ..ToolCallFields::default() })
            .keep_position(true);
        actor.append_turn(answer).unwrap();
        (id, tree.id, said.nodes[0].id)
    };
    let ((one, tree, _), (two, other, secret)) = (open("L-1"), open("L-2"));
    let loom = owner.loom();
    let agent = Some(owner.agent());
    assert_eq!(loom.find_item_session(&item("L-1"), agent).unwrap().unwrap().id, one);
    assert_eq!(loom.find_item_session(&item("L-3"), agent).unwrap(), None);
    let snapshot = loom.snapshot().unwrap();
    let found = |seen_by| {
        let hits = recall::search(
            &*snapshot,
            &Query::new("secret", Scope::Everything).only(Filter::default().seen_by(seen_by)),
        )
        .unwrap();
        hits.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>()
    };
    assert!(found(Some(two)).contains(&secret));
    assert!(!found(Some(one)).contains(&secret));
    // Nor by its id, in any command.
    let secret_id = loom.node(secret).unwrap().local.to_string();
    let mut runner = Executor::new(loom.clone(), loom.agent("collaborator").unwrap(), one, &NoHost);
    for line in [
        format!("→ view {secret_id} full"),
        format!("→ view {secret} full"),
        format!("→ switch to {secret_id}"),
        format!("→ annotate {secret_id} \"x\""),
        "→ recall search \"secret of L-2\"".to_owned(),
        "→ recall search \"secret of L-2\" scope:all".to_owned(),
        "→ recall search \"secret of L-2\" scope:workspace".to_owned(),
        format!("→ recall search \"secret of L-2\" path:{secret_id}"),
        format!("→ recall search \"secret of L-2\" below:{secret} scope:all"),
        "→ recall tool:bash scope:all".to_owned(),
        "→ recall turns:1-100".to_owned(),
        "→ recall summary".to_owned(),
        "→ search \"secret of L-2\"".to_owned(),
    ] {
        let wanted = runner.read(&line);
        let reply = runner.run_batch(vec![wanted]).remove(0).to_string();
        assert!(!reply.contains("the secret of L-2"), "{line}: {reply}");
    }
    // Nor by another command with an id, nor by a provider's tool.
    for line in [
        "→ view branch:ID",
        "→ list ID annotations",
        "→ tree from:ID",
        "→ diff ID [OWN]",
        "→ continue from ID",
        "→ respond ID \"x\"",
        "→ link to ID",
        "→ edit ID \"x\"",
        "→ merge ID [OWN] \"x\"",
        "→ bookmark ID",
        "→ prune ID",
        "→ copy ID to [OWN]",
        "→ copy [OWN] to ID",
        "→ move ID to [OWN]",
        "→ split ID at:3",
        "→ exclude ID",
        "→ pin ID",
        "→ stash \"x\" content-of:ID",
        "→ stash \"x\" summary-of:ID-ID",
        "→ switch to tree:\"TREE\"",
        "→ switch to ID in tree:\"TREE\"",
        "→ link to tree:\"TREE\" node:ID",
    ] {
        let own = loom.node(loom.session(one).unwrap().position.unwrap()).unwrap().local.to_string();
        let line = line.replace("ID", &secret.to_string()).replace("TREE", &other.to_string()).replace("OWN", &own);
        let mut able = Executor::new(loom.clone(), loom.agent("owner").unwrap(), one, &NoHost);
        let wanted = able.read(&line);
        let reply = able.run_batch(vec![wanted]).remove(0).to_string();
        assert!(reply.starts_with("✗ NOT_FOUND"), "{line}: {reply}");
        assert_eq!(able.session(), one);
    }
    for arguments in [
        r#"{ "action": "search", "query": "secret of L-2" }"#,
        r#"{ "action": "range", "start_turn": 1, "end_turn": 100 }"#,
        r#"{ "action": "tool_calls", "tool_name": "bash" }"#,
        r#"{ "action": "summary" }"#,
    ] {
        let wanted = runner.read_call("conversation_recall", arguments);
        let reply = runner.run_batch(vec![wanted]).remove(0).to_string();
        assert!(!reply.contains("the secret of L-2"), "{arguments}: {reply}");
    }
    // A host's search on behalf of a session is limited to content visible to it.
    let only = Filter::default().seen_by(one);
    assert_eq!(recall::turns(&*snapshot, two, 1..=9, &only, 9).unwrap(), []);
    let results = recall::tool_results(&*snapshot, &Scope::Everything, "bash", &only, 9).unwrap();
    let told: Vec<&str> = results.iter().map(|(node, _)| node.content.as_str()).collect();
    assert_eq!(told, ["the secret of L-1, as bash told it"]);
    // A tree of an item rejects sessions of other items.
    let draft = SessionDraft::of("/work").item(item("L-2"));
    assert!(owner.open_session(tree, None, draft).is_err());
}

#[test]
fn cached_sessions_are_never_older_than_the_file() {
    let scene = Scene::new(16);
    let (one, session, _) = begun(&scene);
    // Store of another process on the same file, with warm caches.
    let two = scene.owner();
    let newest = |loom: &Loom| {
        let found = loom.session(session).unwrap();
        let last = loom.turns(session, found.turns.saturating_sub(1), 1).unwrap().pop().unwrap().content;
        (found.turns, last, loom.snapshot().unwrap().session_state(session).unwrap().constraints.len())
    };
    for round in 0..20 {
        let (writer, reader) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let said = format!("Always count to {round}.");
        let before = newest(reader.loom());
        assert_eq!(newest(writer.loom()), before);
        writer.send_to(session, NodeDraft::text(said.clone())).unwrap();
        let after = newest(reader.loom());
        assert_eq!((after.0, &after.1), (before.0 + 1, &said));
        assert_eq!(after, newest(writer.loom()));
    }
    // The memory has no state that the file lacks.
    drop((one, two));
    assert_eq!(newest(scene.owner().loom()).1, "Always count to 19.");
}

#[test]
fn the_library_starts_finds_extends_changes_and_ends_a_session() {
    let scene = Scene::new(17);
    let owner = scene.owner();
    let loom = owner.loom();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let kept = |word: &str| [("dispatcher".to_owned(), word.to_owned())].into_iter().collect::<BTreeMap<_, _>>();
    let draft = SessionDraft::of("/work").metadata(kept("first")).model("ollama:x");
    let id = owner.open_session(tree.id, Some(root.id), draft).unwrap();
    owner.start_session("/elsewhere", tree.id, Some(root.id)).unwrap();
    let of = |workspace: &str| {
        let filter = SessionFilter::default().workspace(workspace.to_owned());
        loom.sessions(&filter).unwrap().into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!((of("/work"), of("/elsewhere").len(), of("/nowhere").len()), (vec![id], 1, 0));
    let actor = owner.clone().in_session(id);
    for turn in 1..=7 {
        actor.append_turn(NodeDraft::text(format!("the words of turn {turn}"))).unwrap();
    }
    let session = loom.session(id).unwrap();
    assert_eq!((session.turns, session.model.as_deref(), &session.metadata), (7, Some("ollama:x"), &kept("first")));
    let said = |offset, limit| -> Vec<u64> {
        loom.turns(id, offset, limit).unwrap().into_iter().map(|node| node.turn.unwrap()).collect()
    };
    assert_eq!((said(0, 3), said(5, 50), said(7, 1)), (vec![1, 2, 3], vec![6, 7], vec![]));
    let found = recall::search(&*loom.snapshot().unwrap(), &Query::new("\"of turn 4\"", Scope::Session(id))).unwrap();
    assert_eq!(found.hits[0].node.turn, Some(4));
    // A patch changes the keys that it names.
    let patch =
        SessionPatch::default().metadata("dispatcher", "second".to_owned()).metadata("other", "a \"b\"".to_owned());
    owner.update_session(id, patch).unwrap();
    assert_eq!(loom.session(id).unwrap().metadata["other"], "a \"b\"");
    owner.update_session(id, SessionPatch::default().metadata("nul", "a\0b".to_owned())).unwrap();
    owner.update_session(id, SessionPatch::default().metadata("other", None).metadata("nul", None)).unwrap();
    assert_eq!(loom.session(id).unwrap().metadata, kept("second"));
    actor.record(RecordKind::Decision, "we use JWT").unwrap();
    assert_eq!(loom.snapshot().unwrap().session_state(id).unwrap().key_decisions[0].text, "we use JWT");
    // After a reset, turn numbers continue, the state is empty, and all nodes remain.
    owner.reset_session(id, SessionReset::default()).unwrap();
    actor.append_turn(NodeDraft::text("begun anew")).unwrap();
    assert_eq!((said(0, 9), said(1, 9)), (vec![8, 9], vec![9]), "the conversation begins anew with the fresh root");
    let all = loom.snapshot().unwrap().turns(id, 1..=9, &WordFilter::default(), 99).unwrap();
    assert_eq!(all.len(), 9, "no turn was deleted");
    assert!(loom.snapshot().unwrap().session_state(id).unwrap().key_decisions.is_empty());
    actor.record(RecordKind::Decision, "we use sessions").unwrap();
    assert_eq!(loom.snapshot().unwrap().session_state(id).unwrap().key_decisions.len(), 1);
    assert_eq!(loom.store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
    // An ended session is not continued but replaced by a new one; all nodes remain.
    owner.end_session(id).unwrap();
    assert!(actor.append_turn(NodeDraft::text("too late")).is_err());
    let next = resume(&owner, id, None).unwrap().session;
    assert!(next.id != id && next.turns == 1 && next.metadata == kept("second"));
    assert_eq!(said(0, 50).len(), 2);
}

#[test]
fn a_host_adds_extraction_rules() {
    let scene = Scene::new(18);
    let own = FileWriteTool { word: "stitch".into(), action: "stitched".into() };
    let own = ExtractionRules { writers: vec![own], ..ExtractionRules::none() };
    let rules = || ExtractionRules::default().and(own.clone());
    let open = |rules| scene.share(scene.options().register_rules(rules).connect(&scene.location).unwrap());
    let loom = open(rules());
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let metadata = Some(Json::parse(r#"{"arguments":{"path":"quilt"}}"#).unwrap());
    let tool = ToolCallFields { name: Some("stitch_panel".into()), ..ToolCallFields::default() };
    let answer = NodeDraft::text("done").kind(EdgeKind::Tool).keep_position(true).tool(tool).metadata(metadata);
    owner.clone().in_session(session).append_turn(answer).unwrap();
    let files = |loom: &Loom| loom.snapshot().unwrap().session_state(session).unwrap().files_touched.len();
    assert_eq!(files(&loom), 1);
    drop((owner, loom));
    // The stored state does not depend on the reader's rules; a rebuild applies them.
    let usual = open(ExtractionRules::default());
    assert_eq!((files(&usual), usual.store().rebuild().unwrap().registers, files(&usual)), (1, 1, 0));
    drop(usual);
    let own = open(rules());
    assert_eq!((own.store().rebuild().unwrap().registers, files(&own)), (1, 1));
}

#[test]
fn outside_tools_find_turns_and_sessions_by_their_names() {
    let scene = Scene::of_file(15);
    let (owner, session, asked) = begun(&scene);
    let calls = r#"[{"id":"c1","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]"#;
    let actor = owner.clone().in_session(session);
    let tool = ToolCallFields { calls: Some(Json::parse(calls).unwrap()), ..ToolCallFields::default() };
    let call = NodeDraft::text("").tool(tool).author_type(AuthorType::Model);
    let call = actor.append(loomtree::types::Parent::Node(asked), call).unwrap().nodes[0].id;
    let tool = ToolCallFields { calls: None, call_id: Some("c1".into()), name: Some("bash".into()) };
    let (kind, author_type) = (Some(EdgeKind::Tool), Some(AuthorType::Tool));
    let result = NodeDraft::text("a  b\r\n\tc\n").tool(tool).kind(kind).author_type(author_type).keep_position(true);
    actor.append(loomtree::types::Parent::Node(call), result).unwrap();
    drop((actor, owner));
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    let columns = |view: &str| {
        let statement = conn.prepare(&format!("SELECT * FROM {view}")).unwrap();
        statement.column_names().collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        columns("conversation_turns"),
        "id, session_id, turn_number, role, content, tool_calls, tool_call_id, tool_name, token_count, created_at"
    );
    assert_eq!(
        columns("cowork_sessions"),
        "id, workspace_path, model_name, system_prompt, started_at, last_active_at, total_tokens, turn_count, \
         session_state, is_active"
    );
    let row: (String, u64, String, String) = conn
        .query_row(
            "SELECT session_id, turn_number, role, content FROM conversation_turns WHERE turn_number = 2",
            [],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
        )
        .unwrap();
    let said = "Never use the word sea. What is in the log book?".to_owned();
    assert_eq!(row, (session.to_string(), 2, "user".to_owned(), said));
    // Calls and results are stored verbatim.
    let (kept, result): (String, String) = conn
        .query_row(
            "SELECT a.tool_calls, b.role || ' ' || b.tool_call_id || ' ' || b.tool_name || ' ' || b.content
             FROM conversation_turns a JOIN conversation_turns b ON b.session_id = a.session_id
             WHERE a.turn_number = 3 AND b.turn_number = 4",
            [],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .unwrap();
    assert_eq!((kept.as_str(), result.as_str()), (calls, "tool c1 bash a  b\r\n\tc\n"));
    let state: String =
        conn.query_row("SELECT session_state FROM cowork_sessions WHERE id = ?1", [row.0], |r| r.get(0)).unwrap();
    assert!(state.contains("Never use the word sea."), "{state}");
}

/// A tree of this mode with two messages below the root, and the owner in a session at the second.
fn owner_at_the_second(mode: Mode) -> (Scene, Actor, [NodeId; 3]) {
    let scene = Scene::new(17);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A lighthouse.").mode(mode)).unwrap();
    let first = owner.append(root.id, "It is dark.").unwrap().nodes[0].id;
    let second = owner.append(first, "The keeper is gone.").unwrap().nodes[0].id;
    let agent = owner.loom().agent("owner").unwrap();
    let owner = actor_at(owner.loom(), &agent, "/work", second).unwrap();
    (scene, owner, [root.id, first, second])
}

#[test]
fn undo_moves_the_session_back_to_where_an_edit_a_merge_or_a_response_took_it_from() {
    let (_scene, owner, [root, first, second]) = owner_at_the_second(Mode::Dialogue);
    let tree = owner.loom().node(root).unwrap().tree;
    let position = || owner.loom().session(owner.session().unwrap()).unwrap().position.unwrap();
    let new = |receipt: loomtree::store::Receipt| receipt.nodes[0].id;
    let edited = new(owner.edit(first, "It is light.").unwrap());
    let merged = new(owner.merge(&[root, second], "Both.").unwrap());
    let draft = owner.draft(Parent::Node(first), NodeDraft::text("Someone knocks."));
    let said = new(owner.commit(Op::Append, owner.append_mutations(draft).unwrap()).unwrap());
    assert_eq!(position(), said);
    let went_on = new(owner.append(said, "Nobody is there.").unwrap());
    assert_eq!(position(), went_on);
    for before in [said, merged, edited, second] {
        owner.undo(Some(tree)).unwrap();
        assert_eq!(position(), before);
    }
    for after in [edited, merged, said] {
        owner.redo(Some(tree)).unwrap();
        assert_eq!(position(), after);
    }
    // A session that went elsewhere stays there.
    owner.switch_to(owner.session().unwrap(), second).unwrap();
    owner.undo(Some(tree)).unwrap();
    assert_eq!(position(), second);
}

#[test]
fn a_session_goes_along_with_the_branch_that_it_stands_in() {
    let (_scene, owner, [root, first, second]) = owner_at_the_second(Mode::Dialogue);
    let tree = owner.loom().node(root).unwrap().tree;
    let session = owner.session().unwrap();
    let position = || owner.loom().session(session).unwrap().position.unwrap();
    let other = owner.append(root, NodeDraft::text("It is light.").keep_position(true)).unwrap().nodes[0].id;
    owner.append(second, NodeDraft::text("Gone where?").keep_position(true)).unwrap();
    assert_eq!(position(), second);
    let moved = owner.move_branch(first, other).unwrap();
    let copy = owner.loom().node(position()).unwrap();
    assert_eq!((copy.content.as_str(), copy.parent), ("The keeper is gone.", Some(moved.nodes[0].id)));
    owner.undo(Some(tree)).unwrap();
    assert_eq!(position(), second);
    owner.redo(Some(tree)).unwrap();
    assert_eq!(position(), copy.id);
    // One that stands elsewhere stays.
    owner.switch_to(session, other).unwrap();
    owner.move_branch(moved.nodes[0].id, root).unwrap();
    assert_eq!(position(), other);
}

#[test]
fn a_session_goes_along_below_an_edited_passage_and_to_no_other_tree() {
    let (_scene, owner, [root, first, second]) = owner_at_the_second(Mode::Buffer);
    let session = owner.session().unwrap();
    owner.switch_to(session, first).unwrap();
    owner.edit(first, "It is noon.").unwrap();
    owner.switch_to(session, second).unwrap();
    let other = owner.append(root, NodeDraft::text("It is light.").keep_position(true)).unwrap().nodes[0].id;
    let moved = owner.move_branch(first, other).unwrap().nodes[0].id;
    let position = owner.loom().session(session).unwrap().position.unwrap();
    let copy = owner.loom().node(position).unwrap();
    assert_eq!((copy.content.as_str(), copy.id != second), ("The keeper is gone.", true));
    // Behind a split that is moved.
    owner.split(position, &SplitAt::After("The ".to_owned())).unwrap();
    let halved = owner.loom().session(session).unwrap().position.unwrap();
    assert_eq!(owner.loom().node(halved).unwrap().content, "keeper is gone.");
    let moved = owner.move_branch(moved, root).unwrap().nodes[0].id;
    let half = owner.loom().session(session).unwrap().position.unwrap();
    assert_eq!((owner.loom().node(half).unwrap().content.as_str(), half != halved), ("keeper is gone.", true));
    // A move to another tree leaves the session where it was.
    let elsewhere = owner.create_tree(TreeDraft::new("Elsewhere.")).unwrap().1.id;
    owner.move_branch(moved, elsewhere).unwrap();
    let session = owner.loom().session(session).unwrap();
    assert_eq!(session.tree, copy.tree);
}

#[test]
fn a_session_without_a_position_is_at_the_end_of_the_conversation() {
    let (_scene, owner, [root, first, second]) = owner_at_the_second(Mode::Buffer);
    let loom = owner.loom();
    let tree = loom.tree(loom.node(root).unwrap().tree).unwrap();
    assert_eq!(loom.position(&tree, None).unwrap().id, second);
    let newcomer = loom.actor(&loom.agent("collaborator").unwrap());
    let session = newcomer.start_session("/elsewhere", tree.id, None).unwrap();
    assert_eq!(loom.position(&tree, Some(&loom.session(session).unwrap())).unwrap().id, second);
    // With the version that the session selected.
    let edited = owner.edit(second, "Another end.").unwrap().nodes[0].id;
    assert_eq!(loom.position(&tree, None).unwrap().id, edited);
    newcomer.choose_version(session, second).unwrap();
    let session = loom.session(session).unwrap();
    let mut without = session.clone();
    without.position = None;
    assert_eq!(loom.position(&tree, Some(&without)).unwrap().id, second);
    newcomer.switch(&session, &loom.node(first).unwrap()).unwrap();
    let session = loom.session(session.id).unwrap();
    assert_eq!(loom.position(&tree, Some(&session)).unwrap().id, first);
}

#[test]
fn undo_selects_the_versions_again_that_an_edit_replaced() {
    let (_scene, owner, [root, first, _]) = owner_at_the_second(Mode::Buffer);
    let tree = owner.loom().node(root).unwrap().tree;
    let session = owner.session().unwrap();
    let older = owner.edit(first, "It is light.").unwrap().nodes[0].id;
    owner.edit(first, "It is noon.").unwrap();
    owner.choose_version(session, older).unwrap();
    let newest = owner.edit(first, "It is dawn.").unwrap().nodes[0].id;
    assert_eq!(owner.loom().session(session).unwrap().versions, [newest]);
    owner.undo(Some(tree)).unwrap();
    assert_eq!(owner.loom().session(session).unwrap().versions, [older]);
}
