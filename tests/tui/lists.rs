//! Lists, pages and questions.

use crate::stage::Stage;

#[test]
fn a_search_finds_while_one_types_and_jumps() {
    let mut stage = Stage::new();
    stage.press("/").types("light");
    stage.shows("She was nine that summer.");
    stage.types("house").shows("lighthouse");
    stage.press("enter").shows("· depth 4").lacks("─ search");
    stage.press("/").types("tired").press("tab");
    stage.shows("search everything").shows("only tired");
    stage.press("tab").shows("search this path").lacks("only tired").shows("nothing found");
    stage.press("esc").shows("· depth 4");
}

#[test]
fn pruning_asks_with_a_count_and_is_taken_back_by_name() {
    let mut stage = Stage::new();
    stage.keys("l p");
    stage.shows("Prune this node and 2 below it?");
    stage.press("n").shows("6 nodes");
    stage.keys("p y").shows("3 nodes").shows("pruned · u undoes it");
    stage.press("R").shows("Building on the trauma").press("enter");
    stage.shows("6 nodes").shows("Building on the trauma");
    stage.keys("u").shows("taken back: restored").shows("3 nodes");
    stage.keys("ctrl-r").shows("6 nodes");
}

#[test]
fn two_branches_are_compared_node_by_node_and_word_by_word() {
    let mut stage = Stage::sized(100, 24);
    // Another wording of the first node of a branch, and the branch below it: what is alike is compared by words.
    let words = "Building on the trauma angle, she still avoids the grey sea.";
    let worded = stage.play.owner.edit(stage.play.trauma, words).unwrap().nodes[0].id;
    let copied = stage.play.owner.copy_branch(stage.play.go_on, worded).unwrap().nodes[0].id;
    let [nine, worded, copied] = [stage.play.nine, worded, copied].map(|node| stage.play.id(node));
    stage.keys("end x").press(":").types(&format!("go {copied}")).press("enter").press("d");
    stage.shows(&format!("{nine} → {copied}")).shows(&format!("→ {worded}"));
    stage.shows("she {+still +}avoids the {+grey +}sea.");
    stage.shows("= owner").shows("Go on.");
    // What only one of them goes on with.
    stage.shows("- collaborator").shows("The lighthouse was dark.");
    stage.lacks("there is no difference");
}

#[test]
fn the_context_is_shown_part_by_part_and_changed_from_there() {
    let mut stage = Stage::new();
    stage.keys("end c");
    stage.shows("the conversation").shows("in all,").shows("Go on.");
    stage.keys("end X");
    stage.shows("out: excluded");
    stage.keys("X").lacks("out: excluded");
    stage.press("esc").lacks("in all,");
}

#[test]
fn texts_are_edited_split_and_merged() {
    let mut stage = Stage::new();
    stage.keys("l e");
    stage.types(" Indeed.").press("ctrl-s");
    stage.shows("sea. Indeed.").shows("branch 3/3");
    stage.keys("S right right right right right right right right enter");
    stage.shows("split in two").shows("≡2");
    let mut stage = Stage::new();
    stage.keys("l x j x h M");
    stage.types("Both at once.").press("ctrl-s");
    stage.shows("Both at once.").shows("merged");
}

#[test]
fn trees_are_made_titled_and_gone_between() {
    let mut stage = Stage::new();
    stage.press(":").types("new Another beginning").press("enter");
    stage.shows("Another beginning").shows("1 node · 1 branch");
    stage.press(":").types("title The second").press("enter").shows("The second");
    stage.press("t").types("marie").press("enter");
    stage.shows("Marie Character Study").shows("6 nodes");
    stage.press(":").types("fly").press("enter").shows("there is no :fly").shows(":chat TEXT");
}

#[test]
fn folding_hiding_and_alone() {
    let mut stage = Stage::new();
    stage.keys("l z").lacks("○ Go on.").keys("z").shows("○ Go on.");
    stage.keys("h z").lacks("○ Go on.").keys("l").shows("○ Go on.");
    stage.keys("Z").lacks("Another reading").shows("hoisted").keys("h").shows("· hoisted");
    stage.keys("Z").shows("Another reading");
}

#[test]
fn history_brings_lines_back() {
    let mut stage = Stage::new();
    stage.press("i").types("One.").press("enter");
    stage.press("i").types("Two.").press("enter");
    stage.press("i").types("thr").keys("up up").shows("› One.");
    stage.keys("down").shows("› Two.").keys("down").shows("› thr").press("esc");
}

