//! Tests of delegations with scripted models in a real store, including kills, stops and resumes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use crate::support;
use crate::support::child;
#[allow(dead_code)] // not all of it is needed here
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use loomtree::{
    context::ContextOptions,
    delegate::{
        self, AgentModel, CheckResult, DelegationEvent, DelegationReport, DelegationStatus, DelegationUpdate,
        LazyOrchestrator, LocalOrchestrator, Orchestrator, OrchestratorConfig, RunContext, SubtaskStatus, WorkerTools,
    },
    exec::{Executor, NoHost, recent_actions},
    id::{NodeId, SessionId},
    ops::{Actor, TreeDraft},
    provider::{Finish, FinishReason, Generation, Model, Prompt, Request, Scripted, ScriptedReply, ToolCall, Usage},
    session::{
        Approval, ApprovalRequest, BoxFuture, Decision, GenerateRequest, Progress, ToolAccess, ToolHandler, actor_at,
        generate, stats,
    },
    store::{GenerationFilter, SessionFilter},
    tools::{ErrorCode, HostTool, ToolError},
    types::{Agent, Permission},
};
use serde_json::{Value, json};
use support::store::Scene;
use tokio_util::sync::CancellationToken;

/// Function from a question to an answer.
type Answer = Box<dyn Fn(&str) -> BoxFuture<'static, String> + Send + Sync>;

/// Model that answers by the last message of its prompt.
struct Player {
    reference: String,
    answer: Answer,
    asked: Mutex<Vec<String>>,
}

impl Player {
    fn new(reference: &str, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Arc<Self> {
        Self::later(reference, move |asked| {
            let answer = answer(asked);
            Box::pin(async move { answer })
        })
    }

    fn later(
        reference: &str,
        answer: impl Fn(&str) -> BoxFuture<'static, String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { reference: reference.to_owned(), answer: Box::new(answer), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Number of prompts that contain these words.
    fn times(&self, words: &str) -> usize {
        self.asked().iter().filter(|asked| asked.contains(words)).count()
    }
}

impl Model for Player {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn stream(&self, request: Request) -> Generation {
        let Prompt::Chat(messages) = &request.prompt else { panic!("a dialogue is a chat") };
        let asked = messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        self.asked.lock().unwrap().push(asked.clone());
        let answer = (self.answer)(&asked);
        Generation::spawn(move |mut sink| async move {
            sink.text(answer.await).await?;
            let usage = Usage { prompt: 100, output: 10, ..Usage::default() };
            Ok(Finish { usage: Some(usage), ..Finish::new(FinishReason::Stop) })
        })
    }

    fn parallel(&self) -> usize {
        64
    }
}

const PASSED: &str = r#"{"passed": true, "why": "it is so"}"#;

/// Returns a plan from pairs of id and dependencies.
fn plan(subtasks: &[(&str, &[&str])]) -> String {
    let subtask = |(id, needs): &(&str, &[&str])| json!({ "id": id, "title": format!("Do {id}"), "details": format!("the {id} part"), "criteria": format!("{id} is there"), "depends_on": needs });
    json!({ "subtasks": subtasks.iter().map(subtask).collect::<Vec<_>>() }).to_string()
}

/// Returns the subtask in a prompt: `b` of `Subtask 2 of 5: Do b`.
fn which(asked: &str) -> String {
    let at = asked.rfind(": Do ").expect("it is about a subtask") + 5;
    asked[at..].chars().take_while(|c| c.is_alphanumeric()).collect()
}

struct Team {
    _scene: Scene,
    owner: Actor,
    at: NodeId,
    session: SessionId,
}

impl Team {
    fn new() -> Self {
        Self::over(Scene::new(11))
    }

    fn over(scene: Scene) -> Self {
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("What is to be done?").title("Work")).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        Self { _scene: scene, owner: owner.in_session(session), at: root.id, session }
    }

    fn agent(&self, name: &str) -> Agent {
        self.owner.loom().agent(name).unwrap()
    }

    fn crew(&self, planner: &Arc<Player>, worker: &Arc<Player>, judge: &Arc<Player>) -> OrchestratorConfig {
        crew(&self.owner, [planner, worker, judge])
    }

    fn begin(&self, goal: &str) -> NodeId {
        delegate::create(&self.owner, self.at, goal, "").unwrap()
    }

    async fn carry_on(&self, crew: OrchestratorConfig, delegation: NodeId) -> Result<DelegationReport, ToolError> {
        carry_on(&self.owner, crew, delegation, &CancellationToken::new()).await.0
    }

    fn stats(&self) -> loomtree::session::UsageTotals {
        let filter = GenerationFilter::default().session(self.session);
        stats(&*self.owner.loom().snapshot().unwrap(), &filter).unwrap().all
    }

    /// Replaces every local id by `id`.
    fn masked(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        let tree = self.owner.loom().node(self.at).unwrap().tree;
        for node in self.owner.loom().snapshot().unwrap().nodes_after(tree, 0, 10_000).unwrap() {
            masked = masked.replace(node.local.as_str(), "id");
        }
        masked
    }
}

fn crew(owner: &Actor, [planner, worker, judge]: [&Arc<Player>; 3]) -> OrchestratorConfig {
    let member = |agent: &str, model: &Arc<Player>| AgentModel {
        agent: owner.loom().agent(agent).unwrap(),
        model: Arc::clone(model) as Arc<dyn Model>,
    };
    let models: Arc<dyn Model> = worker.clone();
    OrchestratorConfig::new(
        member("collaborator", planner),
        member("collaborator", worker),
        member("subject", judge),
        Arc::new(models),
        Arc::new(Decision::Yes),
    )
}

async fn carry_on(
    owner: &Actor,
    crew: OrchestratorConfig,
    delegation: NodeId,
    cancel: &CancellationToken,
) -> (Result<DelegationReport, ToolError>, Vec<DelegationUpdate>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let tell: delegate::UpdateSink = Arc::new(move |event| told.lock().unwrap().push(event));
    let work = RunContext::new(owner.clone(), delegation, cancel.clone(), tell);
    let report = LocalOrchestrator::new(crew).run(work).await;
    let heard = heard.lock().unwrap().clone();
    (report, heard)
}

fn words(answer: &'static str) -> Arc<Player> {
    Player::new("test:model", move |_| answer.to_owned())
}

const DIAMOND: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"]), ("e", &["d"])];

#[tokio::test]
async fn a_diamond_with_an_escalation_a_failure_and_a_skip() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(DIAMOND));
    let worker = Player::new("test:worker", |asked| format!("I did {} as well as I can.", which(asked)));
    let stronger = Player::new("test:stronger", |asked| format!("I did {} thoroughly.", which(asked)));
    // `b` needs the fallback model; `d` always fails.
    let judge = Player::new("test:judge", |asked| {
        let bad = asked.contains("Do d\n") || asked.contains("Do b\n") && !asked.contains("thoroughly");
        if bad { r#"{"passed": false, "why": "half of it is missing"}"#.to_owned() } else { PASSED.to_owned() }
    });
    let crew =
        OrchestratorConfig { fallback: Some(stronger.clone()), parallel: 1, ..team.crew(&planner, &worker, &judge) };
    let delegation = team.begin("Write the whole thing");
    let (report, heard) = carry_on(&team.owner, crew, delegation, &CancellationToken::new()).await;
    let report = report.unwrap();
    assert_eq!(report.state, DelegationStatus::Incomplete);
    insta::assert_snapshot!(team.masked(&report.to_string()), @r#"
    ✗ task ended, not completed: "Write the whole thing" [id]
    Subtasks:
      [x] Do a [id]
          1 reply, 100 tokens in and 10 out · 0 s
          "I did a as well as I can."
      [x] Do b [id] (3 attempts)
          3 replies, 300 tokens in and 30 out · 0 s
          "I did b thoroughly."
      [x] Do c [id]
          1 reply, 100 tokens in and 10 out · 0 s
          "I did c as well as I can."
      [!] Do d [id] (3 attempts) — failed: half of it is missing
          3 replies, 300 tokens in and 30 out · 0 s
          "I did d thoroughly."
      [-] Do e — skipped: it needs "Do d"
    Verification: 3 of 5 subtasks passed (3 by a model that did not do the work)
    It took 17 replies, 1700 tokens in and 170 out · 0 s
    Verified subtasks stay. To resume the rest: → delegate resume:id (a person: loom delegate --resume id)
    "#);
    assert_eq!(
        (stronger.times("Subtask 2 of 5"), stronger.times("Subtask 4 of 5"), worker.times("Subtask 5 of 5")),
        (1, 1, 0)
    );
    let skipped = heard.iter().filter(|told| matches!(told, DelegationUpdate::Skipped { .. })).count();
    assert_eq!((heard.iter().filter(|told| matches!(told, DelegationUpdate::Started { .. })).count(), skipped), (8, 1));
    // A retry has the reason. Workers see the results they depend on and not the conversation before.
    assert!(worker.asked().iter().any(|asked| asked.contains("That attempt failed:\n\nhalf of it is missing")));
    let join = worker.asked().into_iter().find(|asked| asked.contains("Subtask 4 of 5")).unwrap();
    assert!(join.contains("I did b thoroughly.") && join.contains("I did c as well as I can."));
    assert!(worker.asked().iter().all(|asked| !asked.contains("What is to be done?")));
    // The judge sees the criteria and the result and not the conversation.
    assert!(
        judge.asked().iter().all(|asked| asked.starts_with("You verify work") && !asked.contains("Do this subtask"))
    );

    // All nodes are below the delegating node, and the cost counts in its session.
    let mut agent = Executor::new(team.owner.loom().clone(), team.agent("owner"), team.session, &NoHost);
    let drawn = agent.run(&loomtree::exec::read("→ tree depth:20").unwrap()).to_string();
    insta::assert_snapshot!(team.masked(&drawn));
    let sums = team.stats();
    assert_eq!((sums.generations, sums.prompt, sums.output), (17, 1_700, 170));
    // Worker sessions are not listed as conversations.
    let snapshot = team.owner.loom().snapshot().unwrap();
    let own = snapshot.sessions(&SessionFilter::default()).unwrap();
    let all = snapshot.sessions(&SessionFilter::default().delegated(true)).unwrap();
    assert_eq!((own.len(), all.len()), (1, 6));
    assert_eq!(team.owner.loom().session(team.session).unwrap().position, Some(team.at));
    assert_eq!(team.owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn independent_subtasks_run_concurrently_up_to_the_limit() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])]));
    // Each of the first three waits for the other two, so fewer workers would never finish.
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let active = Arc::new(Mutex::new((0, 0)));
    let (met, counted) = (Arc::clone(&barrier), Arc::clone(&active));
    let worker = Player::later("test:worker", move |asked| {
        let (met, counted, id) = (Arc::clone(&met), Arc::clone(&counted), which(asked));
        Box::pin(async move {
            {
                let mut counted = counted.lock().unwrap();
                counted.0 += 1;
                counted.1 = counted.1.max(counted.0);
            }
            if id != "d" {
                met.wait().await;
            }
            counted.lock().unwrap().0 -= 1;
            format!("{id} done")
        })
    });
    let crew = OrchestratorConfig { parallel: 3, ..team.crew(&planner, &worker, &words(PASSED)) };
    let report = team.carry_on(crew, team.begin("All")).await.unwrap();
    assert_eq!((report.state, active.lock().unwrap().1), (DelegationStatus::Completed, 3));
}

