//! Delegated work, as a table: `cargo bench --bench delegate`. What the orchestrator takes of a subtask beside the models,
//! whether a hundred independent subtasks take their work divided by how many are done at once, and how long a plan of a
//! thousand is held against its rules.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::{memory_folder, owner};
use loomtree::{
    delegate::{
        self, AgentModel, DelegationStatus, LocalOrchestrator, Orchestrator, OrchestratorConfig, Plan, PlanRules,
        RunContext, Subtask,
    },
    ops::TreeDraft,
    provider::{Finish, FinishReason, Generation, Model, Prompt, Request},
    session::Decision,
};
use tokio_util::sync::CancellationToken;

const SUBTASKS: usize = 100;

/// A model that takes its time for work, and none for plans and verdicts.
struct Scripted {
    plan: String,
    takes: Duration,
}

impl Model for Scripted {
    fn reference(&self) -> &str {
        "scripted:bench"
    }

    fn stream(&self, request: Request) -> Generation {
        let Prompt::Chat(messages) = &request.prompt else {
            return Generation::spawn(|_| async { Ok(Finish::new(FinishReason::Stop)) });
        };
        let system = messages[0].text();
        let (answer, takes) = if system.starts_with("You plan") {
            (self.plan.clone(), Duration::ZERO)
        } else if system.starts_with("You verify") {
            (r#"{"passed": true, "why": "so"}"#.to_owned(), Duration::ZERO)
        } else {
            ("It is done.".to_owned(), self.takes)
        };
        Generation::spawn(move |mut sink| async move {
            tokio::time::sleep(takes).await;
            sink.text(answer).await?;
            Ok(Finish::new(FinishReason::Stop))
        })
    }

    fn parallel(&self) -> usize {
        SUBTASKS
    }
}

fn subtasks(count: usize) -> Vec<Subtask> {
    let subtask = |at: usize| Subtask {
        id: at.to_string(),
        title: format!("Part {at}"),
        criteria: "it is there".to_owned(),
        ..Subtask::default()
    };
    (0..count).map(subtask).collect()
}

/// A delegation of independent subtasks; how long it took.
async fn delegated(parallel: usize, takes: Duration) -> Duration {
    let folder = memory_folder();
    let owner = owner(&folder.path().join("loom.db"), 7);
    let (tree, root) = owner.create_tree(TreeDraft::new("What is to be done?")).unwrap();
    let owner = owner.clone().in_session(owner.start_session("/work", tree.id, Some(root.id)).unwrap());
    let plan = serde_json::json!({ "subtasks": subtasks(SUBTASKS) }).to_string();
    let model: Arc<dyn Model> = Arc::new(Scripted { plan, takes });
    let member = |agent: &str| AgentModel { agent: owner.loom().agent(agent).unwrap(), model: Arc::clone(&model) };
    let (planner, worker, judge) = (member("collaborator"), member("collaborator"), member("subject"));
    let crew = OrchestratorConfig::new(planner, worker, judge, Arc::new(Arc::clone(&model)), Arc::new(Decision::Yes));
    let builtin = LocalOrchestrator::new(OrchestratorConfig { parallel, ..crew });
    let delegation = delegate::create(&owner, root.id, "All of it", "").unwrap();
    let work = RunContext::new(owner, delegation, CancellationToken::new(), Arc::new(|_| {}));
    let begun = Instant::now();
    let report = builtin.run(work).await.unwrap();
    assert!(report.state == DelegationStatus::Completed);
    begun.elapsed()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("| what | figure | limit | |\n| --- | --- | --- | --- |");
    let verdict = |ok: bool| if ok { "ok" } else { "MISSED" };
    runtime.block_on(async {
        // Without work there is nothing but the orchestrator, the turns and the store.
        let own = delegated(8, Duration::ZERO).await / u32::try_from(SUBTASKS).unwrap();
        println!("| overhead a subtask, turn and verdict included | {own:.2?} | < 5 ms | {} |", verdict(own < Duration::from_millis(5)));
        let takes = Duration::from_millis(100);
        for parallel in [4, 16] {
            let ideal = takes * u32::try_from(SUBTASKS.div_ceil(parallel)).unwrap();
            let took = delegated(parallel, takes).await;
            let ratio = took.as_secs_f64() / ideal.as_secs_f64();
            println!(
                "| {SUBTASKS} subtasks of 100 ms, {parallel} at once | {took:.2?}, {ratio:.2} × work ÷ {parallel} | ≈ 1 | {} |",
                verdict(ratio < 1.5)
            );
        }
    });
    let thousand: Vec<Subtask> = subtasks(1_000)
        .into_iter()
        .enumerate()
        .map(|(at, subtask)| {
            let depends_on = (1..=4).filter_map(|back| at.checked_sub(back * 7)).map(|need| need.to_string()).collect();
            Subtask { depends_on, ..subtask }
        })
        .collect();
    let text = serde_json::json!({ "subtasks": thousand }).to_string();
    let rules = PlanRules { tools: &[], checks: true, most: 1_000 };
    let begun = Instant::now();
    for _ in 0..10 {
        assert!(Plan::read(&text, &rules).unwrap().subtasks().len() == 1_000);
    }
    let took = begun.elapsed() / 10;
    println!(
        "| a plan of 1,000 subtasks read and held against its rules | {took:.2?} | < 10 ms | {} |",
        verdict(took < Duration::from_millis(10))
    );
}
