//! Positions of a query's words in a text, for display.

use std::ops::Range;

use crate::text_index::{WordTokenizer, is_unspaced_script};

/// Returns the byte ranges of a text that contain a word of a search ([`super::SearchResults::words`]), in order and
/// disjoint. Without words, it returns the occurrences of `text`, ignoring case.
#[must_use]
pub fn highlights(content: &str, words: &[String], text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut reader = WordTokenizer::default();
    for piece in pieces(content) {
        if !reader.query(&content[piece.clone()]).iter().any(|word| words.contains(word)) {
            continue;
        }
        match found.last_mut().filter(|last| last.end >= piece.start) {
            Some(last) => last.end = piece.end,
            None => found.push(piece),
        }
    }
    if found.is_empty() && !text.is_empty() {
        let (lower, text) = (content.to_lowercase(), text.to_lowercase());
        // If lower case changes the length, positions differ.
        if lower.len() == content.len() {
            found.extend(lower.match_indices(&text).map(|(at, text)| at..at + text.len()));
            found.retain(|range| content.get(range.clone()).is_some());
        }
    }
    found
}

/// Iterates over the ranges of runs of letters and digits. In a script without spaces, two characters that follow each
/// other are a run.
fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let runs = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|run| !run.is_empty());
    runs.flat_map(move |run| {
        // The run is a slice of the text, so the address difference is its position.
        let start = run.as_ptr().addr() - text.as_ptr().addr();
        let places: Vec<(usize, char)> = run.char_indices().collect();
        if places.len() < 3 || !places.iter().any(|(_, c)| is_unspaced_script(*c)) {
            let whole = start..start + run.len();
            return vec![whole];
        }
        let end = |at: usize| places.get(at + 2).map_or(run.len(), |(end, _)| *end);
        (0..places.len() - 1).map(|at| start + places[at].0..start + end(at)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_script_without_spaces_is_marked_alone() {
        let text = "今日の天気はとても良いです";
        let marked: Vec<&str> =
            highlights(text, &["天気".to_owned()], "").into_iter().map(|range| &text[range]).collect();
        assert_eq!(marked, ["天気"]);
    }

    #[test]
    fn every_form_of_a_word_is_marked() {
        let words = ["rain".to_owned()];
        let text = "It rained. Raining, the train; rain";
        let marked: Vec<&str> = highlights(text, &words, "rain").into_iter().map(|range| &text[range]).collect();
        assert_eq!(marked, ["rained", "Raining", "rain"]);
        assert_eq!(highlights("a -> b", &[], "->"), vec![2..4; 1]);
        assert!(highlights("", &words, "").is_empty());
    }
}
