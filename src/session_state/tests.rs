use super::*;

/// How often a rule catches what the labels say: hits, false catches, misses; what went wrong.
fn score(labelled: &str) -> (usize, usize, usize, Vec<String>) {
    let ears = CompiledRules::default();
    let (mut hits, mut wrong, mut missed, mut told) = (0, 0, 0, Vec::new());
    for line in labelled.lines() {
        let (label, text) = line.split_once('\t').unwrap();
        let text = text.replace("\\n", "\n");
        let caught = if ears.may_order(&text) { directives::standing(&ears.rules, &text) } else { Vec::new() };
        let label = label.parse::<RecordKind>().ok();
        match (label, caught.as_slice()) {
            (None, []) => {}
            (Some(label), [(kind, said)]) if *kind == label && text.contains(said.as_str()) => hits += 1,
            (label, caught) => {
                missed += usize::from(label.is_some());
                wrong += caught.len();
                told.push(format!("{label:?}: {text:?} → {caught:?}"));
            }
        }
    }
    (hits, wrong, missed, told)
}

/// The least precision and recall of standing orders.
const FLOORS: (f64, f64) = (0.95, 0.9);

#[test]
fn standing_orders_are_told_from_what_only_sounds_like_them() {
    for (name, labelled) in [
        ("dev", include_str!("../../fixtures/register/dev.tsv")),
        ("kept", include_str!("../../fixtures/register/kept.tsv")),
    ] {
        let (hits, wrong, missed, told) = score(labelled);
        let (precision, recall) = (hits as f64 / (hits + wrong) as f64, hits as f64 / (hits + missed) as f64);
        eprintln!("{name}: precision {precision:.3}, recall {recall:.3} of {}", labelled.lines().count());
        if name == "dev" || std::env::var("SHOW_KEPT").is_ok() {
            eprintln!("{}", told.join("\n"));
        }
        // Below what they are, so that a rule that breaks is seen and one that is refined is not.
        assert!(precision >= FLOORS.0 && recall >= FLOORS.1, "{name}: precision {precision:.3}, recall {recall:.3}");
    }
}

fn tool<'a>(turn: u64, name: &'a str, metadata: &'a str, content: &'a str) -> TurnRecord<'a> {
    let (author_type, kind) = (AuthorType::Tool, EdgeKind::Tool);
    TurnRecord { turn, author_type, kind, content, tool: Some(name), call: None, metadata: Some(metadata) }
}

fn human(turn: u64, content: &str) -> TurnRecord<'_> {
    let (author_type, kind) = (AuthorType::Human, EdgeKind::Continuation);
    TurnRecord { turn, author_type, kind, content, tool: None, call: None, metadata: None }
}

