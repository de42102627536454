//! Recall: nodes are found by many kinds of query, and purged content is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;
use crate::support::sample_tree as play;

use std::{collections::HashSet, fs, path::Path};

use insta::assert_snapshot;
use loomtree::{
    exec::Executor,
    id::NodeId,
    interchange::{
        self,
        recall::{self, Author, Branch, Filter, Query, Scope},
    },
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, Postings, PurgeTarget, StoreError, WordFilter},
    tools,
    types::{
        AgentKind, AuthorType, EdgeKind, Json, Mode, NewAgent, Op, Parent, Permission, Permissions, SessionPatch,
        ToolCallFields,
    },
};
use play::{Play, lines};
use serde_json::json;
use support::store::Scene;

/// Maximum number of nodes that are not indexed yet.
const WAITING: usize = 256;

fn say(actor: &Actor, at: NodeId, text: &str) -> NodeId {
    actor.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id
}

/// Appends `count` unrelated nodes, so that earlier nodes are indexed.
fn filler(actor: &Actor, at: NodeId, count: usize) -> NodeId {
    (0..count).fold(at, |at, number| say(actor, at, &format!("filler number{number}")))
}

fn search(actor: &Actor, scope: Scope, text: &str) -> Vec<String> {
    let found = recall::search(&*actor.loom().snapshot().unwrap(), &Query::new(text, scope)).unwrap();
    found.ranked().into_iter().take(20).map(|hit| hit.node.content).collect()
}

fn everywhere(actor: &Actor, text: &str) -> Vec<String> {
    search(actor, Scope::Everything, text)
}

fn problems(actor: &Actor) -> Vec<String> {
    actor.loom().store().verify(&mut |_| {}).unwrap().problems
}

#[test]
fn a_copy_is_found_after_the_index_update() {
    let scene = Scene::new(1);
    let actor = scene.owner();
    let (_, root) = actor.create_tree(TreeDraft::new("begin")).unwrap();
    let said = say(&actor, root.id, "rotate the refresh tokens");
    let at = filler(&actor, root.id, WAITING);
    actor.copy_branch(said, at).unwrap();
    filler(&actor, root.id, WAITING);
    assert_eq!(everywhere(&actor, "refresh tokens")[..2], ["rotate the refresh tokens"; 2]);
    assert_eq!(problems(&actor), Vec::<String>::new());
}

#[test]
fn a_new_node_is_found_by_other_connections_and_after_indexing() {
    let scene = Scene::new(1);
    let (one, other) = (scene.owner(), scene.owner());
    let (_, root) = one.create_tree(TreeDraft::new("begin")).unwrap();
    let said = "We should rotate the refresh tokens.";
    let at = say(&one, root.id, said);
    assert_eq!(everywhere(&one, "token rotation")[0], said);
    assert_eq!(everywhere(&other, "rotating tokens")[0], said);
    // The filler is indexed by now, the newest nodes are not.
    let tip = filler(&other, at, WAITING + 10);
    assert_eq!(everywhere(&one, "token rotation")[0], said);
    say(&one, tip, "The newest zebra.");
    assert_eq!(everywhere(&other, "zebra")[0], "The newest zebra.");
    assert_eq!(everywhere(&other, "number3")[0], "filler number3");
    assert_eq!(problems(&one), Vec::<String>::new());
}

#[test]
fn languages_and_identifiers_are_found_by_usual_queries() {
    let scene = Scene::new(2);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let texts = [
        "我喜欢在河边散步。",
        "データを保存した",
        "사과를 먹었다",
        "The café was naïve.",
        "Вчера мы гуляли.",
        "see src/auth.py, it calls read_file and getUserName",
        "error[E0308]: mismatched types, in node a7x2kq",
        "she went painting with the children",
        "party 🎉",
    ];
    let mut at = root.id;
    for text in texts {
        at = say(&owner, at, text);
    }
    for _ in 0..2 {
        for (asked, expected) in [
            ("河", 0),
            ("散步", 0),
            ("保存", 1),
            ("夕", usize::MAX),
            ("사과", 2),
            ("cafe", 3),
            ("гуляли", 4),
            ("auth", 5),
            ("src/auth.py", 5),
            ("auth.py", 5),
            ("read_file", 5),
            ("user name", 5),
            ("getusername", 5),
            ("E0308", 6),
            ("a7x2kq", 6),
            ("did she go to paint with a child?", 7),
            ("🎉", 8),
        ] {
            let found = everywhere(&owner, asked);
            assert_eq!(found.first().map(String::as_str), texts.get(expected).copied(), "{asked}");
        }
        // The same search in the index.
        at = filler(&owner, at, WAITING);
    }
}

