//! Tests of documents, agents, databases, configuration and completions.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use support::Home;

#[test]
fn documents() {
    let home = Home::new();
    home.ok(&["new", "Root"]);
    assert!(home.ok(&["docs"]).contains("no documents"));
    home.ok(&["docs", "new", "plan", "# One\n\na\n\n# Two\n\nb\n"]);
    assert!(home.fails(1, &["docs", "new", "plan"]).contains("plan"));
    assert_eq!(home.ok(&["docs", "list"]), home.ok(&["docs"]));
    home.ok(&["docs", "write", "plan", "--append", "the end"]);
    home.ok(&["docs", "write", "plan", "--start", "the start"]);
    home.ok(&["docs", "write", "plan", "--replace", "One", "changed"]);
    assert_eq!(home.ok(&["docs", "read", "plan", "--section", "one"]), "# One\n\nchanged\n");
    assert_eq!(home.ok(&["docs", "read", "plan", "--lines", "1"]), "the start\n");
    assert!(home.fails(1, &["docs", "read", "plan", "--section", "Three"]).contains("\"One\""));
    assert!(home.fails(1, &["docs", "read", "plan", "--version", "9"]).contains("newest version is 4"));
    assert!(home.fails(1, &["docs", "read", "plans"]).contains("there are: plan"));
    assert_eq!(home.json(&["docs", "versions", "plan"]).len(), 4);
    home.ok(&["docs", "revert", "plan", "1"]);
    assert!(home.ok(&["docs", "read", "plan"]).starts_with("# One\n\na"));
    home.pipe(&["docs", "write", "plan", "--whole", "-"], "whole");
    // A text that is there already makes no version.
    let before = home.ok(&["docs", "list"]);
    assert_eq!(home.json(&["docs", "write", "plan", "--whole", "whole"])[0]["group"], 0);
    assert_eq!(home.ok(&["docs", "list"]), before);
    assert_eq!(home.ok(&["docs", "read", "plan"]), "whole\n");
    assert!(home.fails(2, &["docs", "write", "plan", "x"]).contains("--append"));
    home.ok(&["docs", "remove", "plan"]);
    home.fails(1, &["docs", "read", "plan"]);
}

/// A text that was edited for minutes replaces nothing that was written meanwhile, and is not lost.
#[cfg(unix)]
#[test]
fn an_edited_document_does_not_replace_a_version_written_meanwhile() {
    use crate::support::pty::Terminal;
    let home = Home::new();
    home.ok(&["new", "Root"]);
    home.ok(&["docs", "new", "plan", "first"]);
    let script = home.file("edit.sh");
    let (loom, db) = (env!("CARGO_BIN_EXE_loom"), home.file("loom.db"));
    let append = format!("{loom} --db {} docs write plan --append theirs", db.display());
    std::fs::write(&script, format!("#!/bin/sh\n{append} >/dev/null\nprintf 'mine' > \"$1\"\n")).unwrap();
    let editor = format!("sh {}", script.display());
    let edit = |args: &[&str]| Terminal::start_with(&home, args, &[("EDITOR", &editor)]);
    let mut terminal = edit(&["docs", "write", "plan", "--whole"]);
    terminal.wait("your text is in ", 1);
    terminal.wait_after("your text is in ", "\n");
    assert_eq!(terminal.ends(), 1);
    let shown = terminal.text();
    assert!(shown.contains("version 2 by now"), "{shown}");
    assert_eq!(home.ok(&["docs", "read", "plan"]), "first\n\ntheirs\n");
    let kept = shown.split("your text is in ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine");
    // A paragraph at the end goes with what is there.
    assert_eq!(edit(&["docs", "write", "plan", "--append"]).ends(), 0);
    assert_eq!(home.ok(&["docs", "read", "plan"]), "first\n\ntheirs\n\ntheirs\n\nmine\n");
    // What was typed elsewhere is not an edit: it replaces what is there.
    home.ok(&["docs", "write", "plan", "--whole", "whole"]);
    assert_eq!(home.ok(&["docs", "read", "plan"]), "whole\n");
}

