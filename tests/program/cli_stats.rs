//! Tests of `loom stats`.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use support::Home;

#[test]
fn stats_print_sums() {
    let home = Home::new();
    home.start("Tell me something.");
    assert!(home.ok(&["stats"]).contains("no model wrote a node here"));
    std::fs::write(home.file("c.yaml"), "prices:\n  scripted:*: { input: 1000, output: 2000000, currency: cents }\n")
        .unwrap();
    home.ok(&["--config", "c.yaml", "continue", "-n", "2", "-m", "scripted:words"]);
    home.ok(&["continue", "-n", "1", "-m", "scripted:words"]);
    home.say("owner", None, "And then?");

    let said = home.ok(&["stats"]);
    assert!(said.contains("depth 2 · 3 leaves · 1 branch point"), "{said}");
    assert!(said.contains("scripted:words") && said.contains("cents"), "{said}");
    assert!(said.contains("1 (33%)") && said.contains("1 reply without a price"), "{said}");

    let all = &home.json(&["stats"])[0];
    assert_eq!((&all["all"]["generations"], &all["all"]["priced"]), (&3.into(), &2.into()));
    assert_eq!(all["shares"][0]["agent"], "subject");
    assert_eq!(all["all"]["cost"][0]["currency"], "cents");
    let output = all["all"]["output"].as_u64().unwrap();
    let one = home.json(&["stats", "--path"])[0]["all"].clone();
    assert_eq!((&one["generations"], &one["taken_up"]), (&1.into(), &1.into()));
    assert!(one["output"].as_u64().unwrap() < output);
    assert_eq!(home.json(&["stats", "--path", "/"])[0]["all"]["generations"], 0);
    assert_eq!(home.json(&["stats", "--session"])[0]["all"]["generations"], 3);
    assert_eq!(home.json(&["stats", "--agent", "collaborator"])[0]["all"]["generations"], 0);
    assert_eq!(home.json(&["stats", "--all"])[0]["all"]["output"].as_u64(), Some(output));

    home.fails(1, &["stats", "--agent", "nobody"]);
    home.fails(1, &["stats", "--session", "nonsense"]);
    let own = home.json(&["--as", "collaborator", "stats", "--session"]).remove(0);
    assert_eq!(own["all"]["generations"], 3, "that of this conversation");
    home.fails(2, &["stats", "--path", ".", "--all"]);
    let long = "anthropic:claude-sonnet-4-5";
    home.ok(&["agents", "add", long]);
    home.ok(&["continue", "-n", "1", "-m", "scripted:words", "--by", long]);
    assert!(home.ok(&["stats"]).contains(long), "only a terminal's width cuts names");
}

#[test]
fn an_invalid_price_is_reported_with_its_line() {
    let home = Home::new();
    home.start("Tell me something.");
    std::fs::write(home.file("c.yaml"), "prices:\n  gpt*: { input: -1, output: 2 }\n").unwrap();
    let said = home.fails(2, &["--config", "c.yaml", "stats"]);
    assert!(said.contains("c.yaml") && said.contains("a price must be a number"), "{said}");
}

#[test]
fn generations_of_arrow_lines_are_priced() {
    let home = Home::new();
    home.start("Tell me something.");
    let config = "model: scripted:words\nprices:\n  scripted:*: { input: 1000, output: 2000000, currency: cents }\n";
    std::fs::write(home.file("c.yaml"), config).unwrap();
    home.ok(&["--config", "c.yaml", "do", "continue n:2 using agent:\"subject\""]);
    let all = &home.json(&["stats"])[0]["all"];
    assert_eq!((&all["generations"], &all["priced"]), (&2.into(), &2.into()));
}