/// Approval that records its requests and gives a fixed answer.
struct Person(Mutex<Vec<ApprovalRequest>>, Decision);

impl Approval for Person {
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.0.lock().unwrap().push(asking.clone());
        Box::pin(async { self.1.clone() })
    }
}

#[tokio::test]
async fn approval_shows_goal_and_plan_and_a_refusal_starts_nothing() {
    let team = Team::new();
    let (planner, worker) = (Player::new("test:planner", |_| plan(DIAMOND)), words("done"));
    let person = Arc::new(Person(Mutex::default(), Decision::No(Some("not today".into()))));
    let crew = OrchestratorConfig { approval: person.clone(), ..team.crew(&planner, &worker, &words(PASSED)) };
    let delegation = team.begin("Paint it black");
    let refused = team.carry_on(crew.clone(), delegation).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Cancelled, "it was refused: not today"));
    let asked = person.0.lock().unwrap()[0].clone();
    assert_eq!((asked.tool.as_str(), asked.subject.as_str()), ("delegate", ""), "no plan is agreed to for good");
    assert!(asked.summary.ends_with("Paint it black"));
    assert!(asked.details.contains("Delegated: Paint it black") && asked.details.contains("4. Do d (after 2, 3)"));
    assert!(worker.asked().is_empty());
    // A later request can be approved; the plan is reused.
    let report =
        team.carry_on(OrchestratorConfig { approval: Arc::new(Decision::Yes), ..crew }, delegation).await.unwrap();
    assert_eq!((report.state, planner.asked().len()), (DelegationStatus::Completed, 1));
}

