//! Conventions of names and prose that a machine can check: unique type names, doc comments that name the thing, and
//! functions that fit on a screen. `tests/layering.rs` checks imports and file lengths.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::{collections::BTreeMap, fs, path::Path};

/// Names that several types may share, by Rust's own custom.
const SHARED_TYPE_NAMES: &[&str] = &["Args", "Error", "Result", "Iter"];

/// First words of a doc comment that make an indirect question of it.
const QUESTION_WORDS: &[&str] = &["What", "Who", "Whom", "Whose", "Whether", "How", "Where", "Which", "Why"];

/// Words without an actor or with a figurative verb, which doc comments avoid.
const BANNED_WORDS: &[&str] = &[
    "somebody",
    "someone",
    "nobody",
    "whoever",
    "told",
    "tells",
    "hears",
    "heard",
    "in vain",
    "in the box",
    "goes on",
    "gone on with",
    "let go",
    "taken up",
    "takes up",
    "worded",
];

/// A doc comment of fewer words has to say something that the name of its item does not.
const MIN_DOC_WORDS: usize = 4;

const ARTICLES: &[&str] = &["a", "an", "the", "its", "this", "of"];

const MAX_FUNCTION_LINES: usize = 80;

/// The project's folder.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The files below a folder of the project whose names end with `.rs`, as paths from the folder.
fn rust_files(folder: &str) -> Vec<String> {
    fn walk(top: &Path, folder: &Path, files: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(top, &path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let top = Path::new(ROOT).join(folder);
    let mut files = Vec::new();
    walk(&top, &top, &mut files);
    files.sort();
    files
}

/// Every source file as (path from `src`, lines).
fn sources() -> Vec<(String, Vec<String>)> {
    let read = |name: String| {
        let text = fs::read_to_string(Path::new(ROOT).join("src").join(&name)).unwrap();
        (name, text.lines().map(str::to_owned).collect())
    };
    let files: Vec<_> = rust_files("src").into_iter().map(read).collect();
    assert!(files.len() > 30, "the sources were not found");
    files
}

/// The doc comments of a file as (line number, text), one for each run of `///` or `//!` lines.
fn doc_comments(lines: &[String]) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut previous = None;
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        match comments.last_mut() {
            Some((_, comment)) if previous == index.checked_sub(1) => {
                comment.push('\n');
                comment.push_str(text.trim());
            }
            _ => comments.push((index + 1, text.trim().to_owned())),
        }
        previous = Some(index);
    }
    comments
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, lines) in sources() {
        for line in &lines {
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            if !matches!(words.next(), Some("struct" | "enum" | "trait" | "union")) {
                continue;
            }
            let name: String =
                words.next().unwrap_or("").chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() && !SHARED_TYPE_NAMES.contains(&name.as_str()) {
                places.entry(name).or_default().push(file.clone());
            }
        }
    }
    let repeated = places.iter().filter(|(_, files)| files.len() > 1);
    report(&repeated.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect::<Vec<_>>());
}

/// The words of a name or a comment, in lower case: `max_tokens` and `MaxTokens` are `max`, `tokens`.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    for c in text.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// True if a short comment only repeats the name of the item on the line after it.
fn repeats_the_name(comment: &str, item: &str) -> bool {
    let name = words(item.split(['(', '{', ':', '=', ',']).next().unwrap_or(""));
    let mut content = words(comment);
    content.retain(|word| !ARTICLES.contains(&word.as_str()));
    comment.split_whitespace().count() < MIN_DOC_WORDS && content.iter().all(|word| name.contains(word))
}

#[test]
fn doc_comments_name_the_thing() {
    let mut problems = Vec::new();
    for (file, lines) in sources() {
        for (line, comment) in doc_comments(&lines) {
            let first = comment.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
            if QUESTION_WORDS.contains(&first) {
                problems.push(format!("{file}:{line} begins with {first}: {comment}"));
            }
            let item = lines[line..].iter().find(|item| !item.trim_start().starts_with(['/', '#']));
            if item.is_some_and(|item| repeats_the_name(&comment, item)) {
                problems.push(format!("{file}:{line} only repeats the name: {comment}"));
            }
        }
    }
    report(&problems);
}