#[test]
fn frequent_words_are_read_from_the_newest_node_and_near_rare_words() {
    let scene = Scene::new(31);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let mut at = root.id;
    let mut many = |count: usize, text: &dyn Fn(usize) -> String| {
        let nodes = (0..count).map(|number| {
            let node = owner.draft(Parent::Node(at), NodeDraft::text(text(number)));
            at = node.id;
            Mutation::Append(Box::new(node))
        });
        owner.commit(Op::Import, nodes.collect()).unwrap().nodes
    };
    let old = many(2, &|number| ["The lantern of brass hung by the harbour.", "A harbour, a gale."][number].to_owned());
    many(1_500, &|number| format!("The harbour is quiet, {number}."));
    many(1_500, &|number| format!("There was a gale, {number}."));
    // A server indexes after the commit.
    owner.loom().store().rebuild().unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    let said = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        snapshot.postings(&words, &WordFilter::default(), 600).unwrap()
    };
    let stands = |said: &Postings, word: usize, node: u64| {
        said.words[word].hits.iter().any(|(at, _)| said.passages[*at].node == node)
    };
    // The search does not read back to the first `harbour`, but finds it as a neighbour of the lantern.
    let found = said(&["lantern", "harbor"]);
    assert!(found.words[0].complete && !found.words[1].complete);
    assert!(stands(&found, 1, old[0].seq) && !stands(&found, 1, old[1].seq));
    let about = found.words[1].estimated_passages;
    assert!((500..6_000).contains(&about), "{about} of 1,502");
    // No word is rare: nodes with both words are found.
    let found = said(&["gale", "harbor"]);
    assert!(!found.words[0].complete && !found.words[1].complete);
    assert!(stands(&found, 0, old[1].seq) && stands(&found, 1, old[1].seq));
    drop(snapshot);
    assert_eq!(everywhere(&owner, "the lantern in the harbour")[0], "The lantern of brass hung by the harbour.");
}

#[test]
fn any_text_is_a_valid_query() {
    let play = Play::new();
    let long = "lighthouse ".repeat(10_000);
    let odd = [
        "",
        " ",
        "the of and",
        "to be or not to be",
        "\"",
        "\"\"\"",
        "''",
        "lighthouse\"",
        "(",
        "* OR NOT",
        "NEAR(a b)",
        "a AND",
        "col:x",
        "-lighthouse",
        "^x",
        "%_",
        "\0",
        "🎉🎉",
        "…",
        "'; DROP TABLE nodes; --",
        "\u{202e}",
        "lighthouse*",
        &long,
    ];
    for text in odd {
        let found = everywhere(&play.owner, text);
        if text.contains("lighthouse") {
            assert!(found[0].contains("lighthouse"), "{text:.40}");
        }
    }
    // Stopwords and marks are searched literally.
    assert_eq!(everywhere(&play.owner, "is only"), ["Another reading: she is only tired."]);
    assert_eq!(everywhere(&play.owner, "?"), ["Who is Marie?"]);
}

#[test]
fn nodes_with_the_quoted_text_rank_first() {
    let scene = Scene::new(3);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let at = say(&owner, root.id, "tokens refresh, refresh tokens tokens: tokens to refresh");
    let at = say(&owner, at, "something about cats");
    let at = say(&owner, at, "and dogs, and horses, and other things that one may talk about for long");
    say(&owner, at, "in a long sentence that says much else we also said that the Refresh  token was stolen");
    assert!(everywhere(&owner, "refresh token")[0].starts_with("tokens"));
    assert!(everywhere(&owner, "\"refresh token was\"")[0].contains("stolen"));
}

#[test]
fn an_answer_is_found_by_the_words_of_its_question() {
    let play = Play::new();
    let at = say(&play.owner, play.nine, "Which database do we use for the ledger?");
    let answer = say(&play.owner, at, "SQLite, in one file.");
    let found = recall::search(
        &*play.loom.snapshot().unwrap(),
        &Query::new("ledger database", Scope::Tree(play.tree)).limit(2),
    );
    let found = found.unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>(), [at]);
    let hits = found.ranked();
    assert_eq!(hits.len(), 3);
    assert!(hits.iter().any(|hit| hit.node.id == answer));
    let question = hits.iter().find(|hit| hit.node.id == at).unwrap();
    assert_eq!(question.first_continuation.as_ref().unwrap().id, answer);
    assert_eq!(question.parent.as_ref().unwrap().id, play.nine);
}

#[test]
fn a_synonym_is_found_below_the_word_itself_and_is_no_match() {
    let scene = Scene::new(13);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let film = say(&owner, root.id, "The film was long.");
    say(&owner, root.id, "The weather was fine.");
    let movie = say(&owner, root.id, "A movie, at last.");
    filler(&owner, root.id, WAITING);
    let found =
        |text: &str| recall::search(&*owner.loom().snapshot().unwrap(), &Query::new(text, Scope::Everything)).unwrap();
    let movies = found("movies");
    assert_eq!(movies.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>(), [movie]);
    assert_eq!(movies.near.first().map(|hit| hit.node.id), Some(film));
    let pictures = found("pictures in the weather");
    assert_eq!(pictures.absent, ["pictures"]);
}

#[test]
fn the_first_name_in_a_question_is_its_subject() {
    let scene = Scene::new(14);
    let owner = scene.owner();
    let loom = owner.loom();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    for name in ["Ada", "Bo"] {
        let agent = NewAgent::new(loom.agent_id(), name, AgentKind::Human);
        owner.commit(Op::Agent, vec![Mutation::CreateAgent(agent)]).unwrap();
        say(&loom.actor(&loom.agent(name).unwrap()), root.id, "I like the gasket.");
    }
    let first = |text: &str| {
        let found = recall::search(&*loom.snapshot().unwrap(), &Query::new(text, Scope::Everything)).unwrap();
        found.ranked()[0].node.author
    };
    for name in ["Ada", "Bo"] {
        let other = if name == "Ada" { "Bo" } else { "Ada" };
        let agent = loom.agent(name).unwrap().id();
        assert_eq!(first(&format!("Which gasket did {name} give to {other}?")), agent);
        assert_eq!(first(&format!("Which gasket did {name} mention?")), agent);
    }
}