#[test]
fn an_edit_that_is_taken_back_leads_to_what_was_edited() {
    let mut stage = Stage::new();
    stage.keys("l j e").types(" Or not.").keys("ctrl-s u");
    assert_eq!(stage.at(), stage.play.id(stage.play.tired));
    stage.shows(&format!("taken back: edited {}", stage.play.id(stage.play.tired)));
}

#[test]
fn what_was_written_and_left_is_gone_on_with() {
    let mut stage = Stage::new();
    stage.keys("l j e").types(" Or not").press("esc").shows("not saved; the same key here continues it");
    // Elsewhere something else is written.
    stage.keys("h e").lacks("Or not").press("esc").keys("l e").shows("tired. Or not").types(" so.").press("ctrl-s");
    stage.shows("Another reading: she is only tired. Or not").shows(" so.");
    stage.press("a").types("half a no").press("ctrl-c").press("a").shows("✎ half a no").press("esc");
}

#[test]
fn an_error_is_read_to_its_end() {
    let mut stage = Stage::sized(40, 12);
    let before = stage.screen();
    stage.press(":").types("go nowhere-that-anybody-has-ever-been-to-or-heard-of").press("enter");
    let screen = stage.screen();
    let said: Vec<&str> = screen.lines().rev().skip(1).take(3).collect();
    let said: String = said.into_iter().rev().map(str::trim).collect::<Vec<_>>().join(" ");
    assert!(said.contains("nowhere-") && said.contains("heard-of"), "{screen}");
    // Nothing moved for it.
    assert_eq!(screen.lines().next(), before.lines().next());
    stage.press("esc");
    assert_eq!(stage.screen(), before);
}

#[test]
fn errors_go_away_by_themselves() {
    let mut stage = Stage::new();
    stage.press("M").shows("mark another node with x first");
    assert!(stage.app.next_wake().is_some(), "it is known when it goes");
    stage.press("esc").lacks("mark another node");
}

#[test]
fn pruned_and_purged_under_the_cursor_it_goes_to_what_is_left() {
    let mut stage = Stage::new();
    stage.keys("l l");
    let other = stage.play.scene.owner();
    other.prune(stage.play.trauma).unwrap();
    stage.wait("3 nodes").wait("· depth 1");
}

#[test]
fn a_session_goes_on_with_whom_it_was() {
    let mut stage =
        Stage::with(["Hello.", "It is late.", "Yes, still me."].map(loomtree::provider::ScriptedReply::words));
    stage.press(":").types("chat Good evening.").press("enter").shows("Hello.");
    let sessions = |stage: &Stage| {
        let agent = Some(stage.play.loom.agent("collaborator").unwrap().id());
        let filter = loomtree::store::SessionFilter { agent, ..loomtree::store::SessionFilter::default() };
        stage.play.loom.sessions(&filter).unwrap()
    };
    let first = sessions(&stage).remove(0);
    // A newer one, in which it would answer otherwise.
    stage.play.later(60);
    let newer = stage.play.session("collaborator", stage.play.tired);
    stage.keys("0").shows("· depth 0");
    stage.press("s").shows("collaborator").shows("Good evening.");
    // By whom, and in what words: what is typed narrows it down.
    stage.types("collaborator").press("enter");
    stage.shows("collaborator continues from here").shows("with collaborator").shows("· depth 3");
    let at = stage.at();
    stage.press(":").types("chat Are you there?").press("enter").shows("It is late.");
    let turns = |stage: &Stage, id| stage.play.loom.session(id).unwrap().turns;
    assert!(turns(&stage, first.id) > first.turns, "it went on in the session that was chosen");
    assert_eq!(turns(&stage, newer), 0);
    let here = stage.at();
    let loom = &stage.play.loom;
    let answer = loom.find_node(stage.play.tree, &here).unwrap();
    let above = loom.node(answer.parent.unwrap()).unwrap();
    assert_eq!(stage.play.id(above.parent.unwrap()), at, "from where it stood");
    // Another tree is another conversation.
    stage.press(":").types("new Elsewhere").press("enter").lacks("with collaborator");
}