#[test]
fn doc_comments_name_the_actor() {
    let mut problems = Vec::new();
    for (file, lines) in sources() {
        for (line, comment) in doc_comments(&lines) {
            // Examples in code spans and quotation marks may hold any word.
            let prose: String = comment.split(['`', '"']).step_by(2).collect();
            let words = format!(" {} ", prose.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
            for word in BANNED_WORDS.iter().filter(|word| words.contains(&format!(" {word} "))) {
                problems.push(format!("{file}:{line} says \"{word}\": {comment}"));
            }
        }
    }
    report(&problems);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut problems = Vec::new();
    for (file, lines) in sources() {
        for (index, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let words: Vec<&str> = code.split_whitespace().take(6).collect();
            let is_function = words.contains(&"fn")
                && words.iter().take_while(|word| **word != "fn").all(|word| {
                    word.starts_with("pub")
                        || matches!(*word, "in" | "async" | "const" | "unsafe")
                        || word.ends_with(')')
                });
            if !is_function || code.ends_with(';') || code.ends_with('}') {
                continue;
            }
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let length = lines[index..].iter().position(|line| *line == end).map_or(0, |length| length + 1);
            if length > MAX_FUNCTION_LINES {
                problems.push(format!("{file}:{} has {length} lines: {code}", index + 1));
            }
        }
    }
    report(&problems);
}

/// Crates and modules that exist on Unix alone.
const UNIX_NAMES: &[&str] = &["rustix::", "std::os::unix", "signal_hook::", "tokio::signal::unix"];

/// Indentation of a line, in spaces.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// True if the attribute compiles its item on some Unix systems only.
fn is_unix_attribute(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[cfg(")
        && !line.contains("not(unix)")
        && ["unix", "target_os = "].iter().any(|c| line.contains(c))
}

/// Returns the last line of the item or statement that follows an attribute. rustfmt indents its inner lines.
fn item_end(lines: &[String], attribute: usize) -> usize {
    let depth = indent(&lines[attribute]);
    let begin = (attribute + 1..lines.len()).find(|at| !lines[*at].trim().starts_with("#[")).unwrap_or(attribute);
    let ends = |line: &String| {
        let code = line.trim_end();
        indent(line) == depth && (code.ends_with(';') || code.ends_with('}') || code.ends_with(','))
    };
    (begin..lines.len()).find(|at| ends(&lines[*at])).unwrap_or(begin)
}

/// Modules that a parent declares for some Unix systems only, as path without its ending.
fn unix_modules(sources: &[(String, Vec<String>)]) -> Vec<String> {
    let mut modules = Vec::new();
    for (file, lines) in sources {
        let folder = file.strip_suffix("/mod.rs").or(file.strip_suffix(".rs")).unwrap();
        for at in (0..lines.len()).filter(|at| is_unix_attribute(&lines[*at])) {
            let declared = lines.get(at + 1).map(|next| next.trim().trim_start_matches("pub(crate) "));
            let name = declared.and_then(|next| next.strip_prefix("mod ")).and_then(|name| name.strip_suffix(';'));
            modules.extend(name.map(|name| format!("{folder}/{name}")));
        }
    }
    modules
}

#[test]
fn what_is_unix_alone_is_behind_a_condition() {
    let sources = sources();
    let modules = unix_modules(&sources);
    let (mut wrong, mut guarded) = (Vec::new(), 0);
    for (file, lines) in &sources {
        if modules.iter().any(|module| file.strip_suffix(".rs") == Some(module)) || file.ends_with("tests.rs") {
            continue;
        }
        let items: Vec<_> =
            (0..lines.len()).filter(|at| is_unix_attribute(&lines[*at])).map(|at| at..=item_end(lines, at)).collect();
        let tests = lines.iter().position(|line| line.trim() == "#[cfg(test)]").unwrap_or(lines.len());
        for (at, line) in lines[..tests].iter().enumerate() {
            if UNIX_NAMES.iter().any(|name| line.contains(name)) && !line.trim().starts_with("//") {
                match items.iter().any(|item| item.contains(&at)) {
                    true => guarded += 1,
                    false => wrong.push(format!("{file}:{}: {}", at + 1, line.trim())),
                }
            }
        }
    }
    assert!(guarded > 20, "only {guarded} uses were found");
    assert!(wrong.is_empty(), "not behind a condition:\n{}", wrong.join("\n"));
}

/// A function that is compiled for Unix alone has one of the same name for other systems, or only conditional callers.
#[test]
fn a_function_for_unix_has_a_fallback() {
    let mut wrong = Vec::new();
    let sources = sources();
    let modules = unix_modules(&sources);
    for (file, lines) in &sources {
        if modules.iter().any(|module| file.strip_suffix(".rs") == Some(module)) {
            continue;
        }
        let name = |at: usize| {
            let after = lines[at + 1..].iter().find(|line| !line.trim().starts_with("#["))?;
            let (_, rest) = after.split_once("fn ")?;
            Some(rest.split(['(', '<']).next()?.to_owned())
        };
        let conditional: Vec<_> =
            (0..lines.len()).filter(|at| is_unix_attribute(&lines[*at])).map(|at| at..=item_end(lines, at)).collect();
        let fallbacks: Vec<_> =
            (0..lines.len()).filter(|at| lines[*at].contains("#[cfg(not(")).filter_map(name).collect();
        for item in &conditional {
            let Some(function) = name(*item.start()).filter(|name| !fallbacks.contains(name)) else { continue };
            let calls = lines.iter().enumerate().filter(|(_, line)| line.contains(&format!("{function}(")));
            for (at, _) in calls.filter(|(at, _)| !conditional.iter().any(|item| item.contains(at))) {
                wrong.push(format!("{file}:{}: {function} exists on Unix alone", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A document names a file by its path, or by the end of it.
#[test]
fn documents_name_files_that_exist() {
    let folders = ["src", "tests", "benches", "examples", "bindings/python/src"];
    let exists = |name: &str| {
        folders.iter().any(|folder| {
            let name = name.strip_prefix(&format!("{folder}/")).unwrap_or(name);
            rust_files(folder).iter().any(|file| file == name || file.ends_with(&format!("/{name}")))
        })
    };
    let mut problems = Vec::new();
    for document in ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "tests/README.md"] {
        let text = fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
        let quoted = text.split('`').skip(1).step_by(2);
        let names = quoted.filter(|name| name.ends_with(".rs") && !name.contains(['*', ' ']));
        problems.extend(names.filter(|name| !exists(name)).map(|name| format!("{document} names {name}")));
    }
    report(&problems);
}
