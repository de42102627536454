//! Accuracy of the token estimate, measured against real tokenizers.

#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../../benches/common/texts.rs"]
mod texts;

use loomtree::tokens::TokenizerFamily;

#[test]
fn the_estimate_is_close_to_the_tokenizers_count() {
    let tokenizers = [
        (TokenizerFamily::O200k, tiktoken_rs::o200k_base().unwrap()),
        (TokenizerFamily::Cl100k, tiktoken_rs::cl100k_base().unwrap()),
    ];
    for (kind, texts) in texts::all() {
        for (vocabulary, tokenizer) in &tokenizers {
            let judged = texts::judge(*vocabulary, &texts, |text| tokenizer.encode_ordinary(text).len());
            assert!(judged.tokens > 300, "{kind} has {} tokens", judged.tokens);
            assert!(judged.mean < 10.0, "{kind}, {vocabulary:?}: {:.1} % in the mean", judged.mean);
            assert!(judged.under < 15.0, "{kind}, {vocabulary:?}: {:.1} % under", judged.under);
        }
    }
}

/// The expected counts are of SmolLM2's tokenizer; `benches/context.rs` measures them again if its file is present.
#[test]
fn the_estimate_fits_a_small_vocabulary_too() {
    let counted =
        [("chinese.txt", 858), ("japanese.txt", 1103), ("korean.txt", 1400), ("python.py", 650), ("mixed.md", 687)];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/text");
    for (name, tokens) in counted {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let judged = texts::judge(TokenizerFamily::Small, &[text], |_| tokens);
        assert!(judged.mean < 11.0, "{name}: {:.1} %", judged.mean);
    }
}
