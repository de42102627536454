//! Lists, pages and dialogs.

use std::sync::Arc;

use loomtree::{
    ops::NodeDraft,
    provider::Model,
    session::{BoxFuture, ModelResolver, ToolAccess},
    tools::{ErrorCode, ToolError},
    tui::ScreenSetup,
    types::{Agent, Parent, SummarySubject},
};

use crate::{harness::Harness, play::Play};

#[test]
fn search_updates_while_typing_and_jumps_to_a_hit() {
    let mut harness = Harness::new();
    harness.press("/").type_text("light");
    harness.shows("She was nine that summer.");
    harness.type_text("house").shows("lighthouse");
    harness.press("enter").shows("· depth 4").lacks("─ search");
    harness.press("/").type_text("tired").press("tab");
    harness.shows("search everything").shows("only tired");
    harness.press("tab").shows("search this path").lacks("only tired").shows("nothing found");
    harness.press("esc").shows("· depth 4");
}

#[test]
fn search_marks_near_results_and_shows_the_neighbours_of_a_hit() {
    let mut harness = Harness::new();
    let play = &harness.play;
    let say = |at, text: &str| play.owner.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id;
    let late = say(play.tired, "The harbour ferry is late.");
    say(late, "Nobody waits for it.");
    say(play.nine, "A ferry without lamps.");
    // A word deep in a long text is in view.
    say(play.nine, &format!("{} the zeppelin lands.", "Fog and more fog. ".repeat(40)));
    harness.press("/").type_text("harbour ferry");
    harness.shows("harbour ferry is late").shows("before").shows("only tired").shows("after").shows("Nobody waits");
    let screen = harness.screen();
    let line_with =
        |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{screen}"));
    assert!(line_with("without lamps").contains("near ") && !line_with("is late").contains("near "), "{screen}");
    harness.press("esc").press("/").type_text("zeppelin").shows("the zeppelin lands");
}

#[test]
fn changes_of_an_agent_are_reported_and_undone_from_the_log() {
    let mut harness = Harness::new();
    let collaborator = harness.play.loom.actor(&harness.play.loom.agent("collaborator").unwrap());
    let pruned = harness.play.id(harness.play.tired);
    harness.shows("Another reading");
    collaborator.prune(harness.play.tired).unwrap();
    harness.wait_for(&format!("collaborator pruned {pruned} · :log")).lacks("Another reading");
    harness.press(":").type_text("log").press("enter").shows(&format!("pruned {pruned}"));
    harness.press("enter").shows(&format!("Undo the last change of collaborator: pruned {pruned}?"));
    harness.press("y").shows("undone: pruned").shows("Another reading");
    // A note changes nothing that was there.
    collaborator.annotate(harness.play.nine, "a note").unwrap();
    harness.wait_for("✎").lacks("annotated");
}

#[test]
fn pruning_asks_with_a_count_and_is_undone() {
    let mut harness = Harness::new();
    harness.keys("l p");
    harness.shows("Prune this node and 2 below it?");
    harness.press("n").shows("6 nodes");
    harness.keys("p y").shows("3 nodes").shows("pruned · u undoes it");
    harness.press("R").shows("Building on the trauma").press("enter");
    harness.shows("6 nodes").shows("Building on the trauma");
    harness.keys("u").shows("undone: restored").shows("3 nodes");
    harness.keys("ctrl-r").shows("6 nodes");
}

#[test]
fn branches_are_compared_by_node_and_word() {
    let mut harness = Harness::with_size(100, 24);
    // A version of a branch's first node with a copy of the rest: similar nodes are compared by words.
    let words = "Building on the trauma angle, she still avoids the grey sea.";
    let worded = harness.play.owner.edit(harness.play.trauma, words).unwrap().nodes[0].id;
    let copied = harness.play.owner.copy_branch(harness.play.go_on, worded).unwrap().nodes[0].id;
    let [nine, worded, copied] = [harness.play.nine, worded, copied].map(|node| harness.play.id(node));
    harness.keys("end x").press(":").type_text(&format!("go {copied}")).press("enter").press("d");
    harness.shows(&format!("{nine} → {copied}")).shows(&format!("→ {worded}"));
    harness.shows("she {+still +}avoids the {+grey +}sea.");
    harness.shows("= owner").shows("Go on.");
    // Nodes of one branch only.
    harness.shows("- collaborator").shows("The lighthouse was dark.");
    harness.lacks("there is no difference");
}