#[test]
fn a_text_of_the_editor_that_cannot_be_used_stays_in_its_file() {
    use crate::support::pty::Terminal;
    let home = Home::new();
    home.ok(&["new", "Root"]);
    let node = home.say("owner", None, "hers");
    let (loom, db, script) = (env!("CARGO_BIN_EXE_loom"), home.file("loom.db"), home.file("edit.sh"));
    let editor = format!("sh {}", script.display());
    let prune = format!("{loom} --db {} prune {node} >/dev/null", db.display());
    for (step, reason) in
        [("printf 'caf\\351' > \"$1\"", "UTF-8"), (&*format!("printf 'mine' > \"$1\"; {prune}"), "pruned")]
    {
        std::fs::write(&script, format!("#!/bin/sh\n{step}\n")).unwrap();
        let mut terminal = Terminal::start_with(&home, &["say", "--at", &node], &[("EDITOR", &editor)]);
        terminal.wait_after("your text is in ", "\n");
        assert_eq!(terminal.ends(), 1);
        let shown = terminal.text();
        assert!(shown.contains(reason), "{shown}");
        let kept = shown.split("your text is in ").nth(1).unwrap().lines().next().unwrap();
        assert!(!std::fs::read(kept).unwrap().is_empty());
    }
}

#[test]
fn agents() {
    let home = Home::new();
    home.ok(&["new", "Root"]);
    assert_eq!(home.json(&["agents"]).len(), 3);
    home.ok(&["agents", "add", "critic", "--model", "ollama:llama3.2", "--permissions", "loom_aware,doc_read"]);
    assert!(home.ok(&["agents"]).contains("may loom_aware, doc_read"));
    home.ok(&["agents", "set", "critic", "--temperature", "0.5", "--rename", "reader"]);
    assert!(home.fails(2, &["agents", "set", "reader"]).contains("nothing would change"));
    assert!(home.fails(2, &["agents", "set", "reader", "--permissions", "fly"]).contains("loom_write"));
    assert!(home.fails(1, &["agents", "set", "critic"]).contains("reader"));
    assert!(home.fails(1, &["agents", "add", "owner"]).contains("owner"));
    home.ok(&["agents", "remove", "reader"]);
    home.fails(1, &["agents", "remove", "owner"]);
    assert_eq!(home.json(&["agents"]).len(), 3);
}

#[test]
fn invalid_databases_are_refused() {
    let home = Home::new();
    std::fs::write(home.file("loom.db"), "this is a letter, not a database; it is long enough to be read as one")
        .unwrap();
    assert!(home.fails(3, &["tree"]).contains("not a loomtree database"));
    std::fs::remove_file(home.file("loom.db")).unwrap();
    home.start("unmistakable");
    home.ok(&["backup", "copy.db"]);
    assert!(home.fails(1, &["backup", "copy.db"]).contains("already exists"));
    let copy = home.run(&["--db", "copy.db", "tree"]);
    assert!(copy.code == 2 || copy.out.contains("unmistakable"), "{copy:?}");
    assert_eq!(home.json(&["verify"])[0]["nodes"], 1);
    let all: Vec<u8> = std::fs::read(home.file("copy.db")).unwrap();
    let at = all.windows(12).position(|w| w == b"unmistakable").unwrap();
    let mut damaged = all.clone();
    damaged[at] = b'U';
    std::fs::write(home.file("loom.db"), &damaged).unwrap();
    for beside in ["loom.db-wal", "loom.db-shm"] {
        let _ = std::fs::remove_file(home.file(beside));
    }
    let ran = home.run(&["verify"]);
    assert_eq!(ran.code, 4, "{ran:?}");
}

#[test]
fn purge_confirms_and_removes_all_content() {
    let home = Home::new();
    home.start("root");
    let secret = home.say("owner", None, "my secret words");
    assert!(home.fails(2, &["purge", "node", &secret]).contains("--yes"));
    home.ok(&["purge", "node", &secret, "--yes"]);
    assert!(home.ok(&["view", &secret]).contains("(purged)"));
    home.ok(&["purge", "tree", "root", "--yes"]);
    assert!(home.fails(1, &["purge", "session", "x", "--yes"]).contains("no session \"x\""));
}

