//! The floors: imports go down only. And the rooms: no file grows past what one reads at a sitting.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::{fs, path::Path};

/// Modules by floor, the lowest first.
const FLOORS: &[&[&str]] = &[
    &["id", "types"],
    &["store"],
    &["ops", "recall"],
    &["arrow", "tools"],
    &["context", "archive"],
    &["agent", "provider", "session", "delegate", "web", "workspace"],
    &["cli", "tui", "http", "mcp"],
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
            assert!(matches!(own, "lib" | "main"), "{file} is on no floor; give it one in tests/layering.rs");
            continue;
        };
        for module in named(&text) {
            let Some(there) = floor(&module) else { continue };
            // Floor 6 holds faces, and none imports another; on other floors neighbours may. `loom` alone opens the screen.
            if file == "cli/command/tui.rs" && module == "tui" {
                continue;
            }
            if there > here || there == here && here == FLOORS.len() - 1 && module != own {
                wrong.push(format!("{file} (floor {here}) imports {module} (floor {there})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Modules of the session layer may import each other, but not in a cycle.
#[test]
fn modules_of_the_session_layer_form_no_cycle() {
    let layer = FLOORS[floor("session").unwrap()];
    let mut edges: Vec<(String, String)> = Vec::new();
    for (file, text) in sources() {
        let own = file.split('/').next().unwrap_or("").trim_end_matches(".rs").to_owned();
        let imports = named(&text).into_iter().filter(|module| *module != own && layer.contains(&module.as_str()));
        edges.extend(imports.filter(|_| layer.contains(&own.as_str())).map(|module| (own.clone(), module)));
    }
    assert!(edges.contains(&("delegate".to_owned(), "session".to_owned())), "no imports were found");
    // Removes modules that import no remaining module; what is left has a cycle.
    let mut left = layer.to_vec();
    loop {
        let before = left.len();
        let rest = left.clone();
        left.retain(|module| edges.iter().any(|(own, used)| own == module && rest.contains(&used.as_str())));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "the modules {left:?} import each other in a cycle");
}

#[test]
fn the_import_reader_reads() {
    let text = "use crate::{\n    id::{NodeId, X},\n    types::Y,\n    store,\n};\nfn f() { crate::ops::go(); }";
    assert_eq!(named(text), ["id", "types", "store", "ops"]);
}

#[test]
fn only_the_store_knows_sqlite() {
    for (file, text) in sources() {
        let knows = text.contains("rusqlite") || text.contains("SELECT ") && text.contains(" FROM ");
        assert!(!knows || file.starts_with("store/sqlite"), "{file} names SQLite");
    }
}

/// Floors 0 to 4 and `agent` do not print, read the environment, look at the wall clock or hold singletons.
#[test]
fn the_core_is_deaf_and_mute() {
    let heard = ["println!", "eprintln!", "std::env", "SystemTime::now", "thread_rng", "rand::rng()", "static mut"];
    for (file, text) in sources() {
        let own = file.split('/').next().unwrap_or("");
        if floor(own).is_some_and(|f| f <= 4) || own == "agent" {
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
