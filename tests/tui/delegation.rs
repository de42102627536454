//! Delegation from the screen, and approvals of agents: plans and file changes.

use std::{sync::Arc, time::Duration};

use loomtree::{
    delegate::{self, AgentModel, DelegationEvent, LocalOrchestrator, OrchestratorConfig},
    provider::{Model, Prompt, Scripted, ScriptedReply},
    tui::{ApprovalQueue, ScreenSetup},
};
use serde_json::json;

use crate::{harness::Harness, play::Play};

const PASSED: &str = r#"{"passed": true, "why": "both coats are there"}"#;
const FAILED: &str = r#"{"passed": false, "why": "one coat is missing"}"#;

fn plan() -> ScriptedReply {
    let part = |id: &str, needs: &[&str]| json!({ "id": id, "title": format!("Paint the {id}"), "criteria": "two coats", "depends_on": needs });
    ScriptedReply::words(&json!({ "subtasks": [part("front", &[]), part("back", &["front"])] }).to_string())
}

fn endless() -> ScriptedReply {
    ScriptedReply::chunks(["I begin ", "and never end."]).delayed(Duration::from_secs(3600))
}

/// Screen of a collaborator that delegates, with scripted worker and judge.
struct DelegationScreen {
    harness: Harness,
    /// Model of the collaborator.
    model: Arc<Scripted>,
    worker: Arc<Scripted>,
}

impl DelegationScreen {
    fn new(replies: &[&str], works: impl IntoIterator<Item = ScriptedReply>, verdicts: &[&str]) -> Self {
        let play = Play::new();
        let scripted = |name: &str, replies: Vec<ScriptedReply>| Arc::new(Scripted::new(replies).with_reference(name));
        let model = scripted("test:scripted", replies.iter().copied().map(ScriptedReply::words).collect());
        let planner = scripted("test:planner", vec![plan()]);
        let worker = scripted("test:worker", works.into_iter().collect());
        let judge = scripted("test:judge", verdicts.iter().copied().map(ScriptedReply::words).collect());
        let consent = ApprovalQueue::default();
        let member = |agent: &str, model: &Arc<Scripted>| AgentModel {
            agent: play.loom.agent(agent).unwrap(),
            model: Arc::clone(model) as Arc<dyn Model>,
        };
        let models: Arc<dyn Model> = model.clone();
        let crew = OrchestratorConfig::new(
            member("collaborator", &planner),
            member("collaborator", &worker),
            member("subject", &judge),
            Arc::new(Arc::clone(&models)),
            Arc::new(consent.clone()),
        );
        let crew = OrchestratorConfig { parallel: 1, ..crew };
        let change = |setup: &mut ScreenSetup| {
            setup.consent = consent;
            setup.commands.models = Arc::new(models);
            setup.commands.orchestrator = Some(Arc::new(LocalOrchestrator::new(crew)));
        };
        Self { harness: Harness::with_setup(play, |play| play.marie, (100, 30), [], change), model, worker }
    }

    /// Submits a line and waits for the approval dialog of the plan.
    fn request_plan(&mut self, key: &str, line: &str) -> &mut Harness {
        self.harness.press(key).type_queued(line).send("enter");
        self.harness.wait_for("allow it?")
    }

    fn last_event(&self) -> DelegationEvent {
        delegate::list(&self.harness.play.loom).unwrap().remove(0).last
    }

    /// Last message of the collaborator's last prompt.
    fn last_prompt(&self) -> String {
        let requests = self.model.requests();
        let Prompt::Chat(messages) = &requests.last().unwrap().prompt else { panic!("a dialogue is a chat") };
        messages.last().unwrap().text()
    }
}

