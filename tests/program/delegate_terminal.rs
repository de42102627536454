//! Tests of delegation as a process: in a pseudo-terminal, killed, with two processes, with a server on loopback.

#![cfg(all(feature = "cli", feature = "workspace", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;
use crate::support::fake_model_server;
use crate::support::pty;

use fake_model_server::{DONE, Server, Step, finish, good, head, models, send, text, usage};
use pty::Terminal;
use serde_json::json;
use support::Home;

const PASSED: &str = r#"{"passed": true, "why": "both coats are there"}"#;

/// Plan of two subtasks; the second depends on the first.
fn plan() -> Vec<Step> {
    let part = |id: &str, needs: &[&str]| json!({ "id": id, "title": format!("Paint the {id}"), "details": "green\u{1b}[2J", "criteria": "two coats", "depends_on": needs });
    good(&json!({ "subtasks": [part("front", &[]), part("back", &["front"])] }).to_string())
}

/// Requests after the approval of the plan.
fn done() -> Vec<Vec<Step>> {
    vec![good("The front is done."), good(PASSED), good("The back is done."), good(PASSED)]
}

fn hanging() -> Vec<Step> {
    vec![head(), send(text("I begin ")), Step::Stall]
}

fn listed() -> Vec<Step> {
    models(&[("m", "somebody")])
}

struct Yard {
    home: Home,
    server: Server,
}

impl Yard {
    /// Tree and a server with these replies after its model list.
    async fn new(answers: Vec<Vec<Step>>) -> Self {
        let home = Home::new();
        home.start("A shed.");
        let server = Server::start([vec![listed()], answers].concat()).await;
        Self { home, server }
    }

    fn model(&self) -> String {
        format!("{}#m", self.server.url())
    }

    fn terminal(&self, args: &[&str]) -> Terminal {
        Terminal::start(&self.home, &[args, &["-m", &self.model()]].concat())
    }

    /// Number of requests except those for models.
    fn asked(&self) -> Vec<String> {
        let all = self.server.requests();
        all.iter().filter(|request| request.line.starts_with("POST")).map(|request| request.body.to_string()).collect()
    }