#[test]
fn the_context_view_shows_sections_and_excludes_nodes() {
    let mut harness = Harness::new();
    harness.keys("end c");
    harness.shows("the conversation").shows("in all,").shows("Go on.");
    harness.keys("end X");
    harness.shows("out: excluded");
    harness.keys("X").lacks("out: excluded");
    harness.press("esc").lacks("in all,");
}

/// A resolver that knows the window of every model and opens none.
struct SmallWindow;

impl ModelResolver for SmallWindow {
    fn open<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        Box::pin(async { Err(ToolError::new(ErrorCode::NotConfigured, "no model")) })
    }

    fn known_window(&self, _: &str) -> Option<usize> {
        Some(8_192)
    }
}

#[test]
fn the_context_view_uses_the_window_of_the_model() {
    let at = |play: &Play| play.marie;
    let small = |setup: &mut ScreenSetup| setup.commands = ToolAccess::new(Arc::new(SmallWindow));
    let mut harness = Harness::with_setup(Play::new(), at, (100, 24), [], small);
    harness.press("c").shows("% of 7,168");
}

#[test]
fn texts_are_edited_split_and_merged() {
    let mut harness = Harness::new();
    harness.keys("l e");
    harness.type_text(" Indeed.").press("ctrl-s");
    harness.shows("sea. Indeed.").shows("branch 3/3");
    harness.keys("S right right right right right right right right enter");
    harness.shows("split in two").shows("≡2");
    let mut harness = Harness::new();
    harness.keys("l x j x h M");
    // The input begins with the texts of the sources.
    harness.type_text(" Both at once.").press("ctrl-s");
    harness.shows("Both at once.").shows("merged");
    let merged = harness.cursor();
    let merged = harness.play.loom.find_node(harness.play.tree, &merged).unwrap();
    let sources = [harness.play.trauma, harness.play.tired, harness.play.marie];
    let sources = sources.map(|source| harness.play.loom.node(source).unwrap().content).join("\n\n");
    assert_eq!(merged.content, format!("{sources} Both at once."));
    harness.keys("h x l M ctrl-home ctrl-k").keys(&"ctrl-k ".repeat(20)).press("ctrl-s").shows("the text is empty");
    // The edit of a root is a version in a dialogue too.
    harness.keys("0 e").type_text(" Who?").press("ctrl-s").shows("saved as a version");
}

#[test]
fn trees_are_created_titled_and_switched() {
    let mut harness = Harness::new();
    harness.press(":").type_text("new Another beginning").press("enter");
    harness.shows("Another beginning").shows("1 node · 1 branch");
    harness.press(":").type_text("title The second").press("enter").shows("The second");
    harness.press("t").type_text("marie").press("enter");
    harness.shows("Marie Character Study").shows("6 nodes");
    let (of, made) = (SummarySubject::Tree(harness.play.tree), (6, 1 << 40));
    harness.play.owner.save_summary(of, made, "scripted:words", "Marie waits for a\u{1b}[2J ferry.").unwrap();
    harness.press("t").shows("─ trees ─").shows("The second").lacks("waits for");
    harness.press("down").shows("Marie waits for a[2J ferry.").press("esc");
    harness.press(":").type_text("fly").press("enter").shows("there is no :fly").shows(":chat TEXT");
    harness.shows(":session new|name|end|reset  begin, name");
}

