//! Work that is handed over from the screen, and what agents ask a person there: goal and plan, changes of files.

use std::{sync::Arc, time::Duration};

use loomtree::{
    delegate::{self, AgentModel, DelegationEvent, LocalOrchestrator, OrchestratorConfig},
    provider::{Model, Prompt, Scripted, ScriptedReply},
    tui::{ApprovalQueue, ScreenSetup},
    types::{NewAgent, Permission, Permissions},
};
use serde_json::json;

use crate::{play::Play, stage::Stage};

const PASSED: &str = r#"{"passed": true, "why": "both coats are there"}"#;
const FAILED: &str = r#"{"passed": false, "why": "one coat is missing"}"#;

fn plan() -> ScriptedReply {
    let part = |id: &str, needs: &[&str]| json!({ "id": id, "title": format!("Paint the {id}"), "criteria": "two coats", "depends_on": needs });
    ScriptedReply::words(&json!({ "subtasks": [part("front", &[]), part("back", &["front"])] }).to_string())
}

fn never() -> ScriptedReply {
    ScriptedReply::chunks(["I begin ", "and never end."]).delayed(Duration::from_secs(3600))
}

/// A screen whose collaborator may delegate, to a crew that works and judges so.
struct Yard {
    stage: Stage,
    /// The collaborator.
    model: Arc<Scripted>,
    worker: Arc<Scripted>,
}

impl Yard {
    fn new(replies: &[&str], works: impl IntoIterator<Item = ScriptedReply>, verdicts: &[&str]) -> Self {
        let play = Play::new();
        let profile = play.loom.agent("collaborator").unwrap().profile;
        let permissions: Permissions = profile.permissions.iter().chain([Permission::Delegate]).collect();
        play.owner.update_agent(NewAgent { permissions, ..profile }).unwrap();
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
        Self { stage: Stage::changed(play, |play| play.marie, (100, 30), [], change), model, worker }
    }

    /// Writes a line, and waits until the plan is on the screen.
    fn asks(&mut self, key: &str, line: &str) -> &mut Stage {
        self.stage.press(key).sends(line).send("enter");
        self.stage.wait("may it?")
    }

    fn last(&self) -> DelegationEvent {
        delegate::list(&self.stage.play.loom).unwrap().remove(0).last
    }

    /// What the collaborator was told in its last round.
    fn told(&self) -> String {
        let requests = self.model.requests();
        let Prompt::Chat(messages) = &requests.last().unwrap().prompt else { panic!("a dialogue is a chat") };
        messages.last().unwrap().text()
    }
}

