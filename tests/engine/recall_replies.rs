//! Replies of recall for a model: what they find, count, date, number and shorten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;
use support::sample_tree::{Play, lines};

use loomtree::{
    exec::Executor,
    id::NodeId,
    interchange::recall::{self, Filter, Query, Scope},
    ops::{Actor, NodeDraft},
    tokens::estimated_tokens,
    types::{AuthorType, EdgeKind, Json, Parent, ToolCallFields},
};
use serde_json::json;

fn say(actor: &Actor, at: NodeId, text: &str) -> NodeId {
    actor.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id
}

/// Appends a model's message with a call of a tool and its result; returns both.
fn call(actor: &Actor, at: NodeId, tool: &str, arguments: &serde_json::Value, result: &str) -> [NodeId; 2] {
    let calls = json!([{ "id": "c1", "name": tool, "arguments": arguments.to_string() }]).to_string();
    let draft = NodeDraft::text("")
        .tool(ToolCallFields { calls: Some(Json::parse(calls).unwrap()), ..ToolCallFields::default() })
        .author_type(AuthorType::Model);
    let caller = actor.append(Parent::Node(at), draft).unwrap().nodes[0].id;
    let draft = NodeDraft::text(result)
        .kind(EdgeKind::Tool)
        .author_type(AuthorType::Tool)
        .keep_position(true)
        .tool(ToolCallFields { calls: None, call_id: Some("c1".into()), name: Some(tool.into()) });
    [caller, actor.append(Parent::Node(caller), draft).unwrap().nodes[0].id]
}

fn bash(actor: &Actor, at: NodeId, command: &str, result: &str) -> [NodeId; 2] {
    call(actor, at, "bash", &json!({ "command": command }), result)
}

/// Appends unrelated nodes, so that earlier nodes are indexed.
fn filler(actor: &Actor, at: NodeId) -> NodeId {
    (0..260).fold(at, |at, number| say(actor, at, &format!("filler number{number}")))
}

/// An executor for the collaborator in a session of its own.
fn reader(play: &Play, at: NodeId) -> Executor<'static> {
    play.runner("collaborator", play.session("collaborator", at))
}

#[test]
fn an_identifier_is_found_inside_a_longer_one() {
    let play = Play::new();
    let setting = say(&play.owner, play.nine, "Set terminal.integrated.minimumContrastRatio to 1.");
    let path = say(&play.owner, setting, "grep chalk packages/src/tui/tui-renderer.ts");
    // Parts of the identifiers that do not stand together.
    let apart = say(&play.owner, path, "The minimum contrast has a ratio; tui is no renderer, and ts is short.");
    let named = say(&play.owner, apart, "now tui-renderer.ts itself, without chalk");
    let mut at = named;
    let mut both = vec![path, named];
    both.sort_unstable();
    for _ in 0..2 {
        let found = |text: &str| {
            let query = Query::new(text, Scope::Tree(play.tree));
            let snapshot = play.loom.snapshot().unwrap();
            let found = recall::search(&*snapshot, &query).unwrap();
            let mut hits: Vec<NodeId> = found.hits.iter().map(|hit| hit.node.id).collect();
            hits.sort_unstable();
            let total = recall::count(&*snapshot, &query, &|_| true).unwrap().total;
            assert_eq!(total, hits.len() as u64, "{text}");
            (hits, found.absent)
        };
        assert_eq!(found("minimumContrastRatio"), (vec![setting], vec![]));
        assert_eq!(found("tui-renderer.ts"), (both.clone(), vec![]));
        assert_eq!(found("chalk tui-renderer.ts"), (both.clone(), vec![]));
        assert_eq!(found("maximumContrastRatio"), (vec![], vec!["maximumContrastRatio".to_owned()]));
        assert_eq!(found("tui-writer.ts"), (vec![], vec!["tui-writer.ts".to_owned()]));
        at = filler(&play.owner, at);
    }
}