/// Text of the open dialog.
fn dialog(harness: &mut Harness) -> String {
    let screen = harness.screen();
    let lines = screen.lines().skip_while(|line| !line.contains('╭'));
    // Each row also has parts of the panes beside the dialog.
    let widest = |line: &str| line.split('│').max_by_key(|part| part.chars().count()).map(str::to_owned);
    let inner = lines.skip(1).take_while(|line| !line.contains('╰')).filter_map(widest);
    inner.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Text of the only column, with masked ids.
fn column(harness: &mut Harness) -> String {
    let screen = harness.masked();
    let lines = screen.lines().skip_while(|line| !line.starts_with(" ────")).skip(1);
    let mut lines: Vec<&str> = lines.collect();
    // The two bottom lines are not part of the column.
    lines.truncate(lines.len().saturating_sub(2));
    lines.join("\n").trim_end().to_owned()
}

const DELEGATING_REPLIES: [&str; 2] =
    ["I hand it over.\n→ delegate \"Paint the shed\" context:\"green\"\n", "So it is."];

#[test]
fn goal_and_plan_are_shown_and_approval_starts_the_work() {
    let mut screen = DelegationScreen::new(
        &DELEGATING_REPLIES,
        ["The front is done.", "The back is done."].map(ScriptedReply::words),
        &[PASSED; 2],
    );
    let harness = screen.request_plan(":", "chat Paint it.");
    insta::assert_snapshot!(dialog(harness), @r#"
    delegate: 2 subtasks: Paint the shed

    Delegated: Paint the shed

    Context:
    green

    1. Paint the front
       done when: two coats
    2. Paint the back (after 1)
       done when: two coats

    y yes   n no
    "#);
    // Frequent keys approve nothing.
    harness.send("enter");
    harness.send("space");
    harness.shows("allow it?");
    harness.press("y").shows("So it is.").lacks("allow it?").lacks("generating");
    assert!(screen.last_prompt().contains("✓ task completed: \"Paint the shed\""), "{}", screen.last_prompt());
    assert_eq!(screen.last_event(), DelegationEvent::Ended);
}

#[test]
fn yes_is_refused_before_the_end_of_the_question() {
    let mut screen = DelegationScreen::new(
        &DELEGATING_REPLIES,
        ["The front is done.", "The back is done."].map(ScriptedReply::words),
        &[PASSED; 2],
    );
    screen.harness.resize(100, 12);
    let harness = screen.request_plan(":", "chat Paint it.");
    harness.shows("Delegated: Paint the shed").lacks("2. Paint the back").lacks("y yes");
    harness.send("y").send("Y").shows("allow it?").shows("read to the end to answer yes");
    harness.send("pagedown").shows("2. Paint the back").shows("y yes").shows("allow it?");
    assert_eq!(screen.worker.requests().len(), 0);
    screen.harness.press("y").shows("So it is.").lacks("allow it?");
    assert_eq!(screen.last_event(), DelegationEvent::Ended);
}

#[test]
fn refusing_a_plan_starts_no_work_and_reaches_the_model() {
    for key in ["n", "esc", "q"] {
        let mut screen = DelegationScreen::new(&DELEGATING_REPLIES, [], &[]);
        screen.request_plan(":", "chat Paint it.").press(key).shows("So it is.").lacks("allow it?");
        assert!(screen.last_prompt().contains("✗ CANCELLED: delegate: it was refused"), "{}", screen.last_prompt());
        assert_eq!((screen.last_event(), screen.worker.requests().len()), (DelegationEvent::Refused, 0));
    }
}

#[test]
fn progress_is_shown_and_esc_stops_the_work() {
    let mut screen =
        DelegationScreen::new(&DELEGATING_REPLIES, [ScriptedReply::words("The front is done."), endless()], &[PASSED]);
    screen.request_plan(":", "chat Paint it.").send("y");
    let harness = screen.harness.wait_for("[>] 2 Paint the back");
    insta::assert_snapshot!(column(harness), @r#"
    I hand it over.

    ......  planning…
    ......  planned: 2 subtasks
    [>] 1 Paint the front  ......
    [x] 1 Paint the front
    [>] 2 Paint the back  ......
    "#);
    harness.press("esc").lacks("generating");
    assert_eq!(screen.last_event(), DelegationEvent::Stopped);
}

#[test]
fn a_delegate_line_of_the_user_is_approved_watched_and_stopped() {
    let works = [ScriptedReply::words("One coat."), ScriptedReply::words("Two coats."), endless()];
    let mut screen = DelegationScreen::new(&[], works, &[FAILED, PASSED]);
    screen.request_plan("i", "→ delegate \"Paint the shed\"").shows("1. Paint the front").send("y");
    let harness = screen.harness.wait_for("[>] 2 Paint the back");
    insta::assert_snapshot!(column(harness), @r#"
    ......  planning…
    ......  planned: 2 subtasks
    [>] 1 Paint the front  ......
    [!] 1 Paint the front: one coat is missing
    [>] 1 Paint the front (attempt 2)  ......
    [x] 1 Paint the front
    [>] 2 Paint the back  ......
    "#);
    harness.press("esc");
    let report = dialog(harness);
    assert!(
        report.contains("✗ task stopped: \"Paint the shed\"") && report.contains("[x] Paint the front"),
        "{report}"
    );
    harness.press("esc").shows("· depth 1").lacks("task stopped");
    assert_eq!(screen.last_event(), DelegationEvent::Stopped);
    // The history recalls the line.
    screen.harness.press("i").press("up").shows("→ delegate \"Paint the shed\"");
}

#[test]
fn background_work_asks_for_approval_and_stops_with_the_screen() {
    let replies = ["I hand it over.\n→ delegate \"Paint the shed\" wait:no\n", "It is on its way."];
    let mut screen = DelegationScreen::new(&replies, [endless()], &[]);
    screen
        .harness
        .press(":")
        .type_queued("chat Paint it.")
        .send("enter")
        .wait_for("allow it?")
        .press("esc")
        .shows("· depth");
    // The delegation runs in the background: its refusal is recorded some time after the answer.
    let loom = screen.harness.play.loom.clone();
    screen.harness.wait_until("refused", |_| delegate::list(&loom).unwrap()[0].last == DelegationEvent::Refused);

    let mut screen = DelegationScreen::new(&replies, [endless()], &[]);
    screen.harness.press(":").type_queued("chat Paint it.").send("enter").wait_for("allow it?").send("y");
    screen.harness.wait_for("Subtask 1 of");
    let DelegationScreen { harness, .. } = screen;
    harness.app.close(Duration::from_secs(20));
    assert_eq!(delegate::list(&harness.play.loom).unwrap().remove(0).last, DelegationEvent::Stopped);
}

#[test]
fn progress_and_end_of_background_work_are_notices() {
    let replies = ["I hand it over.\n→ delegate \"Paint the shed\" wait:no\n", "It is on its way."];
    let front = || ScriptedReply::words("The front is done.");
    let start = |works: [ScriptedReply; 2], verdicts: &[&str]| {
        let mut screen = DelegationScreen::new(&replies, works, verdicts);
        screen.harness.press(":").type_queued("chat Paint it.").send("enter").wait_for("allow it?").send("y");
        screen
    };
    let mut screen = start([front(), endless()], &[PASSED]);
    screen.harness.wait_for("[>] 2 Paint the back");
    let mut screen = start([front(), ScriptedReply::words("The back is done.")], &[PASSED, FAILED, FAILED]);
    let ended = "✗ task ended, not completed: \"Paint the shed\"";
    let head = |screen: &DelegationScreen| {
        screen.harness.play.id(delegate::list(&screen.harness.play.loom).unwrap()[0].head.id)
    };
    let id = head(&screen);
    screen.harness.wait_for(&format!("{id}  {ended}"));
}

#[test]
fn typed_text_answers_no_approval() {
    // The plan arrives while the user types; on a busy machine it may come before the typing begins.
    let mut screen = (0..20)
        .find_map(|_| {
            let mut screen = DelegationScreen::new(&[], [], &[]);
            let harness = screen.harness.press("i").type_queued("→ delegate \"Paint the shed\"");
            harness.send("enter").send("i").type_queued("yyy");
            harness.wait_until("the plan", |screen| screen.contains("an agent asks") || screen.contains("allow it?"));
            screen.harness.screen().contains("an agent asks").then_some(screen)
        })
        .expect("a plan that arrives while the user types");
    screen.harness.lacks("allow it?").send("esc");
    screen.harness.wait_for("allow it?").press("n");
    assert_eq!(screen.last_event(), DelegationEvent::Refused);
}

#[test]
fn cancelling_the_turn_withdraws_the_approval() {
    let mut screen = DelegationScreen::new(&DELEGATING_REPLIES, [], &[]);
    screen.request_plan(":", "chat Paint it.").press("ctrl-c").lacks("allow it?").lacks("generating");
    assert!(matches!(screen.last_event(), DelegationEvent::Planned { .. }), "it can be agreed to when it is taken up");
}

#[cfg(feature = "workspace")]
mod folder {
    use std::fs;

    use loomtree::workspace::{Workspace, WorkspaceSettings};

    use super::*;

    fn write_reply(name: &str) -> String {
        format!("I write it.\n→ write_file path:\"{name}\" content:\"green\"\n")
    }

    /// Screen whose collaborator has the tools of a folder.
    fn folder_screen(replies: &[String]) -> (Harness, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let change = |setup: &mut ScreenSetup| {
            let settings = WorkspaceSettings::new(Arc::new(setup.consent.clone()));
            let tools = Workspace::open(path, settings).unwrap().host_tools("collaborator").unwrap();
            setup.tools = Some(setup.commands.clone().tools(Arc::new(tools)));
        };
        let replies = replies.iter().map(|reply| ScriptedReply::words(reply));
        (Harness::with_setup(Play::new(), |play| play.marie, (100, 30), replies, change), folder)
    }

    #[test]
    fn a_file_change_is_shown_and_runs_after_approval() {
        let fine = || "Fine.".to_owned();
        let run = "→ run_command \"echo green > b.txt\"\n";
        let (mut harness, folder) = folder_screen(&[
            write_reply("a.txt"),
            fine(),
            write_reply("c.txt"),
            fine(),
            run.to_owned(),
            run.to_owned(),
            fine(),
            write_reply("d.txt"),
        ]);
        harness.press(":").type_text("tools").press("enter").shows("it asks before it changes something");
        let chat = |harness: &mut Harness| {
            harness.press(":").type_queued("chat Do it.").send("enter");
            harness.wait_for("allow it?");
        };
        chat(&mut harness);
        insta::assert_snapshot!(dialog(&mut harness), @r#"
        write_file: create a.txt (1 line)

        @@ -0,0 +1 @@
        +green
        \ No newline at end of file

        y yes   n no   A always
        "#);
        assert!(!folder.path().join("a.txt").exists());
        harness.press("y").shows("Fine.");
        assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "green");
        chat(&mut harness);
        harness.press("n").shows("Fine.");
        assert!(!folder.path().join("c.txt").exists());
        // After "always", the same command needs no approval.
        chat(&mut harness);
        harness
            .shows("run_command: echo green > b.txt")
            .send("a")
            .shows("b.txt")
            .press("A")
            .shows("Fine.")
            .lacks("allow it?");
        assert!(folder.path().join("b.txt").exists());
        // The turn is cancelled during the request.
        chat(&mut harness);
        harness.press("ctrl-c").lacks("allow it?").lacks("generating");
        assert!(!folder.path().join("d.txt").exists());
    }
}
