//! What turns of models need of the store: one agent at a time on a position, who else is there, summaries, corrections.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::time::Duration;

use loomtree::{
    context::{ContextOptions, ContextRequest, assemble},
    exec::{Executor, NoHost, read},
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, DocumentEdit, Loom, NodeDraft, OpsError, TreeDraft},
    store::{JournalFilter, Mutation, PurgeTarget, StoreError},
    types::{EdgeKind, Lease, LinkTarget, Mode, NewAgent, Op, Parent, Prompt, Summary, SummarySubject, Timestamp},
};
use support::store::Scene;

const MINUTE: Duration = Duration::from_secs(60);

/// A tree of a root and one node, and those who work in it.
struct Table {
    scene: Scene,
    owner: Actor,
    collaborator: Actor,
    subject: Actor,
    tree: TreeId,
    root: NodeId,
    node: NodeId,
}

impl Table {
    fn set() -> Self {
        let scene = Scene::new(5);
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("the root")).unwrap();
        let node = said(&owner, root.id, "a question").unwrap();
        let actor = |name| owner.loom().actor(&owner.loom().agent(name).unwrap());
        let (collaborator, subject) = (actor("collaborator"), actor("subject"));
        Self { scene, collaborator, subject, owner, tree: tree.id, root: root.id, node }
    }

    fn session(&self, actor: &Actor) -> SessionId {
        actor.start_session("/work", self.tree, Some(self.node)).unwrap()
    }

    /// Sets the clock to so many seconds after the beginning.
    fn clock(&self, seconds: i64) {
        self.scene.clock.set(after(seconds));
    }

    fn leases(&self) -> Vec<Lease> {
        self.owner.loom().snapshot().unwrap().leases(self.tree).unwrap()
    }

    fn clean(&self) {
        let report = self.owner.loom().store().verify(&mut |_| ()).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000)
}

fn said(actor: &Actor, at: NodeId, text: &str) -> Result<NodeId, OpsError> {
    actor.append(Parent::Node(at), NodeDraft::text(text)).map(|receipt| receipt.nodes[0].id)
}

fn is_leased<T: std::fmt::Debug>(result: Result<T, OpsError>) -> String {
    match result {
        Err(error @ OpsError::Store(StoreError::Leased { .. })) => error.to_string(),
        other => panic!("not refused for a lease: {other:?}"),
    }
}

/// The newest entry of the journal.
fn newest(loom: &Loom) -> u64 {
    let entries = loom.snapshot().unwrap().journal(JournalFilter::default().limit(1)).unwrap();
    entries.first().map_or(0, |entry| entry.seq)
}

#[test]
fn on_a_leased_position_only_its_holder_goes_on() {
    let t = Table::set();
    let entries = newest(t.owner.loom());
    t.collaborator.lease(t.node, t.collaborator.agent(), MINUTE).wait().unwrap();
    assert_eq!(newest(t.owner.loom()), entries, "a lease is not in the journal");
    let lease = Lease { node: t.node, agent: t.collaborator.agent(), session: None, until: after(60) };
    assert_eq!(t.leases(), [lease]);

    t.clock(19);
    let local = t.owner.loom().node(t.node).unwrap().local;
    let refused = is_leased(said(&t.owner, t.node, "me first"));
    assert_eq!(refused, format!("collaborator is generating at [{local}] (for at most 41 s more)"));
    assert_eq!(is_leased(t.owner.lease(t.node, t.subject.agent(), MINUTE).wait().map_err(Into::into)), refused);
    is_leased(t.owner.prune(t.node));
    is_leased(t.owner.copy_branch(t.node, t.node));

    // Other places, and what is no continuation, are free; so is looking.
    let other = said(&t.owner, t.root, "elsewhere").unwrap();
    t.owner.annotate(t.node, "a note").unwrap();
    t.owner.bookmark(t.node, "here").unwrap();
    t.owner.link(t.node, LinkTarget::Node(other), None).unwrap();
    for kind in [EdgeKind::Thought, EdgeKind::Tool] {
        t.owner.append(Parent::Node(t.node), NodeDraft::text("beside it").kind(kind)).unwrap();
    }
    t.owner.edit(t.node, "another question").unwrap();
    t.owner.prune(other).unwrap();
    t.owner.undo(Some(t.tree)).unwrap();

    // The holder goes on and lets go with one change.
    let answer = t.collaborator.draft(Parent::Node(t.node), NodeDraft::text("an answer"));
    let release = Mutation::Release { node: t.node, agent: t.collaborator.agent() };
    t.collaborator.commit(Op::Generate, vec![Mutation::Append(Box::new(answer)), release]).unwrap();
    assert_eq!(t.leases(), []);
    said(&t.owner, t.node, "me too").unwrap();
    t.clean();
}

