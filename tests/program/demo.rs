//! Tests of `loom demo` on a clean machine, and of commands and code that the documents print.

#![cfg(feature = "cli")]
// Clippy treats only functions marked #[test] as tests, not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::cli as support;

use std::{collections::BTreeMap, fs};

use support::{Home, Ran};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/sample.jsonl");

#[test]
fn the_demo_without_a_model_uses_the_script_and_is_repeatable() {
    let home = Home::new();
    let first = home.ok(&["demo"]);
    for said in
        ["is imported: 19 nodes", "$ loom tree", "★ the opening", "$ loom view -n 4", "$ loom say ", "you are here"]
    {
        assert!(first.contains(said), "{said:?} is not in\n{first}");
    }
    for said in ["No model is set up; the scripted model", "--model scripted:words", "OPENAI_API_KEY", "Try next:"] {
        assert!(first.contains(said), "{said:?} is not in\n{first}");
    }
    let drawn = first.rsplit("$ loom tree").next().unwrap();
    assert!(drawn.contains("20 nodes, 7 branches") && drawn.contains("The path went on past the last"), "{drawn}");
    let again = home.ok(&["demo"]);
    assert!(again.contains("is imported already") && again.contains("20 nodes, 7 branches"), "{again}");
    assert_eq!(home.json(&["tree"]).len(), 23, "the line is said once");
    home.ok(&["verify"]);
}

#[test]
fn under_cargo_the_demo_names_the_program_that_runs() {
    let home = Home::new();
    let ran = Ran::of(home.command(&["demo"]).env("CARGO", "cargo"));
    let program = env!("CARGO_BIN_EXE_loom");
    for said in [format!("$ {program} tree "), format!("  {program} undo ")] {
        assert!(ran.out.contains(&said), "{said:?} is not in\n{}", ran.out);
    }
}

#[test]
fn the_demo_uses_a_configured_model() {
    let home = Home::new();
    let ran = Ran::of(home.command(&["demo"]).env("LOOM_MODEL", "scripted:words"));
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("No model") && ran.out.contains("$ loom tree 9pakc5"), "{}", ran.out);
    assert_eq!(home.json(&["tree"]).len(), 21);
}

#[test]
fn an_error_of_the_model_fails_the_demo() {
    let home = Home::new();
    let ran = Ran::of(home.command(&["demo"]).env("LOOM_MODEL", "nosuch"));
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.err.contains("unknown model nosuch") && ran.out.contains("Try next:"), "{}{}", ran.out, ran.err);
}

#[test]
fn commands_that_the_demo_proposes_work() {
    let home = Home::new();
    let said = home.ok(&["demo"]);
    let proposed: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  loom ")).collect();
    assert!(proposed.len() >= 4, "{said}");
    for line in proposed {
        let words = line.split("   ").next().unwrap().trim();
        let args: Vec<&str> = match words.split_once('"') {
            Some((command, quoted)) => vec![command.trim(), quoted.trim_end_matches('"')],
            None => words.split(' ').collect(),
        };
        home.ok(&args);
    }
}

#[test]
fn the_demo_refuses_json_and_tree() {
    let home = Home::new();
    assert!(home.fails(2, &["demo", "--json"]).contains("no JSON"));
    home.ok(&["new", "Mine."]);
    assert!(home.fails(2, &["demo", "--tree", "Mine."]).contains("--tree"));
}

#[test]
fn the_sample_equals_its_export() {
    let home = Home::new();
    home.ok(&["import", SAMPLE]);
    assert_eq!(home.ok(&["export", "--all"]), fs::read_to_string(SAMPLE).unwrap());
}

/// Returns the commands that a help text lists: indented rows of sections that are neither arguments nor options.
fn commands(home: &Home, of: &[&str]) -> Vec<String> {
    let help = home.ok(&[of, &["--help"]].concat());
    let mut lists_commands = false;
    let mut names = Vec::new();
    for line in help.lines() {
        if let Some(section) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            lists_commands = !["Arguments", "Options", "Everywhere", "Exit codes"].contains(&section);
        }
        let row = line.strip_prefix("  ").filter(|row| lists_commands && !row.starts_with([' ', '-']));
        names.extend(row.and_then(|row| row.split(' ').next()).filter(|name| *name != "help").map(str::to_owned));
    }
    names
}