#[test]
fn tools_tell_of_files_errors_and_commits() {
    let (rules, mut register) = (CompiledRules::default(), SessionState::default());
    let calls =
        || Some(r#"[{"id":"c1","function":{"name":"write_file","arguments":"{\"path\":\"src/a.py\"}"}}]"#.to_owned());
    let from_calls = TurnRecord { call: Some("c1"), metadata: None, ..tool(2, "write_file", "", "ok") };
    assert!(register.hear(&rules, &from_calls, calls));
    for (turn, name, metadata, content) in [
        (3, "read_file", r#"{"arguments":{"path":"src/b.py"}}"#, "text"),
        (4, "shell", r#"{"arguments":{"command":"pytest -q"}}"#, "E  ImportError: No module named jwt\nexit code: 1"),
        (5, "str_replace_based_edit_tool", r#"{"arguments":{"path":"requirements.txt"}}"#, "ok"),
        (6, "EditFile", r#"{"arguments":{"file_path":"gone.txt"},"failed":true}"#, "no such file"),
        (7, "shell", r#"{"arguments":{"command":"pytest -q"}}"#, "3 passed\n[exit status 0]"),
        (
            8,
            "bash",
            r#"{"arguments":{"command":"git commit -am 'Add refresh tokens'"}}"#,
            "[main 1a2b3c4] Add refresh tokens\n",
        ),
        (9, "git_command", r#"{"arguments":{"args":["commit","-m","Second"]}}"#, "{\"exit_code\": 0}"),
        (10, "bash", r#"{"arguments":{"command":"git commit -m no"}}"#, "nothing to commit\nexit code 1"),
        (11, "delegate_task", r#"{"files":[{"path":"src/c.py","action":"created"}]}"#, "done"),
    ] {
        register.hear(&rules, &tool(turn, name, metadata, content), || None);
    }
    let files: Vec<String> =
        register.files_touched.iter().map(|f| format!("{} {} {}", f.path, f.action, f.turn)).collect();
    assert_eq!(files, ["src/a.py written 2", "requirements.txt edited 5", "src/c.py created 11"]);
    let said = |list: &[StateEntry]| list.iter().map(|n| format!("{} ({})", n.text, n.turn)).collect::<Vec<_>>();
    assert_eq!(said(&register.key_decisions), ["committed: Add refresh tokens (8)", "committed: Second (9)"]);
    assert_eq!(
        said(&register.errors_resolved),
        ["E ImportError: No module named jwt — fixed: after requirements.txt was edited, `pytest -q` works (7)"]
    );
}

#[test]
fn a_host_adds_rules_of_its_own() {
    let own = ExtractionRules {
        writers: vec![FileWriteTool { word: "stitch".to_owned(), action: "stitched".to_owned() }],
        orders: vec![Directive { kind: RecordKind::Constraint, form: "ab jetzt …".to_owned(), unless: Vec::new() }],
        ..ExtractionRules::none()
    };
    let data = ExtractionRules::default().and(own);
    let (usual, rules) = (CompiledRules::default(), CompiledRules::new(data.clone()));
    assert_ne!(usual.fingerprint(), rules.fingerprint());
    let mut register = SessionState::default();
    assert!(!register.hear(&usual, &human(1, "Ab jetzt auf Deutsch."), || None));
    assert!(register.hear(&rules, &human(1, "Ab jetzt auf Deutsch."), || None));
    assert!(register.hear(&rules, &tool(2, "stitchPanel", r#"{"arguments":{"path":"quilt"}}"#, ""), || None));
    assert_eq!(register.constraints, [StateEntry { text: "Ab jetzt auf Deutsch.".to_owned(), turn: 1 }]);
    assert_eq!(register.files_touched[0].action, "stitched");
    let json = serde_json::to_string(&data).unwrap();
    assert_eq!(CompiledRules::new(serde_json::from_str(&json).unwrap()).fingerprint(), rules.fingerprint());
}

#[test]
fn the_register_is_bounded_whatever_happens() {
    let (rules, mut register) = (CompiledRules::default(), SessionState::default());
    for turn in 1..500 {
        let long = format!("never use the word {} {}", "漢字".repeat(40), turn);
        register.hear(&rules, &human(turn, &long), || None);
        register.record(&SessionRecord { kind: RecordKind::Decision, content: "決定\n===".repeat(500), turn });
        register.record(&SessionRecord {
            kind: RecordKind::Decision,
            content: format!("{turn} {}", "x ".repeat(400)),
            turn,
        });
        let (path, failed) = ("深い/".repeat(90), format!("cargo {turn}"));
        let write = format!(r#"{{"arguments":{{"path":"{path}{turn}"}}}}"#);
        register.hear(&rules, &tool(turn, "write_file", &write, ""), || None);
        let run = format!(r#"{{"arguments":{{"command":"{failed}"}}}}"#);
        register.hear(&rules, &tool(turn, "bash", &run, &format!("error {}\nexit code 1", "e".repeat(5_000))), || None);
        register.hear(&rules, &tool(turn, "bash", &run, "exit code 0"), || None);
    }
    let lengths = [&register.key_decisions, &register.constraints, &register.errors_resolved].map(Vec::len);
    assert_eq!((register.files_touched.len(), lengths), (FILES, [DECISIONS, CONSTRAINTS, ERRORS]));
    register.current_focus = Some("focus ".repeat(10_000));
    let about = SessionInfo { workspace: &"/long".repeat(1_000), todos: Some((2, 3)), ..SessionInfo::default() };
    let yaml = register.yaml(&about);
    assert!(crate::tokens::estimated_tokens(&yaml) <= MAX_YAML_TOKENS, "{}", crate::tokens::estimated_tokens(&yaml));
    assert!(yaml.contains("constraints:") && yaml.contains("todos:"), "standing orders go last: {yaml}");
    assert!(yaml.lines().all(|line| !line.starts_with("===")));
}

#[test]
fn the_register_reads_as_specified() {
    let mut register = SessionState::default();
    register.touch("src/auth.py", "edited", 12);
    register.record(&SessionRecord {
        kind: RecordKind::Decision,
        content: "Using JWT for authentication".to_owned(),
        turn: 5,
    });
    register.hear(&CompiledRules::default(), &human(2, "never use an ORM, raw SQL only"), || None);
    register.current_focus = Some("\n Implementing refresh token rotation \nand more".to_owned());
    let about = SessionInfo {
        workspace: "/home/user/project",
        model: Some("claude-sonnet-4-5"),
        turns: 47,
        tokens: 124_500,
        todos: Some((2, 3)),
        ..SessionInfo::default()
    };
    insta::assert_snapshot!(register.yaml(&about));
    register.record(&SessionRecord { kind: RecordKind::Forget, content: "ORM".to_owned(), turn: 50 });
    assert!(register.constraints.is_empty());
}
