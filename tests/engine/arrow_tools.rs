//! The table of tools as a whole: what is derived from it agrees with it, and with the commands there are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::sample_tree as play;

use std::collections::{BTreeMap, BTreeSet};

use loomtree::{
    arrow::{
        BranchFormat, Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRange, NodeRef, Range, RecallFilter,
        RecallScope, Relative, ResponseKind, SearchDepth, Topic, WritePlace,
    },
    exec::read,
    tokens::estimated_tokens,
    tools::{self, DEFAULT_REPLY_TOKENS, TABLE, Tool},
    types::{EdgeKind, Permission, Permissions, TodoDraft},
};
use play::Play;

/// Commands of every tool, together with every argument that there is.
fn commands(id: &str) -> Vec<Command> {
    let node = || Some(NodeRef::from(id));
    let named = || NodeRef::from(id);
    let text = || "words".to_owned();
    let some = || Some(text());
    let end = LinkEnd { doc: None, tree: None, node: node() };
    let write = |place| Command::Write { doc: text(), place, content: text() };
    let span = NodeRange { first: named(), last: named() };
    let range = Range { first: 1, last: 2 };
    vec![
        Command::View {
            node: node(),
            branch: node(),
            from: node(),
            full: true,
            annotations: true,
            rendering: Some(BranchFormat::Prose),
        },
        Command::List { node: node(), what: Listing::Links },
        Command::Tree { from: node(), depth: Some(1), summary: true },
        Command::Switch { node: node(), relative: Some(Relative::Root), tree: None },
        Command::Switch { node: node(), relative: None, tree: some() },
        Command::Diff { nodes: vec![named(), named()] },
        Command::Continue {
            from: node(),
            n: Some(1),
            tokens: Some(1),
            words: Some(1),
            agent: some(),
            instruction: some(),
        },
        Command::Respond { node: node(), content: text(), kind: Some(ResponseKind::Context) },
        Command::Annotate { node: node(), content: text() },
        Command::Link { node: node(), to: end.clone(), note: some() },
        Command::Edit { node: node(), content: text() },
        Command::Merge { nodes: vec![named(), named()], content: text() },
        Command::Bookmark { node: node(), label: some() },
        Command::Unbookmark { node: node() },
        Command::Prune { node: named() },
        Command::Restore { node: named() },
        Command::Undo { n: Some(1) },
        Command::Redo { n: Some(1) },
        Command::Copy { node: named(), to: named() },
        Command::Move { node: named(), to: named() },
        Command::Split { node: node(), at: Some(1), after: some() },
        Command::Exclude { node: node() },
        Command::Include { node: node() },
        Command::Unlink { node: node(), from: end },
        Command::Read { doc: text(), summary: true, lines: Some(range), section: some(), version: Some(2) },
        write(WritePlace::Append),
        write(WritePlace::Line(1)),
        write(WritePlace::Section(text())),
        Command::Pin { node: node(), doc: None, section: None },
        Command::Pin { node: None, doc: some(), section: some() },
        Command::Stash { label: text(), content: some(), content_of: node(), summary_of: Some(span) },
        Command::Recall {
            label: some(),
            search: some(),
            turns: Some(range),
            tool: some(),
            summary: true,
            limit: Some(1),
            only: RecallFilter {
                by: some(),
                scope: Some(RecallScope::All),
                path: node(),
                below: node(),
                from: Some("2026-11-22".parse().unwrap()),
                to: Some("2h".parse().unwrap()),
                kind: Some(EdgeKind::Tool),
                exact: true,
                failed: true,
                count: true,
                around: node(),
                sort: Some(loomtree::arrow::RecallSort::Time),
                words: some(),
            },
        },
        Command::Drop { pin: node(), stash: some() },
        Command::Decide { content: text(), kind: Some(DecisionKind::Constraint) },
        Command::Memory { view: Some(MemoryView::Trace) },
        Command::Todo {
            add: vec![TodoDraft { title: text(), ..TodoDraft::default() }],
            done: Some(1),
            cancel: Some(1),
            resume: true,
            outcome: some(),
            status: some(),
        },
        Command::Delegate { goal: some(), context: some(), resume: node(), list: true, wait: Some(false) },
        Command::Search {
            query: text(),
            depth: Some(SearchDepth::Deep),
            topic: Some(Topic::News),
            max: Some(1),
            include: vec![text()],
            exclude: vec![text()],
        },
        Command::Think { content: some() },
        Command::Help { tool: some() },
    ]
}

#[test]
fn every_tool_has_its_row_in_order() {
    assert_eq!(TABLE.iter().map(|spec| spec.tool).collect::<Vec<_>>(), Tool::ALL);
    let mut words = BTreeSet::new();
    for spec in TABLE {
        assert_eq!(spec.tool.spec().name, spec.name);
        assert!(!spec.forms.is_empty() && spec.help.ends_with('.'), "{}", spec.name);
        assert!(spec.forms.iter().all(|form| form.starts_with(spec.name)), "{}", spec.name);
        assert!(spec.example.starts_with(&format!("→ {}", spec.name)), "{}", spec.name);
        assert!(!spec.reply.is_empty(), "{}", spec.name);
        for word in spec.synonyms.iter().chain([&spec.name]) {
            assert!(words.insert(*word), "{word} means two tools");
        }
        let names: BTreeSet<_> = spec.arguments().map(|argument| argument.name).collect();
        assert_eq!(names.len(), spec.arguments().count(), "{}", spec.name);
    }
}

