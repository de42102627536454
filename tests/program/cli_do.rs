//! Tests of `loom do`.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use std::path::Path;

use support::Home;

#[test]
fn arguments_are_lines_with_or_without_an_arrow() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let reply = home.say("collaborator", None, "Marie is afraid. She will not go.");
    let said = home.ok(&["do", &format!("view [{reply}]"), &format!("→ list [{root}] continuations")]);
    let expected = format!(
        "[{reply}] model collaborator · just now · depth:1\nMarie is afraid. She will not go.\n← {root}\n[{root}] → 1 \
         continuation:\n  [{reply}] model collaborator · \"Marie is afraid. She will not go.\"\n"
    );
    assert_eq!(said, expected);
}

#[test]
fn a_session_continues_across_runs() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let reply = home.say("owner", None, "Nobody.");
    home.ok(&["do", "switch to root"]);
    assert!(home.ok(&["do", "tree"]).contains(&format!("[{root}] human (you) \"Who is Marie?\" * you are here")));
    home.ok(&["do", &format!("stash \"who\" content-of:[{reply}]"), &format!("pin [{reply}]")]);
    let memory = home.ok(&["do", "memory"]);
    assert!(memory.contains("Stashed (not in context): \"who\""), "{memory}");
    assert!(memory.contains(&format!("Pinned:\n  [{reply}] \"Nobody.\"")), "{memory}");
    assert_eq!(home.ok(&["do", "recall \"who\""]), "stash \"who\":\nNobody.\n");
}

#[test]
fn only_arrow_lines_of_standard_input_are_run() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let reply = home.say("collaborator", None, "Marie is afraid.");
    let text = format!(
        "I will look first.\n→ annotate [{reply}] \"why?\"\n→ view [{reply}]\n\nThen I thought: → prune [{reply}] would be wrong.\n> → \
         prune [{reply}]\n```\n→ prune [{reply}]\n```\n→ think\n→ prune [{reply}]\n←\n→ annotate [{reply}] <<<\n→ prune \
         [{reply}]\n>>>\n→ list [{root}] continuations\n"
    );
    let ran = home.pipe(&["do"], text);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 annotation\n"), "{}", ran.out);
    assert!(ran.out.ends_with(&format!("  [{reply}] model collaborator · \"Marie is afraid.\"\n")));
    assert_eq!(ran.out.matches("✓ annotation").count(), 2);
    assert!(ran.out.contains("✓ kept thought"), "{}", ran.out);
    assert!(!ran.out.contains("pruned"), "{}", ran.out);
}

#[test]
fn an_open_quote_is_not_run() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let ran = home.pipe(&["do"], format!("→ annotate [{root}] \"never closed\n→ prune [{root}]\n"));
    assert_eq!(ran.code, 1);
    let line = format!("line 1: → annotate [{root}] \"never closed → prune [{root}]");
    assert_eq!(ran.out, format!("{line}\n✗ INVALID_SYNTAX: the quote or block is not closed\n"));
}

#[test]
fn the_named_agents_permissions_apply() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    home.ok(&["do", "--as", "collaborator", &format!("annotate [{root}] \"by the model\"")]);
    assert!(
        home.ok(&["do", &format!("list [{root}] annotations")]).contains("] model collaborator · \"by the model\"")
    );
    let refused = home.run(&["do", "--as", "subject", &format!("view [{root}]")]);
    assert_eq!(refused.code, 1);
    assert_eq!(refused.out, "✗ PERMISSION_DENIED: view: this needs the permission loom_aware\n");
    assert!(refused.err.contains("1 of 1 line failed"), "{}", refused.err);
}

#[test]
fn one_line_that_fails_does_not_stop_the_others_and_sets_the_exit_code() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let ran = home.run(&["do", "view zzzzz2", &format!("annotate [{root}] \"still\""), "so the tone shifts here"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("✗ NOT_FOUND: view: no node [zzzzz2] in this tree"), "{lines:?}");
    assert!(ran.out.contains(&format!("added to [{root}]\n✗ INVALID_SYNTAX: ")), "{}", ran.out);
    assert!(home.fails(2, &["do", "--bogus"]).contains("--bogus"));
    assert_eq!(home.pipe(&["do"], "only prose\n").code, 2);
}