/// Returns the long options of a command, without global ones.
fn options(home: &Home, of: &[&str]) -> Vec<String> {
    let help = home.ok(&[of, &["--help"]].concat());
    let own = help.split("Everywhere:").next().unwrap();
    let lines = own.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let long = lines.filter_map(|line| line.split([' ', '[', '=']).find(|word| word.starts_with("--")));
    long.filter(|option| *option != "--help").map(str::to_owned).collect()
}

fn read(file: &str) -> String {
    fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_reference_names_every_command_and_option() {
    let home = Home::new();
    let reference = read("docs/reference.md");
    let all = commands(&home, &[]);
    assert!(all.len() > 30, "the commands were not found: {all:?}");
    for command in &all {
        let is_its = |section: &&str| section.split([' ', '`']).next() == Some(command.as_str());
        let section = reference.split("\n### `loom ").find(is_its);
        let section = section.unwrap_or_else(|| panic!("no section for {command}"));
        let mut wanted = options(&home, &[command]);
        for sub in commands(&home, &[command]) {
            assert!(section.contains(&format!("{command} {sub}")), "`{command} {sub}` is not in its section");
            wanted.extend(options(&home, &[command, &sub]));
        }
        for option in wanted {
            assert!(section.contains(&option), "{option} is not in the section of `{command}`");
        }
    }
}

/// Returns the places where a text runs the program with arguments, as code or as a terminal line.
fn mentions(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for name in ["`loom ", "$ loom ", "\nloom ", "cargo run -- "] {
        for (at, _) in text.match_indices(name) {
            let rest = &text[at + name.len()..];
            found.push(rest.split(['`', '\n']).next().unwrap());
        }
    }
    found
}

#[test]
fn commands_in_documents_exist() {
    let home = Home::new();
    let all = commands(&home, &[]);
    let mut below_of = BTreeMap::new();
    let mut seen = 0;
    for file in ["README.md", "CHANGELOG.md", "docs/guide.md", "docs/reference.md", "docs/architecture.md"] {
        for mention in mentions(&read(file)) {
            let words: Vec<&str> = mention.split_whitespace().collect();
            let Some(command) = words.first().filter(|word| **word != "help" && !word.starts_with(['-', '[', '<']))
            else {
                continue;
            };
            seen += 1;
            assert!(all.iter().any(|known| known == command), "{file}: `loom {mention}`: there is no {command}");
            let below = below_of.entry(command.to_string()).or_insert_with(|| commands(&home, &[command]));
            let named = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            if let Some(sub) = words.get(1).copied().filter(named).filter(|_| !below.is_empty()) {
                assert!(below.iter().any(|known| known == sub), "{file}: `loom {mention}`: there is no {sub}");
            }
        }
    }
    assert!(seen > 60, "only {seen} mentions were found");
}

/// Returns code without indentation, comment signs and empty lines.
fn code(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.trim_start_matches("//!").trim()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_ten_lines_are_the_same_wherever_they_stand() {
    let example = read("examples/quickstart.rs");
    let example = example.split_once("what it does\n").unwrap().1;
    for (file, fence) in [("src/lib.rs", "//! ```\n"), ("README.md", "```rust\n"), ("docs/guide.md", "```rust\n")] {
        let text = read(file);
        let block = text.split_once(fence).unwrap_or_else(|| panic!("{file} shows no code")).1;
        let block = block.split("```").next().unwrap();
        let block = block.trim_end().trim_end_matches("//!");
        assert_eq!(code(block), code(example), "{file}");
    }
}

#[test]
fn the_code_of_the_guides_library_chapter_is_in_the_example() {
    let (guide, example) = (read("docs/guide.md"), read("examples/writing_app.rs"));
    let example = code(&example);
    let chapter = guide.split_once("## Embed the library\n").unwrap().1;
    let blocks: Vec<&str> = chapter.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 4);
    for block in blocks {
        let block = code(block.split("```").next().unwrap());
        assert!(example.windows(block.len()).any(|lines| lines == block), "{}", block.join("\n"));
    }
}