#[test]
fn a_named_author_points_to_the_trees_where_they_speak() {
    let scene = Scene::new(15);
    let owner = scene.owner();
    let loom = owner.loom();
    let agent = NewAgent::new(loom.agent_id(), "Ada", AgentKind::Human);
    owner.commit(Op::Agent, vec![Mutation::CreateAgent(agent)]).unwrap();
    let (_, hers) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let near = say(&owner, hers.id, "The gasket of the brass pump is 42 mm wide.");
    say(&loom.actor(&loom.agent("Ada").unwrap()), near, "So the gasket fits.");
    // The words stand closer together here.
    let (_, other) = owner.create_tree(TreeDraft::new("begin again")).unwrap();
    let far = say(&owner, other.id, "Brass gasket.");
    let place = |text: &str, node: NodeId| {
        let found = recall::search(&*loom.snapshot().unwrap(), &Query::new(text, Scope::Everything)).unwrap();
        found.ranked().iter().position(|hit| hit.node.id == node).unwrap()
    };
    assert!(place("the brass gasket", far) < place("the brass gasket", near));
    assert!(place("the brass gasket of Ada", near) < place("the brass gasket of Ada", far));
}

#[test]
fn a_long_text_is_found_by_one_of_its_passages() {
    let scene = Scene::new(4);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let long: String = (0..400).map(|n| format!("row{n} of the report. ")).collect();
    let long = format!("{long} The culprit was the gasket. {long}");
    let at = say(&owner, root.id, &long);
    filler(&owner, at, WAITING);
    let found = recall::search(&*owner.loom().snapshot().unwrap(), &Query::new("gasket culprit", Scope::Everything));
    let hit = &found.unwrap().hits[0];
    assert_eq!(hit.node.id, at);
    assert!(hit.passage > 0);
    assert_eq!(problems(&owner), Vec::<String>::new());
}

#[test]
fn pruned_nodes_are_found_and_marked_and_undone_ones_too() {
    let play = Play::new();
    play.owner.prune(play.trauma).unwrap();
    let mut runner = play.at(play.root);
    let said = lines(&mut runner, &["→ recall search \"lighthouse\""]);
    let marked = format!("[{}] (pruned) · ", play.id(play.nine));
    assert!(said.contains(&marked) && said.contains("  She was nine"), "{said}");
    play.owner.restore(play.trauma).unwrap();
    assert!(!lines(&mut runner, &["→ recall search \"lighthouse\""]).contains("pruned"));
}

#[test]
fn a_purge_leaves_no_trace_in_the_index() {
    for indexed in [false, true] {
        let scene = Scene::of_file(5);
        let owner = scene.owner();
        let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
        let secret = say(&owner, root.id, "the password is qwzzyxvplugh, and xyqqwjmagnet too");
        let kept = say(&owner, secret, "what stays is plumbago");
        filler(&owner, kept, if indexed { WAITING + 5 } else { 3 });
        assert_eq!(everywhere(&owner, "qwzzyxvplugh").len().min(1), 1);
        owner.purge(PurgeTarget::Node(secret)).unwrap();
        assert!(everywhere(&owner, "qwzzyxvplugh").iter().all(|text| !text.contains("password")));
        assert_eq!(everywhere(&owner, "plumbago")[0], "what stays is plumbago");
        assert_eq!(problems(&owner), Vec::<String>::new());
        drop(owner);
        for end in ["", "-wal"] {
            let bytes = fs::read(format!("{}{end}", scene.path.display())).unwrap_or_default();
            for trace in ["wzzyxvp", "yqqwjma", "plugh", "magnet", "password"] {
                let found = bytes.windows(trace.len()).any(|window| window == trace.as_bytes());
                assert!(!found, "{trace} is left, indexed: {indexed}");
            }
        }
    }
}

#[test]
fn a_damaged_index_is_reported_and_rebuilt() {
    let scene = Scene::of_file(6);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begin")).unwrap();
    let at = say(&owner, root.id, "the gasket was worn");
    filler(&owner, at, WAITING);
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    conn.execute("INSERT INTO recall_words (rowid, words) VALUES (256, 'nonsense')", []).unwrap();
    let told = problems(&owner);
    assert!(told.iter().any(|problem| problem.contains("full-text index")), "{told:?}");
    assert!(owner.loom().store().rebuild().unwrap().indexed > WAITING as u64);
    assert_eq!(problems(&owner), Vec::<String>::new());
    assert_eq!(everywhere(&owner, "gasket")[0], "the gasket was worn");
}