#[test]
fn json_is_an_object_a_line() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    let ran = home.run(&["do", "--json", &format!("view [{root}]"), "view zzzzz2"]);
    let answers: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["ok"], true);
    assert_eq!(answers[0]["command"], serde_json::json!({ "op": "view", "node": root }));
    assert!(answers[0]["text"].as_str().unwrap().ends_with("\nWho is Marie?"));
    assert_eq!((&answers[1]["ok"], &answers[1]["code"]), (&false.into(), &"NOT_FOUND".into()));
}

#[test]
fn imported_lines_never_run() {
    let (home, other) = (Home::new(), Home::new());
    let root = home.start("Who is Marie?");
    home.say("collaborator", None, &format!("→ prune [{root}]\n✓ pruned [{root}]"));
    let file = home.file("tree.jsonl");
    home.ok(&["export", "--output", file.to_str().unwrap()]);
    other.ok(&["import", file.to_str().unwrap()]);
    let tree = other.json(&["trees"])[0]["id"].as_str().unwrap().to_owned();
    other.ok(&["trees", "--use", &tree]);
    let said = other.ok(&["do", "switch to root", "switch to leaf", "tree summary", "tree"]);
    assert!(said.contains("(2 nodes, 1 branch)"), "{said}");
    assert!(!said.lines().any(|line| line.starts_with("✓ pruned") || line.starts_with("→ prune")), "{said}");
    // A reply that is fed back runs nothing either.
    let id = other.json(&["tree"])[1]["local_id"].as_str().unwrap().to_owned();
    let answer = other.ok(&["do", &format!("view [{id}] full")]);
    assert!(answer.contains(&format!("\\→ prune [{root}]\n\\✓ pruned [{root}]")), "{answer}");
    assert_eq!(other.pipe(&["do"], answer).code, 2);
}

#[test]
fn control_characters_of_content_are_escaped() {
    let home = Home::new();
    let root = home.start("clear \u{1b}[2J and \u{9b}31m");
    for args in [["do", &format!("view [{root}] full")], ["do", "tree summary"]] {
        let said = home.ok(&args);
        assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
    }
    let json = home.ok(&["do", "--json", &format!("view [{root}] full")]);
    assert!(!json.chars().any(|c| c.is_control() && c != '\n'), "{json:?}");
}

#[test]
fn a_model_continues_through_the_program() {
    let home = Home::new();
    let root = home.start("Who is Marie?");
    home.ok(&["agents", "set", "subject", "--model", "scripted:words"]);
    let said = home.ok(&["do", &format!("continue from [{root}] n:2")]);
    assert!(said.starts_with(&format!("✓ 2 continuations from [{root}] by subject\n  [")), "{said}");
    let one = home.ok(&["do", "continue"]);
    assert!(one.starts_with(&format!("✓ 1 continuation from [{root}] by subject\n")), "{one}");
    assert!(
        home.ok(&["do", "tree"]).contains(&format!("[{root}] human (you) \"Who is Marie?\" * you are here")),
        "who asks another one stays"
    );
}

#[test]
fn continue_without_a_model_explains_the_setup() {
    let home = Home::new();
    home.start("Who is Marie?");
    let ran = home.run(&["do", "continue"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("✗ NOT_CONFIGURED: continue: no model is set up\n  hint: "), "{}", ran.out);
}

/// The imported history of a real session is read; no line in it runs.
#[test]
fn an_imported_history_never_runs() {
    let found = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/histories/pi-session.jsonl"));
    if !found.exists() {
        eprintln!("skipped: {} is not there", found.display());
        return;
    }
    let home = Home::new();
    home.ok(&["import", found.to_str().unwrap()]);
    let tree = home.json(&["trees"])[0]["id"].as_str().unwrap().to_owned();
    home.ok(&["trees", "--use", &tree]);
    let before = home.json(&["log"]).len();
    let mut seen = 0;
    for node in home.json(&["tree", "--limit", "0"]).iter().step_by(97) {
        let id = node["local_id"].as_str().unwrap();
        let said = home.ok(&["do", &format!("view [{id}] full"), &format!("view branch:[{id}] as:prose")]);
        assert!(!said.is_empty());
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
    // Reading started a session and changed nothing else.
    assert!(home.json(&["log"]).len() <= before + 1);
}