#[test]
fn a_word_that_only_the_engine_wrote_stands_in_no_earlier_message() {
    let play = Play::new();
    let metadata = Json::parse(r#"{"command":"→ recall search \"tmux\""}"#).unwrap();
    let tool = ToolCallFields { calls: None, call_id: Some("c1".into()), name: Some("recall".into()) };
    let draft = NodeDraft::text("nothing for \"tmux\" in this tree")
        .kind(EdgeKind::Tool)
        .author_type(AuthorType::Tool)
        .tool(tool);
    play.owner.append(Parent::Node(play.nine), draft.metadata(metadata)).unwrap();
    let mut runner = reader(&play, play.nine);
    let said = lines(&mut runner, &["→ recall search \"tmux lighthouse\""]);
    assert!(said.starts_with("\"tmux\" stands in no earlier message.\nNear in this tree for"), "{said}");
}

#[test]
fn a_word_that_stands_only_within_longer_ones_stands_in_no_earlier_message() {
    let play = Play::new();
    let draft = NodeDraft::text("They spoke of the cultures of the islands.");
    let last = play.owner.append(Parent::Node(play.nine), draft).unwrap();
    let mut runner = reader(&play, last.nodes[0].id);
    let said = lines(&mut runner, &["→ recall search \"cult\""]);
    assert!(said.starts_with("\"cult\" stands in no earlier message.\nNear in this tree for"), "{said}");
    let counted = lines(&mut runner, &["→ recall search \"cult\" count"]);
    assert!(counted.starts_with("0 matches"), "{counted}");
}

#[test]
fn a_tool_of_another_program_is_searched_though_a_command_has_its_name() {
    let play = Play::new();
    let edit = json!({ "path": "footer.ts", "newText": "const contextPercentStr = 1" });
    let [edit, _] = call(&play.owner, play.nine, "edit", &edit, "Successfully replaced.");
    let view = json!({ "path": "src/lamp.rs", "view_range": [1, 9] });
    let [_, view] = call(&play.owner, edit, "view", &view, "the sextant is brass");
    let own = json!({ "node": "a7x2kq", "content": "the walrus" });
    call(&play.owner, view, "edit", &own, "✓ created branch [f7q8dd]");
    let mut at = view;
    for _ in 0..2 {
        let found = |query: Query| {
            let found = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap();
            found.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>()
        };
        let query = |text: &str| Query::new(text, Scope::Tree(play.tree));
        assert_eq!(found(query("contextPercentStr")), [edit]);
        assert_eq!(found(query("contextPercentStr =").exact(true)), [edit]);
        assert_eq!(found(query("sextant")), [view]);
        assert_eq!(found(query("walrus")), []);
        at = filler(&play.owner, at);
    }
}

#[test]
fn results_of_the_engines_own_lists_are_no_hits() {
    let play = Play::new();
    for (at, name) in ["list", "tree", "memory", "view", "help"].into_iter().enumerate() {
        let metadata = Json::parse(format!(r#"{{"command":"→ {name}"}}"#)).unwrap();
        let tool = ToolCallFields { calls: None, call_id: Some(format!("c{at}")), name: Some(name.into()) };
        let draft = NodeDraft::text("[b3k9ze] model \"the lighthouse was dark\"")
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .tool(tool);
        play.owner.append(Parent::Node(play.nine), draft.metadata(metadata)).unwrap();
    }
    let mut runner = reader(&play, play.nine);
    assert_eq!(
        lines(&mut runner, &["→ recall search \"lighthouse\" count"]),
        "1 match in this tree for \"lighthouse\": model 1"
    );
}

#[test]
fn results_of_a_tool_are_counted_and_listed_within_a_page() {
    let play = Play::new();
    let long: String = (0..400).map(|line| format!("> step {line} of the build\n")).collect();
    let mut at = play.nine;
    for number in 0..230 {
        let text = if number < 7 {
            format!("{long}error TS2554 in file{number}\nCommand exited with code 2")
        } else {
            "fine".to_owned()
        };
        at = bash(&play.owner, at, &format!("npm run build{number}"), &text)[0];
    }
    let mut runner = reader(&play, at);
    // The failed calls are older than the 200 newest.
    for (line, answer) in [
        ("→ recall tool:bash failed count", "7 of 230 results of bash in this tree failed: npm 7"),
        ("→ recall tool:bash count", "230 results of bash in this tree"),
        ("→ recall tool:bash count failed", "7 of 230 results of bash in this tree failed: npm 7"),
        ("→ recall tool:\"bash\" \"build3\" count", "1 result of bash in this tree words:\"build3\""),
    ] {
        assert_eq!(lines(&mut runner, &[line]), answer, "{line}");
    }
    let said = lines(&mut runner, &["→ recall tool:bash failed"]);
    assert!(said.starts_with("7 results of bash in this tree failed, the newest 5:"), "{said}");
    assert!(said.ends_with("[2 more · → recall tool:\"bash\" limit:7 failed]"), "{said}");
    assert_eq!(said.matches("· failed, exit code 2:").count(), 5, "{said}");
    assert_eq!(said.matches("error TS2554").count(), 5, "{said}");
    assert!(estimated_tokens(&said) <= 1_000 && !said.contains("tokens more"), "{said}");
    let said = lines(&mut runner, &["→ recall tool:bash failed limit:7"]);
    assert_eq!(said.matches("error TS2554").count(), 7, "{said}");
    assert!(!said.contains("tokens more"), "{said}");
}

#[test]
fn a_result_of_several_pages_has_the_filters_in_its_label() {
    let play = Play::new();
    let mut at = play.nine;
    for number in 0..40 {
        at = bash(&play.owner, at, &format!("make target{number} --with-a-long-option"), "no\nexit code: 1")[0];
    }
    let mut runner = reader(&play, at);
    let said = lines(&mut runner, &["→ recall tool:bash failed limit:40"]);
    assert!(said.contains("→ recall \"recall tool:bash failed part 2\""), "{said}");
    let rest = lines(&mut runner, &["→ recall \"recall tool:bash failed part 2\""]);
    assert!(rest.contains("target0 "), "{rest}");
}

#[test]
fn a_node_of_another_day_has_its_date_and_time() {
    let play = Play::new();
    let mut runner = reader(&play, play.nine);
    let id = play.id(play.nine);
    let mut said = |line: &str| lines(&mut runner, &[line]);
    assert!(said("→ recall search \"lighthouse\"").contains("· 2m ago · depth 4:"));
    play.later(26 * 3_600);
    let date = " · 2023-11-14 22:17";
    for line in [
        "→ recall search \"lighthouse\"".to_owned(),
        format!("→ recall around:{id}"),
        format!("→ view {id}"),
        format!("→ view {id} full"),
    ] {
        let said = said(&line);
        assert!(said.contains(date) && !said.contains("1d ago"), "{line}: {said}");
    }
    // In a branch the date stands once.
    let branch = said(&format!("→ view branch:{id} as:nodes"));
    assert!(
        branch.contains("] human owner · 2023-11-14 22:13\n") && branch.contains("] model (you) · 22:17\n"),
        "{branch}"
    );
    assert_eq!(branch.matches("2023-11-14").count(), 1, "{branch}");
}

#[test]
fn the_nodes_around_one_have_their_results_and_fit_a_page() {
    let play = Play::new();
    let long: String = (0..300).map(|line| format!("line {line} of a long message\n")).collect();
    let before = say(&play.owner, play.nine, &long);
    let [counted, result] = bash(&play.owner, before, "grep -c chalk tui-renderer.ts", "77\n");
    let [failed, _] = bash(&play.owner, counted, "make", &format!("{long}no rule\nexit code: 2"));
    let after = say(&play.owner, failed, &format!("There are 77. {long}"));
    say(&play.owner, after, "Replace them.");
    let mut runner = reader(&play, play.nine);
    let line = format!("result [{}] bash: 77", play.id(result));
    let said = lines(&mut runner, &[&format!("→ recall around:{}", play.id(counted))]);
    for words in
        [line.as_str(), "bash failed, exit code 2, 302 lines: ", "There are 77.", "Replace them.", "line 0 of a long"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(estimated_tokens(&said) <= 1_000 && !said.contains("tokens more"), "{said}");
    // A result stands between its call and the next message.
    let said = lines(&mut runner, &[&format!("→ recall around:{}", play.id(result))]);
    assert!(said.contains("77") && said.contains("There are 77."), "{said}");
    let said = lines(&mut runner, &[&format!("→ view {}", play.id(counted))]);
    assert!(said.contains(&format!("\n{line}\n")), "{said}");
    // Without `full` a long result is a line.
    let [built, result] = bash(&play.owner, after, "npm run build", "> tsgo\nmissing linkUrl\nexit code: 2");
    let shown = |full: &str| lines(&mut reader(&play, play.nine), &[&format!("→ view {}{full}", play.id(built))]);
    let whole = format!("result [{}] bash failed, exit code 2:\n> tsgo\nmissing linkUrl\n", play.id(result));
    assert!(shown(" full").contains(&whole) && !shown("").contains(&whole), "{}", shown(" full"));
}

#[test]
fn an_empty_message_hides_none_after_it() {
    let play = Play::new();
    let first = say(&play.owner, play.nine, "Look at the carburettor.");
    let cancelled = play.owner.append(Parent::Node(first), NodeDraft::text("").author_type(AuthorType::Model));
    let cancelled = cancelled.unwrap().nodes[0].id;
    let second = say(&play.owner, cancelled, "No, at the radiator.");
    let mut runner = reader(&play, say(&play.owner, second, "Well?"));
    let said = lines(&mut runner, &["→ recall search \"carburettor\""]);
    assert!(said.contains(&format!("after: human [{}] \"No, at the radiator.\"", play.id(second))), "{said}");
    let said = lines(&mut runner, &["→ recall search \"radiator\""]);
    assert!(said.contains(&format!("before: human [{}] \"Look at the", play.id(first))), "{said}");
    for (at, other) in [(first, "radiator"), (second, "carburettor")] {
        let said = lines(&mut reader(&play, second), &[&format!("→ recall around:{} limit:1", play.id(at))]);
        assert!(said.contains(other) && !said.contains(&play.id(cancelled)), "{said}");
    }
}

#[test]
fn an_abbreviation_is_searched_as_its_word() {
    let play = Play::new();
    let node = say(&play.owner, play.nine, "The background of the panel is grey.");
    let mut runner = reader(&play, say(&play.owner, node, "Well?"));
    for (abbreviation, place) in [("bg", true), ("fg", false)] {
        let said = lines(&mut runner, &[&format!("→ recall search \"{abbreviation}\"")]);
        assert_eq!(said.contains(&play.id(node)), place, "{said}");
    }
}

#[test]
fn matches_are_sorted_from_the_oldest_if_asked_for() {
    let play = Play::new();
    let first = say(&play.owner, play.nine, "It rained all night.");
    let second = say(&play.owner, first, "The rain stopped.");
    let said = lines(&mut reader(&play, second), &["→ recall search \"rain\" sort:oldest"]);
    let place = |node| said.find(&format!("[{}]", play.id(node))).unwrap();
    assert!(said.contains("the oldest first") && place(first) < place(second), "{said}");
    let said = lines(&mut reader(&play, second), &["→ recall search \"rain\" sort:time"]);
    let place = |node| said.find(&format!("[{}]", play.id(node))).unwrap();
    assert!(said.contains("the newest first") && place(second) < place(first), "{said}");
}

#[test]
fn turns_are_numbered_only_where_the_range_finds_them() {
    let play = Play::new();
    let older = play.session("owner", play.nine);
    let first = say(&play.owner.clone().in_session(older), play.nine, "Where is the sextant?");
    let second = say(&play.owner.clone().in_session(older), first, "And the sextant of brass?");
    let session = play.session("collaborator", second);
    let model = play.loom.actor(&play.loom.agent("collaborator").unwrap()).in_session(session);
    let mut runner = play.runner("collaborator", session);
    // A session without turns reads those of the older one.
    let said = lines(&mut runner, &["→ recall turns:1-1"]);
    assert!(said.contains("of an earlier session") && said.contains("[Turn 1] human"), "{said}");
    say(&model, second, "In the drawer.");
    let said = lines(&mut runner, &["→ recall turns:2-2"]);
    assert!(said.starts_with("no turns:2-2: this session has turns 1 to 1"), "{said}");
    for line in ["→ recall search \"sextant\"".to_owned(), format!("→ recall around:{}", play.id(first))] {
        let said = lines(&mut runner, &[&line]);
        assert!(said.contains(&format!("human [{}]", play.id(second))), "{line}: {said}");
        assert!(!said.contains("[Turn 2]"), "{line}: {said}");
    }
    assert!(lines(&mut runner, &["→ recall search \"drawer\""]).contains("[Turn 1] model"));
    // A message that the session receives has one number in every reply.
    if let Some(received) = model.receive_messages(session, second, &[]).unwrap() {
        received.wait().unwrap();
    }
    let turn = play.loom.snapshot().unwrap().received_turns(session, Some(first)).unwrap()[0].0;
    let numbered = format!("[Turn {turn}] human [{}]", play.id(first));
    for line in [
        format!("→ recall turns:{turn}-{turn}"),
        "→ recall search \"sextant\" limit:9".to_owned(),
        format!("→ recall around:{}", play.id(first)),
    ] {
        assert!(lines(&mut runner, &[&line]).contains(&numbered), "{line}");
    }
}

#[test]
fn near_results_of_an_absent_word_are_few_and_named_by_their_calls() {
    let play = Play::new();
    let mut at = play.nine;
    for number in 0..6 {
        at = bash(&play.owner, at, &format!("grep lighthouse file{number}.txt"), "")[0];
    }
    let mut runner = reader(&play, at);
    let said = lines(&mut runner, &["→ recall search \"lighthouse tmux\""]);
    assert!(said.starts_with("\"tmux\" stands in no earlier message.\nNear in this tree for"), "{said}");
    assert!(said.matches(" · depth ").count() <= 3 && !said.contains("no match"), "{said}");
    let said = lines(&mut runner, &["→ recall search \"lighthouse dark\""]);
    let near = said.lines().find(|line| line.starts_with("near, ")).unwrap();
    assert!(near.contains("\"calls bash(") && !near.contains("\"\""), "{said}");
    let said = lines(&mut runner, &["→ recall search \"tmux\""]);
    assert!(!said.contains("recall turns:"), "{said}");
}

#[test]
fn a_node_that_an_earlier_line_of_the_turn_shows_is_not_repeated() {
    let play = Play::new();
    let long = "The winch creaks and the lamp is out. ".repeat(12);
    let said = say(&play.owner, play.nine, &long);
    let asked = say(&play.owner, said, "What creaks?");
    let mut runner = reader(&play, asked).answered([]);
    let answers = lines(&mut runner, &["→ recall search \"winch\"", "→ recall search \"lamp\""]);
    let id = format!("[{}] · ", play.id(said));
    assert_eq!(answers.matches(&id).count(), 2, "{answers}");
    let (_, again) = answers.rsplit_once(&id).unwrap();
    assert!(again.contains("(shown above)") && again.matches("lamp").count() < 4, "{answers}");
}

#[test]
fn another_passage_of_a_node_that_was_shortened_is_shown() {
    let play = Play::new();
    let filler = "The keeper counts the waves and writes the number down. ".repeat(60);
    let long = format!("The winch was made in Bergen. {filler} The lamp burns whale oil since March.");
    let said = say(&play.owner, play.nine, &long);
    let asked = say(&play.owner, said, "What of it?");
    let mut runner = reader(&play, asked).answered([]);
    let answers = lines(&mut runner, &["→ recall search \"winch Bergen\"", "→ recall search \"whale oil\""]);
    let (first, second) = answers.split_once("whale oil\"").unwrap();
    assert!(first.contains("made in Bergen") && !first.contains("burns"), "{answers}");
    assert!(second.contains("burns whale oil since March") && !second.contains("(shown above)"), "{answers}");
}

#[test]
fn the_trace_names_what_a_recall_found() {
    let play = Play::new();
    let mut runner = reader(&play, play.nine);
    lines(&mut runner, &["→ recall search \"lighthouse\"", "→ recall search \"zebra\""]);
    let said = lines(&mut runner, &["→ memory trace"]);
    assert!(said.contains(&format!("recalled lighthouse ({}), zebra (nothing)", play.id(play.nine))), "{said}");
}

#[test]
fn thoughts_do_not_use_up_the_limit_of_turns() {
    let play = Play::new();
    let session = play.session("owner", play.nine);
    let owner = play.owner.clone().in_session(session);
    let mut at = play.nine;
    for number in 0..4 {
        at = say(&owner, at, &format!("message {number}"));
        let thought = NodeDraft::text("not for others").kind(EdgeKind::Thought).keep_position(true);
        owner.append(Parent::Node(at), thought).unwrap();
    }
    let reader = play.loom.agent("collaborator").unwrap().id();
    let snapshot = play.loom.snapshot().unwrap();
    let texts = |only: Filter, limit| -> Vec<String> {
        let turns = recall::turns(&*snapshot, session, 1..=u64::MAX, &only, limit).unwrap();
        turns.into_iter().map(|node| node.content).collect()
    };
    assert_eq!(texts(Filter::default().reader(reader), 3), ["message 0", "message 1", "message 2"]);
    assert_eq!(texts(Filter::default().reader(reader), 9).len(), 4);
    assert_eq!(texts(Filter::default().reader(play.owner.agent()), 3), ["message 0", "not for others", "message 1"]);
}

#[test]
fn the_depth_of_a_summary_counts_messages_only() {
    let play = Play::new();
    let [caller, result] = bash(&play.owner, play.nine, "ls", "lamp.txt");
    let thought = NodeDraft::text("hm").kind(EdgeKind::Thought).keep_position(true);
    play.owner.append(Parent::Node(result), thought).unwrap();
    let depths = || {
        let said = lines(&mut reader(&play, play.marie), &["→ recall summary", "→ tree summary"]);
        let after = |words: &str| said.split(words).nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
        [after(" · depth "), after(" · depth: ")].map(|depth: String| depth.parse::<u32>().unwrap())
    };
    let deepest = play.loom.node(caller).unwrap().depth;
    assert_eq!(deepest, play.loom.node(play.nine).unwrap().depth + 1);
    assert_eq!(depths(), [deepest; 2]);
    play.owner.prune(caller).unwrap();
    assert_eq!(depths(), [deepest - 1; 2]);
}

#[test]
fn a_search_states_how_many_nodes_match_and_the_command_for_more() {
    let play = Play::new();
    let mut at = play.nine;
    let said: Vec<String> = (0..8)
        .map(|number| {
            at = say(&play.owner, at, &format!("the gasket.rs of pump {number}"));
            play.id(at)
        })
        .collect();
    let mut runner = reader(&play, filler(&play.owner, at));
    let found = |said: &str| -> Vec<String> {
        let heads = said.lines().filter_map(|line| line.strip_prefix("human [")?.split_once("] · "));
        heads.map(|(id, _)| id.to_owned()).collect()
    };
    for (words, exact) in [("gasket.rs", ""), ("gasket.rs", " exact"), ("\\\"gasket.rs of\\\"", "")] {
        let search = format!("→ recall search \"{words}\"");
        let oldest = lines(&mut runner, &[&format!("{search} sort:oldest{exact} limit:3")]);
        assert!(oldest.starts_with("3 of 8 matches in this tree sort:oldest"), "{oldest}");
        assert_eq!(found(&oldest), said[..3], "{exact}");
        let more = oldest.lines().last().unwrap();
        assert_eq!(more, format!("[5 more · {search} sort:oldest{exact} limit:8]"), "{oldest}");
        let (_, command) = more.trim_end_matches(']').split_once("· ").unwrap();
        let all = lines(&mut runner, &[command]);
        assert!(all.starts_with("8 matches") && !all.contains(" more · "), "{all}");
        let newest = lines(&mut runner, &[&format!("{search} sort:time{exact} limit:1")]);
        assert_eq!(found(&newest), said[7..], "{exact}");
    }
}

#[test]
fn a_search_in_order_of_time_has_no_gaps() {
    let play = Play::new();
    // The long ones rank last.
    let mut at = play.nine;
    let said: Vec<NodeId> = (0..170)
        .map(|number| {
            let rest = if number % 5 == 0 { " and of much else that is in the house".repeat(9) } else { String::new() };
            at = say(&play.owner, at, &format!("a worn gasket{rest}"));
            at
        })
        .collect();
    at = filler(&play.owner, at);
    assert!(at != play.nine);
    for oldest_first in [false, true] {
        let query =
            Query::new("worn gasket", Scope::Tree(play.tree)).by_time(true).oldest_first(oldest_first).limit(30);
        let found = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap();
        let hits: Vec<NodeId> = found.hits.iter().map(|hit| hit.node.id).collect();
        let wanted: Vec<NodeId> =
            if oldest_first { said[..30].to_vec() } else { said.iter().rev().take(30).copied().collect() };
        assert_eq!(hits, wanted, "{oldest_first}");
        assert_eq!((found.matches, found.is_complete), (170, true));
    }
}

#[test]
fn a_full_view_shows_whole_arguments_and_a_branch_shows_results() {
    let play = Play::new();
    let text = format!("{}the last line\n", "a line of code\n".repeat(40));
    let arguments = json!({ "path": "src/gasket.rs", "limit": 3, "content": text });
    let [caller, result] = call(&play.owner, play.nine, "write_file", &arguments, "written: 41 lines");
    let mut runner = reader(&play, caller);
    let (caller, nine) = (play.id(caller), play.id(play.nine));
    let short = lines(&mut runner, &[&format!("→ view {caller}")]);
    assert!(short.contains("calls write_file(") && !short.contains("the last line"), "{short}");
    let full = lines(&mut runner, &[&format!("→ view {caller} full")]);
    let whole = format!("\n  content:\n{text}");
    assert!(full.contains("calls write_file:\n") && full.contains(whole.trim_end()), "{full}");
    assert!(full.contains("\n  path: src/gasket.rs") && full.contains("\n  limit: 3"), "{full}");
    let branch = lines(&mut runner, &[&format!("→ view branch:{caller} from:{nine}")]);
    assert!(branch.contains(&format!("\nresult [{}] write_file: written: 41 lines", play.id(result))), "{branch}");
}

#[test]
fn two_views_with_the_same_end_are_paged_apart() {
    let play = Play::new();
    let end = say(&play.owner, play.nine, &"the end of it ".repeat(3_000));
    let mut runner = reader(&play, end).inline(500);
    let (end, nine) = (play.id(end), play.id(play.nine));
    let [branch, alone] = [format!("branch:{end} from:{nine}"), format!("{end} full")]
        .map(|view| lines(&mut runner, &[&format!("→ view {view}")]));
    assert!(branch.ends_with(&format!("→ recall \"view branch:{end} from:{nine} part 2\"]")), "{branch}");
    assert!(alone.ends_with(&format!("→ recall \"view {end} part 2\"]")), "{alone}");
    let rest = lines(&mut runner, &[&format!("→ recall \"view branch:{end} from:{nine} part 2\"")]);
    assert!(rest.contains("the end of it") && rest.ends_with(" part 3\"]"), "{rest}");
}

#[test]
fn an_edit_is_shown_by_its_changed_lines() {
    let play = Play::new();
    let (old, new) =
        ("{\n  \"dimGray\": 238,\n  \"gray\": 244\n}", "{\n  \"dimGray\": \"#666666\",\n  \"gray\": 244\n}");
    let arguments = json!({ "path": "dark.json", "oldText": old, "newText": new });
    let [caller, _] = call(&play.owner, play.nine, "edit", &arguments, "edited");
    let mut runner = reader(&play, caller);
    let caller = play.id(caller);
    let short = lines(&mut runner, &[&format!("→ view {caller}")]);
    assert!(
        short.contains("calls edit(path=\"dark.json\", - \"dimGray\": 238, + \"dimGray\": \"#666666\",)"),
        "{short}"
    );
    let full = lines(&mut runner, &[&format!("→ view {caller} full")]);
    let whole = "calls edit:\n  path: dark.json\n    {\n  -   \"dimGray\": 238,\n  +   \"dimGray\": \"#666666\",\n      \"gray\": 244\n    }";
    assert!(full.contains(whole), "{full}");
}

#[test]
fn a_message_ranks_above_a_result_with_the_same_words() {
    let play = Play::new();
    let [_, result] = bash(&play.owner, play.nine, "cat notes", "the gasket of the brass pump is worn");
    let said = say(&play.owner, play.tired, "the gasket of the brass pump is worn");
    let query = Query::new("worn gasket of the brass pump", Scope::Tree(play.tree));
    let found = recall::search(&*play.loom.snapshot().unwrap(), &query).unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>(), [said, result]);
}

#[test]
fn a_received_message_is_shown_with_what_follows_up_to_the_next() {
    let play = Play::new();
    let older = play.session("owner", play.nine);
    let asked = say(&play.owner.clone().in_session(older), play.nine, "Mend the winch.");
    let mut at = asked;
    for number in 0..60 {
        at = bash(&play.owner, at, &format!("grep winch file{number}.txt"), "exit code: 1")[0];
    }
    let cancelled = NodeDraft::text("").author_type(AuthorType::Model);
    at = play.owner.append(Parent::Node(at), cancelled).unwrap().nodes[0].id;
    let thanks = say(&play.owner.clone().in_session(older), at, "Thanks.");
    let after = bash(&play.owner, thanks, "ls quay", "boats")[0];
    let mut runner = reader(&play, after);
    let said = lines(&mut runner, &["→ recall turns:1"]);
    assert!(said.contains("60 messages until the next of a person (→ view branch:"), "{said}");
    assert!(said.contains("\"calls bash(command=\"grep winch file0.txt\")\" · a call failed"), "{said}");
    assert!(!said.contains("ls quay"), "{said}");
    // A few are shown with their results, whole.
    let said = lines(&mut runner, &["→ recall turns:2"]);
    assert!(said.contains("1 message until") && said.contains("bash: boats"), "{said}");
    // Of several turns each is shown with what follows it.
    let said = lines(&mut runner, &["→ recall turns:1-2"]);
    assert!(said.contains("60 messages until") && !said.contains("file0.txt"), "{said}");
    assert!(said.find("60 messages until") < said.find("Thanks.") && said.contains("bash: boats"), "{said}");
}

#[test]
fn calls_are_as_long_as_fits_a_page() {
    let play = Play::new();
    let command = "printf heron; ".repeat(30);
    let mut at = bash(&play.owner, play.nine, &command, "herons")[0];
    let first = at;
    let shown = |runner: &mut Executor<'_>, at| {
        let (first, last) = (play.id(first), play.id(at));
        lines(runner, &[&format!("→ view branch:{last} from:{first}")]).matches("printf heron").count()
    };
    assert_eq!(shown(&mut reader(&play, at), at), 30);
    for _ in 0..12 {
        at = bash(&play.owner, at, &command, "herons")[0];
    }
    assert!((13..13 * 12).contains(&shown(&mut reader(&play, at), at)));
}

#[test]
fn nodes_around_another_one_are_shown_once_in_a_turn() {
    let play = Play::new();
    let first = say(&play.owner, play.nine, &"The winch creaks and the lamp is out. ".repeat(9));
    let second = say(&play.owner, first, "What creaks?");
    let mut runner = reader(&play, second).answered([]);
    let around = |node| format!("→ recall around:{}", play.id(node));
    let answers = lines(&mut runner, &[&around(first), &around(second)]);
    assert!(answers.contains("(shown above)") && answers.matches("creaks and").count() < 18, "{answers}");
}

#[test]
fn what_the_agent_sees_or_recalled_itself_comes_last() {
    let play = Play::new();
    let old = say(&play.owner, play.nine, "We hung the lantern over the door, and the other lantern in the yard.");
    let seen = say(&play.owner, old, "lantern");
    let asked = say(&play.owner, seen, "Where is the lantern?");
    let calls = r#"[{"id":"c","name":"recall","arguments":"{}","line":"→ recall \"lantern\""}]"#;
    let batch = NodeDraft::text("")
        .tool(ToolCallFields { calls: Some(Json::parse(calls.to_owned()).unwrap()), ..ToolCallFields::default() });
    let batch = play.owner.append(Parent::Node(asked), batch).unwrap().nodes[0].id;
    let answer = say(&play.owner, batch, "The lantern");
    let end = say(&play.owner, answer, "Good.");
    let mut runner = reader(&play, end).in_view([seen].into());
    let said = lines(&mut runner, &["→ recall search \"lantern\""]);
    let place = |node| said.find(&format!("[{}] · ", play.id(node))).unwrap();
    assert!(place(old) < place(asked) && place(old) < place(answer), "{said}");
    assert!(place(asked) < place(seen) && said.contains("(in your window)"), "{said}");
    // In order of time nothing is moved.
    let said = lines(&mut runner, &["→ recall search \"lantern\" sort:oldest"]);
    let place = |node| said.find(&format!("[{}] · ", play.id(node))).unwrap();
    assert!(place(old) < place(seen) && place(seen) < place(asked), "{said}");
}

#[test]
fn a_quoted_text_that_stands_nowhere_is_named() {
    let play = Play::new();
    let at = say(&play.owner, play.nine, "The theme of the lantern, and a --dark flag.");
    let mut runner = reader(&play, at);
    let said = lines(&mut runner, &[r#"→ recall search "\"--theme\"""#]);
    assert!(said.starts_with("\"--theme\" stands in no earlier message.\n"), "{said}");
    let said = lines(&mut runner, &[r#"→ recall search "\"--dark\"""#]);
    assert!(said.starts_with("1 match"), "{said}");
}

#[test]
fn results_of_a_tool_are_listed_from_the_oldest_if_asked_for() {
    let play = Play::new();
    let mut at = play.nine;
    for number in 0..8 {
        at = bash(&play.owner, at, &format!("build {number}"), "fine")[0];
    }
    let mut runner = reader(&play, at);
    let said = lines(&mut runner, &["→ recall tool:bash sort:oldest limit:2"]);
    assert!(said.starts_with("8 results of bash in this tree sort:oldest, the oldest 2:"), "{said}");
    assert!(said.find("build 0").unwrap() < said.find("build 1").unwrap() && !said.contains("build 7"), "{said}");
    let said = lines(&mut runner, &["→ recall tool:bash sort:oldest limit:9"]);
    assert!(said.contains("the oldest first:") && said.contains("build 7"), "{said}");
}

#[test]
fn failed_results_are_shortened_to_their_errors_and_counted_by_program() {
    let play = Play::new();
    let noise = "Waiting for the debugger to disconnect...\n".repeat(40);
    let failed = |error: &str| format!("{noise}{error}\n{noise}script failed\nCommand exited with code 1");
    let mut at = play.nine;
    for (command, error) in [
        ("cd /work && npm run check", "a.ts(23,35): error TS2345: no ThemeColor"),
        ("npm run build", "error[E0308]: mismatched types"),
        ("cp a b", "cp: a: No such file or directory"),
    ] {
        at = bash(&play.owner, at, command, &failed(error))[0];
    }
    at = bash(&play.owner, at, "grep x y", "Command exited with code 1")[0];
    let mut runner = reader(&play, bash(&play.owner, at, "ls", "fine")[0]);
    let said = lines(&mut runner, &["→ recall tool:bash failed"]);
    for error in ["error TS2345", "error[E0308]", "No such file"] {
        assert!(said.contains(error), "{error}: {said}");
    }
    assert_eq!(said.matches("script failed\n  [82 lines, shortened · ").count(), 3, "{said}");
    let said = lines(&mut runner, &["→ recall tool:bash failed count"]);
    assert_eq!(said, "4 of 5 results of bash in this tree failed: npm 2 · cp 1 · grep 1");
}

#[test]
fn an_answer_without_results_names_what_excludes_them() {
    let play = Play::new();
    let at = bash(&play.owner, play.nine, "ls", "fine")[0];
    let mut runner = reader(&play, bash(&play.owner, at, "pwd", "fine")[0]);
    let said = lines(&mut runner, &["→ recall tool:bash failed"]);
    assert_eq!(said, "none of the 2 results of bash in this tree failed");
    let said = lines(&mut runner, &["→ recall search \"payment pay paid gasket\" by:human sort:oldest"]);
    assert!(said.contains("(searched by the words payment, pay, paid, gasket)"), "{said}");
    assert!(said.contains("try: the same without by:human, other words"), "{said}");
    let said = lines(&mut runner, &["→ recall search \"gasket\" sort:oldest"]);
    assert!(said.contains("try: other words"), "{said}");
}

#[test]
fn a_word_is_found_in_british_and_american_spelling() {
    let play = Play::new();
    let node = say(&play.owner, play.nine, "The license covers the colour of the theater.");
    let mut runner = reader(&play, say(&play.owner, node, "Well?"));
    for word in ["licence", "colors", "theatre"] {
        let said = lines(&mut runner, &[&format!("→ recall search \"{word}\"")]);
        assert!(said.contains(&play.id(node)) && said.contains("1 match"), "{word}: {said}");
    }
}

#[test]
fn a_whole_word_ranks_above_a_part_of_an_identifier() {
    let play = Play::new();
    let whole =
        say(&play.owner, play.nine, "It works on Linux, on macOS and, though it was barely tested, on Windows too.");
    let mut at = filler(&play.owner, whole);
    at = say(&play.owner, at, "contextWindow contextWindow");
    let said = lines(&mut reader(&play, at), &["→ recall search \"windows\""]);
    let place = |node| said.find(&format!("[{}]", play.id(node))).unwrap();
    assert!(place(whole) < place(at), "{said}");
}