#[test]
fn who_asked_for_a_generation_may_write_there_too() {
    let t = Table::set();
    let (mine, theirs) = (t.session(&t.owner), t.session(&t.collaborator));
    let owner = t.owner.clone().in_session(mine);
    owner.lease(t.node, t.subject.agent(), MINUTE).wait().unwrap();
    assert_eq!(t.leases()[0].session, Some(mine));
    is_leased(said(&t.collaborator.clone().in_session(theirs), t.node, "no"));
    is_leased(said(&t.collaborator, t.node, "no"));
    is_leased(said(&t.owner, t.node, "not from elsewhere either"));
    said(&owner, t.node, "from the session that asked").unwrap();
    said(&t.subject, t.node, "the holder").unwrap();
    // What is generated is submitted by who asked, in the name of who wrote it.
    let mut new = t.owner.draft(Parent::Node(t.node), NodeDraft::text("the holder's words"));
    new.author = t.subject.agent();
    t.owner.commit(Op::Generate, vec![Mutation::Append(Box::new(new))]).unwrap();
    // Only who took it lets go of it.
    t.owner.release(t.node, t.subject.agent()).wait().unwrap();
    owner.release(t.node, t.collaborator.agent()).wait().unwrap();
    assert_eq!(t.leases().len(), 1);
    owner.release(t.node, t.subject.agent()).wait().unwrap();
    owner.release(t.node, t.subject.agent()).wait().unwrap();
    assert_eq!(t.leases(), []);
}

#[test]
fn a_branch_in_which_somebody_generates_is_not_pruned() {
    let t = Table::set();
    let deep = (0..50).fold(t.node, |at, n| said(&t.owner, at, &n.to_string()).unwrap());
    let aside = said(&t.owner, t.node, "aside").unwrap();
    let moved = said(&t.owner, t.root, "moved to").unwrap();
    t.subject.lease(deep, t.subject.agent(), MINUTE).wait().unwrap();
    for node in [t.node, deep] {
        is_leased(t.owner.prune(node));
        is_leased(t.owner.move_branch(node, moved));
    }
    t.owner.prune(aside).unwrap();
    t.subject.prune(t.node).unwrap();
    t.owner.restore(t.node).unwrap();
    t.clean();
}

#[test]
fn versions_of_a_place_share_a_lease() {
    let scene = Scene::new(6);
    let owner = scene.owner();
    let (tree, _) = owner.create_tree(TreeDraft::new("Once").mode(Mode::Buffer)).unwrap();
    let first = said(&owner, tree.root.unwrap(), " upon").unwrap();
    let version = owner.edit(first, " upon a").unwrap().nodes[0].id;
    let subject = owner.loom().actor(&owner.loom().agent("subject").unwrap());
    subject.lease(version, subject.agent(), MINUTE).wait().unwrap();
    for place in [first, version] {
        is_leased(said(&owner, place, " time"));
    }
    assert_eq!(owner.loom().snapshot().unwrap().leases(tree.id).unwrap()[0].node, first);
    owner.edit(version, " on a").unwrap();
    said(&subject, first, " time").unwrap();
}

#[test]
fn a_lease_runs_out_and_another_takes_its_place() {
    let t = Table::set();
    t.subject.lease(t.node, t.subject.agent(), MINUTE).wait().unwrap();
    t.clock(59);
    is_leased(said(&t.owner, t.node, "too early"));
    t.subject.lease(t.node, t.subject.agent(), MINUTE).wait().unwrap();
    t.clock(118);
    is_leased(said(&t.owner, t.node, "it was renewed"));
    t.clock(119);
    said(&t.owner, t.node, "now").unwrap();
    t.collaborator.lease(t.root, t.collaborator.agent(), MINUTE).wait().unwrap();
    assert_eq!(t.leases().iter().map(|lease| lease.node).collect::<Vec<_>>(), [t.root], "the old one went");
    is_leased(t.subject.lease(t.root, t.subject.agent(), MINUTE).wait().map_err(Into::into));
}

#[test]
fn no_clock_makes_a_lease_last() {
    let t = Table::set();
    // It is asked for too long; and then the clock that gave it turns out to have been an hour ahead.
    t.clock(3_600);
    t.subject.lease(t.node, t.subject.agent(), Duration::MAX).wait().unwrap();
    assert_eq!(t.leases()[0].until, after(3_900));
    t.clock(3_899);
    is_leased(said(&t.owner, t.node, "too early"));
    t.clock(0);
    said(&t.owner, t.node, "now").unwrap();
    t.owner.lease(t.node, t.owner.agent(), MINUTE).wait().unwrap();
    is_leased(said(&t.subject, t.node, "too late"));
}