#[tokio::test]
async fn an_invalid_plan_is_returned_once_for_correction() {
    let team = Team::new();
    let worker = words("done");
    let answers = |first: String, second: String| {
        Player::new(
            "test:planner",
            move |asked| {
                if asked.contains("plan is invalid") { second.clone() } else { first.clone() }
            },
        )
    };
    let circle = plan(&[("a", &["b"]), ("b", &["a"])]);
    let planner = answers(circle.clone(), plan(&[("a", &[])]));
    let crew = team.crew(&planner, &worker, &words(PASSED));
    assert_eq!(team.carry_on(crew, team.begin("It")).await.unwrap().state, DelegationStatus::Completed);
    assert!(planner.asked()[1].contains("\"a\", \"b\" depend on each other in a circle"));

    for (bad, said) in [
        ("I would begin at the beginning.".to_owned(), "there is no JSON object with \"subtasks\" in it"),
        (json!({ "subtasks": [] }).to_string(), "the plan has no subtask"),
        (circle, "\"a\", \"b\" depend on each other in a circle"),
        (
            json!({ "subtasks": [{ "id": "a", "title": "A", "criteria": "c", "tools": ["fly"] }] }).to_string(),
            "\"a\" uses the tool \"fly\", which does not exist (there are none)",
        ),
        (format!("{{\"subtasks\": \"{}\"}}", "x".repeat(1 << 20)), "and 1048576 is the most"),
    ] {
        let planner = answers(bad.clone(), bad);
        let delegation = team.begin("It");
        let failure = team.carry_on(team.crew(&planner, &worker, &words(PASSED)), delegation).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ModelError);
        assert!(failure.message.ends_with(said), "{}", failure.message);
        // A resume plans again.
        let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
        let report = team.carry_on(team.crew(&planner, &worker, &words(PASSED)), delegation).await.unwrap();
        assert_eq!(report.state, DelegationStatus::Completed);
    }
}

#[tokio::test]
async fn a_judges_prose_is_parsed_or_asked_again_or_rejected() {
    let team = Team::new();
    let (planner, worker) = (Player::new("test:planner", |_| plan(&[("a", &[])])), words("done"));
    let clear = words("PASSED. All of it is there.");
    let report = team.carry_on(team.crew(&planner, &worker, &clear), team.begin("It")).await.unwrap();
    assert_eq!((report.state, clear.asked().len()), (DelegationStatus::Completed, 1));
    let hesitant = Player::new("test:judge", |asked| {
        if asked.contains("could not be read") { PASSED.to_owned() } else { "It looks rather good to me.".to_owned() }
    });
    let report = team.carry_on(team.crew(&planner, &worker, &hesitant), team.begin("It")).await.unwrap();
    assert_eq!((report.state, hesitant.asked().len()), (DelegationStatus::Completed, 2));
    // Without a clear verdict the work does not count as done.
    let vague = words("It looks rather good to me.");
    let delegation = team.begin("It");
    let before = worker.asked().len();
    let report = team.carry_on(team.crew(&planner, &worker, &vague), delegation).await.unwrap();
    assert_eq!(report.state, DelegationStatus::Incomplete);
    let SubtaskStatus::Failed { why } = &report.subtasks[0].status else { panic!("it failed") };
    assert_eq!(why, "the answer of the judge is not a verdict");
    // A resume verifies the result again and does not repeat the work.
    let report = team.carry_on(team.crew(&planner, &worker, &clear), delegation).await.unwrap();
    assert_eq!((report.state, worker.asked().len()), (DelegationStatus::Completed, before + 1));
}

#[tokio::test]
async fn an_empty_or_looping_worker_is_a_failed_attempt() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[]), ("b", &["a"])]));
    // The worker runs commands in all rounds and reports nothing.
    let worker = words("→ tree\n");
    let crew = OrchestratorConfig { rounds: 3, ..team.crew(&planner, &worker, &words(PASSED)) };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    let SubtaskStatus::Failed { why } = &report.subtasks[0].status else { panic!("it failed") };
    assert_eq!(why, "it ended without a report of its work");
    assert_eq!(
        (report.subtasks[1].status.clone(), worker.asked().len()),
        (SubtaskStatus::Skipped { needs: "Do a".into() }, 6)
    );
    // A claim of completion is not accepted: a judge verifies it.
    let boaster = words("Everything is done!");
    let judge = words(r#"{"passed": false, "why": "nothing is there"}"#);
    let report = team.carry_on(team.crew(&planner, &boaster, &judge), team.begin("It")).await.unwrap();
    assert_eq!((report.state, boaster.asked().len(), judge.asked().len()), (DelegationStatus::Incomplete, 2, 2));
}

#[tokio::test]
async fn a_stopped_delegation_has_a_consistent_state_and_resumes() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(DIAMOND));
    let (cancel, stop) = (CancellationToken::new(), Mutex::new(0));
    let token = cancel.clone();
    // Cancels while `c` is in work.
    let worker = Player::later("test:worker", move |asked| {
        let id = which(asked);
        let hangs = id == "c" && {
            let mut times = stop.lock().unwrap();
            *times += 1;
            *times == 1
        };
        let token = token.clone();
        Box::pin(async move {
            if hangs {
                token.cancel();
                std::future::pending::<()>().await;
            }
            format!("{id} done")
        })
    });
    let crew = OrchestratorConfig { parallel: 1, ..team.crew(&planner, &worker, &words(PASSED)) };
    let delegation = team.begin("It");
    let (report, _) = carry_on(&team.owner, crew.clone(), delegation, &cancel).await;
    let report = report.unwrap();
    let marks: Vec<bool> = report.subtasks.iter().map(|line| line.status == SubtaskStatus::Verified).collect();
    assert_eq!((report.state, marks), (DelegationStatus::Stopped, vec![true, true, false, false, false]));
    assert!(delegate::list(team.owner.loom()).unwrap().iter().all(|one| one.last == DelegationEvent::Stopped));
    let report = team.carry_on(crew, delegation).await.unwrap();
    assert_eq!(report.state, DelegationStatus::Completed);
    assert_eq!(["a", "b", "c", "d"].map(|id| worker.times(&format!("5: Do {id}"))), [1, 1, 2, 1]);
    // A complete delegation has nothing to run.
    let again = team.carry_on(team.crew(&words(""), &words(""), &words("")), delegation).await.unwrap();
    assert_eq!(again.state, DelegationStatus::Completed);
}

/// Job of a child process that a test started; does nothing in the test process.
#[test]
fn child_process() {
    let Some(job) = child::job() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work_until_killed(Path::new(&job[0])));
}

/// Delegates, and hangs in the fourth subtask.
async fn work_until_killed(path: &Path) {
    let team = Team::over(Scene::at(path, 5));
    let planner = Player::new("test:planner", |_| plan(DIAMOND));
    let worker = Player::later("test:worker", |asked| {
        let id = which(asked);
        Box::pin(async move {
            if id == "d" {
                child::say("hangs");
                std::future::pending::<()>().await;
            }
            format!("{id} done")
        })
    });
    let delegation = team.begin("Survive");
    child::say(&delegation.to_string());
    let crew = team.crew(&planner, &worker, &words(PASSED));
    team.carry_on(OrchestratorConfig { partials_dir: Some(drafts(path)), ..crew }, delegation).await.unwrap();
}

fn drafts(path: &Path) -> PathBuf {
    path.with_extension("drafts")
}