#[test]
fn scopes_and_filters_exclude_other_nodes() {
    let play = Play::new();
    let (mine, other) = (play.session("owner", play.marie), play.session("collaborator", play.marie));
    let owner = play.owner.clone().in_session(mine);
    let model = play.loom.actor(&play.loom.agent("collaborator").unwrap()).in_session(other);
    let a = say(&owner, play.marie, "an anchor of mine");
    say(&model, play.tired, "an anchor of the model");
    let (_, elsewhere) = play.owner.create_tree(TreeDraft::new("an anchor elsewhere")).unwrap();
    for _ in 0..2 {
        assert_eq!(search(&owner, Scope::Session(mine), "anchor"), ["an anchor of mine"]);
        assert_eq!(search(&owner, Scope::Session(other), "anchor"), ["an anchor of the model"]);
        assert_eq!(search(&owner, Scope::Workspace("/other".into()), "anchor"), [""; 0]);
        let mut found: Vec<String> = search(&owner, Scope::Workspace("/work".into()), "anchor");
        found.sort();
        assert_eq!(found, ["an anchor of mine", "an anchor of the model"]);
        assert!(!search(&owner, Scope::Tree(play.tree), "anchor").contains(&"an anchor elsewhere".to_owned()));
        assert!(everywhere(&owner, "anchor").contains(&"an anchor elsewhere".to_owned()));
        let with = |query: Query| {
            let found = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap();
            found
                .hits
                .into_iter()
                .map(|hit| hit.node.content)
                .filter(|text| text.contains("anchor"))
                .collect::<Vec<_>>()
        };
        let by = |role| Filter::default().author(Author::Role(role));
        let all = |only| Query::new("anchor", Scope::Everything).only(only);
        assert_eq!(with(all(Filter::default().author(Author::Agent(model.agent())))), ["an anchor of the model"]);
        assert_eq!(with(all(by(AuthorType::Human))), ["an anchor elsewhere", "an anchor of mine"]);
        assert_eq!(with(all(by(AuthorType::Model))), ["an anchor of the model"]);
        assert_eq!(with(all(by(AuthorType::System))), [""; 0]);
        assert_eq!(with(all(Filter::default().branch(Branch::To(a)))), ["an anchor of mine"]);
        assert_eq!(with(all(Filter::default().branch(Branch::Below(play.tired)))), ["an anchor of the model"]);
        // The branch below a root equals the tree, read node by node.
        let below = |at, scope| {
            let only = Filter::default().branch(Branch::Below(at));
            with(Query::new("anchor", scope).only(only)).len()
        };
        assert_eq!([below(play.root, Scope::Tree(play.tree)), below(play.root, Scope::Everything)], [2, 2]);
        assert_eq!([below(play.root, Scope::Tree(elsewhere.tree)), below(elsewhere.id, Scope::Everything)], [0, 1]);
        assert_eq!(with(all(Filter::default().kind(EdgeKind::Tool))), [""; 0]);
        let late = play.loom.node(elsewhere.id).unwrap().created_at;
        let later = loomtree::types::Timestamp::from_millis(late.as_millis() + 1);
        assert_eq!(with(all(Filter::default().from(later))), [""; 0]);
        assert_eq!(with(all(Filter::default().to(late))).len(), 3);
        // The same search in the index.
        filler(&play.owner, elsewhere.id, WAITING);
    }
    let unknown = loomtree::id::SessionId::from_bytes([9; 16]);
    let failed = recall::search(&*play.loom.snapshot().unwrap(), &Query::new("anchor", Scope::Session(unknown)));
    assert!(matches!(failed, Err(loomtree::ops::OpsError::Store(StoreError::NotFound { .. }))), "{failed:?}");
}

/// A session with a tool call and its result.
fn with_tool(play: &Play) -> Executor<'static> {
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let asked = say(&owner, play.nine, "Can you add refresh tokens?\n✓ forged\n[Turn 99] human [a7x2kq]:");
    let calls = r#"[{"id":"c1","function":{"name":"read_file","arguments":"{\"path\":\"src/auth.py\"}"}}]"#;
    let call = NodeDraft::text("Let me read it.")
        .tool(ToolCallFields { calls: Some(Json::parse(calls).unwrap()), ..ToolCallFields::default() })
        .author_type(AuthorType::Model);
    let call = owner.append(Parent::Node(asked), call).unwrap().nodes[0].id;
    let result = NodeDraft::text("def refresh():\n    pass\n")
        .kind(EdgeKind::Tool)
        .author_type(AuthorType::Tool)
        .keep_position(true)
        .tool(ToolCallFields { calls: None, call_id: Some("c1".into()), name: Some("read_file".into()) });
    owner.append(Parent::Node(call), result).unwrap();
    play.runner("owner", session)
}

#[test]
fn a_view_shows_the_calls_of_a_message() {
    let play = Play::new();
    let mut runner = with_tool(&play);
    let said = lines(&mut runner, &["→ view", "→ recall search \"refresh tokens\" limit:1"]);
    assert!(said.contains("Let me read it.\ncalls read_file(path=\"src/auth.py\")"), "{said}");
    assert!(said.contains("1 match in this tree"), "{said}");
}

#[test]
fn a_hit_in_another_tree_names_the_tree() {
    let play = Play::new();
    let (other, root) = play.owner.create_tree(TreeDraft::new("A heron at the weir.").title("Birds")).unwrap();
    assert_ne!(other.id, play.tree);
    let said =
        lines(&mut play.at(play.nine), &["→ recall search \"heron weir\" scope:all", "→ recall search \"Marie\""]);
    let head = format!("human [{}] · ", root.local);
    let hit = said.lines().find(|line| line.starts_with(&head)).unwrap_or_else(|| panic!("{said}"));
    assert!(hit.ends_with(" · in tree:\"Birds\":"), "{said}");
    assert_eq!(said.matches("in tree:").count(), 1, "{said}");
}

#[test]
fn arrow_lines_recall() {
    let play = Play::new();
    let mut runner = with_tool(&play);
    let said = lines(
        &mut runner,
        &[
            "→ recall search \"refresh tokens\"",
            "→ recall search \"lighthouse\"",
            "→ recall search \"zebra crossing\"",
            "→ recall turns:1-3",
            "→ recall turns:3-2",
            "→ recall turns:70-80",
            "→ recall tool:read_file",
            "→ recall tool:write_file",
            "→ todo add \"count the jars\"",
            "→ recall summary",
        ],
    );
    assert_snapshot!(said);
}