#[test]
fn leases_hold_between_stores_and_after_whoever_took_them_is_gone() {
    let t = Table::set();
    let there = t.scene.again(77);
    let crashed = there.owner();
    let holder = crashed.loom().agent("collaborator").unwrap().id();
    // The other store knows of no lease yet, and has cached that.
    said(&t.owner, t.root, "before").unwrap();
    crashed.lease(t.node, holder, MINUTE).wait().unwrap();
    is_leased(said(&t.subject, t.node, "no"));
    drop(crashed);
    t.clock(30);
    is_leased(said(&t.subject, t.node, "still not"));
    t.clock(60);
    said(&t.subject, t.node, "at last").unwrap();
    // And one that is let go of over there is free here at once.
    let back = there.owner();
    back.lease(t.node, holder, MINUTE).wait().unwrap();
    t.clock(0);
    is_leased(said(&t.subject, t.node, "again not"));
    back.release(t.node, holder).wait().unwrap();
    said(&t.subject, t.node, "free").unwrap();
    t.clean();
}

#[test]
fn one_who_is_refused_in_a_group_is_refused_alone() {
    let t = Table::set();
    t.subject.lease(t.node, t.subject.agent(), MINUTE).wait().unwrap();
    let submit = |at: NodeId, n: usize| {
        let new = t.owner.draft(Parent::Node(at), NodeDraft::text(n.to_string()));
        t.owner.submit(Op::Append, vec![Mutation::Append(Box::new(new))])
    };
    let pending: Vec<_> = (0..60).map(|n| submit(if n % 3 == 0 { t.node } else { t.root }, n)).collect();
    for (n, pending) in pending.into_iter().enumerate() {
        assert_eq!(pending.wait().is_ok(), n % 3 != 0, "{n}");
    }
    // A lease that is taken back with its change holds nothing.
    let lost = vec![
        Mutation::Lease { node: t.root, agent: t.owner.agent(), until: after(60) },
        Mutation::Prune { node: t.root },
    ];
    t.owner.commit(Op::Generate, lost).unwrap_err();
    said(&t.collaborator, t.root, "free").unwrap();
    t.clean();
}

/// What the ambient block of `agent` says of others, as this store sees it.
fn others(actor: &Actor, agent: &str, at: NodeId) -> Vec<String> {
    let (loom, options) = (actor.loom(), ContextOptions::default());
    let agent = loom.agent(agent).unwrap();
    let ask = ContextRequest {
        agent: &agent,
        leaf: at,
        versions: &[],
        context_start: None,
        session: None,
        rounds: &[],
        scope: None,
        input: None,
        instruction: None,
        host_tools: &[],
        options,
        now: loom.now(),
    };
    let Prompt::Chat(messages) = assemble(&*loom.snapshot().unwrap(), &ask).unwrap().prompt else {
        panic!("a dialogue is a chat")
    };
    let all = messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
    all.lines().filter(|line| line.contains(", depth:")).map(str::to_owned).collect()
}

#[test]
fn who_looks_or_generates_is_there_also_in_another_process() {
    let t = Table::set();
    let local = |node| t.owner.loom().node(node).unwrap().local.to_string();
    let there = t.scene.again(78);
    let their = there.owner();
    let session = their.start_session("/elsewhere", t.tree, None).unwrap();
    t.clock(121);
    assert_eq!(others(&t.owner, "collaborator", t.node), [""; 0], "that was long ago");

    // Over there somebody looks, and stands at the root: nothing is changed by it but that they are there.
    there.clock.set(after(121));
    let agent = their.loom().agent("owner").unwrap();
    let mut runner = Executor::new(their.loom().clone(), agent, session, &NoHost);
    let before = newest(t.owner.loom());
    assert!(runner.run(&read(&format!("→ view {}", local(t.node))).unwrap()).is_ok());
    assert_eq!(newest(t.owner.loom()), before);
    t.clock(241);
    let looking = format!("owner reads [{}] \"the root\", depth:0", local(t.root));
    assert_eq!(others(&t.owner, "collaborator", t.node), [looking.as_str()]);
    assert_eq!(others(&t.owner, "owner", t.node), [""; 0], "nobody is told of themselves");

    // A model that generates has no session of its own.
    let subject = their.loom().agent("subject").unwrap().id();
    there.clock.set(after(241));
    their.lease(t.node, subject, MINUTE).wait().unwrap();
    let generating = format!("subject is at [{}] \"a question\", depth:1 · generating", local(t.node));
    assert_eq!(others(&t.owner, "collaborator", t.node), [generating.as_str(), &looking]);
    // A lease is a sign of life of the session that asked for it, too.
    their.clone().in_session(session).lease(t.root, subject, MINUTE).wait().unwrap();
    t.clock(242);
    assert_eq!(others(&t.owner, "collaborator", t.node).len(), 3);
    t.clock(301);
    assert_eq!(others(&t.owner, "collaborator", t.node), [looking.as_str()], "the leases ran out");
    t.clock(362);
    assert_eq!(others(&t.owner, "collaborator", t.node), [""; 0]);
}

