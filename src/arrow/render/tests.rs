use proptest::{option, prelude::*};

use crate::types::{EdgeKind, TodoDraft};
use crate::{
    arrow::{
        BranchFormat, Command, DecisionKind, LinkEnd, Listing, MemoryView, NodeRange, NodeRef, Range, RecallFilter,
        RecallScope, Relative, ResponseKind, SearchDepth, Topic, WritePlace, parse,
    },
    tools::parse_tool_call::{command, object},
};

fn id() -> impl Strategy<Value = NodeRef> + Clone {
    "[0-9a-hjkmnp-tv-z]{4,10}".prop_map(NodeRef::Id)
}

/// A bookmark or an agent, which name nodes for every command.
fn named() -> impl Strategy<Value = NodeRef> + Clone {
    prop_oneof![
        words().prop_map(|bookmark| NodeRef::Bookmark { bookmark }),
        words().prop_map(|at| NodeRef::Agent { at }),
    ]
}

/// The references that a recall's options take.
fn id_or_place() -> impl Strategy<Value = NodeRef> + Clone {
    node().prop_filter("an id or a place", |node| matches!(node, NodeRef::Id(_) | NodeRef::Place { .. }))
}

/// Any reference to a node, mostly an id.
fn node() -> impl Strategy<Value = NodeRef> + Clone {
    let places = [
        Relative::BranchPoint,
        Relative::Parent,
        Relative::Root,
        Relative::Next,
        Relative::Previous,
        Relative::Leaf,
        Relative::Back,
    ];
    prop_oneof![
        4 => id(),
        2 => prop::sample::select(places.to_vec()).prop_map(|place| NodeRef::Place { place }),
        1 => named(),
    ]
}

/// Any words but none, for an empty content is refused.
fn words() -> impl Strategy<Value = String> + Clone {
    prop_oneof!["[ -~\n\t“”«»→←äé]{0,30}x", any::<String>().prop_filter("not empty", |text| !text.is_empty())]
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(values.to_vec())
}

fn range() -> impl Strategy<Value = Range> {
    (1..500_u32, 0..500_u32).prop_map(|(first, more)| Range { first, last: first + more })
}

fn end() -> impl Strategy<Value = LinkEnd> {
    prop_oneof![
        node().prop_map(|node| LinkEnd { node: Some(node), ..LinkEnd::default() }),
        words().prop_map(|doc| LinkEnd { doc: Some(doc), ..LinkEnd::default() }),
        (words(), option::of(id())).prop_map(|(tree, node)| LinkEnd { tree: Some(tree), node, doc: None }),
    ]
}

fn views() -> impl Strategy<Value = Command> {
    let at = || option::of(node());
    prop_oneof![
        (at(), any::<bool>(), any::<bool>()).prop_map(|(node, full, annotations)| Command::View {
            node,
            branch: None,
            from: None,
            full,
            annotations,
            rendering: None
        }),
        (node(), at(), option::of(one_of(&[BranchFormat::Prose, BranchFormat::Nodes]))).prop_map(
            |(branch, from, rendering)| Command::View {
                node: None,
                branch: Some(branch),
                from,
                full: false,
                annotations: false,
                rendering
            }
        ),
    ]
}