    /// Waits for a number of requests.
    #[track_caller]
    fn comes_to(&self, requests: usize) {
        let begun = std::time::Instant::now();
        while self.asked().len() < requests {
            assert!(begun.elapsed().as_secs() < 20, "request {requests} never comes");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Returns the status and id of the only delegation.
    fn stands(&self) -> (String, String) {
        let listed = self.home.ok(&["delegate", "--list"]);
        let mut words = listed.split_whitespace();
        let id = words.next().unwrap().to_owned();
        (words.next().unwrap().to_owned(), id)
    }

    /// Resumes it; no approval is needed.
    fn resumes(&self, answers: Vec<Vec<Step>>) -> String {
        self.server.then([vec![listed()], answers].concat());
        self.home.ok(&["delegate", "--resume", &self.stands().1, "--yes", "--parallel", "1", "-m", &self.model()])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn goal_and_plan_are_shown_and_nothing_starts_before_approval() {
    let yard = Yard::new([vec![plan()], done()].concat()).await;
    let mut terminal = yard.terminal(&["delegate", "Paint the shed", "--context", "green", "--parallel", "1"]);
    terminal.wait("Allow it?", 1);
    let shown = terminal.text();
    for words in
        ["Delegated: Paint the shed", "green", "1. Paint the front", "2. Paint the back (after 1)", "two coats"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("\u{1b}[2J"), "a plan is no control code: {shown:?}");
    assert_eq!(yard.asked().len(), 1);
    // Enter alone is not an answer.
    terminal.keys("\r");
    terminal.wait("Allow it?", 2);
    assert_eq!(yard.stands().0, "running");
    terminal.keys("y\r");
    terminal.wait("✓ task completed: \"Paint the shed\"", 1);
    assert_eq!(terminal.ends(), 0);
    let shown = terminal.text();
    assert!(shown.contains("[x] 1 Paint the front") && shown.contains("[x] 2 Paint the back"), "{shown}");
    let (state, id) = yard.stands();
    assert_eq!((state.as_str(), yard.asked().len()), ("ended", 5));
    // The report is in the tree once, also after a resume of the complete delegation.
    let found = yard.home.ok(&["do", "recall tool:delegate"]);
    assert_eq!(found.matches("task completed: \"Paint the shed\"").count(), 1, "{found}");
    yard.server.then([listed()]);
    yard.home.ok(&["delegate", "--resume", &id, "-m", &yard.model()]);
    assert_eq!(yard.home.ok(&["do", "recall tool:delegate"]), found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_starts_nothing_and_a_later_approval_reuses_the_plan() {
    let yard = Yard::new(vec![plan()]).await;
    let mut terminal = yard.terminal(&["delegate", "Paint the shed"]);
    terminal.wait("Allow it?", 1);
    terminal.keys("not today\r");
    terminal.wait("it was refused: not today", 1);
    assert_eq!(terminal.ends(), 1);
    assert!(terminal.text().contains("asks again; --yes approves the plan"), "{}", terminal.text());
    assert_eq!((yard.stands().0.as_str(), yard.asked().len()), ("refused", 1));
    let said = yard.resumes(done());
    assert!(said.contains("✓ task completed"), "{said}");
    assert_eq!(yard.asked().len(), 5);
}

/// A yes to a plan that is longer than the screen counts only after its last line was shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_plan_is_shown_to_its_end_before_a_yes_counts() {
    let part =
        |n: usize| json!({ "id": format!("s{n}"), "title": format!("Paint board {n}."), "criteria": "two coats" });
    let plan = json!({ "subtasks": (1..=40).map(part).collect::<Vec<_>>() });
    let yard = Yard::new(vec![good(&plan.to_string())]).await;
    let mut terminal = yard.terminal(&["delegate", "Paint the fence"]);
    terminal.wait("Allow it?", 1);
    assert!(terminal.text().contains("Paint board 1.") && !terminal.text().contains("Paint board 40."));
    let mut prompts = 1;
    while !terminal.text().contains("Paint board 40.") {
        terminal.wait("Allow it?", prompts);
        terminal.keys("y\r");
        prompts += 1;
        terminal.wait("Allow it?", prompts);
        assert_eq!(yard.asked().len(), 1, "a yes before the end starts nothing");
        terminal.keys("s\r");
        prompts += 1;
        terminal.wait("Allow it?", prompts);
        assert!(prompts < 40, "{}", terminal.text());
    }
    assert!(prompts > 3, "the plan fits on one page");
    terminal.keys("n\r");
    assert_eq!(terminal.ends(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_during_approval_and_work_and_results_stay() {
    let yard = Yard::new(vec![plan()]).await;
    let mut terminal = yard.terminal(&["delegate", "Paint the shed"]);
    terminal.wait("Allow it?", 1);
    terminal.keys("\u{3}");
    assert_eq!(terminal.ends(), 1);
    assert_eq!((yard.stands().0.as_str(), yard.asked().len()), ("open", 1));
    // A resume asks again.
    yard.server.then([listed(), good("The front is done."), good(PASSED), hanging()]);
    let id = yard.stands().1;
    let mut terminal = yard.terminal(&["delegate", "--resume", &id]);
    terminal.wait("Allow it?", 1);
    terminal.keys("y\r");
    terminal.wait("[>] 2 Paint the back", 1);
    yard.comes_to(4);
    terminal.keys("\u{3}");
    terminal.wait("✗ task stopped", 1);
    assert_eq!(terminal.ends(), 1);
    assert_eq!(yard.stands().0, "stopped");
    let said = yard.resumes(vec![good("The back is done."), good(PASSED)]);
    assert!(said.contains("✓ task completed") && said.contains("[x] Paint the back"), "{said}");
    let fronts = yard.asked().iter().filter(|asked| asked.contains("Subtask 1 of 2")).count();
    assert_eq!((fronts, yard.asked().len()), (1, 6), "what was verified is not done again");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_at_a_time_and_an_immediate_resume_after_a_kill() {
    let yard = Yard::new(vec![plan(), good("The front is done."), good(PASSED), hanging()]).await;
    let model = yard.model();
    let args = ["delegate", "Paint the shed", "--yes", "--parallel", "1", "-m", &model];
    let mut first = yard.home.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    yard.comes_to(4);
    let (state, id) = yard.stands();
    assert_eq!(state, "running");
    let refused = yard.home.fails(1, &["delegate", "--resume", &id, "--yes", "-m", &model]);
    assert!(refused.contains(&format!("is being carried on by owner (process {})", first.id())), "{refused}");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(yard.stands().0, "open");
    let said = yard.resumes(vec![good("The back is done."), good(PASSED)]);
    assert!(said.contains("✓ task completed"), "{said}");
    let asked = yard.asked();
    assert_eq!((asked.iter().filter(|asked| asked.contains("Subtask 1 of 2")).count(), asked.len()), (1, 6));
    yard.home.ok(&["verify"]);
    assert!(yard.home.ok(&["recall", "--tool", "delegate_task"]).contains("task completed"), "by its alias");
    assert!(
        yard.home.ok(&["do", "recall tool:delegate"]).contains("task completed"),
        "what was cut off comes back too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_chat_the_model_sees_refusals_stops_and_reports() {
    let hands_over = || good("I hand it over.\n→ delegate \"Paint the shed\"");
    let answers = [
        vec![hands_over(), listed(), plan(), good("As you like.")],
        vec![hands_over(), plan(), good("The front is done."), good(PASSED), good("The back is done."), good(PASSED)],
        vec![good("It is green."), hands_over(), plan()],
    ];
    let yard = Yard::new(answers.concat()).await;
    let mut terminal = yard.terminal(&["chat"]);
    terminal.wait(">  ", 1);
    terminal.keys("Paint it.\r");
    terminal.wait("1. Paint the front", 1);
    terminal.wait("Allow it?", 1);
    terminal.keys("not today\r");
    terminal.wait("As you like.", 1);
    let told = yard.asked().last().unwrap().clone();
    assert!(told.contains("✗ CANCELLED: delegate: it was refused: not today"), "{told}");
    terminal.keys("Now.\r");
    terminal.wait("Allow it?", 2);
    terminal.keys("y\r");
    terminal.wait("It is green.", 1);
    let shown = terminal.text();
    assert!(shown.contains("[x] 1 Paint the front") && shown.contains("[x] 2 Paint the back"), "{shown}");
    assert!(yard.asked().last().unwrap().contains("✓ task completed"));
    // Cancelled during approval: the turn ends, and the conversation continues.
    let before = yard.asked().len();
    terminal.keys("Once more.\r");
    terminal.wait("Allow it?", 3);
    terminal.keys("\u{3}");
    terminal.wait_after("cancelled", ">  ");
    terminal.keys("\u{4}");
    assert_eq!((terminal.ends(), yard.asked().len()), (0, before + 2));
    let states = yard.home.ok(&["delegate", "--list"]);
    let states: Vec<&str> = states.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(states, ["open", "ended", "refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_delegate_line_asks_for_approval_and_shows_progress() {
    let yard = Yard::new([vec![listed(), plan()], done()].concat()).await;
    let mut terminal = yard.terminal(&["chat"]);
    terminal.wait(">  ", 1);
    terminal.keys("→ delegate \"Paint the shed\"\r");
    terminal.wait("Allow it?", 1);
    terminal.keys("y\r");
    terminal.wait("✓ task completed", 1);
    let shown = terminal.text();
    assert!(shown.contains("planned: 2 subtasks") && shown.contains("[x] 2 Paint the back"), "{shown}");
    assert!(yard.home.ok(&["do", "recall tool:delegate"]).contains("task completed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_delegation_asks_between_two_lines() {
    let planner = Server::start([listed(), [vec![Step::Hold], plan()].concat()]).await;
    let config = format!("delegate:\n  planner: {}#m\n  parallel: 1\n", planner.url());
    // The delegation asks for the models at any time.
    let replies = [good("I hand it over.\n→ delegate \"Paint the shed\" wait:no"), good("It is on its way.")];
    let yard = Yard { home: Home::new(), server: Server::with_model("m", replies).await };
    yard.home.start("A shed.");
    let path = yard.home.file("config.yaml");
    std::fs::write(&path, config).unwrap();
    let mut terminal = yard.terminal(&["--config", path.to_str().unwrap(), "chat"]);
    terminal.wait(">  ", 1);
    terminal.keys("Paint it.\r");
    terminal.wait_after("It is on its way.", ">  ");
    // The user is typing: the text is not an answer, and a note says so.
    planner.release();
    terminal.wait("An agent asks a question", 1);
    assert!(!terminal.text().contains("Allow it?"));
    terminal.keys("\r");
    terminal.wait("Allow it?", 1);
    terminal.keys("not now\r");
    // The typed line is shown again below the notes, of which the last one tells the end of the delegation.
    terminal.wait_after("CANCELLED: it was refused: not now", ">  ");
    terminal.keys("\u{4}");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(yard.stands().0, "refused");
}

#[cfg(feature = "tui")]
#[tokio::test(flavor = "multi_thread")]
async fn the_tui_asks_shows_progress_and_has_the_report() {
    let yard = Yard::new([vec![plan()], done()].concat()).await;
    let path = yard.home.file("config.yaml");
    std::fs::write(&path, format!("model: {}\ndelegate:\n  parallel: 1\n", yard.model())).unwrap();
    let mut terminal = Terminal::start(&yard.home, &["--config", path.to_str().unwrap()]);
    terminal.sees("A shed.");
    terminal.keys("i");
    terminal.sees("enter sends it");
    terminal.keys("→ delegate \"Paint the shed\"\r");
    terminal.sees("allow it?");
    terminal.sees("1. Paint the front");
    assert_eq!(yard.asked().len(), 1);
    terminal.keys("y");
    terminal.sees("task completed");
    assert_eq!((yard.stands().0.as_str(), yard.asked().len()), ("ended", 5));
    terminal.keys("qq");
    assert_eq!(terminal.ends(), 0);
}

/// Reply with token usage.
fn paid(words: &str) -> Vec<Step> {
    vec![head(), send(text(words)), send(finish("stop")), send(usage(100, 0, 10)), send(DONE)]
}

/// Small crate with a test.
fn project(home: &Home) {
    for (name, content) in [
        ("Cargo.toml", "[package]\nname = \"greet\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n"),
        ("src/lib.rs", "pub fn greet(name: &str) -> String {\n    format!(\"Hello {name}\")\n}\n"),
        ("tests/greets.rs", "#[test]\nfn loudly() {\n    assert_eq!(greet::greet(\"Marie\"), \"HELLO MARIE!\");\n}\n"),
    ] {
        let path = home.file("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_project_is_worked_on_and_tested_and_what_it_took_is_counted() {
    let parts = json!({ "subtasks": [
        { "id": "shout", "title": "Add shouting", "check": "test -f src/shout.rs", "tools": ["write_file"] },
        { "id": "note", "title": "Leave a note next door", "criteria": "it is there", "tools": ["write_file"] },
        { "id": "wire", "title": "Greet loudly", "check": "cargo test --offline --quiet", "depends_on": ["shout"],
          "tools": ["read_file", "edit_file", "run_command"], "files": ["src/lib.rs"] },
        { "id": "thanks", "title": "Thank for it", "criteria": "thanked", "depends_on": ["note"] },
    ] });
    let tests = "→ run_command \"cargo test --offline --quiet\"\n";
    let replies = [
        &parts.to_string(),
        // Adds a file.
        "→ write_file path:\"src/shout.rs\" <<<\npub fn shout(words: &str) -> String {\n    words.to_uppercase()\n}\n>>>\n",
        "It is in src/shout.rs.",
        // Tries to write outside of the folder.
        "→ write_file path:\"../note.txt\" content:\"hello\"\n",
        "I left the note.",
        r#"{"passed": false, "why": "it was refused"}"#,
        "It is there, really.",
        r#"{"passed": false, "why": "it still is not"}"#,
        // Edits another file, wrong at first.
        "→ read_file path:\"src/lib.rs\"\n",
        "→ edit_file path:\"src/lib.rs\" old:\"pub fn greet\" new:\"mod shout;\\n\\npub fn greet\"\n",
        "It greets loudly.",
        &format!(
            "→ edit_file path:\"src/lib.rs\" old:\"format!(\\\"Hello {{name}}\\\")\" new:\"shout::shout(&format!(\\\"Hello {{name}}!\\\"))\"\n{tests}"
        ),
        "Now it does, and the test passes.",
    ];
    let home = Home::new();
    project(&home);
    let server = Server::start([vec![listed()], replies.iter().map(|reply| paid(reply)).collect()].concat()).await;
    let yard = Yard { home, server };
    let config = yard.home.file("config.yaml");
    std::fs::write(&config, "prices:\n  '*': { input: 1000, output: 10000, currency: EUR }\n").unwrap();
    let (config, model) = (config.to_str().unwrap().to_owned(), yard.model());
    // Toolchain of this test.
    let cargo = std::path::Path::new(env!("CARGO"));
    let own = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(cargo.parent().map(Into::into).into_iter().chain(std::env::split_paths(&own))).unwrap();
    let loom = |args: &[&str]| {
        let mut command = yard.home.command(&[&["--config", &config], args].concat());
        let ran = command.env("PATH", &path).current_dir(yard.home.file("work")).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap())
    };
    loom(&["new", "A project."]);
    let (code, out, err) = loom(&[
        "delegate",
        "Greet loudly",
        "--yes",
        "--tools",
        "--allow",
        "cargo test*",
        "--allow",
        "test -f src/*",
        "--allow-write",
        "**",
        "--parallel",
        "1",
        "-m",
        &model,
    ]);
    assert_eq!(code, Some(1), "{out}{err}");
    let tree = loom(&["tree"]).1;
    insta::assert_snapshot!(masked(&out, &tree, &model));
    // The write outside was refused, and the failed test was reported to its worker.
    let asked = yard.asked();
    assert!(
        asked[4].contains("✗ PERMISSION_DENIED: write_file: ") && !yard.home.file("note.txt").exists(),
        "{}",
        asked[4]
    );
    assert!(asked[11].contains("test loudly ... FAILED") || asked[11].contains("HELLO MARIE!"), "{}", asked[11]);
    assert!(asked[12].contains("exit 0"), "its own run of the tests: {}", asked[12]);
    let lib = std::fs::read_to_string(yard.home.file("work/src/lib.rs")).unwrap();
    assert!(lib.contains("shout::shout(&format!(\"Hello {name}!\"))") && yard.home.file("work/src/shout.rs").exists());
    // The session has the same totals: 13 replies, 1300 tokens at 1000 and 130 at 10000 per million.
    let sums = loom(&["stats", "--session", "--json"]).1;
    let sums: serde_json::Value = serde_json::from_str(&sums).unwrap();
    let all = &sums["all"];
    assert_eq!((&all["generations"], &all["prompt"], &all["output"]), (&13.into(), &1300.into(), &130.into()), "{all}");
    assert_eq!(all["cost"][0]["currency"], "EUR", "{all}");
    assert!(loom(&["stats"]).1.contains("2.6"), "{}", loom(&["stats"]).1);
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_of_a_plan_does_not_cover_commands_writes_and_checks() {
    let part = json!({ "id": "a", "title": "Paint", "check": "touch CHECK", "tools": ["run_command", "write_file"] });
    let replies = [
        good(&json!({ "subtasks": [part] }).to_string()),
        good("→ run_command command:\"touch COMMAND\"\n→ write_file path:\"WRITE\" content:\"x\"\n"),
        good("Done."),
        good("Done."),
    ];
    let yard = Yard::new(replies.to_vec()).await;
    let model = yard.model();
    let ran = yard.home.run(&["delegate", "Paint", "--yes", "--tools", "--parallel", "1", "-m", &model]);
    // The refused check decides nothing, so a model judges.
    assert!(ran.code == 0 && ran.out.contains("1 by a model that did not do the work"), "{ran:?}");
    assert!(yard.asked()[3].contains("check: touch CHECK"), "{}", yard.asked()[3]);
    for file in ["COMMAND", "WRITE", "CHECK"] {
        assert!(!yard.home.file(file).exists(), "{file}: {ran:?}");
    }
    assert!(yard.asked()[2].contains("--allow allows it"), "{}", yard.asked()[2]);
}

/// Returns the output without variable parts; `tree` replaces local ids at the beginning of lines. Lines of the
/// tree lose their age and end after 60 characters, since an age of other length moves their end.
fn masked(printed: &str, tree: &str, model: &str) -> String {
    let lines = tree.lines().skip(1).map(|line| line.trim_start_matches([' ', '│', '├', '└', '─', '*']));
    let ids = lines.filter_map(|line| line.split_whitespace().next());
    let below = tree.lines().skip(1).map(|line| {
        let words = line.replace(" just now", "").replace(" ago", "\0");
        let unaged: Vec<&str> = words.split(' ').filter(|word| !word.ends_with('\0')).collect();
        unaged.join(" ").chars().take(60).chain(['\n']).collect::<String>()
    });
    let all = format!("{printed}\n{}", below.collect::<String>()).replace(model, "the model");
    let masked = ids.fold(all, |text, id| text.replace(id, &".".repeat(id.len())));
    let without_time = |line: &str| match line.rsplit_once("· ") {
        Some((rest, time)) if time.strip_suffix(" s").is_some_and(|n| n.parse::<u64>().is_ok()) => {
            format!("{rest}· N s\n")
        }
        _ => format!("{line}\n"),
    };
    masked.lines().map(without_time).collect()
}