#[test]
fn sessions_are_begun_named_reset_and_ended() {
    let mut harness = Harness::new();
    harness.press(":").type_text("session end").press("enter").shows("has no session in this tree yet");
    harness.press(":").type_text("session new prices").press("enter").shows("prices").shows("with collaborator");
    let loom = harness.play.loom.clone();
    let session = loom.find_session_named("prices").unwrap();
    harness.press(":").type_text("session name costs").press("enter").shows("the session is named");
    assert_eq!(loom.session(session.id).unwrap().name(), Some("costs"));
    harness.press("i").type_text("How much?").press("enter").shows("How much?");
    harness.press(":").type_text("session reset").press("enter").lacks("How much?").shows("with collaborator");
    let reset = loom.session(session.id).unwrap();
    assert!(reset.tree != session.tree && reset.since > 0);
    harness.press(":").type_text("session end").press("enter").shows("has ended").lacks("with collaborator");
    assert!(!loom.session(session.id).unwrap().active);
    harness.press(":").type_text("session").press("enter").shows(":session needs an argument");
}

#[test]
fn folding_and_hoisting_hide_lines() {
    let mut harness = Harness::new();
    harness.keys("l z").lacks("○ Go on.").keys("z").shows("○ Go on.");
    harness.keys("h z").lacks("○ Go on.").keys("l").shows("○ Go on.");
    harness.keys("Z").lacks("Another reading").shows("hoisted").keys("h").shows("· hoisted");
    harness.keys("Z").shows("Another reading");
}

#[test]
fn history_recalls_lines() {
    let mut harness = Harness::new();
    harness.press("i").type_text("One.").press("enter");
    harness.press("i").type_text("Two.").press("enter");
    harness.press("i").type_text("thr").keys("up up").shows("› One.");
    harness.keys("down").shows("› Two.").keys("down").shows("› thr").press("esc");
}

#[test]
fn undoing_an_edit_selects_the_original() {
    let mut harness = Harness::new();
    harness.keys("l j e").type_text(" Or not.").keys("ctrl-s u");
    assert_eq!(harness.cursor(), harness.play.id(harness.play.tired));
    harness.shows(&format!("undone: edited {}", harness.play.id(harness.play.tired)));
}

#[test]
fn unsaved_text_is_restored() {
    let mut harness = Harness::new();
    harness.keys("l j e").type_text(" Or not").press("esc").shows("not saved; the same key here continues it");
    // Another node has its own input.
    harness
        .keys("h e")
        .lacks("Or not")
        .press("esc")
        .keys("l e")
        .shows("tired. Or not")
        .type_text(" so.")
        .press("ctrl-s");
    harness.shows("Another reading: she is only tired. Or not").shows(" so.");
    harness.press("a").type_text("half a no").press("ctrl-c").press("a").shows("✎ half a no").press("esc");
}

#[test]
fn quitting_asks_about_a_message_that_was_not_sent() {
    let mut harness = Harness::new();
    harness.press("i").type_text("Half a sen").press("esc").press("q").shows("A text is not saved. Quit").press("esc");
    harness.press("i").type_text("Another").keys("ctrl-c ctrl-c").shows("A text is not saved. Quit").press("esc");
    harness.press("i").press("up").type_text(" way.").press("enter").shows("Another way.");
    // A line of the history that was only looked at is no unsent message.
    harness.keys("i up esc q");
    assert!(harness.app.has_ended());
}

#[test]
fn a_long_error_is_shown_in_full() {
    let mut harness = Harness::with_size(40, 12);
    let before = harness.screen();
    harness.press(":").type_text("go nowhere-that-anybody-has-ever-been-to-or-heard-of").press("enter");
    let screen = harness.screen();
    let said: Vec<&str> = screen.lines().rev().skip(1).take(3).collect();
    let said: String = said.into_iter().rev().map(str::trim).collect::<Vec<_>>().join(" ");
    assert!(said.contains("nowhere-") && said.contains("heard-of"), "{screen}");
    // The layout does not move.
    assert_eq!(screen.lines().next(), before.lines().next());
    harness.press("esc");
    assert_eq!(harness.screen(), before);
}

#[test]
fn errors_disappear() {
    let mut harness = Harness::new();
    harness.press("M").shows("mark another node with x first");
    assert!(harness.app.next_wake().is_some(), "it is known when it goes");
    harness.press("esc").lacks("mark another node");
}

