//! The floors: imports go down only. And the rooms: no file grows past what one reads at a sitting.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Modules by floor, the lowest first.
const FLOORS: &[&[&str]] = &[
    &["id", "types", "web_page_files"],
    &["session_state", "text_index", "tokens"],
    &["store"],
    &["ops", "recall"],
    &["tools"],
    &["arrow"],
    &["exec"],
    &["context", "interchange", "markdown_tokens"],
    &["turn", "provider", "session", "delegate", "experiment", "web", "workspace"],
    &["error", "prelude"],
    &["cli", "tui", "serve", "mcp"],
];

/// Lines of a file without its tests.
const LONGEST: usize = 430;

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|modules| modules.contains(&module))
}

/// Every source file as (path from `src`, text without its test module).
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_some_and(|s| s != "tests") {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or("").to_owned();
                let name = path.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
                found.push((name.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut found);
    found.sort();
    assert!(found.len() > 30, "the sources were not found");
    found
}

/// The modules of this crate that a text names: `crate::x`, also the first level of `use crate::{x, y::…}`.
fn named(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "loomtree::"] {
        for (at, _) in code.match_indices(root) {
            let rest = &code[at + root.len()..];
            if let Some(group) = rest.strip_prefix('{') {
                let mut depth = 0;
                let mut word = String::new();
                let mut first = true;
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => first = true,
                        _ if depth == 0 && first && (c.is_alphanumeric() || c == '_') => word.push(c),
                        ':' if depth == 0 && first && !word.is_empty() => first = false,
                        _ => {}
                    }
                    if (c == ',' || !first) && !word.is_empty() {
                        found.push(std::mem::take(&mut word));
                    }
                }
                found.extend((!word.is_empty()).then_some(word));
            } else {
                found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
    found
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let own = file.split('/').next().unwrap_or("").trim_end_matches(".rs");
        let Some(here) = floor(own) else {
            // The fuzz targets exist in test builds only and name every layer.
            assert!(matches!(own, "lib" | "main" | "fuzz"), "{file} is on no floor; give it one in tests/layering.rs");
            continue;
        };
        for module in named(&text) {
            let Some(there) = floor(&module) else { continue };
            // Floor 6 holds faces, and none imports another; on other floors neighbours may. Commands start the others.
            if ["tui", "serve", "mcp"].contains(&module.as_str()) && file == format!("cli/command/{module}.rs") {
                continue;
            }
            if there > here || there == here && here == FLOORS.len() - 1 && module != own {
                wrong.push(format!("{file} (floor {here}) imports {module} (floor {there})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Import cycles between modules of one layer that are not removed yet.
const KNOWN_CYCLES: &[[&str; 2]] = &[["id", "types"]];

/// The pairs of modules that import each other, directly or through others.
fn cycles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<[&str; 2]> {
    let reached = |from: &str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in imports.get(module).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (module.as_str(), reached(module))).collect();
    let mut found = Vec::new();
    for (&a, of_a) in &reach {
        found.extend(
            of_a.iter().filter(|&&b| a < b && reach.get(b).is_some_and(|of_b| of_b.contains(a))).map(|&b| [a, b]),
        );
    }
    found
}

#[test]
fn modules_of_a_layer_form_no_cycle() {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources() {
        let own = file.split('/').next().unwrap_or("").trim_end_matches(".rs").to_owned();
        let modules = named(&text).into_iter().filter(|module| floor(module).is_some() && *module != own);
        if floor(&own).is_some() {
            imports.entry(own.clone()).or_default().extend(modules);
        }
    }
    assert_eq!(
        cycles(&imports),
        KNOWN_CYCLES,
        "a new cycle is to be removed, and one that is gone leaves KNOWN_CYCLES"
    );
}

#[test]
fn cycles_are_found_through_other_modules() {
    let imports = |pairs: &[(&str, &str)]| {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in pairs {
            found.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        found
    };
    assert_eq!(
        cycles(&imports(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")])),
        [["a", "b"], ["a", "c"], ["b", "c"]]
    );
    assert!(cycles(&imports(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "a")])).is_empty());
}

#[test]
fn the_import_reader_reads() {
    let text = "use crate::{\n    id::{NodeId, X},\n    types::Y,\n    store,\n};\nfn f() { crate::ops::go(); }";
    assert_eq!(named(text), ["id", "types", "store", "ops"]);
}

#[test]
fn only_the_store_knows_sql() {
    for (file, text) in sources() {
        let knows = text.contains("rusqlite") || text.contains("SELECT ") && text.contains(" FROM ");
        assert!(!knows || file.starts_with("store/"), "{file} holds SQL");
    }
}

/// Floors 0 to 4 and `agent` do not print, read the environment, look at the wall clock or hold singletons.
#[test]
fn the_core_is_deaf_and_mute() {
    let heard = ["println!", "eprintln!", "std::env", "SystemTime::now", "thread_rng", "rand::rng()", "static mut"];
    for (file, text) in sources() {
        let own = file.split('/').next().unwrap_or("");
        if floor(own).is_some_and(|f| f <= 5) || own == "turn" {
            for word in heard {
                assert!(!text.contains(word), "{file} holds {word}");
            }
        }
    }
}

#[test]
fn no_file_is_too_long() {
    for (file, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{file} has {lines} lines without its tests; {LONGEST} is the most");
    }
}