#[test]
fn a_session_that_was_cut_off_says_so() {
    let mut stage = Stage::with([loomtree::provider::ScriptedReply::words("Hello.")]);
    // What a kill leaves: the question is saved, and no word of the answer.
    let session = stage.play.session("collaborator", stage.play.nine);
    let asked = loomtree::ops::NodeDraft::text("What did the light say?");
    stage.play.owner.clone().in_session(session).append(loomtree::types::Parent::Node(stage.play.nine), asked).unwrap();
    stage.press("s").types("What did").press("enter");
    stage.shows("this was not answered: its process ended before a word came").shows("with collaborator");
    stage.press("r").shows("Hello.");
}

#[test]
fn a_search_over_everything_goes_to_another_tree() {
    let mut stage = Stage::new();
    stage.press(":").types("new A harbour at night").press("enter").shows("1 node · 1 branch");
    stage.press("/").types("lighthouse").shows("nothing found").press("tab").shows("─ search everything");
    stage.shows("She was nine that summer.").shows("Marie Character Study").press("enter");
    stage.shows("Marie Character Study  6 nodes").shows("· depth 4");
    // What holds the words as they were typed comes first.
    stage.press("/").types("she").shows("─ search this tree");
    let screen = stage.screen();
    let hits: Vec<&str> = screen.lines().skip(3).take(3).collect();
    assert!(hits.iter().all(|hit| hit.to_lowercase().contains("she")), "{hits:?}");
}

#[test]
fn undo_and_redo_say_what_they_take_back_and_do_again() {
    let mut stage = Stage::new();
    let local = stage.play.id(stage.play.marie);
    for (keys, typed, name) in
        [("b", "the turn", "bookmarked"), ("a", "ask him", "annotated"), ("X", "", "excluded"), ("P", "", "pinned")]
    {
        stage.press(keys);
        if !typed.is_empty() {
            stage.types(typed).press("enter");
        }
        let changed = stage.screen();
        stage.press("u").shows(&format!("taken back: {name} {local}"));
        assert_ne!(marks(&stage.screen()), marks(&changed), "{name} is still there");
        stage.press("U").shows(&format!("done again: {name} {local}"));
        assert_eq!(marks(&stage.screen()), marks(&changed), "{name} is not there again");
    }
    assert_eq!(stage.at(), local);
    stage.keys("u u u u u u u").shows("undo");
}

/// The first lines of the tree, without what goes away by itself.
fn marks(screen: &str) -> Vec<String> {
    screen.lines().skip(1).take(6).map(str::to_owned).collect()
}

#[test]
fn the_context_pins_from_where_a_part_is_seen() {
    let mut stage = Stage::new();
    stage.keys("end c end P").shows("○ ⌖ Who is Marie?").keys("P").lacks("⌖");
    stage.press("enter").shows("· depth 0");
}

#[test]
fn commands_do_what_has_no_key() {
    let mut stage = Stage::new();
    let nine = stage.play.id(stage.play.nine);
    stage.press(":").types(&format!("go {}", &nine[..4])).press("enter").shows("· depth 4");
    stage.press(":").types("bookmark here").press("enter").shows("★ here");
    stage.press(":").types("model fast").press("enter").shows("fast ×3");
    stage.press(":").types("go nowhere").press("enter").shows("nowhere");
    stage.press(":").types("title").press("enter").shows(":title needs an argument");
    stage.press(":").types("help").press("enter").shows("─ keys ─").press("esc");
    stage.press(":").types("theme loud").press("enter").shows("dark|light|none");
    stage
        .press(":")
        .types("buffer One text.")
        .press("enter")
        .shows("1 node")
        .press("?")
        .press("end")
        .shows("a buffer tree");
}

#[test]
fn several_lines_are_written_and_said_as_they_stand() {
    let mut stage = Stage::new();
    stage.press("i").types("First.").press("alt-enter").types("Second.").press("ctrl-j").types("Third.");
    stage.shows("› First.").press("enter");
    let said = stage.at();
    let said = stage.play.loom.find_node(stage.play.tree, &said).unwrap();
    assert_eq!(said.content, "First.\nSecond.\nThird.");
    stage.press("i").types("Not this.").press("esc").shows("not sent").press("i").press("up").shows("› Not this.");
}

#[test]
fn who_presses_enter_before_the_hits_are_there_goes_to_the_first() {
    let mut stage = Stage::new();
    stage.send("/").sends("lighthouse").send("enter");
    stage.settle();
    stage.lacks("─ search").shows("· depth 4");
    stage.send("t").send("enter");
    stage.settle();
    stage.lacks("─ trees ─");
}
