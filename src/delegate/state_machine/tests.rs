use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::delegate::{PlanRules, Subtask};

const RULES: PlanRules<'_> = PlanRules { tools: &[], checks: false, most: 100 };

/// Builds a plan from the dependencies of each subtask.
fn plan(needs: &[&[usize]]) -> Plan {
    let subtasks = needs.iter().enumerate().map(|(at, needs)| Subtask {
        id: at.to_string(),
        title: format!("task {at}"),
        criteria: "it is there".to_owned(),
        depends_on: needs.iter().map(ToString::to_string).collect(),
        ..Subtask::default()
    });
    Plan::new(subtasks.collect(), &RULES).unwrap()
}

fn node(n: usize) -> NodeId {
    NodeId::from_bytes((n as u128).to_be_bytes())
}

const LIMITS: DelegationLimits = DelegationLimits { parallel: 2, attempts: 2, fallback: true, checks: true };

fn started(task: usize) -> DelegationEvent {
    DelegationEvent::Started { task, session: SessionId::from_bytes([1; 16]), brief: node(task), fallback: false }
}

fn finished(task: usize) -> DelegationEvent {
    DelegationEvent::Finished { task, node: node(100 + task) }
}

fn verified(task: usize, passed: bool) -> DelegationEvent {
    DelegationEvent::Verified { task, node: node(200 + task), passed }
}

fn works(effects: &[DelegationEffect]) -> Vec<(usize, bool)> {
    let work = |effect: &DelegationEffect| {
        if let DelegationEffect::Work { task, fallback } = effect { Some((*task, *fallback)) } else { None }
    };
    effects.iter().filter_map(work).collect()
}

#[test]
fn nothing_starts_before_approval_and_then_ready_subtasks_start() {
    let mut machine = DelegationState::new(plan(&[&[], &[], &[], &[0, 1]]), LIMITS);
    assert_eq!(machine.step(&DelegationEvent::Planned { node: node(0) }), []);
    assert_eq!(works(&machine.step(&DelegationEvent::Approved)), [(0, false), (1, false)]);
    assert_eq!(machine.step(&started(0)), []);
    assert_eq!(machine.step(&finished(0)), [DelegationEffect::Verify { task: 0, node: node(100) }]);
    // A subtask in verification counts as active.
    assert_eq!(works(&machine.step(&verified(0, true))), [(2, false)]);
    machine.step(&finished(1));
    assert_eq!(works(&machine.step(&verified(1, true))), [(3, false)]);
    machine.step(&finished(2));
    machine.step(&verified(2, true));
    machine.step(&finished(3));
    assert_eq!(machine.step(&verified(3, true)), [DelegationEffect::End]);
    assert!(machine.is_complete());
    // Another plan needs its own approval and its own work.
    assert_eq!(machine.step(&DelegationEvent::Planned { node: node(1) }), []);
    assert!(!machine.is_approved() && machine.tasks().iter().all(|task| *task == SubtaskState::default()));
}

#[test]
fn failures_are_retried_then_use_the_fallback_and_skip_their_dependents() {
    let mut machine = DelegationState::new(plan(&[&[], &[0], &[1], &[]]), LIMITS);
    machine.step(&DelegationEvent::Approved);
    let mut tries = Vec::new();
    for _ in 0..3 {
        machine.step(&started(0));
        machine.step(&finished(0));
        tries.push(machine.step(&verified(0, false)));
    }
    assert_eq!(works(&tries[0]), [(0, false)]);
    assert_eq!(works(&tries[1]), [(0, true)]);
    assert_eq!(
        tries[2],
        [DelegationEffect::Skip { task: 1, because: 0 }, DelegationEffect::Skip { task: 2, because: 1 }]
    );
    // Independent subtasks continue.
    machine.step(&finished(3));
    assert_eq!(machine.step(&verified(3, true)), [DelegationEffect::End]);
    assert!(!machine.is_complete());
    assert_eq!(machine.tasks()[2].status, TaskStatus::Skipped(1));
    // After a resume, unfinished subtasks have all their attempts.
    let effects = machine.step(&DelegationEvent::Resumed);
    assert_eq!(works(&effects), [(0, false)]);
    assert_eq!(machine.tasks()[1].status, TaskStatus::Waiting);
}

#[test]
fn a_failed_verification_is_repeated_without_repeating_the_work() {
    let mut machine = DelegationState::new(plan(&[&[]]), LIMITS);
    machine.step(&DelegationEvent::Approved);
    machine.step(&started(0));
    machine.step(&finished(0));
    assert_eq!(
        machine.step(&DelegationEvent::VerifyFailed { task: 0, why: "no judge".into() }),
        [DelegationEffect::End]
    );
    machine.step(&DelegationEvent::Ended);
    assert_eq!(machine.step(&DelegationEvent::Resumed), [DelegationEffect::Verify { task: 0, node: node(100) }]);
    assert_eq!(machine.step(&verified(0, true)), [DelegationEffect::End]);
}

#[test]
fn a_stopped_delegation_starts_nothing() {
    let mut machine = DelegationState::new(plan(&[&[], &[], &[]]), LIMITS);
    machine.step(&DelegationEvent::Approved);
    machine.step(&DelegationEvent::Stopped);
    assert_eq!(works(&machine.step(&verified(0, true))), []);
    assert!(machine.is_stopped());
    assert_eq!(works(&machine.step(&DelegationEvent::Resumed)).len(), 2);
}

