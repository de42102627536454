//! Extractive summaries: sentences of the texts themselves, chosen by how well they cover the common terms.
//!
//! The summary is deterministic and needs no model. Every sentence is a quotation.

use std::collections::HashMap;

use crate::tokens::estimated_tokens;
use crate::types::{one_line, sentences};

/// Sentences of each text that are candidates: the first ones, which mostly state the subject.
const MAX_SENTENCES_PER_TEXT: usize = 3;
/// Characters below which a word is ignored as a term.
const MIN_TERM_CHARS: usize = 4;

/// Returns the best sentences in their original order, about `most` tokens at most; at least one if there is any.
pub(super) fn summarise<'a>(texts: impl IntoIterator<Item = &'a str>, most: u32) -> String {
    let mut candidates: Vec<(String, Vec<String>)> = Vec::new();
    let mut weights: HashMap<String, u32> = HashMap::new();
    for text in texts {
        for word in terms(text) {
            *weights.entry(word).or_default() += 1;
        }
        for sentence in sentences(text).take(MAX_SENTENCES_PER_TEXT) {
            let line = one_line(sentence);
            let terms = terms(&line);
            if !terms.is_empty() && candidates.iter().all(|(known, _)| *known != line) {
                candidates.push((line, terms));
            }
        }
    }
    // The mean weight is raised a little by coverage, so that length alone does not win.
    let score = |terms: &[String]| {
        let sum: u32 = terms.iter().filter_map(|term| weights.get(term)).sum();
        f64::from(sum) / f64::from(u32::try_from(terms.len()).unwrap_or(u32::MAX).max(1)).sqrt()
    };
    let mut ranked: Vec<usize> = (0..candidates.len()).collect();
    ranked.sort_by(|a, b| score(&candidates[*b].1).total_cmp(&score(&candidates[*a].1)).then(a.cmp(b)));
    let (mut chosen, mut used) = (Vec::new(), 0);
    for at in ranked {
        // The separator before the next sentence counts too.
        let tokens = estimated_tokens(&format!(" {}", candidates[at].0));
        if chosen.is_empty() || used + tokens <= most {
            used += tokens;
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.iter().map(|at| candidates[*at].0.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the terms of a text, in lower case.
fn terms(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= MIN_TERM_CHARS || word.chars().any(|c| c as u32 >= 0x2e80))
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] = [
        "Marie avoids the lighthouse. It rained. The lighthouse was where her father worked.",
        "Thomas thinks that the lighthouse keeps Marie away from her father. He may be right.",
        "Lunch was soup. Nobody minded.",
    ];

    #[test]
    fn sentences_with_common_terms_are_chosen_in_order() {
        let summary = summarise(TEXTS, 22);
        assert_eq!(
            summary,
            "The lighthouse was where her father worked. \
             Thomas thinks that the lighthouse keeps Marie away from her father."
        );
        assert_eq!(summarise(TEXTS, 22), summary);
    }

    #[test]
    fn summary_is_within_its_limit_and_never_empty() {
        assert!(estimated_tokens(&summarise(TEXTS, 20)) <= 20);
        assert!(!summarise(TEXTS, 1).is_empty());
        assert_eq!(summarise([], 100), "");
        assert_eq!(summarise(["…"], 100), "");
        let repeated = "The same sentence every time.";
        assert_eq!(summarise([repeated, repeated], 100), repeated);
    }
}