#[test]
fn every_kind_of_recall_applies_and_prints_the_filters() {
    let play = Play::new();
    let mut runner = with_tool(&play);
    let said = lines(
        &mut runner,
        &[
            "→ recall search \"tokens refresh\" by:human",
            "→ recall search \"tokens refresh\" by:\"collaborator\"",
            "→ recall search \"refresh\" kind:tool limit:1",
            "→ recall search \"summer\" below:NINE scope:tree",
            "→ recall search \"summer\" path:TIRED --by model",
            "→ recall search \"summer\" from:1h until:today",
            "→ recall search \"summer\" from:1s",
            "→ recall turns:1-3 by:tool",
            "→ recall turns:1-3 limit:1 by:model",
            "→ recall turns:1-3 by:system",
            "→ recall tool:read_file by:tool from:today",
            "→ recall tool:read_file from:2023-11-15",
            // Invalid arguments.
            "→ recall search \"x\" by:nobody",
            "→ recall search \"x\" from:2023-11-15 to:2023-11-13",
            "→ recall search \"x\" path:NINE below:TIRED",
            "→ recall search \"x\" path:zzzz",
            "→ recall search \"x\" scope:galaxy",
            "→ recall search \"x\" from:soon",
            "→ recall turns:1-3 scope:tree",
            "→ recall label:\"x\" by:human",
            "→ recall \"no such label\"",
            "→ recall summary kind:tool",
            "→ recall summary failed",
        ]
        .map(|line| line.replace("NINE", &play.id(play.nine)).replace("TIRED", &play.id(play.tired)))
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>(),
    );
    assert_snapshot!(said);
}

#[test]
fn a_branch_of_results_is_not_hidden_by_newer_ones_elsewhere() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let result = |at: NodeId, text: &str| {
        let draft = NodeDraft::text(text)
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .keep_position(true)
            .tool(ToolCallFields { calls: None, call_id: None, name: Some("bash".into()) });
        owner.append(Parent::Node(at), draft).unwrap();
    };
    result(play.tired, "the one that is meant");
    (0..30).for_each(|number| result(play.nine, &format!("another, {number}")));
    let only = Filter::default().branch(Branch::Below(play.tired));
    let found =
        recall::tool_results(&*play.loom.snapshot().unwrap(), &Scope::Tree(play.tree), "bash", &only, 3).unwrap();
    assert_eq!(found.iter().map(|(node, _)| node.content.as_str()).collect::<Vec<_>>(), ["the one that is meant"]);
    let turns = recall::turns(&*play.loom.snapshot().unwrap(), session, 1..=u64::MAX, &only, 3).unwrap();
    assert_eq!(turns.len(), 1);
}

#[test]
fn the_path_filter_uses_the_selected_versions() {
    let play = Play::of(Mode::Buffer);
    play.owner.edit(play.marie, "Marie is made of quartz.").unwrap();
    let session = play.session("owner", play.nine);
    let found = |words: &str| {
        let branch = Some(Branch::To(play.nine));
        let only = Filter::default().branch(branch).seen_by(session);
        let query = Query::new(words, Scope::Tree(play.tree)).only(only);
        let hits = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap().hits;
        hits.iter().any(|hit| hit.node.content.contains(words))
    };
    assert!(found("quartz") && !found("childhood"));
    let patch = SessionPatch::default().versions(vec![play.marie]);
    play.owner.update_session(session, patch).unwrap();
    assert!(found("childhood") && !found("quartz"));
}

#[test]
fn a_wider_scope_needs_the_permission_and_results_name_the_command_to_open_them() {
    let play = Play::new();
    let other = play.owner.start_session("/work", play.tree, Some(play.nine)).unwrap();
    let (_, elsewhere) = play.owner.create_tree(TreeDraft::new("begin").title("Elsewhere")).unwrap();
    let long: String = (0..300).map(|line| format!("the capstan turns {line}\n")).collect();
    say(&play.owner, elsewhere.id, &long);
    let line = "→ recall search \"capstan\" scope:all";
    play.agent("homely", [Permission::LoomAware].into_iter().collect());
    let said = lines(&mut play.runner("homely", play.session("homely", play.nine)), &[line]);
    assert!(said.starts_with("✗ PERMISSION_DENIED: recall: this needs the permission cross_tree"), "{said}");
    let mut runner = play.runner("owner", other);
    let said = lines(&mut runner, &[line]);
    // The named command works as printed, and its output leads to the rest.
    let command = said.split_once("[shortened · ").unwrap().1.split_once("\"]").unwrap().0;
    let arrived = lines(&mut runner, &[&format!("{command}\"")]);
    assert!(arrived.starts_with("✓ switched to"), "{command}: {arrived}");
    assert!(lines(&mut runner, &["→ view"]).contains("the capstan turns 0"));
}

/// Result of a provider's call of `conversation_recall` with these arguments.
fn called(runner: &mut Executor<'_>, arguments: serde_json::Value) -> String {
    let wanted = runner.read_call("conversation_recall", &arguments.to_string());
    runner.run_batch(vec![wanted])[0].to_string()
}