#[tokio::test]
async fn a_killed_delegation_resumes_without_repeating_verified_subtasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loom.db");
    let (mut child, said) = child::start(child::command(&[], &[path.to_str().unwrap()]));
    let within = Duration::from_secs(60);
    let delegation: NodeId = said.recv_timeout(within).expect("the child begins").parse().unwrap();
    assert_eq!(said.recv_timeout(within).expect("the child comes to the fourth"), "hangs");
    let scene = Scene::at(&path, 6);
    let owner = scene.owner();
    // A live process holds its delegation.
    let nobody = words("nobody");
    let crew_of =
        |owner: &Actor, players| OrchestratorConfig { partials_dir: Some(drafts(&path)), ..crew(owner, players) };
    let (early, _) =
        carry_on(&owner, crew_of(&owner, [&nobody, &nobody, &nobody]), delegation, &CancellationToken::new()).await;
    let early = early.unwrap_err();
    assert!(
        early.code == ErrorCode::Conflict && early.message.ends_with(&format!("(process {})", child.id())),
        "{early}"
    );
    child.kill().unwrap();
    child.wait().unwrap();

    let open = delegate::list(owner.loom()).unwrap().remove(0);
    assert!(open.is_open() && open.head.id == delegation && open.goal == "Survive");
    let own = owner.loom().snapshot().unwrap().sessions(&SessionFilter::default()).unwrap().remove(0);
    let owner = owner.in_session(own.id);
    let (planner, judge) = (words("no plan"), words(PASSED));
    let worker = Player::new("test:worker", |asked| format!("{} done", which(asked)));
    let (report, _) =
        carry_on(&owner, crew_of(&owner, [&planner, &worker, &judge]), delegation, &CancellationToken::new()).await;
    let report = report.unwrap();
    assert_eq!((report.state, nobody.asked().len()), (DelegationStatus::Completed, 0));
    // The plan and three verified subtasks remain; the fourth was interrupted.
    assert_eq!((planner.asked().len(), worker.asked().len(), judge.asked().len()), (0, 2, 2));
    assert!(
        worker.asked()[0]
            .contains("The last attempt ended before its result: it was interrupted. What it did is above.")
    );
    assert_eq!(report.subtasks[3].attempts, 2);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_process_that_ended_after_the_last_verdict_leaves_no_open_delegation() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let crew = team.crew(&planner, &words("done"), &words(PASSED));
    let delegation = team.begin("It");
    // The receiver of the last verdict is also the last to run before the end is committed.
    let tell: delegate::UpdateSink =
        Arc::new(|update| assert!(!matches!(update, DelegationUpdate::Verdict { .. }), "the process ends"));
    let context = RunContext::new(team.owner.clone(), delegation, CancellationToken::new(), tell);
    let work = LocalOrchestrator::new(crew.clone());
    assert!(tokio::spawn(async move { work.run(context).await }).await.unwrap_err().is_panic());
    assert!(delegate::list(team.owner.loom()).unwrap()[0].is_open());
    for _ in 0..2 {
        assert_eq!(team.carry_on(crew.clone(), delegation).await.unwrap().state, DelegationStatus::Completed);
        assert_eq!(delegate::list(team.owner.loom()).unwrap()[0].last, DelegationEvent::Ended);
    }
    let head = team.owner.loom().node(delegation).unwrap();
    let events = delegate::events(team.owner.loom(), &head).unwrap();
    assert_eq!(events.iter().filter(|event| **event == DelegationEvent::Ended).count(), 1);
}

/// Worker that signals its start and waits for a gate.
fn at_the_gate() -> (Arc<Player>, Arc<tokio::sync::Notify>, Arc<tokio::sync::Notify>) {
    let (gate, begun) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (open, begins) = (Arc::clone(&gate), Arc::clone(&begun));
    let worker = Player::later("test:worker", move |_| {
        let (open, begins) = (Arc::clone(&open), Arc::clone(&begins));
        Box::pin(async move {
            begins.notify_one();
            open.notified().await;
            "done".to_owned()
        })
    });
    (worker, gate, begun)
}

#[tokio::test]
async fn a_locked_delegation_is_refused_with_the_holders_name() {
    let team = Team::new();
    let folder = tempfile::tempdir().unwrap();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let (worker, gate, begun) = at_the_gate();
    let delegation = team.begin("It");
    let crew = OrchestratorConfig {
        partials_dir: Some(folder.path().join("drafts")),
        ..team.crew(&planner, &worker, &words(PASSED))
    };
    let drafts = crew.partials_dir.clone().unwrap();
    let second = async {
        begun.notified().await;
        let refused = team.carry_on(crew.clone(), delegation).await.unwrap_err();
        let named = format!("owner (process {})", std::process::id());
        assert_eq!(delegate::lock_holder(&drafts, delegation), Some(named.clone()));
        assert_eq!(
            (refused.code, refused.message.ends_with(&format!("is being carried on by {named}"))),
            (ErrorCode::Conflict, true)
        );
        gate.notify_one();
    };
    let (first, ()) = tokio::join!(team.carry_on(crew.clone(), delegation), second);
    assert_eq!(
        (first.unwrap().state, worker.asked().len()),
        (DelegationStatus::Completed, 1),
        "who was first is not disturbed"
    );
    // The lock is released at the end, and no file remains.
    assert_eq!(delegate::lock_holder(&drafts, delegation), None);
    assert_eq!(team.carry_on(crew, delegation).await.unwrap().state, DelegationStatus::Completed);
    assert_eq!(std::fs::read_dir(&drafts).map_or(0, Iterator::count), 0);
}

#[tokio::test]
async fn without_a_lock_the_first_process_fails_at_its_next_event() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let (worker, gate, begun) = at_the_gate();
    let delegation = team.begin("It");
    let second = async {
        begun.notified().await;
        let report = team.carry_on(team.crew(&planner, &words("done"), &words(PASSED)), delegation).await.unwrap();
        gate.notify_one();
        report.state
    };
    let (first, second) = tokio::join!(team.carry_on(team.crew(&planner, &worker, &words(PASSED)), delegation), second);
    assert_eq!((first.unwrap_err().code, second), (ErrorCode::Conflict, DelegationStatus::Completed));
    assert_eq!(team.owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn the_second_delegation_is_warned_about_a_shared_file() {
    let team = Team::new();
    let touching = |file: &str| {
        let text =
            json!({ "subtasks": [{ "id": "a", "title": "Do a", "criteria": "c", "files": [file] }] }).to_string();
        Player::new("test:planner", move |_| text.clone())
    };
    let never = Player::later("test:worker", |_| Box::pin(std::future::pending()));
    let first = team.begin("The first");
    let never_stopped = CancellationToken::new();
    let open = carry_on(&team.owner, team.crew(&touching("src/a.rs"), &never, &words(PASSED)), first, &never_stopped);
    // The worker hangs and is left as by a process that ended.
    assert!(tokio::time::timeout(Duration::from_millis(300), open).await.is_err());
    let worker = words("done");
    let report = team
        .carry_on(team.crew(&touching("./src/a.rs"), &worker, &words(PASSED)), team.begin("The second"))
        .await
        .unwrap();
    assert_eq!(report.shared.len(), 1);
    assert!(
        report.shared[0].starts_with("src/a.rs is also being changed by the delegation [")
            && report.shared[0].ends_with("\"The first\"")
    );
    assert!(worker.asked()[0].contains("Take care: src/a.rs is also being changed"));
    let report = team
        .carry_on(team.crew(&touching("src/b.rs"), &worker, &words(PASSED)), team.begin("The third"))
        .await
        .unwrap();
    assert!(report.shared.is_empty());
}

/// Two tools, and checks of which the first fails.
#[derive(Default)]
struct Shed(Mutex<Vec<String>>);

impl WorkerTools for Shed {
    fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)> {
        let tool = |name: &str| HostTool {
            name: name.to_owned(),
            description: format!("The {name}."),
            parameters: json!({ "type": "object", "properties": {} }),
            permission: Permission::LoomWrite,
            only_confirms: false,
        };
        let who = who.to_owned();
        let said: ToolHandler = Box::new(move |_| {
            let who = who.clone();
            Box::pin(async move { Ok(format!("in the hands of {who}")) })
        });
        let other: ToolHandler = Box::new(|_: Value| Box::pin(async { Ok("cut".to_owned()) }));
        vec![(tool("hammer"), said), (tool("saw"), other)]
    }

    fn checks(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, command: &'a str, _: CancellationToken) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        let mut ran = self.0.lock().unwrap();
        ran.push(command.to_owned());
        // It fails before the work, and after the first attempt.
        let passed = ran.len() > 2;
        Box::pin(async move { Ok(CheckResult { passed, output: "2 tests ran".into() }) })
    }

    fn changed(&self, who: &[String]) -> Vec<String> {
        vec![format!("wall (modified by {} of them)", who.len())]
    }
}