/// Runs a plan to its end; `passes` decides each attempt. After `cut` events the state is rebuilt from the events and
/// resumed. Returns how often each subtask was verified.
fn play(plan: &Plan, passes: &dyn Fn(usize, u32) -> bool, cut: usize) -> (HashMap<usize, u32>, DelegationState) {
    let mut machine = DelegationState::new(plan.clone(), LIMITS);
    let (mut events, mut passed, mut tries) =
        (Vec::<DelegationEvent>::new(), HashMap::new(), HashMap::<usize, u32>::new());
    let mut todo = machine.step(&DelegationEvent::Approved);
    events.push(DelegationEvent::Approved);
    let mut did_cut = false;
    while let Some(effect) = todo.pop() {
        if events.len() >= cut && !did_cut {
            did_cut = true;
            machine = DelegationState::new(plan.clone(), LIMITS);
            events.iter().for_each(|event| _ = machine.step(event));
            todo = machine.step(&DelegationEvent::Resumed);
            events.push(DelegationEvent::Resumed);
            continue;
        }
        let busy =
            machine.tasks().iter().filter(|task| matches!(task.status, TaskStatus::Working | TaskStatus::Verifying(_)));
        assert!(busy.count() <= LIMITS.parallel);
        let happened = match effect {
            DelegationEffect::Work { task, .. } => {
                assert!(plan.needs(task).iter().all(|need| passed.contains_key(need)));
                vec![started(task), finished(task)]
            }
            DelegationEffect::CheckFirst { task } => vec![DelegationEvent::CheckedBefore { task, passed: false }],
            DelegationEffect::Verify { task, .. } => {
                let tried = tries.entry(task).or_default();
                *tried += 1;
                let ok = passes(task, *tried);
                if ok {
                    *passed.entry(task).or_default() += 1;
                }
                vec![verified(task, ok)]
            }
            DelegationEffect::Skip { .. } => Vec::new(),
            DelegationEffect::End => {
                machine.step(&DelegationEvent::Ended);
                break;
            }
        };
        for event in happened {
            todo.extend(machine.step(&event));
            events.push(event);
        }
    }
    (passed, machine)
}

proptest! {
    #[test]
    fn every_plan_ends_and_verified_subtasks_are_not_repeated(
        needs in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..12),
        bad in prop::collection::hash_set(0..12_usize, 0..4),
        cut in 1..40_usize,
    ) {
        let needs: Vec<Vec<usize>> = needs.iter().enumerate().map(|(at, needs)| {
            if at == 0 { Vec::new() } else { needs.iter().map(|need| need.index(at)).collect() }
        }).collect();
        let plan = plan(&needs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let (passed, machine) = play(&plan, &|task, _| !bad.contains(&task), cut);
        prop_assert!(passed.values().all(|times| *times == 1));
        let settled = |task: &SubtaskState| !matches!(task.status, TaskStatus::Waiting | TaskStatus::Working | TaskStatus::Verifying(_));
        prop_assert!(machine.tasks().iter().all(settled));
        // Exactly the subtasks without a failing dependency are verified.
        let mut good = vec![false; needs.len()];
        for &task in plan.order() {
            good[task] = !bad.contains(&task) && needs[task].iter().all(|need| good[*need]);
            prop_assert_eq!(good[task], passed.contains_key(&task));
        }
    }
}

#[test]
fn a_check_runs_before_the_first_attempt_only_and_a_shared_file_orders_subtasks() {
    let subtask = |id: &str, check: Option<&str>| Subtask {
        id: id.to_owned(),
        title: id.to_owned(),
        criteria: "c".to_owned(),
        check: check.map(str::to_owned),
        files: vec!["src/a.rs".to_owned()],
        ..Subtask::default()
    };
    let rules = PlanRules { checks: true, ..RULES };
    let plan = Plan::new(vec![subtask("a", Some("make test")), subtask("b", None)], &rules).unwrap();
    assert_eq!((plan.needs(1), plan.after(1)), (&[][..], &[0][..]));
    let mut machine = DelegationState::new(plan, LIMITS);
    assert_eq!(machine.step(&DelegationEvent::Approved), [DelegationEffect::CheckFirst { task: 0 }]);
    let checked = DelegationEvent::CheckedBefore { task: 0, passed: true };
    assert_eq!(works(&machine.step(&checked)), [(0, false)]);
    machine.step(&started(0));
    machine.step(&finished(0));
    assert_eq!(works(&machine.step(&verified(0, false))), [(0, false)]);
    assert_eq!(machine.tasks()[0].checked_before, Some(true));
    machine.step(&started(0));
    machine.step(&finished(0));
    machine.step(&verified(0, false));
    // The fallback model failed too: the other subtask does not need the result, so it starts.
    machine.step(&started(0));
    machine.step(&finished(0));
    assert_eq!(works(&machine.step(&verified(0, false))), [(1, false)]);
}

#[test]
fn stored_events_keep_the_names_of_their_fields() {
    let stored = serde_json::to_value(started(0)).unwrap();
    assert_eq!((&stored["event"], &stored["stronger"]), (&"started".into(), &false.into()));
}