/// What the dialog on a screen says.
fn dialog(stage: &mut Stage) -> String {
    let screen = stage.screen();
    let lines = screen.lines().skip_while(|line| !line.contains('╭'));
    // Beside it stands what it does not cover.
    let widest = |line: &str| line.split('│').max_by_key(|part| part.chars().count()).map(str::to_owned);
    let inner = lines.skip(1).take_while(|line| !line.contains('╰')).filter_map(widest);
    inner.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// What the one column says, without its short ids.
fn column(stage: &mut Stage) -> String {
    let screen = stage.masked();
    let lines = screen.lines().skip_while(|line| !line.starts_with(" ────")).skip(1);
    let mut lines: Vec<&str> = lines.collect();
    // What the two lines at the bottom say is no part of it.
    lines.truncate(lines.len().saturating_sub(2));
    lines.join("\n").trim_end().to_owned()
}

const HANDS_OVER: [&str; 2] = ["I hand it over.\n→ delegate \"Paint the shed\" context:\"green\"\n", "So it is."];

#[test]
fn goal_and_plan_are_shown_and_a_yes_begins_the_work() {
    let mut yard =
        Yard::new(&HANDS_OVER, ["The front is done.", "The back is done."].map(ScriptedReply::words), &[PASSED; 2]);
    let stage = yard.asks(":", "chat Paint it.");
    insta::assert_snapshot!(dialog(stage), @r#"
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
    // A key that is pressed all the time agrees to nothing.
    stage.send("enter");
    stage.send("space");
    stage.shows("may it?");
    stage.press("y").shows("So it is.").lacks("may it?").lacks("generating");
    assert!(yard.told().contains("✓ task completed: \"Paint the shed\""), "{}", yard.told());
    assert_eq!(yard.last(), DelegationEvent::Ended);
}

#[test]
fn a_no_begins_nothing_and_the_model_is_told() {
    for key in ["n", "esc", "q"] {
        let mut yard = Yard::new(&HANDS_OVER, [], &[]);
        yard.asks(":", "chat Paint it.").press(key).shows("So it is.").lacks("may it?");
        assert!(yard.told().contains("✗ CANCELLED: delegate: it was refused"), "{}", yard.told());
        assert_eq!((yard.last(), yard.worker.requests().len()), (DelegationEvent::Refused, 0));
    }
}

#[test]
fn what_happens_is_shown_while_it_does_and_esc_stops_it() {
    let mut yard = Yard::new(&HANDS_OVER, [ScriptedReply::words("The front is done."), never()], &[PASSED]);
    yard.asks(":", "chat Paint it.").send("y");
    let stage = yard.stage.wait("[>] 2 Paint the back");
    insta::assert_snapshot!(column(stage), @r#"
    I hand it over.

    ......  is planned…
    ......  planned: 2 subtasks
    [>] 1 Paint the front  ......
    [x] 1 Paint the front
    [>] 2 Paint the back  ......
    "#);
    stage.press("esc").lacks("generating");
    assert_eq!(yard.last(), DelegationEvent::Stopped);
}

#[test]
fn the_persons_own_line_is_asked_about_watched_and_stopped_and_its_report_read() {
    let works = [ScriptedReply::words("One coat."), ScriptedReply::words("Two coats."), never()];
    let mut yard = Yard::new(&[], works, &[FAILED, PASSED]);
    yard.asks("i", "→ delegate \"Paint the shed\"").shows("1. Paint the front").send("y");
    let stage = yard.stage.wait("[>] 2 Paint the back");
    insta::assert_snapshot!(column(stage), @r#"
    ......  is planned…
    ......  planned: 2 subtasks
    [>] 1 Paint the front  ......
    [!] 1 Paint the front: one coat is missing
    [>] 1 Paint the front (attempt 2)  ......
    [x] 1 Paint the front
    [>] 2 Paint the back  ......
    "#);
    stage.press("esc");
    let report = dialog(stage);
    assert!(
        report.contains("✓ task stopped: \"Paint the shed\"") && report.contains("[x] Paint the front"),
        "{report}"
    );
    stage.press("esc").shows("· depth 1").lacks("task stopped");
    assert_eq!(yard.last(), DelegationEvent::Stopped);
    // The line can be written again.
    yard.stage.press("i").press("up").shows("→ delegate \"Paint the shed\"");
}

#[test]
fn work_that_nobody_waits_for_asks_when_nobody_writes_and_stops_with_the_screen() {
    let replies = ["I hand it over.\n→ delegate \"Paint the shed\" wait:no\n", "It is on its way."];
    let mut yard = Yard::new(&replies, [never()], &[]);
    yard.stage.press(":").sends("chat Paint it.").send("enter").wait("may it?").press("esc").shows("· depth");
    assert_eq!(yard.last(), DelegationEvent::Refused);

    let mut yard = Yard::new(&replies, [never()], &[]);
    yard.stage.press(":").sends("chat Paint it.").send("enter").wait("may it?").send("y");
    yard.stage.wait("Subtask 1 of");
    let Yard { stage, .. } = yard;
    stage.app.close(Duration::from_secs(20));
    assert_eq!(delegate::list(&stage.play.loom).unwrap().remove(0).last, DelegationEvent::Stopped);
}

#[test]
fn what_is_typed_is_no_answer() {
    let mut yard = Yard::new(&[], [], &[]);
    // The plan comes while somebody writes on.
    yard.stage.press("i").sends("→ delegate \"Paint the shed\"").send("enter").send("i").sends("yyy");
    yard.stage.wait("an agent asks").lacks("may it?").send("esc");
    yard.stage.wait("may it?").press("n");
    assert_eq!(yard.last(), DelegationEvent::Refused);
}

#[test]
fn a_question_that_nobody_waits_for_any_more_goes() {
    let mut yard = Yard::new(&HANDS_OVER, [], &[]);
    yard.asks(":", "chat Paint it.").press("ctrl-c").lacks("may it?").lacks("generating");
    assert!(matches!(yard.last(), DelegationEvent::Planned { .. }), "it can be agreed to when it is taken up");
}

#[cfg(feature = "workspace")]
mod folder {
    use std::fs;

    use loomtree::{
        session::ToolAccess,
        workspace::{Workspace, WorkspaceSettings},
    };

    use super::*;

    fn writes(name: &str) -> String {
        format!("I write it.\n→ write_file path:\"{name}\" content:\"green\"\n")
    }

    /// A screen whose collaborator works in a folder.
    fn screen(replies: &[String]) -> (Stage, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let change = |setup: &mut ScreenSetup| {
            let settings = WorkspaceSettings::new(Arc::new(setup.consent.clone()));
            let tools = Workspace::open(path, settings).unwrap().host_tools("collaborator").unwrap();
            setup.tools = Some(ToolAccess { tools: Arc::new(tools), ..setup.commands.clone() });
        };
        let replies = replies.iter().map(|reply| ScriptedReply::words(reply));
        (Stage::changed(Play::new(), |play| play.marie, (100, 30), replies, change), folder)
    }

    #[test]
    fn a_change_of_a_file_is_shown_and_done_after_a_yes() {
        let fine = || "Fine.".to_owned();
        let run = "→ run_command \"echo green > b.txt\"\n";
        let (mut stage, folder) = screen(&[
            writes("a.txt"),
            fine(),
            writes("c.txt"),
            fine(),
            run.to_owned(),
            run.to_owned(),
            fine(),
            writes("d.txt"),
        ]);
        stage.press(":").types("tools").press("enter").shows("it asks before it changes something");
        let chat = |stage: &mut Stage| {
            stage.press(":").sends("chat Do it.").send("enter");
            stage.wait("may it?");
        };
        chat(&mut stage);
        insta::assert_snapshot!(dialog(&mut stage), @r#"
        write_file: create a.txt (1 line)

        @@ -0,0 +1 @@
        +green
        \ No newline at end of file

        y yes   n no   A always
        "#);
        assert!(!folder.path().join("a.txt").exists());
        stage.press("y").shows("Fine.");
        assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "green");
        chat(&mut stage);
        stage.press("n").shows("Fine.");
        assert!(!folder.path().join("c.txt").exists());
        // Once for all: the same command again is not asked about.
        chat(&mut stage);
        stage
            .shows("run_command: echo green > b.txt")
            .send("a")
            .shows("b.txt")
            .press("A")
            .shows("Fine.")
            .lacks("may it?");
        assert!(folder.path().join("b.txt").exists());
        // The turn is stopped while it asks.
        chat(&mut stage);
        stage.press("ctrl-c").lacks("may it?").lacks("generating");
        assert!(!folder.path().join("d.txt").exists());
    }
}