#[test]
fn the_cursor_moves_off_pruned_nodes() {
    let mut harness = Harness::new();
    harness.keys("l l");
    let other = harness.play.scene.owner();
    other.prune(harness.play.trauma).unwrap();
    harness.wait_for("3 nodes").wait_for("· depth 1");
}

#[test]
fn a_resumed_session_continues_with_its_agent() {
    let mut harness = Harness::with_replies(
        ["Hello.", "It is late.", "Yes, still me."].map(loomtree::provider::ScriptedReply::words),
    );
    harness.press(":").type_text("chat Good evening.").press("enter").shows("Hello.");
    let sessions = |harness: &Harness| {
        let agent = Some(harness.play.loom.agent("collaborator").unwrap().id());
        let filter = loomtree::store::SessionFilter::default().agent(agent);
        harness.play.loom.sessions(&filter).unwrap()
    };
    let first = sessions(&harness).remove(0);
    // A newer session, which would be the default.
    harness.play.later(60);
    let newer = harness.play.session("collaborator", harness.play.tired);
    harness.keys("0").shows("· depth 0");
    harness.press("s").shows("collaborator").shows("Good evening.");
    // The filter matches the agent's name.
    harness.type_text("collaborator").press("enter");
    harness.shows("collaborator continues from here").shows("with collaborator").shows("· depth 3");
    let at = harness.cursor();
    harness.press(":").type_text("chat Are you there?").press("enter").shows("It is late.");
    let turns = |harness: &Harness, id| harness.play.loom.session(id).unwrap().turns;
    assert!(turns(&harness, first.id) > first.turns, "it went on in the session that was chosen");
    assert_eq!(turns(&harness, newer), 0);
    let here = harness.cursor();
    let loom = &harness.play.loom;
    let answer = loom.find_node(harness.play.tree, &here).unwrap();
    let above = loom.node(answer.parent.unwrap()).unwrap();
    assert_eq!(harness.play.id(above.parent.unwrap()), at, "from where it stood");
    // Opening another tree resets the agent.
    harness.press(":").type_text("new Elsewhere").press("enter").lacks("with collaborator");
}

#[test]
fn resuming_an_interrupted_session_reports_it() {
    let mut harness = Harness::with_replies([loomtree::provider::ScriptedReply::words("Hello.")]);
    // State after a crash: a saved message without a reply.
    let session = harness.play.session("collaborator", harness.play.nine);
    let asked = loomtree::ops::NodeDraft::text("What did the light say?");
    harness
        .play
        .owner
        .clone()
        .in_session(session)
        .append(loomtree::types::Parent::Node(harness.play.nine), asked)
        .unwrap();
    harness.press("s").type_text("What did").press("enter");
    harness.shows("this was not answered: its process ended before a word came").shows("with collaborator");
    harness.press("r").shows("Hello.");
}

#[test]
fn search_over_everything_opens_another_tree() {
    let mut harness = Harness::new();
    harness.press(":").type_text("new A harbour at night").press("enter").shows("1 node · 1 branch");
    harness.press("/").type_text("lighthouse").shows("nothing found").press("tab").shows("─ search everything");
    harness.shows("She was nine that summer.").shows("Marie Character Study").press("enter");
    harness.shows("Marie Character Study  6 nodes").shows("· depth 4");
    // Exact matches come first.
    harness.press("/").type_text("she").shows("─ search this tree");
    let screen = harness.screen();
    let hits: Vec<&str> = screen.lines().skip(3).take(3).collect();
    assert!(hits.iter().all(|hit| hit.to_lowercase().contains("she")), "{hits:?}");
}

#[test]
fn undo_and_redo_name_the_change() {
    let mut harness = Harness::new();
    let local = harness.play.id(harness.play.marie);
    for (keys, typed, name) in
        [("b", "the turn", "bookmarked"), ("a", "ask him", "annotated"), ("X", "", "excluded"), ("P", "", "pinned")]
    {
        harness.press(keys);
        if !typed.is_empty() {
            harness.type_text(typed).press("enter");
        }
        let changed = harness.screen();
        harness.press("u").shows(&format!("undone: {name} {local}"));
        assert_ne!(marks(&harness.screen()), marks(&changed), "{name} is still there");
        harness.press("U").shows(&format!("redone: {name} {local}"));
        assert_eq!(marks(&harness.screen()), marks(&changed), "{name} is not there again");
    }
    assert_eq!(harness.cursor(), local);
    harness.keys("u u u u u u u").shows("undo");
}