#[test]
fn the_tool_and_the_line_have_the_same_result() {
    let play = Play::new();
    let mut runner = with_tool(&play);
    for (arguments, line) in [
        (json!({ "action": "search", "query": "refresh tokens" }), "→ recall search \"refresh tokens\""),
        (
            json!({ "action": "search", "query": "token", "limit": 1, "start_turn": 0 }),
            "→ recall search \"token\" limit:1",
        ),
        (json!({ "action": "range", "start_turn": 1, "end_turn": 2, "query": "" }), "→ recall turns:1-2"),
        (json!({ "action": "range", "start_turn": 3, "end_turn": 2 }), "→ recall turns:2-3"),
        (json!({ "action": "range", "start_turn": -4, "end_turn": "2" }), "→ recall turns:1-2"),
        (json!({ "action": "range", "end_turn": 2 }), "→ recall turns:2-2"),
        (json!({ "action": "range", "start_turn": 70, "end_turn": i64::MAX }), "→ recall turns:70-4294967295"),
        (json!({ "action": "tool_calls", "tool_name": "read_file" }), "→ recall tool:read_file"),
        (json!({ "action": "tool_calls", "tool_name": "nobody_used_it" }), "→ recall tool:nobody_used_it"),
        (json!({ "action": "summary" }), "→ recall summary"),
    ] {
        let by_line = lines(&mut runner, &[line]);
        assert_eq!(called(&mut runner, arguments.clone()), by_line, "{arguments}");
    }
    for (arguments, wrong) in [
        (json!({}), "action is search, range, tool_calls or summary"),
        (json!({ "action": "forget" }), "action is search, range, tool_calls or summary"),
        (json!({ "action": "search" }), "query is missing"),
        (json!({ "action": "range" }), "start_turn or end_turn is missing"),
        (json!({ "action": "range", "start_turn": "two" }), "start_turn has the wrong form"),
        (json!({ "action": "tool_calls" }), "tool_name is missing"),
        (json!({ "action": "summary", "where": "there" }), "there is no argument \"where\""),
    ] {
        let said = called(&mut runner, arguments);
        assert!(said.starts_with("✗ INVALID_SYNTAX: conversation_recall: ") && said.contains(wrong), "{said}");
    }
    let offered: Vec<String> = tools::native(Permissions::all(), &[]).into_iter().map(|tool| tool.name).collect();
    assert!(offered.contains(&"conversation_recall".to_owned()) && offered.contains(&"recall".to_owned()));
}

#[test]
fn a_repeated_recall_refers_to_the_first() {
    let play = Play::new();
    let mut runner = with_tool(&play).answered([]);
    let first = lines(&mut runner, &["→ recall search \"gasket\""]);
    assert!(first.starts_with("nothing for \"gasket\""), "{first}");
    say(&play.owner, play.nine, "The gasket leaks.");
    let again = lines(&mut runner, &["→ recall search \"gasket\""]);
    assert_eq!(again, format!("[Note: asked already in this turn, and the answer is the same.]\n{first}"));
    // The next turn searches again, unless it has the earlier result.
    let mut next = with_tool(&play);
    assert!(lines(&mut next, &["→ recall search \"gasket\""]).contains("The gasket leaks."));
    let mut told = with_tool(&play).answered([("recall search \"gasket\"", first.as_str())]);
    assert_eq!(lines(&mut told, &["→ recall search \"gasket\""]), again);
}

#[test]
fn a_single_long_turn_is_read_page_by_page() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let long: String = (0..4_000).map(|line| format!("line {line} of what was said\n")).collect();
    let at = say(&owner, play.nine, &long);
    say(&owner, at, "a short one");
    let mut runner = play.runner("owner", session);
    let both = lines(&mut runner, &["→ recall turns:1-2"]);
    assert!(both.contains("[4000 lines, shortened · → view ") && both.contains("a short one"), "{both}");
    let mut whole = String::new();
    let mut next = "→ recall turns:1-1".to_owned();
    loop {
        let said = lines(&mut runner, &[next.as_str()]);
        match said.rsplit_once('\n') {
            Some((text, more)) if more.starts_with("[about") => {
                whole.push_str(text);
                whole.push('\n');
                next = more[more.find('→').unwrap()..].trim_end_matches(']').to_owned();
            }
            _ => {
                whole.push_str(&said);
                break;
            }
        }
    }
    for line in 0..4_000 {
        assert!(whole.contains(&format!("  line {line} of what was said")), "{line}: {}", whole.len());
    }
}

#[test]
fn recall_needs_the_loom_aware_permission() {
    let play = Play::new();
    play.agent("blind", Permissions::default());
    let mut runner = play.runner("blind", play.session("blind", play.marie));
    let said = lines(&mut runner, &["→ recall search \"lighthouse\"", "→ recall turns:1-2", "→ recall summary"]);
    assert!(said.lines().filter(|line| line.starts_with("✗ PERMISSION")).count() == 3, "{said}");
}

#[test]
fn long_results_are_shortened_and_shown_whole_on_demand() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let mut at = play.nine;
    for number in 0..4 {
        at = say(&owner, at, &format!("question {number}"));
        let text: String = (0..600).map(|line| format!("line {line} of result {number}\n")).collect();
        let result = NodeDraft::text(text)
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .keep_position(true)
            .tool(ToolCallFields { calls: None, call_id: None, name: Some("bash".into()) });
        owner.append(Parent::Node(at), result).unwrap();
    }
    let mut runner = play.runner("owner", session).inline(9_000);
    let said = lines(&mut runner, &["→ recall turns:1-8"]);
    assert!(loomtree::tokens::estimated_tokens(&said) <= 8_000, "{}", loomtree::tokens::estimated_tokens(&said));
    assert!((0..4).all(|number| said.contains(&format!("question {number}"))), "{said}");
    assert!(said.contains("[600 lines, shortened · → view "), "{said}");
    // Beyond the limit of a reply, the rest is requested by page.
    let mut runner = runner.inline(500);
    let said = lines(&mut runner, &["→ recall turns:1-8"]);
    let rest = said.lines().last().unwrap();
    assert!(rest.contains("→ recall \"recall turns:1-8 part 2\""), "{rest}");
    let next = lines(&mut runner, &["→ recall \"recall turns:1-8 part 2\""]);
    assert!(next.contains("of result"), "{next}");
}

