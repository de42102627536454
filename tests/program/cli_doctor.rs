//! Tests of `loom doctor` and of the command line's help.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use support::{Home, Ran};

/// Returns the object of `doctor --json`, which must exit with this code.
#[track_caller]
fn checkup(home: &Home, code: i32, args: &[&str]) -> serde_json::Value {
    let ran = home.run(&[&["doctor", "--json"], args].concat());
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!(ran.out.lines().count(), 1, "one object");
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns the messages of an area's findings of a severity.
fn messages(checkup: &serde_json::Value, area: &str, severity: &str) -> Vec<String> {
    let findings = checkup["findings"].as_array().unwrap().iter();
    let fitting = findings.filter(|finding| finding["area"] == area && finding["severity"] == severity);
    fitting.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

/// Replaces bytes of the database's header.
fn overwrite(home: &Home, at: u64, bytes: &[u8]) {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let mut file = std::fs::File::options().write(true).open(home.file("loom.db")).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn doctor_creates_no_database() {
    let home = Home::new();
    let found = checkup(&home, 0, &[]);
    assert!(messages(&found, "Database", "note")[0].contains("there is no database"), "{found:#}");
    assert!(!home.file("loom.db").exists());
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert!(found["features"].as_array().unwrap().contains(&"cli".into()));
    for finding in found["findings"].as_array().unwrap() {
        assert_eq!(finding["advice"].is_string(), finding["severity"] != "ok", "{finding}");
    }
    let text = home.ok(&["doctor"]);
    for area in ["Terminal", "Configuration", "Database", "Models", "Search", "Workspace"] {
        assert!(text.contains(&format!("\n{area}\n")), "{area}: {text}");
    }
}

#[test]
fn doctor_reports_a_sound_database_without_changing_it() {
    let home = Home::new();
    home.start("first words");
    let before = std::fs::read(home.file("loom.db")).unwrap();
    let found = checkup(&home, 0, &["--full"]);
    let sound = messages(&found, "Database", "ok").join("\n");
    for said in ["schema ", "quick check: no damage", "full check: no damage in 1 tree, 1 node", "free disk space"] {
        assert!(sound.contains(said), "{said}: {sound}");
    }
    assert!(!checkup(&home, 0, &[]).to_string().contains("full check"));
    assert_eq!(std::fs::read(home.file("loom.db")).unwrap(), before);
}

#[test]
fn doctor_reports_a_file_that_cannot_be_used() {
    let problem = |home: &Home| messages(&checkup(home, 1, &[]), "Database", "problem").join("\n");
    let home = Home::new();
    home.start("first words");
    // The schema version is at byte 60 of SQLite's header.
    overwrite(&home, 60, &999u32.to_be_bytes());
    assert!(problem(&home).contains("newer loomtree (schema 999"), "{}", problem(&home));
    overwrite(&home, 0, b"no database here");
    assert!(problem(&home).contains("is not a loomtree database"), "{}", problem(&home));
    std::fs::remove_file(home.file("loom.db")).unwrap();
    std::fs::create_dir(home.file("loom.db")).unwrap();
    assert!(problem(&home).contains("is a folder"), "{}", problem(&home));
}

#[test]
fn doctor_reports_damaged_pages_and_a_gap_in_the_journal() {
    let home = Home::new();
    home.start("first words");
    home.say("owner", None, "second words");
    let damage = rusqlite::Connection::open(home.file("loom.db")).unwrap();
    let trigger: String = damage
        .query_row(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%never shortened%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    damage.execute_batch(&format!("DROP TRIGGER {trigger}; DELETE FROM journal WHERE seq = 1")).unwrap();
    drop(damage);
    let found = messages(&checkup(&home, 1, &[]), "Database", "problem").join("\n");
    assert!(found.contains("the journal has"), "{found}");
    let bytes = std::fs::metadata(home.file("loom.db")).unwrap().len();
    for page in 5..bytes / 4096 {
        overwrite(&home, page * 4096, &[0xAA; 64]);
    }
    let found = messages(&checkup(&home, 1, &[]), "Database", "problem").join("\n");
    assert!(found.contains("the database is damaged"), "{found}");
}

#[test]
fn doctor_reports_a_locked_file() {
    let home = Home::new();
    home.start("first words");
    let holder = rusqlite::Connection::open(home.file("loom.db")).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let found = messages(&checkup(&home, 1, &[]), "Database", "problem").join("\n");
    assert!(found.contains("locked by another process"), "{found}");
}

#[cfg(unix)]
#[test]
fn doctor_names_the_process_that_holds_the_write_lock() {
    let home = Home::new();
    home.start("first words");
    assert!(!checkup(&home, 0, &[]).to_string().contains("write lock"));
    // This process writes, and readers work.
    let holder = rusqlite::Connection::open(home.file("loom.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let found = checkup(&home, 0, &[]);
    let notes = messages(&found, "Database", "note").join("\n");
    assert!(notes.contains(&format!("process {} holds the write lock", std::process::id())), "{found:#}");
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(!checkup(&home, 0, &[]).to_string().contains("write lock"));
}

#[cfg(unix)]
#[test]
fn doctor_lists_folders_of_interrupted_downloads() {
    let home = Home::new();
    let (own, ended) = (format!(".loom-fetch-{}", std::process::id()), ".loom-fetch-2147483646");
    for folder in [own.as_str(), ended, ".loom-fetch-x"] {
        std::fs::create_dir_all(home.file("models").join(folder)).unwrap();
    }
    let mut command = home.command(&["doctor", "--json"]);
    let ran = Ran::of(command.env("LOOM_MODELS_DIR", home.file("models")));
    let notes = messages(&serde_json::from_str(&ran.out).unwrap(), "Models", "note").join("\n");
    assert!(notes.contains(ended) && notes.matches("interrupted download").count() == 1, "{notes}");
    assert!(home.file("models").join(ended).exists(), "nothing is removed");
}

#[test]
fn doctor_lists_leftover_files() {
    let home = Home::new();
    home.start("first words");
    std::fs::create_dir_all(home.file("loom.db.drafts")).unwrap();
    for name in ["loom.db.drafts/a.draft", "loom.db.schema-3-1.part", "loom.db.schema-3-1.bak", "other.schema-3-1.bak"]
    {
        std::fs::write(home.file(name), "").unwrap();
    }
    let draft = std::fs::File::create(home.file("loom.db.drafts/b.draft")).unwrap();
    draft.lock().unwrap();
    let notes = messages(&checkup(&home, 0, &[]), "Database", "note").join("\n");
    assert!(notes.contains("1 draft of"), "one is being written: {notes}");
    assert!(notes.contains("1.part was left") && notes.contains("loom.db.schema-3-1.bak"), "{notes}");
    assert!(!notes.contains("other.schema"), "{notes}");
    assert!(home.file("loom.db.drafts/a.draft").exists(), "nothing is recovered");
}

#[test]
fn doctor_names_keys_and_prints_none() {
    let home = Home::new();
    let config = home.file("config.yaml");
    std::fs::write(&config, "models:\n  far:\n    base_url: http://127.0.0.1:9/v1\n    key_env: FAR_KEY\n").unwrap();
    let mut command = home.command(&["doctor", "--json", "--config"]);
    command.arg(&config).env("OPENAI_API_KEY", "sk-secret-one").env("TAVILY_API_KEY", "tvly-secret");
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("OPENAI_API_KEY is set") && ran.out.contains("ANTHROPIC_API_KEY is not set"), "{ran:?}");
    assert!(ran.out.contains("tavily is set up") && ran.out.contains("FAR_KEY"), "{ran:?}");
    let ran = Ran::of(command.env("FAR_KEY", "far-secret"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("secret") && !ran.err.contains("secret"), "{ran:?}");
}

#[test]
fn doctor_continues_after_a_configuration_error() {
    let home = Home::new();
    let config = home.file("config.yaml");
    std::fs::write(&config, "colour: red\n").unwrap();
    let found = checkup(&home, 1, &["--config", config.to_str().unwrap()]);
    assert!(messages(&found, "Configuration", "problem")[0].contains("config.yaml:1: "), "{found:#}");
    assert!(!messages(&found, "Models", "ok").is_empty());
    assert_eq!(found["problems"], 1);
}

#[test]
fn help_lists_every_command_in_groups() {
    let help = Home::new().ok(&["--help"]);
    let first = help.find("First steps:").unwrap();
    for group in ["Read and search:", "Write:", "Agents:", "Database:", "Setup:", "Options of every command:"] {
        assert!(help.find(group).unwrap() > first, "{group}: {help}");
    }
    let entry = |name: &str| help.lines().filter(|line| line.starts_with(&format!("  {name} "))).count();
    for name in ["demo", "new", "continue", "tree", "chat", "doctor", "completions", "help"] {
        assert_eq!(entry(name), 1, "{name}: {help}");
    }
    assert!(help.contains("Usage: loom") && help.contains("--workspace <DIR>"), "{help}");
}

#[test]
fn a_mistyped_command_or_option_suggests_one() {
    let home = Home::new();
    let command = home.fails(2, &["contnue"]);
    assert!(command.contains("'continue'"), "{command}");
    let option = home.fails(2, &["continue", "--mdel", "x"]);
    assert!(option.contains("'--model'"), "{option}");
    let option = home.fails(2, &["say", "--jsn"]);
    assert!(option.contains("'--json'"), "{option}");
}

#[test]
fn do_names_the_failing_line_of_its_input() {
    let home = Home::new();
    home.start("first words");
    let ran = home.pipe(&["do"], "Some prose.\n\n→ annotate . \"a note\"\n\n  → view zzzzzz\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("line 5: → view zzzzzz\n") && !ran.out.contains("line 3"), "{ran:?}");
}

#[test]
fn parse_explains_in_words_and_skips_fenced_lines() {
    let home = Home::new();
    let ran = home.pipe(&["parse", "--explain"], "→ view a7x2\n```\n→ prune a7x2\n```\n→ merge a7x2 and b3k9\n");
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{ran:?}");
    for debug in ["Construction", "Some(", "Cues", "{ ", "IdRange"] {
        assert!(!ran.out.contains(debug), "{debug}: {ran:?}");
    }
    assert!(ran.out.contains("verb merge") && !ran.out.contains("prune"), "{ran:?}");
}

#[test]
fn chat_prints_help_and_quits_on_request() {
    let home = Home::new();
    home.start("first words");
    let ran = home.pipe(&["chat", "--model", "scripted:words"], "help\n/help\n:q\nnever sent\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err.matches("Ctrl-D ends the conversation").count(), 2, "{ran:?}");
    assert_eq!(home.json(&["tree"]).len(), 1, "nothing was said");
}

#[test]
fn an_unreachable_server_is_named_with_a_hint() {
    let home = Home::new();
    home.start("first words");
    let said = home.fails(1, &["continue", "--model", "ollama:llama3.2"]);
    assert!(said.contains("no program listens on the port") && said.contains("ollama serve"), "{said}");
    assert!(!said.contains("tcp connect"), "{said}");
}