#[tokio::test]
async fn a_subtask_gets_the_plans_tools_and_is_verified_by_its_check() {
    let team = Team::new();
    let text =
        json!({ "subtasks": [{ "id": "a", "title": "Do a", "check": "make test", "tools": ["hammer"] }] }).to_string();
    let planner = Player::new("test:planner", move |_| text.clone());
    let worker = Player::new("test:worker", |asked| {
        if asked.contains("Results ===") { "I used it.".into() } else { "→ hammer\n→ saw\n".to_owned() }
    });
    let shed = Arc::new(Shed::default());
    let judge = words(PASSED);
    let crew = OrchestratorConfig { worker_tools: shed.clone(), ..team.crew(&planner, &worker, &judge) };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    assert_eq!(
        (report.state, report.subtasks[0].attempts, report.subtasks[0].checked),
        (DelegationStatus::Completed, 2, true)
    );
    assert!(judge.asked().is_empty());
    assert_eq!(report.subtasks[0].check.as_deref(), Some("make test: 2 tests ran"));
    assert_eq!(report.subtasks[0].outcome.as_deref(), Some("I used it."));
    assert_eq!(
        (shed.0.lock().unwrap().clone(), report.files),
        (vec!["make test".to_owned(); 3], vec!["wall (modified by 1 of them by subtask 1)".into()])
    );
    let asked = worker.asked();
    assert!(asked[1].contains("in the hands of collaborator, subtask 1 of ["), "{}", asked[1]);
    assert!(!asked[1].contains("✓ saw"));
    assert!(asked[2].contains("make test\n2 tests ran"));
    assert!(planner.asked()[0].contains("- hammer: The hammer."));
}

#[tokio::test]
async fn a_new_plan_after_a_resume_needs_its_own_approval_and_its_own_work() {
    let team = Team::new();
    let planner = Player::new("test:planner", |asked| {
        if !asked.contains("- hammer:") {
            return plan(&[("c", &[]), ("d", &[])]);
        }
        let subtask = |id: &str| json!({ "id": id, "title": format!("Do {id}"), "criteria": "c", "tools": ["hammer"] });
        json!({ "subtasks": [subtask("a"), subtask("b")] }).to_string()
    });
    let worker = Player::new("test:worker", |asked| format!("{} done", which(asked)));
    let judge = Player::new("test:judge", |asked| {
        if asked.contains("Do b\n") { r#"{"passed": false, "why": "no"}"#.to_owned() } else { PASSED.to_owned() }
    });
    let with_tools = || OrchestratorConfig {
        worker_tools: Arc::new(Shed::default()),
        parallel: 1,
        ..team.crew(&planner, &worker, &judge)
    };
    let delegation = team.begin("It");
    assert_eq!(team.carry_on(with_tools(), delegation).await.unwrap().state, DelegationStatus::Incomplete);
    // Without the tools the plan is invalid.
    let person = Arc::new(Person(Mutex::default(), Decision::No(None)));
    let without = team.crew(&planner, &worker, &judge);
    let refused = OrchestratorConfig { approval: person.clone(), ..without.clone() };
    assert_eq!(team.carry_on(refused, delegation).await.unwrap_err().code, ErrorCode::Cancelled);
    assert!(person.0.lock().unwrap()[0].details.contains("1. Do c"));
    assert_eq!((planner.asked().len(), worker.times("Do c"), worker.times("Do d")), (2, 0, 0));
    let report = team.carry_on(without, delegation).await.unwrap();
    let done: Vec<_> = report.subtasks.iter().map(|line| (line.title.as_str(), line.attempts)).collect();
    assert_eq!((report.state, done), (DelegationStatus::Completed, vec![("Do c", 1), ("Do d", 1)]));
    // A complete plan is not replaced, although this host has no tools for it.
    let delegation = delegate::create(&team.owner, team.at, "That", "").unwrap();
    let easy = OrchestratorConfig { judge: team.crew(&worker, &worker, &words(PASSED)).judge, ..with_tools() };
    assert_eq!(team.carry_on(easy, delegation).await.unwrap().state, DelegationStatus::Completed);
    let (plans, works) = (planner.asked().len(), worker.asked().len());
    let again = team.carry_on(team.crew(&planner, &worker, &judge), delegation).await.unwrap();
    assert_eq!((again.state, planner.asked().len(), worker.asked().len()), (DelegationStatus::Completed, plans, works));
}

/// Tools that cannot be given to the second subtask, and checks that panic.
struct Faulty;

impl WorkerTools for Faulty {
    fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)> {
        let tool = || Shed::default().tools(who).swap_remove(0);
        if who.contains("subtask 2") { vec![tool(), tool()] } else { vec![tool()] }
    }

    fn checks(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, _: &'a str, _: CancellationToken) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        panic!("the check is broken")
    }

    fn changed(&self, _: &[String]) -> Vec<String> {
        Vec::new()
    }
}

#[tokio::test]
async fn an_error_stops_the_workers_that_run() {
    let team = Team::new();
    let subtask = |id: &str| json!({ "id": id, "title": format!("Do {id}"), "criteria": "c", "tools": ["hammer"] });
    let text = json!({ "subtasks": [subtask("a"), subtask("b")] }).to_string();
    let planner = Player::new("test:planner", move |_| text.clone());
    let worker = Player::later("test:worker", |_| Box::pin(std::future::pending()));
    let crew = OrchestratorConfig { worker_tools: Arc::new(Faulty), ..team.crew(&planner, &worker, &words(PASSED)) };
    let failure = team.carry_on(crew, team.begin("It")).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::NotConfigured, "{failure}");
    // The worker at the first subtask was awaited, and the end is committed.
    assert_eq!(delegate::list(team.owner.loom()).unwrap()[0].last, DelegationEvent::Stopped);
}