fn about_nodes() -> impl Strategy<Value = Command> {
    let at = || option::of(node());
    let listings = [
        Listing::Continuations,
        Listing::Annotations,
        Listing::Links,
        Listing::Versions,
        Listing::Siblings,
        Listing::Bookmarks,
        Listing::Pruned,
        Listing::Documents,
        Listing::Trees,
        Listing::Agents,
        Listing::Changes,
    ];
    let places = [Relative::Parent, Relative::Root, Relative::Next, Relative::Previous, Relative::Leaf, Relative::Back];
    let kinds = [ResponseKind::Continuation, ResponseKind::Context, ResponseKind::Instruction];
    prop_oneof![
        views(),
        (at(), one_of(&listings)).prop_map(|(node, what)| Command::List { node, what }),
        (at(), option::of(1..50_u32), any::<bool>()).prop_map(|(from, depth, summary)| Command::Tree {
            from,
            depth,
            summary
        }),
        (prop_oneof![id(), named()], option::of(words())).prop_map(|(node, tree)| Command::Switch {
            node: Some(node),
            relative: None,
            tree
        }),
        one_of(&places).prop_map(|place| Command::Switch { node: None, relative: Some(place), tree: None }),
        prop::collection::vec(node(), 2).prop_map(|nodes| Command::Diff { nodes }),
        (
            at(),
            option::of(1..10_u32),
            [option::of(1..9_000_u32), option::of(1..900_u32)],
            [option::of(words()), option::of(words())]
        )
            .prop_map(|(from, n, [tokens, words], [agent, instruction])| Command::Continue {
                from,
                n,
                tokens,
                words,
                agent,
                instruction
            }),
        (at(), words(), option::of(one_of(&kinds))).prop_map(|(node, content, kind)| Command::Respond {
            node,
            content,
            kind
        }),
        (at(), words()).prop_map(|(node, content)| Command::Annotate { node, content }),
        (at(), words()).prop_map(|(node, content)| Command::Edit { node, content }),
        (node(), end(), option::of(words())).prop_map(|(node, to, note)| Command::Link { node: Some(node), to, note }),
        (node(), end()).prop_map(|(node, from)| Command::Unlink { node: Some(node), from }),
        (prop::collection::vec(node(), 2..5), words()).prop_map(|(nodes, content)| Command::Merge { nodes, content }),
        (at(), option::of(words())).prop_map(|(node, label)| Command::Bookmark { node, label }),
        at().prop_map(|node| Command::Unbookmark { node }),
        node().prop_map(|node| Command::Prune { node }),
        node().prop_map(|node| Command::Restore { node }),
        option::of(1..99_u32).prop_map(|n| Command::Undo { n }),
        option::of(1..99_u32).prop_map(|n| Command::Redo { n }),
        (node(), node()).prop_map(|(node, to)| Command::Copy { node, to }),
        (node(), node())
            // `move back to a7x2` is `switch to a7x2`.
            .prop_filter("not back", |(node, _)| *node != NodeRef::Place { place: Relative::Back })
            .prop_map(|(node, to)| Command::Move { node, to }),
        (at(), 1..9_000_u32).prop_map(|(node, at)| Command::Split { node, at: Some(at), after: None }),
        (at(), words()).prop_map(|(node, after)| Command::Split { node, at: None, after: Some(after) }),
        at().prop_map(|node| Command::Exclude { node }),
        at().prop_map(|node| Command::Include { node }),
    ]
}

/// Delegations with a goal, and resumed ones.
fn delegations() -> impl Strategy<Value = Command> {
    let goals = (words(), option::of(words())).prop_map(|(goal, context)| (Some(goal), context, None));
    let resumed = Just((None, None, Some(NodeRef::Id("a7x2kq".to_owned()))));
    (prop_oneof![goals, resumed], option::of(any::<bool>()))
        .prop_map(|((goal, context, resume), wait)| Command::Delegate { goal, context, resume, list: false, wait })
}

