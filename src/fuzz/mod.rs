//! Targets of the fuzzers: each feeds bytes to a part of the program that reads foreign input, and checks its laws.
//!
//! The crate in `fuzz/` runs them under libFuzzer; `tests` runs them with random mutations on a stable toolchain. So this
//! module exists only in builds of tests and of fuzzers. A target panics if a law does not hold. Inputs that once broke a
//! law are in `fixtures/fuzz`, in the folder of their target.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a target reports by a panic

mod arrow;
mod config;
mod interchange;
mod provider;
#[cfg(test)]
mod tests;
mod text_display;

use std::{fs, path::Path};

/// A part of the program that reads foreign input.
#[derive(Debug)]
pub struct FuzzTarget {
    /// Name of the target, and of its folder in `fixtures/fuzz`.
    pub name: &'static str,
    /// Feeds an input to the target; panics if a law does not hold.
    pub run: fn(&[u8]),
    /// Files and folders below `fixtures` with more inputs to begin with.
    fixtures: &'static [&'static str],
    /// True if each line of a fixture is an input of its own.
    by_line: bool,
    /// Words of the input's language, which mutations insert.
    pub words: &'static [&'static str],
}

/// All targets.
pub const FUZZ_TARGETS: &[FuzzTarget] = &[
    FuzzTarget {
        name: "arrow_line",
        run: arrow::line,
        fixtures: &["arrow/accept", "arrow/reject", "arrow/references"],
        by_line: true,
        words: arrow::WORDS,
    },
    FuzzTarget {
        name: "scanner",
        run: arrow::scanner,
        fixtures: &["arrow/scan", "arrow/reject"],
        by_line: false,
        words: arrow::WORDS,
    },
    FuzzTarget {
        name: "jsonl",
        run: interchange::jsonl,
        fixtures: &["sample.jsonl"],
        by_line: false,
        words: interchange::WORDS,
    },
    import_target("pi", interchange::pi, &["import/pi"]),
    import_target("claude_code", interchange::claude_code, &["import/claude-code"]),
    import_target("codex", interchange::codex, &["import/codex"]),
    import_target("gemini", interchange::gemini, &["import/gemini"]),
    import_target("chatgpt", interchange::chatgpt, &["import/chatgpt"]),
    import_target("claude_ai", interchange::claude_ai, &["import/claude-ai"]),
    import_target("open_webui", interchange::open_webui, &["import/open-webui"]),
    import_target("silly_tavern", interchange::silly_tavern, &["import/silly-tavern"]),
    import_target("openai_chat", interchange::openai_chat, &["import/openai-chat"]),
    import_target("librechat", interchange::librechat, &["import/librechat"]),
    import_target("llama_app", interchange::llama_app, &["import/llama-app"]),
    import_target("loomsidian", interchange::loomsidian, &["import/loomsidian"]),
    import_target("exoloom", interchange::exoloom, &["import/exoloom"]),
    import_target("pyloom", interchange::pyloom, &["import/pyloom"]),
    import_target("basemode", interchange::basemode, &["import/basemode-loom"]),
    import_target("goose", interchange::goose, &["import/goose"]),
    import_target("markdown", interchange::markdown, &["import/markdown"]),
    import_target("llm_database", interchange::database, &["import/llm"]),
    import_target("opencode_database", interchange::database, &["import/opencode/opencode.sql"]),
    import_target("open_webui_database", interchange::database, &["import/open-webui/webui.sql"]),
    import_target("goose_database", interchange::database, &["import/goose/sessions.sql"]),
    import_target("zed_database", interchange::database, &["import/zed"]),
    import_target("cursor_database", interchange::database, &["import/cursor"]),
    import_target("basemode_database", interchange::database, &["import/basemode-loom/loom.sql"]),
    FuzzTarget { name: "sse", run: provider::sse, fixtures: &[], by_line: false, words: provider::WORDS },
    FuzzTarget { name: "openai", run: provider::openai, fixtures: &[], by_line: false, words: provider::WORDS },
    FuzzTarget { name: "anthropic", run: provider::anthropic, fixtures: &[], by_line: false, words: provider::WORDS },
    FuzzTarget { name: "config", run: config::parse, fixtures: &[], by_line: false, words: config::WORDS },
    FuzzTarget {
        name: "screen",
        run: text_display::draw,
        fixtures: &["text"],
        by_line: false,
        words: text_display::WORDS,
    },
];

/// A target that imports a format.
const fn import_target(name: &'static str, run: fn(&[u8]), fixtures: &'static [&'static str]) -> FuzzTarget {
    FuzzTarget { name, run, fixtures, by_line: false, words: interchange::WORDS }
}

/// Returns the target of a name.
#[must_use]
pub fn target(name: &str) -> &'static FuzzTarget {
    FUZZ_TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
}

impl FuzzTarget {
    /// Returns the inputs to begin with: the target's fixtures, and those that once broke a law.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut seeds = Vec::new();
        for fixture in self.fixtures {
            let mut files = Vec::new();
            read_files(&root.join(fixture), &mut files);
            for bytes in files {
                if self.by_line {
                    seeds.extend(bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
                } else {
                    seeds.push(bytes);
                }
            }
        }
        read_files(&root.join("fuzz").join(self.name), &mut seeds);
        seeds.sort();
        seeds.dedup();
        seeds
    }
}

/// Appends the contents of a file, or of all files below a folder except snapshots.
fn read_files(path: &Path, files: &mut Vec<Vec<u8>>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            read_files(&entry.unwrap().path(), files);
        }
    } else if path.extension().is_none_or(|extension| extension != "snap") && path.exists() {
        files.push(fs::read(path).unwrap());
    }
}