#[tokio::test]
async fn a_panic_in_a_check_fails_its_subtask_only() {
    let team = Team::new();
    let checked = json!({ "id": "a", "title": "Do a", "check": "make" });
    let text = json!({ "subtasks": [checked, { "id": "b", "title": "Do b", "criteria": "c" }] }).to_string();
    let planner = Player::new("test:planner", move |_| text.clone());
    let crew =
        OrchestratorConfig { worker_tools: Arc::new(Faulty), ..team.crew(&planner, &words("done"), &words(PASSED)) };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    let marks: Vec<_> = report.subtasks.iter().map(|line| line.status.clone()).collect();
    assert_eq!(
        (report.state, marks),
        (
            DelegationStatus::Incomplete,
            vec![SubtaskStatus::Failed { why: "it panicked".into() }, SubtaskStatus::Verified]
        )
    );
}

#[tokio::test]
async fn the_judge_sees_the_newest_commands_of_a_long_session() {
    let team = Team::new();
    let text = json!({ "subtasks": [{ "id": "a", "title": "Do a", "criteria": "c", "tools": ["hammer", "saw"] }] });
    let planner = Player::new("test:planner", move |_| text.to_string());
    let rounds = Mutex::new(0);
    // The first attempt runs 416 commands, the second one runs another.
    let worker = Player::new("test:worker", move |_| {
        let mut rounds = rounds.lock().unwrap();
        *rounds += 1;
        match *rounds {
            1..=13 => "→ hammer\n".repeat(32),
            15 => "→ saw\n".to_owned(),
            _ => "It is done.".to_owned(),
        }
    });
    let judge = Player::new("test:judge", |asked| {
        if asked.contains("→ saw") { PASSED.to_owned() } else { r#"{"passed": false, "why": "not cut"}"#.to_owned() }
    });
    let crew = OrchestratorConfig {
        worker_tools: Arc::new(Shed::default()),
        rounds: 20,
        ..team.crew(&planner, &worker, &judge)
    };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    assert_eq!((report.state, report.subtasks[0].attempts), (DelegationStatus::Completed, 2), "{report}");
}

#[tokio::test]
async fn a_worker_reads_long_results_whole_and_sees_only_its_own_work() {
    let team = Team::new();
    let text = plan(&[("a", &[]), ("b", &["a"])]);
    let planner = Player::new("test:planner", move |_| text.clone());
    let worker = Player::new("test:worker", |asked| {
        let report = "It is long. ".repeat(90);
        if asked.contains("=== Results ===") { report } else { "→ read doc:\"long\"\n".to_owned() }
    });
    team.owner.create_document("long", &format!("{}THE END", "Many words of it.\n".repeat(400))).unwrap();
    let judge = words(PASSED);
    let crew = OrchestratorConfig { max_inline_tokens: 4_000, ..team.crew(&planner, &worker, &judge) };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    assert_eq!(report.state, DelegationStatus::Completed);
    let asked = worker.asked();
    assert!(asked[1].contains("THE END") && !asked[1].contains("part 2"), "{}", asked[1]);
    assert!(asked.iter().all(|asked| !asked.contains("Recent actions")), "{}", asked[2]);
    // Nor does the delegating agent have its acts among its own.
    let (loom, tree) = (team.owner.loom(), team.owner.loom().node(team.at).unwrap().tree);
    let done =
        recent_actions(&*loom.snapshot().unwrap(), team.agent("collaborator").id(), tree).unwrap().phrases(&|_| false);
    assert_eq!(done, Vec::<String>::new());
    let (outcome, result) = (report.subtasks[0].outcome.clone().unwrap(), report.subtasks[0].result.clone().unwrap());
    assert!(outcome.chars().count() > 500 && outcome.ends_with('…'), "{outcome}");
    assert!(report.to_string().contains(&format!("…\" → view {result} full")), "{report}");
}

#[tokio::test]
async fn a_worker_in_a_small_window_keeps_its_whole_instructions() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let rounds = Mutex::new(0);
    let worker = Player::new("test:worker", move |_| {
        let mut rounds = rounds.lock().unwrap();
        *rounds += 1;
        if *rounds > 5 { "It is done.".to_owned() } else { "→ read doc:\"long\"\n".to_owned() }
    });
    team.owner.create_document("long", &"Many words of it.\n".repeat(400)).unwrap();
    let context = ContextOptions { window: 14_000, ..ContextOptions::default() };
    let crew = OrchestratorConfig { context, ..team.crew(&planner, &worker, &words(PASSED)) };
    let background = format!("{}THE MIDDLE. {}", "Words of it. ".repeat(200), "More of it. ".repeat(200));
    let delegation = delegate::create(&team.owner, team.at, "It", &background).unwrap();
    assert_eq!(team.carry_on(crew, delegation).await.unwrap().state, DelegationStatus::Completed);
    assert!(worker.asked().len() > 5);
    for asked in worker.asked() {
        assert!(asked.contains("THE MIDDLE"), "{asked}");
    }
}

/// A check that always passes, or one that the user refuses.
struct Vacuous {
    refused: bool,
}

impl WorkerTools for Vacuous {
    fn tools(&self, _: &str) -> Vec<(HostTool, ToolHandler)> {
        Vec::new()
    }

    fn checks(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, _: &'a str, _: CancellationToken) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        let passed = Ok(CheckResult { passed: true, output: "exit 0".into() });
        let ran = if self.refused { Err(ToolError::new(ErrorCode::Cancelled, "it was refused")) } else { passed };
        Box::pin(async { ran })
    }

    fn changed(&self, who: &[String]) -> Vec<String> {
        vec![format!("src/{}.rs (created)", who.len())]
    }
}