/// First lines of the tree, without notices.
fn marks(screen: &str) -> Vec<String> {
    screen.lines().skip(1).take(6).map(str::to_owned).collect()
}

#[test]
fn the_context_view_pins_nodes() {
    let mut harness = Harness::new();
    harness.keys("end c end P").shows("○ ⌖ Who is Marie?").keys("P").lacks("⌖");
    harness.press("enter").shows("· depth 0");
}

#[test]
fn colon_commands_work() {
    let mut harness = Harness::new();
    let nine = harness.play.id(harness.play.nine);
    harness.press(":").type_text(&format!("go {}", &nine[..4])).press("enter").shows("· depth 4");
    harness.press(":").type_text("bookmark here").press("enter").shows("★ here");
    harness.press(":").type_text("model fast").press("enter").shows("fast ×3");
    harness.press(":").type_text("model nope").press("enter").shows("unknown model nope").shows("fast ×3");
    harness.press("m").type_text("nope").press("enter").press("esc").shows("unknown model nope").shows("fast ×3");
    harness.press(":").type_text("model ollama:nope").press("enter").shows("2 models ×3");
    harness.press(":").type_text("go nowhere").press("enter").shows("nowhere");
    harness.press(":").type_text("title").press("enter").shows(":title needs an argument");
    harness.press(":").type_text("help").press("enter").shows("─ keys ─").press("esc");
    harness.press(":").type_text("theme loud").press("enter").shows("dark|light|none");
    harness
        .press(":")
        .type_text("buffer One text.")
        .press("enter")
        .shows("1 node")
        .press("?")
        .press("end")
        .shows("a buffer tree");
}

#[test]
fn a_message_of_several_lines_is_appended_verbatim() {
    let mut harness = Harness::new();
    harness.press("i").type_text("First.").press("alt-enter").type_text("Second.").press("ctrl-j").type_text("Third.");
    harness.shows("› First.").press("enter");
    let said = harness.cursor();
    let said = harness.play.loom.find_node(harness.play.tree, &said).unwrap();
    assert_eq!(said.content, "First.\nSecond.\nThird.");
    harness
        .press("i")
        .type_text("Not this.")
        .press("esc")
        .shows("not sent")
        .press("i")
        .press("up")
        .shows("› Not this.");
}

#[test]
fn early_enter_selects_the_first_hit() {
    let mut harness = Harness::new();
    harness.send("/").type_queued("lighthouse").send("enter");
    harness.settle();
    harness.lacks("─ search").shows("· depth 4");
    harness.send("t").send("enter");
    harness.settle();
    harness.lacks("─ trees ─");
}

#[test]
fn files_are_imported_and_exported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut harness = Harness::with_size(120, 24);
    let out = folder.path().join("talk.jsonl");
    harness.press(":").type_text(&format!("export openai-chat {}", out.display())).press("enter").shows("wrote");
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("{\"messages\":["));
    harness.press(":").type_text(&format!("export openai-chat {}", out.display())).press("enter");
    harness.shows("already exists; nothing was written");
    for (format, begins) in [("markdown", "### owner · "), ("prose", "Who is Marie?"), ("jsonl", "{")] {
        let out = folder.path().join(format);
        harness.press(":").type_text(&format!("export {format} {}", out.display())).press("enter").shows("wrote");
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(text.starts_with(begins) && text.contains("reluctance"), "{text}");
    }
    harness.press(":").type_text("export bird x").press("enter").shows("no format").shows("markdown");
    harness.press(":").type_text("import").press("enter").shows(":import FILE");
    let chats = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/open-webui/chats.json");
    harness.press(":").type_text(&format!("import {chats}")).press("enter").shows("4 messages");
    harness.press(":").type_text(&format!("import {}", folder.path().display())).press("enter").shows("not a file");
}