/// Commands named in the notes of a result: `[… · → recall turns:1-3 · → view a7x2 full]`.
fn named(answer: &str) -> Vec<String> {
    let notes =
        answer.lines().map(str::trim).filter(|line| line.starts_with('[') && line.ends_with(']') && line.contains('→'));
    let commands =
        notes.flat_map(|note| note.trim_matches(['[', ']']).split(" · ").map(str::to_owned).collect::<Vec<_>>());
    commands.filter(|command| command.starts_with('→')).collect()
}

#[test]
fn each_truncation_names_the_command_that_shows_the_rest() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let mut at = play.nine;
    for number in 0..40 {
        at =
            say(&owner, at, &format!("question {number}: {}", "what does the winch say? ".repeat(1 + number * 3 % 90)));
        let text: String =
            (0..1 + number * 7 % 150).map(|line| format!("winch line {line} of {number} 錨を上げろ\n")).collect();
        let result = NodeDraft::text(text)
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .keep_position(true)
            .tool(ToolCallFields { calls: None, call_id: None, name: Some("bash".into()) });
        owner.append(Parent::Node(at), result).unwrap();
    }
    // Nodes of another session are no turns of this one.
    for number in 0..160 {
        at = say(&play.owner, at, &format!("aside {number}: {}", "the winch creaks and creaks. ".repeat(40)));
    }
    let mut runner = play.runner("owner", session).inline(u32::MAX);
    let all = lines(&mut runner, &["→ recall search \"winch creaks\" scope:tree limit:200"]);
    let (hits, _) = all.split_once(' ').unwrap();
    let path = play.loom.snapshot().unwrap().path_back(at, &[], 0).unwrap();
    let named_ids = path.iter().filter(|node| all.contains(node.local.as_str())).count();
    assert!(all.contains(" · and so "), "{all:.300}");
    assert!(named_ids >= hits.parse::<usize>().unwrap() && named_ids > 100, "{named_ids} of {hits} are named");
    let tokens = loomtree::tokens::estimated_tokens;
    let mut open: Vec<String> = [
        "→ recall search \"winch\" limit:200",
        "→ recall search \"winch\" limit:200 by:tool",
        "→ recall search \"winch creaks\" scope:tree limit:200",
        "→ recall search \"錨\"",
        "→ recall turns:1-80",
        "→ recall turns:1-80 limit:7",
        "→ recall turns:1-80 by:tool limit:30",
        "→ recall tool:bash limit:200",
        "→ recall summary",
    ]
    .map(str::to_owned)
    .to_vec();
    let (mut asked, mut seen, mut notes) = (HashSet::new(), HashSet::new(), 0);
    while let Some(line) = open.pop() {
        if !asked.insert(line.clone()) {
            continue;
        }
        let answer = lines(&mut runner, &[&line]);
        assert!(!answer.starts_with('✗') && !answer.starts_with("no "), "{line}: {answer:.200}");
        assert!(tokens(&answer) <= 8_000, "{line}: {}", tokens(&answer));
        if line.starts_with("→ view ") {
            seen.insert(line.clone());
            assert!(!answer.contains("shortened"), "{line}: a node alone is whole: {answer:.300}");
        }
        notes += named(&answer).len();
        open.extend(named(&answer));
    }
    assert!(notes > 40 && seen.len() > 20, "{notes} {}", seen.len());
}

#[test]
fn a_result_in_an_imported_history_is_found_by_a_word_in_it() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/histories/pi-session.jsonl"));
    let Ok(text) = fs::read_to_string(path) else {
        eprintln!("skipped: {} is not here", path.display());
        return;
    };
    let scene = Scene::new(9);
    let owner = scene.owner();
    let imported = interchange::import(&owner, None, "pi.jsonl", &mut text.as_bytes(), &mut |_| {}).unwrap();
    let found = |query: Query| recall::search(&*owner.loom().snapshot().unwrap(), &query).unwrap().ranked();
    for words in ["spinnerColorFn", "spinner color fn", "which constructor takes a spinner color?"] {
        let hits = found(Query::new(words, Scope::Tree(imported.trees[0])));
        let at =
            hits.iter().position(|hit| hit.node.tool.name.is_some() && hit.node.content.contains("spinnerColorFn"));
        assert!(at.is_some_and(|at| at < 5), "{words}: {at:?}");
    }
    let hits = found(Query::new("audited packages vulnerabilities", Scope::Everything).limit(1));
    assert_eq!(hits[0].node.tool.name.as_deref(), Some("bash"));
    let session = owner.start_session("/work", imported.trees[0], None).unwrap();
    let alone = loomtree::exec::NoHost;
    let mut runner = Executor::new(owner.loom().clone(), owner.loom().agent("owner").unwrap(), session, &alone);
    let said = lines(&mut runner, &["→ recall search \"spinnerColorFn\" limit:1"]);
    assert!(said.contains("tool bash(") && said.contains("spinnerColorFn"), "{said}");
    let said = lines(&mut runner.inline(9_000), &["→ recall tool:bash limit:200"]);
    assert!(loomtree::tokens::estimated_tokens(&said) <= 8_000 && said.contains("left out · → "), "{said}");
}