#[tokio::test]
async fn a_check_that_passes_before_the_work_is_confirmed_by_the_judge() {
    let team = Team::new();
    let text = json!({ "subtasks": [{ "id": "a", "title": "Do a", "check": "true" }] }).to_string();
    let planner = Player::new("test:planner", move |_| text.clone());
    let judge = words(r#"{"passed": false, "why": "nothing was done"}"#);
    let crew = OrchestratorConfig {
        worker_tools: Arc::new(Vacuous { refused: false }),
        attempts: 1,
        ..team.crew(&planner, &words("I did it."), &judge)
    };
    let report = team.carry_on(crew.clone(), team.begin("It")).await.unwrap();
    assert_eq!(report.state, DelegationStatus::Incomplete);
    assert!(report.to_string().contains("— failed: nothing was done"), "{report}");
    let asked = &judge.asked()[0];
    assert!(asked.contains("It passed before the work began"), "{asked}");
    assert!(asked.contains("--- Files that its tools changed: src/1.rs (created)"), "{asked}");
    // The planner of the next delegation in this folder gets what failed, also after many delegations in other folders.
    let tree = team.owner.loom().node(team.at).unwrap().tree;
    let elsewhere = team.owner.start_session("/elsewhere", tree, Some(team.at)).unwrap();
    for _ in 0..30 {
        delegate::create(&team.owner.clone().in_session(elsewhere), team.at, "Other work", "").unwrap();
    }
    let next = team.begin("It again");
    team.carry_on(crew, next).await.unwrap();
    let asked = planner.asked();
    assert!(!asked[0].contains("What failed"), "{}", asked[0]);
    assert!(
        asked[1].contains("What failed in earlier delegations of this folder:\n- \"Do a\": nothing was done"),
        "{}",
        asked[1]
    );
}

#[tokio::test]
async fn a_refused_check_leaves_the_verdict_to_the_judge() {
    let team = Team::new();
    let text = json!({ "subtasks": [{ "id": "a", "title": "Do a", "check": "cargo doc" }] }).to_string();
    let planner = Player::new("test:planner", move |_| text.clone());
    let judge = words(PASSED);
    let crew = OrchestratorConfig {
        worker_tools: Arc::new(Vacuous { refused: true }),
        ..team.crew(&planner, &words("I did it."), &judge)
    };
    let report = team.carry_on(crew, team.begin("It")).await.unwrap();
    assert_eq!(report.state, DelegationStatus::Completed, "{report}");
    let asked = judge.asked();
    assert!(asked[0].contains("check: cargo doc") && asked[0].contains("did not allow this command"), "{}", asked[0]);
}

#[tokio::test]
async fn subtasks_that_change_one_file_run_one_after_the_other() {
    for shared in [false, true] {
        let team = Team::new();
        let subtask =
            |id: &str, file: &str| json!({ "id": id, "title": format!("Do {id}"), "criteria": "c", "files": [file] });
        let subtasks = [subtask("a", "src/x.rs"), subtask("b", "./src/x.rs"), subtask("c", "src/y.rs")];
        let text = json!({ "subtasks": subtasks, "shared_files": shared }).to_string();
        let planner = Player::new("test:planner", move |_| text.clone());
        // Counts the workers of the shared file that run at once.
        let active = Arc::new(Mutex::new((0_u32, 0_u32)));
        let count = Arc::clone(&active);
        let worker = Player::later("test:worker", move |asked| {
            let (count, of_file) = (Arc::clone(&count), which(asked) != "c");
            Box::pin(async move {
                let change = |by: i32| {
                    let mut count = count.lock().unwrap();
                    count.0 = count.0.saturating_add_signed(by);
                    count.1 = count.1.max(count.0);
                };
                change(i32::from(of_file));
                // Where two may run at once, each waits for the other; else the second gets time to begin.
                for _ in 0..1_000 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    if !(shared && of_file) || count.lock().unwrap().1 == 2 {
                        break;
                    }
                }
                change(-i32::from(of_file));
                "done".to_owned()
            })
        });
        let report = team.carry_on(team.crew(&planner, &worker, &words(PASSED)), team.begin("Both")).await.unwrap();
        assert_eq!((report.state, active.lock().unwrap().1), (DelegationStatus::Completed, if shared { 2 } else { 1 }));
    }
}

#[tokio::test]
async fn files_that_workers_changed_are_in_the_state_of_the_delegating_session() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let crew = OrchestratorConfig {
        worker_tools: Arc::new(Vacuous { refused: false }),
        ..team.crew(&planner, &words("done"), &words(PASSED))
    };
    let replies = ["→ delegate \"Build it\"\n", "It is built."];
    let (_, _, actor) = turn(&team, Arc::new(LocalOrchestrator::new(crew)), &replies).await;
    let state = team.owner.loom().snapshot().unwrap().session_state(actor.session().unwrap()).unwrap();
    let files: Vec<_> = state.files_touched.iter().map(|file| (file.path.as_str(), file.action.as_str())).collect();
    assert_eq!(files, [("src/1.rs", "created by subtask 1")]);
}

/// Turn of an agent that may delegate.
async fn turn(
    team: &Team,
    orchestrator: Arc<dyn Orchestrator>,
    replies: &[&str],
) -> (Vec<Progress>, ToolAccess, Actor) {
    turn_of(team, orchestrator, replies.iter().map(|reply| ScriptedReply::words(reply)).collect(), false).await
}

/// Same with any replies, including native tool calls.
async fn turn_of(
    team: &Team,
    orchestrator: Arc<dyn Orchestrator>,
    replies: Vec<ScriptedReply>,
    native: bool,
) -> (Vec<Progress>, ToolAccess, Actor) {
    let agent = team.agent("collaborator");
    let actor = actor_at(team.owner.loom(), &agent, "/work", team.at).unwrap();
    let model: Arc<dyn Model> = Arc::new(Scripted::new(replies));
    let commands = ToolAccess::new(Arc::new(Arc::clone(&model))).orchestrator(orchestrator).native(native);
    let mut heard = Vec::new();
    let plan = GenerateRequest::turn(team.at, agent, model, commands.clone());
    generate(&actor, plan, |progress| heard.push(progress)).await.unwrap();
    (heard, commands, actor)
}

fn answers(heard: &[Progress]) -> Vec<String> {
    let ran =
        |progress: &Progress| if let Progress::Ran { reply, .. } = progress { Some(reply.to_string()) } else { None };
    heard.iter().filter_map(ran).collect()
}

#[tokio::test]
async fn a_delegating_agents_decisions_are_passed_to_the_workers() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let worker = words("done");
    let made = Arc::new(Mutex::new(0));
    let (crew, count) = (team.crew(&planner, &worker, &words(PASSED)), Arc::clone(&made));
    // The orchestrator is created at the first delegation, once.
    let lazy: Arc<dyn Orchestrator> = Arc::new(LazyOrchestrator::new(Box::new(move || {
        *count.lock().unwrap() += 1;
        let crew = crew.clone();
        Box::pin(async move { Ok(Arc::new(LocalOrchestrator::new(crew)) as Arc<dyn Orchestrator>) })
    })));
    let decided = ["→ decide constraint \"never use an ORM\"\n→ decide \"Postgres it is\"\n", "Fine."];
    turn(&team, Arc::clone(&lazy), &decided).await;
    assert_eq!(*made.lock().unwrap(), 0);
    let replies =
        ["I hand it over.\n→ delegate \"Build it\" context:\"for Marie\"\n→ delegate \"And that\"\n", "It is built."];
    let (heard, _, actor) = turn(&team, Arc::clone(&lazy), &replies).await;
    assert_eq!(*made.lock().unwrap(), 1);
    let answers = answers(&heard);
    assert!(answers[0].starts_with("✓ task completed: \"Build it\" ["), "{}", answers[0]);
    let brief = &worker.asked()[0];
    for words in ["for Marie", "Constraints:\n- never use an ORM", "Decisions:\n- Postgres it is"] {
        assert!(brief.contains(words) && planner.asked()[0].contains(words), "{words}");
    }
    assert!(heard.iter().any(|progress| matches!(
        progress,
        Progress::Delegated { update: DelegationUpdate::Verdict { passed: true, .. }, .. }
    )));
    // The cost counts in the session, and recall finds the report.
    let filter = GenerationFilter::default().session(actor.session());
    let sums = stats(&*team.owner.loom().snapshot().unwrap(), &filter).unwrap().all;
    assert_eq!(sums.generations, 2 + 2 + 3 + 3);
    let mut again =
        Executor::new(team.owner.loom().clone(), team.agent("collaborator"), actor.session().unwrap(), &NoHost);
    let recall = again.read("→ recall tool:delegate_task");
    assert!(again.run_batch(vec![recall])[0].to_string().contains("task completed: \"Build it\""));
}

