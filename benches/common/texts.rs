//! Texts of different kinds, and how far the estimate of their tokens is from what a tokenizer says.

use std::{fs, path::Path};

use loomtree::tokens::TokenizerFamily;

/// Texts by kind: this project's own, and fixtures.
pub(crate) fn all() -> Vec<(&'static str, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    // Prose: the lines of the handbooks that are no table, list or code.
    let prose = |name: &str| -> String {
        let text = read(name);
        let mut fenced = false;
        let lines = text.lines().filter(|line| {
            fenced ^= line.starts_with("```");
            !fenced && !line.starts_with(['|', '`', '#', '-', '<'])
        });
        lines.map(|line| format!("{line}\n")).collect()
    };
    let sources = [
        "src/store/sqlite/writer.rs",
        "src/ops/mod.rs",
        "src/session/generation_driver.rs",
        "tests/engine/properties.rs",
    ];
    vec![
        ("English", ["docs/architecture.md", "docs/guide.md", "README.md"].map(prose).into()),
        ("Rust", sources.map(read).into()),
        ("Python", vec![read("fixtures/text/python.py")]),
        ("Chinese", vec![read("fixtures/text/chinese.txt")]),
        ("Japanese", vec![read("fixtures/text/japanese.txt")]),
        ("Korean", vec![read("fixtures/text/korean.txt")]),
        (
            "Markdown and JSON",
            ["fixtures/text/mixed.md", "docs/reference.md", "fixtures/sample.jsonl"].map(read).into(),
        ),
    ]
}

/// How far the estimate is off, in percent.
pub(crate) struct Judged {
    /// What the tokenizer says, of all texts.
    pub(crate) tokens: usize,
    /// The mean of how far it is off, whichever way.
    pub(crate) mean: f64,
    /// The most it is under.
    pub(crate) under: f64,
    /// The most it is over.
    pub(crate) over: f64,
}

/// Compares the estimate with a tokenizer's counts.
#[allow(clippy::cast_precision_loss)] // thousands of tokens
pub(crate) fn judge(vocabulary: TokenizerFamily, texts: &[String], count: impl Fn(&str) -> usize) -> Judged {
    let mut judged = Judged { tokens: 0, mean: 0.0, under: 0.0, over: 0.0 };
    for text in texts {
        let real = count(text);
        let off = (f64::from(vocabulary.tokens(text)) / real as f64 - 1.0) * 100.0;
        judged.tokens += real;
        judged.mean += off.abs() / texts.len() as f64;
        (judged.under, judged.over) = (judged.under.max(-off), judged.over.max(off));
    }
    judged
}