fn about_the_rest() -> impl Strategy<Value = Command> {
    let place = prop_oneof![
        Just(WritePlace::Append),
        Just(WritePlace::Start),
        Just(WritePlace::End),
        (1..900_u32).prop_map(WritePlace::Line),
        words().prop_map(WritePlace::Section),
    ];
    let todo = |add, done, cancel, resume, outcome| Command::Todo { add, done, cancel, resume, outcome, status: None };
    let (domain, like_id) = ("[a-z]{2,8}\\.(org|com|net)", "[a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{3,7}");
    let site = || prop_oneof![4 => domain.boxed(), 1 => words().boxed(), 1 => like_id.boxed()];
    prop_oneof![
        (words(), any::<bool>(), option::of(range()), option::of(words()), option::of(1..900_u32)).prop_map(
            |(doc, summary, lines, section, version)| {
                let version = version.filter(|_| !summary);
                Command::Read { doc, summary, lines, section, version }
            }
        ),
        (words(), place, words()).prop_map(|(doc, place, content)| Command::Write { doc, place, content }),
        option::of(node()).prop_map(|node| Command::Pin { node, doc: None, section: None }),
        (words(), option::of(words())).prop_map(|(doc, section)| Command::Pin { node: None, doc: Some(doc), section }),
        (words(), words()).prop_map(|(label, content)| Command::Stash {
            label,
            content: Some(content),
            content_of: None,
            summary_of: None
        }),
        (words(), node()).prop_map(|(label, node)| Command::Stash {
            label,
            content: None,
            content_of: Some(node),
            summary_of: None
        }),
        (words(), id(), id()).prop_map(|(label, first, last)| Command::Stash {
            label,
            content: None,
            content_of: None,
            summary_of: Some(NodeRange { first, last })
        }),
        recall(),
        words().prop_map(|pin| Command::Drop { pin: Some(NodeRef::Id(pin)), stash: None }),
        words().prop_map(|stash| Command::Drop { pin: None, stash: Some(stash) }),
        (words(), option::of(one_of(&[DecisionKind::Decision, DecisionKind::Constraint, DecisionKind::Retract])))
            .prop_map(|(content, kind)| Command::Decide { content, kind }),
        option::of(one_of(&[MemoryView::Trace, MemoryView::Stashed])).prop_map(|view| Command::Memory { view }),
        prop::collection::vec(words(), 0..3).prop_map(move |titles| {
            let item = |title| TodoDraft { title, ..TodoDraft::default() };
            todo(titles.into_iter().map(item).collect(), None, None, false, None)
        }),
        (words(), words(), words(), option::of(words())).prop_map(move |(title, context, criteria, agent_type)| {
            todo(vec![TodoDraft { title, context, criteria, agent_type, order: None }], None, None, false, None)
        }),
        (1..99_u32, option::of(words())).prop_map(move |(item, why)| todo(Vec::new(), Some(item), None, false, why)),
        (1..99_u32, option::of(words())).prop_map(move |(item, why)| todo(Vec::new(), None, Some(item), false, why)),
        Just(todo(Vec::new(), None, None, true, None)),
        delegations(),
        (
            words(),
            option::of(one_of(&[SearchDepth::Basic, SearchDepth::Deep])),
            option::of(one_of(&[Topic::General, Topic::News])),
            option::of(1..10_u32),
            prop::collection::vec(site(), 0..3),
            prop::collection::vec(site(), 0..3),
        )
            .prop_map(|(query, depth, topic, max, include, exclude)| Command::Search {
                query,
                depth,
                topic,
                max,
                include,
                exclude
            }),
        option::of("[a-z ]{0,9}(\n[a-z ]{0,9})?").prop_map(|content| Command::Think { content }),
        option::of(one_of(&["view", "merge", "undo", "help", "todo"]))
            .prop_map(|tool| Command::Help { tool: tool.map(str::to_owned) }),
    ]
}