#[test]
fn summaries_are_kept_until_what_they_are_of_is_purged() {
    let t = Table::set();
    let loom = t.owner.loom();
    let document = t.owner.create_document("notes", "Much. More.").unwrap();
    let kept = |of| loom.snapshot().unwrap().summary(of).unwrap().map(|summary| (summary.content, summary.made_of));
    let all = [SummarySubject::Node(t.node), SummarySubject::Document(document), SummarySubject::Tree(t.tree)];
    assert!(all.iter().all(|of| kept(*of).is_none()));
    let before = newest(loom);
    for (of, content) in all.iter().zip(["of the node", "of the document", "of the tree"]) {
        t.owner.save_summary(*of, (1, before), "ollama:small", content).unwrap();
    }
    t.owner.save_summary(all[0], (0, before), "openai:large", "of the node, better").unwrap();
    let said = loom.snapshot().unwrap().summary(all[0]).unwrap().unwrap();
    let better =
        Summary { content: "of the node, better".into(), made_of: 0, model: "openai:large".into(), at: after(0) };
    assert_eq!(said, better);
    assert_eq!(newest(loom), before, "nothing was said");
    assert_eq!(loom.tree(t.tree).unwrap().summary.as_deref(), Some("of the tree"));
    assert_eq!(loom.document("notes").unwrap().summary.as_deref(), Some("of the document"));
    // A document's is of a version, and is not shown for another.
    t.owner.write_document(document, &DocumentEdit::Append("Else.".into())).unwrap();
    assert_eq!(loom.document("notes").unwrap().summary, None);

    assert!(t.owner.undo(Some(t.tree)).is_ok(), "of the document");
    loom.store().rebuild().unwrap();
    assert!(all.iter().all(|of| kept(*of).is_some()), "they are made for money");
    t.clean();

    t.owner.save_summary(all[0], (0, 0), "m", "").unwrap_err();
    t.owner.purge(PurgeTarget::Node(t.node)).unwrap();
    assert_eq!(kept(all[0]), None);
    assert_eq!(kept(all[2]), None, "it may be made of what was purged");
    assert!(kept(all[1]).is_some());
    let late = t.owner.save_summary(all[0], (0, before), "m", "of the node, too late").unwrap_err();
    assert!(matches!(late, OpsError::Store(StoreError::Conflict(_))), "{late}");
    assert_eq!(kept(all[0]), None);
}

#[test]
fn what_models_count_corrects_the_estimate_and_the_last_prompts_count_most() {
    let t = Table::set();
    let of = |model: &str| {
        t.owner.loom().snapshot().unwrap().correction(model).unwrap().map(loomtree::tokens::TokenCalibration::permille)
    };
    let reckon = |estimated, reported| t.owner.record_token_usage("openai:gpt", estimated, reported).wait().unwrap();
    let before = newest(t.owner.loom());
    reckon(1_500, 1_800);
    assert_eq!(of("openai:gpt"), None, "too little is known");
    reckon(500, 600);
    assert_eq!((of("openai:gpt"), of("openai:other")), (Some(1_200), None));
    // A provider that tells nothing, or nonsense, does little harm.
    reckon(100, 0);
    reckon(0, 100);
    assert_eq!(of("openai:gpt"), Some(1_200));
    reckon(10, u64::MAX);
    assert_eq!(of("openai:gpt"), Some(1_220));
    // The model is served otherwise from now on: old prompts fade.
    for _ in 0..8 {
        reckon(100_000, 90_000);
    }
    assert_eq!(of("openai:gpt"), Some(900));
    for _ in 0..16 {
        reckon(100_000, 110_000);
    }
    let now = of("openai:gpt").unwrap();
    assert!((1_080..=1_100).contains(&now), "{now}");
    reckon(u64::MAX, u64::MAX);
    assert!(of("openai:gpt").is_some());
    assert_eq!(newest(t.owner.loom()), before, "nothing was said");
    t.clean();
}

#[test]
fn the_owner_keeps_its_name_and_stays() {
    let table = Table::set();
    let owner = table.owner.loom().agent("owner").unwrap();
    let renamed = NewAgent { name: "Ada".to_owned(), ..owner.profile.clone() };
    for refused in [table.owner.update_agent(renamed), table.collaborator.remove_agent(owner.id())] {
        assert!(matches!(refused, Err(OpsError::Invalid(_))), "{refused:?}");
    }
    table.owner.update_agent(NewAgent { system_prompt: Some("Be brief.".to_owned()), ..owner.profile }).unwrap();
    assert_eq!(table.owner.loom().agent("owner").unwrap().profile.system_prompt.as_deref(), Some("Be brief."));
}
