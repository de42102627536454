//! Tests of `loom context`: the prompt and its report.

#![allow(clippy::unwrap_used)] // helpers of tests

use crate::support::cli;

use cli::Home;
use loomtree::types::SummarySubject;

#[test]
fn the_window_of_the_model_limits_the_report() {
    let home = Home::new();
    home.start("Who is Marie?");
    let config = home.file("config.yaml");
    let config = config.to_str().unwrap();
    let write = |window: &str| {
        let server = "base_url: http://127.0.0.1:9/v1, model: m";
        std::fs::write(config, format!("model: small\nmodels:\n  small: {{ {server}, window: {window} }}\n")).unwrap();
    };
    write("8192");
    let report = |options: &[&str]| home.run(&[&["--config", config, "context", "--report"], options].concat());
    assert!(report(&[]).out.contains("in a window of 8192 tokens"), "{:?}", report(&[]));
    assert!(report(&["--window", "4000"]).out.contains("in a window of 4000 tokens"));
    assert!(report(&["--window", "64000"]).out.contains("in a window of 8192 tokens"));
    write("0");
    assert!(home.fails(1, &["--config", config, "continue", "-n", "1"]).contains("window must be at least 1"));
}

#[test]
fn the_prompt_and_its_report_are_printed() {
    let home = Home::new();
    home.run(&["new", "--title", "Study", "--system", "Write plainly.", "Who is Marie?"]);
    let bare = home.run(&["context"]);
    assert_eq!(
        (bare.code, bare.out.as_str()),
        (0, "── system ──\nWrite plainly.\n\n── user ──\nWho is Marie?\n"),
        "{}",
        bare.err
    );
    let aware = home.run(&["context", "--agent", "collaborator", "--rendering", "live"]);
    assert!(aware.out.contains("Tree: \"Study\" (dialogue mode)\n1 node · 1 branch · depth: 0\n"), "{}", aware.out);
    assert!(!aware.out.contains("owner reads ["), "{}", aware.out);
    assert!(aware.out.contains("] human · just now\n---\nWho is Marie?"), "{}", aware.out);
    let report = home.run(&["context", "--agent", "collaborator", "--report", "--window", "4000"]);
    for said in ["the ambient block", "total", "of 3500, in a window of 4000", "human   in"] {
        assert!(report.out.contains(said), "{said}: {}", report.out);
    }
    let json: serde_json::Value = serde_json::from_str(&home.run(&["context", "--json"]).out).unwrap_or_default();
    assert_eq!(json["messages"][1], serde_json::json!({"role": "user", "content": "Who is Marie?", "kept": true}));
    assert_eq!(json["report"]["path"][0]["fate"], "in");
    let parts: u64 = json["report"]["parts"].as_array().into_iter().flatten().filter_map(|p| p[1].as_u64()).sum();
    assert_eq!(json["report"]["total"].as_u64(), Some(parts));
    let narrow = home.run(&["context", "--window", "100"]);
    assert_eq!(narrow.code, 1);
    assert!(narrow.err.contains("more than fit beside the conversation in a budget of 88"), "{}", narrow.err);
    home.pipe(&["say", "-"], "word ".repeat(4_000));
    let stop = home.run(&["context", "--window", "2000", "--strategy", "stop"]);
    assert!(stop.err.contains("too long for a budget of 1750"), "{}", stop.err);
}

#[test]
fn token_calibration_corrects_the_budget() {
    let home = Home::new();
    home.run(&["new", "--title", "Study", "Who is Marie?"]);
    let report = ["context", "--report", "--window", "4000"];
    assert!(!home.run(&report).out.contains("for each estimated token"));
    home.run(&["agents", "set", "subject", "--model", "scripted:words"]);
    {
        let loom = loomtree::session::open(home.file("loom.db")).unwrap();
        let owner = loom.actor(&loom.agent("owner").unwrap());
        owner.record_token_usage("scripted:words", 10_000, 12_500).wait().unwrap();
    }
    let said = home.run(&report).out;
    assert!(said.contains("of 2777, in a window of 4000"), "3500 / 1.26: {said}");
    assert!(said.contains("     1.26  tokens of this model for each estimated token"), "{said}");
}

#[test]
fn the_list_of_trees_and_a_node_show_summaries() {
    let home = Home::new();
    home.run(&["new", "--title", "Study", "Who is Marie?"]);
    assert!(home.json(&["trees"])[0]["summary"].is_null());
    let loom = loomtree::session::open(home.file("loom.db")).unwrap();
    let tree = loom.find_tree("Study").unwrap();
    let (of, content) = (SummarySubject::Tree(tree.id), "A question about Marie.\u{1b}[2J");
    loom.actor(&loom.agent("owner").unwrap()).save_summary(of, (1, 1 << 40), "scripted:words", content).unwrap();
    assert_eq!(home.json(&["trees"])[0]["summary"], content);
    let list = home.ok(&["trees"]);
    assert!(list.contains("\n    A question about Marie.␛[2J\n"), "{list:?}");
    let (of, content) = (SummarySubject::Node(tree.root.unwrap()), "The user asks for Marie.\u{1b}[2J");
    assert!(!home.ok(&["view", "."]).contains("summary"));
    loom.actor(&loom.agent("owner").unwrap()).save_summary(of, (0, 1 << 40), "scripted:words", content).unwrap();
    assert_eq!(home.json(&["view", "."])[0]["summary"], content);
    assert!(home.ok(&["view", "."]).contains("     summary  The user asks for Marie.␛[2J\n"));
}