fn recall() -> impl Strategy<Value = Command> {
    let none = || Command::Recall {
        label: None,
        search: None,
        turns: None,
        tool: None,
        summary: false,
        limit: None,
        only: RecallFilter::default(),
    };
    fn with(mut command: Command, change: impl FnOnce(&mut Command)) -> Command {
        change(&mut command);
        command
    }
    prop_oneof![
        (words(), narrowed()).prop_map(move |(text, filter)| with(none(), |command| {
            if let Command::Recall { label, only, .. } = command {
                (*label, *only) = (Some(text), filter);
            }
        })),
        (words(), option::of(1..50_u32), narrowed()).prop_map(move |(text, most, filter)| with(none(), |command| {
            if let Command::Recall { search, limit, only, .. } = command {
                (*search, *limit, *only) = (Some(text), most, filter);
            }
        })),
        (range(), narrowed()).prop_map(move |(range, filter)| with(none(), |command| {
            if let Command::Recall { turns, only, .. } = command {
                // Turns have no words to be exact about, nor a count.
                let plain = RecallFilter { exact: false, failed: false, count: false, ..filter };
                (*turns, *only) = (Some(range), plain);
            }
        })),
        (words(), option::of(1..50_u32), option::of(words()), narrowed()).prop_map(
            move |(name, most, words, filter)| {
                with(none(), |command| {
                    if let Command::Recall { tool, limit, only, .. } = command {
                        (*tool, *limit, *only) = (Some(name), most, RecallFilter { words, ..filter });
                    }
                })
            }
        ),
        id_or_place().prop_map(move |at| with(none(), |command| {
            if let Command::Recall { only, .. } = command {
                only.around = Some(at);
            }
        })),
        Just(with(none(), |command| {
            if let Command::Recall { summary, .. } = command {
                *summary = true;
            }
        })),
    ]
}

/// Filters of a recall, mostly few of them.
fn narrowed() -> impl Strategy<Value = RecallFilter> {
    let scopes = [RecallScope::Session, RecallScope::Tree, RecallScope::Workspace, RecallScope::All];
    let times = ["2026-11-22", "today", "yesterday", "2h", "30s", "3d", "11mo", "2026-11-22T14:00:30Z"];
    let time = prop::sample::select(times.to_vec()).prop_map(|text| text.parse().unwrap());
    let by =
        prop_oneof!["human|model|tool|owner|the editor", "[a-z][a-z0-9 _-]{0,9}"].prop_map(|by| by.trim().to_owned());
    let rarely = |some| prop::option::weighted(0.25, some);
    (
        prop::option::weighted(0.25, by),
        prop::option::weighted(0.25, one_of(&scopes)),
        rarely(id()),
        rarely(id()),
        prop::option::weighted(0.25, time.clone()),
        prop::option::weighted(0.25, time),
        prop::option::weighted(0.25, one_of(EdgeKind::ALL)),
        (any::<[bool; 3]>(), any::<bool>()),
    )
        .prop_map(|(by, scope, path, below, from, to, kind, ([exact, failed, count], sort))| RecallFilter {
            by,
            scope,
            path,
            below,
            from,
            to,
            kind,
            exact,
            failed,
            count,
            around: None,
            sort: sort.then_some(super::super::RecallSort::Oldest),
            words: None,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_command_is_read_back_from_its_text(command in prop_oneof![about_nodes(), about_the_rest()]) {
        let text = command.to_string();
        match parse(&text) {
            Ok(understood) => prop_assert_eq!(understood.command, command, "{}", text),
            Err(refusal) => prop_assert!(false, "{text}: {refusal}"),
        }
    }

    #[test]
    fn a_command_is_read_back_from_its_json(command in prop_oneof![about_nodes(), about_the_rest()]) {
        let json = serde_json::to_value(&command).unwrap();
        let back: Command = serde_json::from_value(json.clone()).unwrap();
        prop_assert_eq!(&back, &command, "{}", json);
        // As a provider's call gives it; there, what is blank is not there.
        let Some(mut fields) = json.as_object().cloned() else { return Ok(()) };
        fields.remove("op");
        let empty = |value: &serde_json::Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        let blank = |value: &serde_json::Value| match value {
            serde_json::Value::Array(items) => {
                items.iter().any(|item| empty(item) || item.as_object().is_some_and(|item| item.values().any(empty)))
            }
            value => empty(value),
        };
        let nested = fields.values().filter_map(|value| value.as_object()).flat_map(|inside| inside.values());
        prop_assume!(!fields.values().chain(nested).any(blank));
        let arguments = serde_json::Value::Object(fields).to_string();
        prop_assert_eq!(self::command(command.tool(), object(&arguments)), Ok(command), "{}", arguments);
    }
}
