//! Todos: commands and tool calls on a plan, their effect on a turn, and the report of open items.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[allow(dead_code)] // not all of it is needed here
use crate::support::sample_tree as play;

use std::sync::Arc;

use loomtree::{
    context::ContextOptions,
    exec::{ExecRequest, Executor, NoHost},
    id::NodeId,
    ops::{Actor, NodeDraft},
    provider::{Model, Prompt, Scripted, ScriptedReply, ToolCall},
    session::{GenerateRequest, Progress, ToolAccess, actor_at, generate},
    store::{ChildFilter, JournalFilter, Mutation, PurgeTarget},
    tools::ErrorCode,
    types::{AuthorType, EdgeKind, Node, Parent, TodoDraft, TodoPatch, TodoScope, TodoStatus},
};
use play::Play;
use serde_json::json;

fn scope(play: &Play, turn: u64) -> TodoScope {
    TodoScope { session: play.session("collaborator", play.marie), turn }
}

/// The collaborator's executor in a turn.
fn runner(play: &Play, scope: TodoScope) -> Executor<'static> {
    let agent = play.loom.agent("collaborator").unwrap();
    Executor::new(play.loom.clone(), agent, scope.session, &NoHost).in_turn(scope)
}

/// Results of a batch of lines.
fn lines(runner: &mut Executor<'_>, lines: &[&str]) -> String {
    let wanted: Vec<ExecRequest> = lines.iter().map(|line| runner.read(line)).collect();
    runner.run_batch(wanted).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_of_all_items_has_their_details_whole() {
    let play = Play::new();
    let mut agent = runner(&play, scope(&play, 3));
    let long = "the second draft ".repeat(40);
    lines(&mut agent, &[&format!("→ todo add \"Reword the ending\" context:\"{}\"", long.trim())]);
    assert!(!lines(&mut agent, &["→ todo"]).contains(long.trim()), "a list is short");
    for status in ["all", "history"] {
        let said = lines(&mut agent, &[&format!("→ todo status:{status}")]);
        assert!(said.contains(&format!("context: \"{}\"", long.trim())), "{said}");
    }
}

#[test]
fn a_plan_is_created_listed_and_completed() {
    let play = Play::new();
    let scope = scope(&play, 3);
    let mut agent = runner(&play, scope);
    insta::assert_snapshot!(lines(&mut agent, &["→ todo"]), @r#"
    Todos: no plan in this turn
      → todo add "…" begins one
    "#);
    insta::assert_snapshot!(
        lines(&mut agent, &[
            "→ todo add \"Read chapter 2\" \"Check the flashback's date\"",
            "→ todo add \"Reword the ending\" context:\"the second draft\" criteria:\"no adverbs\" agent:\"editor\"",
            "→ todo",
        ]),
        @r#"
    ✓ planned 2 items: 1 "Read chapter 2" · 2 "Check the flashback's date" · 2 open
    ✓ planned 1 item: 3 "Reword the ending" · 3 open
    Todos: 0 of 3 done
      [>] 1 "Read chapter 2"
      [ ] 2 "Check the flashback's date"
      [ ] 3 "Reword the ending" · for "editor"
          context: "the second draft"
          done when: "no adverbs"
    "#
    );
    insta::assert_snapshot!(
        lines(&mut agent, &[
            "→ todo done 1 \"it has twelve pages\"",
            "→ todo cancel 3 \"nobody wants it\"",
            "→ todo",
        ]),
        @r#"
    ✓ done 1 "Read chapter 2" · 2 left · next: 2 "Check the flashback's date"
    ✓ cancelled 3 "Reword the ending" · 1 left · next: 2 "Check the flashback's date"
    Todos: 1 of 3 done · 1 cancelled
      [>] 2 "Check the flashback's date"
    "#
    );
    let all = lines(&mut agent, &["→ todo status:all"]);
    let (dates, all): (Vec<&str>, Vec<&str>) = all.lines().partition(|line| line.starts_with("      id: "));
    assert_eq!(dates.len(), 3, "each item has its id and times");
    insta::assert_snapshot!(all.join("\n"), @r#"
    Todos: 1 of 3 done · 1 cancelled · 1 in progress · 0 pending
      [x] 1 "Read chapter 2"
          outcome: "it has twelve pages"
      [>] 2 "Check the flashback's date"
      [-] 3 "Reword the ending" · for "editor"
          context: "the second draft"
          done when: "no adverbs"
          outcome: "nobody wants it"
    "#);
    let history = lines(&mut agent, &["→ todo status:history"]);
    assert!(history.starts_with("Turn 3: 1 of 3 done · 1 cancelled\n  [x] 1 \"Read chapter 2\""), "{history}");
    let item = &play.loom.todos(scope).unwrap()[0];
    assert!(history.contains(&format!("id: {} · created 2023-11-14T22:", item.id)), "{history}");
    let done = lines(&mut agent, &["→ todo done 2 \"the fourth of May\""]);
    assert_eq!(done, "✓ done 2 \"Check the flashback's date\" · 0 left");

    // Each step is journaled, and undo skips it.
    let journal = play.loom.snapshot().unwrap().journal(JournalFilter::default().limit(7)).unwrap();
    let told: Vec<&str> = journal.iter().map(|entry| entry.change.as_str()).collect();
    assert_eq!(
        told,
        ["finish_todo", "finish_todo", "finish_todo", "add_todo", "add_todo", "add_todo", "create_session"]
    );
    let before = play.loom.todos(scope).unwrap();
    lines(&mut agent, &["→ undo"]);
    assert_eq!(play.loom.todos(scope).unwrap(), before);
}

#[test]
fn invalid_arguments_are_rejected_without_a_change() {
    let play = Play::new();
    let scope = scope(&play, 1);
    let mut agent = runner(&play, scope);
    insta::assert_snapshot!(lines(&mut agent, &["→ todo done 1 \"x\"", "→ todo resume"]), @r#"
    ✗ NOT_FOUND: todo: no todo 1 in this turn's plan
      hint: there is no plan · → todo add "…" begins one · → todo resume takes up an earlier one
    ✗ NOT_FOUND: todo: no earlier turn of this session left anything open
    "#);
    // All at once, before any item can be complete.
    insta::assert_snapshot!(
        lines(&mut agent, &["→ todo add \"one\" \"two\"", "→ todo done 1 \"did it\"", "→ todo done 2 \"did it\""]),
        @r#"
    ✓ planned 2 items: 1 "one" · 2 "two" · 2 open
    ✗ CONFLICT: todo: 1 "one" was planned in this very batch: nothing can be done of it yet
      hint: do it, and say what came of it afterwards
    ✗ CONFLICT: todo: 2 "two" was planned in this very batch: nothing can be done of it yet
      hint: do it, and say what came of it afterwards
    "#
    );
    insta::assert_snapshot!(
        lines(&mut agent, &[
            "→ todo done 1",
            "→ todo cancel 2 \" \"",
            "→ todo done 7 \"x\"",
            "→ todo status:soon",
            "→ todo add \" \"",
            "→ todo done 1 \"did it\"",
            "→ todo done 1 \"again\"",
        ]),
        @r#"
    ✗ INVALID_SYNTAX: todo: an item is done with an outcome
      hint: → todo done 1 "what came of it"
    ✗ INVALID_SYNTAX: todo: an item is cancelled with a reason
      hint: → todo cancel 2 "why"
    ✗ NOT_FOUND: todo: no todo 7 in this turn's plan
      hint: open: 1 "one" · 2 "two"
    ✗ INVALID_SYNTAX: todo: "soon" is no state of an item
      hint: open, pending, in_progress, completed, cancelled, all or history
    ✗ INVALID_SYNTAX: todo: an item needs a title
      hint: → todo add "what is to be done"
    ✓ done 1 "one" · 1 left · next: 2 "two"
    ✗ CONFLICT: todo: 1 "one" is completed already: "did it"
    "#
    );
    // Too many items, and too much text.
    let many = json!({ "items": vec!["x"; 33] }).to_string();
    let call = agent.read_call("create_todo", &many);
    assert_eq!(agent.run_batch(vec![call]).remove(0).result.unwrap_err().code, ErrorCode::LimitExceeded);
    let some = json!({ "items": vec!["x"; 32] }).to_string();
    for reply in (0..4).map(|_| agent.run_batch(vec![agent.read_call("create_todo", &some)]).remove(0)).skip(3) {
        assert_eq!(reply.to_string(), "✗ LIMIT_EXCEEDED: todo: a plan has at most 100 items");
    }
    let long = json!({ "items": [{ "title": "x", "context": "y".repeat(1 << 20) }] }).to_string();
    let call = agent.read_call("create_todo", &long);
    assert_eq!(agent.run_batch(vec![call]).remove(0).result.unwrap_err().code, ErrorCode::LimitExceeded);
    assert_eq!(play.loom.todos(scope).unwrap().len(), 98);
}

#[test]
fn calls_and_lines_have_the_same_effect_and_cannot_choose_the_plan() {
    let play = Play::new();
    let scope = scope(&play, 1);
    let mut agent = runner(&play, scope);
    let mut call = |name: &str, arguments: serde_json::Value| {
        let call = agent.read_call(name, &arguments.to_string());
        agent.run_batch(vec![call]).remove(0).to_string()
    };
    let items = json!([
        { "title": "second", "context": "c", "completionCriteria": "d", "agentType": "coder" },
        "third",
        { "title": "first", "order": "1" },
    ]);
    let created = call("create_todo", json!({ "items": items }));
    let ids: Vec<String> =
        play.loom.todos(scope).unwrap().iter().map(|todo| format!("{} {}", todo.number, todo.id)).collect();
    let planned = "✓ planned 3 items: 3 \"first\" · 1 \"second\" · 2 \"third\" · 3 open\n  ids: ";
    assert_eq!(created, format!("{planned}{}", ids.join(" · ")));
    assert!(
        call("list_todo", json!({})).starts_with("Todos: 0 of 3 done\n  [ ] 3 \"first\"\n  [>] 1 \"second\" · for")
    );
    let done = call("complete_todo", json!({ "todo": 3, "outcome": "done so" }));
    assert_eq!(done, "✓ done 3 \"first\" · 2 left · next: 1 \"second\"");
    let id = play.loom.todos(scope).unwrap().iter().find(|todo| todo.number == 1).unwrap().id.to_string();
    let unknown = call("complete_todo", json!({ "todoId": "01HF7YAT005D2Y4055X2NZ3WWF", "outcome": "x" }));
    assert!(unknown.starts_with("✗ INVALID_SYNTAX"), "{unknown}");
    let given_up = call("complete_todo", json!({ "todoId": id, "outcome": "no use", "status": "cancelled" }));
    assert_eq!(given_up, "✓ cancelled 1 \"second\" · 1 left · next: 2 \"third\"");
    assert!(call("list_todo", json!({ "status": "cancelled" })).ends_with("outcome: \"no use\""));
    for (name, wrong, said) in [
        ("create_todo", json!({ "items": ["x"], "turn": 2 }), "create_todo: there is no argument \"turn\""),
        (
            "complete_todo",
            json!({ "todo": 2, "outcome": "x", "session": "y" }),
            "complete_todo: there is no argument \"session\"",
        ),
        (
            "create_todo",
            json!({ "items": [{ "context": "x" }] }),
            "create_todo: add has the wrong form; expected: titles, or objects with title, context, completion_criteria, agent_type, order",
        ),
        (
            "create_todo",
            json!({ "items": [{ "title": "x", "turn": 2 }] }),
            "create_todo: add has the wrong form; expected: titles, or objects with title, context, completion_criteria, agent_type, order",
        ),
        (
            "complete_todo",
            json!({ "todo": 2, "outcome": "x", "status": "open" }),
            "complete_todo: status is completed or cancelled",
        ),
    ] {
        let reply = call(name, wrong);
        assert_eq!(reply.lines().next().unwrap(), format!("✗ INVALID_SYNTAX: {said}"));
    }
    // Another turn has another plan, and so has work outside of a turn.
    for turn in [0, 2] {
        assert!(play.loom.todos(TodoScope { turn, ..scope }).unwrap().is_empty());
    }
}

#[test]
fn an_open_item_is_changed_in_part_and_a_closed_one_is_not() {
    let play = Play::new();
    let scope = scope(&play, 1);
    let actor = play.loom.actor(&play.loom.agent("collaborator").unwrap()).in_session(scope.session);
    let item = |title: &str| TodoDraft { title: title.to_owned(), context: "why".into(), ..TodoDraft::default() };
    let plan = actor.add_todos(scope, &[item("one"), item("two"), item("three")]).unwrap();
    actor.update_todo(plan[0].id, TodoPatch::default().title("first").order(3)).unwrap();
    let titles = || -> Vec<String> { play.loom.todos(scope).unwrap().into_iter().map(|todo| todo.title).collect() };
    assert_eq!(titles(), ["two", "three", "first"]);
    actor.update_todo(plan[0].id, TodoPatch::default().order(1)).unwrap();
    assert_eq!(titles(), ["first", "two", "three"]);
    let found = play.loom.find_todo(scope.session, plan[0].id).unwrap().unwrap();
    assert_eq!((found.title.as_str(), found.context.as_str(), found.number), ("first", "why", 1));
    actor.update_todo(plan[0].id, TodoPatch::default().title(" ")).unwrap_err();
    actor.finish_todo(plan[0].id, TodoStatus::Completed, "did it").unwrap();
    actor.update_todo(plan[0].id, TodoPatch::default().title("again")).unwrap_err();
    assert_eq!(play.loom.find_todo(scope.session, plan[0].id).unwrap().unwrap().title, "first");
    assert_eq!(play.loom.store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
}

#[test]
fn nothing_is_deleted_and_a_purge_empties_the_words() {
    let play = Play::new();
    let Some(_) = play.scene.location.file() else { return };
    let scope = scope(&play, 1);
    let actor = play.loom.actor(&play.loom.agent("collaborator").unwrap()).in_session(scope.session);
    actor.append(Parent::Position(scope.session), NodeDraft::text("said")).unwrap();
    let item = |title: &str| TodoDraft { title: title.to_owned(), context: "secret".into(), ..TodoDraft::default() };
    let plan = actor.add_todos(scope, &[item("one secret"), item("two")]).unwrap();
    actor.finish_todo(plan[0].id, TodoStatus::Completed, "a secret outcome").unwrap();
    actor.finish_todo(plan[0].id, TodoStatus::Cancelled, "said again").unwrap_err();
    assert!(rusqlite::Connection::open(&play.scene.path).unwrap().execute("DELETE FROM todos", []).is_err());
    let purge = Mutation::Purge(PurgeTarget::Session(scope.session));
    play.owner.commit(loomtree::types::Op::Purge, vec![purge]).unwrap();
    let left = play.loom.todos(scope).unwrap();
    assert_eq!(
        left.iter().map(|todo| todo.status).collect::<Vec<_>>(),
        [TodoStatus::Completed, TodoStatus::InProgress]
    );
    assert!(left.iter().all(|todo| todo.title.is_empty() && todo.context.is_empty()));
    assert!(!std::fs::read(&play.scene.path).unwrap().windows(6).any(|bytes| bytes == b"secret"));
}

/// Appends a message of the human, and runs the collaborator with these replies.
async fn turn(play: &Play, at: NodeId, model: &Arc<Scripted>) -> (Vec<Node>, Vec<Progress>, Actor) {
    let said = play.owner.append(Parent::Node(at), NodeDraft::text("Do it all.")).unwrap().nodes[0].id;
    let agent = play.loom.agent("collaborator").unwrap();
    let actor = actor_at(&play.loom, &agent, "/work", said).unwrap();
    let model: Arc<dyn Model> = model.clone();
    let plan = GenerateRequest::turn(said, agent, Arc::clone(&model), ToolAccess::new(Arc::new(model)));
    let mut heard = Vec::new();
    let nodes = generate(&actor, plan, |progress| heard.push(progress)).await.unwrap();
    (nodes, heard, actor)
}

fn script(replies: &[String]) -> Arc<Scripted> {
    Arc::new(Scripted::new(replies.iter().map(|reply| ScriptedReply::words(reply))))
}

/// The lines about the plan in a round's prompt.
fn shown(model: &Scripted, round: usize) -> Vec<String> {
    let Prompt::Chat(messages) = &model.requests()[round].prompt else { panic!("a dialogue is a chat") };
    let text: Vec<String> = messages.iter().map(|message| message.text()).collect();
    let lines = text.iter().flat_map(|text| text.lines());
    lines.filter(|line| line.starts_with("Todos:") || line.starts_with("Open:")).map(str::to_owned).collect()
}

fn notes(play: &Play, of: NodeId) -> Vec<Node> {
    let filter = ChildFilter::default().kind(EdgeKind::Annotation);
    play.loom.snapshot().unwrap().children(of, &filter).unwrap()
}

#[tokio::test]
async fn a_turn_with_six_todos_has_the_rounds_that_it_needs() {
    let play = Play::new();
    let marie = play.id(play.marie);
    let titles: Vec<String> = (1..=6).map(|n| format!("\"part {n}\"")).collect();
    let mut replies = vec![format!("A plan.\n→ todo add {}\n", titles.join(" "))];
    // Three rounds per item: two searches and the outcome.
    for n in 1..=6 {
        replies.push(format!("→ view {marie}\n"));
        replies.push(format!("→ list {marie} annotations\n"));
        replies.push(format!("→ todo done {n} \"part {n} is read\"\n"));
    }
    replies.push("All six are done.".to_owned());
    let model = script(&replies);
    let (nodes, heard, actor) = turn(&play, play.nine, &model).await;
    assert_eq!((nodes.len(), nodes.last().unwrap().content.as_str()), (20, "All six are done."));
    assert!(
        !heard.iter().any(|progress| matches!(progress, Progress::OutOfRounds { .. } | Progress::TodosLeftOpen { .. }))
    );
    // The plan is in the prompt of every round.
    assert_eq!(shown(&model, 0), Vec::<String>::new());
    assert_eq!(
        shown(&model, 5),
        ["Todos: 1 of 6 done · open: 2 \"part 2\" · 3 \"part 3\" · 4 \"part 4\" · 5 \"part 5\" · 6 \"part 6\""]
    );
    assert!((1..18).all(|round| shown(&model, round)[0].starts_with("Todos: ")));
    assert_eq!(shown(&model, 19), Vec::<String>::new(), "a finished plan is not shown");
    let session = actor.session().unwrap();
    let plan = play.loom.snapshot().unwrap().todos(session, None).unwrap();
    let reply = nodes[0].turn.unwrap();
    assert!(
        plan.iter().all(|todo| todo.turn == reply && todo.status == TodoStatus::Completed && todo.started_at.is_some())
    );
    // The prompt explains planning only where plans are possible.
    let told = |messages: &Prompt| format!("{messages:?}").contains("Work of several replies");
    assert!(told(&model.requests()[0].prompt));
    let words = GenerateRequest::new(play.nine, play.loom.agent("collaborator").unwrap(), model.clone(), 1);
    generate(&play.owner, words, |_| {}).await.unwrap();
    assert!(!told(&model.requests().last().unwrap().prompt));
}

#[tokio::test]
async fn closing_the_last_item_below_the_final_words_ends_the_turn() {
    let play = Play::new();
    let replies = ["→ todo add \"mark it\"\n", "It is marked.\n→ todo done 1 \"marked\"\n", "Nobody asked."];
    let model = script(&replies.map(str::to_owned));
    let (nodes, heard, _) = turn(&play, play.nine, &model).await;
    assert_eq!((nodes.last().unwrap().content.as_str(), model.requests().len()), ("It is marked.", 2));
    assert!(!heard.iter().any(|progress| matches!(progress, Progress::TodosLeftOpen { .. })));
    // A failed line must be read, so the turn goes on.
    let model = script(&["Done.\n→ todo done 7 \"marked\"\n", "There is no such item."].map(str::to_owned));
    let (nodes, ..) = turn(&play, play.nine, &model).await;
    assert_eq!((nodes.last().unwrap().content.as_str(), model.requests().len()), ("There is no such item.", 2));
}

#[tokio::test]
async fn done_below_final_words_and_changes_ends_the_turn() {
    let play = Play::new();
    let (nine, tired) = (play.id(play.nine), play.id(play.tired));
    let run = async |reply: String| {
        let model = script(&[reply, "Later words.".to_owned()]);
        let (nodes, ..) = turn(&play, play.nine, &model).await;
        (nodes.last().unwrap().clone(), model)
    };
    let (last, model) =
        run(format!("It is marked.\n→ bookmark {nine} \"joke\"\n→ annotate {tired} \"weak\"\n→ done\n")).await;
    assert_eq!((last.content.as_str(), model.requests().len()), ("It is marked.", 1));
    assert_eq!(play.loom.node(play.nine).unwrap().state.bookmark.as_deref(), Some("joke"));
    // The next prompt states the commands alone.
    let question = play.owner.append(Parent::Node(last.id), NodeDraft::text("And now?")).unwrap().nodes[0].id;
    let model = script(&["Nothing.".to_owned()]);
    turn(&play, question, &model).await;
    let Prompt::Chat(messages) = &model.requests()[0].prompt else { panic!("a dialogue is a chat") };
    let text: String = messages.iter().map(|message| message.text()).collect();
    let note = play.loom.snapshot().unwrap().children(play.tired, &ChildFilter::default()).unwrap();
    let note = note.iter().find(|child| child.content == "weak").unwrap().local.as_str();
    let did = format!("It is marked.\n\n[did: bookmark {nine} \"joke\" ✓ · annotate {tired} \"weak\" ✓ {note}]");
    assert!(text.contains(&did), "{text}");
    // A result that has to be read, a failure, and a reply without words.
    for reply in [
        format!("Marked.\n→ view {nine}\n→ bookmark {nine} \"joke\"\n→ done\n"),
        "Taken back.\n→ undo\n→ done\n".to_owned(),
        "Marked.\n→ bookmark zzzz9 \"joke\"\n→ done\n".to_owned(),
        format!("→ bookmark {nine} \"other\"\n→ done\n"),
    ] {
        let (last, model) = run(reply.clone()).await;
        assert_eq!((last.content.as_str(), model.requests().len()), ("Later words.", 2), "{reply}");
        let Prompt::Chat(messages) = &model.requests()[1].prompt else { panic!("a dialogue is a chat") };
        let has_note = messages.iter().any(|message| message.text().contains("→ done\nthe turn continues"));
        assert_eq!(has_note, !reply.starts_with('→'), "{reply}");
    }
}

#[tokio::test]
async fn memory_lists_what_is_kept_within_a_turn() {
    let play = Play::new();
    let nine = play.id(play.nine);
    let lines = format!("→ pin {nine}\n→ stash \"idea\" \"She left.\"\n→ memory\n");
    let model = script(&[lines, "So.".to_owned()]);
    let (_, heard, _) = turn(&play, play.nine, &model).await;
    let answer = heard.iter().rev().find_map(|progress| match progress {
        Progress::Ran { line, reply, .. } if line == "→ memory" => Some(reply.to_string()),
        _ => None,
    });
    let answer = answer.unwrap();
    assert!(answer.starts_with(&format!("Pinned:\n  [{nine}] \"")), "{answer}");
    assert!(answer.contains("\nStashed (→") && answer.ends_with(" · \"She left.\""), "{answer}");
    assert!(!answer.contains("actions"), "{answer}");
}

#[tokio::test]
async fn a_prompt_states_an_action_once() {
    let play = Play::new();
    let model = script(&["→ tree\n→ memory\n".to_owned(), "So.".to_owned()]);
    let (_, heard, _) = turn(&play, play.nine, &model).await;
    let answer = heard.iter().rev().find_map(|progress| match progress {
        Progress::Ran { line, reply, .. } if line == "→ memory" => Some(reply.to_string()),
        _ => None,
    });
    assert!(answer.unwrap().starts_with("✓ nothing is pinned or stashed"));
    let Prompt::Chat(messages) = &model.requests()[1].prompt else { panic!("a dialogue is a chat") };
    let text: String = messages.iter().map(|message| message.text()).collect();
    assert!(text.contains("\n→ tree\n") && !text.contains("drew the tree"), "{text}");
    assert_eq!(text.matches("\n=== Operational Memory ===\n").count(), 1, "{text}");
}

#[tokio::test]
async fn open_items_are_reported_and_carried_over_on_request_only() {
    let play = Play::new();
    let model =
        script(&["→ todo add \"one\" \"two\" \"three\"\n".into(), "→ todo done 1 \"so\"\n".into(), "Enough.".into()]);
    let (nodes, heard, actor) = turn(&play, play.nine, &model).await;
    let last = nodes.last().unwrap();
    let note = notes(&play, last.id).remove(0);
    assert_eq!(note.content, "The turn ended with open todos: 2 \"two\" · 3 \"three\"");
    assert_eq!(note.author_type, AuthorType::System);
    let open = heard.iter().find_map(|progress| match progress {
        Progress::TodosLeftOpen { todos, .. } => Some(todos.iter().map(|todo| todo.number).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(open, Some(vec![2, 3]));

    // The next turn has its own plan, and its prompt reports the open items.
    let model =
        script(&["→ todo add \"mine\"\n".into(), "→ todo done 1 \"so\"\n→ todo resume\n".into(), "Well.".into()]);
    let (nodes, heard, later) = turn(&play, last.id, &model).await;
    assert_eq!(later.session(), actor.session());
    assert_eq!(shown(&model, 0), ["Todos: 2 left open by earlier turns · → todo resume"]);
    assert_eq!(shown(&model, 1)[0], "Todos: 0 of 1 done · open: 1 \"mine\"");
    assert_eq!(shown(&model, 2), ["Todos: 1 of 3 done · open: 2 \"two\" · 3 \"three\""]);
    assert!(heard.iter().any(|progress| matches!(progress, Progress::TodosLeftOpen { todos, .. } if todos.len() == 2)));
    assert_eq!(notes(&play, nodes.last().unwrap().id).len(), 1);
    let all = play.loom.snapshot().unwrap().todos(actor.session().unwrap(), None).unwrap();
    let where_made: Vec<(u64, u64)> = all.iter().map(|todo| (todo.made_in, todo.turn)).collect();
    let (first, second) = (all[0].made_in, nodes[0].turn.unwrap());
    assert_eq!(where_made, [(first, first), (second, second), (first, second), (first, second)]);
}

#[tokio::test]
async fn an_endless_turn_is_stopped_after_fifty_rounds() {
    let play = Play::new();
    let plan = "→ todo add \"never\"\n".to_owned();
    let replies: Vec<String> = std::iter::once(plan).chain((0..60).map(|_| "→ todo\n".to_owned())).collect();
    let (nodes, heard, _) = turn(&play, play.nine, &script(&replies)).await;
    assert_eq!(nodes.len(), 50);
    assert!(heard.iter().any(|progress| matches!(progress, Progress::OutOfRounds { .. })));
    assert_eq!(notes(&play, nodes.last().unwrap().id).len(), 1);
}

#[tokio::test]
async fn native_calls_plan_a_turn() {
    let play = Play::new();
    let call = |id: &str, name: &str, arguments: serde_json::Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    let model = Arc::new(Scripted::new([
        ScriptedReply::words("I plan.").calling([call("1", "create_todo", json!({ "items": [{ "title": "one" }] }))]),
        ScriptedReply::words("").calling([call("2", "complete_todo", json!({ "todo": 1, "outcome": "so" }))]),
        ScriptedReply::words("Done."),
    ]));
    let (nodes, heard, actor) = turn(&play, play.nine, &model).await;
    assert_eq!(nodes.len(), 3);
    let ran: Vec<String> = heard
        .iter()
        .filter_map(|progress| match progress {
            Progress::Ran { line, reply, .. } => Some(format!("{line} {reply}")),
            _ => None,
        })
        .collect();
    let id = play.loom.snapshot().unwrap().todos(actor.session().unwrap(), None).unwrap()[0].id;
    let planned = format!("→ todo add \"one\" status:\"all\" ✓ planned 1 item: 1 \"one\" · 1 open\n  ids: 1 {id}");
    assert_eq!(ran, [planned.as_str(), "→ todo done 1 \"so\" ✓ done 1 \"one\" · 0 left"]);
    assert_eq!(play.loom.snapshot().unwrap().todos(actor.session().unwrap(), None).unwrap().len(), 1);
    // The result is found by the name of the tool and of the call.
    let mut again =
        Executor::new(play.loom.clone(), play.loom.agent("collaborator").unwrap(), actor.session().unwrap(), &NoHost);
    for name in ["todo", "create_todo"] {
        assert!(lines(&mut again, &[&format!("→ recall tool:{name}")]).contains("planned 1 item"), "{name}");
    }
}

#[tokio::test]
async fn a_large_window_gets_larger_pages_of_the_conversation() {
    let play = Play::new();
    let long = "She stood at the window. ".repeat(1_500);
    let at = play.owner.append(Parent::Node(play.nine), long.as_str()).unwrap().nodes[0].id;
    let line = format!("→ view {} full", play.id(at));
    let mut pages = Vec::new();
    for window in [8_000, 32_000] {
        let agent = play.loom.agent("collaborator").unwrap();
        let actor = actor_at(&play.loom, &agent, "/work", play.nine).unwrap();
        let model: Arc<dyn Model> = script(&[format!("{line}\n"), "So.".to_owned()]);
        let request = GenerateRequest::turn(play.nine, agent, Arc::clone(&model), ToolAccess::new(Arc::new(model)));
        let mut answer = String::new();
        let heard = |progress| {
            if let Progress::Ran { reply, .. } = progress {
                answer = reply.to_string();
            }
        };
        generate(&actor, request.context(ContextOptions { window, ..ContextOptions::default() }), heard).await.unwrap();
        assert!(answer.ends_with(" part 2\"]"), "{answer}");
        pages.push(answer.len());
    }
    assert!(pages[1] > pages[0] * 2, "{pages:?}");
}