#[test]
fn every_example_is_understood_as_its_tool() {
    for spec in TABLE {
        let read = read(spec.example);
        assert_eq!(read.map(|command| command.tool()), Ok(spec.tool), "{}", spec.example);
    }
}

#[test]
fn schemas_have_the_fields_that_commands_have() {
    let mut fields: BTreeMap<Tool, BTreeSet<String>> = BTreeMap::new();
    for command in commands("a7x2kq") {
        let json = serde_json::to_value(&command).unwrap();
        let names = json.as_object().unwrap().keys().filter(|name| *name != "op").cloned();
        fields.entry(command.tool()).or_default().extend(names);
    }
    for tool in Tool::ALL {
        let schema = tools::schema(*tool);
        let properties: BTreeSet<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(Some(&properties), fields.get(tool), "{}", tool.name());
        let required = schema["required"].as_array().unwrap();
        assert!(required.iter().all(|name| properties.contains(name.as_str().unwrap())));
        for (name, field) in schema["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "{} {name}", tool.name());
            assert!(field["type"].is_string() || field["anyOf"].is_array(), "{} {name}", tool.name());
        }
    }
}

#[test]
fn the_reference_is_what_the_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/arrow.md");
    let made = tools::reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == made, "docs/arrow.md is not what the table says; run this test with UPDATE_DOCS=1");
}

#[test]
fn the_reference_and_the_help_name_every_tool_and_code() {
    let (reference, overview) = (tools::reference(), tools::overview(Permissions::all(), &[]));
    assert!(estimated_tokens(&overview) < DEFAULT_REPLY_TOKENS, "the help is cut");
    for spec in TABLE {
        assert!(reference.contains(&format!("\n### {}\n", spec.name)));
        assert!(overview.contains(&format!("\n  {}", spec.name)), "{}", spec.name);
        let explained = tools::explain(spec.tool);
        assert!(estimated_tokens(&explained) < DEFAULT_REPLY_TOKENS, "{}", spec.name);
        assert!(explained.contains(spec.help) && spec.arguments().all(|a| explained.contains(a.name)));
    }
    for code in loomtree::tools::ErrorCode::ALL {
        assert!(reference.contains(&format!("| `{code}` |")), "{code}");
    }
}

/// Every tool with every set of permissions: run if and only if all that it needs is there, and otherwise nothing is
/// done and the first that is missing is named.
#[test]
fn a_command_is_run_only_with_what_it_needs() {
    let play = Play::new();
    play.agent("somebody", Permissions::default());
    let session = play.session("somebody", play.marie);
    let id = play.id(play.tired);
    let mut profile = play.loom.agent("somebody").unwrap().profile;
    for bits in 0..=Permissions::all().bits() {
        let held = Permissions::from_bits(bits).unwrap();
        for command in commands(&id) {
            let allowed = command.required_permissions().iter().all(|needed| held.has(needed));
            assert_eq!(command.missing_permission(held).is_none(), allowed);
            assert!(command.required_permissions().has(command.tool().spec().permission));
        }
    }
    // At the door itself, with each permission taken away from all.
    for taken in Permission::ALL {
        profile.permissions = Permission::ALL.iter().copied().filter(|p| p != taken).collect();
        play.owner.update_agent(profile.clone()).unwrap();
        let mut runner = play.runner("somebody", session);
        for command in commands(&id).iter().filter(|command| command.required_permissions().has(*taken)) {
            let before = play.counts();
            let said = runner.run(command).to_string();
            let name = command.tool().name();
            assert_eq!(said, format!("✗ PERMISSION_DENIED: {name}: this needs the permission {taken}"));
            assert_eq!(play.counts(), before);
        }
    }
}

#[test]
fn what_permissions_rest_on() {
    let needs =
        |line: &str| read(line).unwrap().required_permissions().iter().map(Permission::as_str).collect::<Vec<_>>();
    assert_eq!(needs("→ view a7x2kq"), ["loom_aware"]);
    assert_eq!(needs("→ prune a7x2kq"), ["loom_aware", "loom_write"]);
    assert_eq!(needs("→ continue from a7x2kq"), ["loom_aware", "loom_generate"]);
    assert_eq!(needs("→ read doc:\"x\""), ["doc_read"]);
    assert_eq!(needs("→ write doc:\"x\" append \"y\""), ["doc_read", "doc_write"]);
    assert_eq!(needs("→ pin doc:\"x\""), ["loom_aware", "doc_read"]);
    assert_eq!(needs("→ switch to a7x2kq in tree:\"T\""), ["loom_aware", "cross_tree"]);
    assert_eq!(needs("→ search \"x\""), ["web_search"]);
    assert_eq!(needs("→ delegate \"x\""), ["loom_aware", "delegate"]);
}
