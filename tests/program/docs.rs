//! Tests of the documents: links, the table of contents of the site, and the commands of pages and of the notebook.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{
    cli::{Home, Ran},
    skip,
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of the site, without its table of contents.
fn pages() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("docs")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

/// Returns the text outside of code blocks.
fn prose(text: &str) -> String {
    text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// Returns the targets of the links of a text.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split(')').next());
    targets.map(|target| target.replace(['\n', ' '], "")).collect()
}

/// Returns the anchors of the headings of a text.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_has_a_target() {
    let docs = pages().into_iter().map(|page| root().join("docs").join(page));
    let others = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", "docs/SUMMARY.md"];
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in docs.chain(others.map(|name| root().join(name))) {
        let text = read(&file);
        for link in links(&text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            let has_anchor = || anchor.is_empty() || anchors(&read(&target)).contains(anchor);
            // The site consists of the folder `docs`.
            let leaves = path.starts_with("..") && file.parent().is_some_and(|folder| folder.ends_with("docs"));
            if leaves || !target.exists() || !has_anchor() {
                wrong.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_contents_has_every_page() {
    let summary = read(&root().join("docs/SUMMARY.md"));
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    assert_eq!(listed, pages());
}

/// Puts the program on the path of a shell, with a model that needs no server.
fn with_program(command: &mut std::process::Command, home: &Home) {
    let bin = home.file("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_loom"), bin.join("loom")).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display())).env("HOME", home.file("")).current_dir(home.file(""));
    command.env("LOOM_MODEL", "scripted:words");
}

#[test]
fn the_commands_of_the_pages_for_users_work() {
    for page in ["writers", "agents", "research", "operators"] {
        let text = read(&root().join(format!("docs/{page}.md")));
        let blocks: Vec<&str> = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
        assert!(blocks.len() > 3, "{page} has no commands");
        let home = Home::new();
        let mut shell = std::process::Command::new("/bin/sh");
        with_program(shell.env_clear(), &home);
        let ran = Ran::of(shell.args(["-euc", &blocks.concat()]));
        assert_eq!(ran.code, 0, "{page}: {}{}", ran.out, ran.err);
    }
}

/// True for a shown id of a node or a tree.
fn is_id(word: &str) -> bool {
    let characters = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    word.len() == 6 && characters(word) && word.contains(|c: char| c.is_ascii_digit())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
}

/// Returns the ids of printed replies by their texts.
fn ids_by_text(text: &str) -> BTreeMap<&str, String> {
    let lines: Vec<&str> = text.lines().collect();
    let replies = lines.windows(2).filter(|lines| lines[0].starts_with("subject  "));
    replies.map(|lines| (lines[1], lines[0].split_whitespace().nth(1).unwrap().to_owned())).collect()
}

/// Returns a text in which every shown id is replaced by that of another run.
fn with_ids(text: &str, ids: &BTreeMap<String, String>) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let replaced = words.map(|word| {
        let id = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        ids.get(id).map_or_else(|| word.to_owned(), |own| word.replacen(id, own, 1))
    });
    replaced.collect()
}

/// The commands of the README and of the guide's first chapters print what the pages show, in this order.
#[test]
fn the_first_steps_print_what_the_pages_show() {
    let guide = read(&root().join("docs/guide.md"));
    let readme = read(&root().join("README.md"));
    let readme = readme.split("## Five minutes").nth(1).unwrap().split("\n## ").next().unwrap();
    for text in [readme, guide.split("## Shape the tree").next().unwrap()] {
        let (home, mut ids) = (Home::new(), BTreeMap::new());
        let blocks = text.split("```text\n").skip(1).map(|block| block.split("```").next().unwrap());
        let commands: String = blocks.filter(|block| block.starts_with("$ loom ")).collect();
        assert!(commands.matches("$ loom ").count() > 6);
        for step in commands.split("$ loom ").skip(1) {
            let (line, shown) = step.split_once('\n').unwrap();
            let mut shell = std::process::Command::new("/bin/sh");
            with_program(shell.env_clear(), &home);
            let line = with_ids(line, &ids);
            let ran = Ran::of(shell.args(["-euc", &format!("loom {line}")]));
            assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
            let (shown, printed) = (shown.trim(), ran.out.trim());
            // Replies that are written at the same time have no order.
            if line.starts_with("continue --model") {
                ids.extend(ids_by_text(shown).into_iter().map(|(text, id)| (id, ids_by_text(printed)[text].clone())));
            } else if line != "tree" {
                let shown_ids = words(shown).zip(words(printed)).filter(|(word, _)| is_id(word));
                ids.extend(shown_ids.map(|(id, own)| (id.to_owned(), own.to_owned())));
                assert_eq!(printed, with_ids(shown, &ids), "{line}");
            }
        }
    }
}

/// Runs the cells of the notebook one after the other; returns what they print.
pub(crate) fn run_notebook(home: &Home, model: &str, variables: &[(&str, &OsStr)]) -> String {
    let notebook: serde_json::Value = serde_json::from_str(&read(&root().join("examples/experiment.ipynb"))).unwrap();
    assert_eq!(notebook["nbformat"], 4);
    let mut script = String::new();
    for cell in notebook["cells"].as_array().unwrap().iter().filter(|cell| cell["cell_type"] == "code") {
        let lines: Vec<&str> = cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert!(
            lines.len() <= 12 && cell["outputs"] == serde_json::json!([]),
            "{}: short and without output",
            cell["id"]
        );
        script.extend(lines);
        script.push('\n');
    }
    let mut python = std::process::Command::new("python3");
    with_program(&mut python, home);
    python.env("LOOM_MODEL", model).envs(variables.iter().copied());
    let ran = Ran::of(python.args(["-c", &script]));
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.out
}

#[test]
fn the_notebook_runs_on_the_scripted_model() {
    if !skip::has("python3") {
        return skip::missing("python3");
    }
    let home = Home::new();
    let printed = run_notebook(&home, "scripted:words", &[]);
    for part in
        ["39 replies, {", "39 new replies", "27 new scores by words", "27 branches", "branches.parquet  27 rows"]
    {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
    assert!(fs::read(home.file("branches.parquet")).unwrap().ends_with(b"PAR1"));
}