#[test]
fn matches_contain_the_words_and_neighbours_are_context() {
    let play = Play::new();
    let mut at = play.nine;
    for text in ["It rained all night.", "We stayed in.", "The rain stopped.", "We went out."] {
        at = say(&play.owner, at, text);
    }
    let snapshot = play.loom.snapshot().unwrap();
    let query = Query::new("rain", Scope::Tree(play.tree));
    let found = recall::search(&*snapshot, &query).unwrap();
    let mut texts: Vec<&str> = found.hits.iter().map(|hit| hit.node.content.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["It rained all night.", "The rain stopped."]);
    assert!(found.near.iter().all(|hit| hit.own_words == 0));
    assert_eq!(recall::count(&*snapshot, &query, &|_| true).unwrap().total, 2);
    let by_time = query.by_time(true).limit(1);
    let newest = recall::search(&*snapshot, &by_time).unwrap();
    assert_eq!(newest.hits[0].node.content, "The rain stopped.");
    let oldest = recall::search(&*snapshot, &by_time.oldest_first(true)).unwrap();
    assert_eq!(oldest.hits[0].node.content, "It rained all night.");
    // A word that no node contains is reported; nodes with the others are near results only.
    let found = recall::search(&*snapshot, &Query::new("rain and Zanzibar", Scope::Tree(play.tree))).unwrap();
    assert_eq!((found.hits.len(), found.absent), (0, vec!["Zanzibar".to_owned()]));
    assert!(found.near.iter().any(|hit| hit.node.content == "The rain stopped."));
    let exact = Query::new("ain stopp", Scope::Tree(play.tree)).exact(true);
    assert_eq!(recall::search(&*snapshot, &exact).unwrap().hits.len(), 1);
}

#[test]
fn recall_counts_filters_failures_and_shows_context() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    for text in ["the gasket leaks\nexit code 1", "the gasket holds in src/seal-test.ts(3)\nexit code 0"] {
        let tool = ToolCallFields { calls: None, call_id: None, name: Some("bash".into()) };
        let draft =
            NodeDraft::text(text).kind(EdgeKind::Tool).author_type(AuthorType::Tool).keep_position(true).tool(tool);
        owner.append(Parent::Node(play.nine), draft).unwrap();
    }
    let mut runner = play.runner("owner", session);
    let counted = lines(&mut runner, &["→ recall search \"gasket\" count"]);
    assert_eq!(counted, "2 matches in this tree for \"gasket\": tool 2 · tool bash 2");
    let failed = lines(&mut runner, &["→ recall search \"gasket\" failed"]);
    assert!(
        failed.starts_with("1 match") && failed.contains("leaks") && failed.contains("· failed, exit code 1:"),
        "{failed}"
    );
    let failed = lines(&mut runner, &["→ recall tool:bash failed"]);
    assert!(failed.starts_with("1 result") && failed.contains("leaks"), "{failed}");
    let leaks = lines(&mut runner, &["→ recall tool:\"bash\" \"leaks\""]);
    assert!(leaks.starts_with("1 result") && leaks.contains("words:\"leaks\""), "{leaks}");
    let none = lines(&mut runner, &["→ recall tool:bash \"tmux\""]);
    assert!(none.starts_with("none of the 2 results of bash in this tree hold all of the words \"tmux\""), "{none}");
    let file = lines(&mut runner, &["→ recall tool:bash \"seal-test.ts holds\""]);
    assert!(file.starts_with("1 result"), "{file}");
    let around = lines(&mut runner, &[&format!("→ recall around:{} limit:1", play.id(play.marie))]);
    assert!(around.contains("Who is Marie?") && around.contains("childhood"), "{around}");
    let old = lines(&mut runner, &["→ recall search \"gasket\" from:11mo sort:time"]);
    assert!(old.starts_with("2 matches") && old.contains("the newest first"), "{old}");
}

#[test]
fn a_turn_does_not_find_the_message_that_it_answers() {
    let play = Play::new();
    play.agent("helper", Permissions::all());
    let at = say(&play.owner, play.nine, "Where did we put the sextant?");
    let session = play.session("helper", at);
    let mut runner = play.runner("helper", session).answered([]);
    let said = lines(&mut runner, &["→ recall search \"sextant\""]);
    assert!(said.starts_with("nothing for \"sextant\""), "{said}");
}

#[test]
fn a_thought_is_found_by_its_author_alone() {
    let play = Play::new();
    play.agent("helper", Permissions::all());
    let (own, other) = (play.session("owner", play.nine), play.session("helper", play.nine));
    let thought = NodeDraft::text("the sextant is broken").kind(EdgeKind::Thought);
    play.owner.append(Parent::Node(play.nine), thought).unwrap();
    let said = lines(&mut play.runner("owner", own), &["→ recall search \"sextant\""]);
    assert!(said.contains("broken"), "{said}");
    for line in
        ["→ recall search \"sextant\"", "→ recall search \"sextant\" exact", "→ recall search \"sextant\" count"]
    {
        let said = lines(&mut play.runner("helper", other), &[line]);
        assert!(!said.contains("broken") && !said.contains("1 match"), "{line}: {said}");
    }
}

#[test]
fn an_edited_reply_is_found_as_a_models_reply() {
    let play = Play::of(Mode::Dialogue);
    let reply = NodeDraft::text("The lamp was lit.").author_type(AuthorType::Model);
    let reply = play.owner.append(Parent::Node(play.nine), reply).unwrap().nodes[0].id;
    let edit = play.owner.edit(reply, "The zeppelin was lit.").unwrap().nodes[0].id;
    let found = |name: &str| {
        let author = Author::named(&*play.loom.snapshot().unwrap(), name).unwrap();
        let only = Filter::default().author(author);
        let query = Query::new("zeppelin", Scope::Tree(play.tree)).only(only);
        let hits = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap().hits;
        hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>()
    };
    assert_eq!(found("model"), [edit]);
    assert_eq!(found("human"), []);
    // The index answers as the unindexed nodes do.
    play.loom.store().rebuild().unwrap();
    assert_eq!(found("model"), [edit]);
    assert_eq!(found("human"), []);
}