#[test]
fn configuration() {
    let home = Home::new();
    let file = home.file("c.yaml");
    let file = file.to_str().unwrap();
    assert_eq!(home.fails(2, &["--config", file, "config"]).lines().count(), 1);
    assert_eq!(home.ok(&["--config", file, "config", "path"]).trim(), file);
    home.ok(&["--config", file, "config", "init"]);
    assert!(home.fails(1, &["--config", file, "config", "init"]).contains("already exists"));
    assert_eq!(home.json(&["--config", file, "config"])[0]["continuations"], 3);
    std::fs::write(file, "continuations: 5\nmodels:\n  a: {colour: red}\n").unwrap();
    let said = home.fails(2, &["--config", file, "config"]);
    assert!(said.contains("c.yaml:3: ") && said.contains("colour"), "{said}");
    assert_eq!(said.lines().count(), 1);
    home.fails(2, &["--config", file, "new", "x"]);
    std::fs::write(file, "model: scripted:words\n").unwrap();
    assert!(home.ok(&["--config", file, "models"]).contains("scripted:words"));
}

#[test]
fn a_turn_of_tool_calls_alone_shows_its_calls() {
    let home = Home::new();
    let pi = concat!(
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-11-20T23:33:50.000Z","cwd":"/x"}"#,
        "\n",
        r#"{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"hi there"}}"#,
        "\n",
        r#"{"type":"message","id":"a2","parentId":"a1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"mill.md"}}],"provider":"p","model":"m"}}"#,
        "\n",
        r#"{"type":"message","id":"a3","parentId":"a2","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"the weir"}],"isError":true}}"#,
        "\n",
    );
    assert_eq!(home.pipe(&["import", "-"], pi).code, 0);
    let tree = home.json(&["trees"])[0]["id"].as_str().unwrap().to_owned();
    home.ok(&["trees", "--use", &tree]);
    let calls = "calls read(path=\"mill.md\")";
    for args in [&["tree"][..], &["view"], &["recall", "mill"]] {
        assert!(home.ok(args).contains(calls), "{args:?}: {}", home.ok(args));
    }
    let failed = home.json(&["recall", "--failed", "weir"]);
    assert!(failed.len() == 1 && failed[0]["content"] == "the weir", "{failed:?}");
    assert_eq!(home.json(&["recall", "--failed", "--tool", "read"]).len(), 1);
    assert_eq!(home.json(&["recall", "--failed", "hi there"]).len(), 0);
}

#[test]
fn completions_and_manual() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(home.ok(&["completions", shell]).contains("annotate"), "{shell}");
    }
    home.fails(2, &["completions", "basic"]);
    assert!(home.ok(&["man"]).starts_with(".ie"));
    home.ok(&["man", "--out", "man"]);
    assert!(home.file("man").join("loom-tree.1").exists());
    assert!(home.file("man/loom.1").exists());
}

#[test]
fn a_missing_configuration_that_was_named_says_what_to_do() {
    let home = Home::new();
    home.start("Who is Marie?");
    let absent = home.file("absent.yaml");
    let said = home.fails(2, &["--config", absent.to_str().unwrap(), "tree"]);
    assert!(said.contains("absent.yaml") && said.contains("`loom config init`"), "{said}");
    home.ok(&["--config", absent.to_str().unwrap(), "config", "init"]);
    home.ok(&["--config", absent.to_str().unwrap(), "tree"]);
}

#[test]
fn the_log_of_a_tree_names_documents_that_its_sessions_wrote() {
    let home = Home::new();
    home.start("Who is Marie?");
    home.ok(&["do", "write doc:\"Ingrid\" append \"She keeps the light.\""]);
    home.ok(&["say", "Go on."]);
    let log = home.ok(&["log"]);
    assert!(log.contains("created the document \"Ingrid\""), "{log}");
    // Page by page, nothing is missing or repeated.
    let all = home.json(&["log", "-n", "0"]);
    let (mut seen, mut before) = (Vec::new(), 0);
    loop {
        let page = home.json(&["log", "-n", "2", "--before", &before.to_string()]);
        seen.extend(page.iter().map(|entry| entry["seq"].clone()));
        match page.last() {
            Some(last) if page.len() == 2 => before = last["seq"].as_u64().unwrap(),
            _ => break,
        }
    }
    assert_eq!(seen, all.iter().map(|entry| entry["seq"].clone()).collect::<Vec<_>>());
}
