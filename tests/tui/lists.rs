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
    stage.keys("p y").shows("3 nodes").shows("pruned · u takes it back");
    stage.press("R").shows("Building on the trauma").press("enter");
    stage.shows("6 nodes").shows("Building on the trauma");
    stage.keys("u").shows("undid restore").shows("3 nodes");
    stage.keys("ctrl-r").shows("6 nodes");
}

#[test]
fn two_branches_are_compared_word_by_word() {
    let mut stage = Stage::new();
    stage.keys("l x j d");
    stage.shows("they part after").shows("[-Building on the trauma angle,-]{+Another reading:+} she [-avoids the");
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
    stage.shows("cut in two").shows("≡2");
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
fn errors_go_away_by_themselves() {
    let mut stage = Stage::new();
    stage.press("M").shows("mark another node with x first");
    assert!(stage.app.wakes().is_some(), "it is known when it goes");
    stage.press("esc").lacks("mark another node");
}

#[test]
fn pruned_and_purged_under_the_cursor_it_goes_to_what_is_left() {
    let mut stage = Stage::new();
    stage.keys("l l");
    let other = stage.play.scene.owner();
    other.prune(stage.play.trauma).unwrap();
    for _ in 0..400 {
        stage.settle();
        if stage.screen().contains("3 nodes") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    stage.shows("3 nodes").shows("· depth 1");
}
