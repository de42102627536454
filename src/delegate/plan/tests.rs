use super::*;

const NONE: PlanRules<'_> = PlanRules { tools: &[], checks: true, most: 100 };

fn subtask(id: &str, depends_on: &[&str]) -> Subtask {
    Subtask {
        id: id.to_owned(),
        title: format!("do {id}"),
        criteria: "it is there".to_owned(),
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
        ..Subtask::default()
    }
}

fn wrong(text: &str) -> String {
    Plan::read(text, &NONE).expect_err(text).to_string()
}

#[test]
fn a_plan_is_parsed_from_prose_and_fences() {
    let json = r#"{"subtasks":[{"id":"a","title":"A","criteria":"c","more":1},{"id":"b","title":"B","details":"d","criteria":"c","depends_on":["a"]}]}"#;
    let bare = &json[12..json.len() - 1];
    for text in [
        json.to_owned(),
        format!("Here it is:\n```json\n{json}\n```\nFine?"),
        format!("So: {json} – that is it."),
        bare.to_owned(),
    ] {
        let plan = Plan::read(&text, &NONE).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((plan.subtasks().len(), plan.order(), plan.needs(1)), (2, &[0, 1][..], &[0][..]));
    }
}

#[test]
fn an_answer_without_a_plan_is_an_error() {
    assert_eq!(
        wrong("I would first look at the file, then change it."),
        "there is no JSON object with \"subtasks\" in it"
    );
    assert_eq!(wrong(""), "there is no JSON object with \"subtasks\" in it");
    assert_eq!(wrong("{\"subtasks\": []}"), "the plan has no subtask");
    assert_eq!(wrong("{\"steps\": []}"), "the JSON has no list \"subtasks\"");
    assert_eq!(wrong("{\"subtasks\": [{\"id\": \"a\"}]}"), "subtask 1 has the wrong form: missing field `title`");
    assert_eq!(wrong("{\"subtasks\": [1]}").split(':').next(), Some("subtask 1 has the wrong form"));
    let huge = format!("{{\"subtasks\": [\"{}\"]}}", "x".repeat(MAX_PLAN_BYTES));
    assert!(wrong(&huge).ends_with("and 1048576 is the most"));
    let many: Vec<Subtask> = (0..101).map(|n| subtask(&n.to_string(), &[])).collect();
    assert_eq!(Plan::new(many, &NONE).unwrap_err().to_string(), "the plan has 101 subtasks, and 100 is the most");
}

#[test]
fn all_problems_are_reported_at_once() {
    let tools = ["read_file".to_owned()];
    let rules = PlanRules { tools: &tools, checks: false, most: 100 };
    let mut twice = subtask("a", &["c"]);
    twice.tools = vec!["read_file".to_owned(), "fly".to_owned()];
    let mut empty = Subtask { title: " ".to_owned(), criteria: String::new(), ..subtask("", &[]) };
    empty.check = Some("true".to_owned());
    let error =
        Plan::new(vec![subtask("a", &[]), twice, empty, Subtask { criteria: " ".into(), ..subtask("d", &[]) }], &rules);
    assert_eq!(
        error.unwrap_err().to_string().split("; ").collect::<Vec<_>>(),
        [
            "the id \"a\" occurs twice",
            "\"a\" uses the tool \"fly\", which does not exist (read_file)",
            "\"\" is no id: a short name",
            "\"\" has no title",
            "\"\" has a check, but commands cannot run here: give criteria",
            "\"d\" has no criteria: it could not be verified",
            "\"a\" depends on \"c\", which does not exist",
        ]
    );
    let unknown: Vec<Subtask> = (0..20).map(|n| subtask(&n.to_string(), &["x"])).collect();
    assert!(Plan::new(unknown, &NONE).unwrap_err().to_string().ends_with("; and 8 more"));
}

/// A plan is shown line by line before a person agrees: a title or a check has no second line and hides no character.
#[test]
fn a_title_and_a_check_are_one_visible_line() {
    for hidden in ["cargo test # all\ntouch PWN", "true\r", "true \u{1b}[2Jx", "tr\u{200b}ue", "a\u{202e}b"] {
        let title = Subtask { title: hidden.to_owned(), ..subtask("a", &[]) };
        let check = Subtask { check: Some(hidden.to_owned()), ..subtask("a", &[]) };
        // Blanks around a text are not shown and not run.
        let trimmed = hidden.trim() == "true";
        for (subtask, what) in [(title, "the title of"), (check, "the check of")] {
            let made = Plan::new(vec![subtask], &NONE);
            assert_eq!(made.is_ok(), trimmed, "{hidden:?}");
            assert!(made.err().is_none_or(|error| error.to_string().starts_with(what)));
        }
    }
}

#[test]
fn cycles_are_reported() {
    let error = |subtasks: Vec<Subtask>| Plan::new(subtasks, &NONE).unwrap_err().to_string();
    assert_eq!(error(vec![subtask("a", &["a"])]), "\"a\" depends on itself");
    let circle = vec![subtask("a", &["c"]), subtask("b", &["a"]), subtask("c", &["b"]), subtask("d", &["a"])];
    assert_eq!(error(circle), "\"a\", \"b\", \"c\" depend on each other in a circle");
}

#[test]
fn a_thousand_subtasks_are_validated_and_ordered() {
    let ids: Vec<String> = (0..1_000).map(|n| format!("task-{n}")).collect();
    let subtasks = ids.iter().enumerate().map(|(n, id)| {
        let needs: Vec<&str> = (1..=4).filter_map(|back| Some(ids[n.checked_sub(back * 7)?].as_str())).collect();
        subtask(id, &needs)
    });
    let plan = Plan::new(subtasks.collect(), &PlanRules { most: 1_000, ..NONE }).unwrap();
    let mut done = vec![false; 1_000];
    for &task in plan.order() {
        assert!(plan.needs(task).iter().all(|need| done[*need]));
        done[task] = true;
    }
}

#[test]
fn files_are_compared_as_paths() {
    let mut one = subtask("a", &[]);
    one.files = vec!["./src/a.rs".into(), "src/../src/a.rs".into(), "/src//a.rs".into()];
    let plan = Plan::new(vec![one], &NONE).unwrap();
    assert!(plan.files().all(|file| file == (0, "src/a.rs".to_owned())));
}