#[tokio::test]
async fn a_native_call_delegates_like_an_arrow_line() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let worker = words("done");
    let orchestrator: Arc<dyn Orchestrator> =
        Arc::new(LocalOrchestrator::new(team.crew(&planner, &worker, &words(PASSED))));
    let arguments = json!({ "goal": "Build it", "context": { "constraints": ["use PyJWT"] } }).to_string();
    let call = ToolCall { id: "c1".into(), name: "delegate_task".into(), arguments };
    let replies = [ScriptedReply::words("I hand it over.").calling([call]), ScriptedReply::words("It is built.")];
    let (heard, _, actor) = turn_of(&team, orchestrator, replies.into(), true).await;
    assert!(answers(&heard)[0].starts_with("✓ task completed: \"Build it\" ["), "{:?}", answers(&heard));
    assert!(planner.asked()[0].contains("- use PyJWT") && worker.asked()[0].contains("- use PyJWT"));
    // The report is the result of that call.
    let turns = team.owner.loom().turns(actor.session().unwrap(), 0, 100).unwrap();
    let kept = turns.iter().find(|node| node.tool.call_id.as_deref() == Some("c1")).unwrap();
    assert!(kept.content.starts_with("✓ task completed"), "{}", kept.content);
}

#[tokio::test]
async fn a_background_delegation_reports_later() {
    let team = Team::new();
    let planner = Player::new("test:planner", |_| plan(&[("a", &[])]));
    let gate = Arc::new(tokio::sync::Notify::new());
    let open = Arc::clone(&gate);
    let worker = Player::later("test:worker", move |_| {
        let open = Arc::clone(&open);
        Box::pin(async move {
            open.notified().await;
            "done".to_owned()
        })
    });
    let orchestrator = Arc::new(LocalOrchestrator::new(team.crew(&planner, &worker, &words(PASSED))));
    let (heard, commands, actor) =
        turn(&team, orchestrator, &["→ delegate \"Build it\" wait:no\n", "It is on its way."]).await;
    assert!(answers(&heard)[0].starts_with("✓ delegated ["));
    assert_eq!(commands.background.running(), 1);
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    commands.background.observe(Arc::new(move |update| sink.lock().unwrap().push(update)));
    gate.notify_one();
    commands.background.idle().await;
    let told = told.lock().unwrap().clone();
    assert!(told.iter().any(|update| matches!(update, DelegationUpdate::Verdict { passed: true, .. })), "{told:?}");
    assert!(
        matches!(told.last(), Some(DelegationUpdate::Ended { completed: true, report, .. })
            if report.starts_with("✓ task completed: \"Build it\"")),
        "{told:?}"
    );
    let mut again =
        Executor::new(team.owner.loom().clone(), team.agent("collaborator"), actor.session().unwrap(), &NoHost);
    let recall = again.read("→ recall tool:delegate");
    assert!(again.run_batch(vec![recall])[0].to_string().contains("task completed: \"Build it\""));
    // The next prompt of the delegating agent has the end too.
    let talker = Player::new("test:talker", |_| "Then we can go on.".to_owned());
    let model: Arc<dyn Model> = talker.clone();
    let end = team.owner.loom().leaf(&team.owner.loom().node(team.at).unwrap(), &[]).unwrap();
    let next = team.owner.append(end.id, "And now?").unwrap().nodes[0].id;
    let access = ToolAccess::new(Arc::new(Arc::clone(&model)));
    let plan = GenerateRequest::turn(next, team.agent("collaborator"), model, access);
    generate(&actor, plan, |_| {}).await.unwrap();
    assert!(talker.asked()[0].contains("task completed"));
}

/// Orchestrator of an embedding program that panics.
struct FaultyOrchestrator;

impl Orchestrator for FaultyOrchestrator {
    fn create(&self, actor: &Actor, parent: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError> {
        delegate::create(actor, parent, goal, context)
    }

    fn run(&self, _: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>> {
        Box::pin(async { panic!("the orchestrator is broken") })
    }
}

#[tokio::test]
async fn a_background_delegation_that_panics_reports_a_failure() {
    let team = Team::new();
    let replies = ["→ delegate \"Build it\" wait:no\n", "It is on its way."];
    let (_, commands, actor) = turn(&team, Arc::new(FaultyOrchestrator), &replies).await;
    commands.background.idle().await;
    let mut again =
        Executor::new(team.owner.loom().clone(), team.agent("collaborator"), actor.session().unwrap(), &NoHost);
    let recall = again.read("→ recall tool:delegate");
    let reports = again.run_batch(vec![recall])[0].to_string();
    assert!(reports.contains("the delegation task failed"), "{reports}");
}

#[tokio::test]
async fn invalid_delegations_are_refused_with_a_reason() {
    let team = Team::new();
    let runner = |agent: &str| Executor::new(team.owner.loom().clone(), team.agent(agent), team.session, &NoHost);
    let said = |agent: &str, line: &str| {
        let mut runner = runner(agent);
        let wanted = runner.read(line);
        runner.run_batch(vec![wanted])[0].to_string()
    };
    assert_eq!(said("owner", "→ delegate \"x\""), "✗ NOT_CONFIGURED: delegate: no orchestrator is set up");
    let profile = team.agent("collaborator").profile;
    let permissions = profile.permissions.iter().filter(|held| *held != Permission::Delegate).collect();
    team.owner.update_agent(loomtree::types::NewAgent { permissions, ..profile }).unwrap();
    assert_eq!(
        said("collaborator", "→ delegate \"x\""),
        "✗ PERMISSION_DENIED: delegate: this needs the permission delegate"
    );
    let call =
        runner("owner").read_call("delegate_task", r#"{"goal": "x", "context": {"files": ["a.rs"]}, "wait": false}"#);
    assert_eq!(call.to_string(), "delegate \"x\" context:\"files:\\n- a.rs\" wait:no");
    assert_eq!(delegate::create(&team.owner, team.at, " ", "").unwrap_err().code, ErrorCode::InvalidSyntax);
    assert_eq!(
        delegate::create(&team.owner, team.at, &"x".repeat(1 << 21), "").unwrap_err().code,
        ErrorCode::LimitExceeded
    );
    let none =
        carry_on(&team.owner, team.crew(&words(""), &words(""), &words("")), team.at, &CancellationToken::new()).await;
    assert_eq!(none.0.unwrap_err().code, ErrorCode::NotFound);
}
